"""Affinity of an undirected graph: its edge weights as a symmetric sparse matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.errors import InputError
from oneof.typing import Floats, Ints, Mask

_SYMMETRY_RTOL = 1e-8  # accepts rounding errors of a computed affinity, and rejects directed graphs


def check_affinity(affinity: Any, n: int | None = None) -> sp.csr_array:
    """Validate a precomputed affinity and return it in canonical form.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Edge weights, at least 0 and symmetric to a relative difference of 1e-8. A weight of 0 means no edge. The
        diagonal is ignored.
    n : int, optional
        Required number of rows. Without it, any number is accepted.

    Returns
    -------
    csr_array of shape (n, n)
        float64, symmetric to the last bit, without stored zeros, diagonal or unsorted indices.

    Raises
    ------
    InputError
        If the shape is wrong, or a weight is not a number, infinite, negative or different from the weight of the
        opposite direction.

    Examples
    --------
    >>> check_affinity([[1, 2], [2, 1]]).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    W = _as_csr(affinity)
    if W.shape[0] != W.shape[1] or n not in (None, W.shape[0]):
        required = "square" if n is None else f"of shape ({n}, {n}), with one row and one column for each row of X"
        raise InputError(f"`affinity` must be {required}; got shape {W.shape}.")
    _raise_at(W, ~np.isfinite(W.data), "Edge weights must be finite.")
    _raise_at(W, W.data < 0, "Edge weights must be at least 0 (0 means no edge).")
    W = as_affinity(W)
    transposed = W.T.tocsr()
    if any(not np.array_equal(getattr(W, part), getattr(transposed, part)) for part in ("indptr", "indices", "data")):
        gap = (W - transposed).tocoo()
        largest = W.maximum(transposed).tocsr()[gap.coords]
        wrong = np.flatnonzero(np.abs(gap.data) > _SYMMETRY_RTOL * np.asarray(largest).ravel())
        if wrong.size:
            i, j = int(gap.coords[0][wrong[0]]), int(gap.coords[1][wrong[0]])
            raise InputError(
                f"`affinity` is not symmetric: it is {W[i, j]:.6g} in row {i}, column {j}, and {W[j, i]:.6g} in row "
                f"{j}, column {i}. Edges have no direction: pass for example A.maximum(A.T) or (A + A.T) / 2."
            )
        W = as_affinity(0.5 * W + 0.5 * transposed)
    with np.errstate(over="ignore"):
        if not np.isfinite(W.sum(axis=1)).all():
            raise InputError("the row sums of `affinity` overflow float64. Divide the affinity by its maximum.")
    return W


def symmetrize_edges(directed: sp.csr_array, symmetrize: str) -> sp.csr_array:
    """Return the undirected graph of directed edges.

    "union" keeps an edge if either row has it, "mutual" only if both rows have it. "sum" adds the weights of both
    directions.
    """
    transposed = directed.T.tocsr()
    if symmetrize == "sum":
        return as_affinity(directed + transposed)
    return as_affinity(directed.maximum(transposed) if symmetrize == "union" else directed.minimum(transposed))


def edges_to_csr(source: Ints, target: Ints, weights: Floats, shape: tuple[int, int]) -> sp.csr_array:
    """Return the matrix of a list of edges, without the edges of weight 0."""
    positive = weights > 0
    return _canonicalize(sp.csr_array((weights[positive], (source[positive], target[positive])), shape=shape))


def as_affinity(W: Any) -> sp.csr_array:
    """Return a symmetric matrix in the canonical form of an affinity, without its diagonal."""
    W = sp.coo_array(W)
    i, j = W.coords
    off_diagonal = (i != j) & (W.data != 0)
    return _canonicalize(sp.csr_array((W.data[off_diagonal], (i[off_diagonal], j[off_diagonal])), shape=W.shape))


def unlabeled_components(affinity: sp.csr_array, mask: Mask) -> Mask:
    """Flag the rows in connected components of the graph that contain unlabeled rows only.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Symmetric.
    mask : ndarray of shape (n, K), bool
        Candidate sets. A row whose set is full is unlabeled.

    Returns
    -------
    ndarray of shape (n,), bool
    """
    W = affinity
    component, n_components = label_components(W.indptr, W.indices, W.data, np.zeros(W.shape[0]), 0.0)
    has_label = np.zeros(n_components, dtype=bool)
    has_label[component[~mask.all(axis=1)]] = True
    return ~has_label[component]


def _canonicalize(W: sp.csr_array) -> sp.csr_array:
    W.sum_duplicates()
    return _use_int32(W)


def label_components(indptr: Ints, indices: Ints, weights: Floats, strongest: Floats, rtol: float) -> tuple[Ints, int]:
    """Return the connected component of each row of a symmetric graph, numbered by its first row, and their number.

    Only edges with at least the fraction `rtol` of the strongest edge of either of their rows connect.
    """
    n = len(indptr) - 1
    row = np.repeat(np.arange(n), np.diff(indptr))
    edges = np.flatnonzero((weights > 0) & (weights >= rtol * np.minimum(strongest[row], strongest[indices])))
    W = sp.coo_array((np.ones(len(edges)), (row[edges], indices[edges])), shape=(n, n))
    n_components, component = connected_components(W, directed=False)
    return component, n_components


def _use_int32(W: sp.csr_array) -> sp.csr_array:
    if W.indices.dtype != np.int32 and max(W.nnz, *W.shape) <= np.iinfo(np.int32).max:
        W = sp.csr_array((W.data, W.indices.astype(np.int32), W.indptr.astype(np.int32)), shape=W.shape)
    return W


def _as_csr(affinity: Any) -> sp.csr_array:
    """Convert the input to CSR of float64 with duplicate entries summed; nothing else is checked."""
    try:
        if not sp.issparse(affinity):
            affinity = np.asarray(affinity)
        if affinity.ndim != 2 or affinity.dtype.kind not in "biufO":
            raise TypeError  # noqa: TRY301 - one message for all inputs that are not a numeric matrix
        W = sp.csr_array(affinity.astype(np.float64))
    except (TypeError, ValueError):
        raise InputError(
            "`affinity` cannot be read as a matrix of numbers. Pass a two-dimensional array or a sparse matrix."
        ) from None
    W.sum_duplicates()
    return W


def _raise_at(W: sp.csr_array, wrong: Mask, message: str) -> None:
    """Raise an error that names the first wrong entry, if there is one."""
    if wrong.any():
        at = int(np.argmax(wrong))
        row = int(np.searchsorted(W.indptr, at, side="right")) - 1
        raise InputError(f"`affinity` is {W.data[at]:.6g} in row {row}, column {W.indices[at]}. {message}")
