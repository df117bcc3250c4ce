"""Shares of the classes within candidate sets, the likelihood of a set, the entropy that it leaves; with derivatives.

Scores and moves are (n, K), in any array namespace. Only functions that take a mask know what a set is.

Of the candidates' probabilities a likelihood takes the sum, or something between that and their largest: with sharpness
L the logarithm of the largest, max_k s_ik, is replaced by the aggregate function G_L = 1/L log sum_{k in S_i} exp(L
s_ik), which is at most log |S_i| / L above it. L = 1 gives the sum, L = inf the largest.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from oneof.typing import Array


def normalize_within_sets(weights: Array, mask: Array) -> Array:
    """Return q_ik = w_ik / sum_{j in S_i} w_ij within each row's set and 0 outside; uniform where nothing is left."""
    xp = array_namespace(weights)
    inside = xp.where(mask, weights, 0.0)
    total = xp.sum(inside, axis=1, keepdims=True)
    return xp.where(total > 0, inside / xp.where(total > 0, total, 1.0), uniform_within_sets(mask, weights.dtype))


def uniform_within_sets(mask: Array, dtype: Any = None) -> Array:
    """Return q_ik = 1/|S_i| within each row's set and 0 outside, in float64 unless another type is asked for."""
    xp = array_namespace(mask)
    members = xp.astype(mask, xp.float64 if dtype is None else dtype)
    return members / xp.sum(members, axis=1, keepdims=True)


def masked_softmax(scores: Array, mask: Array, sharpness: float = 1.0) -> Array:
    """Return q_ik = exp(L s_ik) / sum_{j in S_i} exp(L s_ij) within each row's set and 0 outside.

    With L = inf that is 1 at the largest score of the set, shared where several are.
    """
    xp = array_namespace(scores)
    inside = xp.where(mask, scores, -np.inf)
    below = inside - xp.max(inside, axis=1, keepdims=True)
    return normalize_within_sets(
        xp.astype(below == 0, scores.dtype) if np.isinf(sharpness) else xp.exp(sharpness * below), mask
    )


def softmax(scores: Array) -> Array:
    """Return p_ik = exp(s_ik) / sum_j exp(s_ij)."""
    xp = array_namespace(scores)
    shares = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    shares /= xp.sum(shares, axis=1, keepdims=True)
    return shares


def softmax_jvp(shares: Array, moves: Array) -> Array:
    """Return q_ik (v_ik - sum_j q_ij v_ij): how the shares change along a move v of the scores.

    It is also the product of v with the Hessian of the logarithm of the sum of the exponentials, whose gradient q is.
    """
    xp = array_namespace(shares)
    moved = shares * moves
    moved -= shares * xp.sum(moved, axis=1, keepdims=True)
    return moved


def log_likelihoods(scores: Array, mask: Array, sharpness: float = 1.0) -> Array:
    """Return log p(S_i | s_i) = G_L(s_i) - log sum_k exp(s_ik), (n,); with L = 1 the set's probability, its logarithm.

    For L = 1 it is -log(1 + sum_{k not in S_i} exp(s_ik) / sum_{k in S_i} exp(s_ik)), so written as to keep its
    relative precision where the likelihood is close to 1. It is 0 where the set is everything, for every L.
    """
    xp = array_namespace(scores)
    within = xp.where(mask, scores, -np.inf)
    inside = _log_sum_exp(xp, within)
    outside = _log_sum_exp(xp, xp.where(mask, -np.inf, scores))
    likelihoods = -xp.logaddexp(xp.zeros_like(inside), outside - inside)
    if sharpness == 1:
        return likelihoods
    top = xp.max(within, axis=1)
    above = 0.0 if np.isinf(sharpness) else _log_sum_exp(xp, sharpness * (within - top[:, None])) / sharpness
    return xp.where(xp.all(mask, axis=1), 0.0, likelihoods + (top + above - inside))  # the bracket: 0 for one label


def log_likelihood_gradient(shares: Array, inside: Array, mask: Array) -> Array:
    """Return q_ik - p_ik, the gradient of the log likelihoods with L = 1 by the scores, from p and q.

    Within the set it is q_ik times the probability outside it, which keeps its precision where that is small. The
    Hessian times a move is the difference of the `softmax_moves` of q and p.
    """
    xp = array_namespace(shares)
    missed = xp.sum(xp.where(mask, 0.0, shares), axis=1, keepdims=True)
    return xp.where(mask, inside * missed, -shares)


def _log_sum_exp(xp: Any, scores: Array) -> Array:
    top = xp.max(scores, axis=1)
    shift = xp.where(xp.isfinite(top), top, 0.0)  # -inf where there is nothing to sum
    total = xp.sum(xp.exp(scores - shift[:, None]), axis=1)
    return xp.where(total > 0, xp.log(xp.where(total > 0, total, 1.0)) + shift, -np.inf)


def entropy(shares: Array) -> Array:
    """Return H_i = -sum_k q_ik log q_ik, (n,), of shares that sum to 1 in each row."""
    return array_namespace(shares).sum(_entropy_terms(shares), axis=1)


def entropy_gradient(shares: Array) -> Array:
    """Return -q_ik (log q_ik + H_i): the gradient of the entropies by the scores of which q is the softmax."""
    terms = _entropy_terms(shares)
    return terms - shares * array_namespace(shares).sum(terms, axis=1, keepdims=True)


def entropy_hvp(shares: Array, moves: Array) -> Array:
    """Return how `entropy_slopes` change along a move v of the scores: the product of v with the entropies' Hessian."""
    xp = array_namespace(shares)
    terms = _entropy_terms(shares)
    entropy = xp.sum(terms, axis=1, keepdims=True)
    centered = moves - xp.sum(shares * moves, axis=1, keepdims=True)
    changed = xp.sum((terms - shares * entropy) * moves, axis=1, keepdims=True)
    return centered * (terms - shares * (1.0 + entropy)) - shares * changed


def _entropy_terms(shares: Array) -> Array:
    """Return -q log q, which is 0 for q = 0."""
    xp = array_namespace(shares)
    return -shares * xp.log(xp.where(shares > 0, shares, 1.0))
