"""Probabilities of sets that exclude the true class.

A set S of size s < K contains the true class k with probability 1 - e. All sets of size s that contain k are then
equally probable, 1 / C(K-1, s-1). A wrong set, one without k, contains a label j with probability R_kj, and its other
members are random:

    p(S | k, wrong) = (K - 1) / C(K-1, s) * 1/s sum_{j in S} R_kj.

R_kk = 0 and sum_j R_kj = 1. If all wrong labels are equally probable, R_kj = 1 / (K - 1), all wrong sets have the
probability 1 / C(K-1, s). For exact labels R is the distribution of the wrong label. Divided by the probability of a
right set, the factor is (K - 1) / (K - s) sum_{j in S} R_kj.

A row with weights is a mixture of its level sets (`oneof.candidates.LevelSets`), each right or wrong in this way.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import scipy.sparse as sp

from oneof.candidates import LevelSets
from oneof.typing import Evidence, Floats, Ints, Mask


@dataclass(frozen=True)
class WrongSets:
    """The level sets of n rows, without those of all classes."""

    n_rows: int
    row: Ints
    """(m,): the row of each set."""
    mask: Mask
    """(m, K): the members of each set."""
    factor: Floats
    """(m,): (K - 1) / (K - s), times the mass of the set in its row."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Return the sets of an (n, K) mask, or of (n, K) weights with row maxima of 1."""
        levels = LevelSets.from_evidence(evidence)
        n, K = evidence.shape
        factor = levels.mass * (K - 1) / (K - np.count_nonzero(levels.mask, axis=1))
        return cls(n, levels.row, levels.mask, factor)

    def likelihood_ratios(self, confusion: Floats) -> Floats:
        """Return p(S_i | k, wrong) / p(S_i | k, right), (n, K), summed over the level sets of each row.

        Parameters
        ----------
        confusion : ndarray of shape (K, K)
            R.
        """
        ratios = np.where(self.mask, 0.0, self.factor[:, None] * (self.mask @ confusion.T))
        of_row = sp.csr_array(
            (np.ones(len(self.row)), (self.row, np.arange(len(self.row)))), (self.n_rows, len(ratios))
        )
        return np.asarray(of_row @ ratios)

    def counts(self, confusion: Floats, weights: Floats) -> Floats:
        """Return the expected numbers of rows of class k with the wrong label j, (K, K).

        Parameters
        ----------
        confusion : ndarray of shape (K, K)
            R.
        weights : ndarray of shape (n, K)
            The posterior probability that row i has class k and a wrong set, divided by its likelihood ratio.
        """
        of_set = np.where(self.mask, 0.0, weights[self.row] * self.factor[:, None])
        return np.asarray(confusion * (of_set.T @ self.mask))


def uniform_confusion(n_classes: int) -> Floats:
    """Return R with equally probable wrong labels."""
    return (1.0 - np.eye(n_classes)) / (n_classes - 1)
