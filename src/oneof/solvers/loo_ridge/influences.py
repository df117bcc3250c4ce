"""Rows that influence the label of a row, from the exact leave-one-out operator."""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.loo_ridge.loo_operators import LinearLOO
from oneof.typing import Floats, Ints, Mask

N_INFLUENTIAL = 5
"""Number of influential rows reported for each row."""
INFLUENCE_BLOCK = 512
"""Number of rows whose influences are computed at a time."""


@dataclass(frozen=True)
class Influences:
    """The rows with the largest contributions to the margin of each row, in descending order."""

    rows: Ints
    """(n, 5), or (n, n - 1) if there are fewer other rows: row indices."""
    values: Floats
    """(n, 5), or (n, n - 1): the contribution of each of these rows to F_ik - F_il; it may be negative."""


def top_influences(ridge: LinearLOO, label_distributions: Floats, runner_up: Ints) -> Influences:
    """Return the most influential rows for the most probable label of each row.

    Parameters
    ----------
    ridge : LinearLOO
    label_distributions : ndarray of shape (n, K)
        P.
    runner_up : ndarray of shape (n,)
        See `runner_up_classes`.
    """
    n = len(label_distributions)
    label = label_distributions.argmax(axis=1)
    residuals = label_distributions - label_distributions.mean(axis=0)
    n_reported = min(N_INFLUENTIAL, n - 1)
    rows, values = np.empty((n, n_reported), dtype=np.int64), np.empty((n, n_reported))
    for start in range(0, n, INFLUENCE_BLOCK):
        block = np.arange(start, min(start + INFLUENCE_BLOCK, n))
        influences = -ridge.operator[block] * (residuals[:, label[block]] - residuals[:, runner_up[block]]).T
        influences[np.arange(len(block)), block] = -np.inf
        top = np.argpartition(-influences, n_reported - 1, axis=1)[:, :n_reported] if n_reported else rows[block]
        top_values = np.take_along_axis(influences, top, axis=1)
        order = np.argsort(-top_values, axis=1, kind="stable")
        rows[block] = np.take_along_axis(top, order, axis=1)
        values[block] = np.take_along_axis(top_values, order, axis=1)
    return Influences(rows, values)


def runner_up_classes(label_distributions: Floats, scores: Floats, mask: Mask) -> Ints:
    """Return l, (n,): the candidate with the best leave-one-out score apart from the label.

    If a row has only one candidate, all classes count as alternatives. With a single class, l is the label itself.
    """
    alternatives = np.where(mask.sum(axis=1, keepdims=True) > 1, mask, True)
    alternatives[np.arange(len(label_distributions)), label_distributions.argmax(axis=1)] = False
    return np.where(alternatives, scores, -np.inf).argmax(axis=1)
