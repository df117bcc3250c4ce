"""Sparse symmetric positive definite systems with several right-hand sides: factorized, or by conjugate gradients.

The matrices are M-matrices: a positive diagonal, no positive off-diagonal entry, and row sums of at least 0. Their
inverses have no negative entry, so that solutions stay nonnegative.

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
from oneof.typing import Floats, Ints, Mask

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
    """Largest change of an entry over the last fifth of the iterations, relative to the sum of its row."""
    converged: bool
    """Whether `change` is at most the tolerance, or the residual is at the level of rounding errors, or `stop` was
    true."""


Stop = Callable[[Floats, float], bool]
"""Criterion by the current solution, (n, K), and an upper bound of sum_ik m_ii e_ik^2, with its error e."""


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
            diagonal, self._excess = _diagonal_and_excess(matrix.indptr, matrix.indices, matrix.data)
            self._scale: Floats = 1.0 / np.sqrt(diagonal)
            self._coarse = (
                None
                if min_eigenvalue >= MIN_REGULARIZATION
                else CoarseCorrection(matrix, diagonal, self._excess, _direct_solver)
            )

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def solve(
        self,
        right: Floats,
        *,
        initial: Floats | None = None,
        row_sums: Floats | None = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        stop: Stop | None = None,
        min_eigenvalue: float = 0.0,
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
        tol : float
            Maximum change of an entry over the last fifth of the iterations, relative to the sum of its row.
            A small residual would not suffice: on long graphs it leaves large smooth errors.
        max_iter : int
            At least 1.
        stop : callable, optional
            Ends the iterations if it returns True; used only with a `min_eigenvalue` above 0.
        min_eigenvalue : float
            Lower bound of the eigenvalues of M scaled to a unit diagonal, for the bound of the error.

        Returns
        -------
        LinearSolution
        """
        if len(self) == 0:
            return LinearSolution(np.zeros(right.shape), 0, 0.0, True)
        if self._factor is None:
            return self._iterate(right, initial, row_sums, tol, max_iter, stop, min_eigenvalue)
        values = self._factor.solve(np.ascontiguousarray(right))
        # One step of refinement: without pivoting, the factors alone would not always reach the last digits.
        values += self._factor.solve(right - self.matrix @ values)
        return LinearSolution(values, 1, 0.0, True)

    def _iterate(
        self,
        right: Floats,
        initial: Floats | None,
        row_sums: Floats | None,
        tol: float,
        max_iter: int,
        stop: Stop | None,
        min_eigenvalue: float,
    ) -> LinearSolution:
        """Run conjugate gradients on the block as one block-diagonal system with K copies of M.

        The preconditioner is the diagonal of M. Its roots scale the residual, since squares of small residuals would
        underflow. One step length serves all columns. The eigenvalues are those of M, without additional ones, and
        every operation except the product treats the block as one contiguous vector. See Saad (2003), Iterative methods
        for sparse linear systems, algorithm 9.1. The upper bound of the error is the Gauss-Radau bound of Meurant &
        Tichý (2019), Numerical Algorithms 82: the preconditioner only increases the eigenvalues.
        """
        M, scale, (component, solve_levels) = self.matrix, self._scale, self._levels()
        # Few arrays of this size are allocated: new memory takes as long as half a product.
        r = right.copy() if initial is None else residual(self.matrix, self._excess, initial, right)
        x = np.zeros(right.shape) if initial is None else initial.copy()
        p, q = np.zeros(right.shape), np.empty(right.shape)
        last_checked = 0.0 if initial is None else x.copy()
        sums, norm = _restricted(r, scale, component, solve_levels is not None)
        floor = RESIDUAL_RTOL**2 * (norm if initial is None else _restricted(right, scale, component, False)[1])
        levels = sums if solve_levels is None else solve_levels(sums)
        square = norm + float((sums * levels).sum())
        _next_direction(p, r, scale, component, levels, 0.0)
        certified = stop is not None and min_eigenvalue > 0.0
        radau = 1.0 / min_eigenvalue if certified else np.inf
        n_iter, next_check, change, stopped = 0, CHECK_START, np.inf, False
        while not (at_floor := norm <= floor) and n_iter < max_iter and change > tol and not stopped:
            step = square / _multiply(M.indptr, M.indices, M.data, p, q)
            sums, norm = _advance(x, r, p, q, step, scale, component, solve_levels is not None)
            levels = sums if solve_levels is None else solve_levels(sums)
            before, square = square, norm + float((sums * levels).sum())
            n_iter += 1
            if certified:
                excess = max(radau - step, 0.0)
                radau = excess / (min_eigenvalue * excess + square / before) if excess else 0.0
            if n_iter == next_check:
                change = _relative_change(x, last_checked, sum_rows(x) if row_sums is None else row_sums)
                last_checked = x.copy()
                next_check = max(next_check + CHECK_GAP, int(CHECK_GROWTH * next_check))
                if certified and stop is not None:
                    stopped = stop(x, radau * square / min_eigenvalue)
            if n_iter < max_iter:
                _next_direction(p, r, scale, component, levels, square / before)
        if self._coarse is not None and self._coarse.is_weak:
            for _ in range(N_FINAL_CORRECTIONS):
                x += self._coarse.correction(residual(self.matrix, self._excess, x, right))
        return LinearSolution(x, n_iter, 0.0 if at_floor else change, at_floor or stopped or change <= tol)

    def _levels(self) -> tuple[Ints, Callable[[Floats], Floats] | None]:
        """Return the component of each row, and the solver of the levels, if they are corrected."""
        if self._coarse is None or self._coarse.solve is None:
            return np.full(len(self), -1), None
        return self._coarse.component, self._coarse.solve


@compiled
def _multiply(indptr, indices, data, p, q):
    """Store M p in q, and return the inner product of both."""
    n_columns, inner = p.shape[1], 0.0
    for i in range(len(p)):
        for k in range(n_columns):
            q[i, k] = 0.0
        at, end = indptr[i], indptr[i + 1]
        while at + 4 <= end:  # four rows of p at a time, so that they are loaded together
            w0, w1, w2, w3 = data[at], data[at + 1], data[at + 2], data[at + 3]
            j0, j1, j2, j3 = indices[at], indices[at + 1], indices[at + 2], indices[at + 3]
            for k in range(n_columns):
                q[i, k] += w0 * p[j0, k] + w1 * p[j1, k] + w2 * p[j2, k] + w3 * p[j3, k]
            at += 4
        while at < end:
            weight, j = data[at], indices[at]
            for k in range(n_columns):
                q[i, k] += weight * p[j, k]
            at += 1
        for k in range(n_columns):
            inner += p[i, k] * q[i, k]
    return inner


@compiled
def _restricted(r, scale, component, has_levels):
    """Return the sums of the rows of each component, and the squared norm of all rows, scaled."""
    n_columns = r.shape[1]
    sums, norm = np.zeros((component.max() + 1 if has_levels else 0, n_columns)), 0.0
    for i in range(len(r)):
        for k in range(n_columns):
            scaled = scale[i] * r[i, k]
            norm += scaled * scaled
        if has_levels and component[i] >= 0:
            for k in range(n_columns):
                sums[component[i], k] += r[i, k]
    return sums, norm


@compiled
def _advance(x, r, p, q, step, scale, component, has_levels):
    """Move x along p and r along -q; return the sums and the norm of `_restricted`."""
    for i in range(len(x)):
        for k in range(x.shape[1]):
            x[i, k] += step * p[i, k]
            r[i, k] -= step * q[i, k]
    return _restricted(r, scale, component, has_levels)


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
    """Coarse correction of the levels of strongly connected components.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite, without positive off-diagonal entries.
    diagonal, excess : ndarrays of shape (n,)
        Diagonal of M, and its excess over the edge weights of the row.
    solver : callable
        Returns, for a smaller matrix of the same kind, a function that solves its system for a block.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        diagonal: Floats,
        excess: Floats,
        solver: Callable[[sp.csr_array], Callable[[Floats], Floats]],
    ) -> None:
        component, n_components = _strong_components(matrix)
        members = component >= 0
        # Summed entries within a component would cancel. Only the edges between components are therefore summed.
        none = np.zeros(0, dtype=np.int64)
        i, j, weight = none, none, np.zeros(0)
        if n_components > 1:
            i, j, weight = _edges_between(matrix.indptr, matrix.indices, matrix.data, component)
        coarse = sp.csr_array((weight, (i, j)), shape=(n_components, n_components))
        outflow = np.bincount(component[members], excess[members], n_components) - np.bincount(i, weight, n_components)
        coarse = sp.csr_array(coarse + sp.diags_array(outflow))
        size = np.bincount(component[members], diagonal[members], n_components)
        self.component = component
        self.is_weak = bool((outflow < WEAK_COMPONENT * size).any())
        """Whether rounding errors of a residual change the level of a component."""
        self.solve = solver(coarse) if n_components else None

    def correction(self, residual: Floats) -> Floats:
        """Return the change of the levels, (n, K), that makes the residual of each component sum to 0."""
        change = np.zeros(residual.shape)
        if self.solve is not None:
            scale = np.zeros(len(residual))  # the levels alone
            sums, _ = _restricted(residual, scale, self.component, True)
            _next_direction(change, residual, scale, self.component, self.solve(sums), 0.0)
        return change


def _strong_components(matrix: sp.csr_array) -> tuple[Ints, int]:
    """Return the component of each row, -1 for isolated rows, and their number: at most half the number of rows."""
    weights = -matrix.data  # negative on the diagonal
    strongest = _strongest_edges(matrix.indptr, weights)
    component, n_components = label_components(matrix.indptr, matrix.indices, weights, strongest, STRONG_EDGE_RTOL)
    connected: Mask = strongest > 0
    if connected.all():
        return component, n_components
    numbers, component[connected] = np.unique(component[connected], return_inverse=True)
    component[~connected] = -1
    return component, len(numbers)


@compiled
def _edges_between(indptr, indices, data, component):
    """Return the edges between different components, as their components and entries."""
    count = 0
    for i in range(len(component)):
        for at in range(indptr[i], indptr[i + 1]):
            c, d = component[i], component[indices[at]]
            count += c >= 0 and d >= 0 and c != d
    rows, columns, values = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count)
    count = 0
    for i in range(len(component)):
        for at in range(indptr[i], indptr[i + 1]):
            c, d = component[i], component[indices[at]]
            if c >= 0 and d >= 0 and c != d:
                rows[count], columns[count], values[count] = c, d, data[at]
                count += 1
    return rows, columns, values


@compiled
def _strongest_edges(indptr, weights):
    strongest = np.zeros(len(indptr) - 1)
    for i in range(len(strongest)):
        for at in range(indptr[i], indptr[i + 1]):
            strongest[i] = max(strongest[i], weights[at])
    return strongest


@compiled
def _diagonal_and_excess(indptr, indices, data):
    """Return the diagonal, and its excess over the edge weights of each row, (n,); 0 if it may be rounding."""
    diagonal, excess = np.zeros(len(indptr) - 1), np.zeros(len(indptr) - 1)
    for i in range(len(diagonal)):
        for at in range(indptr[i], indptr[i + 1]):
            excess[i] += data[at]
            if indices[at] == i:
                diagonal[i] = data[at]
        if abs(excess[i]) <= EXCESS_RTOL * diagonal[i]:
            excess[i] = 0.0
    return diagonal, excess


def sum_rows(values: Floats) -> Floats:
    """Return the row sums, (n, 1), as a product, which is faster than NumPy's sums of short rows."""
    return values @ np.ones((values.shape[1], 1))


def residual(matrix: sp.csr_array, excess: Floats, x: Floats, right: Floats) -> Floats:
    """Return the residual B - M X as b_i - s_i x_i - sum_j w_ij (x_i - x_j), (n, K), with the diagonal excess s.

    The differences of values lose no digits if the values of connected rows hardly differ.
    """
    remainder: Floats = right - excess[:, None] * x
    _subtract_outflow(matrix.indptr, matrix.indices, matrix.data, x, remainder)
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
