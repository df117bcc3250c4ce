"""The parts of a graph that no link joins: on each of them a smooth vector may be another multiple of D^1/2 1."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.solvers.transducer.plane import minimize_in_plane
from oneof.typing import Floats


@dataclass(frozen=True)
class Parts:
    """The eigenvectors of eigenvalue 0 of a graph's normalized Laplacian, one for each of its m parts.

    Where these alone are more than the eigenvectors that are wanted, which of them to take would be arbitrary. All of
    them are taken, and never formed but as the indicators of the parts.
    """

    indicators: sp.csr_array
    """(n, m): D^1/2 times the indicator of each part, of length 1."""
    constant: Floats
    """(m,): D^1/2 1 in the basis of the indicators, but for its length."""

    def __len__(self) -> int:
        return len(self.constant)

    def scores(self, weights: Floats, pull: Floats) -> Floats:
        """Return the z with least z^T diag(weights) z - 2 pull^T z, of length sqrt(n) and orthogonal to D^1/2 1.

        All have the same rank, so that their smoothness is the same whatever z is.
        """
        curvature = (self.indicators**2).T @ weights
        found = minimize_in_plane(curvature, self.indicators.T @ pull, self.constant, float(len(weights)))
        return np.asarray(self.indicators @ found.w)


def parts(affinity: sp.csr_array) -> Parts:
    """Return the parts of a graph in which every row has a link."""
    n = affinity.shape[0]
    count, part = connected_components(affinity, directed=False)
    root = np.sqrt(np.asarray(affinity.sum(axis=1)))
    largest = np.zeros(count)
    np.maximum.at(largest, part, root)
    root /= largest[part]  # so that no sum of squares is 0 or infinite
    length = np.sqrt(np.bincount(part, weights=root**2, minlength=count))
    indicators = sp.csr_array((root / length[part], (np.arange(n), part)), shape=(n, count))
    return Parts(indicators, largest / largest.max() * length)
