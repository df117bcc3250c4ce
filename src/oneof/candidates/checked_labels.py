"""Checked labels of some rows in place of their candidate sets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates.labels import unknown_label
from oneof.candidates.row_weights import split_weights
from oneof.candidates.sets import CandidateSets
from oneof.typing import Ints, Mask


class CheckedCandidates(NamedTuple):
    """Candidate sets in which the rows with a checked label are exact.

    Attributes
    ----------
    candidates : CandidateSets
    is_checked : ndarray of shape (n_samples,), bool
    outside : ndarray of int
        The rows with a checked label that was not a candidate.
    """

    candidates: CandidateSets
    is_checked: Mask
    outside: Ints


def insert_checked_labels(candidates: CandidateSets, labels: Sequence[Any]) -> CheckedCandidates:
    """Return the candidate sets with the checked labels, None if not checked, in place of the sets of their rows.

    A checked label must be a class. Further classes cannot be added to candidate sets, in which a row without a label
    and a row with the set of all classes are the same: pass them to the constructor of the sets.
    """
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    rows = np.array([i for i, label in enumerate(labels) if label is not None], dtype=np.int64)
    for row in rows.tolist():
        if labels[row] not in column:
            raise unknown_label(row, labels[row], candidates.classes)
    codes = np.array([column[labels[row]] for row in rows.tolist()], dtype=np.int64)
    evidence = candidates.evidence.copy()
    outside = rows[~candidates.mask[rows, codes]]
    evidence[rows] = 0
    evidence[rows, codes] = 1
    mask, row_weights = (evidence, None) if evidence.dtype == bool else split_weights(evidence)
    is_checked = np.zeros(len(candidates), dtype=bool)
    is_checked[rows] = True
    return CheckedCandidates(CandidateSets._from_validated(mask, candidates.classes, row_weights), is_checked, outside)
