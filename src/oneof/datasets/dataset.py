"""A data set in the one form that every loader returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import DataError
from oneof.typing import FeatureMatrix, Ints, Labels, Mask


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with what is known of their labels. Whatever a set does not have is None.

    Attributes
    ----------
    name : str
    X : ndarray or CSR array of shape (n_samples, n_features), or None
        The features; None where the set is raw text alone.
    y : ndarray of shape (n_samples,)
        The true labels, members of `classes`. Where a label is not known it is None (and the dtype is object), which
        every estimator reads as "unlabeled". For judging predictions: what one learns from is `candidates`.
    candidates : CandidateSets
        Over `classes`. Where the set comes without ambiguity: the labels of `y`, unknown ones as unlabeled rows.
    classes : ndarray of shape (n_classes,)
        In the order of the set's own coding; a class may occur in no row.
    n_train : int or None
        The first `n_train` rows are the official training part.
    splits : dict of int to ndarray of shape (n_splits, n_labeled), or None
        Official splits: for a number of labeled rows, which rows (from 0) are labeled in each split.
    Y : ndarray of shape (n_samples, n_classes), or None
        0/1, for sets whose rows carry several labels at once.
    answers : ndarray of shape (n_items, n_annotators), or None
        What each annotator said of the first `n_items` rows: index into `classes`, -1 for no answer. In the terms of
        labels: ``CandidateSets.from_annotations(answers, classes=range(len(classes)))``.
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
    answers: np.ndarray[Any, Any] | None = None
    text: np.ndarray[Any, Any] | None = None

    def __repr__(self) -> str:
        features = "raw text" if self.X is None else f"{self.X.shape[1]} features"
        return f"<Dataset {self.name!r}: {len(self.y)} rows, {features}, {len(self.classes)} classes>"


def from_codes(
    name: str, X: FeatureMatrix | None, codes: Ints, classes: Labels, mask: Mask | None = None, **rest: Any
) -> Dataset:
    """Build a data set from class codes (-1 where unknown) and, where there are any, candidate sets.

    Raises
    ------
    DataError
        If codes, rows and sets do not fit together.
    """
    n_classes = len(classes)
    wrong = np.flatnonzero((codes < -1) | (codes >= n_classes))
    if len(wrong):
        raise DataError(
            f"row {wrong[0]} has class code {codes[wrong[0]]}, expected -1 (unknown) or 0 to {n_classes - 1}."
        )
    if X is not None and X.shape[0] != len(codes):
        raise DataError(f"X has {X.shape[0]} rows, but there are {len(codes)} labels.")
    known = codes >= 0
    if mask is None:
        mask = np.zeros((len(codes), n_classes), dtype=bool)
        mask[known, codes[known]] = True
        mask[~known] = True
    candidates = CandidateSets(mask, classes)
    return Dataset(name, X, _labels(codes, known, candidates.classes), candidates, candidates.classes, **rest)


def _labels(codes: Ints, known: Mask, classes: Labels) -> Labels:
    if known.all():
        return np.asarray(classes[codes])
    labels = np.full(len(codes), None, dtype=object)
    labels[known] = np.asarray(classes.tolist(), dtype=object)[codes[known]]
    return labels
