"""Mixtures on candidate sets, entry by entry: the objective, and one iteration of EM; masks may be weights."""

import math

import numpy as np


def log_multinomial(x, log_proba):
    """Return log p(x) of one row, without the multinomial coefficient."""
    return math.fsum(float(v) * float(t) for v, t in zip(x, log_proba, strict=True))


def log_gaussian(x, mean, covariance):
    """Return the log density of one row."""
    apart = np.asarray(x) - mean
    return -0.5 * (
        len(apart) * math.log(2 * math.pi)
        + math.log(np.linalg.det(covariance))
        + float(apart @ np.linalg.inv(covariance) @ apart)
    )


def row_weight(candidates, weight, unlabeled_weight, partial_weight):
    """Return the weight of a row."""
    if sum(w > 0 for w in candidates) == 1:
        return weight
    return weight * (unlabeled_weight if all(w == 1 for w in candidates) else partial_weight)


def joint(i, X, pi, log_density):
    """Return log pi_m p(x_i | m) for every component, -inf if pi_m is 0."""
    return [(math.log(p) if p > 0 else -math.inf) + log_density(X[i], m) for m, p in enumerate(pi)]


def log_sum(values):
    """Return the logarithm of the sum of exponentials."""
    top = max(values)
    return top + math.log(math.fsum(math.exp(v - top) for v in values))


def log_likelihood(X, mask, c, pi, log_density):
    """Return sum_i c_i log sum_m v_im pi_m p(x_i | m)."""
    C = len(pi) // mask.shape[1]
    total = []
    for i in range(len(X)):
        if c[i] > 0:
            values = joint(i, X, pi, log_density)
            total.append(
                c[i] * log_sum([values[m] + math.log(mask[i, m // C]) for m in range(len(pi)) if mask[i, m // C]])
            )
    return math.fsum(total)


def responsibilities(X, mask, pi, log_density):
    """Return r, (n, M)."""
    C = len(pi) // mask.shape[1]
    r = np.zeros((len(X), len(pi)))
    for i in range(len(X)):
        values = joint(i, X, pi, log_density)
        inside = log_sum([values[m] + math.log(mask[i, m // C]) for m in range(len(pi)) if mask[i, m // C]])
        for m in range(len(pi)):
            r[i, m] = mask[i, m // C] * math.exp(values[m] - inside) if mask[i, m // C] else 0.0
    return r


def multinomial_step(X, c, r, alpha):
    """Return pi and the log-probabilities after an M-step."""
    n, M = r.shape
    mass = [math.fsum(c[i] * r[i, m] for i in range(n)) for m in range(M)]
    shares = np.zeros((M, X.shape[1]))
    for m in range(M):
        for j in range(X.shape[1]):
            shares[m, j] = alpha + math.fsum(c[i] * r[i, m] * float(X[i, j]) for i in range(n))
    return [N / math.fsum(mass) for N in mass], np.log(shares / shares.sum(axis=1, keepdims=True))


def target(X, c, form):
    """Return T, the target of the shrinkage."""
    share = np.asarray(c) / sum(c)
    variances = share @ (X - share @ X) ** 2
    return np.diag(np.full(len(variances), variances.mean()) if form == "spherical" else variances)


def gaussian_step(X, c, r, form, nu):
    """Return pi, means and covariances as (M, d, d) after an M-step."""
    n, M = r.shape
    d = X.shape[1]
    T = target(X, c, form)
    mass = [math.fsum(c[i] * r[i, m] for i in range(n)) for m in range(M)]
    means, scatters = [], []
    for m in range(M):
        mean = sum(c[i] * r[i, m] * X[i] for i in range(n)) / mass[m]
        means.append(mean)
        scatters.append(sum(c[i] * r[i, m] * np.outer(X[i] - mean, X[i] - mean) for i in range(n)))
    if form == "tied":
        covariances = [(sum(scatters) + nu * T) / (sum(mass) + nu)] * M
    else:
        covariances = [(S + nu * T) / (N + nu) for S, N in zip(scatters, mass, strict=True)]
        if form == "diagonal":
            covariances = [np.diag(np.diag(S)) for S in covariances]
        if form == "spherical":
            covariances = [np.eye(d) * np.trace(S) / d for S in covariances]
    return [N / math.fsum(mass) for N in mass], np.array(means), np.array(covariances)


def gaussian_log_prior(covariances, T, form, nu):
    """Return -nu/2 sum (log |T^-1 Sigma| + tr T Sigma^-1) over the matrices."""
    matrices = covariances[:1] if form == "tied" else covariances
    return (
        -0.5
        * nu
        * math.fsum(math.log(np.linalg.det(S) / np.linalg.det(T)) + np.trace(T @ np.linalg.inv(S)) for S in matrices)
    )
