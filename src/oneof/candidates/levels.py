"""Level sets of weights, by which a loss for candidate sets becomes a loss for weights.

Let a_1 = 1 > a_2 > ... be the distinct weights above 0 of a row, a_{m+1} = 0, and S_j = {k: w_k >= a_j}. The
generalized loss of the row is sum_j (a_j - a_{j+1}) loss(S_j), where a set of all classes costs 0 (Huellermeier 2014,
Learning from imprecise and fuzzy observations: data disambiguation through generalized loss minimization). For a
candidate set it is the loss of the set.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from oneof.typing import Evidence, Floats, Ints, Mask


@dataclass(frozen=True)
class LevelSets:
    """The level sets of all rows, without those of all classes; the sets of a row are adjacent, the smallest first."""

    row: Ints
    """(n_levels,): the row of each set, ascending."""
    mask: Mask
    """(n_levels, K): the classes of each set."""
    mass: Floats
    """(n_levels,): a_j - a_{j+1}, in (0, 1]."""

    @classmethod
    def from_evidence(cls, evidence: Evidence) -> Self:
        """Return the level sets of an (n, K) mask, which are its rows, or of (n, K) weights with row maxima of 1."""
        if evidence.dtype == bool:
            row = np.flatnonzero(~evidence.all(axis=1))
            return cls(row, evidence[row], np.ones(len(row)))
        descending = -np.sort(-evidence, axis=1)
        drops = descending - np.pad(descending[:, 1:], ((0, 0), (0, 1)))  # from each weight to the next one, then to 0
        row, last = np.nonzero(drops[:, :-1])  # the set that ends at the last weight has all classes
        return cls(row, evidence[row] >= descending[row, last][:, None], drops[row, last])
