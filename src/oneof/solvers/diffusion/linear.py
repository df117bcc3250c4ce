"""Sparse symmetric positive definite systems with blocks of right-hand sides: factorised, or by conjugate gradients.

The matrices of this room are M-matrices: a positive diagonal, nothing positive beside it, and rows that sum to 0 at
least. Their inverses have no negative entry, which is why shares stay shares.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from oneof.solvers.diffusion.passes import advance, movement, multiply, turn
from oneof.typing import Floats

DIRECT_ROWS = 600
"""Up to so many rows a sparse factorisation takes no longer than the iterations would, and is exact."""
ROUNDING = 1e-14
"""Residuals below this, relative to the right-hand sides, are taken for rounding."""
FIRST_LOOK, PACE = 4, 1.25
"""Iterations before the first look at how far entries have moved, and by what factor the looks lie apart."""


@dataclass(frozen=True)
class LinearSolution:
    """Where `LinearSystem.solve` ended."""

    values: Floats
    """(n, K): the solution."""
    n_iter: int
    """Iterations of conjugate gradients; 1 for a factorisation."""
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
    """

    def __init__(self, matrix: sp.csr_array) -> None:
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

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def solve(
        self,
        right: Floats,
        *,
        initial: Floats | None = None,
        size: Floats | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
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
        """Run conjugate gradients on all columns side by side, each with steps of its own.

        They share the products with M, which take the most time, and end together. The columns do not feel one another,
        so that their order is immaterial. See Saad (2003), Iterative methods for sparse linear systems, algorithm 9.1.
        """
        scale, A = self._scale[:, None], self._scaled
        r = right * scale
        floor = ROUNDING**2 * np.einsum("ik,ik->k", r, r)
        x = np.zeros(right.shape) if initial is None else initial / scale
        q = np.empty_like(x)
        if initial is not None:
            multiply(A.indptr, A.indices, A.data, x, q)
            r -= q
        sizes = np.zeros((0, 1)) if size is None else size / scale
        p, seen = r.copy(), x.copy()
        square = np.einsum("ik,ik->k", r, r)
        n_iter, look, change = 0, FIRST_LOOK, np.inf
        while not (at_floor := bool((square <= floor).all())) and n_iter < max_iter and change > tol:
            bend = multiply(A.indptr, A.indices, A.data, p, q)
            step = np.divide(square, bend, out=np.zeros_like(square), where=bend > 0)
            before, square = square, advance(x, r, p, q, step)
            turn(p, r, np.divide(square, before, out=np.zeros_like(square), where=before > 0))
            n_iter += 1
            if n_iter == look:
                change = movement(x, seen, sizes)
                look = max(look + FIRST_LOOK, int(PACE * look))
        return LinearSolution(x * scale, n_iter, 0.0 if at_floor else change, at_floor or change <= tol)
