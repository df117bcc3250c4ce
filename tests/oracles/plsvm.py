"""The partial-label SVM by definition: its objective, and Algorithm 1 of Nguyen & Caruana (2008) line by line."""

import math


def objective(scores, square, mask, lam):
    """Return lam/2 ||W||^2 + 1/n sum_i max(0, 1 - best candidate + best other) over labeled rows."""
    losses = []
    for s, candidates in zip(scores, mask, strict=True):
        inside = [float(v) for v, member in zip(s, candidates, strict=True) if member]
        outside = [float(v) for v, member in zip(s, candidates, strict=True) if not member]
        if outside:
            losses.append(max(0.0, 1.0 - max(inside) + max(outside)))
    return 0.5 * lam * square + math.fsum(losses) / len(losses)


def pegasos(kernel, mask, lam, n_steps):
    """Return the coefficients A of W_t = sum_i A_ik Phi(x_i, k) for t = 1 .. T+1, by inner products only.

    `kernel(i, j)` is the inner product of rows i and j. Unlabeled rows are ignored and not counted in n.
    """
    n_rows, n_classes = mask.shape
    labeled = [i for i in range(n_rows) if not mask[i].all()]
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
            best = max((k for k in range(n_classes) if mask[i, k]), key=lambda k, s=s: (s[k], -k))
            out = max((k for k in range(n_classes) if not mask[i, k]), key=lambda k, s=s: (s[k], -k))
            if s[best] - s[out] < 1:
                half[i][best] += eta / len(labeled)
                half[i][out] -= eta / len(labeled)
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
