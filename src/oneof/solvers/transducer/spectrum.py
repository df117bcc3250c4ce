"""The smoothest vectors on a graph: the lowest eigenvectors of its normalized Laplacian, I - D^-1/2 W D^-1/2."""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from oneof.graphs import laplacian
from oneof.solvers.transducer.parts import Parts, parts
from oneof.solvers.transducer.sphere import minimize_on_sphere
from oneof.typing import Floats
from oneof.validation import check_memory

DENSE_ROWS = 500
"""Up to as many rows, and where the greater part of all eigenvectors is wanted, all are worked out at once."""
TIES = 1e-9
"""Eigenvalues (in [0, 2]) that differ by less are taken for one."""


@dataclass(frozen=True)
class Spectrum:
    """Eigenvectors 2, 3, ... of a graph's normalized Laplacian."""

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

    def scores(self, weights: Floats, pull: Floats) -> Floats:
        """Return the z = V w with least w^T D w + z^T diag(weights) z - 2 pull^T z, of length sqrt(n).

        D has the squares of the ranks, and weights and pull are 0 on all rows that tell nothing.
        """
        told = np.flatnonzero(weights)
        V = self.vectors[told]
        G = np.diag(self.ranks() ** 2) + V.T @ (weights[told, None] * V)
        return self.vectors @ minimize_on_sphere(G, V.T @ pull[told], float(len(weights))).w


def smoothest(affinity: sp.csr_array, n_vectors: int) -> Spectrum | Parts:
    """Find eigenvectors 2 to n_vectors + 1 of I - D^-1/2 W D^-1/2.

    A graph of several parts has an eigenvalue 0 for each, with eigenvectors that need no search; Lanczos' method, which
    could miss some of them, looks for the others only. It starts from a fixed vector: results are reproducible.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0, every row with an entry above 0.
    n_vectors : int
        At least 1. There are n - 1 at most.

    Returns
    -------
    Spectrum or Parts
        The latter where eigenvectors of eigenvalue 0 are all there is to find, or more than are wanted.

    Raises
    ------
    InputError
        If the eigenvectors, and what finding them takes, would not fit in memory: six arrays of n x n_vectors, and
        from a third of all eigenvectors on, five of n x n.
    """
    n = affinity.shape[0]
    flat = parts(affinity)
    n_wanted = min(n_vectors, n - 1)
    n_others = n_wanted - (len(flat) - 1)
    if n_others <= 0 and len(flat) > 1:
        return flat
    at_once = n <= DENSE_ROWS or 3 * n_others >= n
    check_memory(
        8.0 * n * (5 * n if at_once else 6 * n_wanted),
        f"{n_wanted} eigenvectors of a graph of {n} rows",
        "lower n_eigenvectors",
    )
    L, indicators = laplacian(affinity, "symmetric"), flat.indicators
    if at_once:
        shifted = L.toarray()
        shifted += 3.0 * (indicators @ indicators.T)
        values, vectors = scipy.linalg.eigh(shifted, overwrite_a=True, subset_by_index=(0, n_others - 1))
    else:
        start = np.random.default_rng(0).standard_normal(n)
        values, vectors = eigsh(_lifted(L, indicators), n_others, which="SA", v0=start)
    order = np.argsort(values, kind="stable")
    beside = indicators @ scipy.linalg.null_space(flat.constant[None])  # what the indicators span beside D^1/2 1
    return Spectrum(
        np.hstack([beside, vectors[:, order]]),
        np.concatenate([np.zeros(beside.shape[1]), np.maximum(values[order], 0.0)]),
    )


def _lifted(L: sp.csr_array, indicators: sp.csr_array) -> LinearOperator:
    """Return L + 3 U U^T: as L, but with its eigenvectors U of eigenvalue 0 moved above all others."""
    transposed = indicators.T.tocsr()

    def product(vector: Floats) -> Floats:
        return L @ vector + 3.0 * (indicators @ (transposed @ vector))

    return LinearOperator(L.shape, matvec=product, matmat=product, dtype=np.float64)
