"""Learning with local and global consistency (Zhou et al. 2004), also called label spreading."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.diffusion.components import without_label
from oneof.solvers.diffusion.sets import diffuse
from oneof.typing import Floats, Ints, Mask


@dataclass(frozen=True)
class ConsistencySolution:
    """What `solve_consistency` found."""

    distributions: Floats
    """(n, K): F with rows scaled to sum 1."""
    mass: Floats
    """(n,): what the rows of F summed to, which falls with the distance to the labels."""
    n_iter: int
    """Iterations and sweeps."""
    converged: bool
    unreached: Ints
    """Numbers of the rows that no label reaches, or none with a mass that is a number; their shares are uniform."""


def solve_consistency(
    affinity: sp.csr_array, mask: Mask, *, alpha: float = 0.99, tol: float = 1e-6, max_iter: int = 10_000
) -> ConsistencySolution:
    """Return where F <- alpha S F + (1 - alpha) Y rests, S = D^-1/2 W D^-1/2: (1 - alpha) (I - alpha S)^-1 Y.

    Y is the indicator in exact rows, 1/|S_i| on the candidates of rows that have several, and 0 where the set is full.
    Nothing is clamped, but rows with several candidates keep to them: see `oneof.solvers.diffusion.sets`.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    mask : ndarray of shape (n, K), bool
    alpha : float
        In (0, 1).
    tol, max_iter
        As in `diffuse`.

    Returns
    -------
    ConsistencySolution

    References
    ----------
    Zhou, Bousquet, Lal, Weston & Schölkopf (2004), Learning with local and global consistency, NIPS.
    """
    right = (1.0 - alpha) * np.where(mask.all(axis=1, keepdims=True), 0.0, uniform_within_sets(mask))
    degree = np.asarray(affinity.sum(axis=1))
    root = np.divide(1.0, np.sqrt(degree), out=np.zeros(len(degree)), where=degree > 0)
    links = affinity.copy()
    links.data *= -alpha * root[links.indices]
    links.data *= np.repeat(root, np.diff(links.indptr))
    matrix = sp.csr_array(sp.eye_array(len(mask)) + links)
    found = diffuse(matrix, right, mask, pull=1.0 - alpha, tol=tol, max_iter=max_iter)
    cut = mask | (mask.sum(axis=1, keepdims=True) == 1)  # no exact row is cut to its label
    mass = found.values.sum(axis=1)
    # In the end a label gives mass to all of its component, but where that is below the smallest number.
    unreached = (mass == 0) & mask.all(axis=1) if found.converged else without_label(affinity, mask)
    return ConsistencySolution(
        normalize_within_sets(found.values, cut), mass, found.n_iter, found.converged, np.flatnonzero(unreached)
    )
