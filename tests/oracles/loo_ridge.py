"""LOORidge, row by row and class by class, from the recipe's lines."""

import numpy as np


def left_out(gram, P, lam):
    """Return what ridge regression on all rows but i predicts for i, for each i, by n fits; the means are of all."""
    n = len(gram)
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        a = np.linalg.solve(gram[np.ix_(rest, rest)] + lam * np.eye(n - 1), P[rest] - m)
        F[i] = gram[i, rest] @ a + m
    return F


def left_out_of_features(features, P, lam):
    """Return the same for ridge regression on features, (n, r)."""
    n, r = features.shape
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        A = features[rest]
        F[i] = features[i] @ np.linalg.solve(A.T @ A + lam * np.eye(r), A.T @ (P[rest] - m)) + m
    return F


def slope(P, S):
    """Return the weighted slope of log q on log m over the rows of several candidates."""
    rows = [i for i in range(len(S)) if 1 < S[i].sum() < S.shape[1]]
    n, K = len(rows), S.shape[1]
    m = [sum(P[i, k] for i in rows) for k in range(K)]
    N = [sum(S[i, k] for i in rows) for k in range(K)]
    x = np.array([np.log((m[k] + 1) / n) for k in range(K)])
    y = np.array([np.log((N[k] - m[k] + 1) / (n - m[k] + 1)) for k in range(K)])
    w = np.sqrt(N)
    X = np.column_stack([np.ones(K), x])
    return np.linalg.lstsq(np.sqrt(w)[:, None] * X, np.sqrt(w) * y, rcond=None)[0][1]


def rounds(gram, S, lam, n_rounds, warm_up, fixed=None):
    """Return P, the left-out scores and tau after the rounds; no row of S is full."""
    P = S / S.sum(axis=1, keepdims=True)
    groups = {}
    for i in range(len(S)):
        groups.setdefault(tuple(S[i]), []).append(i)
    tau = 1.0 if fixed is None else fixed
    for t in range(n_rounds):
        F = left_out(gram, P, lam)
        if fixed is None and t >= warm_up:
            tau = min(max(slope(P, S), 0.0), 1.0)
        M = P.sum(axis=0) + 1
        Q = S * np.maximum(F, 1e-6) ** 2 * M ** (-tau / 2)
        Q /= Q.sum(axis=1, keepdims=True)
        for _ in range(3):
            for members in groups.values():
                set_ = S[members[0]]
                target = len(members) * set_ / set_.sum()
                Q[members] *= ((target + 1) / (Q[members].sum(axis=0) + 1)) ** (tau / 4)
            Q /= Q.sum(axis=1, keepdims=True)
        P = Q
    return P, left_out(gram, P, lam), tau
