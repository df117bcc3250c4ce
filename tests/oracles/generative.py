"""Mixtures on candidate sets by their definition: the objective, and one iteration of EM; masks may be weights.

Densities are (n, M), of M components, which are in the order of their classes.
"""

import math

import numpy as np

from tests.oracles.precision import exp, inverse, log, log_det


def log_gaussian(X, means, covariances):
    """Return the log densities of normal distributions."""
    constant = -0.5 * X.shape[1] * math.log(2 * math.pi)
    logs = [
        constant - 0.5 * (log_det(S) + ((X - mean) @ inverse(S) * (X - mean)).sum(axis=1))
        for mean, S in zip(means, covariances, strict=True)
    ]
    return np.transpose(logs)


def e_step(mask, pi, logs):
    """Return r, (n, M), and log sum_m v_im pi_m p(x_i | m) of each row."""
    v = np.repeat(mask, len(pi) // mask.shape[1], axis=1)
    inside = np.where((v > 0) & (pi > 0), logs + log(np.where(pi > 0, pi, 1)), -np.inf)
    top = inside.max(axis=1, keepdims=True)
    powers = v * exp(inside - top)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, (top + log(total))[:, 0]


def multinomial_step(X, c, r, alpha):
    """Return pi and the log-probabilities, (M, d), after an M-step."""
    r = c[:, None] * r
    shares = alpha + r.T @ X
    return r.sum(axis=0) / r.sum(), log(shares / shares.sum(axis=1, keepdims=True))


def target(X, c, form):
    """Return T, the target of the shrinkage."""
    share = c / c.sum()
    variances = share @ (X - share @ X) ** 2
    return np.diag(np.full(len(variances), variances.mean()) if form == "spherical" else variances)


def gaussian_step(X, c, r, form, nu):
    """Return pi, means and covariances as (M, d, d) after an M-step."""
    r, T = c[:, None] * r, target(X, c, form)
    mass = r.sum(axis=0)
    means = r.T @ X / np.where(mass == 0, 1, mass)[:, None]
    scatters = [(X - mean).T @ (r[:, [m]] * (X - mean)) for m, mean in enumerate(means)]
    if form == "tied":
        covariances = [(sum(scatters) + nu * T) / (mass.sum() + nu)] * len(mass)
    else:
        covariances = [(S + nu * T) / (N + nu) for S, N in zip(scatters, mass, strict=True)]
        if form == "diagonal":
            covariances = [np.diag(np.diag(S)) for S in covariances]
        if form == "spherical":
            covariances = [np.eye(len(T)) * np.trace(S) / len(T) for S in covariances]
    return mass / mass.sum(), means, np.array(covariances)


def gaussian_log_prior(covariances, T, form, nu):
    """Return -nu/2 sum (log |T^-1 Sigma| + tr T Sigma^-1) over the matrices."""
    matrices = covariances[:1] if form == "tied" else covariances
    return -0.5 * nu * sum(log_det(S) - log_det(T) + np.trace(T @ inverse(S)) for S in matrices)
