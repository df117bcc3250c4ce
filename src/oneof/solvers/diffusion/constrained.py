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

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import constant_rows, normalize_within_sets, softmax, support, uniform_within_sets
from oneof.solvers.diffusion.linear_solve import LinearSystem
from oneof.typing import Evidence, Floats, Ints, Mask

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
    tiny = np.finfo(np.float64).tiny
    a, b, c = (np.log(np.maximum(x, tiny)) for x in (first, second, third))
    r, v = b - a, (c - b) - (b - a)
    lengths = [np.sqrt((x**2).sum(axis=1, keepdims=True)) for x in (r, v)]
    step = np.maximum(lengths[0] / np.maximum(lengths[1], np.maximum(lengths[0] / MAX_EXTRAPOLATION, tiny)), 1.0)
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
