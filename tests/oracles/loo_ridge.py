"""Oracle of LOORidge, with loops over rows and classes.

S, (n, K), are the weights of the classes: 0 and 1 for candidate sets.
"""

from math import lgamma

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from tests.oracles import online

NO_JUDGE = (0.0, 0.0)


def predict_loo(gram, P, lam):
    """Return the leave-one-out predictions of ridge regression by n fits; the means are those of all rows."""
    m, n = P.mean(axis=0), len(gram)
    F = np.empty_like(P)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        a = np.linalg.solve(gram[np.ix_(others, others)] + lam * np.eye(n - 1), P[others] - m)
        F[i] = gram[i, others] @ a + m
    return F


def predict_loo_from_features(features, P, lam):
    """Return the leave-one-out predictions of ridge regression on features, (n, r)."""
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(len(features)):
        A = np.delete(features, i, axis=0)
        targets = np.delete(P, i, axis=0) - m
        F[i] = features[i] @ np.linalg.solve(A.T @ A + lam * np.eye(features.shape[1]), A.T @ targets) + m
    return F


def mixed(P, judge):
    """Return (1 - w^2) P + w^2 W for a judge (W, w)."""
    W, w = judge
    return (1 - w**2) * P + w**2 * W


def groups(S):
    """Return for each row the indices of the rows with the same set; unlabeled rows are a group of their own."""
    keys = [group_key(row) for row in S]
    return [[j for j in range(len(S)) if keys[j] == keys[i]] for i in range(len(S))]


def group_key(row):
    """Return the set of a row, and whether the row is unlabeled."""
    return tuple(row > 0), bool((row == 1).all())


def uniform_labels(gram, S, lam, max_iter, judge=NO_JUDGE):
    """Return P under uniform distractors."""
    P = mixed(S / S.sum(axis=1, keepdims=True), judge)
    for _ in range(max_iter):
        P = S * np.maximum(predict_loo(gram, P, lam), 1e-6)
        P = mixed(P / P.sum(axis=1, keepdims=True), judge)
    return P


def cooccurring_labels(gram, S, lam, max_iter, judge=NO_JUDGE):
    """Return P under cooccurring distractors; no row of S is unlabeled."""
    P = mixed(S / S.sum(axis=1, keepdims=True), judge)
    same, full = groups(S), [bool((row > 0).all()) for row in S]
    for _ in range(max_iter):
        M = sum(P[i] for i in range(len(S)) if not full[i]) + 1
        powers = S * np.maximum(predict_loo(gram, P, lam), 1e-6) ** 2
        Q = powers / np.sqrt(M)
        Q /= Q.sum(axis=1, keepdims=True)
        for _ in range(3):
            Q = np.array(
                [
                    Q[i] * ((len(same[i]) / (S[i] > 0).sum() + 1) / (Q[same[i]].sum(axis=0) + 1)) ** 0.25
                    for i in range(len(S))
                ]
            )
            Q /= Q.sum(axis=1, keepdims=True)
        P = np.array([powers[i] / powers[i].sum() if full[i] else Q[i] for i in range(len(S))])
        P = mixed(P, judge)
    return P


def confusion_rates(P, S):
    """Return C[k, j], the rate of distractor j for the truth k, shrunk by the strength of the largest likelihood."""
    K = S.shape[1]
    rows = [i for i in range(len(S)) if 1 < (S[i] > 0).sum() < K]
    q = sum((S[i] > 0).sum() - 1 for i in rows) / (len(rows) * (K - 1))
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


def confusable_labels(gram, S, lam, max_iter, judge=NO_JUDGE):
    """Return P under confusable distractors."""
    P = mixed(S / S.sum(axis=1, keepdims=True), judge)
    n, K = S.shape
    for t in range(max_iter):
        Q = S * np.maximum(predict_loo(gram, P, lam), 1e-6)
        if t >= 5:
            C = confusion_rates(P, S)
            for i in range(n):
                for k in range(K):
                    for j in range(K):
                        if j != k and not (S[i] > 0).all():
                            Q[i, k] *= np.sqrt(C[k, j] if S[i, j] else 1 - C[k, j])
        P = mixed(Q / Q.sum(axis=1, keepdims=True), judge)
    return P


def judge(X, gram, S, lam, max_iter, pooled, folds, rng):
    """Return W and w of the linear judge: X are rows of length 1, `folds` those of the pooled rows."""
    W = S * calibrated(held_out_linear(X, S, rng.permutation(len(S)) % 3, rng), S)
    part = S[pooled]
    ridge, linear = np.empty(part.shape), held_out_linear(X[pooled], part, folds, rng)
    for fold in range(3):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        inner = gram[np.ix_(pooled[train], pooled[train])]
        P = cooccurring_labels(inner, part[train], lam, max_iter)
        m = P.mean(axis=0)
        a = np.linalg.solve(inner + lam * np.eye(len(train)), P - m)
        ridge[test] = gram[np.ix_(pooled[test], pooled[train])] @ a + m
    p, q = calibrated(ridge, part), calibrated(linear, part)
    several = [i for i in range(len(part)) if (part[i] >= 0.1).sum() > 1]

    def loss(w):
        rows = sum(np.log((part[i] * ((1 - w) * p[i] + w * q[i])).sum()) for i in several)
        return -rows - 20 * np.log(1 - w)

    w = minimize_scalar(loss, bounds=(0, 1 - 1e-12), method="bounded", options={"xatol": 1e-10}).x
    return W / W.sum(axis=1, keepdims=True), w


def held_out_linear(X, S, folds, rng):
    """Return the scores of the mean of W in ten epochs of Pegasos on the other folds, with a constant feature."""
    X, scores = np.column_stack([X, np.ones(len(X))]), np.empty(S.shape)
    for fold in range(3):
        train = np.flatnonzero(folds != fold)
        order = np.concatenate([rng.permutation(train) for _ in range(10)])
        history, _, undecided = online.run(X[order], S[order], method="pegasos", prediction="average", lam=1e-3)
        assert undecided == len(order)  # otherwise two correct programs may differ
        scores[folds == fold] = X[folds == fold] @ np.mean(history, axis=0).T
    return scores


def log_evidence(b, scores, S):
    """Return sum_i log sum_k S_ik p_ik with p the softmax of b times the scores."""
    return (logsumexp(b * scores, axis=1, b=S) - logsumexp(b * scores, axis=1)).sum()


def calibrated(scores, S):
    """Return the softmax of b times the scores, b of the largest evidence."""
    grid = np.linspace(np.log(1 / 64), np.log(64.0), 200)
    best = int(np.argmax([log_evidence(np.exp(log_b), scores, S) for log_b in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, 199)]
    options = {"xatol": 1e-10}
    result = minimize_scalar(
        lambda log_b: -log_evidence(np.exp(log_b), scores, S), bounds=bounds, method="bounded", options=options
    )
    e = np.exp(np.exp(result.x) * (scores - scores.max(axis=1, keepdims=True)))
    return e / e.sum(axis=1, keepdims=True)
