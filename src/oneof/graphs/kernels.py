"""Kernels between the vertices of a graph: dense, and thus for thousands of rows, not for many thousands."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack
from scipy.sparse.csgraph import connected_components

from oneof.errors import InputError
from oneof.graphs.affinity import check_affinity
from oneof.graphs.laplacian import Kind, laplacian
from oneof.typing import Floats
from oneof.validation import check_choice, check_memory, check_positive

LARGEST_PRODUCT = 1e13
"""Of beta and the largest degree: beyond, rounding of I + beta L would be felt in the third digit of its inverse."""


def diffusion_kernel(affinity: Any, beta: float = 1.0, *, kind: Kind = "plain") -> Floats:
    """Return the diffusion kernel of a graph, exp(-beta L), by the eigenvectors of its Laplacian L.

    Pass it to `PLSVM` with ``kernel="precomputed"``, or to `PLGP` as `oneof.graphs.PrecomputedKernel`.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Weights of links, at least 0, symmetric: the `affinity_` of an estimator on graphs, or one's own.
    beta : float, default=1.0
        How far labels diffuse, above 0.
    kind : {"plain", "symmetric"}, default="plain"
        Of the Laplacian: D - W, or I - D^-1/2 W D^-1/2.

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, positive semi-definite (to rounding); for the plain Laplacian its rows sum to 1.

    Raises
    ------
    InputError
        If a parameter cannot be used, or the work would not fit in memory.

    References
    ----------
    Kondor & Lafferty (2002), Diffusion kernels on graphs and other discrete input spaces, ICML.

    Examples
    --------
    >>> diffusion_kernel([[0, 1], [1, 0]], beta=0.5).round(3)
    array([[0.684, 0.316],
           [0.316, 0.684]])
    """
    W = _checked(affinity, beta, kind, n_copies=5)
    if not W.shape[0]:
        return np.zeros((0, 0))
    values, vectors = eigh(laplacian(W, kind).toarray(), overwrite_a=True, check_finite=False)
    # Each part of the graph has an eigenvalue 0, whose rounding a large beta would make much of.
    values[: connected_components(W, directed=False, return_labels=False)] = 0.0
    with np.errstate(over="ignore", under="ignore"):
        vectors *= np.exp(-0.5 * beta * np.maximum(values, 0.0))
    return _mirrored(vectors @ vectors.T)


def regularized_laplacian_kernel(affinity: Any, beta: float = 1.0, *, kind: Kind = "plain") -> Floats:
    """Return the regularized Laplacian kernel of a graph, (I + beta L)^-1 with L its Laplacian.

    Parameters, errors and uses are those of `diffusion_kernel`, which falls off faster with distance.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
    beta : float, default=1.0
    kind : {"plain", "symmetric"}, default="plain"

    Returns
    -------
    ndarray of shape (n, n)
        Symmetric, positive definite, at least 0; for the plain Laplacian its rows sum to 1.

    Raises
    ------
    InputError
        If a parameter cannot be used, or the work would not fit in memory; if beta times the largest degree (for
        "symmetric", beta itself) is above 1e13, where the arithmetic has no such inverse.

    References
    ----------
    Smola & Kondor (2003), Kernels and regularization on graphs, COLT.

    Examples
    --------
    >>> regularized_laplacian_kernel([[0, 1], [1, 0]], beta=0.5)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    L = laplacian(_checked(affinity, beta, kind, n_copies=3), kind).toarray()
    if not len(L):
        return np.zeros((0, 0))
    if L.diagonal().max(initial=0.0) > LARGEST_PRODUCT / float(beta):
        raise InputError(f"beta={beta!r} is too large for these weights: I + beta L has no inverse in this arithmetic.")
    with np.errstate(under="ignore"):
        L *= beta
    L.flat[:: len(L) + 1] += 1.0
    factor, _ = lapack.dpotrf(L.T, lower=False, overwrite_a=True)  # never fails: no eigenvalue is far below 1
    inverse, _ = lapack.dpotri(factor, lower=False, overwrite_c=True)
    return _mirrored(np.ascontiguousarray(inverse.T))


def _checked(affinity: Any, beta: float, kind: Kind, *, n_copies: int) -> sp.csr_array:
    """Return the affinity, if this and the parameters can be used."""
    check_positive("beta", beta)
    check_choice("kind", kind, ("plain", "symmetric"), ", whose kernels are symmetric")
    W = check_affinity(affinity)
    n = W.shape[0]
    remedy = "take fewer rows, or a method that diffuses labels over the sparse graph"
    check_memory(8.0 * n_copies * n * n, f"a kernel of {n} rows", remedy)
    return W


def _mirrored(gram: Floats) -> Floats:
    """Return a matrix whose upper part is that below the diagonal, so that it is symmetric to the last bit."""
    for i in range(len(gram) - 1):
        gram[i, i + 1 :] = gram[i + 1 :, i]
    return gram
