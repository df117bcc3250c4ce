"""The four online algorithms, a literal and slow implementation (Bhattacharjee & Manwani 2020, Algorithms 1 to 4)."""

import numpy as np

from tests.oracles.levels import level_sets
from tests.oracles.precision import length


def run(X, weights, *, method, prediction, W=None, eta=1.0, lam=1e-4, shrink_always=False, sample_weight=None):
    """Return the W after each row, the L_A of each row, and the first row whose result depends on rounding.

    A row has a mask or weights. Its step is the sum of the steps of its level sets from one W, each times its mass.
    W is 0 at the start by default. The result of a row depends on rounding if its hinge is 0 to 1e-9, or if two
    classes have equal scores to 1e-9, unless these had the same updates, or none in the features of x. On this row and
    all later ones, two correct programs may differ.
    """
    n, K = weights.shape
    W = 0 * X[0] * np.ones((K, 1)) if W is None else np.array(W)
    history, mistakes, undecided = [], [], n
    touched = W != 0
    equal_updates = (W[:, None] == W[None]).all(axis=2)
    for t in range(1, n + 1):
        x = X[t - 1]
        weight = 1.0 if sample_weight is None else sample_weight[t - 1]
        s = (W * x).sum(axis=1)
        mistakes.append(1 - weights[t - 1, max(range(K), key=lambda k: (s[k], -k))])
        margin = 1e-9 * (1.0 + np.abs(s).max())
        touched_x = (touched & (x != 0)).any(axis=1)
        k, j = np.nonzero(np.triu(~equal_updates & (touched_x[:, None] | touched_x)))
        if undecided == n and (np.abs(s[k] - s[j]) < margin).any():
            undecided = t - 1
        added, lost_mass = 0 * s, 0.0
        for mass, S in level_sets(weights[t - 1]):
            best = max(S, key=lambda k: (s[k], -k))
            out = max((k for k in range(K) if k not in S), key=lambda k: (s[k], -k))
            inside = s[S].mean() if prediction == "average" else s[best]
            if undecided == n and abs(1.0 - inside + s[out]) < margin:
                undecided = t - 1
            if weight * (1.0 - inside + s[out]) > 0:
                lost_mass += mass
                added[out] -= mass
                right = S if prediction == "average" else [best]
                added[right] += mass / len(right)
        shrink = 1.0 if shrink_always else lost_mass
        if method == "pegasos":
            W = (1.0 - shrink / t) * W
        if lost_mass > 0:
            touched |= (added[:, None] != 0) & (x != 0)
            equal_updates &= added[:, None] == added[None]
            W = W + weight * (eta if method == "perceptron" else 1.0 / (lam * t)) * added[:, None] * x
        if method == "pegasos" and shrink > 0:
            W = W / max(1.0, lam**0.5 * length(W))
        history.append(W.copy())
    return history, mistakes, undecided
