"""Diffusion in which the rows with several candidates keep to them.

One sweep of diffusion makes every row a mean of its neighbors and of what it was told, F <- D^-1 (B + N F) with M = D
- N; where it rests, M F = B. Rows with a set of several candidates then lose what lies outside it, and what is left is
scaled to the mass that the row had. These rows make the fixed point a nonlinear one:

    F_i = r_i(D^-1 (B + N F))_i      r_i(v)_k = v_k sum_j v_j / sum_{j in S_i} v_j for k in S_i, 0 outside,

r_i the identity for all other rows. Given the former, the latter solve a linear system. So each sweep here gives the
other rows their limit at once, by `LinearSystem`, and moves the rows with sets by one step: the fixed points are the
same, but what few labels say crosses a large graph in one sweep where plain ones take thousands. Rows with sets that
sweeps still hardly move make leaps over many of them, see `oneof.solvers.diffusion.leaps`.

Several fixed points are possible. The one that is meant is that to which sweeps go from equal shares; where they would
take turns for ever, that to which steps of a part of their length go.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers.diffusion.leaps import Leaps
from oneof.solvers.diffusion.linear import LinearSystem
from oneof.typing import Floats, Ints, Mask

BLOCK, SETTLE = 30, 10
"""Sweeps between two leaps, and those after a leap before what they still change says how much is left."""
FAR = 1e-9
"""Rows with less than this share of the largest row's mass are solved for again."""
TINY = 1e-280
"""Right-hand sides below this are too close to the smallest numbers for shares of them to mean anything."""


@dataclass(frozen=True)
class Diffused:
    """Where the diffusion rests."""

    values: Floats
    """(n, K): F."""
    n_iter: int
    """Iterations of conjugate gradients where no row has a set of several candidates, else sweeps and leaps."""
    converged: bool
    """Whether neither the rate at which changes fall nor the last leap says that more than the tolerance is left."""


def diffuse(
    matrix: sp.csr_array,
    right: Floats,
    mask: Mask,
    *,
    mass: Floats | None = None,
    pull: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> Diffused:
    """Return F with M F = B but in the rows of several candidates, which keep to their sets.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric, positive definite as far as rows without a set go, nothing positive beside the diagonal.
    right : ndarray of shape (n, K)
        B, at least 0.
    mask : ndarray of shape (n, K), bool
        The sets. Rows with one member or all are rows of the linear system, for which `right` says what is known.
    mass : ndarray of shape (n, 1), optional
        What each row of F sums to, M mass = B 1, which cutting to sets does not change. It is worked out if not given.
    pull : float
        As in `LinearSystem`.
    tol : float
        As in `LinearSystem.solve`; and rows with sets are to have no more than this left to change, by the rate at
        which their changes fall, and by the last leap if there were any.
    max_iter : int
        Most iterations of conjugate gradients, and most sweeps and leaps.

    Returns
    -------
    Diffused
    """
    sizes = mask.sum(axis=1)
    sets = np.flatnonzero((sizes > 1) & (sizes < mask.shape[1]))
    if not len(sets):
        return _solve_all(matrix, right, mass, None, pull, tol, max_iter)
    converged = True
    if mass is None:
        weighed = _solve_all(matrix, right.sum(axis=1, keepdims=True), None, None, pull, tol, max_iter)
        mass, converged = weighed.values, weighed.converged
    cut = np.zeros(len(mask), dtype=bool)
    cut[sets] = True
    sweep = _Sweep(matrix, right, mask, mass, pull, tol, max_iter)
    leaps = Leaps(matrix, mass, mask, cut)
    shares = uniform_within_sets(mask[sets])
    n_iter, since, leapt, rested = 0, 0, False, False
    change = left = np.inf
    while n_iter < max_iter and not rested:
        sweep.tol = max(tol, min(1e-3, 1e-2 * left))
        swept = sweep(shares)
        n_iter, since = n_iter + 1, since + 1
        before, change = change, float(np.abs(swept - shares).max())
        # Steps that shrink by a factor q have q / (1 - q) of the last one before them still; steps that do not shrink
        # say nothing of how many are left.
        rate = change / before if 0 < change < np.inf and before > 0 else 0.5
        left = change * max(1.0, rate / (1.0 - rate)) if rate < 1 else max(left, change)
        # After a leap fast changes hide the slow ones at first, and later these hide from what falls faster.
        rested = left <= tol and sweep.change <= tol and (not leapt or (since > SETTLE and leaps.left <= tol))
        slow = leapt or left * min(rate, 1.0) ** BLOCK > tol
        if not rested and slow and since >= BLOCK and n_iter + 2 <= max_iter:
            shares = leaps.leap(sweep, shares, swept)
            n_iter, since, leapt, change = n_iter + 2, 0, True, np.inf
        else:
            shares = swept
    values = sweep.values
    values[sets] = shares * mass[sets]
    rest = _solve_all(matrix, right, mass, values, pull, tol, max_iter, sweep.others)
    return Diffused(rest.values, n_iter, converged and rested and rest.converged)


class _Sweep:
    """Sweeps of the rows with sets, in shares, all other rows being given their limit at once.

    Parameters
    ----------
    matrix, right, mask, mass, pull, max_iter
        As in `diffuse`.
    tol : float
        Of the linear system, which may be set anew before a sweep.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        right: Floats,
        mask: Mask,
        mass: Floats,
        pull: float,
        tol: float,
        max_iter: int,
    ) -> None:
        sizes = mask.sum(axis=1)
        several = (sizes > 1) & (sizes < mask.shape[1])
        self.sets, self.others = np.flatnonzero(several), np.flatnonzero(~several)
        self.values: Floats = np.zeros(right.shape)
        self.tol, self.change = tol, np.inf
        self.total: Floats = np.zeros(len(self.sets))
        self._right, self._mass, self._members, self._max_iter = right, mass, mask[self.sets], max_iter
        self._system = LinearSystem(matrix[self.others][:, self.others], pull=pull)
        self._across, self._toward = matrix[self.others][:, self.sets], -matrix[self.sets]
        own = matrix.diagonal()[self.sets]
        place = np.arange(len(self.sets)), self.sets
        self._toward = self._toward + sp.csr_array((own, place), shape=self._toward.shape)
        self._before: Floats = self.values[self.others]

    def __call__(self, shares: Floats) -> Floats:
        """Return the shares of the rows with sets after a sweep."""
        values, mass = self.values, self._mass
        values[self.sets] = shares * mass[self.sets]
        self._before = values[self.others]
        solved = self._system.solve(
            self._right[self.others] - self._across @ values[self.sets],
            initial=self._before,
            size=mass[self.others],
            tol=self.tol,
            max_iter=self._max_iter,
        )
        self.change = solved.change
        values[self.others] = np.maximum(solved.values, 0.0)
        pulled = self._right[self.sets] + self._toward @ values
        self.total = np.where(self._members, pulled, 0.0).sum(axis=1)
        return normalize_within_sets(pulled, self._members)

    def state(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return all rows in shares of their mass, and how the last sweep moved those without a set, 0 in others."""
        mass = np.maximum(self._mass, TINY)
        q, moved = self.values / mass, np.zeros(self.values.shape)
        q[self.sets] = shares
        moved[self.others] = (self.values[self.others] - self._before) / mass[self.others]
        return q, moved

    def place(self, shares: Floats) -> None:
        """Let all rows, in shares of their mass, be where the next sweep starts."""
        self.values[self.others] = np.maximum(shares[self.others] * self._mass[self.others], 0.0)


def _solve_all(
    matrix: sp.csr_array,
    right: Floats,
    mass: Floats | None,
    initial: Floats | None,
    pull: float,
    tol: float,
    max_iter: int,
    rows: Ints | None = None,
) -> Diffused:
    """Solve M F = B in some rows, all if not said, such that small rows are right in their shares too.

    Other rows stay as they are at the start. Mass falls fast with the distance to the labels where alpha is small, and
    a solution is only as good as the rounding of its largest rows. So rows far below these are solved for again, given
    the rest: their right-hand sides are then of their own size.
    Every turn takes at least one row out, and about nine digits.
    """
    n = matrix.shape[0]
    values = np.zeros(right.shape) if initial is None else initial.copy()
    rows = np.arange(n) if rows is None else rows
    n_iter, converged = 0, True
    while len(rows):
        if n_iter >= max_iter:
            converged = False
            break
        start = values[rows]
        if len(rows) == n:
            given, part = right, matrix
        else:
            within = matrix[rows]
            values[rows] = 0.0
            given, part = right[rows] - within @ values, within[:, rows]
        unit = float(given.max())
        if unit < TINY:
            values[rows] = 0.0
            break
        solved = LinearSystem(part, pull=pull).solve(
            given / unit,
            initial=start / unit if start.any() else None,
            size=None if mass is None else mass[rows] / unit,
            tol=tol,
            max_iter=max_iter - n_iter,
        )
        n_iter, converged = n_iter + solved.n_iter, converged and solved.converged
        values[rows] = np.maximum(solved.values, 0.0) * unit
        total = values[rows].sum(axis=1)
        rows = rows[total < FAR * total.max()]
    return Diffused(values, n_iter, converged)
