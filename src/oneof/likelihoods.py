"""Shares of the classes within candidate sets, the likelihood of a set, the entropy that it leaves; with derivatives.

Scores and moves are (n, K). Only functions that take a mask know what a set is.
"""

import numpy as np
from scipy.special import entr

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


def softmax(scores: Floats) -> Floats:
    """Return p_ik = exp(s_ik) / sum_j exp(s_ij)."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def softmax_moves(shares: Floats, moves: Floats) -> Floats:
    """Return q_ik (v_ik - sum_j q_ij v_ij): how the shares change along a move v of the scores.

    It is also the product of v with the Hessian of the logarithm of the sum of the exponentials, whose gradient q is.
    """
    moved = shares * moves
    return moved - shares * moved.sum(axis=1, keepdims=True)


def log_likelihoods(scores: Floats, mask: Mask) -> Floats:
    """Return log p(S_i | s_i) = -log(1 + sum_{k not in S_i} exp(s_ik) / sum_{k in S_i} exp(s_ik)), (n,).

    So written it keeps its relative precision where the likelihood is close to 1. It is 0 where the set is everything.
    """
    inside = _log_sum_exp(np.where(mask, scores, -np.inf))
    outside = _log_sum_exp(np.where(mask, -np.inf, scores))
    return -np.logaddexp(0.0, outside - inside)


def likelihood_slopes(shares: Floats, inside: Floats, mask: Mask) -> Floats:
    """Return q_ik - p_ik, the gradient of the log likelihoods by the scores, from p and q.

    Within the set it is q_ik times the probability outside it, which keeps its precision where that is small. The
    Hessian times a move is the difference of the `softmax_moves` of q and p.
    """
    missed = np.where(mask, 0.0, shares).sum(axis=1, keepdims=True)
    return np.where(mask, inside * missed, -shares)


def _log_sum_exp(scores: Floats) -> Floats:
    top = scores.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)  # -inf where there is nothing to sum
    total = np.exp(scores - shift[:, None]).sum(axis=1)
    return np.where(total > 0, np.log(np.where(total > 0, total, 1.0)) + shift, -np.inf)


def entropies(shares: Floats) -> Floats:
    """Return H_i = -sum_k q_ik log q_ik, (n,), of shares that sum to 1 in each row."""
    return entr(shares).sum(axis=1)


def entropy_slopes(shares: Floats) -> Floats:
    """Return -q_ik (log q_ik + H_i): the gradient of the entropies by the scores of which q is the softmax."""
    terms = entr(shares)
    return terms - shares * terms.sum(axis=1, keepdims=True)


def entropy_bends(shares: Floats, moves: Floats) -> Floats:
    """Return how `entropy_slopes` change along a move v of the scores: the product of v with the entropies' Hessian."""
    terms = entr(shares)
    entropy = terms.sum(axis=1, keepdims=True)
    centred = moves - (shares * moves).sum(axis=1, keepdims=True)
    changed = ((terms - shares * entropy) * moves).sum(axis=1, keepdims=True)
    return centred * (terms - shares * (1.0 + entropy)) - shares * changed
