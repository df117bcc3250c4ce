"""The smoothest vectors on a graph: the lowest eigenvectors of its normalised Laplacian, I - D^-1/2 W D^-1/2."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh

from oneof.typing import Floats

DENSE_ROWS = 500
"""Up to as many rows, and where the greater part of all eigenvectors is wanted, all are worked out at once."""
TIES = 1e-9
"""Eigenvalues (in [0, 2]) that differ by less are taken for one."""


@dataclass(frozen=True)
class Spectrum:
    """Eigenvectors 2, 3, ... of a graph's normalised Laplacian."""

    vectors: Floats
    """(n, d): orthonormal columns, orthogonal to D^1/2 1, the smoothest first."""
    values: Floats
    """(d,): their eigenvalues, in [0, 2]."""

    def ranks(self) -> Floats:
        """Return 1, 2, 3, ..., with the lowest rank of theirs for all eigenvectors of one eigenvalue.

        Which basis of their space such eigenvectors are is arbitrary, and nothing should depend on it.
        """
        first = np.diff(self.values, prepend=-np.inf) > TIES
        return np.maximum.accumulate(np.where(first, np.arange(1.0, len(first) + 1), 0.0))


def laplacian_spectrum(affinity: sp.csr_array, n_vectors: int) -> Spectrum:
    """Find eigenvectors 2 to n_vectors + 1 of I - D^-1/2 W D^-1/2.

    A graph of several components has an eigenvalue 0 for each, with eigenvectors that need no search; Lanczos' method,
    which could miss some of them, looks for the others only. It starts from a fixed vector: results are reproducible.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, every row with an entry above 0.
    n_vectors : int
        At least 1. There are n - 1 at most; components - 1 of eigenvalue 0 are given even if these are more.

    Returns
    -------
    Spectrum
    """
    n = affinity.shape[0]
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    scaling = sp.dia_array((1.0 / np.sqrt(degrees)[None], 0), shape=(n, n))
    smoothing = (scaling @ affinity @ scaling).tocsr()
    indicators = _indicators(affinity, degrees)
    n_others = min(n_vectors, n - 1) - (indicators.shape[1] - 1)
    constant = np.asarray(indicators.T @ np.sqrt(degrees))
    flat = indicators @ scipy.linalg.null_space(constant[None])  # what the indicators span beside D^1/2 1
    if n_others <= 0:
        return Spectrum(flat, np.zeros(flat.shape[1]))
    if n <= DENSE_ROWS or 3 * n_others >= n:
        shifted = smoothing.toarray() - 3.0 * (indicators @ indicators.T).toarray()
        values, vectors = scipy.linalg.eigh(shifted, subset_by_index=(n - n_others, n - 1))
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(_without(smoothing, indicators), n_others, which="LA", v0=start)
    order = np.argsort(-values, kind="stable")
    return Spectrum(
        np.hstack([flat, vectors[:, order]]),
        np.concatenate([np.zeros(flat.shape[1]), np.maximum(1.0 - values[order], 0.0)]),
    )


def _indicators(affinity: sp.csr_array, degrees: Floats) -> sp.csr_array:
    """Return the eigenvectors of eigenvalue 0, (n, components): D^1/2 times the indicator of each, of length 1."""
    n = len(degrees)
    count, component = connected_components(affinity, directed=False)
    mass = np.bincount(component, weights=degrees, minlength=count)
    return sp.csr_array((np.sqrt(degrees / mass[component]), (np.arange(n), component)), shape=(n, count))


def _without(smoothing: sp.csr_array, indicators: sp.csr_array) -> LinearOperator:
    """Return S - 3 U U^T: as S, but with the eigenvectors U of S moved from 1, its largest eigenvalue, to below all."""
    transposed = indicators.T.tocsr()

    def product(vector: Floats) -> Floats:
        return smoothing @ vector - 3.0 * (indicators @ (transposed @ vector))

    return LinearOperator(smoothing.shape, matvec=product, matmat=product, dtype=np.float64)
