"""The PLEM objective; masks may be weights."""

import numpy as np
from scipy.special import entr, softmax


def objective(W, b, X, mask, lam, entropy_weight, sample_weight):
    """Return sum_i w_i [log sum_k v_ik p_ik - mu H(q_i)] - lam/2 ||W||^2, with q_ik proportional to v_ik p_ik."""
    inside = mask * softmax(X @ W.T + b, axis=1)
    total = inside.sum(axis=1)
    entropy = entr(inside / total[:, None]).sum(axis=1)
    return sample_weight @ (np.log(total) - entropy_weight * entropy) - 0.5 * lam * (W**2).sum()
