"""How much the answer to "is the label in this subset?" would tell of the weights, under a Laplace posterior.

The answer is one of two, with the probability p_S = sum_{k in S} p_k of yes, whose gradient by the scores is
g_k = p_k (1[k in S] - p_S). What it adds to the precision depends on the answer; its mean is F kron x x^T with
F = g g^T / (p_S (1 - p_S)), of rank one, and S = diag p - p p^T less F is positive semi-definite: an answer never tells
more than the label. For two classes the question is the label, and F is S.
"""

import numpy as np

from oneof.solvers.graph_logistic.information import (
    Posterior,
    View,
    class_shares,
    half_log_determinants,
    whitened_covariances,
)
from oneof.typing import Floats, Mask


def question_information(posterior: Posterior, views: list[View], n_rows: int, subsets: Mask) -> Floats:
    """Return the mutual information between the weights and the answer to each question about each row, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of View
    n_rows : int
    subsets : ndarray of shape (n_subsets, K), bool
        Neither empty nor all classes.

    Returns
    -------
    ndarray of shape (n_rows, n_subsets)
        1/2 log det(I + N), N = [f_v^T M_vu f_u] over the views, f = g / sqrt(p_S (1 - p_S)); at least 0.
    """
    size = len(posterior.weights)
    units = [np.broadcast_to(np.eye(size), (len(view.rows), size, size)) for view in views]
    covariances = whitened_covariances(posterior, views, units, n_rows)
    slopes = np.zeros((n_rows, len(views), size, len(subsets)))
    for v, view in enumerate(views):
        slopes[view.rows, v] = answer_slopes(posterior.weights, view, subsets)
    blocks = covariances.reshape(n_rows, len(views), size, len(views), size)
    between = np.einsum("tvas,tvaub,tubs->tsvu", slopes, blocks, slopes, optimize=True)
    return half_log_determinants(between.reshape(-1, len(views), len(views))).reshape(n_rows, len(subsets))


def answer_slopes(weights: Floats, view: View, subsets: Mask) -> Floats:
    """Return f = g / sqrt(p_S (1 - p_S)) over the first K - 1 classes, (t, K - 1, n_subsets); 0 for sure answers."""
    shares = class_shares(weights, view.features)
    # Both sums, since 1 less the one has no digits left where the other is small.
    yes, no = shares @ subsets.T, shares @ ~subsets.T
    slopes = np.where(subsets.T, no[:, None, :], -yes[:, None, :]) * shares[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = slopes / np.sqrt(yes * no)[:, None, :]
    return np.where(np.isfinite(scaled), scaled, 0.0)[:, :-1]
