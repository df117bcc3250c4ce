"""Weights of links, from their lengths."""

from typing import Literal

import numpy as np
import scipy.sparse as sp

from oneof.graphs.affinity import affinity_of
from oneof.graphs.neighbors import Links
from oneof.typing import Floats

_SMALLEST = float(np.finfo(np.float64).tiny)
_GONE = 690.0  # exp(-690) is the last power that is neither 0 nor short of digits


def local_widths(links: Links, n: int, typical: float | None = None) -> Floats:
    """Return the distance of each row to the last of its nearest neighbors, (n,).

    A row all of whose nearest neighbors equal it has none; a typical bandwidth stands in, if none is given the mean of the
    others, so that it is linked to what lies near it as an ordinary row would be.
    """
    widths = np.zeros(n)
    np.maximum.at(widths, links.source, links.values)
    known = widths > 0
    if typical is None:
        typical = float(widths[known].mean()) if known.any() else 1.0
    widths[~known] = typical
    return widths


def gaussian(
    links: Links,
    shape: tuple[int, int],
    bandwidth: float | Literal["local"],
    own: Floats | None = None,
    others: Floats | None = None,
    *,
    keep_nearest: bool = False,
) -> sp.csr_array:
    """Return exp(-d^2 / (2 bandwidth^2)), or with the local widths of both ends exp(-d^2 / (s_i s_j)).

    With `keep_nearest`, rows whose weights would all be too small for the arithmetic have them scaled up together.
    """
    d = links.values
    with np.errstate(over="ignore", under="ignore"):
        if bandwidth == "local":
            assert own is not None
            assert others is not None
            exponents = (d / own[links.source]) * (d / others[links.target])
        else:
            t = d / max(float(bandwidth), _SMALLEST)
            exponents = 0.5 * t * t
        if keep_nearest:
            least = np.full(shape[0], np.inf)
            np.minimum.at(least, links.source, exponents)
            excess = np.where(np.isfinite(least), np.maximum(least - _GONE, 0.0), 0.0)
            exponents = exponents - excess[links.source]
            # Where even the exponent is infinite, the nearest alone count.
            lost = ~np.isfinite(least)[links.source]
            nearest = np.full(shape[0], np.inf)
            np.minimum.at(nearest, links.source, d)
            exponents[lost & (d == nearest[links.source])] = _GONE
        return affinity_of(links.source, links.target, np.exp(-exponents), shape)


def cosine(links: Links, shape: tuple[int, int]) -> sp.csr_array:
    """Return the cosine similarities; those below 0 count as 0."""
    return affinity_of(links.source, links.target, np.clip(links.values, 0.0, 1.0), shape)


def binary(links: Links, shape: tuple[int, int]) -> sp.csr_array:
    """Return 1 for every link."""
    return affinity_of(links.source, links.target, np.ones(len(links.source)), shape)
