"""The linear partial-label SVM over blocks of rows: dual ascent in each block, then the mean of the weights.

From weights W that all blocks share, and dual variables c_i of the rows that make them up, W = 1/(lam n) sum c_i x_i,
each block goes over its own n_b rows as if they were all there are: every change of c_i moves its copy W_b by x_i /
(lam n_b). The next weights are the mean of the copies by rows, which are those that the new dual variables make up:

    sum_b (n_b / n) W_b = W + 1/(lam n) sum_i (change of c_i) x_i.

By the convexity of the square the dual objective of all rows rises by at least the mean of what each block saw, so that
the mixing converges to the minimum of the convex problem of `oneof.solvers.plsvm.dual`. It is CoCoA+ with gamma = 1 and
sigma' = n / n_b (Ma et al. 2015, Adding vs. averaging in distributed primal-dual optimization, ICML).

That is a proximal step, which alone creeps where lam n is small. So a round begins ahead of the last one, at c + beta
(c - c_before) and the W that goes with it (Beck & Teboulle 2009, A fast iterative shrinkage-thresholding algorithm,
SIAM J. Imaging Sciences). As in the concave-convex procedure the choices of the rows are made anew at each W; the dual
variables of a row that chose anew change with it, and have no momentum.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.plsvm.cccp import solve_cccp
from oneof.solvers.plsvm.dual import choose, pass_over
from oneof.solvers.plsvm.problem import PLSVMProblem, best_scores
from oneof.typing import Floats, Ints

PASSES = 10
"""Over the rows of a block in one round, which but for the first few wait for rows that change."""
FIRST_STEPS, FIRST_TOLERANCE = 3, 1e-2
"""Of the solver that each block starts with."""


@dataclass(frozen=True)
class BlockDuals:
    """Where the rows of a block stand."""

    coefficients: Floats
    """C, (n_b, K)."""
    chosen: Ints
    """(n_b,): the candidate that each row has chosen."""
    before: Floats
    """(n_b, K): the coefficients a round ago."""


@dataclass(frozen=True)
class Share:
    """What a round of a block, or of several, gives to the mix, and what was seen at the weights before it."""

    weights: Floats
    """(K, D): sum of n_b W_b."""
    n_rows: int
    losses: float
    """Sum of the hinges at W."""
    taus: float
    """Sum of the dual variables of the choices, before the round."""
    n_changed: int
    """Rows that chose anew."""

    def __add__(self, other: "Share") -> "Share":
        """Take both together."""
        return Share(
            self.weights + other.weights,
            self.n_rows + other.n_rows,
            self.losses + other.losses,
            self.taus + other.taus,
            self.n_changed + other.n_changed,
        )


def start(problem: PLSVMProblem, random: np.random.Generator) -> tuple[BlockDuals, Share]:
    """Solve the problem of the block's own rows, roughly."""
    space = problem.space
    found = solve_cccp(problem, random=random, max_iter=FIRST_STEPS, tol=FIRST_TOLERANCE)
    if found.duals is None:  # `solve_cccp` always has them
        raise ValueError("dual ascent has left no dual variables")
    chosen = best_scores(space.scores(found.weights), problem.mask).chosen
    coefficients = choose(found.duals, problem.mask, chosen)
    weights = space.n_rows * (space.gather(coefficients) / problem.scale)
    return BlockDuals(coefficients, chosen, coefficients), Share(weights, space.n_rows, 0.0, 0.0, 0)


def go_on(
    problem: PLSVMProblem, duals: BlockDuals, weights: Floats, ahead: Floats, beta: float, random: np.random.Generator
) -> tuple[BlockDuals, Share]:
    """Make a round from the mixed weights.

    Parameters
    ----------
    problem : PLSVMProblem
        Of the block's own rows, in a `FeatureSpace`.
    duals : BlockDuals
        Not changed.
    weights : ndarray of shape (K, D)
        W.
    ahead : ndarray of shape (K, D)
        W + beta (W - W a round ago).
    beta : float
        At least 0.
    random : Generator
        For the order of the rows.
    """
    space = problem.space
    best = best_scores(space.scores(weights), problem.mask)
    losses = float(np.maximum(0.0, 1.0 - best.inside + best.outside).sum())
    taus = float(np.take_along_axis(duals.coefficients, duals.chosen[:, None], axis=1).sum())
    n_changed = int(np.count_nonzero(best.chosen != duals.chosen))
    coefficients = duals.coefficients + beta * (duals.coefficients - duals.before)
    here, moved = duals.coefficients, ahead
    if n_changed:
        changed = np.flatnonzero(best.chosen != duals.chosen)
        anew = choose(here[changed], problem.mask[changed], best.chosen[changed])
        steps = np.zeros_like(here)
        steps[changed] = anew - coefficients[changed]
        moved = ahead + space.gather(steps) / problem.scale
        here = here.copy()
        coefficients[changed] = here[changed] = anew
    waiting, idle = np.zeros((2, space.n_rows), dtype=np.int64)
    moved = pass_over(problem, best.chosen, coefficients, moved, waiting, idle, range(PASSES), random)
    weights = space.n_rows * moved
    return BlockDuals(coefficients, best.chosen, here), Share(weights, space.n_rows, losses, taus, n_changed)
