"""Candidate sets, and the rows that share one."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints, Mask


@dataclass(frozen=True)
class CandidateGroups:
    """Rows dealt into groups with the identical candidate set."""

    mask: Mask
    """(n, K)"""
    group: Ints
    """(n,): the number of each row's group."""

    @classmethod
    def of(cls, mask: Mask) -> "CandidateGroups":
        """Find the groups."""
        keys = np.packbits(mask, axis=1)
        group = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        return cls(mask, group)

    def of_rows(self, rows: Mask) -> "CandidateGroups":
        """Return the groups among some rows alone."""
        return self if rows.all() else CandidateGroups.of(self.mask[rows])

    @cached_property
    def partial(self) -> Mask:
        """(n,): rows of several candidates, but not of all classes; in these alone false candidates can be seen."""
        return (self.sizes > 1) & ~self.unlabeled

    @cached_property
    def unlabeled(self) -> Mask:
        """(n,): rows whose set holds every class."""
        return self.sizes == self.mask.shape[1]

    @cached_property
    def sizes(self) -> Ints:
        """(n,): how many candidates each row has."""
        return self.mask.sum(axis=1)

    @cached_property
    def row_counts(self) -> Ints:
        """(n,): how many rows each row's group has."""
        return np.bincount(self.group)[self.group]

    @cached_property
    def distinct(self) -> Mask:
        """(number of groups, K): the sets, each once."""
        return self.mask[np.unique(self.group, return_index=True)[1]]

    @cached_property
    def equal_shares(self) -> Floats:
        """(n, K): how often a class would be true in the row's group, were the group's candidates equally frequent."""
        return self.sums(self.mask / self.mask.sum(axis=1, keepdims=True))

    def sums(self, shares: Floats) -> Floats:
        """Return for each row the sums of (n, K) shares over its group."""
        return (self._membership @ shares)[self.group]

    def totals(self, values: Floats) -> Floats:
        """Return for each group the sum of (n,) values over its rows."""
        return np.bincount(self.group, values).astype(np.float64, copy=False)

    @cached_property
    def _membership(self) -> sp.csr_array:
        n = len(self.group)
        return sp.csr_array((np.ones(n), (self.group, np.arange(n))), shape=(int(self.group.max()) + 1, n))
