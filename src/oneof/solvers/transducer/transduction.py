"""Spectral graph transduction (Joachims 2003), one class against the others.

With V the eigenvectors 2, ..., d + 1 of the normalized Laplacian of a graph of n rows, and D = diag(1, 4, 9, ..., d^2)
in place of their eigenvalues, the score z = V w of a class is the minimizer of

    w^T D w + c (V w - gamma)^T C (V w - gamma)   over  ||w||^2 = n,

where of the l rows known to be of the class (l_+ of them) or not (l_-), the former have gamma_+ = sqrt(l_- / l_+) and
C_ii = l / (2 l_+), the latter gamma_- = -1 / gamma_+ and C_ii = l / (2 l_-); all other rows have C_ii = 0. With
G = D + c V^T C V and b = c V^T C gamma this is a quadratic on a sphere.

Eigenvectors of one eigenvalue have one rank, the lowest of theirs, in place of ranks that would tell them apart: which
basis of their space they are is arbitrary (any rotation of it is one as well), and with equal entries of D, w^T D w and
so the scores are the same for all of them. The parts of a graph that no link joins are the common case, with the
eigenvalue 0 once for each: all of these vectors are taken, even where they are more than d, since to take some of them
would be just as arbitrary. Only eigenvectors of a greater eigenvalue, of which the d-th is one and the next another,
are cut off as they come.

A row with the candidates S, unless these are all classes, counts for each class as q_ik of a row that is of the class
and as 1 - q_ik of one that is not, in l_+ and l_- as in C: with q_ik = 1/|S| inside the set at first and 0 outside, and
then with the distributions that came out, until these no longer change. Without rows that have several candidates
nothing changes, and one round is the published method.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import uniform_within_sets
from oneof.solvers.diffusion.components import without_label
from oneof.solvers.transducer.parts import Parts
from oneof.solvers.transducer.spectrum import Spectrum, smoothest
from oneof.typing import Floats, Ints, Mask

LEAST_ROW = 1e-6
"""Of fewer rows than this, known to be or not to be of a class, one cannot learn what they are like."""


@dataclass(frozen=True)
class Transduction:
    """What the graph says of the class of every row."""

    distributions: Floats
    """(n, K): the distribution over the row's candidates that is nearest to its shares; uniform in the rows that no
    label reaches."""
    shares: Floats
    """(n, K): (z - gamma_-) / (gamma_+ - gamma_-) of each class: 0 at the target of the rows that are not of the class,
    1 at that of those that are, 1/2 at the threshold between; on labeled rows too, and not cut to [0, 1]."""
    unreached: Ints
    """Numbers of the rows in components of the graph without any label."""
    n_iter: int
    """Rounds made."""
    converged: bool
    """Whether no q_ik has more than the tolerance left to change, by the rate at which the changes of rounds fall."""


def transduce(
    affinity: sp.csr_array,
    mask: Mask,
    *,
    n_eigenvectors: int = 80,
    c: float = 3200.0,
    max_iter: int = 100,
    tol: float = 1e-2,
) -> Transduction:
    """Solve one problem for each class against the others, and take from their scores a distribution for each row.

    With two classes one problem is the other with its sign changed, so that shares sum to 1 and the threshold of the
    paper decides. With more, the class decides whose score has gone farthest from its gamma_- to its gamma_+. A class
    that no labeled row is of has share 0 everywhere, and one that all of them are of, share 1.

    Parts of the graph without a label are left out of all sums, n included, as are rows without a link.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        Symmetric, at least 0.
    mask : ndarray of shape (n, K), bool
        The candidates; rows with all classes are unlabeled.
    n_eigenvectors : int
        d, at least 1; in a graph of fewer rows all eigenvectors but the constant one are taken, and all of eigenvalue 0
        even if they are more.
    c : float
        Above 0: how much the labels count beside smoothness.
    max_iter : int
        Rounds, at least 1.
    tol : float
        What shares may have left to change, by the rate at which their changes fall.

    Returns
    -------
    Transduction

    Raises
    ------
    InputError
        If the eigenvectors would not fit in memory.
    """
    n, n_classes = mask.shape
    unreached = without_label(affinity, mask)
    linked = ~unreached & (np.asarray(affinity.sum(axis=1)).ravel() > 0)
    shares, n_iter, left = np.full((n, n_classes), 1.0 / n_classes), 0, 0.0
    if linked.any():
        vectors, sets = smoothest(affinity[linked][:, linked], n_eigenvectors), mask[linked]
        told = np.logical_not(sets.all(axis=1))
        members, change, left = uniform_within_sets(sets), np.inf, np.inf
        while n_iter < max_iter and left > tol:
            shares[linked] = _class_shares(vectors, members, told, c)
            updated = nearest_distributions(shares[linked], sets)
            before, change = change, float(np.abs(updated - members)[told].max())
            # Rounds that shrink by a factor q have q / (1 - q) of the last one before them still.
            rate = min(change / before, 1.0 - 1e-9) if 0 < change < before < np.inf else 0.5
            left = change * max(1.0, rate / (1.0 - rate))
            members = updated
            n_iter += 1
    return Transduction(nearest_distributions(shares, mask), shares, np.flatnonzero(unreached), n_iter, left <= tol)


def _class_shares(vectors: Spectrum | Parts, members: Floats, told: Mask, c: float) -> Floats:
    """Return the share of every class on every row, (n, K), from the q_ik of the rows that tell something."""
    n, n_classes = members.shape
    shares = np.empty((n, n_classes))
    for k in range(1 if n_classes == 2 else 0, n_classes):
        positive, negative = np.where(told, members[:, k], 0.0), np.where(told, 1.0 - members[:, k], 0.0)
        l_positive, l_negative = positive.sum(), negative.sum()
        if min(l_positive, l_negative) < LEAST_ROW:
            shares[:, k] = float(l_positive > l_negative)
            continue
        high, low = np.sqrt(l_negative / l_positive), -np.sqrt(l_positive / l_negative)
        scale = c * (l_positive + l_negative) / 2
        to_high, to_low = scale / l_positive * positive, scale / l_negative * negative
        z = vectors.scores(to_high + to_low, to_high * high + to_low * low)
        shares[:, k] = (z - low) / (high - low)
    if n_classes == 2:
        shares[:, 0] = 1.0 - shares[:, 1]
    return shares


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
