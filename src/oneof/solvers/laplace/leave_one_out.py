"""Probabilities of the rows of fit as if each had been left out, and the temperature that suits them best.

At the mode the likelihood of a row acts like a Gaussian with precision W_i = diag pi_i - pi_i pi_i^T and slope q_i -
pi_i. Taking it back from the row's posterior N(m, V) leaves the cavity

    V^- = (V^-1 - W_i)^-1 = (I - V W_i)^-1 V,     m^- = m - V^- (q_i - pi_i)

(Vehtari, Mononen, Tolvanen, Sivula & Winther 2016, section 3.1), as though the other rows' modes would stay.

Where there are many classes and few rows, the means over such posteriors are too flat. Temperature scaling (Guo,
Pleiss, Sun & Weinberger 2017) sharpens them by one exponent, p_k^(1/T) / sum_j p_j^(1/T), which changes no order of
classes. T maximizes the likelihood of the rows' sets, sum_i log sum_{k in S_i} p_ik, which takes a set to tell no more
than that the label is in it.
"""

import numpy as np
from array_api_compat import array_namespace, device
from scipy.optimize import minimize_scalar

from oneof.likelihoods import log_likelihoods, softmax
from oneof.typing import Array

TEMPERATURES = (0.02, 20.0)
"""Between which the best is sought."""


def cavities(means: Array, covariances: Array, shares: Array, slopes: Array) -> tuple[Array, Array]:
    """Return the posterior of rows of fit without their own likelihoods.

    Parameters
    ----------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    shares : array of shape (t, K)
        pi at the mode.
    slopes : array of shape (t, K)
        q - pi.

    Returns
    -------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    """
    xp = array_namespace(means)
    unit = xp.eye(shares.shape[1], dtype=shares.dtype, device=device(shares))
    precisions = unit * shares[:, None, :] - shares[:, :, None] * shares[:, None, :]
    wide = xp.linalg.solve(unit - covariances @ precisions, covariances)
    wide = (wide + wide.mT) / 2.0
    return means - xp.sum(wide * slopes[:, None, :], axis=2), wide


def best_temperature(shares: Array, mask: Array) -> float:
    """Return the temperature at which probabilities, (n, K), make the sets, (n, K), most likely."""
    logs = logarithms(shares)
    xp = array_namespace(logs)

    def loss(logarithm: float) -> float:
        return -float(xp.sum(log_likelihoods(logs / float(np.exp(logarithm)), mask, 1.0)))

    return float(np.exp(minimize_scalar(loss, bounds=tuple(np.log(TEMPERATURES)), method="bounded").x))


def tempered(shares: Array, temperature: float) -> Array:
    """Return probabilities raised to 1/T, scaled to sum 1."""
    return shares if temperature == 1.0 else softmax(logarithms(shares) / temperature)


def logarithms(shares: Array) -> Array:
    """Return log p, of the smallest normal number where p is 0."""
    xp = array_namespace(shares)
    least = float(xp.finfo(shares.dtype).smallest_normal)
    return xp.log(xp.where(shares > least, shares, least))
