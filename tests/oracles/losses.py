"""Losses of a score matrix against candidate sets (METHODS: notation). All are 0 for unlabeled rows."""

import numpy as np

from oneof.typing import Floats, Mask


def average_prediction_hinge(scores: Floats, mask: Mask) -> Floats:
    """Return max(0, 1 - mean_{k in S} s_k + max_{k not in S} s_k) of each row; convex (Cour et al. 2011)."""
    inside = np.where(mask, scores, 0.0).sum(axis=1) / np.count_nonzero(mask, axis=1)
    return np.maximum(0.0, 1.0 - inside + np.where(mask, -np.inf, scores).max(axis=1))
