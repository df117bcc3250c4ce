"""Iterative parameter mixing of online learners: one epoch in each block of rows, then the mean of the weights.

McDonald, Hall & Mann (2010), Distributed training strategies for the structured perceptron, NAACL, figure 3. Each block
goes over its rows from the mixed weights, W_b; the next mix is sum_b (n_b / n) W_b, with n_b the rows of the block that
say something of their label. For the Perceptron their theorem 3 keeps the bound on mistakes where weights so sum to 1.

The step of Pegasos goes with 1/t. Here t counts the rows that the block itself has seen, over all rounds.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.online import OnlineState
from oneof.solvers.row_accessors import total_square
from oneof.typing import Floats


@dataclass(frozen=True)
class Share:
    """What the epoch of a block, or of several, gives to the mix."""

    weights: Floats
    """(K, D), float64: sum of n_b W_b."""
    total: Floats
    """(K, D), float64: sum of the weights after each row; (0, 0) where the mean over rows is not kept."""
    n_told: int
    n_rows: int
    n_mistakes: int
    n_updates: int

    def __add__(self, other: "Share") -> "Share":
        """Take both together."""
        return Share(
            self.weights + other.weights,
            self.total + other.total,
            self.n_told + other.n_told,
            self.n_rows + other.n_rows,
            self.n_mistakes + other.n_mistakes,
            self.n_updates + other.n_updates,
        )


def begin(mix: OnlineState, n_seen: int) -> OnlineState:
    """Return the state from which a block goes on that has seen some rows itself; sums begin at 0."""
    V = np.array(mix.weights)
    return OnlineState(V, 1.0, total_square(V.ravel()), np.zeros_like(mix.U), 0.0, 0, n_seen, 0, 0)


def share(end: OnlineState, n_told: int, n_rows: int) -> Share:
    """Return the share of a block with so many rows, of which `n_told` say something of their label."""
    total = end.total_scale * end.V.astype(np.float64) - end.U if end.keeps_mean else np.zeros((0, 0))
    return Share(n_told * end.weights.astype(np.float64), total, n_told, n_rows, end.n_mistakes, end.n_updates)


def mixed(before: OnlineState, shares: Share) -> OnlineState:
    """Return the next mix, from which the ordinary learner could go on, too."""
    V = (shares.weights / shares.n_told).astype(before.V.dtype)
    return OnlineState(
        V,
        1.0,
        total_square(V.ravel()),
        # With a sum of scales of 0, the sum of the weights so far is -U.
        before.U - shares.total if before.keeps_mean else before.U,
        0.0,
        0,
        before.n_rows + shares.n_rows,
        before.n_mistakes + shares.n_mistakes,
        before.n_updates + shares.n_updates,
    )
