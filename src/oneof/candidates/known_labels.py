"""Known labels of some rows in place of their candidate sets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates.labels import pack_classes, sort_labels
from oneof.candidates.row_weights import split_weights
from oneof.candidates.sets import CandidateSets, align
from oneof.typing import Ints, Mask


class KnownLabels(NamedTuple):
    """Candidate sets in which the rows with a known label are exact.

    Attributes
    ----------
    candidates : CandidateSets
        Its classes include the known labels.
    is_known : ndarray of shape (n_samples,), bool
    outside : ndarray of int
        The rows with a known label that was not a candidate.
    new_classes : list
        The known labels that were not classes.
    """

    candidates: CandidateSets
    is_known: Mask
    outside: Ints
    new_classes: list[Any]


def use_known_labels(candidates: CandidateSets, labels: Sequence[Any]) -> KnownLabels:
    """Return the candidate sets with the known labels, None if unknown, in place of the sets of their rows.

    A label that is not a class is added to the classes, which are then sorted. Unlabeled rows stay unlabeled, and a
    labeled row without a known label keeps its candidates.
    """
    known = candidates.classes.tolist()
    new_classes = sort_labels({label for label in labels if label is not None} - set(known))
    classes = pack_classes(sort_labels([*known, *new_classes])) if new_classes else candidates.classes
    aligned = align(candidates, classes)
    column = {label: k for k, label in enumerate(classes.tolist())}
    rows = np.array([i for i, label in enumerate(labels) if label is not None], dtype=np.int64)
    codes = np.array([column[labels[i]] for i in rows.tolist()], dtype=np.int64)
    evidence = aligned.evidence.copy()
    outside = rows[~aligned.mask[rows, codes]]
    evidence[rows] = 0
    evidence[rows, codes] = 1
    mask, row_weights = (evidence, None) if evidence.dtype == bool else split_weights(evidence)
    is_known = np.zeros(len(candidates), dtype=bool)
    is_known[rows] = True
    return KnownLabels(CandidateSets._from_validated(mask, classes, row_weights), is_known, outside, new_classes)
