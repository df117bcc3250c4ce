"""The partial-label SVM by definition: its objective, and Algorithm 1 of Nguyen & Caruana (2008) line by line."""

import math

import numpy as np

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


def pegasos(gram, weights, lam, n_steps):
    """Return the coefficients A of W_t = sum_i A_ik Phi(x_i, k) for t = 1 .. T+1, by inner products only.

    Unlabeled rows are ignored and not counted in n. Each level set of a row with weights is a violator of its own, with
    its mass.
    """
    sets = [level_sets(row) for row in weights]
    n = sum(map(bool, sets))
    A = np.zeros(weights.shape)
    history = [A]
    for t in range(1, n_steps + 1):
        eta = 1.0 / (lam * t)
        A = (1.0 - eta * lam) * A
        for i, s in enumerate(gram @ history[-1]):
            for mass, candidates in sets[i]:
                best = max(candidates, key=lambda k, s=s: (s[k], -k))
                out = max(set(range(len(s))) - set(candidates), key=lambda k, s=s: (s[k], -k))
                if s[best] - s[out] < 1:
                    A[i, [best, out]] += mass * eta / n * np.array([1, -1])
        A = A / max(1.0, math.sqrt(lam * (A * (gram @ A)).sum()))
        history.append(A)
    return history
