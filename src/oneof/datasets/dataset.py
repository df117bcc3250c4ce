"""Data set: the common form that every loader returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.encoding import MISSING, codes_to_mask
from oneof.typing import Evidence, FeatureMatrix, Ints, Labels


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, true labels and candidate sets of the same rows. Absent components are None.

    Attributes
    ----------
    name : str
    X : ndarray or CSR array of shape (n_samples, n_features), or None
        The features; None for raw text without features.
    y : ndarray of shape (n_samples,)
        The true labels, members of `classes`. An unknown label is None (and the dtype is object), which every estimator
        reads as "unlabeled". Use `y` to evaluate predictions, and `candidates` to fit.
    candidates : CandidateSets
        Over `classes`. For a data set without ambiguity: the labels of `y`, with unknown labels as unlabeled rows.
    classes : ndarray of shape (n_classes,)
        In the order of the data set's own coding; a class may occur in none of the rows. Names that are all written
        integers are integers: as text, 10 would be sorted before 2.
    n_train : int or None
        Number of rows of the official training set, which come first.
    splits : dict of int to ndarray of shape (n_splits, n_labeled), or None
        Official splits: for each number of labeled rows, the indices of the labeled rows (from 0) of each split.
    Y : ndarray of shape (n_samples, n_classes), or None
        0/1 indicator of all labels, for multi-label data sets.
    annotations : ndarray of shape (n_items, n_annotators), or None
        The answer of each annotator for the first `n_items` rows: index into `classes`, -1 for a missing answer. As
        candidate sets: ``CandidateSets.from_annotations(annotations, classes=range(len(classes)))``.
    text : ndarray of shape (n_samples,) of str, or None
        The raw text.

    Examples
    --------
    >>> from oneof.datasets import load
    >>> load("iris")
    <Dataset 'iris': 150 rows, 4 features, 3 classes>
    """

    name: str
    X: FeatureMatrix | None
    y: Labels
    candidates: CandidateSets
    classes: Labels
    n_train: int | None = None
    splits: Mapping[int, Ints] | None = None
    Y: np.ndarray[Any, Any] | None = None
    annotations: np.ndarray[Any, Any] | None = None
    text: np.ndarray[Any, Any] | None = None

    def __repr__(self) -> str:
        features = "raw text" if self.X is None else f"{self.X.shape[1]} features"
        return f"<Dataset {self.name!r}: {len(self.y)} rows, {features}, {len(self.classes)} classes>"


def from_codes(
    name: str,
    X: FeatureMatrix | None,
    codes: Ints,
    classes: Labels,
    evidence: Evidence | None = None,
    **components: Any,
) -> Dataset:
    """Build a data set from valid class codes (-1 if unknown) and, optionally, the mask or the weights of its sets."""
    if evidence is None:
        evidence = codes_to_mask(codes, len(classes))
    weighted = evidence.dtype != bool
    candidates = CandidateSets.from_weights(evidence, classes) if weighted else CandidateSets(evidence, classes)
    labels: Labels = candidates.classes[codes]
    if (codes == MISSING).any():
        labels = labels.astype(object)
        labels[codes == MISSING] = None
    return Dataset(name, X, labels, candidates, candidates.classes, **components)
