"""How much the label of a row would tell of the weights, under a Laplace posterior.

A label of a row that has the instances x_v, one for each view that it has, adds the curvatures S_v kron x_v x_v^T to
the posterior precision H, with S = diag p - p p^T over the first K - 1 classes. The information is half of what that
adds to log det H. With R_v R_v^T = S_v and J = [.. R_v kron x_v ..] it is 1/2 log det(I + N), N = J^T H^-1 J, of size
V(K - 1): a view that a row lacks has rows and columns of 0, so that all rows of a block have matrices of one size.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from oneof.errors import InputError
from oneof.likelihoods import softmax
from oneof.typing import FeatureMatrix, Floats, Ints


class View(NamedTuple):
    """The instances that some rows have in one view.

    Attributes
    ----------
    rows : ndarray of shape (t,)
        Which rows of the block have the view, in increasing order.
    features : ndarray or CSR array of shape (t, D)
        Their instances: 0 outside the columns of the view.
    """

    rows: Ints
    features: FeatureMatrix


class Posterior(Protocol):
    """What is asked of a Laplace posterior of weights (K - 1, D): H is its precision, over all weights in one."""

    @property
    def weights(self) -> Floats:
        """The mode, (K - 1, D)."""

    def covariance(self, left: FeatureMatrix, right: FeatureMatrix | None = None) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_t) for pairs of instances, (t, K - 1, K - 1)."""

    def cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        """Return (I kron l_t)^T H^-1 (I kron r_s) for all pairs of instances, (t, s, K - 1, K - 1)."""


def information(posterior: Posterior, views: list[View], n_rows: int) -> Floats:
    """Return the mutual information between each row's label and the weights, in nats.

    Parameters
    ----------
    posterior : Posterior
    views : list of View
    n_rows : int
        Number of rows, of which views may miss any.

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

    With u = sqrt(p) it is diag(u) (I - u u^T / (1 + sqrt(p_K))): no factorization, and exact where some p is 0.
    """
    shares = class_shares(weights, features)
    u = np.sqrt(shares[:, :-1])
    inside = -u[:, :, None] * (u / (1.0 + np.sqrt(shares[:, -1:])))[:, None, :]
    diagonal = np.arange(u.shape[1])
    inside[:, diagonal, diagonal] += 1.0
    inside *= u[:, :, None]
    return inside


def class_shares(weights: Floats, features: FeatureMatrix) -> Floats:
    """Return the probabilities of all K classes for each instance, (t, K)."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.asarray(features @ weights.T)
    if not np.isfinite(scores).all():
        raise InputError("the scores overflow: scale the features, for example with StandardScaler.")
    return softmax(np.column_stack([scores, np.zeros(len(scores))]))


def whitened_covariances(posterior: Posterior, views: list[View], roots: Sequence[Floats], n_rows: int) -> Floats:
    """Return N = J^T H^-1 J of each row, (n_rows, V(K - 1), V(K - 1)), from the views and their `curvature_roots`."""
    size = len(posterior.weights)
    found = np.zeros((n_rows, len(views), size, len(views), size))
    for a, (rows, features) in enumerate(views):
        found[rows, a, :, a] = _between(roots[a], posterior.covariance(features), roots[a])
        for b in range(a):
            both, at, beside = np.intersect1d(rows, views[b].rows, assume_unique=True, return_indices=True)
            if len(both):
                crossed = posterior.covariance(features[at], views[b].features[beside])
                found[both, a, :, b] = _between(roots[a][at], crossed, roots[b][beside])
                found[both, b, :, a] = found[both, a, :, b].transpose(0, 2, 1)
    return found.reshape(n_rows, len(views) * size, len(views) * size)


def half_log_determinants(whitened: Floats) -> Floats:
    """Return 1/2 log det(I + N) of (n, q, q) positive semi-definite matrices, at least 0."""
    if whitened.shape[1] == 1:
        return 0.5 * np.log1p(np.maximum(whitened[:, 0, 0], 0.0))
    # LU, since rounding may leave a matrix of large entries without a Cholesky factor.
    determinants = np.linalg.slogdet(whitened + np.eye(whitened.shape[1]))
    return np.maximum(0.5 * determinants.logabsdet, 0.0)


def _between(left: Floats, middle: Floats, right: Floats) -> Floats:
    """Return L^T M R for each instance."""
    return left.transpose(0, 2, 1) @ middle @ right
