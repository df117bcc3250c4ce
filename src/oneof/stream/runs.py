"""Whether labels come in runs, as in a file that is sorted by class: then a loss measured on the way says too much.

Who predicts each row by what was learned from those just before it is right where the label is still the same, whatever
the features say.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.typing import Mask

_LEAST_PERSISTENCE, _SORTED = 0.3, 0.99
_LEAST_DEVIATIONS = 5.0
_LEAST_OTHERS = 20
"""Rows outside the commonest class: with fewer, two that meet by chance would count as a run."""


@dataclass(frozen=True)
class Runs:
    """What the order of the rows is judged by, in memory that grows with the classes alone.

    Two rows agree by the chance that a label drawn from the set of the one is drawn from that of the other, too: for
    exact labels, 1 where they are equal. Rows whose set says nothing are passed over.

    Attributes
    ----------
    told : int
        Rows whose set says something.
    agreed : float
        The agreement of each of them with the one before, summed.
    alone : float
        Of each with itself.
    shares : tuple of float
        Of each class, the chances that it is drawn, summed.
    last : tuple of int
        The codes of the last row's set.
    """

    told: int = 0
    agreed: float = 0.0
    alone: float = 0.0
    shares: tuple[float, ...] = ()
    last: tuple[int, ...] = ()

    def after(self, mask: Mask) -> "Runs":
        """Return the sums with a batch taken in."""
        sizes = np.count_nonzero(mask, axis=1)
        told = sizes < mask.shape[1]
        mask, sizes = mask[told], sizes[told]
        if not len(mask):
            return self
        agreed = float((np.count_nonzero(mask[1:] & mask[:-1], axis=1) / (sizes[1:] * sizes[:-1])).sum())
        if self.last:
            agreed += np.count_nonzero(mask[0, list(self.last)]) / (len(self.last) * int(sizes[0]))
        shares = np.einsum("i,ik->k", 1 / sizes, mask)  # which, unlike @, makes no floats of the whole mask
        return Runs(
            self.told + len(mask),
            self.agreed + agreed,
            self.alone + float((1 / sizes).sum()),
            tuple((shares + (self.shares or 0.0)).tolist()),
            tuple(np.flatnonzero(mask[-1]).tolist()),
        )

    def note(self) -> str | None:
        """Return a sentence where labels come in runs, else None.

        The agreement of neighbors is held against its mean over all orders of the same rows, which the sums give.
        Their excess over it, as a share of the most there could be, is for exact labels the autocorrelation of
        neighbors: about 1 in sorted rows, 0 in random order, where it stays within a few times 1 / sqrt(rows). Of sets
        it is less, as false candidates differ from row to row; where these are drawn at random, by the factor
        `of_sorted`. Runs are told from 1 / (1 - 0.3) = 1.4 times their length in random order on, and beyond five times
        1 / sqrt(rows), which chance does not reach.
        """
        if self.told - max(self.shares, default=0.0) < _LEAST_OTHERS:
            return None
        observed, most = self.agreed / (self.told - 1), self.alone / self.told
        at_random = (math.fsum(share**2 for share in self.shares) - self.alone) / (self.told * (self.told - 1))
        if most <= at_random:  # all sets are the same
            return None
        excess = (observed - at_random) / (most - at_random)
        n_classes = len(self.shares)
        of_sorted = (most - 1 / n_classes) * n_classes / (n_classes - 1)
        if excess < max(_LEAST_PERSISTENCE * of_sorted, _LEAST_DEVIATIONS / math.sqrt(self.told)):
            return None
        persistence = excess / of_sorted
        longer = f"{1 / (1 - persistence):.1f}" if persistence < _SORTED else f"over {1 / (1 - _SORTED):.0f}"
        return (
            f"labels come in runs, {longer} times as long as in random order, so that the running loss looks better "
            "than the model is: shuffle the rows, or judge the model by others."
        )


def from_facts(facts: dict[str, Any]) -> Runs:
    """Return the sums as JSON kept them."""
    return Runs(**{**facts, "shares": tuple(facts["shares"]), "last": tuple(facts["last"])})
