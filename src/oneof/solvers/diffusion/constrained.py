"""Diffusion in which rows with several candidates, or with weights, are constrained to them.

One sweep of diffusion makes every row a mean of its neighbors and of its own label, F <- D^-1 (B + N F) with M = D - N;
at the fixed point, M F = B. In a row with several candidates, the values outside the set are then set to 0, and the
others are scaled to the previous mass of the row. These rows make the fixed point nonlinear:

    F_i = r_i(D^-1 (B + N F))_i      r_i(v)_k = v_k sum_j v_j / sum_{j in S_i} v_j for k in S_i, 0 outside,

with the identity as r_i for all other rows. In a row with weights w_i of the classes,

    r_i(v)_k = w_ik v_k sum_j v_j / sum_j w_ij v_j,

of which sets are the case of weights 0 and 1, and the identity that of equal weights.

Given the constrained rows, the others solve a linear system. Each sweep here therefore gives the other rows their limit
at once, by `LinearSystem`, and moves the constrained rows by one step. The fixed points are the same, but information
from few labels crosses a large graph in one sweep instead of thousands. Constrained rows that converge slowly even so
are accelerated, see `oneof.solvers.diffusion.pseudo_transient`.

There can be several fixed points. The result is the limit of sweeps from uniform distributions, or, if sweeps would
oscillate forever, the limit of damped sweeps.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import constant_rows, is_mask, normalize_within_sets, support, uniform_within_sets
from oneof.solvers.diffusion.linear_solve import LinearSystem, Stop
from oneof.solvers.diffusion.pseudo_transient import PseudoTransientContinuation
from oneof.typing import Evidence, Floats, Ints, Mask

SWEEPS_PER_STEP, SETTLING_SWEEPS = 30, 10
"""Sweeps between two accelerated steps, and sweeps after a step until their changes predict the remaining change."""
MASS_RTOL = 1e-9
"""Rows with less mass than this, relative to the largest row, are solved again."""
MIN_VALUE = 1e-280
"""Right-hand sides below this are too close to underflow for their distributions to be meaningful."""


@dataclass(frozen=True)
class DiffusionSolution:
    """Result of `solve_constrained`."""

    values: Floats
    """(n, K): F."""
    n_iter: int
    """Iterations of conjugate gradients if no row has several candidates, else sweeps and accelerated steps."""
    converged: bool
    """Whether the remaining change is at most the tolerance, by the rate of the changes and by the last step."""


def solve_constrained(
    matrix: sp.csr_array,
    right: Floats,
    evidence: Evidence,
    *,
    mass: Floats | None = None,
    min_eigenvalue: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    stop: Stop | None = None,
    stop_eigenvalue: float = 0.0,
) -> DiffusionSolution:
    """Solve M F = B, with the rows that have several candidates constrained to their sets.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric, without positive off-diagonal entries, and positive definite on the unconstrained rows.
    right : ndarray of shape (n, K)
        B, at least 0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Rows with one candidate, and unlabeled rows, are rows of
        the linear system, with `right` as their labels.
    mass : ndarray of shape (n, 1), optional
        Row sums of F, with M mass = B 1, which the constraints do not change. Computed if not given.
    min_eigenvalue : float
        As in `LinearSystem`.
    tol : float
        As in `LinearSystem.solve`. It also bounds the remaining change of constrained rows. The estimate uses the
        rate at which their changes shrink, and the last accelerated step if there was one.
    max_iter : int
        Maximum number of iterations of conjugate gradients, and of sweeps and accelerated steps.
    stop, stop_eigenvalue
        `stop` and `min_eigenvalue` of `LinearSystem.solve`, used if no row is constrained.

    Returns
    -------
    DiffusionSolution
    """
    constrained = constrained_rows(evidence)
    sets = np.flatnonzero(constrained)
    if not len(sets):
        return _solve_rows(
            matrix, right, mass, None, min_eigenvalue, tol, max_iter, stop=stop, stop_eigenvalue=stop_eigenvalue
        )
    converged = True
    if mass is None:
        total = _solve_rows(matrix, right.sum(axis=1, keepdims=True), None, None, min_eigenvalue, tol, max_iter)
        mass, converged = total.values, total.converged
    sweep = _ConstrainedSweep(matrix, right, evidence, mass, min_eigenvalue, tol, max_iter)
    continuation = PseudoTransientContinuation(matrix, mass, evidence, constrained)
    proba = uniform_within_sets(evidence[sets])
    n_iter, n_since_step, has_stepped, sweeps_converged = 0, 0, False, False
    change = remaining = np.inf
    while n_iter < max_iter and not sweeps_converged:
        sweep.tol = max(tol, min(1e-3, 1e-2 * remaining))
        after_sweep = sweep(proba)
        n_iter, n_since_step = n_iter + 1, n_since_step + 1
        before, change = change, float(np.abs(after_sweep - proba).max())
        # If changes shrink by a factor q, the remaining change is q / (1 - q) of the last one. Changes that do not
        # shrink do not predict the remaining change.
        rate = change / before if 0 < change < np.inf and before > 0 else 0.5
        remaining = change * max(1.0, rate / (1.0 - rate)) if rate < 1 else max(remaining, change)
        # After a step, fast changes hide the slow ones at first; later, slow changes hide quantities that decay faster.
        sweeps_converged = (
            remaining <= tol
            and sweep.change <= tol
            and (not has_stepped or (n_since_step > SETTLING_SWEEPS and continuation.remaining <= tol))
        )
        is_slow = has_stepped or remaining * min(rate, 1.0) ** SWEEPS_PER_STEP > tol
        if not sweeps_converged and is_slow and n_since_step >= SWEEPS_PER_STEP and n_iter + 2 <= max_iter:
            proba = continuation.step(sweep, proba, after_sweep)
            n_iter, n_since_step, has_stepped, change = n_iter + 2, 0, True, np.inf
        else:
            proba = after_sweep
    values = sweep.values
    values[sets] = proba * mass[sets]
    final = _solve_rows(matrix, right, mass, values, min_eigenvalue, tol, max_iter, sweep.unconstrained)
    return DiffusionSolution(final.values, n_iter, converged and sweeps_converged and final.converged)


def constrained_rows(evidence: Evidence) -> Mask:
    """Flag the rows with several candidates that are not unlabeled, (n,)."""
    partial: Mask = ~constant_rows(evidence)
    rows = np.flatnonzero(partial)  # most rows are unlabeled
    partial[rows] = support(evidence[rows]).sum(axis=1) > 1
    return partial


class _ConstrainedSweep:
    """Sweep of the constrained rows, as distributions; all other rows get their limit at once.

    Parameters
    ----------
    matrix, right, evidence, mass, min_eigenvalue, max_iter
        As in `solve_constrained`.
    tol : float
        Tolerance of the linear system, which can be changed before a sweep.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        right: Floats,
        evidence: Evidence,
        mass: Floats,
        min_eigenvalue: float,
        tol: float,
        max_iter: int,
    ) -> None:
        constrained = constrained_rows(evidence)
        self.sets, self.unconstrained = np.flatnonzero(constrained), np.flatnonzero(~constrained)
        self.values: Floats = np.zeros(right.shape)
        self.tol, self.change = tol, np.inf
        self.inflow: Floats = np.zeros(len(self.sets))
        self._right, self._mass, self._evidence, self._max_iter = right, mass, evidence[self.sets], max_iter
        self._system = LinearSystem(matrix[self.unconstrained][:, self.unconstrained], min_eigenvalue=min_eigenvalue)
        self._coupling, self._to_sets = matrix[self.unconstrained][:, self.sets], -matrix[self.sets]
        diagonal = matrix.diagonal()[self.sets]
        positions = np.arange(len(self.sets)), self.sets
        self._to_sets = self._to_sets + sp.csr_array((diagonal, positions), shape=self._to_sets.shape)
        self._before: Floats = self.values[self.unconstrained]

    def __call__(self, proba: Floats) -> Floats:
        """Return the distributions of the constrained rows after a sweep."""
        values, mass = self.values, self._mass
        values[self.sets] = proba * mass[self.sets]
        self._before = values[self.unconstrained]
        solution = self._system.solve(
            self._right[self.unconstrained] - self._coupling @ values[self.sets],
            initial=self._before,
            row_sums=mass[self.unconstrained],
            tol=self.tol,
            max_iter=self._max_iter,
        )
        self.change = solution.change
        values[self.unconstrained] = np.maximum(solution.values, 0.0)
        mean = self._right[self.sets] + self._to_sets @ values
        inside = np.where(self._evidence, mean, 0.0) if is_mask(self._evidence) else self._evidence * mean
        self.inflow = inside.sum(axis=1)
        return normalize_within_sets(mean, self._evidence)

    def state(self, proba: Floats) -> tuple[Floats, Floats]:
        """Return all rows divided by their mass, and the last change of the unconstrained rows, 0 in others."""
        mass = np.maximum(self._mass, MIN_VALUE)
        q, change = self.values / mass, np.zeros(self.values.shape)
        q[self.sets] = proba
        change[self.unconstrained] = (self.values[self.unconstrained] - self._before) / mass[self.unconstrained]
        return q, change

    def set_state(self, q: Floats) -> None:
        """Start the next sweep from these rows, given divided by their mass."""
        self.values[self.unconstrained] = np.maximum(q[self.unconstrained] * self._mass[self.unconstrained], 0.0)


def _solve_rows(
    matrix: sp.csr_array,
    right: Floats,
    mass: Floats | None,
    initial: Floats | None,
    min_eigenvalue: float,
    tol: float,
    max_iter: int,
    rows: Ints | None = None,
    stop: Stop | None = None,
    stop_eigenvalue: float = 0.0,
) -> DiffusionSolution:
    """Solve M F = B in some rows, by default in all, so that the distributions of small rows are accurate too.

    Other rows keep their initial values. If alpha is small, mass decreases fast with the distance to the labels, and a
    solution is only as accurate as the rounding error of its largest rows. Rows far below these are therefore solved
    again, given the other rows: their right-hand sides are then of their own size. Every pass removes at least one row
    and gains about nine digits.
    """
    n = matrix.shape[0]
    values: Floats = np.zeros(right.shape) if initial is None else initial.copy()
    rows = np.arange(n) if rows is None else rows
    n_iter, converged = 0, True
    while len(rows):
        if n_iter >= max_iter:
            converged = False
            break
        all_rows = len(rows) == n
        if all_rows:
            start, target, submatrix = values if initial is not None else None, right, matrix
        else:
            start, matrix_rows = values[rows], matrix[rows]
            values[rows] = 0.0
            target, submatrix = right[rows] - matrix_rows @ values, matrix_rows[:, rows]
        largest = float(target.max())
        if largest < MIN_VALUE:
            values[rows] = 0.0
            break
        unit = float(np.ldexp(1.0, int(np.frexp(largest)[1])))
        solution = LinearSystem(submatrix, min_eigenvalue=min_eigenvalue).solve(
            target if unit == 1.0 else target / unit,
            initial=start / unit if start is not None and start.any() else None,
            row_sums=None if mass is None else mass[rows] / unit,
            tol=tol,
            max_iter=max_iter - n_iter,
            stop=stop if all_rows else None,
            min_eigenvalue=stop_eigenvalue,
        )
        n_iter, converged = n_iter + solution.n_iter, converged and solution.converged
        solved = np.maximum(solution.values, 0.0, out=solution.values)
        if unit != 1.0:
            solved *= unit
        if all_rows:
            values = solved
        else:
            values[rows] = solved
        total = solved.sum(axis=1)
        rows = rows[total < MASS_RTOL * total.max()]
    return DiffusionSolution(values, n_iter, converged)
