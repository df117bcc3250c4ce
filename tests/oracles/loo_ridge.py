"""Oracle of LOORidge, with loops over rows and classes.

S, (n, K), are the weights of the classes: 0 and 1 for candidate sets.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, logsumexp, softmax

from tests.oracles import online
from tests.oracles.precision import inverse

NO_JUDGE = (0.0, 0.0)


def predict_loo(gram, P, lam):
    """Return the leave-one-out predictions of ridge regression by n fits; the means are those of all rows."""
    m, n = P.mean(axis=0), len(gram)
    F = np.empty_like(P)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        regularized = gram[np.ix_(others, others)] + lam * np.eye(n - 1)
        F[i] = gram[i, others] @ inverse(regularized) @ (P[others] - m) + m
    return F


def mixed(P, judge):
    """Return (1 - w^2) P + w^2 W for a judge (W, w)."""
    W, w = judge
    return (1 - w**2) * P + w**2 * W


def groups(S):
    """Return whether two rows have the same set, (n, n); unlabeled rows are a group of their own."""
    keys = np.column_stack([S > 0, (S == 1).all(axis=1)])
    return (keys[:, None] == keys).all(axis=2)


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
    same, full = groups(S), (S > 0).all(axis=1)
    share = same.sum(axis=1) / (S > 0).sum(axis=1)
    for _ in range(max_iter):
        M = P[~full].sum(axis=0) + 1
        powers = S * np.maximum(predict_loo(gram, P, lam), 1e-6) ** 2
        Q = powers / np.sqrt(M)
        Q /= Q.sum(axis=1, keepdims=True)
        for _ in range(3):
            Q = Q * ((share[:, None] + 1) / (same @ Q + 1)) ** 0.25
            Q /= Q.sum(axis=1, keepdims=True)
        P = mixed(np.where(full[:, None], powers / powers.sum(axis=1, keepdims=True), Q), judge)
    return P


def confusion_rates(P, S):
    """Return C[k, j], the rate of distractor j for the truth k, shrunk by the strength of the largest likelihood."""
    K, sizes = S.shape[1], (S > 0).sum(axis=1)
    rows = (sizes > 1) & (sizes < K)
    q = (sizes[rows] - 1).mean() / (K - 1)
    m, N, others = P[rows].sum(axis=0)[:, None], P[rows].T @ (S[rows] > 0), ~np.eye(K, dtype=bool)

    def evidence(t):
        return (betaln(N + t * q, m - N + t * (1 - q)) - betaln(t * q, t * (1 - q)))[others].sum()

    t = max((1, 2, 4, 8, 16, 32, 64, 256, 1e4), key=evidence)
    return np.clip((N + t * q) / (m + t) * others, 1e-4, 1 - 1e-4)


def confusable_labels(gram, S, lam, max_iter, judge=NO_JUDGE):
    """Return P under confusable distractors."""
    P = mixed(S / S.sum(axis=1, keepdims=True), judge)
    for t in range(max_iter):
        Q = S * np.maximum(predict_loo(gram, P, lam), 1e-6)
        if t >= 5:
            C = confusion_rates(P, S)
            for i, k in np.argwhere(~(S > 0).all(axis=1, keepdims=True) & (S >= 0)):
                Q[i, k] *= np.sqrt(np.delete(np.where(S[i] > 0, C[k], 1 - C[k]), k).prod())
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
    return softmax(np.exp(result.x) * scores, axis=1)
