"""Spectral graph transduction (Joachims 2003), one class against the others.

With V the eigenvectors 2, ..., d + 1 of the normalised Laplacian of a graph of n rows, and D = diag(1, 4, 9, ..., d^2)
in place of their eigenvalues, the score z = V w of a class is the minimiser of

    w^T D w + c (V w - gamma)^T C (V w - gamma)   over  ||w||^2 = n,

where of the l rows known to be of the class (l_+ of them) or not (l_-), the former have gamma_+ = sqrt(l_- / l_+) and
C_ii = l / (2 l_+), the latter gamma_- = -1 / gamma_+ and C_ii = l / (2 l_-); all other rows have C_ii = 0. With
G = D + c V^T C V and b = c V^T C gamma this is a quadratic on a sphere.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from oneof.solvers.transducer.spectrum import Spectrum, laplacian_spectrum
from oneof.solvers.transducer.sphere import minimise_on_sphere
from oneof.typing import Floats, Mask


@dataclass(frozen=True)
class Transduction:
    """What the graph says of the class of every row."""

    distributions: Floats
    """(n, K): the distribution over the row's candidates that is nearest to its shares; uniform where `reached` is
    False."""
    shares: Floats
    """(n, K): (z - gamma_-) / (gamma_+ - gamma_-) of each class: 0 at the target of the rows that are not of the class,
    1 at that of those that are, 1/2 at the threshold between; on labelled rows too, and not cut to [0, 1]."""
    reached: Mask
    """(n,): whether a path leads from the row to one with a label."""
    n_iter: int
    """Most steps for the multiplier of a class."""
    converged: bool = True
    """The problem is solved exactly."""


def transduce(affinity: sp.csr_array, mask: Mask, *, n_eigenvectors: int = 80, c: float = 3200.0) -> Transduction:
    """Solve one problem for each class against the others, and take from their scores a distribution for each row.

    A row is known to be of a class if this is its only candidate, and known not to be if it is no candidate, also where
    the row has several: without such rows this is the published method. In the problem of a class that is the only
    candidate of no row, all rows that have it among several stand in for it. A class that no row names has share 0
    everywhere, and one that all rows name, share 1. With two classes one problem is the other with its sign changed,
    so that shares sum to 1 and the threshold of the paper decides.

    Parts of the graph without a label are left out of all sums, n included, as are rows without a link.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Symmetric, at least 0.
    mask : ndarray of shape (n, K), bool
        The candidates; rows with all classes are unlabelled.
    n_eigenvectors : int
        d, at least 1; in a graph of fewer rows all eigenvectors but the constant one are taken.
    c : float
        Above 0: how much the labels count beside smoothness.

    Returns
    -------
    Transduction
    """
    n, n_classes = mask.shape
    reached, linked = _reach(affinity, mask)
    shares, n_iter = np.full((n, n_classes), 1.0 / n_classes), 0
    if linked.any():
        spectrum = laplacian_spectrum(affinity[linked][:, linked], n_eigenvectors)
        shares[linked], n_iter = _class_shares(spectrum, mask[linked], c)
    return Transduction(nearest_distributions(shares, mask), shares, reached, n_iter)


def _reach(affinity: sp.csr_array, mask: Mask) -> tuple[Mask, Mask]:
    """Return which rows have a label in their part of the graph, and which of these have a link."""
    count, component = connected_components(affinity, directed=False)
    labelled = np.zeros(count, dtype=bool)
    labelled[component[~mask.all(axis=1)]] = True
    reached = labelled[component]
    return reached, reached & (np.asarray(affinity.sum(axis=1)).ravel() > 0)


def _class_shares(spectrum: Spectrum, mask: Mask, c: float) -> tuple[Floats, int]:
    """Return the share of every class on every row, (n, K), and the most steps."""
    n, n_classes = mask.shape
    told = ~mask.all(axis=1)
    exact = mask.sum(axis=1) == 1
    shares, n_iter = np.zeros((n, n_classes)), 0
    for k in range(1 if n_classes == 2 else 0, n_classes):
        positive = mask[:, k] & exact
        if not positive.any():
            positive = mask[:, k] & told
        negative = ~mask[:, k]
        if positive.any() and negative.any():
            shares[:, k], steps = _share(spectrum, positive, negative, c)
            n_iter = max(n_iter, steps)
        else:
            shares[:, k] = float(positive.any())
    if n_classes == 2:
        shares[:, 0] = 1.0 - shares[:, 1]
    return shares, n_iter


def _share(spectrum: Spectrum, positive: Mask, negative: Mask, c: float) -> tuple[Floats, int]:
    """Return (z - gamma_-) / (gamma_+ - gamma_-) of every row, and the steps for the multiplier."""
    V = spectrum.vectors
    n_positive, n_negative = int(positive.sum()), int(negative.sum())
    high, low = np.sqrt(n_negative / n_positive), -np.sqrt(n_positive / n_negative)
    known = positive | negative
    V_known, is_positive = V[known], positive[known]
    cost = c * len(V_known) / 2 / np.where(is_positive, n_positive, n_negative)
    G = np.diag(spectrum.ranks() ** 2) + V_known.T @ (cost[:, None] * V_known)
    b = V_known.T @ (cost * np.where(is_positive, high, low))
    found = minimise_on_sphere(G, b, float(len(V)))
    return (V @ found.w - low) / (high - low), found.n_iter


def nearest_distributions(shares: Floats, mask: Mask) -> Floats:
    """Return the distribution over each row's candidates that is nearest to its shares, by Euclidean distance.

    The largest share has the largest probability; shares of two classes that sum to 1 are kept where they lie in [0, 1]
    and cut off where they do not.

    Parameters
    ----------
    shares : ndarray of shape (n, K)
    mask : ndarray of shape (n, K), bool

    Returns
    -------
    ndarray of shape (n, K)
        max(share - tau, 0) within the set, with the tau of each row that makes them sum to 1.
    """
    below = np.where(mask, shares - np.max(shares, axis=1, where=mask, initial=-np.inf, keepdims=True), -np.inf)
    sorted_ = -np.sort(-below, axis=1)
    # Of the m largest, tau is (their sum - 1) / m, for the largest m whose smallest member stays above it.
    taus = (np.cumsum(sorted_, axis=1) - 1.0) / np.arange(1, shares.shape[1] + 1)
    tau = taus[np.arange(len(taus)), (sorted_ > taus).sum(axis=1) - 1]
    nearest = np.maximum(below - tau[:, None], 0.0)
    return nearest / nearest.sum(axis=1, keepdims=True)
