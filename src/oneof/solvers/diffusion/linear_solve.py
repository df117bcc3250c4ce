"""Sparse symmetric positive definite systems with several right-hand sides: factorized, or by conjugate gradients.

The matrices are M-matrices: a positive diagonal, no positive off-diagonal entry, and row sums of at least 0. Their
inverses have no negative entry, so that solutions of nonnegative right-hand sides stay nonnegative.

If components of the graph are joined by weak edges only, their levels change very slowly. The iterations then seem to
have converged although the levels are far from the solution. A coarse correction therefore treats the level of each
strongly connected component as a variable of its own, for which a small system is solved in every iteration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from oneof.graphs.affinity import label_components
from oneof.jit import compiled
from oneof.typing import Floats, Ints

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
EXCESS_RTOL = 8 * float(np.finfo(np.float64).eps)
"""Fraction of a diagonal entry by which it may exceed the off-diagonal row sum because of rounding."""


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
                if signed:
                    change = float(np.abs(x - last_checked).mean() / np.abs(x).mean())
                else:
                    change = _relative_change(x, last_checked, sum_rows(x) if row_sums is None else row_sums)
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


def _direct_solver(matrix: sp.csr_array) -> Callable[[Floats], Floats]:
    if matrix.shape[0] == 1:
        entry = float(matrix.sum())
        return lambda right: right / entry
    system = LinearSystem(matrix)
    return lambda right: system.solve(right, tol=COARSE_TOL, max_iter=10 * len(system)).values


def _relative_change(x: Floats, before: Floats | float, row_sums: Floats) -> float:
    """Return the largest change of an entry relative to its row sum; a sum of 0 counts as not converged."""
    with np.errstate(over="ignore"):
        change = np.subtract(x, before)
        np.abs(change, out=change)
        change /= np.maximum(row_sums, np.finfo(np.float64).tiny)
        return float(change.max())


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
        self._solve: Callable[[Floats], Floats] | None = None
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
        self._solve = _direct_solver(sp.csr_array(between + sp.diags_array(outflow)))

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
