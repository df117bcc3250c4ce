"""Low-rank form of the posterior covariances: as many features for each class as its data determine.

With D_k = diag pi_.k, let Z_k hold the eigenvectors of A_k = D_k^1/2 K_k D_k^1/2 whose eigenvalues are above eps / 2,
as far as the Lanczos method finds them. The functionals Z_k^T D_k^1/2 f_k of the latents take the place of landmarks in
a Nystroem approximation,

    phi_k(x) = P_k^T k_x,     P_k = D_k^1/2 Z_k (Z_k^T A_k Z_k)^-1/2.

The residual of the prior is a process r, independent of the process g of the features, and D^1/2 cov(r) D^1/2 <= eps I
over the training rows, which is verified. The data have almost no information about r there, and it keeps its prior R.
With cov^ = cov^_g + R for the resulting covariances, in the order of positive semi-definite matrices

    (1 - s) cov^ <= cov <= (1 + s + eps) cov^,     s = sqrt(eps).

The data are z = W^1/2 (g + r) + n with Cov n = I, and W <= D, so that Cov(W^1/2 r) <= eps I. Lower bound: split n into
independent n1 + n2 with covariances (1 - s) I and s I, and observe W^1/2 g + n1 and W^1/2 r + n2 separately, which has
more information than their sum. The first leaves g at least (1 - s) cov^_g, the second leaves r at least
(1 - eps / (s + eps)) R = R / (1 + s) >= (1 - s) R. Upper bound: predict by the linear rule G z that is best for r = 0.
Its error is that of g, plus r - G W^1/2 r, and is at most cov^_g + (1 + s) R + (1 + 1/s) eps G G^T with
G G^T <= cov^_g.

This is the worst case; docs/plgp.md has the measured errors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy.linalg import lapack

from oneof.solvers.laplace.cholesky_factors import lower_root, solve_lower
from oneof.solvers.laplace.model import GramPrior
from oneof.solvers.laplace.posterior_covariance import WeightCovariance
from oneof.typing import Array, Floats

EPS = 0.01
"""Upper limit eps of the residual of the prior, scaled by the class probabilities."""
MAX_BLOCK_SIZE = 64
"""Maximum number of vectors in a block of the Lanczos method."""
MAX_KRYLOV_FRACTION = 0.3
"""Maximum dimension of the Krylov space of one class, as a fraction of n."""
MAX_FEATURES_FRACTION, MAX_FEATURES_FRACTION_PER_CLASS = 1.3, 0.2
"""Maximum number of features of all classes, as a fraction of n, and the same per class. With more features the
reference form takes less time."""
FLOAT32_EPS_FRACTION = 0.1
"""Maximum rounding error of single-precision products, as a fraction of eps."""
N_POWER_ITERATIONS = 8
"""Number of iterations of the power method that estimates the residual of the features."""


@dataclass(frozen=True)
class LowRankCovariance:
    """Posterior covariance by a low-rank approximation of the prior of each class."""

    roots: list[Array]
    """P_k, (n, m_k)."""
    weights: WeightCovariance
    """Posterior covariance of the weights of the features."""

    @classmethod
    def from_prior(
        cls, prior: GramPrior, proba: Array, rng: np.random.Generator, *, eps: float = EPS
    ) -> "LowRankCovariance | None":
        """Find the features of each class, or return None if there would be too many of them to save time."""
        n, n_classes = proba.shape
        mass = array_namespace(proba).sum(proba, axis=0)
        roots: dict[int, Array] = {}
        features: dict[int, Array] = {}
        n_remaining = int(min(MAX_FEATURES_FRACTION, MAX_FEATURES_FRACTION_PER_CLASS * n_classes) * n)
        # Classes that probably have most features first.
        classes = sorted(range(n_classes), key=lambda k: -float(mass[k]))
        if is_numpy_array(proba) and _need_more_features(prior, proba, classes, eps, n_remaining):
            return None
        for k in classes:
            max_dim = min(int(MAX_KRYLOV_FRACTION * n), n_remaining)
            result = _root_and_features(prior, k, proba[:, k], eps, max_dim, rng)
            if result is None:
                return None
            roots[k], features[k] = result
            n_remaining -= roots[k].shape[1]
        weights = WeightCovariance.from_features([features[k] for k in range(n_classes)], proba)
        return cls([roots[k] for k in range(n_classes)], weights)

    @property
    def dtype(self) -> Any:
        """Precision of the matrices."""
        return self.roots[0].dtype

    def astype(self, dtype: Any) -> "LowRankCovariance":
        """Return a copy in another precision."""
        xp = array_namespace(self.roots[0])
        return LowRankCovariance([xp.astype(root, dtype) for root in self.roots], self.weights.astype(dtype))

    def covariances(self, cross: Array, variances: Array) -> Array:
        """Return the posterior covariances of t rows; the parameters are those of `LatentCovariance.covariances`."""
        cross = array_namespace(cross).astype(cross, self.roots[0].dtype, copy=False)
        features = [(cross if cross.ndim == 2 else cross[k, ...]) @ root for k, root in enumerate(self.roots)]
        return self.weights.covariances_by_class(features, variances)


def _need_more_features(prior: GramPrior, proba: Floats, classes: list[int], eps: float, n_features: int) -> bool:
    """Return True if all classes together certainly need more features than this; it takes far less time than them.

    The residual has a norm of at most eps only if there are as many features as eigenvalues of A_k above eps. The
    eigenvalues of a principal submatrix are not larger (Cauchy's interlacing theorem). The pivots of its Cholesky
    factorization, less eps I, are the first rows of a positive definite matrix: each counts one eigenvalue.
    """
    size = int(MAX_KRYLOV_FRACTION * proba.shape[0])
    for k in classes:
        rows = np.argsort(-proba[:, k], kind="stable")[:size]
        gram = _matrix_in_sufficient_precision(prior, k, proba[:, k], eps)[np.ix_(rows, rows)]
        scale = np.sqrt(proba[rows, k]).astype(gram.dtype)
        gram *= scale[:, None]
        gram *= scale[None, :]
        gram[np.diag_indices(size)] -= eps
        (pstrf,) = lapack.get_lapack_funcs(("pstrf",), (gram,))
        n_features -= int(pstrf(gram.T, tol=0.0, lower=True, overwrite_a=True)[2])
        if n_features < 0:
            return True
    return False


def _matrix_in_sufficient_precision(prior: GramPrior, k: int, proba: Array, eps: float) -> Array:
    """Return the Gram matrix of a class in single precision if rounding errors are then far below eps."""
    xp = array_namespace(proba)
    gram, gram_float32 = prior.of_class(k), prior.float32_of_class(k)
    trace = float(xp.sum(proba * xp.linalg.diagonal(gram)))  # bounds every eigenvalue
    is_precise = float(xp.finfo(gram_float32.dtype).eps) * trace <= FLOAT32_EPS_FRACTION * eps
    return gram_float32 if is_precise else gram


def _root_and_features(
    prior: GramPrior, k: int, proba: Array, eps: float, max_dim: int, rng: np.random.Generator
) -> tuple[Array, Array] | None:
    """Return P_k and Phi_k = K_k P_k, or None if they have too many columns or their residual is too large."""
    xp = array_namespace(proba)
    n, gram, matrix = proba.shape[0], prior.of_class(k), _matrix_in_sufficient_precision(prior, k, proba, eps)
    scale = xp.sqrt(proba)
    width = min(MAX_BLOCK_SIZE, max(n // 32, 1))
    matrix_scale = xp.astype(scale, matrix.dtype, copy=False)[:, None]

    def draw() -> Array:
        return xp.asarray(rng.standard_normal((n, width)), dtype=matrix.dtype, device=device(proba))

    def matvec(V: Array) -> Array:
        return matrix_scale * (matrix @ (matrix_scale * V))

    pairs = large_eigenpairs(matvec, draw, eps, max_dim)
    if pairs is None:
        return None
    values, vectors = (xp.astype(array, gram.dtype, copy=False) for array in pairs)
    roots = scale[:, None] * vectors / xp.sqrt(values)
    features = gram @ roots
    if values.shape[0] == 0:  # the data have no information about this class
        return roots, features
    # The pairs are approximate: correct P^T K P to I, so that phi(x) never has more than the prior variance.
    square = lower_root(roots.mT @ features)
    roots, features = solve_lower(square, roots.mT).mT, solve_lower(square, features.mT).mT
    scaled = xp.astype(scale[:, None] * features, matrix.dtype, copy=False)
    # New random vectors: those of the Krylov space have no component in the directions that it missed.
    residual = _largest_eigenvalue(lambda V: matvec(V) - scaled @ (scaled.mT @ V), draw()[:, :4])
    return (roots, features) if residual <= eps else None


def _largest_eigenvalue(matvec: Callable[[Array], Array], vectors: Array) -> float:
    """Return a lower estimate by the power method."""
    xp = array_namespace(vectors)
    for _ in range(N_POWER_ITERATIONS):
        norms = xp.sqrt(xp.sum(vectors * vectors, axis=0))
        vectors = matvec(vectors / xp.where(norms > 0, norms, 1.0))
    return float(xp.max(xp.sqrt(xp.sum(vectors * vectors, axis=0))))


def large_eigenpairs(
    matvec: Callable[[Array], Array], draw: Callable[[], Array], eps: float, max_dim: int
) -> tuple[Array, Array] | None:
    """Return nearly all eigenvalues above eps / 2 of a positive semi-definite matrix, with eigenvectors.

    This is a block Lanczos method (Golub & Underwood 1977). Each block of the Krylov space is orthogonalized against
    all blocks before it. The coupling beta of the last block with the complement of the space indicates the size of the
    remaining eigenvalues: a continuum on [0, c] has beta = c / 4. The space never contains all directions of an
    eigenvalue whose multiplicity exceeds the block size. Therefore a new random block must find nothing either.

    Parameters
    ----------
    matvec : callable
        (n, b) -> (n, b): the matrix times some vectors.
    draw : callable
        Returns new random directions, (n, b).
    eps : float
        The space grows until 4 beta <= eps.
    max_dim : int
        Maximum dimension of the space.

    Returns
    -------
    values : array of shape (r,)
        Ascending, all above eps / 2.
    vectors : array of shape (n, r)
        Orthonormal. None is returned in place of both if the space would exceed `max_dim`.
    """
    start = draw()
    xp = array_namespace(start)
    space, _ = xp.linalg.qr(matvec(start))
    last = images = matvec(space)
    is_random = False
    while True:
        block, coupling = xp.linalg.qr(_orthogonalize(space, last))
        is_small = 4.0 * _norm(coupling) <= eps
        if is_small and is_random and _norm(space[:, -block.shape[1] :].mT @ last) <= eps:
            break  # the random block found no further direction
        is_random = is_small
        # Orthogonalize again, since rounding errors leave components of the space, which dominate if few directions
        # remain (twice is enough: Parlett 1980).
        block, _ = xp.linalg.qr(_orthogonalize(space, draw() if is_random else block))
        if space.shape[1] + block.shape[1] > max_dim:
            return None
        last = matvec(block)
        space, images = xp.concat([space, block], axis=1), xp.concat([images, last], axis=1)
    projected = space.mT @ images
    values, rotation = xp.linalg.eigh((projected + projected.mT) / 2.0)
    first = values.shape[0] - int(xp.sum(xp.astype(values > 0.5 * eps, xp.int64)))
    return values[first:], space @ rotation[:, first:]


def _orthogonalize(space: Array, vectors: Array) -> Array:
    return vectors - space @ (space.mT @ vectors)


def _norm(matrix: Array) -> float:
    xp = array_namespace(matrix)
    return float(xp.max(xp.linalg.svdvals(matrix)))
