"""Affinities: the weights of an undirected graph, as a symmetric sparse matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import Ints

_SYMMETRY = 1e-8  # relative: rounding in a user's own products passes, a directed graph does not


def check_affinity(affinity: Any, n: int | None = None) -> sp.csr_array:
    """Return a precomputed affinity as graphs have it, or raise where it cannot be one.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Weights of links, at least 0 and symmetric to 1e-8 of their size; 0 is no link, and the diagonal is dropped.
    n : int, optional
        The number of rows that it must have; without it, any number.

    Returns
    -------
    csr_array of shape (n, n)
        float64, symmetric to the last bit, without stored zeros, diagonal or unsorted indices.

    Raises
    ------
    InputError
        If the shape is another, or a weight is no number, infinite, negative or not that of the link's other direction.

    Examples
    --------
    >>> check_affinity([[1, 2], [2, 1]]).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    W = _read(affinity)
    if W.shape[0] != W.shape[1] or n not in (None, W.shape[0]):
        wanted = "square" if n is None else f"of shape ({n}, {n}), one row and column for each row of X"
        raise InputError(f"the affinity has shape {W.shape}: it must be {wanted}.")
    _raise_at(W, ~np.isfinite(W.data), "weights must be finite")
    _raise_at(W, W.data < 0, "weights must be at least 0 (0 is no link)")
    other = W.T.tocsr()
    if not _same(W, other):
        gap = (W - other).tocoo()
        largest = W.maximum(other).tocsr()[gap.coords]
        wrong = np.flatnonzero(np.abs(gap.data) > _SYMMETRY * np.asarray(largest).ravel())
        if wrong.size:
            i, j = int(gap.coords[0][wrong[0]]), int(gap.coords[1][wrong[0]])
            raise InputError(
                f"the affinity is not symmetric: it is {W[i, j]:.6g} in row {i}, column {j}, and {W[j, i]:.6g} in row "
                f"{j}, column {i}; links have no direction, so give for example A.maximum(A.T) or (A + A.T) / 2."
            )
        W = 0.5 * W + 0.5 * other
    if W.diagonal().any() or not W.data.all():
        W = undirected(W)
    W = _compact(W)
    with np.errstate(over="ignore"):
        if not np.isfinite(W.sum(axis=1)).all():
            raise InputError(
                "the weights of a row of the affinity add up to infinity: divide the affinity by its maximum."
            )
    return W


def symmetrized(directed: sp.csr_array, symmetrize: str) -> sp.csr_array:
    """Return the graph of the links that either of two rows, or both of them ("mutual"), have to the other, or of all.

    Of all ("sum"), a link counts twice that both have.
    """
    other = directed.T.tocsr()
    if symmetrize == "sum":
        return undirected(directed + other)
    return undirected(directed.maximum(other) if symmetrize == "union" else directed.minimum(other))


def affinity_of(source: Ints, target: Ints, weights: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Return links as a matrix; those of weight 0 are none."""
    kept = weights > 0
    return _canonical(sp.csr_array((weights[kept], (source[kept], target[kept])), shape=shape))


def undirected(W: Any) -> sp.csr_array:
    """Return a symmetric matrix without its diagonal, in the form that graphs have."""
    W = sp.coo_array(W)
    i, j = W.coords
    kept = (i != j) & (W.data != 0)
    return _canonical(sp.csr_array((W.data[kept], (i[kept], j[kept])), shape=W.shape))


def _canonical(W: sp.csr_array) -> sp.csr_array:
    W.sum_duplicates()
    return _compact(W)


def _same(A: sp.csr_array, B: sp.csr_array) -> bool:
    """Return whether two matrices with sorted indices are stored alike; most affinities are their own transposes."""
    return (
        np.array_equal(A.indptr, B.indptr) and np.array_equal(A.indices, B.indices) and np.array_equal(A.data, B.data)
    )


def _compact(W: sp.csr_array) -> sp.csr_array:
    if W.indices.dtype != np.int32 and max(W.nnz, *W.shape) <= np.iinfo(np.int32).max:
        W = sp.csr_array((W.data, W.indices.astype(np.int32), W.indptr.astype(np.int32)), shape=W.shape)
    return W


def _read(affinity: Any) -> sp.csr_array:
    """Return what was given as CSR of float64, its entries in parts summed, still unchecked."""
    try:
        if not sp.issparse(affinity):
            affinity = np.asarray(affinity)
        if affinity.ndim != 2 or affinity.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301 - the same sentence for all that is no matrix of numbers
        W = sp.csr_array(affinity.astype(np.float64))
    except (TypeError, ValueError):
        raise InputError(
            "the affinity cannot be read as a matrix of numbers: give a two-dimensional array or a sparse matrix."
        ) from None
    W.sum_duplicates()
    return W


def _raise_at(W: sp.csr_array, wrong: Any, complaint: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(W.indptr, at, side="right")) - 1
        raise InputError(f"the affinity is {W.data[at]:.6g} in row {row}, column {W.indices[at]}: {complaint}.")
