"""Class probabilities given evidence of the classes, its likelihood, and the entropy of these, with derivatives.

Scores and directions are (n, K), in any array namespace. The evidence is an (n, K) mask of candidate sets, or floats:
weights w_ik, proportional to the probability of row i's evidence under class k, with a largest weight of 1 in each row.
A candidate set has the weights 0 and 1, and all formulas below are those of sets then.

The likelihood of the evidence is sum_k w_ik p_ik, or a value between this sum and its largest term. With sharpness L
the maximum of the scores, max_k (log w_ik + s_ik), is replaced by the aggregate function

    G_L = 1/L log sum_k w_ik^max(L, 1) exp(L s_ik),

which for L >= 1 is 1/L log sum_k (w_ik exp s_ik)^L. On sets it exceeds the maximum by at most log |S_i| / L. L = 1
gives the sum, L = inf the maximum. Below 1 the exponent of the weights remains 1: as L goes to 0, the gradient
of G_L becomes w / sum w, whereas with the exponent L every weight above 0 would become 1.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from oneof.typing import Array


def is_mask(evidence: Array) -> bool:
    """Return whether the evidence is a mask of candidate sets, and not weights."""
    return bool(evidence.dtype == array_namespace(evidence).bool)


def support(evidence: Array) -> Array:
    """Return the mask of the candidates: the classes with a weight above 0."""
    return evidence if is_mask(evidence) else evidence > 0


def best_classes(evidence: Array) -> Array:
    """Return the mask of the classes with a weight of 1, the largest."""
    return evidence if is_mask(evidence) else evidence == 1


def constant_rows(evidence: Array) -> Array:
    """Return the mask of the rows whose classes all have the same weight, (n,): the unlabeled rows."""
    return array_namespace(evidence).all(best_classes(evidence), axis=1)


def weigh(values: Array, evidence: Array) -> Array:
    """Return w_ik v_ik, which is 0 outside the set, also for values that are not finite there in the case of a mask."""
    return array_namespace(values).where(evidence, values, 0.0) if is_mask(evidence) else evidence * values


def normalize_within_sets(values: Array, evidence: Array) -> Array:
    """Return q_ik = w_ik v_ik / sum_j w_ij v_ij, or `uniform_within_sets` if the sum is 0."""
    xp = array_namespace(values)
    inside = weigh(values, evidence)
    total = xp.sum(inside, axis=1, keepdims=True)
    return xp.where(total > 0, inside / xp.where(total > 0, total, 1.0), uniform_within_sets(evidence, values.dtype))


def uniform_within_sets(evidence: Array, dtype: Any = None) -> Array:
    """Return q_ik = w_ik / sum_j w_ij, which is 1/|S_i| within a set; in float64 unless `dtype` is given."""
    xp = array_namespace(evidence)
    weights = xp.astype(evidence, xp.float64 if dtype is None else dtype)
    return weights / xp.sum(weights, axis=1, keepdims=True)


def add_log_weights(scores: Array, evidence: Array) -> Array:
    """Return s_ik + log w_ik, which is -inf outside the set."""
    xp = array_namespace(scores)
    inside = xp.where(support(evidence), scores, -np.inf)
    return inside if is_mask(evidence) else inside + xp.log(xp.where(evidence > 0, evidence, 1.0))


def masked_softmax(scores: Array, evidence: Array, sharpness: float = 1.0) -> Array:
    """Return q_ik = w_ik^max(L, 1) exp(L s_ik), divided by its sum over the classes: the gradient of G_L by the scores.

    It is 0 outside the set. With L = inf it is 1 at the largest log w_ik + s_ik, divided equally among ties.
    """
    xp = array_namespace(scores)
    if sharpness > 1 and not is_mask(evidence):
        scores, evidence = add_log_weights(scores, evidence), support(evidence)
    inside = xp.where(support(evidence), scores, -np.inf)
    shifted = inside - xp.max(inside, axis=1, keepdims=True)
    return normalize_within_sets(
        xp.astype(shifted == 0, scores.dtype) if np.isinf(sharpness) else xp.exp(sharpness * shifted), evidence
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


def log_likelihoods(scores: Array, evidence: Array, sharpness: float = 1.0) -> Array:
    """Return G_L(s_i) - log sum_k exp(s_ik), (n,); with L = 1 the log likelihood log sum_k w_ik p_ik.

    For L = 1 it is -log(1 + sum_k (1 - w_ik) exp(s_ik) / sum_k w_ik exp(s_ik)), a form that keeps the relative
    precision of likelihoods close to 1. It is 0 for a row of equal weights, for every L.
    """
    xp = array_namespace(scores)
    weights, complement = (None, None) if is_mask(evidence) else (evidence, 1.0 - evidence)
    within = xp.where(support(evidence), scores, -np.inf)
    inside = _log_sum_exp(xp, within, weights)
    outside = _log_sum_exp(xp, xp.where(best_classes(evidence), -np.inf, scores), complement)
    likelihoods = -xp.logaddexp(xp.zeros_like(inside), outside - inside)
    if sharpness == 1:
        return likelihoods
    if sharpness > 1 and weights is not None:
        within, weights = add_log_weights(scores, evidence), None
    top = xp.max(within, axis=1)
    excess = 0.0 if np.isinf(sharpness) else _log_sum_exp(xp, sharpness * (within - top[:, None]), weights) / sharpness
    # For one label the sum in parentheses is 0.
    return xp.where(constant_rows(evidence), 0.0, likelihoods + (top + excess - inside))


def log_likelihood_gradient(proba: Array, proba_inside: Array, evidence: Array) -> Array:
    """Return q_ik - p_ik, the gradient of the log likelihoods with L = 1 by the scores, from p and q.

    At a weight of 1 it is q_ik times 1 - sum_k w_ik p_ik, the probability outside a set, in a form that keeps the
    precision of small probabilities. The Hessian times a direction is the difference of `softmax_jvp` of q and of p.
    """
    xp = array_namespace(proba)
    at_best = proba_inside * _outside_probability(proba, evidence)[:, None]
    return xp.where(best_classes(evidence), at_best, -proba if is_mask(evidence) else proba_inside - proba)


def total_variation(proba: Array, proba_inside: Array, evidence: Array) -> Array:
    """Return 1/2 sum_k |q_ik - p_ik|, (n,), which is the probability outside a candidate set."""
    if is_mask(evidence):
        return _outside_probability(proba, evidence)
    xp = array_namespace(proba)
    return 0.5 * xp.sum(xp.abs(log_likelihood_gradient(proba, proba_inside, evidence)), axis=1)


def _outside_probability(proba: Array, evidence: Array) -> Array:
    """Return 1 - sum_k w_ik p_ik as sum_k (1 - w_ik) p_ik, (n,)."""
    xp = array_namespace(proba)
    return xp.sum(xp.where(evidence, 0.0, proba) if is_mask(evidence) else (1.0 - evidence) * proba, axis=1)


def _log_sum_exp(xp: Any, scores: Array, weights: Array | None = None) -> Array:
    """Return log sum_k w_ik exp(s_ik), with weights of 1 by default."""
    top = xp.max(scores, axis=1)
    shift = xp.where(xp.isfinite(top), top, 0.0)  # -inf for an empty sum
    terms = xp.exp(scores - shift[:, None])
    total = xp.sum(terms if weights is None else weights * terms, axis=1)
    return xp.where(total > 0, xp.log(xp.where(total > 0, total, 1.0)) + shift, -np.inf)


def entropy(proba: Array) -> Array:
    """Return H_i = -sum_k q_ik log q_ik, (n,), of probabilities that sum to 1 in each row."""
    return array_namespace(proba).sum(_entropy_terms(proba), axis=1)


def entropy_gradient(proba: Array) -> Array:
    """Return -q_ik (log q_ik + H_i): the gradient of the entropies by the scores with softmax q."""
    terms = _entropy_terms(proba)
    return terms - proba * array_namespace(proba).sum(terms, axis=1, keepdims=True)


def _entropy_terms(proba: Array) -> Array:
    """Return -q log q, which is 0 for q = 0."""
    xp = array_namespace(proba)
    return -proba * xp.log(xp.where(proba > 0, proba, 1.0))
