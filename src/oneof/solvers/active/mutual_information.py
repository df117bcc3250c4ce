"""Mutual information between the label of a row, or whether it is in a subset, and the weights.

The posterior of the weights is Gaussian with the precision H (Laplace approximation).

**Labels.** The label of a row with instances x_v, one for each of its views, adds the curvatures S_v kron x_v x_v^T to
H, with S = diag p - p p^T over the first K - 1 classes. The information is half of the increase of log det H. With
R_v R_v^T = S_v and J = [.. R_v kron x_v ..] it is 1/2 log det(I + N), N = J^T H^-1 J, of size V(K - 1). A view that a
row lacks has rows and columns of 0, so that all rows of a block have matrices of one size.

**Subsets.** The answer to "is the label in the subset S?" is yes with the probability p_S = sum_{k in S} p_k, whose
gradient by the scores is g_k = p_k (1[k in S] - p_S). The curvature depends on the answer; its mean is F kron x x^T
with F = g g^T / (p_S (1 - p_S)), of rank one. (diag p - p p^T) - F is positive semi-definite, so that an answer is
never more informative than the label. For two classes both are equally informative.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from oneof.errors import InputError
from oneof.likelihoods import softmax
from oneof.typing import FeatureMatrix, Floats, Ints, Mask


class ViewInstances(NamedTuple):
    """Instances of a block of rows in one view.

    Attributes
    ----------
    rows : ndarray of shape (t,)
        Indices of the rows of the block that have the view, in increasing order.
    features : ndarray or CSR array of shape (t, D)
        Their instances: 0 outside the columns of the view.
    """

    rows: Ints
    features: FeatureMatrix


class Posterior(Protocol):
    """Interface of a Laplace posterior of (K - 1, D) weights, with the precision H over all weights."""

    @property
    def weights(self) -> Floats:
        """The mode, (K - 1, D)."""

    def covariance(self, left: FeatureMatrix, right: FeatureMatrix | None = None) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_t) for pairs of instances, (t, K - 1, K - 1)."""

    def cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_s) for all pairs of instances, (t, s, K - 1, K - 1)."""


def mutual_information(posterior: Posterior, views: list[ViewInstances], n_rows: int) -> Floats:
    """Return the mutual information between each row's label and the weights, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of ViewInstances
        Instances of the rows, view by view; a row may lack views.
    n_rows : int
        Number of rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        1/2 log det(I + N), at least 0; 0 for rows without any view.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: equations 14 and 15.
    """
    roots = [curvature_roots(posterior.weights, view.features) for view in views]
    return half_log_determinants(whitened_covariances(posterior, views, roots, n_rows))


def curvature_roots(weights: Floats, features: FeatureMatrix) -> Floats:
    """Return R with R R^T = diag p - p p^T for each instance, (t, K - 1, K - 1).

    With u = sqrt(p), R = diag(u) (I - u u^T / (1 + sqrt(p_K))): it needs no factorization, and is exact if some p is 0.
    """
    proba = class_proba(weights, features)
    u = np.sqrt(proba[:, :-1])
    root = -u[:, :, None] * (u / (1.0 + np.sqrt(proba[:, -1:])))[:, None, :]
    diagonal = np.arange(u.shape[1])
    root[:, diagonal, diagonal] += 1.0
    root *= u[:, :, None]
    return root


def class_proba(weights: Floats, features: FeatureMatrix) -> Floats:
    """Return the probabilities of all K classes for each instance, (t, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(features @ weights.T)
    if not np.isfinite(scores).all():
        raise InputError("the scores overflow float64. Scale the features, for example with StandardScaler.")
    return softmax(np.column_stack([scores, np.zeros(len(scores))]))


def whitened_covariances(
    posterior: Posterior, views: list[ViewInstances], roots: Sequence[Floats], n_rows: int
) -> Floats:
    """Return N = J^T H^-1 J of each row, (n_rows, V(K - 1), V(K - 1)), from the views and their roots R_v."""
    size = len(posterior.weights)
    whitened = np.zeros((n_rows, len(views), size, len(views), size))
    for a, (rows, features) in enumerate(views):
        whitened[rows, a, :, a] = _congruence(roots[a], posterior.covariance(features), roots[a])
        for b in range(a):
            both, at_a, at_b = np.intersect1d(rows, views[b].rows, assume_unique=True, return_indices=True)
            if len(both):
                cross = posterior.covariance(features[at_a], views[b].features[at_b])
                whitened[both, a, :, b] = _congruence(roots[a][at_a], cross, roots[b][at_b])
                whitened[both, b, :, a] = whitened[both, a, :, b].transpose(0, 2, 1)
    return whitened.reshape(n_rows, len(views) * size, len(views) * size)


def half_log_determinants(whitened: Floats) -> Floats:
    """Return 1/2 log det(I + N) of (n, q, q) positive semi-definite matrices, at least 0."""
    if whitened.shape[1] == 1:
        return 0.5 * np.log1p(np.maximum(whitened[:, 0, 0], 0.0))
    # LU, since a matrix of large entries may have no Cholesky factor because of rounding.
    determinants = np.linalg.slogdet(whitened + np.eye(whitened.shape[1]))
    return np.maximum(0.5 * determinants.logabsdet, 0.0)


def _congruence(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Return L^T M R for each instance."""
    return left.transpose(0, 2, 1) @ middle @ right


# -- subsets --------------------------------------------------------------------------------------------------------


def subset_information(posterior: Posterior, views: list[ViewInstances], n_rows: int, subsets: Mask) -> Floats:
    """Return the mutual information between the weights and whether the label is in a subset, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of ViewInstances
        Instances of the rows, view by view; a row may lack views.
    n_rows : int
        Number of rows.
    subsets : ndarray of shape (n_subsets, K), bool
        Neither empty nor full.

    Returns
    -------
    ndarray of shape (n_rows, n_subsets)
        1/2 log det(I + N), N = [f_v^T M_vu f_u] over the views, f = g / sqrt(p_S (1 - p_S)); at least 0.
    """
    size = len(posterior.weights)
    identities = [np.broadcast_to(np.eye(size), (len(view.rows), size, size)) for view in views]
    covariances = whitened_covariances(posterior, views, identities, n_rows)
    gradients = np.zeros((n_rows, len(views), size, len(subsets)))
    for v, view in enumerate(views):
        gradients[view.rows, v] = subset_gradients(posterior.weights, view, subsets)
    blocks = covariances.reshape(n_rows, len(views), size, len(views), size)
    whitened = np.einsum("tvas,tvaub,tubs->tsvu", gradients, blocks, gradients, optimize=True)
    return half_log_determinants(whitened.reshape(-1, len(views), len(views))).reshape(n_rows, len(subsets))


def subset_gradients(weights: Floats, view: ViewInstances, subsets: Mask) -> Floats:
    """Return f = g / sqrt(p_S (1 - p_S)) over the first K - 1 classes, (t, K - 1, n_subsets); 0 for certain answers."""
    proba = class_proba(weights, view.features)
    # Both sums are computed, since 1 - p_S has no correct digits if it is small.
    yes, no = proba @ subsets.T, proba @ ~subsets.T
    gradients = np.where(subsets.T, no[:, None, :], -yes[:, None, :]) * proba[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = gradients / np.sqrt(yes * no)[:, None, :]
    return np.where(np.isfinite(scaled), scaled, 0.0)[:, :-1]
