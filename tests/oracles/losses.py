"""Losses of a score matrix against candidate sets (METHODS: notation). All are 0 for unlabeled rows."""

import numpy as np

from oneof.typing import Floats, Mask


def average_prediction_hinge(scores: Floats, mask: Mask) -> Floats:
    """Return max(0, 1 - mean_{k in S} s_k + max_{k not in S} s_k) of each row; convex (Cour et al. 2011)."""
    inside = np.where(mask, scores, 0.0).sum(axis=1) / np.count_nonzero(mask, axis=1)
    return np.maximum(0.0, 1.0 - inside + best_outside(scores, mask))


def max_prediction_hinge(scores: Floats, mask: Mask) -> Floats:
    """Return max(0, 1 - max_{k in S} s_k + max_{k not in S} s_k) of each row (Nguyen & Caruana 2008)."""
    inside = np.where(mask, scores, -np.inf).max(axis=1)
    return np.maximum(0.0, 1.0 - inside + best_outside(scores, mask))


def best_outside(scores: Floats, mask: Mask) -> Floats:
    """Return the highest score outside the set of each row; -inf for unlabeled rows."""
    return np.where(mask, -np.inf, scores).max(axis=1)
