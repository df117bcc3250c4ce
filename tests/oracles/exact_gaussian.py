"""EM for Gaussian classes with 50 digits: one iteration and its starting values."""

import mpmath
from mpmath import mpf

from tests.oracles.exact import dot, matrix

MIN_LOG = -(10**200)
"""Logarithms below this value represent log 0, of a class without mass."""


def posterior(rows, mask, log_weights, means, covariances):
    """Return the responsibilities within the sets, (n, K), of rows in the units of the parameters."""
    tops, d = {}, len(rows[0])
    for k, covariance in enumerate(covariances):
        if log_weights[k] > MIN_LOG:
            S = mpmath.matrix(covariance)
            tops[k] = log_weights[k] - mpmath.log(mpmath.det(S)) / 2, S**-1, means[k]
    rows_of_posterior = []
    for x, row in zip(rows, mask, strict=True):
        inside = {}
        for k, member in enumerate(row):
            if member and k in tops:
                top, inverse, mean = tops[k]
                difference = [a - b for a, b in zip(x, mean, strict=True)]
                product = [mpmath.fsum(inverse[i, j] * difference[j] for j in range(d)) for i in range(d)]
                inside[k] = top - dot(difference, product) / 2
        largest = max(inside.values())
        powers = {k: mpmath.exp(value - largest) for k, value in inside.items()}
        total = mpmath.fsum(powers.values())
        rows_of_posterior.append([powers[k] / total if k in powers else mpf(0) for k in range(len(row))])
    return rows_of_posterior


def step(rows, count, r, nu):
    """Return proportions (K,), means (K, d) and covariances (K, d, d) after an M-step from responsibilities.

    `count` is the number of occurrences of each row. The covariances are shrunk to the variances of all rows.
    """
    n, d, K = len(rows), len(rows[0]), len(r[0])
    total = mpmath.fsum(count)
    center = [mpmath.fsum(c * x[j] for c, x in zip(count, rows)) / total for j in range(d)]
    T = [mpmath.fsum(c * (x[j] - center[j]) ** 2 for c, x in zip(count, rows)) / total for j in range(d)]
    proportions, means, covariances = [], [], []
    for k in range(K):
        mass = {i: count[i] * r[i][k] for i in range(n) if r[i][k]}
        N = mpmath.fsum(mass.values())
        mean = [mpmath.fsum(m * rows[i][j] for i, m in mass.items()) / N if N else mpf(0) for j in range(d)]
        scatter = [
            [
                mpmath.fsum(m * (rows[i][a] - mean[a]) * (rows[i][b] - mean[b]) for i, m in mass.items())
                + (nu * T[a] if a == b else 0)
                for b in range(d)
            ]
            for a in range(d)
        ]
        proportions.append(N / total)
        means.append(mean)
        covariances.append([[value / (N + nu) for value in row] for row in scatter])
    return proportions, means, covariances


def standardize(X, center, scale):
    """Return the rows minus the center, divided by the scale, which are all exact."""
    (origin,), (unit,) = matrix([center]), matrix([scale])
    return [[(value - o) / u for value, o, u in zip(row, origin, unit, strict=True)] for row in matrix(X)]
