"""Diffusion in which the rows with several candidates keep to them.

One sweep of diffusion makes every row a mean of its neighbours and of what it was told, F <- D^-1 (B + N F) with M = D
- N; where it rests, M F = B. Rows with a set of several candidates then lose what lies outside it, and what is left is
scaled to the mass that the row had. These rows make the fixed point a nonlinear one:

    F_i = r_i(D^-1 (B + N F))_i      r_i(v)_k = v_k sum_j v_j / sum_{j in S_i} v_j for k in S_i, 0 outside,

r_i the identity for all other rows. Given the former, the latter solve a linear system. So each sweep here gives the
other rows their limit at once, by `LinearSystem`, and moves the rows with sets by one step: the fixed points are the
same, but what few labels say crosses a large graph in one sweep where plain ones take thousands.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import restrict, uniform
from oneof.solvers.diffusion.linear import LinearSystem
from oneof.typing import Floats, Ints, Mask

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
    """Iterations of conjugate gradients where no row has a set of several candidates, else sweeps."""
    converged: bool


def diffuse(
    matrix: sp.csr_array,
    right: Floats,
    mask: Mask,
    *,
    mass: Floats | None = None,
    initial: Floats | None = None,
    pull: float = 0.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
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
    initial : ndarray of shape (n, K), optional
        A start for the rows of the linear system, in place of 0. Rows with sets start from equal shares.
    pull : float
        As in `LinearSystem`.
    tol : float
        As in `LinearSystem.solve`; and rows with sets are to have no more than this left to change, by the rate at
        which their changes fall.
    max_iter : int
        Most iterations of conjugate gradients, and most sweeps.

    Returns
    -------
    Diffused
    """
    sizes = mask.sum(axis=1)
    sets = np.flatnonzero((sizes > 1) & (sizes < mask.shape[1]))
    if not len(sets):
        return _solve_all(matrix, right, mass, initial, pull, tol, max_iter)
    converged = True
    if mass is None:
        weighed = _solve_all(matrix, right.sum(axis=1, keepdims=True), None, None, pull, tol, max_iter)
        mass, converged = weighed.values, weighed.converged
    others = np.flatnonzero((sizes == 1) | (sizes == mask.shape[1]))
    system = LinearSystem(matrix[others][:, others], pull=pull)
    across, toward = matrix[others][:, sets], -matrix[sets]
    own = matrix.diagonal()[sets][:, None]
    toward = toward + sp.csr_array((own[:, 0], (np.arange(len(sets)), sets)), shape=toward.shape)

    values = np.zeros(right.shape) if initial is None else initial.copy()
    shares = uniform(mask[sets])
    n_iter, change, left, solved = 0, np.inf, np.inf, None
    while n_iter < max_iter and not (solved and left <= tol and solved.change <= tol):
        values[sets] = shares * mass[sets]
        solved = system.solve(
            right[others] - across @ values[sets],
            initial=values[others],
            size=mass[others],
            tol=max(tol, min(1e-3, 1e-2 * left)),
            max_iter=max_iter,
        )
        values[others] = np.maximum(solved.values, 0.0)
        swept = restrict((right[sets] + toward @ values) / own, mask[sets])
        before, change = change, float(np.abs(swept - shares).max())
        # Steps that shrink by a factor q have q / (1 - q) of the last one before them still.
        rate = min(change / before, 1.0 - 1e-9) if 0 < change < before < np.inf else 0.5
        left = change * max(1.0, rate / (1.0 - rate))
        shares = swept
        n_iter += 1
    values[sets] = shares * mass[sets]
    rest = _solve_all(matrix, right, mass, values, pull, tol, max_iter, others)
    return Diffused(rest.values, n_iter, converged and bool(left <= tol) and rest.converged)


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
