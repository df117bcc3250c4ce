"""Oracle of LOORidge, with loops over rows and classes.

S, (n, K), are the weights of the classes: 0 and 1 for candidate sets.
"""

from itertools import product
from math import lgamma

import numpy as np
from scipy.special import digamma
from scipy.stats import t as student

from oneof.solvers.loo_ridge import fit_inverse_temperature


def predict_loo(gram, P, lam):
    """Return the leave-one-out predictions of ridge regression by n fits; the means are those of all rows."""
    return predict_without(gram, P, lam, [[i] for i in range(len(gram))])


def predict_loo_from_features(features, P, lam):
    """Return the leave-one-out predictions of ridge regression on features, (n, r)."""
    return predict_without_from_features(features, P, lam, [[i] for i in range(len(features))])


def predict_without(gram, P, lam, left_out):
    """Return the predictions of ridge regression for each row i without the rows left_out[i]; means of all rows."""
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(len(gram)):
        others = np.setdiff1d(np.arange(len(gram)), left_out[i])
        a = np.linalg.solve(gram[np.ix_(others, others)] + lam * np.eye(len(others)), P[others] - m)
        F[i] = gram[i, others] @ a + m
    return F


def predict_without_from_features(features, P, lam, left_out):
    """Return the predictions of ridge regression on features, for each row i without the rows left_out[i]."""
    m = P.mean(axis=0)
    F = np.empty_like(P)
    for i in range(len(features)):
        others = np.setdiff1d(np.arange(len(features)), left_out[i])
        A = features[others]
        F[i] = features[i] @ np.linalg.solve(A.T @ A + lam * np.eye(features.shape[1]), A.T @ (P[others] - m)) + m
    return F


def groups(S):
    """Return for each row the indices of the rows with the same set; unlabeled rows are a group of their own."""
    keys = [group_key(row) for row in S]
    return [[j for j in range(len(S)) if keys[j] == keys[i]] for i in range(len(S))]


def group_key(row):
    """Return the set of a row, and whether the row is unlabeled."""
    return tuple(row > 0), bool((row == 1).all())


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
    same, full = groups(S), [bool((row > 0).all()) for row in S]
    for _ in range(max_iter):
        M = sum(P[i] for i in range(len(S)) if not full[i]) + 1
        powers = S * np.maximum(predict_loo(gram, P, lam), 1e-6) ** power
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
                        if j != k and not (S[i] > 0).all():
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
        rho = np.zeros(K)
        for k in range(K):
            if S[i, k]:
                rho[k] = (sum(P[j, k] for j in same if j != i) + 4 * p[k] / inside) / (len(same) - 1 + 4)
        rho = S[i] * rho / (S[i] * rho).sum()
        gains.append(np.log(sum(rho[k] * R[k] / p[k] for k in range(K))))
    return np.array(gains)


def clustered_z_score(d, S):
    """Return the mean over its standard error, with the rows of one set as one cluster."""
    sums = {}
    for i in range(len(S)):
        sums[group_key(S[i])] = sums.get(group_key(S[i]), 0.0) + d[i] - d.mean()
    return d.mean() * len(d) / np.sqrt(sum(value**2 for value in sums.values()))


def lifts(P, G, S):
    """Return log p(S | x) - log p(S) of each row by the predictions G without its group."""
    n, K = P.shape
    p = [(P[:, k].sum() + 0.5) / (n + 0.5 * K) for k in range(K)]
    values = []
    for i in range(n):
        R = np.maximum(G[i], 1e-3) / np.maximum(G[i], 1e-3).sum()
        values.append(np.log(sum(S[i, k] * R[k] for k in range(K)) / sum(S[i, k] * p[k] for k in range(K))))
    return np.array(values)


def density_ratios(P, F, S):
    """Return w_ik p(k | x_i) / m_k, from the predictions F without the group; and the fractions m_k."""
    n, K = P.shape
    m = [(P[:, k].sum() + 0.5) / (n + 0.5 * K) for k in range(K)]
    b = min(fit_inverse_temperature(F, P), 100.0)
    r = np.empty((n, K))
    for i in range(n):
        e = np.exp(b * (F[i] - F[i].max()))
        r[i] = np.where(S[i] > 0, S[i], 1.0) * np.maximum(e / e.sum(), 1e-4) / m
    return r, m


def information(P, F):
    """Return the mean divergence of the predictions F from the fractions of the classes."""
    n, K = P.shape
    m = [(P[:, k].sum() + 0.5) / (n + 0.5 * K) for k in range(K)]
    b = min(fit_inverse_temperature(F, P), 100.0)
    total = 0.0
    for i in range(n):
        e = np.exp(b * (F[i] - F[i].max()))
        p = np.maximum(e / e.sum(), 1e-4)
        total += sum(p[k] * np.log(p[k] / m[k]) for k in range(K))
    return total / n


def group_priors(S, m, exponent, concentration):
    """Return for each distinct set its rows, its candidates, and the parameters of its Dirichlet prior."""
    result = []
    for key in sorted({group_key(row) for row in S}):
        rows = [i for i in range(len(S)) if group_key(S[i]) == key]
        candidates = [k for k in range(S.shape[1]) if key[0][k]]
        base = np.array([m[k] ** (1 - exponent) for k in candidates])
        result.append((rows, candidates, concentration * base / base.sum()))
    return result


def fit_group_shares(P, F, S):
    """Return the contributions of the rows to the largest bound, with its exponent and concentration."""
    r, m = density_ratios(P, F, S)
    best = None
    for exponent in (0.0, 0.25, 0.5, 0.75, 1.0):
        counts = None
        for concentration in (1000.0, 64.0, 32.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5):
            priors = group_priors(S, m, exponent, concentration)
            if counts is None:
                counts = [len(rows) * prior / concentration for rows, _, prior in priors]
            values = np.empty(len(S))
            for g, (rows, candidates, prior) in enumerate(priors):
                for _ in range(6):
                    gamma = prior + counts[g]
                    shares = np.exp(digamma(gamma) - digamma(gamma.sum()))
                    counts[g] = np.zeros(len(candidates))
                    for i in rows:
                        q = r[i, candidates] * shares
                        counts[g] += q / q.sum()
                gamma = prior + counts[g]
                log_shares = digamma(gamma) - digamma(gamma.sum())
                divergence = lgamma(gamma.sum()) - lgamma(prior.sum())
                for k in range(len(candidates)):
                    divergence += lgamma(prior[k]) - lgamma(gamma[k]) + (gamma[k] - prior[k]) * log_shares[k]
                for i in rows:
                    values[i] = np.log((r[i, candidates] * np.exp(log_shares)).sum()) - divergence / len(rows)
            if best is None or values.mean() > best[0].mean():
                best = (values, exponent, concentration)
    return best


def log_marginal_likelihood(r, m, S, exponent, concentration):
    """Return the logarithm of the marginal likelihood, as a sum over all labels of the rows of each group."""
    total = 0.0
    for rows, candidates, prior in group_priors(S, m, exponent, concentration):
        likelihood = 0.0
        for labels in product(range(len(candidates)), repeat=len(rows)):
            value = lgamma(prior.sum()) - lgamma(prior.sum() + len(rows))
            for k in range(len(candidates)):
                value += lgamma(prior[k] + labels.count(k)) - lgamma(prior[k])
            for i, k in zip(rows, labels, strict=True):
                value += np.log(r[i, candidates[k]])
            likelihood += np.exp(value)
        total += np.log(likelihood)
    return total


def select(gram, S, lam, max_iter):
    """Return P averaged over the distractor models, the two z-scores, and the concentration of the class shares."""
    uniform = uniform_labels(gram, S, lam, max_iter)
    cooccurring = cooccurring_labels(gram, S, lam, max_iter, 1)
    confusable = confusable_labels(gram, S, lam, max_iter)
    labels = {"uniform": uniform, "cooccurring": cooccurring, "confusable": confusable}
    c = [i for i in range(len(S)) if not (S[i] > 0).all()]  # only these rows are compared
    gain = {name: predictive_gains(P[c], predict_loo(gram, P, lam)[c], S[c]) for name, P in labels.items()}
    z, other_z = (clustered_z_score(gain[name] - gain["uniform"], S[c]) for name in ("cooccurring", "confusable"))
    left_out = {name: predict_without(gram, P, lam, groups(S))[c] for name, P in labels.items()}
    shares = {name: fit_group_shares(P[c], left_out[name], S[c]) for name, P in labels.items()}
    concentration = shares["cooccurring"][2]
    is_informative = information(cooccurring[c], left_out["cooccurring"]) > 0.2
    if concentration < 4 and is_informative:
        z = min(z, clustered_z_score(shares["cooccurring"][0] - shares["uniform"][0], S[c]))
        other_z = min(other_z, clustered_z_score(shares["confusable"][0] - shares["uniform"][0], S[c]))
    lift = {name: lifts(P[c], left_out[name], S[c]) for name, P in labels.items()}
    is_refuted = is_informative and clustered_z_score(lift["confusable"] - lift["uniform"], S[c]) < -2
    if is_informative:
        z = max(z, clustered_z_score(lift["cooccurring"] - lift["uniform"], S[c]))
    w = student.cdf(z, len({group_key(row) for row in S[c]}) - 1)
    is_confusable = other_z > 2 and not is_refuted and np.abs(confusable - uniform).sum(axis=1).mean() / 2 > 0.01
    other = confusable if is_confusable else uniform
    if w >= 0.001:
        other = w * cooccurring_labels(gram, S, lam, max_iter, 2) + (1 - w) * other
    return other, z, other_z, concentration
