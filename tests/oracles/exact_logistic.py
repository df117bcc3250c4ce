"""Oracle of graph-prior logistic regression in 50 digits: errors of the smoothness matrix and of the weights."""

import itertools

import mpmath
from mpmath import mpf

from tests.oracles.exact import dot, matrix

MAX_WEIGHTS = 16
"""Largest number of weights for which the Hessian is formed; above, the error is that of the gradient."""


def smoothness_error(features, affinity, weight, smoothness):
    """Return the largest error of X^T L X, relative to the roots of its diagonal."""
    X, W, A, v = matrix(features), matrix(affinity), matrix(smoothness), [mpf(float(w)) for w in weight]
    edges = [(i, j) for i in range(len(X)) for j in range(i) if W[i][j]]
    differences = [([a - b for a, b in zip(X[i], X[j], strict=True)], v[i] * v[j] * W[i][j]) for i, j in edges]
    size = range(len(A))
    exact = [[mpmath.fsum(w * x[a] * x[b] for x, w in differences) for b in size] for a in size]
    roots = [mpmath.sqrt(exact[a][a]) or mpf(1) for a in size]
    return float(max(abs(exact[a][b] - A[a][b]) / (roots[a] * roots[b]) for a in size for b in size))


def weight_error(features, mask, count, weights, Lambda):
    """Return the relative distance of weights from the mode of l(w) - 1/2 sum_c w_c^T Lambda w_c, on exact labels.

    The distance is a Newton step in the metric of the Hessian. `count` is the number of occurrences of each row; the
    last class has weights of 0.
    """
    W, L, prior = matrix(weights), len(weights), matrix(Lambda)
    D = len(W[0])
    likelihood, penalty, rows = [[mpf(0)] * D for _ in W], [[dot(line, w) for line in prior] for w in W], []
    for x, row, times in zip(matrix(features), mask, count, strict=True):
        scores = [*(dot(w, x) for w in W), mpf(0)]
        powers = [mpmath.exp(score - max(scores)) for score in scores]
        p = [power / mpmath.fsum(powers) for power in powers]
        rows.append((x, p, mpf(float(times))))
        for c in range(L):
            for j in range(D):
                likelihood[c][j] += mpf(float(times)) * (int(row[c]) - p[c]) * x[j]
    g = [a - b for row_a, row_b in zip(likelihood, penalty, strict=True) for a, b in zip(row_a, row_b, strict=True)]
    flat = [value for w in W for value in w]
    if L * D > MAX_WEIGHTS:
        size = mpmath.norm([value for row in likelihood for value in row]) or mpf(1)
        return float(mpmath.norm(g) / size)
    H = mpmath.matrix(L * D, L * D)
    for (a, b), (i, j) in itertools.product(
        itertools.product(range(L), repeat=2), itertools.product(range(D), repeat=2)
    ):
        H[a * D + i, b * D + j] = (prior[i][j] if a == b else 0) + mpmath.fsum(
            times * p[a] * (int(a == b) - p[b]) * x[i] * x[j] for x, p, times in rows
        )
    step = mpmath.lu_solve(H, mpmath.matrix(g))
    size = dot(flat, list(H * mpmath.matrix(flat)))
    return float(mpmath.sqrt(dot(g, list(step)) / size)) if size else float(mpmath.norm(g))
