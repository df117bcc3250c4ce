"""Sparse symmetric positive definite systems with several right-hand sides: factorized, or by conjugate gradients.

The matrices are M-matrices: a positive diagonal, no positive off-diagonal entry, and row sums of at least 0. Their
inverses have no negative entry, so that solutions of nonnegative right-hand sides stay nonnegative.

If components of the graph are joined by weak edges only, their levels change very slowly. The iterations then seem to
have converged although the levels are far from the solution. A coarse correction therefore treats the level of each
strongly connected component as a variable of its own, for which a small system is solved in every iteration.

**Rows with several candidates, or with weights, are constrained to them.**

One sweep of diffusion makes every row a mean of its neighbors and of its own label, F <- D^-1 (B + N F) with M = D - N;
at the fixed point, M F = B. In a row with several candidates, the values outside the set are then set to 0, and the
others are scaled to the previous mass of the row. These rows make the fixed point nonlinear:

    F_i = r_i(D^-1 (B + N F))_i      r_i(v)_k = v_k sum_j v_j / sum_{j in S_i} v_j for k in S_i, 0 outside,

with the identity as r_i for all other rows. In a row with weights w_i of the classes,

    r_i(v)_k = w_ik v_k sum_j v_j / sum_j w_ij v_j,

of which sets are the case of weights 0 and 1, and the identity that of equal weights.

Given the constrained rows, the others solve a linear system. Each sweep here therefore gives the other rows their limit
at once, by `LinearSystem`, and moves the constrained rows by one step. The fixed points are the same, but information
from few labels crosses a large graph in one sweep instead of thousands.

Some rows still converge arbitrarily slowly: if they are connected strongly with each other and weakly with labels, the
ratios of their candidates change by a factor of 1.0001 in each sweep, and a probability may decrease as 1/t. The
logarithms of every second of the last five sweeps are therefore extrapolated for each row from time to time (Varadhan &
Roland 2008, Simple and globally convergent methods for accelerating the convergence of any EM algorithm, Scand. J.
Stat. 35). Every second, because halves of the rows may alternate.

There can be several fixed points. The result is the limit of sweeps from uniform distributions. Sweeps whose changes do
not shrink, because two halves of the rows oscillate, are averaged with the point before them.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from oneof.graphs.affinity import label_components
from oneof.jit import compiled
from oneof.likelihoods import constant_rows, normalize_within_sets, softmax, support, uniform_within_sets
from oneof.solvers.linear import Operator
from oneof.typing import Evidence, Floats, Ints, Mask

MAX_DIRECT_ROWS = 600
"""Maximum number of rows for a sparse factorization, which is then as fast as the iterations, and exact."""
MIN_REGULARIZATION = 1e-3
"""With eigenvalues of at least this size no component converges slowly."""
COARSE_TOL = 1e-10
"""Tolerance for the levels of components, if there are so many that the coarse system is solved iteratively."""
N_FINAL_CORRECTIONS, WEAK_COMPONENT = 2, 1e-6
"""Number of coarse corrections at the end, if the edges and excess that determine the level of a component are less
than this fraction of its diagonal: residuals of rounding size then correspond to large levels."""
RESIDUAL_RTOL = 1e-14
"""Residuals below this, relative to the right-hand sides, count as rounding errors."""
CHECK_START, CHECK_GAP, CHECK_GROWTH = 4, 2, 1.25
"""Iterations before the first convergence check, minimum interval between two checks, and growth factor of it."""
MIN_RATE = 0.1
"""Smallest rate of the changes between two checks that is extrapolated."""
STRONG_EDGE_RTOL = 1e-3
"""An edge is strong if its weight is at least this fraction of the strongest edge of either of its rows."""
TINY = float(np.finfo(np.float64).tiny)
EXCESS_RTOL = 8 * float(np.finfo(np.float64).eps)
"""Fraction of a diagonal entry by which it may exceed the off-diagonal row sum because of rounding."""
EXTRAPOLATION_GAP, SLOW_RATE, MAX_EXTRAPOLATION = 10, 0.9, 16.0
"""Sweeps between two extrapolations, rate of the changes from which they are made, and their largest step."""
CHANGE_TOL = 1e-13
"""Rows with smaller changes in a sweep have converged: the rest is rounding. A probability that decreases as 1/t
changes by its square, and is therefore followed down to about 3e-7 at least."""
MASS_RTOL = 1e-9
"""Rows with less mass than this, relative to the largest row, are solved again."""
MIN_VALUE = 1e-280
"""Right-hand sides below this are too close to underflow for their distributions to be meaningful."""


@dataclass(frozen=True)
class LinearSolution:
    """Result of `LinearSystem.solve`."""

    values: Floats
    """(n, K): the solution."""
    n_iter: int
    """Iterations of conjugate gradients; 1 for a factorization."""
    change: float
    """Largest change of an entry in all iterations to come, relative to the sum of its row, as estimated by the rate at
    which the changes shrink."""
    converged: bool
    """Whether `change` is at most the tolerance, or the residual is at the level of rounding errors."""


class LinearSystem:
    """The system M X = B for several B.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite.
    min_eigenvalue : float
        A lower bound of the eigenvalues of M scaled to a unit diagonal, if one is known. Without such a bound, the
        coarse correction for weakly joined components is used.
    """

    def __init__(self, matrix: sp.csr_array, *, min_eigenvalue: float = 0.0) -> None:
        self.matrix = matrix
        self._factor: Any = None
        if 0 < matrix.shape[0] <= MAX_DIRECT_ROWS:
            options = {"SymmetricMode": True}
            self._factor = splu(
                sp.csc_array(matrix), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
            )
        elif matrix.shape[0]:
            self._coarse = CoarseCorrection(matrix, enabled=min_eigenvalue < MIN_REGULARIZATION)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def solve(
        self,
        right: Floats,
        *,
        initial: Floats | None = None,
        row_sums: Floats | None = None,
        signed: bool = False,
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> LinearSolution:
        """Solve the system for a block of right-hand sides.

        Parameters
        ----------
        right : ndarray of shape (n, K)
            B.
        initial : ndarray of shape (n, K), optional
            A warm start instead of 0; not modified.
        row_sums : ndarray of shape (n, 1), optional
            Row sums of X, if they are known.
        signed : bool
            Whether X has entries of both signs. Row sums are then not a scale: the mean absolute change is bounded,
            relative to the mean absolute entry.
        tol : float
            Maximum change of an entry in all iterations to come, relative to the sum of its row, as estimated by the
            changes in the last fifth of the iterations and in those before. A small residual would not suffice: on long
            graphs it leaves large smooth errors.
        max_iter : int
            At least 1.

        Returns
        -------
        LinearSolution
        """
        if len(self) == 0:
            return LinearSolution(np.zeros(right.shape), 0, 0.0, True)
        if self._factor is None:
            return self._iterate(right, initial, row_sums, signed, tol, max_iter)
        values = self._factor.solve(np.ascontiguousarray(right))
        # One step of refinement: without pivoting, the factors alone would not always reach the last digits.
        values += self._factor.solve(right - self.matrix @ values)
        return LinearSolution(values, 1, 0.0, True)

    def _iterate(
        self, right: Floats, initial: Floats | None, row_sums: Floats | None, signed: bool, tol: float, max_iter: int
    ) -> LinearSolution:
        """Run conjugate gradients on the block as one block-diagonal system with K copies of M.

        The preconditioner is the diagonal of M, plus the coarse correction. Its roots scale the residual, since squares
        of small residuals would underflow. One step length serves all columns. The eigenvalues are those of M, without
        additional ones, and every operation treats the block as one contiguous vector. See Saad (2003), Iterative
        methods for sparse linear systems, algorithm 9.1.
        """
        M, coarse = self.matrix, self._coarse
        scale, component = coarse.scale, coarse.component
        r = right.copy() if initial is None else coarse.residual(initial, right)
        x = np.zeros(right.shape) if initial is None else initial.copy()
        p = np.zeros(right.shape)
        last_checked: Floats | float = 0.0 if initial is None else x.copy()
        norm = _advance(x, r, p, p, 0.0, scale)
        floor = RESIDUAL_RTOL**2 * (norm if initial is None else float(((scale[:, None] * right) ** 2).sum()))
        levels, level_norm = coarse.levels(r)
        square = norm + level_norm
        _next_direction(p, r, scale, component, levels, 0.0)
        n_iter, next_check, change, remaining = 0, CHECK_START, np.inf, np.inf
        while not (at_floor := norm <= floor) and n_iter < max_iter and remaining > tol:
            q = M @ p
            norm = _advance(x, r, p, q, square / float(np.vdot(p, q)), scale)
            levels, level_norm = coarse.levels(r)
            before, square = square, norm + level_norm
            n_iter += 1
            if n_iter == next_check:
                before_change = change
                difference = np.abs(x - last_checked)
                if signed:
                    change = float(difference.mean() / np.abs(x).mean())
                else:  # a sum of 0 counts as not converged
                    with np.errstate(over="ignore"):
                        difference /= np.maximum(sum_rows(x) if row_sums is None else row_sums, TINY)
                    change = float(difference.max())
                # If changes shrink by a factor q, all those to come sum to q / (1 - q) of the last one. A first large
                # change, such as of the level of all rows, does not predict the others.
                rate = min(max(change / before_change, MIN_RATE), 0.5)
                remaining = change * rate / (1.0 - rate)
                last_checked = x.copy()
                next_check = max(next_check + CHECK_GAP, int(CHECK_GROWTH * next_check))
            _next_direction(p, r, scale, component, levels, square / before)
        for _ in range(N_FINAL_CORRECTIONS * coarse.is_weak):
            x += coarse.levels(coarse.residual(x, right))[0][component] * (component >= 0)[:, None]
        return LinearSolution(x, n_iter, 0.0 if at_floor else remaining, at_floor or remaining <= tol)


@compiled
def _advance(x, r, p, q, step, scale):
    """Move x along p and r along -q; return the squared norm of r divided by the roots of the diagonal."""
    norm = 0.0
    for i in range(len(x)):
        for k in range(x.shape[1]):
            x[i, k] += step * p[i, k]
            r[i, k] -= step * q[i, k]
            scaled = scale[i] * r[i, k]
            norm += scaled * scaled
    return norm


@compiled
def _next_direction(p, r, scale, component, levels, factor):
    """Replace p by z + factor p; z is r divided by the diagonal, plus the level of the row's component."""
    for i in range(len(p)):
        for k in range(p.shape[1]):
            p[i, k] = factor * p[i, k] + scale[i] * (scale[i] * r[i, k])
        c = component[i]
        if c >= 0:
            for k in range(p.shape[1]):
                p[i, k] += levels[c, k]


class CoarseCorrection:
    """Scaled residuals, and the levels of strongly connected components that make the residual of each sum to 0.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite, without positive off-diagonal entries.
    enabled : bool
        Whether components have levels.
    """

    def __init__(self, matrix: sp.csr_array, *, enabled: bool) -> None:
        diagonal = matrix.diagonal()
        excess = np.asarray(matrix.sum(axis=1))
        self._matrix = matrix
        self._excess: Floats = np.where(np.abs(excess) <= EXCESS_RTOL * diagonal, 0.0, excess)
        self.scale: Floats = 1.0 / np.sqrt(diagonal)
        self.component: Ints = np.full(len(diagonal), -1)
        self.is_weak = False
        """Whether rounding errors of a residual change the level of a component."""
        self._solve: Operator | None = None
        if enabled:
            self._join(diagonal)

    def _join(self, diagonal: Floats) -> None:
        """Set the components, at most half the number of rows, and the system of their levels."""
        M, n = self._matrix, len(diagonal)
        weights = -M.data  # negative on the diagonal, which every row has
        strongest = np.maximum(np.maximum.reduceat(weights, M.indptr[:-1]), 0.0)
        component, count = label_components(M.indptr, M.indices, weights, strongest, STRONG_EDGE_RTOL)
        connected = strongest > 0
        if not connected.all():
            numbers, component[connected] = np.unique(component[connected], return_inverse=True)
            component[~connected], count = -1, len(numbers)
        if count == 0:
            return
        self.component, members = component, np.flatnonzero(connected)
        self._indicator = sp.csr_array((np.ones(len(members)), (component[members], members)), shape=(count, n))
        # Summed entries within a component would cancel. Only the edges between components are therefore summed.
        between = sp.coo_array((count, count))
        if count > 1:
            ends = component[np.repeat(np.arange(n), np.diff(M.indptr))], component[M.indices]
            crossing = np.flatnonzero((ends[0] != ends[1]) & (ends[0] >= 0) & (ends[1] >= 0))
            between = sp.coo_array((M.data[crossing], (ends[0][crossing], ends[1][crossing])), shape=(count, count))
        outflow = self._indicator @ self._excess - np.asarray(between.sum(axis=1))
        self.is_weak = bool((outflow < WEAK_COMPONENT * (self._indicator @ diagonal)).any())
        system = LinearSystem(sp.csr_array(between + sp.diags_array(outflow)))
        self._solve = lambda sums: system.solve(sums, tol=COARSE_TOL, max_iter=10 * count).values
        if count == 1:
            self._solve = lambda sums: sums / outflow

    def levels(self, residual: Floats) -> tuple[Floats, float]:
        """Return the change of the levels, (n_components, K), and its inner product with the residual."""
        if self._solve is None:
            return np.zeros((1, residual.shape[1])), 0.0
        sums = self._indicator @ residual
        levels = self._solve(sums)
        return levels, float((sums * levels).sum())

    def residual(self, x: Floats, right: Floats) -> Floats:
        """Return B - M X as b_i - s_i x_i - sum_j w_ij (x_i - x_j), (n, K), with the diagonal excess s.

        The differences of values lose no digits if the values of connected rows hardly differ.
        """
        remainder: Floats = right - self._excess[:, None] * x
        _subtract_outflow(self._matrix.indptr, self._matrix.indices, self._matrix.data, x, remainder)
        return remainder


@compiled
def _subtract_outflow(indptr, indices, data, x, remainder):
    """Subtract sum_j w_ij (x_i - x_j) from each row; the weights are the negative entries of the matrix."""
    for i in range(len(x)):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            if j != i:
                for k in range(x.shape[1]):
                    remainder[i, k] += data[at] * (x[i, k] - x[j, k])


def sum_rows(values: Floats) -> Floats:
    """Return the row sums, (n, 1), as a product, which is faster than NumPy's sums of short rows."""
    return values @ np.ones((values.shape[1], 1))


def assemble_system(affinity: sp.csr_array, rows: Ints, diagonal: Floats, scale: Floats) -> sp.csr_array:
    """Return the matrix with the given diagonal and -s_i w_ij s_j elsewhere, in some rows and the same columns.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W.
    rows : ndarray of int, ascending
    diagonal, scale : ndarray of shape (len(rows),)
        The diagonal, and s.

    Returns
    -------
    csr_array of shape (len(rows), len(rows))
    """
    W = affinity if len(rows) == affinity.shape[0] else affinity[rows][:, rows]
    weights = -np.repeat(scale, np.diff(W.indptr)) * W.data * scale[W.indices]
    off_diagonal = sp.csr_array((weights, W.indices, W.indptr), shape=W.shape)
    return sp.csr_array(off_diagonal + sp.diags_array(diagonal, format="csr"))


# -- rows with several candidates -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DiffusionSolution:
    """Result of `solve_constrained`."""

    values: Floats
    """(n, K): F."""
    n_iter: int
    """Iterations of conjugate gradients if no row has several candidates, else sweeps."""
    converged: bool
    """Whether the remaining change is at most the tolerance, by the rate at which the changes shrink."""


def solve_constrained(
    matrix: sp.csr_array,
    right: Floats,
    evidence: Evidence,
    *,
    mass: Floats | None = None,
    min_eigenvalue: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 10_000,
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
        As in `LinearSystem.solve`. It also bounds the mean remaining change of constrained rows, estimated from the
        rate at which their changes shrink.
    max_iter : int
        Maximum number of iterations of conjugate gradients, and of sweeps.

    Returns
    -------
    DiffusionSolution
    """
    options = (min_eigenvalue, tol, max_iter)
    constrained = constrained_rows(evidence)
    if not constrained.any():
        return _solve_rows(matrix, right, mass, None, *options)
    converged = True
    if mass is None:
        total = _solve_rows(matrix, right.sum(axis=1, keepdims=True), None, None, *options)
        mass, converged = total.values, total.converged
    sets, others = np.flatnonzero(constrained), np.flatnonzero(~constrained)
    values: Floats = np.zeros(right.shape)
    diagonal = sp.csr_array((matrix.diagonal()[sets], (np.arange(len(sets)), sets)), shape=(len(sets), len(right)))
    inflow = diagonal - matrix[sets]
    from_sets, system = matrix[others][:, sets], LinearSystem(matrix[others][:, others], min_eigenvalue=min_eigenvalue)
    proba = uniform_within_sets(evidence[sets])
    sweeps: list[Floats] = []
    n_iter, change, remaining, sweeps_converged = 0, np.full(len(sets), np.inf), np.inf, False
    while n_iter < max_iter and not sweeps_converged:
        values[sets] = proba * mass[sets]
        solution = system.solve(
            right[others] - from_sets @ values[sets],
            initial=values[others],
            row_sums=mass[others],
            tol=max(tol, min(1e-3, 1e-2 * remaining)),
            max_iter=max_iter,
        )
        values[others] = np.maximum(solution.values, 0.0)
        after_sweep = normalize_within_sets(right[sets] + inflow @ values, evidence[sets])
        before, change = change, np.abs(after_sweep - proba).max(axis=1)
        remaining, rate = _remaining_change(before, change)
        n_iter += 1
        sweeps_converged = remaining <= tol and solution.change <= tol
        sweeps = [*sweeps[-4:], after_sweep if rate < 1 else 0.5 * (proba + after_sweep)]
        proba = sweeps[-1]
        if n_iter % EXTRAPOLATION_GAP == 0 and rate > SLOW_RATE and not sweeps_converged:
            proba, change = _extrapolate(*sweeps[::2]), np.full(len(sets), np.inf)
    values[sets] = proba * mass[sets]
    final = _solve_rows(matrix, right, mass, values, *options, others)
    return DiffusionSolution(final.values, n_iter, converged and sweeps_converged and final.converged)


def _remaining_change(before: Floats, change: Floats) -> tuple[float, float]:
    """Return the mean change until convergence, and the rate of the largest change, given the last two of each row.

    The mean, since a single pair of rows between two classes may change for thousands of sweeps. If changes shrink by a
    factor q, the remaining change is q / (1 - q) of the last one. It is not more than the root of the last one, which
    is the case of a probability that decreases as 1/t.
    """
    moving = change > CHANGE_TOL
    if not moving.any():
        return 0.0, 0.0
    if not np.isfinite(before).all():  # the first sweep, and those after an extrapolation
        return np.inf, 0.0
    gap = 1.0 - change[moving] / np.maximum(before[moving], CHANGE_TOL)
    factor = np.maximum(1.0, (1.0 - gap) / np.maximum(gap, CHANGE_TOL))
    remaining = np.minimum(change[moving] * factor, np.sqrt(change[moving]))
    return float(remaining.sum()) / len(change), float(change.max() / before.max())


def _extrapolate(first: Floats, second: Floats, third: Floats) -> Floats:
    """Return the distributions, (n, K), to which the logarithms of three successive ones lead."""
    a, b, c = (np.log(np.maximum(x, TINY)) for x in (first, second, third))
    r, v = b - a, (c - b) - (b - a)
    lengths = [np.sqrt((x**2).sum(axis=1, keepdims=True)) for x in (r, v)]
    step = np.maximum(lengths[0] / np.maximum(lengths[1], np.maximum(lengths[0] / MAX_EXTRAPOLATION, TINY)), 1.0)
    return softmax(np.where(third > 0, a + 2 * step * r + step**2 * v, -np.inf))


def constrained_rows(evidence: Evidence) -> Mask:
    """Flag the rows with several candidates that are not unlabeled, (n,)."""
    partial: Mask = ~constant_rows(evidence)
    rows = np.flatnonzero(partial)  # most rows are unlabeled
    partial[rows] = support(evidence[rows]).sum(axis=1) > 1
    return partial


def _solve_rows(
    matrix: sp.csr_array,
    right: Floats,
    mass: Floats | None,
    initial: Floats | None,
    min_eigenvalue: float,
    tol: float,
    max_iter: int,
    rows: Ints | None = None,
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
        if len(rows) == n:
            start, target, submatrix = values, right, matrix
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
            target / unit,
            initial=start / unit if start.any() else None,
            row_sums=None if mass is None else mass[rows] / unit,
            tol=tol,
            max_iter=max_iter - n_iter,
        )
        n_iter, converged = n_iter + solution.n_iter, converged and solution.converged
        solved = unit * np.maximum(solution.values, 0.0)
        if len(rows) == n:
            values = solved
        else:
            values[rows] = solved
        total = solved.sum(axis=1)
        rows = rows[total < MASS_RTOL * total.max()]
    return DiffusionSolution(values, n_iter, converged)
