"""Checked labels of some rows in place of their candidate sets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from oneof.candidates.encoding import MISSING, codes_to_mask, encode
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
    codes, _ = encode(list(labels), candidates.classes, is_single=True)
    is_checked = codes != MISSING
    rows = np.flatnonzero(is_checked)
    outside = rows[~candidates.mask[rows, codes[rows]]]
    evidence = candidates.evidence.copy()
    evidence[rows] = codes_to_mask(codes[rows], candidates.shape[1])
    mask, row_weights = (evidence, None) if evidence.dtype == bool else split_weights(evidence)
    return CheckedCandidates(CandidateSets._from_validated(mask, candidates.classes, row_weights), is_checked, outside)
