"""Laplacians of a graph."""

from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from oneof.graphs.affinity import check_affinity
from oneof.validation import check_choice

Kind = Literal["plain", "random_walk", "symmetric"]


def laplacian(affinity: Any, kind: Kind = "plain") -> sp.csr_array:
    """Return a Laplacian of a graph.

    With W the affinity and D the diagonal matrix of its row sums, the degrees: D - W ("plain"), I - D^-1 W
    ("random_walk") or I - D^-1/2 W D^-1/2 ("symmetric"). A row without links is a row of zeros in all three.

    Parameters
    ----------
    affinity : array-like or sparse matrix of shape (n, n)
        Weights of links, at least 0 and symmetric; the diagonal is dropped.
    kind : {"plain", "random_walk", "symmetric"}, default="plain"

    Returns
    -------
    csr_array of shape (n, n)
        Positive semi-definite but for "random_walk", which is similar to "symmetric". The eigenvalues of both lie
        in [0, 2]. Each connected part of the graph has one null vector: on its rows 1, and for "symmetric" the root
        of the degree.

    Raises
    ------
    InputError
        If there is no such kind, or the affinity cannot be used: see `check_affinity`.

    References
    ----------
    von Luxburg (2007), A tutorial on spectral clustering, Statistics and Computing, section 3.

    Examples
    --------
    >>> laplacian([[0.0, 2.0], [2.0, 0.0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    check_choice("kind", kind, get_args(Kind))
    W = check_affinity(affinity)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    weights, diagonal = W.data, degrees
    row = np.repeat(np.arange(len(degrees)), np.diff(W.indptr))
    if kind != "plain":
        diagonal = (degrees > 0).astype(np.float64)
        # One division after the other: the product of two roots of tiny degrees could be 0.
        if kind == "random_walk":
            weights = weights / degrees[row]
        else:
            # Of numbers i <= j in this order in both halves, so that the matrix is symmetric to the last bit.
            root, column = np.sqrt(degrees), W.indices
            weights = weights / root[np.minimum(row, column)] / root[np.maximum(row, column)]
    off = sp.csr_array((-weights, W.indices, W.indptr), shape=W.shape)
    L = (sp.diags_array(diagonal, format="csr") + off).tocsr()
    L.eliminate_zeros()
    L.sort_indices()
    return L
