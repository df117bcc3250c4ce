"""Which rows speak for a decision.

Left-out predictions are linear in the labels of the other rows, F_i = m + sum_{j != i} a_ij (P_j - m). So of the
margin F_ik - F_il by which a row's label k is ahead of its rival l, row j brings a_ij ((P_jk - m_k) - (P_jl - m_l)).
The margin is below 0 where the label is another than the predictions alone would have made it.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.loo_ridge.left_out import ExactRidge
from oneof.solvers.loo_ridge.stacking import StackedExact
from oneof.typing import Floats, Ints, Mask

N_VOUCHERS = 5
"""Rows that are named for each decision."""
BLOCK = 512
"""Decisions that are worked out at a time."""


@dataclass(frozen=True)
class Vouchers:
    """For each row the rows that bring most to its margin, the most first."""

    rows: Ints
    """(n, 5), or as many as there are other rows: their numbers."""
    brought: Floats
    """(n, 5): what each brings to F_ik - F_il; it may be below 0 where nothing speaks for the label."""


def vouchers(ridge: ExactRidge | StackedExact, shares: Floats, rival: Ints) -> Vouchers:
    """Return who speaks for the label of the largest share of each row.

    Parameters
    ----------
    ridge : ExactRidge or StackedExact
    shares : ndarray of shape (n, K)
        P.
    rival : ndarray of shape (n,)
        See `rivals`.
    """
    n = len(shares)
    label = shares.argmax(axis=1)
    residuals = shares - shares.mean(axis=0)
    n_named = min(N_VOUCHERS, n - 1)
    rows, brought = np.empty((n, n_named), dtype=np.int64), np.empty((n, n_named))
    for start in range(0, n, BLOCK):
        here = np.arange(start, min(start + BLOCK, n))
        found = ridge.influences(here) * (residuals[:, label[here]] - residuals[:, rival[here]]).T
        found[np.arange(len(here)), here] = -np.inf
        some = np.argpartition(-found, n_named - 1, axis=1)[:, :n_named] if n_named else rows[here]
        values = np.take_along_axis(found, some, axis=1)
        order = np.argsort(-values, axis=1, kind="stable")
        rows[here] = np.take_along_axis(some, order, axis=1)
        brought[here] = np.take_along_axis(values, order, axis=1)
    return Vouchers(rows, brought)


def rivals(shares: Floats, scores: Floats, mask: Mask) -> Ints:
    """Return l, (n,): the candidate of the best left-out score but for the label; of all classes, if there is no other.

    With one class in all, that is the label itself.
    """
    others = np.where(mask.sum(axis=1, keepdims=True) > 1, mask, True)
    others[np.arange(len(shares)), shares.argmax(axis=1)] = False
    return np.where(others, scores, -np.inf).argmax(axis=1)
