"""Class probabilities from the Gaussian posterior of the latents: Monte Carlo, leave-one-out and temperature scaling.

Probabilities are means of the softmax of the latents over their posterior.

Leave-one-out: at the mode, the likelihood of a row acts like a Gaussian with precision W_i = diag pi_i - pi_i pi_i^T
and gradient q_i - pi_i. Removing it from the posterior N(m, V) of the row gives the cavity distribution

    V^- = (V^-1 - W_i)^-1 = (I - V W_i)^-1 V,     m^- = m - V^- (q_i - pi_i)

(Vehtari, Mononen, Tolvanen, Sivula & Winther 2016, section 3.1). It neglects the change of the mode at the other rows.

Temperature: with many classes and few rows, the means over such posteriors are too flat. Temperature scaling (Guo,
Pleiss, Sun & Weinberger 2017) sharpens them by one exponent, p_k^(1/T) / sum_j p_j^(1/T), which preserves the order of
the classes. T maximizes the likelihood of the sets, sum_i log sum_{k in S_i} p_ik, which assumes that the only
information of a set is that it contains the label. With weights of the candidates it is sum_i log sum_k w_ik p_ik.
"""

import numpy as np
from array_api_compat import array_namespace, device

from oneof.arrays import as_numpy
from oneof.likelihoods import softmax
from oneof.solvers.annotators.temper import temper
from oneof.typing import Array, Evidence, Floats

MAX_BLOCK_NUMBERS = 1_000_000
"""Maximum number of sampled latents in memory at a time; four times as many take twice the processor time."""


def draw_normals(n_mc_samples: int, n_classes: int, rng: np.random.Generator) -> Floats:
    """Return standard normals, (n_mc_samples, K), in antithetic pairs, which cancel odd functions of the latents."""
    half = rng.standard_normal(((n_mc_samples + 1) // 2, n_classes))
    return np.concatenate([half, -half])[:n_mc_samples]


def sample_latents(means: Array, covariances: Array, normals: Array) -> Array:
    """Return samples of N(mean, cov) for each row, (t, n_mc_samples, K); all rows share the normals."""
    xp = array_namespace(means)
    return means[:, None, :] + xp.matmul(normals[None, :, :], symmetric_roots(covariances))


def expected_softmax(means: Array, covariances: Array, normals: Array) -> Array:
    """Return the mean of softmax(f) over f ~ N(mean, cov), (t, K), from means (t, K) and covariances (t, K, K)."""
    xp = array_namespace(means)
    n_mc_samples, n_classes = normals.shape
    n_rows = max(1, MAX_BLOCK_NUMBERS // (n_mc_samples * n_classes))

    def block(start: int) -> Array:
        latents = sample_latents(means[start : start + n_rows, :], covariances[start : start + n_rows, ...], normals)
        proba = softmax(xp.reshape(latents, (-1, n_classes)))
        return xp.mean(xp.reshape(proba, (-1, n_mc_samples, n_classes)), axis=1)

    starts = range(0, means.shape[0], n_rows)
    return xp.concat([xp.zeros((0, n_classes), dtype=means.dtype, device=device(means)), *map(block, starts)], axis=0)


def symmetric_roots(covariances: Array) -> Array:
    """Return the symmetric square roots of covariances, (t, K, K), which are continuous, unlike Cholesky factors.

    Eigenvalues below 0, which are rounding errors, are set to 0.
    """
    xp = array_namespace(covariances)
    squares, rotation = xp.linalg.eigh(covariances)
    roots = xp.sqrt(xp.where(squares > 0, squares, 0.0))
    return (rotation * roots[:, None, :]) @ rotation.mT


def loo_latents(means: Array, covariances: Array, proba: Array, gradient: Array) -> tuple[Array, Array]:
    """Return the posterior of training rows without their own likelihoods.

    Parameters
    ----------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    proba : array of shape (t, K)
        pi at the mode.
    gradient : array of shape (t, K)
        q - pi.

    Returns
    -------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    """
    xp = array_namespace(means)
    identity = xp.eye(proba.shape[1], dtype=proba.dtype, device=device(proba))
    precisions = identity * proba[:, None, :] - proba[:, :, None] * proba[:, None, :]
    cavity = xp.linalg.solve(identity - covariances @ precisions, covariances)
    cavity = (cavity + cavity.mT) / 2.0
    return means - xp.sum(cavity * gradient[:, None, :], axis=2), cavity


def fit_temperature(proba: Array, evidence: Evidence) -> float:
    """Return the temperature at which probabilities, (n, K), maximize the likelihood of the evidence, (n, K)."""
    return 1.0 / temper(as_numpy(safe_log(proba)), evidence)[1]


def apply_temperature(proba: Array, temperature: float) -> Array:
    """Return probabilities raised to the power 1/T, scaled to sum 1."""
    return proba if temperature == 1.0 else softmax(safe_log(proba) / temperature)


def safe_log(proba: Array) -> Array:
    """Return log p, with p at least the smallest normal number."""
    xp = array_namespace(proba)
    smallest = float(xp.finfo(proba.dtype).smallest_normal)
    return xp.log(xp.where(proba > smallest, proba, smallest))
