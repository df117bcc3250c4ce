"""Shares of the classes within candidate sets: what a set leaves of a distribution over all classes."""

import numpy as np

from oneof.typing import Floats, Mask


def restrict(weights: Floats, mask: Mask) -> Floats:
    """Return q_ik = w_ik / sum_{j in S_i} w_ij within each row's set and 0 outside; uniform where nothing is left."""
    inside = np.where(mask, weights, 0.0)
    total = inside.sum(axis=1, keepdims=True)
    return np.where(total > 0, inside / np.where(total > 0, total, 1.0), uniform(mask))


def uniform(mask: Mask) -> Floats:
    """Return q_ik = 1/|S_i| within each row's set and 0 outside."""
    return mask / np.count_nonzero(mask, axis=1)[:, None]


def restricted_softmax(scores: Floats, mask: Mask) -> Floats:
    """Return q_ik = exp(s_ik) / sum_{j in S_i} exp(s_ij) within each row's set and 0 outside."""
    inside = np.where(mask, scores, -np.inf)
    return restrict(np.exp(inside - inside.max(axis=1, keepdims=True)), mask)
