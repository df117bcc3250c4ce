"""Greedy selection of a batch of rows by the joint information of their labels.

The label of a row adds a curvature to the precision H that does not depend on the label. So a batch can be selected
before any of its labels is observed. With J_c R_c of the selected row c (see `mutual_information`) and L L^T = I + N_c,

    H'^-1 = H^-1 - Z Z^T,   Z = H^-1 J_c R_c L^-T,   N_i' = N_i - G_i G_i^T,   G_i = (J_i R_i)^T Z.

A selection never increases the information of another row (log det is submodular), so that the information at an
earlier selection is an upper bound. Only rows whose bound reaches the best row are updated (lazy greedy selection,
Minoux 1978), which gives the same batch.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from oneof.solvers.active.answer_rates import AnswerRates, answer_curvatures, symmetric_roots
from oneof.solvers.active.mutual_information import (
    Posterior,
    ViewInstances,
    class_proba,
    curvature_roots,
    half_log_determinants,
    whitened_covariances,
)
from oneof.typing import Floats, Ints, Mask

TIE_RTOL = 1e-9
"""Relative difference of informations below which they are ties, so that rounding does not select between them."""
_BLOCK_SIZE = 2**21
"""Maximum number of entries in the instances, or the matrices, of the rows processed together."""
_CACHE_SIZE = 2**25
"""Maximum number of entries in the matrices N of all rows for which they are cached, and not computed again."""
_LAZY_BATCH = 128
"""Number of bounds that are updated first; it doubles with each update, until the best row is determined."""

ViewLookup = Callable[[Ints], list[ViewInstances]]
"""Function that returns the views of some rows; `ViewInstances.rows` are indices into those rows."""


class BatchSelection(NamedTuple):
    """Rows in the order of selection, and the information of each given those before it, in nats, times the density."""

    rows: Ints
    information: Floats


def select_batch(
    posterior: Posterior,
    get_views: ViewLookup,
    n_rows: int,
    batch_size: int,
    rates: AnswerRates | None = None,
    density: Floats | None = None,
) -> BatchSelection:
    """Select rows greedily by the joint information of their labels, or of the answers.

    Parameters
    ----------
    posterior : Posterior
    get_views : callable
        Returns the views of the requested rows, so that only blocks of instances are in memory at a time.
    n_rows : int
        Number of rows to select from.
    batch_size : int
        Number of rows to select, at most `n_rows`.
    rates : AnswerRates, optional
        Probabilities of the answers given the label; by default an answer is the label.
    density : ndarray of shape (n_rows,), optional
        Positive factors of the information.

    Returns
    -------
    BatchSelection
        Ties go to the lowest row.

    References
    ----------
    Krishnapuram et al. (2004), On semi-supervised classification, NIPS 17: section 5.
    Minoux (1978), Accelerated greedy algorithms for maximizing submodular set functions.
    """
    pool = _Pool(posterior, get_views, n_rows, rates, density)
    rows, information = np.empty(batch_size, dtype=np.int64), np.empty(batch_size)
    for step in range(batch_size):
        rows[step], information[step] = pool.best()
        if step + 1 < batch_size:
            pool.select(int(rows[step]))
    return BatchSelection(rows, information)


class _Pool:
    """Rows to select from, with the information of each at an earlier selection."""

    def __init__(
        self,
        posterior: Posterior,
        get_views: ViewLookup,
        n_rows: int,
        rates: AnswerRates | None,
        density: Floats | None,
    ) -> None:
        self.posterior, self.get_views, self.rates = posterior, get_views, rates
        self.density: Floats = np.ones(n_rows) if density is None else density
        first = get_views(np.zeros(1, dtype=np.int64))
        n_classes, n_features = posterior.weights.shape
        self.size = len(first) * n_classes
        self.size_per_row = max(len(first) * n_features, self.size**2)
        self.bound = np.full(n_rows, np.inf)
        self.updated_at = np.zeros(n_rows, dtype=np.int64)
        self.cache = np.empty((n_rows, self.size, self.size)) if n_rows * self.size**2 <= _CACHE_SIZE else None
        self.factors = np.empty((n_classes, n_features, 0))  # Z of all selections side by side
        self.n_selected = 0
        for rows in self._blocks(np.arange(n_rows)):
            self._cache(rows, self._initial(rows, *self._views_and_roots(rows)))

    def best(self) -> tuple[int, float]:
        """Return the row with the largest current information, and that information."""
        n_updated = _LAZY_BATCH
        while True:
            current = self.updated_at == self.n_selected
            top = self.bound[current].max(initial=-np.inf)
            eligible = self._at_least(top)
            stale = np.flatnonzero(eligible & ~current)
            if not len(stale):
                row = int(np.argmax(eligible))
                return row, float(self.bound[row])
            if len(stale) > n_updated:
                stale = stale[np.argpartition(-self.bound[stale], n_updated)[:n_updated]]
            for rows in self._blocks(stale[np.argsort(-self.updated_at[stale], kind="stable")]):
                self._cache(rows, self._current(rows, *self._views_and_roots(rows)))
            n_updated *= 2

    def select(self, row: int) -> None:
        """Add the curvature of a row to the precision, and remove the row from the pool."""
        rows = np.array([row])
        views, roots = self._views_and_roots(rows)
        whitened = self._current(rows, views, roots)[0]
        n_classes, n_features, _ = self.factors.shape
        columns = np.zeros((n_classes, n_features, len(views), n_classes))
        identity = sp.eye_array(n_features, format="csr")
        for v, (view, root) in enumerate(zip(views, roots)):
            if len(view.rows):
                # With the unit vectors on the left these are the columns of H^-1 (I kron x).
                solved = self.posterior.cross_covariance(identity, view.features)[:, 0]
                columns[:, :, v] = solved.transpose(1, 0, 2) @ root[0]
        solved = columns.reshape(n_classes, n_features, self.size)
        solved -= self.factors @ self._downdates(views, roots, 1, 0)[0].T
        lower = cholesky(np.eye(self.size) + whitened, lower=True)
        factor = solve_triangular(lower, solved.reshape(-1, self.size).T, lower=True).T
        self.factors = np.concatenate([self.factors, factor.reshape(solved.shape)], axis=2)
        self.n_selected += 1
        self.bound[row], self.updated_at[row] = -np.inf, -1

    def _at_least(self, top: float) -> Mask:
        in_pool = self.updated_at >= 0
        return in_pool & (self.bound >= top - TIE_RTOL * top) if np.isfinite(top) else in_pool

    def _blocks(self, rows: Ints) -> Iterator[Ints]:
        """Split rows into blocks by the memory of their instances and of the selections since their last update."""
        while len(rows):
            n_missing = self.n_selected - (0 if self.cache is None else int(self.updated_at[rows].min()))
            block = max(1, _BLOCK_SIZE // max(self.size_per_row, self.size**2 * n_missing))
            yield rows[:block]
            rows = rows[block:]

    def _views_and_roots(self, rows: Ints) -> tuple[list[ViewInstances], list[Floats]]:
        views = self.get_views(rows)
        return views, [self._roots(view) for view in views]

    def _roots(self, view: ViewInstances) -> Floats:
        if self.rates is None:
            return curvature_roots(self.posterior.weights, view.features)
        return symmetric_roots(answer_curvatures(class_proba(self.posterior.weights, view.features), self.rates))

    def _cache(self, rows: Ints, whitened: Floats) -> None:
        self.bound[rows] = half_log_determinants(whitened) * self.density[rows]
        self.updated_at[rows] = self.n_selected
        if self.cache is not None:
            self.cache[rows] = whitened

    def _initial(self, rows: Ints, views: list[ViewInstances], roots: list[Floats]) -> Floats:
        """Return N of rows before any selection."""
        return whitened_covariances(self.posterior, views, roots, len(rows))

    def _current(self, rows: Ints, views: list[ViewInstances], roots: list[Floats]) -> Floats:
        """Return the current N of rows."""
        if self.cache is None:
            whitened, updated_at = self._initial(rows, views, roots), np.zeros(len(rows), dtype=np.int64)
        else:
            whitened, updated_at = self.cache[rows], self.updated_at[rows]
        oldest = int(updated_at.min())
        if oldest < self.n_selected:
            downdates = self._downdates(views, roots, len(rows), oldest)
            # Downdates that a row's matrix already contains are not applied again.
            applied = np.repeat(np.arange(oldest, self.n_selected), self.size) < updated_at[:, None]
            np.copyto(downdates, 0.0, where=applied[:, None, :])
            whitened = whitened - downdates @ downdates.transpose(0, 2, 1)
        return whitened

    def _downdates(self, views: list[ViewInstances], roots: list[Floats], n_rows: int, oldest: int) -> Floats:
        """Return (J R)^T Z of rows, (n_rows, V(K - 1), q), for the selections from `oldest` on."""
        factors = self.factors[:, :, oldest * self.size :]
        n_classes, n_features, width = factors.shape
        flat = factors.transpose(1, 0, 2).reshape(n_features, n_classes * width)
        downdates = np.zeros((n_rows, len(views), n_classes, width))
        for v, (view, root) in enumerate(zip(views, roots)):
            scores = np.asarray(view.features @ flat).reshape(len(view.rows), n_classes, width)
            downdates[view.rows, v] = root.transpose(0, 2, 1) @ scores
        return downdates.reshape(n_rows, self.size, width)
