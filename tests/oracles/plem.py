"""The PLEM objective row by row, and the EM algorithm that maximizes it without entropies; masks may be weights."""

import math


def probabilities(W, b, x):
    """Return the softmax of the scores of one row."""
    s = [
        math.fsum(float(a) * float(v) for a, v in zip(w, x, strict=True)) + float(c) for w, c in zip(W, b, strict=True)
    ]
    terms = [math.exp(score - max(s)) for score in s]
    return [term / math.fsum(terms) for term in terms]


def objective(W, b, X, mask, lam, entropy_weight, sample_weight):
    """Return sum_i w_i [log sum_k v_ik p_ik - mu H(q_i)] - lam/2 ||W||^2, with q_ik proportional to v_ik p_ik."""
    total = -0.5 * lam * math.fsum(float(w) ** 2 for row in W for w in row)
    for x, candidates, weight in zip(X, mask, sample_weight, strict=True):
        p = probabilities(W, b, x)
        inside = [float(candidates[k]) * p[k] for k in range(len(p)) if candidates[k]]
        total_inside = math.fsum(inside)
        entropy = -math.fsum(v / total_inside * math.log(v / total_inside) for v in inside)
        total += float(weight) * (math.log(total_inside) - entropy_weight * entropy)
    return total
