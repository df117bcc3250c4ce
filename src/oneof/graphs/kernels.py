"""Graph Laplacians and the kernels between vertices derived from them.

The kernels are dense, which suits thousands of rows but not tens of thousands.
"""

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack
from scipy.sparse.csgraph import connected_components
from sklearn.gaussian_process.kernels import Kernel

from oneof.errors import InputError
from oneof.graphs.affinity import check_affinity
from oneof.typing import Floats, Ints
from oneof.validation import as_array, check_choice, check_memory, check_positive

LaplacianKind = Literal["plain", "random_walk", "symmetric"]

MAX_PRODUCT = 1e13
"""Upper limit of beta times the largest degree. Above it, rounding errors in I + beta L reach the third digit of its
inverse."""


def laplacian(affinity: Any, kind: LaplacianKind = "plain") -> sp.csr_array:
    """Return a Laplacian of a graph.

    With the affinity W and the diagonal matrix D of its row sums (the degrees), the kinds are D - W ("plain"),
    I - D^-1 W ("random_walk") and I - D^-1/2 W D^-1/2 ("symmetric"). An isolated row is a row of zeros in all three.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Edge weights, at least 0 and symmetric; the diagonal is ignored.
    kind : {"plain", "random_walk", "symmetric"}, default="plain"

    Returns
    -------
    csr_array of shape (n, n)
        Positive semi-definite, except for "random_walk", which is similar to "symmetric". The eigenvalues of both are
        in [0, 2]. Each connected component of the graph has one null vector: 1 on its rows, and for "symmetric" the
        root of the degree.

    Raises
    ------
    InputError
        If `kind` or the affinity is invalid: see `check_affinity`.

    References
    ----------
    von Luxburg (2007), A tutorial on spectral clustering, Statistics and Computing, section 3.

    Examples
    --------
    >>> laplacian([[0.0, 2.0], [2.0, 0.0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    check_choice("kind", kind, get_args(LaplacianKind))
    W = check_affinity(affinity)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    weights, diagonal = W.data, degrees
    row = np.repeat(np.arange(len(degrees)), np.diff(W.indptr))
    if kind != "plain":
        diagonal = (degrees > 0).astype(np.float64)
        # Two divisions in sequence: the product of two roots of tiny degrees could be 0.
        if kind == "random_walk":
            weights = weights / degrees[row]
        else:
            # The smaller row index comes first in both halves, so that the matrix is symmetric to the last bit.
            root, column = np.sqrt(degrees), W.indices
            weights = weights / root[np.minimum(row, column)] / root[np.maximum(row, column)]
    off_diagonal = sp.csr_array((-weights, W.indices, W.indptr), shape=W.shape)
    L = (sp.diags_array(diagonal, format="csr") + off_diagonal).tocsr()
    L.eliminate_zeros()
    L.sort_indices()
    return L


def diffusion_kernel(affinity: Any, beta: float = 1.0, *, kind: LaplacianKind = "plain") -> Floats:
    """Return the diffusion kernel of a graph, exp(-beta L), by the eigenvectors of its Laplacian L.

    Pass it to `PLSVM` with ``kernel="precomputed"``, or to `PLGP` as `oneof.graphs.PrecomputedKernel`.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Edge weights, at least 0 and symmetric, for example the `affinity_` of a graph-based estimator.
    beta : float, default=1.0
        Diffusion time, above 0.
    kind : {"plain", "symmetric"}, default="plain"
        Kind of the Laplacian: D - W, or I - D^-1/2 W D^-1/2.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, positive semi-definite up to rounding; with the plain Laplacian its rows sum to 1.

    Raises
    ------
    InputError
        If a parameter is invalid, or the computation would not fit in memory.

    References
    ----------
    Kondor & Lafferty (2002), Diffusion kernels on graphs and other discrete input spaces, ICML.

    Examples
    --------
    >>> diffusion_kernel([[0, 1], [1, 0]], beta=0.5).round(3)
    array([[0.684, 0.316],
           [0.316, 0.684]])
    """
    W = _check_arguments(affinity, beta, kind, n_copies=5)
    if not W.shape[0]:
        return np.zeros((0, 0))
    values, vectors = eigh(laplacian(W, kind).toarray(), overwrite_a=True, check_finite=False)
    # Each connected component has an eigenvalue 0, whose rounding error a large beta would amplify.
    values[: connected_components(W, directed=False, return_labels=False)] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        vectors *= np.exp(-0.5 * beta * np.maximum(values, 0.0))
    return _mirror_lower(vectors @ vectors.T)


def regularized_laplacian_kernel(affinity: Any, beta: float = 1.0, *, kind: LaplacianKind = "plain") -> Floats:
    """Return the regularized Laplacian kernel of a graph, (I + beta L)^-1 with its Laplacian L.

    The parameters and uses are those of `diffusion_kernel`, which decays faster with distance.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
    beta : float, default=1.0
    kind : {"plain", "symmetric"}, default="plain"

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, positive definite, at least 0; with the plain Laplacian its rows sum to 1.

    Raises
    ------
    InputError
        If a parameter is invalid, or the computation would not fit in memory. Also if beta times the largest degree
        (for "symmetric", beta itself) is above 1e13, since float64 then does not represent the inverse.

    References
    ----------
    Smola & Kondor (2003), Kernels and regularization on graphs, COLT.

    Examples
    --------
    >>> regularized_laplacian_kernel([[0, 1], [1, 0]], beta=0.5)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    L = laplacian(_check_arguments(affinity, beta, kind, n_copies=3), kind).toarray()
    if not len(L):
        return np.zeros((0, 0))
    largest_degree = L.diagonal().max(initial=0.0)
    if largest_degree > MAX_PRODUCT / float(beta):
        raise InputError(
            f"`beta` must be at most {MAX_PRODUCT / largest_degree:.4g} for these weights; got {beta!r}. The inverse "
            "of I + beta L is too inaccurate in float64."
        )
    with np.errstate(under="ignore"):
        L *= beta
    L.flat[:: len(L) + 1] += 1.0
    factor, _ = lapack.dpotrf(L.T, lower=False, overwrite_a=True)  # never fails: no eigenvalue is far below 1
    inverse, _ = lapack.dpotri(factor, lower=False, overwrite_c=True)
    return _mirror_lower(np.ascontiguousarray(inverse.T))


class PrecomputedKernel(Kernel):
    """Gaussian process kernel that looks up its values in a precomputed matrix.

    Use it with `PLGP` for kernels between the vertices of a graph. The rows of X are then vertex numbers, of shape
    (n, 1), and new rows are vertices that were not among the training rows. The kernel has no hyperparameters, and can
    be added to or multiplied with other kernels.

    Parameters
    ----------
    gram : ndarray or sparse matrix of shape (n, n)
        Symmetric, positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof import PLGP, diffusion_kernel
    >>> from oneof.graphs import PrecomputedKernel
    >>> path = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    >>> kernel = PrecomputedKernel(10 * diffusion_kernel(path))
    >>> vertices = np.arange(5)[:, None]
    >>> PLGP(kernel, random_state=0).fit(vertices, ["a", None, None, None, "b"]).predict(vertices).tolist()[1::2]
    ['a', 'b']
    """

    def __init__(self, gram: Any) -> None:
        self.gram = gram

    def __call__(self, X: Any, Y: Any = None, eval_gradient: bool = False) -> Any:
        """Return the matrix entries for row indices, and an empty gradient if `eval_gradient` is True."""
        i = self._indices(X)
        K = _check_entries(self._matrix()[np.ix_(i, i if Y is None else self._indices(Y))])
        return (K, np.empty((len(i), len(i), 0))) if eval_gradient else K

    def diag(self, X: Any) -> Floats:
        """Return the diagonal entries of the matrix for the row indices in X.

        Parameters
        ----------
        X : array-like of shape (n_samples, 1)
            Row indices of the matrix.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return _check_entries(np.diagonal(self._matrix())[self._indices(X)].copy())

    def is_stationary(self) -> bool:
        """Return False: the kernel is not a function of differences.

        Returns
        -------
        bool
        """
        return False

    def __repr__(self) -> str:
        return f"PrecomputedKernel(<{len(self._matrix())} rows>)"

    def _matrix(self) -> Floats:
        gram = as_array(self.gram, "the matrix of a precomputed kernel")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise InputError(f"`gram` must be a square matrix; got shape {gram.shape}.")
        return gram

    def _indices(self, X: Any) -> Ints:
        X = np.asarray(X)
        indices = X.ravel().astype(np.int64)
        n = len(self._matrix())
        if X.shape != (len(indices), 1) or (indices != X[:, 0]).any() or (indices < 0).any() or (indices >= n).any():
            raise InputError(
                f"`X` must have one column of row indices from 0 to {n - 1} with a precomputed kernel; got shape "
                f"{X.shape}, or a value outside this range."
            )
        return indices


def _check_arguments(affinity: Any, beta: float, kind: LaplacianKind, *, n_copies: int) -> sp.csr_array:
    """Validate the arguments of a kernel and return the affinity."""
    check_positive("beta", beta)
    check_choice("kind", kind, ("plain", "symmetric"), ", whose kernels are symmetric")
    W = check_affinity(affinity)
    n = W.shape[0]
    remedy = "pass fewer rows, or use a method that diffuses labels over the sparse graph"
    check_memory(8.0 * n_copies * n * n, f"a kernel of {n} rows", remedy)
    return W


def _mirror_lower(gram: Floats) -> Floats:
    """Copy the lower triangle of a matrix to the upper one, so that it is symmetric to the last bit."""
    for i in range(len(gram) - 1):
        gram[i, i + 1 :] = gram[i + 1 :, i]
    return gram


def _check_entries(entries: Floats) -> Floats:
    """Return entries of a matrix, or raise if one is not a finite number."""
    if entries.dtype.kind not in "fiub" or not np.isfinite(entries).all():
        raise InputError("`gram` must have finite numbers; got NaN, infinity or another value.")
    return entries
