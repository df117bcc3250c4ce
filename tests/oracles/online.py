"""The four online algorithms, a literal and slow implementation (Bhattacharjee & Manwani 2020, Algorithms 1 to 4)."""

import math

import numpy as np

from tests.oracles.levels import level_sets


def run(X, weights, *, method, prediction, W=None, eta=1.0, lam=1e-4, shrink_always=False, sample_weight=None):
    """Return the W after each row, the L_A of each row, and the first row whose result depends on rounding.

    A row has a mask or weights. Its step is the sum of the steps of its level sets from one W, each times its mass.
    W is 0 at the start by default. The result of a row depends on rounding if its hinge is 0 to 1e-9, or if two
    classes have equal scores to 1e-9, unless these had the same updates, or none in the features of x. On this row and
    all later ones, two correct programs may differ.
    """
    n, d = X.shape
    K = weights.shape[1]
    W = np.zeros((K, d)) if W is None else np.array(W, dtype=float)
    history, mistakes, undecided = [], [], n
    touched = W != 0
    equal_updates = (W[:, None] == W[None]).all(axis=2)
    for t in range(1, n + 1):
        x = np.asarray(X[t - 1], dtype=float)
        weight = 1.0 if sample_weight is None else sample_weight[t - 1]
        s = [math.fsum(W[k] * x) for k in range(K)]
        mistakes.append(1 - weights[t - 1, max(range(K), key=lambda k: (s[k], -k))])
        margin = 1e-9 * (1.0 + max(abs(score) for score in s))
        touched_x = (touched & (x != 0)).any(axis=1)
        rivals = [
            (k, j) for k in range(K) for j in range(k) if not equal_updates[k, j] and (touched_x[k] or touched_x[j])
        ]
        if undecided == n and any(abs(s[k] - s[j]) < margin for k, j in rivals):
            undecided = t - 1
        added, lost_mass = np.zeros(K), 0.0
        for mass, S in level_sets(weights[t - 1]):
            best = max(S, key=lambda k: (s[k], -k))
            out = max((k for k in range(K) if k not in S), key=lambda k: (s[k], -k))
            inside = sum(s[k] for k in S) / len(S) if prediction == "average" else s[best]
            if undecided == n and abs(1.0 - inside + s[out]) < margin:
                undecided = t - 1
            if weight * (1.0 - inside + s[out]) > 0:
                lost_mass += mass
                added[out] -= mass
                for k in S if prediction == "average" else [best]:
                    added[k] += mass / len(S) if prediction == "average" else mass
        shrink = 1.0 if shrink_always else lost_mass
        if method == "pegasos":
            W = (1.0 - shrink / t) * W
        if lost_mass > 0:
            touched |= (added[:, None] != 0) & (x != 0)
            equal_updates &= added[:, None] == added[None]
            W = W + weight * (eta if method == "perceptron" else 1.0 / (lam * t)) * added[:, None] * x
        if method == "pegasos" and shrink > 0:
            norm = np.linalg.norm(W)
            if norm > 0:
                W = min(1.0, 1.0 / math.sqrt(lam) / norm) * W
        history.append(W.copy())
    return history, mistakes, undecided
