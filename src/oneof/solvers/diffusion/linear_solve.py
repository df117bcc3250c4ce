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
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from oneof.jit import compiled
from oneof.typing import Floats, Ints

MAX_DIRECT_ROWS = 600
"""Maximum number of rows for a sparse factorization, which is then as fast as the iterations, and exact."""
MIN_REGULARIZATION = 1e-3
"""With eigenvalues of at least this size no component converges slowly."""
COARSE_TOL = 1e-10
"""Tolerance for the levels of components, if there are so many that the coarse system is solved iteratively."""
N_FINAL_CORRECTIONS = 2
"""Number of coarse corrections at the end."""
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
            # Scaled to a unit diagonal from both sides, M is its own Jacobi preconditioner.
            self._scale: Floats = 1.0 / np.sqrt(matrix.diagonal())
            self._scaled = matrix.copy()
            self._scaled.data *= self._scale[matrix.indices]
            self._scaled.data *= np.repeat(self._scale, np.diff(matrix.indptr))
            self._excess = diagonal_excess(matrix)
            self._coarse = (
                None
                if min_eigenvalue >= MIN_REGULARIZATION
                else CoarseCorrection(matrix, self._excess, 1.0 / self._scale, _direct_solver)
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

        Returns
        -------
        LinearSolution
        """
        if len(self) == 0:
            return LinearSolution(np.zeros(right.shape), 0, 0.0, True)
        if self._factor is None:
            return self._iterate(right, initial, row_sums, tol, max_iter)
        values = self._factor.solve(np.ascontiguousarray(right))
        # One step of refinement: without pivoting, the factors alone would not always reach the last digits.
        values += self._factor.solve(right - self.matrix @ values)
        return LinearSolution(values, 1, 0.0, True)

    def _iterate(
        self, right: Floats, initial: Floats | None, row_sums: Floats | None, tol: float, max_iter: int
    ) -> LinearSolution:
        """Run conjugate gradients on the block as one block-diagonal system with K copies of M.

        One step length serves all columns. The eigenvalues are those of M, without additional ones, and every operation
        except the product treats the block as one contiguous vector. See Saad (2003), Iterative methods for sparse
        linear systems, algorithm 9.1.
        """
        scale, A = self._scale[:, None], self._scaled
        b = right * scale
        x = np.zeros(right.shape) if initial is None else initial / scale
        r = b.copy() if initial is None else scale * residual(self.matrix, self._excess, initial, right)
        floor = RESIDUAL_RTOL**2 * np.vdot(b, b)
        z = self._precondition(r)
        p, last_checked, buffer = z.copy(), x.copy(), np.empty_like(x)
        square = np.vdot(r, z)
        n_iter, next_check, change = 0, CHECK_START, np.inf
        while not (at_floor := bool(np.vdot(r, r) <= floor)) and n_iter < max_iter and change > tol:
            q = A @ p
            step = square / np.vdot(p, q)
            x += np.multiply(p, step, out=buffer)
            r -= np.multiply(q, step, out=buffer)
            z = self._precondition(r)
            before, square = square, np.vdot(r, z)
            p *= square / before
            p += z
            n_iter += 1
            if n_iter == next_check:
                sums = x.sum(axis=1, keepdims=True) if row_sums is None else row_sums / scale
                change = _relative_change(x, last_checked, sums)
                last_checked[:] = x
                next_check = max(next_check + CHECK_GAP, int(CHECK_GROWTH * next_check))
        if self._coarse is not None:
            for _ in range(N_FINAL_CORRECTIONS):  # residuals of rounding size may still correspond to large levels
                x += self._coarse.correction(scale * residual(self.matrix, self._excess, x * scale, right))
        return LinearSolution(x * scale, n_iter, 0.0 if at_floor else change, at_floor or change <= tol)

    def _precondition(self, r: Floats) -> Floats:
        return r if self._coarse is None else r + self._coarse.correction(r)


def _direct_solver(matrix: sp.csr_array) -> Callable[[Floats], Floats]:
    system = LinearSystem(matrix)
    return lambda right: system.solve(right, tol=COARSE_TOL, max_iter=10 * len(system)).values


def _relative_change(x: Floats, before: Floats, row_sums: Floats) -> float:
    """Return the largest change of an entry relative to its row sum; a sum of 0 counts as not converged."""
    with np.errstate(over="ignore"):
        return float((np.abs(x - before) / np.maximum(row_sums, np.finfo(np.float64).tiny)).max())


class CoarseCorrection:
    """Coarse correction of the levels of strongly connected components.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite, without positive off-diagonal entries.
    excess : ndarray of shape (n,)
        Excess of each diagonal entry over the edge weights of its row.
    weights : ndarray of shape (n,)
        Value of a level of 1 in each row.
    solver : callable
        Returns, for a smaller matrix of the same kind, a function that solves its system for a block.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        excess: Floats,
        weights: Floats,
        solver: Callable[[sp.csr_array], Callable[[Floats], Floats]],
    ) -> None:
        component, n_components = _strong_components(matrix)
        members = np.flatnonzero(component >= 0)
        shape = (n_components, len(component))
        self._restrict = sp.csr_array((weights[members], (component[members], members)), shape=shape)
        self._prolong = sp.csr_array(self._restrict.T)
        # Summed entries within a component would cancel. Only the edges between components are therefore summed.
        edges = matrix.tocoo()
        i, j = (component[ends] for ends in edges.coords)
        between = (i >= 0) & (j >= 0) & (i != j)
        i, j, weight = i[between], j[between], edges.data[between]
        coarse = sp.csr_array((weight, (i, j)), shape=(n_components, n_components))
        diagonal = np.bincount(component[members], excess[members], n_components) - np.bincount(i, weight, n_components)
        coarse = sp.csr_array(coarse + sp.diags_array(diagonal))
        self._solve = solver(coarse) if n_components else None

    def correction(self, residual: Floats) -> Floats:
        """Return the change of the levels, (n, K), that makes the residual of each component sum to 0."""
        if self._solve is None:
            return np.zeros(residual.shape)
        return np.asarray(self._prolong @ self._solve(self._restrict @ residual))


def _strong_components(matrix: sp.csr_array) -> tuple[Ints, int]:
    """Return the component of each row, -1 for isolated rows, and their number: at most half the number of rows."""
    n = matrix.shape[0]
    row = np.repeat(np.arange(n), np.diff(matrix.indptr))
    weight = -matrix.data
    strongest = np.zeros(n)
    np.maximum.at(strongest, row, weight)
    strong = (weight > 0) & (weight >= STRONG_EDGE_RTOL * np.minimum(strongest[row], strongest[matrix.indices]))
    graph = sp.csr_array((strong[strong], (row[strong], matrix.indices[strong])), shape=matrix.shape)
    _, component = connected_components(graph, directed=False)
    connected = strongest > 0
    numbers, component[connected] = np.unique(component[connected], return_inverse=True)
    component[~connected] = -1
    return component, len(numbers)


def diagonal_excess(matrix: sp.csr_array) -> Floats:
    """Return the excess of each diagonal entry over the edge weights of its row, (n,); 0 if it may be rounding."""
    excess = np.asarray(matrix.sum(axis=1))
    excess[np.abs(excess) <= EXCESS_RTOL * matrix.diagonal()] = 0.0
    return excess


def residual(matrix: sp.csr_array, excess: Floats, x: Floats, right: Floats) -> Floats:
    """Return the residual B - M X as b_i - s_i x_i - sum_j w_ij (x_i - x_j), (n, K), with the diagonal excess s.

    The differences of values lose no digits if the values of connected rows hardly differ.
    """
    remainder = right - excess[:, None] * x
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
