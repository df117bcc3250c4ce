"""Rows that influence the label of a row, from the exact leave-one-out operator."""

from dataclasses import dataclass

import numpy as np
from array_api_compat import is_torch_array

from oneof.arrays import as_numpy, to_namespace_of
from oneof.solvers.loo_ridge.loo_operators import LinearLOO
from oneof.typing import Array, Floats, Ints, Mask

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
    residuals = to_namespace_of(label_distributions - label_distributions.mean(axis=0), ridge.operator)
    n_reported = min(N_INFLUENTIAL, n - 1)
    rows, values = np.empty((n, n_reported), dtype=np.int64), np.empty((n, n_reported))
    for start in range(0, n, INFLUENCE_BLOCK):
        block = np.arange(start, min(start + INFLUENCE_BLOCK, n))
        influences = -ridge.operator[block] * (residuals[:, label[block]] - residuals[:, runner_up[block]]).T
        influences[np.arange(len(block)), block] = -np.inf
        rows[block], values[block] = _largest(influences, n_reported)
    return Influences(rows, values)


def _largest(values: Array, k: int) -> tuple[Ints, Floats]:
    """Return the indices of the k largest entries of each row, and these entries, in descending order."""
    if is_torch_array(values):
        top_values, top = values.topk(k, dim=1)
        return as_numpy(top), as_numpy(top_values)
    top = np.argpartition(-values, k - 1, axis=1)[:, :k] if k else np.empty((len(values), 0), dtype=np.int64)
    top_values = np.take_along_axis(values, top, axis=1)
    order = np.argsort(-top_values, axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(top_values, order, axis=1)


def runner_up_classes(label_distributions: Floats, scores: Floats, mask: Mask) -> Ints:
    """Return l, (n,): the candidate with the best leave-one-out score apart from the label.

    If a row has only one candidate, all classes count as alternatives. With a single class, l is the label itself.
    """
    alternatives = np.where(mask.sum(axis=1, keepdims=True) > 1, mask, True)
    alternatives[np.arange(len(label_distributions)), label_distributions.argmax(axis=1)] = False
    return np.where(alternatives, scores, -np.inf).argmax(axis=1)
