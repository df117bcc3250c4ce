"""Votes of neighbors for the candidates they carry (Hüllermeier & Beringer 2006)."""

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import Floats, Ints, Mask


def neighbor_weights(distances: Floats) -> Floats:
    """Return w_r = 1 - d_r / sum_r d_r for the neighbors of each row, (n, k); 1 where that is 0/0 or k = 1."""
    n_neighbors = distances.shape[1]
    total = distances.sum(axis=1, keepdims=True, dtype=np.float64)
    if n_neighbors == 1:
        return np.ones_like(total)
    return np.where(total > 0, 1.0 - distances / np.where(total > 0, total, 1.0), 1.0)


def count_votes(neighbors: Ints, weights: Floats, mask: Mask) -> Floats:
    """Return sum_r w_r 1[k in S_r] over the neighbors r of each row.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
        Row numbers of `mask`.
    weights : ndarray of shape (n, k)
    mask : ndarray of shape (m, K), bool

    Returns
    -------
    ndarray of shape (n, K)
    """
    return np.asarray(link(neighbors, weights, len(mask)) @ mask.astype(np.float64))


def vote_shares(neighbors: Ints, weights: Floats, mask: Mask) -> Floats:
    """Return the votes of `count_votes`, scaled to sum 1 in each row."""
    votes = count_votes(neighbors, weights, mask)
    return votes / votes.sum(axis=1, keepdims=True)


def link(neighbors: Ints, weights: Floats, n_rows: int) -> sp.csr_array:
    """Return the (n, n_rows) matrix that holds the weights, (n, k), of each row's neighbors."""
    n, k = neighbors.shape
    if neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < n_rows:
        raise InputError(f"a neighbor is outside the {n_rows} rows that there are: build the model anew.")
    return sp.csr_array((weights.ravel(), neighbors.ravel(), np.arange(n + 1) * k), shape=(n, n_rows))
