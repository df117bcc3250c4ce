"""Class probabilities within candidate sets, the likelihood of a set and the entropy within it, with derivatives.

Scores and directions are (n, K), in any array namespace.

The likelihood of a set is the sum of its candidates' probabilities, or a value between the sum and the maximum. With
sharpness L the maximum of the scores, max_k s_ik, is replaced by the aggregate function G_L = 1/L log sum_{k in S_i}
exp(L s_ik), which exceeds it by at most log |S_i| / L. L = 1 gives the sum, L = inf the maximum.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from oneof.typing import Array


def normalize_within_sets(weights: Array, mask: Array) -> Array:
    """Return q_ik = w_ik / sum_{j in S_i} w_ij within each row's set and 0 outside; uniform if the sum is 0."""
    xp = array_namespace(weights)
    inside = xp.where(mask, weights, 0.0)
    total = xp.sum(inside, axis=1, keepdims=True)
    return xp.where(total > 0, inside / xp.where(total > 0, total, 1.0), uniform_within_sets(mask, weights.dtype))


def uniform_within_sets(mask: Array, dtype: Any = None) -> Array:
    """Return q_ik = 1/|S_i| within each row's set and 0 outside, in float64 unless `dtype` is given."""
    xp = array_namespace(mask)
    members = xp.astype(mask, xp.float64 if dtype is None else dtype)
    return members / xp.sum(members, axis=1, keepdims=True)


def masked_softmax(scores: Array, mask: Array, sharpness: float = 1.0) -> Array:
    """Return q_ik = exp(L s_ik) / sum_{j in S_i} exp(L s_ij) within each row's set and 0 outside.

    With L = inf it is 1 at the largest score of the set, divided equally among ties.
    """
    xp = array_namespace(scores)
    inside = xp.where(mask, scores, -np.inf)
    shifted = inside - xp.max(inside, axis=1, keepdims=True)
    return normalize_within_sets(
        xp.astype(shifted == 0, scores.dtype) if np.isinf(sharpness) else xp.exp(sharpness * shifted), mask
    )


def softmax(scores: Array) -> Array:
    """Return p_ik = exp(s_ik) / sum_j exp(s_ij)."""
    xp = array_namespace(scores)
    proba = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    proba /= xp.sum(proba, axis=1, keepdims=True)
    return proba


def softmax_jvp(proba: Array, direction: Array) -> Array:
    """Return q_ik (v_ik - sum_j q_ij v_ij): the derivative of the softmax q along a direction v of the scores.

    It is also the product of v with the Hessian of the log-sum-exp, whose gradient is q.
    """
    xp = array_namespace(proba)
    product = proba * direction
    product -= proba * xp.sum(product, axis=1, keepdims=True)
    return product


def log_likelihoods(scores: Array, mask: Array, sharpness: float = 1.0) -> Array:
    """Return log p(S_i | s_i) = G_L(s_i) - log sum_k exp(s_ik), (n,); with L = 1 the log probability of the set.

    For L = 1 it is -log(1 + sum_{k not in S_i} exp(s_ik) / sum_{k in S_i} exp(s_ik)), a form that keeps the relative
    precision of likelihoods close to 1. It is 0 for a set of all classes, for every L.
    """
    xp = array_namespace(scores)
    within = xp.where(mask, scores, -np.inf)
    inside = _log_sum_exp(xp, within)
    outside = _log_sum_exp(xp, xp.where(mask, -np.inf, scores))
    likelihoods = -xp.logaddexp(xp.zeros_like(inside), outside - inside)
    if sharpness == 1:
        return likelihoods
    top = xp.max(within, axis=1)
    excess = 0.0 if np.isinf(sharpness) else _log_sum_exp(xp, sharpness * (within - top[:, None])) / sharpness
    return xp.where(xp.all(mask, axis=1), 0.0, likelihoods + (top + excess - inside))  # the sum is 0 for one label


def log_likelihood_gradient(proba: Array, proba_inside: Array, mask: Array) -> Array:
    """Return q_ik - p_ik, the gradient of the log likelihoods with L = 1 by the scores, from p and q.

    Within the set it is q_ik times the probability outside the set, which keeps the precision of small probabilities.
    The Hessian times a direction is the difference of `softmax_jvp` of q and of p.
    """
    xp = array_namespace(proba)
    outside = xp.sum(xp.where(mask, 0.0, proba), axis=1, keepdims=True)
    return xp.where(mask, proba_inside * outside, -proba)


def _log_sum_exp(xp: Any, scores: Array) -> Array:
    top = xp.max(scores, axis=1)
    shift = xp.where(xp.isfinite(top), top, 0.0)  # -inf for an empty sum
    total = xp.sum(xp.exp(scores - shift[:, None]), axis=1)
    return xp.where(total > 0, xp.log(xp.where(total > 0, total, 1.0)) + shift, -np.inf)


def entropy(proba: Array) -> Array:
    """Return H_i = -sum_k q_ik log q_ik, (n,), of probabilities that sum to 1 in each row."""
    return array_namespace(proba).sum(_entropy_terms(proba), axis=1)


def entropy_gradient(proba: Array) -> Array:
    """Return -q_ik (log q_ik + H_i): the gradient of the entropies by the scores with softmax q."""
    terms = _entropy_terms(proba)
    return terms - proba * array_namespace(proba).sum(terms, axis=1, keepdims=True)


def entropy_hvp(proba: Array, direction: Array) -> Array:
    """Return the product of the Hessian of the entropies by the scores with a direction v."""
    xp = array_namespace(proba)
    terms = _entropy_terms(proba)
    entropy = xp.sum(terms, axis=1, keepdims=True)
    centered = direction - xp.sum(proba * direction, axis=1, keepdims=True)
    change = xp.sum((terms - proba * entropy) * direction, axis=1, keepdims=True)
    return centered * (terms - proba * (1.0 + entropy)) - proba * change


def _entropy_terms(proba: Array) -> Array:
    """Return -q log q, which is 0 for q = 0."""
    xp = array_namespace(proba)
    return -proba * xp.log(xp.where(proba > 0, proba, 1.0))
