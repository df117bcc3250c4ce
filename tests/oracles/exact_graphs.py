"""Labels along a graph, in 50 digits: a linear system, walks with their EM, and a cut by eigenvectors."""

import itertools

import mpmath
from mpmath import mpf

from tests.oracles.exact import dot, length, matrix

TIES = mpf("1e-9")
"""Eigenvalues nearer to each other than this have one rank: the method says so."""


def _shares(row):
    total = mpmath.fsum(row)
    return [value / total for value in row] if total else [mpf(1) / len(row)] * len(row)


def consistency(W, labels, K, alpha):
    """Return the shares of (1 - alpha) (I - alpha S)^-1 Y, (n, K): labels are class numbers, -1 where there is none."""
    n, weights, alpha = len(labels), matrix(W), mpf(alpha)
    roots = [mpmath.sqrt(mpmath.fsum(row)) or mpf(1) for row in weights]
    M = mpmath.matrix(n, n)
    for i in range(n):
        for j in range(n):
            M[i, j] = int(i == j) - alpha * weights[i][j] / (roots[i] * roots[j])
    found = [[mpf(0)] * K for _ in range(n)]
    for k in {label for label in labels if label >= 0}:
        solved = mpmath.lu_solve(M, mpmath.matrix([mpf(int(label == k)) for label in labels]))
        for i in range(n):
            found[i][k] = solved[i]
    return [_shares(row) for row in found]


def consistency_bound(W, labels, values, alpha):
    """Return a bound on the relative error of the shares of values, F but for its factor 1 - alpha: W is sparse.

    With r what F leaves of the system, D^-1/2 times its error is (I - alpha D^-1 W)^-1 D^-1/2 r, and the rows of that
    inverse, which has no negative entry, sum to 1 / (1 - alpha).
    """
    alpha, F = mpf(alpha), matrix(values)
    rows = [list(zip(W.indices[a:b], map(float, W.data[a:b]))) for a, b in zip(W.indptr, W.indptr[1:])]
    roots = [mpmath.sqrt(mpmath.fsum(weight for _, weight in row)) for row in rows]
    left, least = mpf(0), mpmath.inf
    for i, row in enumerate(rows):
        root = roots[i] or mpf(1)
        for k in range(len(F[i])):
            pulled = mpmath.fsum(weight / (root * roots[j]) * F[j][k] for j, weight in row)
            left = max(left, abs(int(labels[i] == k) * (1 - alpha) + alpha * pulled - F[i][k]) / root)
        if any(F[i]):
            least = min(least, mpmath.fsum(F[i]) / root)
    return float(2 * left / (1 - alpha) / least)


def walk(W, labels, K, n_steps, n_iter):
    """Return theta and p(k | x), (n, K) each, after some iterations of EM from equal shares."""
    n, weights = len(labels), matrix(W)
    P = mpmath.matrix([[weights[i][j] + int(i == j) for j in range(n)] for i in range(n)])
    for i in range(n):
        degree = mpmath.fsum(P[i, j] for j in range(n))
        for j in range(n):
            P[i, j] /= degree
    P = P**n_steps
    Q = [[P[i, x] for i in range(n)] for x in range(n)]  # by ends: P_0|t(i | x)
    Q = [_shares(column) for column in Q]
    told = [(x, label) for x, label in enumerate(labels) if label >= 0]
    theta = {k: [mpf(1) / K] * n for k in {label for _, label in told}}  # after one iteration all others are 0
    for _ in range(n_iter):
        expected = {k: [mpf(0)] * n for k in theta}
        for x, label in told:
            inside = dot(theta[label], Q[x])
            for i in range(n):
                expected[label][i] += theta[label][i] * Q[x][i] / inside
        totals = [mpmath.fsum(expected[k][i] for k in theta) for i in range(n)]
        # Nodes from which no walk reaches a label keep what they had, of every class alike.
        theta = {k: [expected[k][i] / totals[i] if totals[i] else theta[k][i] for i in range(n)] for k in theta}
    away = [mpf(0) if total else mpf(1) / K for total in totals]
    starts = [[theta.get(k, away)[i] for k in range(K)] for i in range(n)]
    ends = [_shares([dot(column, [start[k] for start in starts]) for k in range(K)]) for column in Q]
    return starts, ends


def cut_error(W, labels, shares, d, c):
    """Return by how much the scores of a spectral cut break their conditions of optimality, at most, relatively.

    Shares, (n, K), are the parts of the way between the targets that the scores z have gone. With w = V^T z in exact
    eigenvectors, (G - lam I) w = b for some lam that no eigenvalue of G is below, ||w||^2 = n, and z = V w.
    """
    n, weights = len(labels), matrix(W)
    roots = [mpmath.sqrt(mpmath.fsum(row)) for row in weights]
    L = mpmath.matrix([[int(i == j) - weights[i][j] / (roots[i] * roots[j]) for j in range(n)] for i in range(n)])
    values, vectors = mpmath.eigsy(L)
    kept, ranks = range(1, min(d, n - 1) + 1), []
    for place, j in enumerate(kept, start=1):
        ranks.append(ranks[-1] if ranks and values[j] - values[j - 1] <= TIES else mpf(place))
    V = [[vectors[i, j] for j in kept] for i in range(n)]
    told, worst, size = [i for i in range(n) if labels[i] >= 0], mpf(0), range(len(ranks))
    for k in range(len(shares[0])):
        positive = [i for i in told if labels[i] == k]
        if not positive or len(positive) == len(told):
            worst = max(worst, *(abs(mpf(float(row[k])) - int(bool(positive))) for row in shares))
            continue
        l_pos, l_neg, total = len(positive), len(told) - len(positive), mpf(len(told))
        high, low = mpmath.sqrt(mpf(l_neg) / l_pos), -mpmath.sqrt(mpf(l_pos) / l_neg)
        C = {i: c * total / (2 * (l_pos if labels[i] == k else l_neg)) for i in told}
        gamma = {i: high if labels[i] == k else low for i in told}
        G = mpmath.diag([rank**2 for rank in ranks])
        for a, e in itertools.product(size, repeat=2):
            G[a, e] += mpmath.fsum(C[i] * V[i][a] * V[i][e] for i in told)
        b = [mpmath.fsum(C[i] * gamma[i] * V[i][a] for i in told) for a in size]
        z = [low + mpf(float(row[k])) * (high - low) for row in shares]
        w = [mpmath.fsum(V[i][a] * z[i] for i in range(n)) for a in size]
        slopes = [mpmath.fsum(G[a, e] * w[e] for e in size) - b[a] for a in size]
        lam = dot(slopes, w) / n
        least, most = mpmath.eigsy(G, eigvals_only=True)[0], max(G[a, a] for a in size)
        worst = max(
            worst,
            length([[slope - lam * value for slope, value in zip(slopes, w, strict=True)]]) / length([b]),
            (lam - least) / most,
            abs(length([w]) ** 2 / n - 1),
            length([[z[i] - dot(V[i], w) for i in range(n)]]) / length([z]),
        )
    return float(worst)
