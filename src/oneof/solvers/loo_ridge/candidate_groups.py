"""Candidate sets as flat arrays, with the rows grouped by identical set.

All values of the labels are held as one array of the (row, candidate) pairs, in the order of the rows. The work of an
iteration then grows with the candidates, not with all classes.

The set of a row with weights has the classes of weights above 0, and the pairs have these weights. Rows are grouped by
set also if they have weights, since different rows rarely have the same weights. If a row has
different weights for all classes, its set contains no information about distractors, as that of an unlabeled row.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneof.likelihoods import constant_rows, support
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats, Ints, Mask

MIN_MAIN_WEIGHT = 0.1
"""Minimum weight of a main candidate. Softened sets have lower weights outside the set at low noise rates."""


def spread_rows(max_rows: int, *masks: Mask) -> Ints:
    """Return at most `max_rows` rows, ascending: evenly spaced ones of each mask, of a later one if there is room."""
    selected: Ints = np.empty(0, dtype=np.int64)
    for rows in map(np.flatnonzero, masks):
        positions = np.linspace(0, len(rows) - 1, min(len(rows), max_rows - len(selected)))
        selected = np.append(selected, rows[positions.astype(np.int64)])
    return np.sort(selected)


@dataclass(frozen=True)
class CandidateGroups:
    """Candidate sets, with or without weights: their pairs (row, candidate), and the rows with the identical set."""

    evidence: Evidence
    """(n, K): the sets as a mask, or weights, which are 0 or at least 1e-6."""
    group: Ints
    """(n,): the group index of each row."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> "CandidateGroups":
        """Group the rows of (n, K) evidence by identical set; weights below 1e-6 count as 0.

        Unlabeled rows, and rows with weights for all classes, are different groups.
        """
        evidence = without_small_weights(evidence)
        keys = np.column_stack([np.packbits(support(evidence), axis=1), constant_rows(evidence)])
        return cls(evidence, np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1))

    def select(self, rows: Mask | Ints) -> "CandidateGroups":
        """Return the groups among the selected rows."""
        return CandidateGroups.from_evidence(self.evidence[rows])

    @cached_property
    def mask(self) -> Mask:
        """(n, K): the candidates, which are the classes of weights above 0."""
        return support(self.evidence)

    @cached_property
    def main(self) -> "CandidateGroups":
        """The main candidates only, grouped by their sets; the same object if all candidates are main candidates.

        The distractor models are about these sets. If a set is softened, so that other classes have small weights, its
        main candidates are those of the set.
        """
        if (self.weights >= MIN_MAIN_WEIGHT).all():
            return self
        return CandidateGroups.from_evidence(np.where(self.evidence >= MIN_MAIN_WEIGHT, self.evidence, 0.0))

    # -- rows ----------------------------------------------------------------------------------------------------------

    @cached_property
    def sizes(self) -> Ints:
        """(n,): the number of candidates of each row."""
        return self.mask.sum(axis=1)

    @cached_property
    def full(self) -> Mask:
        """(n,): rows whose set has every class."""
        return self.sizes == self.mask.shape[1]

    @cached_property
    def unlabeled(self) -> Mask:
        """(n,): rows whose set has every class, with equal weights."""
        return constant_rows(self.evidence)

    @cached_property
    def partial(self) -> Mask:
        """(n,): rows with several candidates, but not all classes; only these have observable distractors."""
        return (self.sizes > 1) & ~self.full

    # -- pairs of row and candidate ------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> Ints:
        """(number of pairs,): the row of each pair."""
        return np.repeat(np.arange(len(self.mask)), self.sizes)

    @cached_property
    def classes(self) -> Ints:
        """(number of pairs,): the candidate of each pair."""
        return np.nonzero(self.mask)[1]

    @cached_property
    def group_pairs(self) -> Ints:
        """(number of pairs,): the index of each pair among the pairs (group, candidate)."""
        return np.unique(self.group[self.rows] * self.mask.shape[1] + self.classes, return_inverse=True)[1]

    @cached_property
    def weights(self) -> Floats:
        """(number of pairs,): the weights of the pairs; 1 for the candidates of a set."""
        return self.values(self.evidence).astype(np.float64)

    def values(self, array: Floats) -> Floats:
        """Return the entries of an (n, K) array inside the sets."""
        return array[self.rows, self.classes]

    def to_dense(self, values: Floats) -> Floats:
        """Return the (n, K) array with these entries inside the sets, and 0 outside."""
        array = np.zeros(self.mask.shape, dtype=values.dtype)
        array[self.rows, self.classes] = values
        return array

    def row_sums(self, values: Floats) -> Floats:
        """Return the sum over each row's candidates, (n,)."""
        return np.bincount(self.rows, values).astype(np.float64, copy=False)

    def normalize(self, values: Floats) -> Floats:
        """Return values above 0, scaled so that each row has sum 1."""
        return values / self.row_sums(values)[self.rows]

    def class_sums(self, values: Floats) -> Floats:
        """Return the sum over the rows of each class, (K,)."""
        return np.bincount(self.classes, values, minlength=self.mask.shape[1]).astype(np.float64, copy=False)

    def group_sums(self, values: Floats) -> Floats:
        """Return for each pair the sum over the rows of its group."""
        return np.bincount(self.group_pairs, values).astype(np.float64, copy=False)[self.group_pairs]
