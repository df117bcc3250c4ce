"""Sparse symmetric positive definite systems with blocks of right-hand sides: factorized, or by conjugate gradients.

The matrices of this room are M-matrices: a positive diagonal, nothing positive beside it, and rows that sum to 0 at
least. Their inverses have no negative entry, which is why shares stay shares.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from oneof.solvers.diffusion.flow import residual, slack_of
from oneof.solvers.diffusion.parts import Parts
from oneof.typing import Floats

DIRECT_ROWS = 600
"""Up to so many rows a sparse factorization takes no longer than the iterations would, and is exact."""
FIRM = 1e-3
"""With a pull of so much in all rows no part is slow."""
EXACT = 1e-10
"""The tolerance for the levels of parts, where there are so many that they are iterated for."""
REFINED = 2
"""How often the levels of parts are set right in the end."""
ROUNDING = 1e-14
"""Residuals below this, relative to the right-hand sides, are taken for rounding."""
FIRST_LOOK, APART, PACE = 4, 2, 1.25
"""Iterations before the first look at how far entries have moved; looks lie at least so many apart, later a factor."""


@dataclass(frozen=True)
class LinearSolution:
    """Where `LinearSystem.solve` ended."""

    values: Floats
    """(n, K): the solution."""
    n_iter: int
    """Iterations of conjugate gradients; 1 for a factorization."""
    change: float
    """By how much the last fifth of the iterations moved an entry, at most, relative to what its row sums to."""
    converged: bool
    """Whether that is at most the tolerance, or no residual is left but rounding."""


class LinearSystem:
    """M X = B for several B.

    Parameters
    ----------
    matrix : csr_array of shape (n, n)
        M, symmetric and positive definite.
    pull : float
        A bound from below of the eigenvalues of M scaled to a unit diagonal, where one is known. Without a pull in all
        rows, parts that are joined by faint links alone have levels of their own: see `oneof.solvers.diffusion.parts`.
    """

    def __init__(self, matrix: sp.csr_array, *, pull: float = 0.0) -> None:
        self.matrix = matrix
        self._factor: Any = None
        if 0 < matrix.shape[0] <= DIRECT_ROWS:
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
            self._slack = slack_of(matrix)
            self._parts = None if pull >= FIRM else Parts(matrix, self._slack, 1.0 / self._scale, _exactly)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def solve(
        self,
        right: Floats,
        *,
        initial: Floats | None = None,
        size: Floats | None = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
    ) -> LinearSolution:
        """Solve for a block of right-hand sides.

        Parameters
        ----------
        right : ndarray of shape (n, K)
            B.
        initial : ndarray of shape (n, K), optional
            A warm start, in place of 0; not written to.
        size : ndarray of shape (n, 1), optional
            What the rows of X sum to, if it is known.
        tol : float
            The last fifth of the iterations is to have moved no entry by more than this, relative to what its row sums
            to. A small residual would not do: on long graphs it leaves large smooth errors.
        max_iter : int
            At least 1.

        Returns
        -------
        LinearSolution
        """
        if len(self) == 0:
            return LinearSolution(np.zeros(right.shape), 0, 0.0, True)
        if self._factor is None:
            return self._iterate(right, initial, size, tol, max_iter)
        values = self._factor.solve(np.ascontiguousarray(right))
        # One step of refinement: without pivoting, the factors alone would not always reach the last digits.
        values += self._factor.solve(right - self.matrix @ values)
        return LinearSolution(values, 1, 0.0, True)

    def _iterate(
        self, right: Floats, initial: Floats | None, size: Floats | None, tol: float, max_iter: int
    ) -> LinearSolution:
        """Run conjugate gradients on the block as one system, that of M beside itself K times.

        One step length serves all columns: the eigenvalues are those of M, so there are no more of them to deal with,
        and every pass but the product goes through memory as through one vector. See Saad (2003), Iterative methods for
        sparse linear systems, algorithm 9.1.
        """
        scale, A = self._scale[:, None], self._scaled
        b = right * scale
        x = np.zeros(right.shape) if initial is None else initial / scale
        r = b.copy() if initial is None else scale * residual(self.matrix, self._slack, initial, right)
        floor = ROUNDING**2 * np.vdot(b, b)
        z = self._preconditioned(r)
        p, seen, part = z.copy(), x.copy(), np.empty_like(x)
        square = np.vdot(r, z)
        n_iter, look, change = 0, FIRST_LOOK, np.inf
        while not (at_floor := bool(np.vdot(r, r) <= floor)) and n_iter < max_iter and change > tol:
            q = A @ p
            step = square / np.vdot(p, q)
            x += np.multiply(p, step, out=part)
            r -= np.multiply(q, step, out=part)
            z = self._preconditioned(r)
            before, square = square, np.vdot(r, z)
            p *= square / before
            p += z
            n_iter += 1
            if n_iter == look:
                change = _movement(x, seen, x.sum(axis=1, keepdims=True) if size is None else size / scale)
                seen[:] = x
                look = max(look + APART, int(PACE * look))
        if self._parts is not None:
            for _ in range(REFINED):  # residuals that rounding has left are small, and may still move the levels far
                x += self._parts.correction(scale * residual(self.matrix, self._slack, x * scale, right))
        return LinearSolution(x * scale, n_iter, 0.0 if at_floor else change, at_floor or change <= tol)

    def _preconditioned(self, r: Floats) -> Floats:
        return r if self._parts is None else r + self._parts.correction(r)


def _exactly(matrix: sp.csr_array) -> Callable[[Floats], Floats]:
    system = LinearSystem(matrix)
    return lambda right: system.solve(right, tol=EXACT, max_iter=10 * len(system)).values


def _movement(x: Floats, seen: Floats, size: Floats) -> float:
    """Return how far an entry has moved, at most, relative to the size of its row; without any, it is on its way."""
    with np.errstate(over="ignore"):
        return float((np.abs(x - seen) / np.maximum(size, np.finfo(np.float64).tiny)).max())
