"""Errors of solutions, measured in 50 digits: by mpmath, with no arithmetic of NumPy in between.

A solution is not compared with another one, which would have to be found first, but with the condition that the best
one meets: close to the best weights, a step of Newton's method in many digits is the error. Where the Hessian is too
large for many digits, strong convexity by lam bounds it: ||W - W_best|| <= ||gradient|| / lam.
"""

import itertools

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50
MOST_WEIGHTS = 12
"""For which a Hessian is made."""


def matrix(values):
    """Return rows of numbers of many digits; float64 are kept exactly."""
    return [[mpf(float(value)) for value in row] for row in values]


def dot(a, b):
    """Return the sum of products."""
    return mpmath.fdot(a, b)


def length(values):
    """Return the Euclidean length of rows of numbers."""
    return mpmath.sqrt(mpmath.fsum(value**2 for row in values for value in row))


def relative(gradient, weights, lam, curvatures):
    """Return ||step|| / ||W|| of Newton's step, or the bound where there are too many weights.

    `curvatures` are pairs of a row and the matrix (K, K) of second derivatives by its scores; the penalty adds lam.
    """
    K, d = len(weights), len(weights[0])
    size = length(weights) or mpf(1)
    if K * d > MOST_WEIGHTS:
        return float(length(gradient) / (lam * size))
    H = mpmath.eye(K * d) * lam
    for x, bent in curvatures:
        for (a, b), (i, j) in itertools.product(
            itertools.product(range(K), repeat=2), itertools.product(range(d), repeat=2)
        ):
            H[a * d + i, b * d + j] += bent[a][b] * x[i] * x[j]
    step = mpmath.lu_solve(H, mpmath.matrix([value for row in gradient for value in row]))
    return float(mpmath.norm(step) / size)


def _add(total, row, share):
    for j, value in enumerate(row):
        total[j] += share * value


def clpl_error(coef, X, mask, C, count):
    """Return the relative error of CLPL's weights, whose objective is strongly convex by 1."""
    W, rows = matrix(coef), matrix(X)
    gradient, curvatures = [list(w) for w in W], []
    for x, row, times in zip(rows, mask, count, strict=True):
        if row.all():
            continue
        inside = [k for k, member in enumerate(row) if member]
        scores = [dot(w, x) for w in W]
        mean = mpmath.fsum(scores[k] for k in inside) / len(inside)
        slope = -2 * max(mpf(0), 1 - mean) / len(inside)
        shared = 2 * int(times) * C * mpf(int(mean < 1)) / len(inside) ** 2
        if len(W) * len(x) <= MOST_WEIGHTS:
            outer = [2 * int(times) * C * mpf(int(score > -1)) for score in scores]
            bent = [
                [shared * (row[a] and row[b]) + (outer[a] if a == b and not row[a] else 0) for b in range(len(W))]
                for a in range(len(W))
            ]
            curvatures.append((x, bent))
        for k, score in enumerate(scores):
            _add(gradient[k], x, int(times) * C * (slope if row[k] else 2 * max(mpf(0), 1 + score)))
    return relative(gradient, W, 1, curvatures)


def plem_error(coef, X, mask, lam, count):
    """Return the relative error of PLEM's weights on exact labels, where the objective is strongly concave by lam."""
    W, rows = matrix(coef), matrix(X)
    gradient, curvatures = [[lam * value for value in w] for w in W], []
    for x, row, times in zip(rows, mask, count, strict=True):
        if row.all():
            continue
        scores = [dot(w, x) for w in W]
        top = max(scores)
        powers = [mpmath.exp(score - top) for score in scores]
        total, within = mpmath.fsum(powers), mpmath.fsum(p for p, member in zip(powers, row, strict=True) if member)
        if len(W) * len(x) <= MOST_WEIGHTS:
            p = [power / total for power in powers]
            bent = [
                [int(times) * ((p[a] if a == b else 0) - p[a] * p[b]) for b in range(len(W))] for a in range(len(W))
            ]
            curvatures.append((x, bent))
        for k, power in enumerate(powers):
            _add(gradient[k], x, int(times) * (power / total - (power / within if row[k] else 0)))
    return relative(gradient, W, lam, curvatures)


def online_scores(X, mask, new, *, method, prediction, lam=1e-4):
    """Return the scores of new rows after the literal algorithm, of one pass."""
    rows, K = matrix(X), len(mask[0])
    W = [[mpf(0)] * len(rows[0]) for _ in range(K)]
    for t, (x, row) in enumerate(zip(rows, mask, strict=True), start=1):
        inside, outside = [k for k in range(K) if row[k]], [k for k in range(K) if not row[k]]
        if not outside:
            continue
        scores = [dot(w, x) for w in W]
        top = max(inside, key=lambda k: scores[k])
        best = mpmath.fsum(scores[k] for k in inside) / len(inside) if prediction == "average" else scores[top]
        rival = max(outside, key=lambda k: scores[k])
        if 1 - best + scores[rival] <= 0:
            continue
        eta = mpf(1)
        if method == "pegasos":
            eta = 1 / (mpf(lam) * t)
            W = [[value * (1 - mpf(1) / t) for value in w] for w in W]
        for k in inside if prediction == "average" else [top]:
            _add(W[k], x, eta / (len(inside) if prediction == "average" else 1))
        _add(W[rival], x, -eta)
        if method == "pegasos":
            size, most = length(W), 1 / mpmath.sqrt(mpf(lam))
            if size > most:
                W = [[value * most / size for value in w] for w in W]
    return [[dot(w, x) for w in W] for x in matrix(new)]


def difference(found, exact):
    """Return the largest difference of scores by the largest score."""
    most = max(abs(value) for row in exact for value in row)
    gap = max(
        abs(mpf(float(a)) - b) for found_row, row in zip(found, exact, strict=True) for a, b in zip(found_row, row)
    )
    return float(gap / most) if most else float(gap)


def harmonic(W, labels, K):
    """Return the harmonic shares of all vertices, (n, K): labels are class numbers, -1 where there is none."""
    n = len(labels)
    free = [i for i in range(n) if labels[i] < 0]
    weights = matrix(W)
    L = mpmath.matrix(len(free), len(free))
    right = mpmath.matrix(len(free), K)
    for a, i in enumerate(free):
        L[a, a] = mpmath.fsum(weights[i]) - weights[i][i]
        for b, j in enumerate(free):
            if i != j:
                L[a, b] = -weights[i][j]
        for j in range(n):
            if labels[j] >= 0:
                right[a, labels[j]] += weights[i][j]
    found = [[mpf(int(k == label)) for k in range(K)] for label in labels]
    for k in range(K):
        column = mpmath.lu_solve(L, right[:, k])
        for a, i in enumerate(free):
            found[i][k] = column[a]
    return found


def left_out(gram, targets, lam):
    """Return what ridge regression foretells of each row from the others, around the means of all: n systems."""
    n, K, G, P = len(gram), len(targets[0]), matrix(gram), matrix(targets)
    means = [mpmath.fsum(row[k] for row in P) / n for k in range(K)]
    found = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        A = mpmath.matrix([[G[a][b] + (lam if a == b else 0) for b in others] for a in others])
        row = []
        for k in range(K):
            solved = mpmath.lu_solve(A, mpmath.matrix([P[j][k] - means[k] for j in others]))
            row.append(means[k] + mpmath.fsum(G[i][j] * solved[a] for a, j in enumerate(others)))
        found.append(row)
    return found


def nonnegative_error(gram, cross, weights):
    """Return by how much weights of min ||x - sum w_j x_j||^2, w >= 0, break the conditions of optimality."""
    G, c, w = matrix(gram), [mpf(float(value)) for value in cross], [mpf(float(value)) for value in weights]
    slopes = [dot(row, w) - value for row, value in zip(G, c, strict=True)]
    # A slope is as exact as the terms of which it is the difference.
    unit = max(*(abs(value) for value in c), *(dot([abs(g) for g in row], w) for row in G))
    broken = max(max(-slope, abs(slope) if size > 0 else mpf(0)) for slope, size in zip(slopes, w, strict=True))
    return float(max(broken, mpf(0)) / unit) if unit else float(broken)


def mode_error(F, gram, mask):
    """Return by how much the latent mode of PLGP breaks F = K (q - pi), with the maximum for the aggregate."""
    values, G = matrix(F), matrix(gram)
    gaps = []
    for f, row in zip(values, mask, strict=True):
        powers = [mpmath.exp(value - max(f)) for value in f]
        total = mpmath.fsum(powers)
        inside = max(value for value, member in zip(f, row, strict=True) if member)
        top = [bool(member) and value == inside for value, member in zip(f, row, strict=True)]
        gaps.append(
            [mpf(0)] * len(f)
            if row.all()
            else [mpf(int(t)) / sum(top) - p / total for t, p in zip(top, powers, strict=True)]
        )
    most = max(abs(value) for f in values for value in f)
    broken = max(
        abs(values[i][k] - mpmath.fsum(G[i][j] * gaps[j][k] for j in range(len(G))))
        for i in range(len(G))
        for k in range(len(values[0]))
    )
    return float(broken / most) if most else float(broken)


def multinomial_shares(X, labels, K, alpha, new):
    """Return the posterior of naive Bayes on exact labels, priors unsmoothed."""
    rows, d = matrix(X), len(X[0])
    count = [mpf(sum(1 for label in labels if label == k)) for k in range(K)]
    sums = [[mpf(alpha)] * d for _ in range(K)]
    for x, label in zip(rows, labels, strict=True):
        _add(sums[label], x, mpf(1))
    found = []
    for x in matrix(new):
        logs = [
            mpmath.log(count[k]) + mpmath.fsum(x[j] * mpmath.log(sums[k][j] / mpmath.fsum(sums[k])) for j in range(d))
            if count[k]
            else mpmath.ninf
            for k in range(K)
        ]
        powers = [mpmath.exp(value - max(logs)) for value in logs]
        found.append([power / mpmath.fsum(powers) for power in powers])
    return found
