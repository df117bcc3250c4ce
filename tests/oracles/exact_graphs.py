"""Graph methods in 50 digits: a linear system, random walks with EM, and a cut by eigenvectors."""

import itertools

import mpmath
from mpmath import mpf

from tests.oracles.exact import dot, length, matrix

EIGENVALUE_TOL = mpf("1e-9")
"""Eigenvalues with a smaller difference have one rank, as in the method."""


def _normalize(row):
    total = mpmath.fsum(row)
    return [value / total for value in row] if total else [mpf(1) / len(row)] * len(row)


def consistency(W, labels, K, alpha):
    """Return (1 - alpha) (I - alpha S)^-1 Y with rows of sum 1, (n, K); labels are class numbers, -1 if unlabeled."""
    n, weights, alpha = len(labels), matrix(W), mpf(alpha)
    roots = [mpmath.sqrt(mpmath.fsum(row)) or mpf(1) for row in weights]
    M = mpmath.matrix(n, n)
    for i in range(n):
        for j in range(n):
            M[i, j] = int(i == j) - alpha * weights[i][j] / (roots[i] * roots[j])
    F = [[mpf(0)] * K for _ in range(n)]
    for k in {label for label in labels if label >= 0}:
        solved = mpmath.lu_solve(M, mpmath.matrix([mpf(int(label == k)) for label in labels]))
        for i in range(n):
            F[i][k] = solved[i]
    return [_normalize(row) for row in F]


def consistency_bound(W, labels, values, alpha):
    """Return a bound on the relative error of the distributions of F; W is sparse.

    With the residual r of F, D^-1/2 times its error is (I - alpha D^-1 W)^-1 D^-1/2 r, and the rows of this inverse,
    which has no negative entry, sum to 1 / (1 - alpha).
    """
    alpha, F = mpf(alpha), matrix(values)
    rows = [list(zip(W.indices[a:b], map(float, W.data[a:b]))) for a, b in zip(W.indptr, W.indptr[1:])]
    roots = [mpmath.sqrt(mpmath.fsum(weight for _, weight in row)) for row in rows]
    residual, smallest = mpf(0), mpmath.inf
    for i, row in enumerate(rows):
        root = roots[i] or mpf(1)
        for k in range(len(F[i])):
            inflow = mpmath.fsum(weight / (root * roots[j]) * F[j][k] for j, weight in row)
            residual = max(residual, abs(int(labels[i] == k) * (1 - alpha) + alpha * inflow - F[i][k]) / root)
        if any(F[i]):
            smallest = min(smallest, mpmath.fsum(F[i]) / root)
    return float(2 * residual / (1 - alpha) / smallest)


def walk(W, labels, K, n_steps, n_iter):
    """Return theta and p(k | x), (n, K) each, after some iterations of EM from uniform theta."""
    n, weights = len(labels), matrix(W)
    P = mpmath.matrix([[weights[i][j] + int(i == j) for j in range(n)] for i in range(n)])
    for i in range(n):
        degree = mpmath.fsum(P[i, j] for j in range(n))
        for j in range(n):
            P[i, j] /= degree
    P = P**n_steps
    Q = [[P[i, x] for i in range(n)] for x in range(n)]  # by end nodes: P_0|t(i | x)
    Q = [_normalize(column) for column in Q]
    labeled = [(x, label) for x, label in enumerate(labels) if label >= 0]
    theta = {k: [mpf(1) / K] * n for k in {label for _, label in labeled}}  # after one iteration all others are 0
    for _ in range(n_iter):
        expected = {k: [mpf(0)] * n for k in theta}
        for x, label in labeled:
            inside = dot(theta[label], Q[x])
            for i in range(n):
                expected[label][i] += theta[label][i] * Q[x][i] / inside
        totals = [mpmath.fsum(expected[k][i] for k in theta) for i in range(n)]
        # Nodes from which no walk reaches a label keep their uniform distribution.
        theta = {k: [expected[k][i] / totals[i] if totals[i] else theta[k][i] for i in range(n)] for k in theta}
    unreachable = [mpf(0) if total else mpf(1) / K for total in totals]
    starts = [[theta.get(k, unreachable)[i] for k in range(K)] for i in range(n)]
    ends = [_normalize([dot(column, [start[k] for start in starts]) for k in range(K)]) for column in Q]
    return starts, ends


def cut_error(W, labels, relative_scores, d, c):
    """Return the largest relative violation of the optimality conditions by the scores of a spectral cut.

    The relative scores, (n, K), are the scores z on the scale of their targets: (z - gamma_-) / (gamma_+ - gamma_-).
    With w = V^T z in exact eigenvectors, (G - lam I) w = b for a lam that is at most the smallest eigenvalue of G,
    ||w||^2 = n, and z = V w.
    """
    n, weights = len(labels), matrix(W)
    roots = [mpmath.sqrt(mpmath.fsum(row)) for row in weights]
    L = mpmath.matrix([[int(i == j) - weights[i][j] / (roots[i] * roots[j]) for j in range(n)] for i in range(n)])
    values, vectors = mpmath.eigsy(L)
    selected, ranks = range(1, min(d, n - 1) + 1), []
    for rank, j in enumerate(selected, start=1):
        ranks.append(ranks[-1] if ranks and values[j] - values[j - 1] <= EIGENVALUE_TOL else mpf(rank))
    V = [[vectors[i, j] for j in selected] for i in range(n)]
    labeled, worst, size = [i for i in range(n) if labels[i] >= 0], mpf(0), range(len(ranks))
    for k in range(len(relative_scores[0])):
        positive = [i for i in labeled if labels[i] == k]
        if not positive or len(positive) == len(labeled):
            worst = max(worst, *(abs(mpf(float(row[k])) - int(bool(positive))) for row in relative_scores))
            continue
        l_pos, l_neg, total = len(positive), len(labeled) - len(positive), mpf(len(labeled))
        high, low = mpmath.sqrt(mpf(l_neg) / l_pos), -mpmath.sqrt(mpf(l_pos) / l_neg)
        C = {i: c * total / (2 * (l_pos if labels[i] == k else l_neg)) for i in labeled}
        gamma = {i: high if labels[i] == k else low for i in labeled}
        G = mpmath.diag([rank**2 for rank in ranks])
        for a, e in itertools.product(size, repeat=2):
            G[a, e] += mpmath.fsum(C[i] * V[i][a] * V[i][e] for i in labeled)
        b = [mpmath.fsum(C[i] * gamma[i] * V[i][a] for i in labeled) for a in size]
        z = [low + mpf(float(row[k])) * (high - low) for row in relative_scores]
        w = [mpmath.fsum(V[i][a] * z[i] for i in range(n)) for a in size]
        gradient = [mpmath.fsum(G[a, e] * w[e] for e in size) - b[a] for a in size]
        lam = dot(gradient, w) / n
        least, most = mpmath.eigsy(G, eigvals_only=True)[0], max(G[a, a] for a in size)
        worst = max(
            worst,
            length([[derivative - lam * value for derivative, value in zip(gradient, w, strict=True)]]) / length([b]),
            (lam - least) / most,
            abs(length([w]) ** 2 / n - 1),
            length([[z[i] - dot(V[i], w) for i in range(n)]]) / length([z]),
        )
    return float(worst)
