"""Oracle of LOORidge, with loops over rows and classes."""

from math import lgamma

import numpy as np
from scipy.stats import t as student


def predict_loo(gram, P, lam):
    """Return the leave-one-out predictions of ridge regression by n fits; the means are those of all rows."""
    n = len(gram)
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        a = np.linalg.solve(gram[np.ix_(others, others)] + lam * np.eye(n - 1), P[others] - m)
        F[i] = gram[i, others] @ a + m
    return F


def predict_loo_from_features(features, P, lam):
    """Return the leave-one-out predictions of ridge regression on features, (n, r)."""
    n, r = features.shape
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        A = features[others]
        F[i] = features[i] @ np.linalg.solve(A.T @ A + lam * np.eye(r), A.T @ (P[others] - m)) + m
    return F


def groups(S):
    """Return for each row the indices of the rows with the same set."""
    return [[j for j in range(len(S)) if tuple(S[j]) == tuple(S[i])] for i in range(len(S))]


def uniform_labels(gram, S, lam, max_iter):
    """Return P under uniform distractors."""
    P = S / S.sum(axis=1, keepdims=True)
    for _ in range(max_iter):
        P = S * np.maximum(predict_loo(gram, P, lam), 1e-6)
        P /= P.sum(axis=1, keepdims=True)
    return P


def cooccurring_labels(gram, S, lam, max_iter, power):
    """Return P under cooccurring distractors; no row of S is unlabeled."""
    P = S / S.sum(axis=1, keepdims=True)
    same = groups(S)
    for _ in range(max_iter):
        M = P.sum(axis=0) + 1
        Q = S * np.maximum(predict_loo(gram, P, lam), 1e-6) ** power / np.sqrt(M)
        Q /= Q.sum(axis=1, keepdims=True)
        for _ in range(3):
            Q = np.array(
                [
                    Q[i] * ((len(same[i]) * S[i] / S[i].sum() + 1) / (Q[same[i]].sum(axis=0) + 1)) ** 0.25
                    for i in range(len(S))
                ]
            )
            Q /= Q.sum(axis=1, keepdims=True)
        P = Q
    return P


def confusion_rates(P, S):
    """Return C[k, j], the rate of distractor j for the truth k, shrunk by the strength of the largest likelihood."""
    rows = [i for i in range(len(S)) if S[i].sum() > 1]
    K = S.shape[1]
    q = sum(S[i].sum() - 1 for i in rows) / (len(rows) * (K - 1))
    m = [sum(P[i, k] for i in rows) for k in range(K)]
    N = [[sum(P[i, k] for i in rows if S[i, j]) for j in range(K)] for k in range(K)]

    def log_beta(a, b):
        return lgamma(a) + lgamma(b) - lgamma(a + b)

    best = None
    for t in (1, 2, 4, 8, 16, 32, 64, 256, 1e4):
        value = 0.0
        for k in range(K):
            for j in range(K):
                if j != k:
                    value += log_beta(N[k][j] + t * q, m[k] - N[k][j] + t * (1 - q)) - log_beta(t * q, t * (1 - q))
        if best is None or value > best[0]:
            best = (value, t)
    t = best[1]
    C = np.array([[(N[k][j] + t * q) / (m[k] + t) if j != k else 0.0 for j in range(K)] for k in range(K)])
    return np.clip(C, 1e-4, 1 - 1e-4)


def confusable_labels(gram, S, lam, max_iter):
    """Return P under confusable distractors."""
    P = S / S.sum(axis=1, keepdims=True)
    n, K = S.shape
    for t in range(max_iter):
        Q = S * np.maximum(predict_loo(gram, P, lam), 1e-6)
        if t >= 5:
            C = confusion_rates(P, S)
            for i in range(n):
                for k in range(K):
                    for j in range(K):
                        if j != k:
                            Q[i, k] *= np.sqrt(C[k, j] if S[i, j] else 1 - C[k, j])
        P = Q / Q.sum(axis=1, keepdims=True)
    return P


def predictive_gains(P, F, S):
    """Return log p(x | S) - log p(x) of each row."""
    n, K = P.shape
    p = [(P[:, k].sum() + 0.5) / (n + 0.5 * K) for k in range(K)]
    gains = []
    for i, same in enumerate(groups(S)):
        R = np.maximum(F[i], 1e-3) / np.maximum(F[i], 1e-3).sum()
        inside = sum(p[k] for k in range(K) if S[i, k])
        value = 0.0
        for k in range(K):
            if S[i, k]:
                rho = (sum(P[j, k] for j in same if j != i) + 4 * p[k] / inside) / (len(same) - 1 + 4)
                value += rho * R[k] / p[k]
        gains.append(np.log(value))
    return np.array(gains)


def clustered_z_score(d, S):
    """Return the mean over its standard error, with the rows of one set as one cluster."""
    sums = {}
    for i in range(len(S)):
        sums[tuple(S[i])] = sums.get(tuple(S[i]), 0.0) + d[i] - d.mean()
    return d.mean() * len(d) / np.sqrt(sum(value**2 for value in sums.values()))


def select(gram, S, lam, max_iter):
    """Return P averaged over the distractor models, and the two z-scores."""
    uniform = uniform_labels(gram, S, lam, max_iter)
    cooccurring = cooccurring_labels(gram, S, lam, max_iter, 1)
    confusable = confusable_labels(gram, S, lam, max_iter)
    gain = {
        name: predictive_gains(P, predict_loo(gram, P, lam), S)
        for name, P in (("uniform", uniform), ("cooccurring", cooccurring), ("confusable", confusable))
    }
    z, other_z = (clustered_z_score(gain[name] - gain["uniform"], S) for name in ("cooccurring", "confusable"))
    w = student.cdf(z, len({tuple(row) for row in S}) - 1)
    is_confusable = other_z > 1 and np.abs(confusable - uniform).sum(axis=1).mean() / 2 > 0.01
    other = confusable if is_confusable else uniform
    if w < 0.001:
        return other, z, other_z
    return w * cooccurring_labels(gram, S, lam, max_iter, 2) + (1 - w) * other, z, other_z
