"""The partial-label SVM by definition: its objective, and Algorithm 1 of Nguyen & Caruana (2008) line by line."""

import math

from tests.oracles.levels import level_sets


def objective(scores, square, weights, lam):
    """Return lam/2 ||W||^2 + 1/n sum_i max(0, 1 - best candidate + best other) over labeled rows.

    The loss of a row with weights is the sum of those of its level sets, each times its mass.
    """
    losses = []
    for s, row in zip(scores, weights, strict=True):
        sets = level_sets(row)
        if sets:
            losses.append(math.fsum(mass * _hinge(s, candidates) for mass, candidates in sets))
    return 0.5 * lam * square + math.fsum(losses) / len(losses)


def _hinge(s, candidates):
    outside = [float(v) for k, v in enumerate(s) if k not in candidates]
    return max(0.0, 1.0 - max(float(s[k]) for k in candidates) + max(outside))


def pegasos(kernel, weights, lam, n_steps):
    """Return the coefficients A of W_t = sum_i A_ik Phi(x_i, k) for t = 1 .. T+1, by inner products only.

    `kernel(i, j)` is the inner product of rows i and j. Unlabeled rows are ignored and not counted in n. Each level set
    of a row with weights is a violator of its own, with its mass.
    """
    n_rows, n_classes = weights.shape
    sets = {i: level_sets(weights[i]) for i in range(n_rows)}
    labeled = [i for i in range(n_rows) if sets[i]]
    product = {(i, j): float(kernel(i, j)) for i in labeled for j in labeled}

    def score(A, i, k):
        return math.fsum(A[j][k] * product[j, i] for j in labeled)

    A = [[0.0] * n_classes for _ in range(n_rows)]
    history = [A]
    for t in range(1, n_steps + 1):
        eta = 1.0 / (lam * t)
        half = [[(1.0 - eta * lam) * a for a in row] for row in A]
        for i in labeled:
            s = [score(A, i, k) for k in range(n_classes)]
            for mass, candidates in sets[i]:
                best = max(candidates, key=lambda k, s=s: (s[k], -k))
                out = max((k for k in range(n_classes) if k not in candidates), key=lambda k, s=s: (s[k], -k))
                if s[best] - s[out] < 1:
                    half[i][best] += mass * eta / len(labeled)
                    half[i][out] -= mass * eta / len(labeled)
        square = math.fsum(half[i][k] * score(half, i, k) for i in labeled for k in range(n_classes))
        shrink = min(1.0, 1.0 / math.sqrt(lam) / math.sqrt(square)) if square > 0 else 1.0
        A = [[shrink * a for a in row] for row in half]
        history.append(A)
    return history


def row_duals(gains, c, mass=1.0):
    """Maximize sum_k a_k gain_k - c/2 ((sum a)^2 + sum a^2) over a >= 0, sum a <= mass, by trying every support."""
    n = len(gains)
    largest, solution = 0.0, [0.0] * n
    for code in range(1, 2**n):
        support = [k for k in range(n) if code >> k & 1]
        total = sum(gains[k] for k in support)
        for theta in (total / (1 + len(support)), (total - c * mass) / len(support)):
            a = [(gains[k] - theta) / c if k in support else 0.0 for k in range(n)]
            if min(a) >= 0 and sum(a) <= mass + 1e-12:
                value = sum(x * g for x, g in zip(a, gains, strict=True))
                value -= 0.5 * c * (sum(a) ** 2 + sum(x * x for x in a))
                if value > largest:
                    largest, solution = value, a
    return solution
