"""Disambiguation by propagation between neighbors (Zhang & Yu 2015).

With W the (n, n) matrix of the weights with which its k neighbors rebuild each row, its rows scaled to sum 1, and F_0
uniform on the candidates, repeat

    F <- alpha W F + (1 - alpha) F_0,   then F_ik <- F_ik / sum_{j in S_i} F_ij for k in S_i, else 0.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.neighbor_votes import link
from oneof.solvers.reconstruction import reconstruction_weights
from oneof.typing import FeatureMatrix, Floats, Mask


@dataclass(frozen=True)
class Propagation:
    """Where the sweeps of `propagate` ended."""

    confidence: Floats
    """(n, K): F, 0 outside the candidates; rows sum to 1."""
    n_iter: int
    """Sweeps made."""
    change: float
    """Largest change of an entry of F in the last sweep."""


def reconstruction_links(known: NeighborIndex, n_neighbors: int, rows: FeatureMatrix | None = None) -> sp.csr_array:
    """Return the weights with which the nearest known rows rebuild each row, scaled to sum 1.

    Parameters
    ----------
    known : NeighborIndex
        m rows.
    n_neighbors : int
    rows : ndarray or CSR matrix of shape (n, d), optional
        Without it, the known rows are rebuilt, each from the others.

    Returns
    -------
    csr_array of shape (n, m)
        k entries a row; those of a row that no neighbor helps to rebuild are 0.
    """
    targets = known.points(rows)
    _, neighbors = known.nearest(n_neighbors, rows).reshape_by_row(targets.shape[0])
    weights = reconstruction_weights(known.points(), targets, neighbors)
    total = weights.sum(axis=1, keepdims=True)
    return link(neighbors, weights / np.where(total > 0, total, 1.0), len(known))


def propagate(
    links: sp.csr_array,
    mask: Mask,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-6,
    initial: Floats | None = None,
) -> Propagation:
    """Sweep until F changes by no more than `tol`, or `max_iter` times.

    Parameters
    ----------
    links : CSR matrix of shape (n, n)
        W; a row of zeros keeps its F_0.
    mask : ndarray of shape (n, K), bool
    alpha : float
        Share of the neighbors, in [0, 1].
    max_iter : int
        At least 1.
    tol : float
    initial : ndarray of shape (n, K), optional
        A warm start, in place of F_0.

    Returns
    -------
    Propagation
    """
    start = uniform_within_sets(mask)
    confidence = start if initial is None else initial
    n_iter, change = 0, np.inf
    while n_iter < max_iter and change > tol:
        swept = normalize_within_sets(alpha * np.asarray(links @ confidence) + (1.0 - alpha) * start, mask)
        change = float(np.abs(swept - confidence).max())
        confidence = swept
        n_iter += 1
    return Propagation(confidence, n_iter, change)


def balance_classes(confidence: Floats, mask: Mask) -> Floats:
    """Return F with each class scaled back to the share of all rows that it has in F_0, and rows scaled to sum 1 again.

    q_k F_ik with q_k = sum_i F_0,ik / sum_i F_ik (class mass normalization): sweeps favor the classes that many sets
    name, which this undoes. One that died out in them stays so.

    Parameters
    ----------
    confidence : ndarray of shape (n, K)
    mask : ndarray of shape (n, K), bool

    Returns
    -------
    ndarray of shape (n, K)
    """
    mass = confidence.sum(axis=0)
    alive = mass > np.finfo(np.float64).eps * mass.sum()  # with alpha=1 classes die out, and what is left is no share
    factor = np.divide(uniform_within_sets(mask).sum(axis=0), mass, out=np.zeros(len(mass)), where=alive)
    return normalize_within_sets(confidence * factor, mask)
