"""Batches of rows chosen one after the other, each given the curvature that the earlier ones will add.

What the label of a row adds to the precision H does not depend on the label, so that a batch can be chosen before any
of its labels is seen. With J_c R_c of the chosen row c (see `information`) and L L^T = I + N_c,

    H'^-1 = H^-1 - Z Z^T,   Z = H^-1 J_c R_c L^-T,   N_i' = N_i - G_i G_i^T,   G_i = (J_i R_i)^T Z.

The information of a row never grows by that (log det is submodular), so that an information of some choices ago is a
bound on that of now. Only rows whose bound reaches the best row are brought up to date, which gives the same batch.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from oneof.solvers.graph_logistic.information import (
    Posterior,
    View,
    curvature_roots,
    half_log_determinants,
    whitened_covariances,
)
from oneof.typing import Floats, Ints

TIE = 1e-9
"""Informations that differ by less than this share of the larger are ties: rounding must not choose between them."""
_BLOCK = 2**21
"""Numbers that the instances, or the matrices, of the rows looked at together may hold."""
_KEPT = 2**25
"""Numbers that the matrices N of all rows may hold if they are to be kept and not to be made again."""
_FIRST_STALE = 128
"""How many bounds are brought up to date at first; twice as many every time after, until the best row is known."""

Lookup = Callable[[Ints], list[View]]
"""Gives the views of some rows; `View.rows` counts within those rows."""


class Chosen(NamedTuple):
    """Rows in the order of choice, and the information of each given those before it, in nats."""

    rows: Ints
    information: Floats


def choose_batch(posterior: Posterior, lookup: Lookup, n_rows: int, n: int) -> Chosen:
    """Choose rows greedily by the information of their labels together.

    Parameters
    ----------
    posterior : Posterior
    lookup : callable
        Gives the views of the rows that it is asked for, so that only blocks of instances are in memory at a time.
    n_rows : int
        Number of rows to choose from.
    n : int
        How many to choose, at most `n_rows`.

    Returns
    -------
    Chosen
        Ties go to the lowest row.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 5.
    Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.
    """
    pool = _Pool(posterior, lookup, n_rows)
    rows, gains = np.empty(n, dtype=np.int64), np.empty(n)
    for step in range(n):
        rows[step], gains[step] = pool.best()
        if step + 1 < n:
            pool.add(int(rows[step]))
    return Chosen(rows, gains)


class _Pool:
    """The rows to choose from, with the information of each as of some number of choices ago."""

    def __init__(self, posterior: Posterior, lookup: Lookup, n_rows: int) -> None:
        self.posterior, self.lookup = posterior, lookup
        first = lookup(np.zeros(1, dtype=np.int64))
        n_classes, n_features = posterior.weights.shape
        self.size = len(first) * n_classes
        self.per_row = max(len(first) * n_features, self.size**2)
        self.bound = np.full(n_rows, np.inf)
        self.since = np.zeros(n_rows, dtype=np.int64)
        self.kept = np.empty((n_rows, self.size, self.size)) if n_rows * self.size**2 <= _KEPT else None
        self.factors = np.empty((n_classes, n_features, 0))  # Z of all choices side by side
        self.n_chosen = 0
        for rows in self._blocks(np.arange(n_rows)):
            self._note(rows, self._made(rows, *self._look(rows)))

    def best(self) -> tuple[int, float]:
        """Return the row of the most information as of now, and that information; the row is then out of the pool."""
        step = _FIRST_STALE
        while True:
            now = self.since == self.n_chosen
            top = self.bound[now].max(initial=-np.inf)
            reached = self._at_least(top)
            stale = np.flatnonzero(reached & ~now)
            if not len(stale):
                row = int(np.argmax(reached))
                return row, float(self.bound[row])
            if len(stale) > step:
                stale = stale[np.argpartition(-self.bound[stale], step)[:step]]
            for rows in self._blocks(stale[np.argsort(-self.since[stale], kind="stable")]):
                self._note(rows, self._current(rows, *self._look(rows)))
            step *= 2

    def add(self, row: int) -> None:
        """Add the curvature of a row to the precision, and take the row out of the pool."""
        rows = np.array([row])
        views, roots = self._look(rows)
        whitened = self._current(rows, views, roots)[0]
        n_classes, n_features, _ = self.factors.shape
        columns = np.zeros((n_classes, n_features, len(views), n_classes))
        units = sp.eye_array(n_features, format="csr")
        for v, (view, root) in enumerate(zip(views, roots)):
            if len(view.rows):
                # With the unit vectors on the left these are the columns of H^-1 (I kron x).
                solved = self.posterior.cross_covariance(units, view.features)[:, 0]
                columns[:, :, v] = solved.transpose(1, 0, 2) @ root[0]
        solved = columns.reshape(n_classes, n_features, self.size)
        solved -= self.factors @ self._moves(views, roots, 1, 0)[0].T
        lower = cholesky(np.eye(self.size) + whitened, lower=True)
        factor = solve_triangular(lower, solved.reshape(-1, self.size).T, lower=True).T
        self.factors = np.concatenate([self.factors, factor.reshape(solved.shape)], axis=2)
        self.n_chosen += 1
        self.bound[row], self.since[row] = -np.inf, -1

    def _at_least(self, top: float) -> NDArray[np.bool_]:
        inside = self.since >= 0
        return inside & (self.bound >= top - TIE * top) if np.isfinite(top) else inside

    def _blocks(self, rows: Ints) -> Iterator[Ints]:
        """Cut rows into blocks by the memory that their instances, and the choices that they missed, will take."""
        while len(rows):
            missed = self.n_chosen - (0 if self.kept is None else int(self.since[rows].min()))
            block = max(1, _BLOCK // max(self.per_row, self.size**2 * missed))
            yield rows[:block]
            rows = rows[block:]

    def _look(self, rows: Ints) -> tuple[list[View], list[Floats]]:
        views = self.lookup(rows)
        return views, [curvature_roots(self.posterior.weights, view.features) for view in views]

    def _note(self, rows: Ints, whitened: Floats) -> None:
        self.bound[rows] = half_log_determinants(whitened)
        self.since[rows] = self.n_chosen
        if self.kept is not None:
            self.kept[rows] = whitened

    def _made(self, rows: Ints, views: list[View], roots: list[Floats]) -> Floats:
        """Return N of rows without what the choices took from it."""
        return whitened_covariances(self.posterior, views, roots, len(rows))

    def _current(self, rows: Ints, views: list[View], roots: list[Floats]) -> Floats:
        """Return N of rows as of now."""
        if self.kept is None:
            whitened, since = self._made(rows, views, roots), np.zeros(len(rows), dtype=np.int64)
        else:
            whitened, since = self.kept[rows], self.since[rows]
        oldest = int(since.min())
        if oldest < self.n_chosen:
            moves = self._moves(views, roots, len(rows), oldest)
            # What a row's matrix has lost already is not to be taken from it again.
            taken = np.repeat(np.arange(oldest, self.n_chosen), self.size) < since[:, None]
            np.copyto(moves, 0.0, where=taken[:, None, :])
            whitened = whitened - moves @ moves.transpose(0, 2, 1)
        return whitened

    def _moves(self, views: list[View], roots: list[Floats], n_rows: int, oldest: int) -> Floats:
        """Return (J R)^T Z of rows, (n_rows, V(K - 1), q), for the choices from the `oldest` on."""
        factors = self.factors[:, :, oldest * self.size :]
        n_classes, n_features, width = factors.shape
        flat = factors.transpose(1, 0, 2).reshape(n_features, n_classes * width)
        moves = np.zeros((n_rows, len(views), n_classes, width))
        for v, (view, root) in enumerate(zip(views, roots)):
            seen = np.asarray(view.features @ flat).reshape(len(view.rows), n_classes, width)
            moves[view.rows, v] = root.transpose(0, 2, 1) @ seen
        return moves.reshape(n_rows, self.size, width)
