"""CoCoA+ for the linear partial-label SVM over blocks of rows: dual ascent in each block, then the mean of the weights.

All blocks start from the same weights W = 1/(lam n) sum c_i x_i, with dual variables c_i of the rows. Each block runs
dual ascent over its own n_b rows as if they were all rows: every change of c_i changes its copy W_b by x_i / (lam n_b).
The next weights are the mean of the copies, weighted by the numbers of rows. They correspond to the new dual variables:

    sum_b (n_b / n) W_b = W + 1/(lam n) sum_i (change of c_i) x_i.

By the convexity of the square, the dual objective of all rows increases by at least the mean increase over the blocks.
So the method converges to the minimum of the convex problem of `oneof.solvers.plsvm.dual_ascent`. It is CoCoA+
with gamma = 1 and sigma' = n / n_b (Ma et al. 2015, Adding vs. averaging in distributed primal-dual optimization,
ICML).

This is a proximal step, which alone is slow if lam n is small. So an iteration starts from the extrapolation c + beta
(c - c_previous) and its W (Beck & Teboulle 2009, A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging
Sciences). As in the concave-convex procedure, the candidates are chosen again at each W. If the chosen candidate of a
row changes, its dual variables change as well, without momentum.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.plsvm.cccp import solve_cccp
from oneof.solvers.plsvm.dual_ascent import restrict_duals, run_epochs
from oneof.solvers.plsvm.problem import PLSVMProblem, best_scores
from oneof.typing import Floats, Ints

N_EPOCHS = 10
"""Number of passes over the rows of a block per iteration; after the first few, unchanged rows are skipped."""
INITIAL_MAX_ITER, INITIAL_TOL = 3, 1e-2
"""Parameters of the solver of each block's start."""


@dataclass(frozen=True)
class BlockDuals:
    """Dual variables of the sets of a block."""

    coefficients: Floats
    """C, (L_b, K)."""
    chosen: Ints
    """(L_b,): the chosen candidate of each set."""
    previous: Floats
    """(L_b, K): the coefficients of the previous iteration."""


@dataclass(frozen=True)
class BlockUpdate:
    """Contribution of one iteration of a block, or of several, and sums at the weights before it."""

    weights: Floats
    """(K, D): sum of n_b W_b."""
    n_rows: int
    losses: float
    """Sum of the hinges at W, times the masses of the sets."""
    taus: float
    """Sum of the dual variables of the chosen candidates, before the iteration."""
    n_changed: int
    """Number of sets whose chosen candidate changed."""

    def __add__(self, other: "BlockUpdate") -> "BlockUpdate":
        """Return the contribution of both sets of blocks."""
        return BlockUpdate(
            self.weights + other.weights,
            self.n_rows + other.n_rows,
            self.losses + other.losses,
            self.taus + other.taus,
            self.n_changed + other.n_changed,
        )


def start(problem: PLSVMProblem, rng: np.random.Generator) -> tuple[BlockDuals, BlockUpdate]:
    """Solve the problem of the block's own rows to a low accuracy."""
    space = problem.space
    solution = solve_cccp(problem, rng=rng, max_iter=INITIAL_MAX_ITER, tol=INITIAL_TOL)
    if solution.duals is None:  # `solve_cccp` always returns them
        raise ValueError("the solution has no dual variables")
    chosen = best_scores(problem.of_sets(space.matvec(solution.weights)), problem.mask).chosen
    coefficients = restrict_duals(solution.duals, problem.mask, problem.mass, chosen)
    weights = space.n_rows * (space.rmatvec(problem.of_rows(coefficients)) / problem.scale)
    return BlockDuals(coefficients, chosen, coefficients), BlockUpdate(weights, space.n_rows, 0.0, 0.0, 0)


def step(
    problem: PLSVMProblem,
    duals: BlockDuals,
    weights: Floats,
    extrapolated: Floats,
    beta: float,
    rng: np.random.Generator,
) -> tuple[BlockDuals, BlockUpdate]:
    """Run one iteration from the averaged weights.

    Parameters
    ----------
    problem : PLSVMProblem
        The problem of the block's own rows, in a `FeatureSpace`.
    duals : BlockDuals
        Dual variables of the block, which are not changed.
    weights : ndarray of shape (K, D)
        Averaged weights W.
    extrapolated : ndarray of shape (K, D)
        W + beta (W - previous W).
    beta : float
        At least 0.
    rng : Generator
        Random generator for the order of the rows.
    """
    space = problem.space
    best = best_scores(problem.of_sets(space.matvec(weights)), problem.mask)
    losses = float((problem.mass * np.maximum(0.0, 1.0 - best.inside + best.outside)).sum())
    taus = float(np.take_along_axis(duals.coefficients, duals.chosen[:, None], axis=1).sum())
    n_changed = int(np.count_nonzero(best.chosen != duals.chosen))
    coefficients = duals.coefficients + beta * (duals.coefficients - duals.previous)
    current, local = duals.coefficients, extrapolated
    if n_changed:
        changed = np.flatnonzero(best.chosen != duals.chosen)
        chosen = best.chosen[changed]
        restricted = restrict_duals(current[changed], problem.mask[changed], problem.mass[changed], chosen)
        changes = np.zeros_like(current)
        changes[changed] = restricted - coefficients[changed]
        local = extrapolated + space.rmatvec(problem.of_rows(changes)) / problem.scale
        current = current.copy()
        coefficients[changed] = current[changed] = restricted
    skip_until, idle_epochs = np.zeros((2, space.n_rows), dtype=np.int64)
    epochs = range(N_EPOCHS)
    local = run_epochs(problem, best.chosen, coefficients, local, skip_until, idle_epochs, epochs, rng)
    weights = space.n_rows * local
    return BlockDuals(coefficients, best.chosen, current), BlockUpdate(weights, space.n_rows, losses, taus, n_changed)
