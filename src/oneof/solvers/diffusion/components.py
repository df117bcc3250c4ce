"""Parts of a graph that hang together, and those of them that hold no label."""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.typing import Mask


def without_label(affinity: sp.csr_array, mask: Mask) -> np.ndarray:
    """Return which rows lie in a component of the graph in which every row's set is full.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Symmetric.
    mask : ndarray of shape (n, K), bool

    Returns
    -------
    ndarray of shape (n,), bool
    """
    n_components, component = connected_components(affinity, directed=False)
    told = np.zeros(n_components, dtype=bool)
    told[component[~mask.all(axis=1)]] = True
    return ~told[component]
