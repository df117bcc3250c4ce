"""Markov random walks with labels of their start nodes (Szummer & Jaakkola 2002).

A walk takes t steps of P = D^-1 (W + w I), D the row sums of W + w I. Any node is as likely as any other to be its
start, so that the walk that is found at x started at i with probability P_0|t(i | x) = [P^t]_ix / sum_j [P^t]_jx. Each
start node has a distribution theta_i over the classes, from which the walk takes its label; then

    p(k | x) = sum_i theta_ik P_0|t(i | x),

and theta maximizes sum_x log sum_{k in S_x} p(k | x) over the labeled rows x, which is concave in theta. On exact
labels that is the published likelihood; full sets add log 1 = 0.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import normalize_within_sets
from oneof.typing import Floats, Ints, Mask

COLUMN_BYTES = 256 * 2**20
"""Most memory for the labeled columns of P^t; beyond, every pass walks anew."""
SPARSE_COST = 2
"""An entry of a sparse product takes at least as long as so many of a dense one."""
PASSES = 100
"""Products with the labeled columns that EM is taken to make before it ends: two in each of some fifty iterations."""
BLOCK_COLUMNS = 64
"""Columns that walk together."""


@dataclass(frozen=True)
class WalkSolution:
    """What `solve_walk` found."""

    distributions: Floats
    """(n, K): p(k | x), cut to the candidates in rows that have several; rows sum to 1."""
    start_posteriors: Floats
    """(n, K): theta; uniform for nodes from which no walk reaches a labeled row."""
    log_likelihood: Floats
    """(n_iter + 1,): of the labeled rows, before and after each iteration of EM; it never falls."""
    n_iter: int
    converged: bool
    unreached: Ints
    """Numbers of the rows that no walk to or from a label reaches, whose shares are uniform."""


class _Walk:
    """The operator P^t on blocks of columns, never formed itself."""

    def __init__(self, affinity: sp.csr_array, n_steps: int, self_weight: float) -> None:
        n = affinity.shape[0]
        degree = np.asarray(affinity.sum(axis=1)) + self_weight
        links = sp.csr_array(affinity + self_weight * sp.eye_array(n))
        links.data *= np.repeat(1.0 / degree, np.diff(links.indptr))
        self._step, self._n_steps, self._degree = links, n_steps, degree[:, None]
        self._arrivals = self._backward(np.ones((n, 1)))

    def forward(self, block: Floats) -> Floats:
        """Return P^t R."""
        for _ in range(self._n_steps):
            block = self._step @ block
        return block

    def _backward(self, block: Floats) -> Floats:
        """Return (P^t)^T R, by detailed balance: D P^t D^-1 R."""
        return self._degree * self.forward(block / self._degree)

    def starts(self, block: Floats) -> Floats:
        """Return sum_i R_ik P_0|t(i | x) for all x."""
        return self._backward(block) / self._arrivals

    def ends(self, block: Floats) -> Floats:
        """Return sum_x P_0|t(i | x) R_xk for all i."""
        return self.forward(block / self._arrivals)


class _Columns(Protocol):
    """P_0|t(i | x) for labeled x: its products with theta and with the weights of EM."""

    def starts(self, theta: Floats) -> Floats:
        """Return sum_i theta_ik P_0|t(i | x), (l, K)."""

    def ends(self, weights: Floats) -> Floats:
        """Return sum_x P_0|t(i | x) r_xk, (n, K)."""


class _Formed:
    """The labeled columns as an array, for few labeled rows."""

    def __init__(self, walk: _Walk, labeled: Ints, n: int) -> None:
        self.columns = np.empty((n, len(labeled)))
        for first in range(0, len(labeled), BLOCK_COLUMNS):
            part = labeled[first : first + BLOCK_COLUMNS]
            block = np.zeros((n, len(part)))
            block[part, np.arange(len(part))] = 1.0
            self.columns[:, first : first + BLOCK_COLUMNS] = walk.ends(block)

    def starts(self, theta: Floats) -> Floats:
        return self.columns.T @ theta

    def ends(self, weights: Floats) -> Floats:
        return self.columns @ weights


class _Walked:
    """The labeled columns walked in every pass, all classes at once, for many labeled rows."""

    def __init__(self, walk: _Walk, labeled: Ints, n: int) -> None:
        self.walk, self.labeled, self.n = walk, labeled, n

    def starts(self, theta: Floats) -> Floats:
        return self.walk.starts(theta)[self.labeled]

    def ends(self, weights: Floats) -> Floats:
        block = np.zeros((self.n, weights.shape[1]))
        block[self.labeled] = weights
        return self.walk.ends(block)


def _worth_forming(n: int, n_labeled: int, n_classes: int, walk_cost: int) -> bool:
    """Return whether to form the labeled columns, where P^t times a vector takes `walk_cost` multiplications.

    Forming takes as many walks as there are columns, and walking in every pass as many as there are classes; once
    formed, a pass goes through n n_labeled numbers for each class. More than half of all columns are never formed, so
    that no array has n x n entries.
    """
    cheap_to_form = n_labeled <= PASSES * n_classes
    cheap_to_use = n * n_labeled <= SPARSE_COST * walk_cost
    return cheap_to_form and cheap_to_use and 2 * n_labeled <= n and 8 * n * n_labeled <= COLUMN_BYTES


def _told(walk: _Walk, labeled: Ints, n: int) -> np.ndarray:
    """Return which rows a walk may have reached from where one may have started that reached a labeled row, (n,)."""
    ends = np.zeros((n, 1))
    ends[labeled] = 1.0
    starts = (walk.ends(ends) > 0).astype(np.float64)
    return walk.starts(starts)[:, 0] > 0


def solve_walk(
    affinity: sp.csr_array,
    mask: Mask,
    *,
    n_steps: int = 8,
    self_weight: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> WalkSolution:
    """Return the class posteriors of the ends of the walks, from those of their starts that explain the labels best.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    mask : ndarray of shape (n, K), bool
    n_steps : int
        t, at least 1.
    self_weight : float
        w, above 0: the weight of staying. It is 1 in the paper, where the Gaussian of a distance of 0 is meant by it.
    tol : float
        EM ends where an iteration raises the mean log likelihood of the labeled rows by no more than this.
    max_iter : int

    Returns
    -------
    WalkSolution

    References
    ----------
    Szummer & Jaakkola (2002), Partially labeled classification with Markov random walks, NIPS: equations 1 to 5.
    """
    n, n_classes = mask.shape
    labeled = np.flatnonzero(~mask.all(axis=1))
    walk = _Walk(affinity, n_steps, self_weight)
    n_links = affinity.nnz + n  # with the one of each row to itself
    kind = _Formed if _worth_forming(n, len(labeled), n_classes, n_steps * n_links) else _Walked
    columns: _Columns = kind(walk, labeled, n)
    sets = mask[labeled]
    theta = np.full((n, n_classes), 1.0 / n_classes)
    likelihoods: list[float] = []
    n_iter, converged = 0, False
    while True:
        inside = np.where(sets, columns.starts(theta), 0.0).sum(axis=1)
        likelihoods.append(float(np.log(inside).sum()))
        rise = likelihoods[-1] - likelihoods[-2] if n_iter else np.inf
        converged = rise <= tol * len(labeled)
        if converged or n_iter >= max_iter:
            break
        # E: the walk to x started at i, in class k, with probability theta_ik P_0|t(i | x) / inside_x for k in S_x.
        # M: theta_ik is the share of class k in all walks that started at i.
        expected = theta * columns.ends(sets / inside[:, None])
        total = expected.sum(axis=1, keepdims=True)
        theta = np.where(total > 0, expected / np.where(total > 0, total, 1.0), theta)
        n_iter += 1
    shares = walk.starts(theta)
    shares /= shares.sum(axis=1, keepdims=True)
    cut = mask | (mask.sum(axis=1, keepdims=True) == 1)  # no exact row is cut to its label
    return WalkSolution(
        normalize_within_sets(shares, cut),
        theta,
        np.array(likelihoods),
        n_iter,
        converged,
        np.flatnonzero(mask.all(axis=1) & ~_told(walk, labeled, n)),
    )
