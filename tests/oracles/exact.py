"""Errors of solutions, computed in 50 digits by mpmath, without the arithmetic of NumPy.

A solution is compared with the optimality condition, not with a second solution: close to the optimum, the error is a
Newton step in 50 digits. If the Hessian is too large for that, strong convexity by lam bounds the error:
||W - W_best|| <= ||gradient|| / lam.
"""

import itertools

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50
MAX_WEIGHTS = 12
"""Largest number of weights for which the Hessian is formed."""


def matrix(values):
    """Convert rows of numbers to 50 digits; float64 numbers are represented exactly."""
    return [[mpf(float(value)) for value in row] for row in values]


def dot(a, b):
    """Return the inner product of two vectors."""
    return mpmath.fdot(a, b)


def length(values):
    """Return the Frobenius norm of a matrix."""
    return mpmath.sqrt(mpmath.fsum(value**2 for row in values for value in row))


def relative(gradient, weights, lam, curvatures):
    """Return ||step|| / ||W|| of a Newton step, or a bound on the error if there are too many weights.

    `curvatures` are pairs of a row and the (K, K) matrix of second derivatives by its scores; the penalty adds lam.
    """
    K, d = len(weights), len(weights[0])
    size = length(weights) or mpf(1)
    if K * d > MAX_WEIGHTS:
        return float(length(gradient) / (lam * size))
    H = mpmath.eye(K * d) * lam
    for x, curvature in curvatures:
        for (a, b), (i, j) in itertools.product(
            itertools.product(range(K), repeat=2), itertools.product(range(d), repeat=2)
        ):
            H[a * d + i, b * d + j] += curvature[a][b] * x[i] * x[j]
    step = mpmath.lu_solve(H, mpmath.matrix([value for row in gradient for value in row]))
    return float(mpmath.norm(step) / size)


def _add(total, row, factor):
    for j, value in enumerate(row):
        total[j] += factor * value


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
        mean_slope = -2 * max(mpf(0), 1 - mean) / len(inside)
        within_curvature = 2 * int(times) * C * mpf(int(mean < 1)) / len(inside) ** 2
        if len(W) * len(x) <= MAX_WEIGHTS:
            outside_curvature = [2 * int(times) * C * mpf(int(score > -1)) for score in scores]
            curvature = [
                [
                    within_curvature * (row[a] and row[b]) + (outside_curvature[a] if a == b and not row[a] else 0)
                    for b in range(len(W))
                ]
                for a in range(len(W))
            ]
            curvatures.append((x, curvature))
        for k, score in enumerate(scores):
            _add(gradient[k], x, int(times) * C * (mean_slope if row[k] else 2 * max(mpf(0), 1 + score)))
    return relative(gradient, W, 1, curvatures)


def plem_error(coef, X, mask, lam, count):
    """Return the relative error of PLEM's weights on exact labels; the objective is strongly concave by lam."""
    W, rows = matrix(coef), matrix(X)
    gradient, curvatures = [[lam * value for value in w] for w in W], []
    for x, row, times in zip(rows, mask, count, strict=True):
        if row.all():
            continue
        scores = [dot(w, x) for w in W]
        top = max(scores)
        powers = [mpmath.exp(score - top) for score in scores]
        total, within = mpmath.fsum(powers), mpmath.fsum(p for p, member in zip(powers, row, strict=True) if member)
        if len(W) * len(x) <= MAX_WEIGHTS:
            p = [power / total for power in powers]
            curvature = [
                [int(times) * ((p[a] if a == b else 0) - p[a] * p[b]) for b in range(len(W))] for a in range(len(W))
            ]
            curvatures.append((x, curvature))
        for k, power in enumerate(powers):
            _add(gradient[k], x, int(times) * (power / total - (power / within if row[k] else 0)))
    return relative(gradient, W, lam, curvatures)


def online_scores(X, mask, new, *, method, prediction, lam=1e-4):
    """Return the scores of new rows after one pass of the literal algorithm."""
    rows, K = matrix(X), len(mask[0])
    W = [[mpf(0)] * len(rows[0]) for _ in range(K)]
    for t, (x, row) in enumerate(zip(rows, mask, strict=True), start=1):
        inside, outside = [k for k in range(K) if row[k]], [k for k in range(K) if not row[k]]
        if not outside:
            continue
        scores = [dot(w, x) for w in W]
        top = max(inside, key=lambda k: scores[k])
        best = mpmath.fsum(scores[k] for k in inside) / len(inside) if prediction == "average" else scores[top]
        runner_up = max(outside, key=lambda k: scores[k])
        if 1 - best + scores[runner_up] <= 0:
            continue
        eta = mpf(1)
        if method == "pegasos":
            eta = 1 / (mpf(lam) * t)
            W = [[value * (1 - mpf(1) / t) for value in w] for w in W]
        for k in inside if prediction == "average" else [top]:
            _add(W[k], x, eta / (len(inside) if prediction == "average" else 1))
        _add(W[runner_up], x, -eta)
        if method == "pegasos":
            norm, max_norm = length(W), 1 / mpmath.sqrt(mpf(lam))
            if norm > max_norm:
                W = [[value * max_norm / norm for value in w] for w in W]
    return [[dot(w, x) for w in W] for x in matrix(new)]


def difference(values, exact):
    """Return the largest difference from the exact values, divided by the largest exact value."""
    largest = max(abs(value) for row in exact for value in row)
    gap = max(
        abs(mpf(float(a)) - b) for value_row, row in zip(values, exact, strict=True) for a, b in zip(value_row, row)
    )
    return float(gap / largest) if largest else float(gap)


def harmonic(W, labels, K):
    """Return the harmonic function of all vertices, (n, K); labels are class numbers, -1 if unlabeled."""
    n = len(labels)
    free = [i for i in range(n) if labels[i] < 0]
    weights = matrix(W)
    L = mpmath.matrix(len(free), len(free))
    right_side = mpmath.matrix(len(free), K)
    for a, i in enumerate(free):
        L[a, a] = mpmath.fsum(weights[i]) - weights[i][i]
        for b, j in enumerate(free):
            if i != j:
                L[a, b] = -weights[i][j]
        for j in range(n):
            if labels[j] >= 0:
                right_side[a, labels[j]] += weights[i][j]
    solution = [[mpf(int(k == label)) for k in range(K)] for label in labels]
    for k in range(K):
        column = mpmath.lu_solve(L, right_side[:, k])
        for a, i in enumerate(free):
            solution[i][k] = column[a]
    return solution


def leave_one_out(gram, targets, lam):
    """Return leave-one-out predictions of ridge regression by n systems; targets are centered by the means of all."""
    n, K, G, P = len(gram), len(targets[0]), matrix(gram), matrix(targets)
    means = [mpmath.fsum(row[k] for row in P) / n for k in range(K)]
    predictions = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        A = mpmath.matrix([[G[a][b] + (lam if a == b else 0) for b in others] for a in others])
        row = []
        for k in range(K):
            solved = mpmath.lu_solve(A, mpmath.matrix([P[j][k] - means[k] for j in others]))
            row.append(means[k] + mpmath.fsum(G[i][j] * solved[a] for a, j in enumerate(others)))
        predictions.append(row)
    return predictions


def nonnegative_error(gram, cross, weights):
    """Return the relative violation of the optimality conditions of min ||x - sum w_j x_j||^2, w >= 0."""
    G, c, w = matrix(gram), [mpf(float(value)) for value in cross], [mpf(float(value)) for value in weights]
    derivatives = [dot(row, w) - value for row, value in zip(G, c, strict=True)]
    # A derivative is a difference of terms, and as accurate as the larger of them.
    unit = max(*(abs(value) for value in c), *(dot([abs(g) for g in row], w) for row in G))
    violation = max(
        max(-derivative, abs(derivative) if weight > 0 else mpf(0))
        for derivative, weight in zip(derivatives, w, strict=True)
    )
    return float(max(violation, mpf(0)) / unit) if unit else float(violation)


def mode_error(F, gram, mask):
    """Return the relative residual of F = K (q - pi) at the latent mode of PLGP with infinite sharpness."""
    values, G = matrix(F), matrix(gram)
    residuals = []
    for f, row in zip(values, mask, strict=True):
        powers = [mpmath.exp(value - max(f)) for value in f]
        total = mpmath.fsum(powers)
        inside = max(value for value, member in zip(f, row, strict=True) if member)
        top = [bool(member) and value == inside for value, member in zip(f, row, strict=True)]
        residuals.append(
            [mpf(0)] * len(f)
            if row.all()
            else [mpf(int(t)) / sum(top) - p / total for t, p in zip(top, powers, strict=True)]
        )
    largest = max(abs(value) for f in values for value in f)
    violation = max(
        abs(values[i][k] - mpmath.fsum(G[i][j] * residuals[j][k] for j in range(len(G))))
        for i in range(len(G))
        for k in range(len(values[0]))
    )
    return float(violation / largest) if largest else float(violation)


def naive_bayes_posterior(X, labels, K, alpha, new):
    """Return the posterior probabilities of naive Bayes on exact labels, without smoothing of the priors."""
    rows, d = matrix(X), len(X[0])
    count = [mpf(sum(1 for label in labels if label == k)) for k in range(K)]
    sums = [[mpf(alpha)] * d for _ in range(K)]
    for x, label in zip(rows, labels, strict=True):
        _add(sums[label], x, mpf(1))
    proba = []
    for x in matrix(new):
        logs = [
            mpmath.log(count[k]) + mpmath.fsum(x[j] * mpmath.log(sums[k][j] / mpmath.fsum(sums[k])) for j in range(d))
            if count[k]
            else mpmath.ninf
            for k in range(K)
        ]
        powers = [mpmath.exp(value - max(logs)) for value in logs]
        proba.append([power / mpmath.fsum(powers) for power in powers])
    return proba
