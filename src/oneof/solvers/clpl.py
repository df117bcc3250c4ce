"""Convex loss for partial labels, on linear scores (Cour, Sapp & Taskar 2011), by a Newton method.

Over the rows that are not unlabeled, with s = X W^T + b and psi(u) = max(0, 1 - u)^2, minimize

    f(W, b) = 1/2 ||W||_F^2 + C sum_i c_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ].

With weights w_ik, the first term is the sum over the row's level sets of their masses times psi(mean over the set), and
the term of a class outside is multiplied by 1 - w_ik, the total mass of the level sets without it.

f is convex with a continuous gradient, and is minimized by L-BFGS (`oneof.solvers.lbfgs`), whose preconditioner is made
of the Hessian's K blocks, one per class. They are close to the full Hessian, since the classes are coupled only by the
mean over the set. For large C the kinks of the losses make L-BFGS slow. Newton steps follow then, which are exact once
the active losses stay the same, since f is piecewise quadratic; an exact line search along each step needs no product
with X, and all products use only the rows with a positive loss. Sparse rows without an intercept begin with passes of
dual ascent, which are mostly sufficient. Dense rows with few nonzeros are solved as sparse rows.

**Dual coordinate ascent, one loss at a time, for weights without an intercept: the start on sparse rows.**

Each loss j is a squared hinge, with a_j equal to x_i/|S_j| at each candidate of a set of row i, or to -x_i at one class
outside:

    min_W          f(W) = 1/2 ||W||^2 + sum_j c_j max(0, 1 - <W, a_j>)^2
    max_{beta>=0}  D(beta) = sum_j (beta_j - beta_j^2 / (4 c_j)) - 1/2 ||W||^2,    W = sum_j beta_j a_j.

The dual is maximized over one beta_j at a time (Hsieh et al. 2008, A dual coordinate descent method for large-scale
linear SVM, algorithm 1). Losses of sparse rows have few features in common, so that tens of passes reach rounding
error, while L-BFGS takes 200 iterations on 20 Newsgroups, each as long as a pass. If they have many in common, at large
costs, the method is slow and stops early. Rows that no longer change, often nine of ten, are skipped.

**Solver: dual ascent on sparse rows, then L-BFGS, then Newton steps by conjugate gradients if L-BFGS is slow.**

Newton steps have an exact line search.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.likelihoods import constant_rows
from oneof.solvers import lbfgs
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.lbfgs import OVERFLOW, LinearIterate, SmoothProblem
from oneof.solvers.linear import conjugate_gradients
from oneof.solvers.pauses import MAX_PAUSE, Pauses
from oneof.solvers.row_accessors import row_add_all, row_scores, sparse_if_few
from oneof.solvers.stacked_sets import StackedSets
from oneof.typing import Evidence, FeatureMatrix, Floats

__all__ = ["CLPLProblem", "CLPLSolution", "minimize", "solve_clpl"]
MAX_ACTIVE = 0.8
"""Fraction of rows with a loss above which all rows are used."""
GAP_ROUNDING = 1e-15
"""Rounding error of the relative gap."""
MAX_PASSES, MAX_PASSES_PER_CHECK = 200, 8
# Computing the gap costs about three passes; the ascent stops if the gap has fallen by less than this factor.
MIN_GAP_REDUCTION = 0.3
MIN_DECREASE = 0.5
"""Ratio of successive values of f below which the ascent continues: far from the minimum, where the active losses still
change, a pass costs less than an iteration of L-BFGS."""
MAX_CG_ITER = 1000
"""Maximum number of products with the Hessian per step."""
MAX_LBFGS_ITER = 300
"""Iterations of L-BFGS before Newton steps, which are exact: for large C it is slow at the kinks of the loss."""


# -- problem -----------------------------------------------------------------------------------------------------------


class MeanSets(StackedSets):
    """Means of the scores over the L sets of n rows."""

    @cached_property
    def fraction(self) -> Floats:
        """1/|S_j| in the set and 0 outside, (L, K), so that the mean over the set is a sum."""
        return self.mask / np.count_nonzero(self.mask, axis=1)[:, None]

    def means(self, scores: Floats) -> Floats:
        """Return the mean of the (n, K) scores over each set, (L,)."""
        return np.einsum("jk,jk->j", self.fraction, self.take(scores))

    def spread(self, values: Floats) -> Floats:
        """Return the (n, K) derivatives of the sum of values, (L,), times means by the scores."""
        return self.sum_by_row(self.fraction * values[:, None])


@dataclass(frozen=True)
class CLPLProblem(SmoothProblem):
    """Objective over weights of shape (K, D), for rows that are not unlabeled and have a positive weight.

    f = 1/2 ||W||^2 + sum_j c_j psi(mean_{k in S_j} s_ik) + sum_ik c_ik psi(-s_ik) over the sets j and the rows i.
    """

    sets: MeanSets
    outside: Floats
    """(n, K): 0 in the set and 1 outside; 1 - w_k with weights."""
    cost: Floats
    """(n, 1): C times the sample weight; c_ik is its product with `outside`."""

    @classmethod
    def from_evidence(
        cls, X: FeatureMatrix, evidence: Evidence, C: float, sample_weight: Floats, *, fit_intercept: bool
    ) -> "CLPLProblem":
        """Return the problem of the rows that have a loss."""
        labeled = ~constant_rows(evidence) & (sample_weight > 0)
        evidence, X = evidence[labeled], sparse_if_few(X)
        return cls(
            X=(X if labeled.all() else X[labeled]).astype(np.float64, copy=False),
            n_classes=evidence.shape[1],
            has_intercept=fit_intercept,
            sets=MeanSets.from_evidence(evidence),
            outside=1.0 - evidence,
            cost=C * sample_weight[labeled][:, None],
        )

    @cached_property
    def set_cost(self) -> Floats:
        """c_j of the sets, (L,): C times the sample weight times the mass."""
        return self.sets.mass * self.sets.take(self.cost)[:, 0]

    def hinges(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return max(0, 1 - mean over the set), (L,), and max(0, 1 + score), (n, K)."""
        return np.maximum(0.0, 1.0 - self.sets.means(scores)), np.maximum(0.0, 1.0 + scores)

    def losses(self, scores: Floats) -> float:
        """Return the sum of the losses."""
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores))
        return float(self.set_cost @ inner**2) + float(self.cost[:, 0] @ _outer_losses(scores, self.outside))

    def objective(self, weights: Floats, scores: Floats) -> float:
        """Return f."""
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + self.losses(scores)

    def point(self, weights: Floats, scores: Floats) -> LinearIterate:
        """Return the point with these weights and their scores."""
        inner, outer = self.hinges(scores)
        half_gradient = self.cost * self.outside * outer
        value = 0.5 * float((self.penalized(weights) ** 2).sum()) + float(self.set_cost @ inner**2)
        by_score = 2.0 * (half_gradient - self.sets.spread(self.set_cost * inner))
        return LinearIterate(weights, scores, by_score, value + float((half_gradient * outer).sum()))

    def loss_curvatures(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the second derivatives by the mean over each set, (L,), and by each score outside, (n, K)."""
        inner, outer = self.hinges(scores)
        return 2.0 * self.set_cost * (inner > 0), 2.0 * self.cost * self.outside * (outer > 0)

    def curvatures(self, scores: Floats) -> Floats:
        """Return the second derivatives of the losses by each single score, (n, K)."""
        inner, outer = self.loss_curvatures(scores)
        return self.sets.sum_by_row(self.sets.fraction**2 * inner[:, None]) + outer

    def hvp(self, curvatures: tuple[Floats, Floats], direction: Floats) -> Floats:
        """Return the Hessian of f times a direction, (K, D)."""
        (inner, outer), step = curvatures, self.matvec(direction)
        by_score = self.sets.spread(inner * self.sets.means(step)) + outer * step
        return self.penalized(direction) + self.rmatvec(by_score, self.X)

    def active(self, scores: Floats) -> tuple["CLPLProblem", Floats]:
        """Return the problem of the rows with a positive loss at these scores, which has the same derivatives."""
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores))[:, None]
        is_active = (self.sets.sum_by_row(inner)[:, 0] > 0.0) | (_outer_losses(scores, self.outside) > 0.0)
        if np.count_nonzero(is_active) > MAX_ACTIVE * len(is_active):
            return self, scores
        rows = np.flatnonzero(is_active)
        sets, outside, cost = self.sets.of_rows(rows), self.outside[rows], self.cost[rows]
        return replace(self, X=self.X[rows], sets=sets, outside=outside, cost=cost), scores[rows]

    def line_derivatives(self, scores: Floats, score_step: Floats, length: float) -> tuple[float, float]:
        """Return the first and the second derivative of the losses along a step of the scores."""
        mean_step = self.sets.means(score_step)
        inner = np.maximum(0.0, 1.0 - self.sets.means(scores) - length * mean_step)
        outer = _outer_derivatives(scores, score_step, self.outside, self.cost[:, 0], length)
        first = outer[0] - float(self.set_cost @ (inner * mean_step))
        return 2.0 * first, 2.0 * (outer[1] + float(self.set_cost @ ((inner > 0.0) * mean_step**2)))


@compiled
def _outer_losses(scores: Floats, outside: Floats) -> Floats:
    """Return the sums of the losses of the classes outside, (n,)."""
    losses = np.empty(scores.shape[0])
    for i in range(scores.shape[0]):
        total = 0.0
        for k in range(scores.shape[1]):
            total += outside[i, k] * max(0.0, 1.0 + scores[i, k]) ** 2
        losses[i] = total
    return losses


@compiled
def _outer_derivatives(
    scores: Floats, steps: Floats, outside: Floats, cost: Floats, length: float
) -> tuple[float, float]:
    """Return half the derivatives of the losses of the classes outside."""
    first, second = 0.0, 0.0
    for i in range(scores.shape[0]):
        row_first, row_second = 0.0, 0.0
        for k in range(scores.shape[1]):
            step = steps[i, k]
            hinge = 1.0 + scores[i, k] + length * step
            weighted = outside[i, k] * step if hinge > 0.0 else 0.0
            row_first += weighted * hinge
            row_second += weighted * step
        first += cost[i] * row_first
        second += cost[i] * row_second
    return first, second


# -- dual ascent -------------------------------------------------------------------------------------------------------


def ascend(problem: CLPLProblem, *, tol: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Raise the dual until the gap is at most `tol` f, or f and the gap decrease slowly.

    Parameters
    ----------
    problem : CLPLProblem
        Problem without an intercept.
    tol : float
        A `tol` below `GAP_ROUNDING` is replaced by it.
    rng : Generator
        Random generator for the order of the rows.

    Returns
    -------
    weights : ndarray of shape (K, d)
    gap : float
        (f(W) - D) / f(W), which bounds (f(W) - min f) / f(W).
    """
    space, sets = FeatureSpace(problem.X), problem.sets
    rows, internal, n_rows = space.rows(), space.to_internal(space.zeros(problem.n_classes)), space.n_rows
    costs = problem.cost * problem.outside, problem.set_cost  # c_j of the losses outside, (n, K), and of the sets, (L,)
    betas = np.zeros_like(costs[0]), np.zeros_like(costs[1])
    pauses = Pauses(np.arange(n_rows), n_rows, rng)
    n_next, previous, last_value = 2, np.inf, np.inf
    while True:
        for _ in range(n_next):
            order = pauses.order()
            changed = np.zeros(len(order), dtype=bool)
            _run_epoch(rows, sets.fraction, sets.offsets, order, space.squares, *costs, internal, *betas, changed)
            pauses.update(order, np.where(changed, 0, MAX_PAUSE))
        n_next = min(pauses.n_passes, MAX_PASSES_PER_CHECK)
        weights = space.from_internal(internal, betas[0])
        penalty = 0.5 * float((weights**2).sum())
        value = penalty + problem.losses(space.matvec(weights))
        dual = sum(float((beta - _conjugate(beta, cost)).sum()) for beta, cost in zip(betas, costs))
        gap = (value - dual + penalty) / value
        is_slow = not (value <= MIN_DECREASE * last_value or gap <= MIN_GAP_REDUCTION * previous)
        if gap <= max(tol, GAP_ROUNDING) or (is_slow and not pauses.any) or pauses.n_passes >= MAX_PASSES:
            return weights, gap
        if is_slow:  # because of skipped rows
            pauses.end()
        previous, last_value = gap, value


def _conjugate(betas: Floats, costs: Floats) -> Floats:
    """Return beta_j^2 / (4 c_j); the squares of betas may overflow."""
    return betas * np.divide(betas, 4.0 * costs, out=np.zeros_like(betas), where=costs > 0.0)


@compiled
def _run_epoch(rows, fraction, offsets, order, squares, costs, set_costs, weights, betas, set_betas, changed):
    """Raise the dual over some rows, and write for each of them whether it has changed."""
    n_classes = fraction.shape[1]
    scores, steps = np.empty(n_classes), np.empty(n_classes)
    for r in range(order.shape[0]):
        i = order[r]
        row_scores(rows, i, weights, scores)
        square = squares[i]
        # The losses of different classes have no weight in common, so that all are updated at once, without branches.
        # The scores change with the steps: the sets of a row have weights in common with them.
        for k in range(n_classes):
            beta, cost = betas[i, k], costs[i, k]
            new = max(0.0, beta + ((1.0 + scores[k]) * cost - 0.5 * beta) / (square * cost + 0.5))
            new = new if cost > 0.0 else 0.0
            steps[k] = beta - new
            betas[i, k] = new
            scores[k] += square * steps[k]
        for j in range(offsets[i], offsets[i + 1]):
            mean, norm = 0.0, 0.0  # <W, a_j> and |a_j|^2 / ||x_i||^2
            for k in range(n_classes):
                mean += fraction[j, k] * scores[k]
                norm += fraction[j, k] * fraction[j, k]
            beta, cost = set_betas[j], set_costs[j]
            new = max(0.0, beta + ((1.0 - mean) * cost - 0.5 * beta) / (square * norm * cost + 0.5))
            set_betas[j] = new
            for k in range(n_classes):
                step = fraction[j, k] * (new - beta)
                steps[k] += step
                scores[k] += square * step
        for k in range(n_classes):
            changed[r] |= steps[k] != 0.0
        if changed[r]:
            row_add_all(rows, i, weights, steps)


# -- newton cg ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CLPLSolution:
    """Result of `solve_clpl`."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column."""
    objective_path: Floats
    """(n_values,): f at the start of the Newton steps and after each of them."""
    gradient: Floats
    """(K, D)."""
    n_iter: int
    """Newton steps; 1 if dual ascent alone reached the minimum."""
    converged: bool

    @property
    def objective(self) -> float:
        """Final value of f."""
        return float(self.objective_path[-1])


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked, and reported in one message
def solve_clpl(
    X: FeatureMatrix,
    evidence: Evidence,
    *,
    C: float,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-8,
    initial: Floats | None = None,
) -> CLPLSolution:
    """Minimize the objective.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    evidence : ndarray of shape (n, K), bool or float64
    C : float
        Weight of the losses, > 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized (not in the paper).
    max_iter : int
        Maximum number of iterations of L-BFGS and of Newton steps.
    tol : float
        Stop if an estimate of f - min f, by the inverse Hessian of L-BFGS or half the Newton decrement, or the duality
        gap, which bounds it, is at most tol^2 f. As f grows from its minimum at least as 1/2 ||W - W_min||^2, this is a
        relative error of about `tol` in W.
    initial : ndarray of shape (K, D), optional
        A warm start.

    Returns
    -------
    CLPLSolution
    """
    problem = CLPLProblem.from_evidence(X, evidence, C, sample_weight, fit_intercept=fit_intercept)
    weights, max_gap = problem.zeros(), max(tol * tol, GAP_ROUNDING)  # a product that overflows is infinite
    if initial is not None:
        weights += initial
    elif len(problem.cost) and not fit_intercept and sp.issparse(problem.X):
        ascent, gap = ascend(problem, tol=max_gap, rng=np.random.default_rng(0))
        weights += ascent
        if gap <= max_gap:
            point = problem.point(weights, problem.matvec(weights))
            return CLPLSolution(weights, np.array([point.value]), problem.gradient(point), 1, converged=True)
    n_first = min(max_iter, MAX_LBFGS_ITER)
    first = lbfgs.minimize(problem, weights, tol=0.1 * tol, max_iter=n_first, single=problem.single)
    if first.converged or first.n_iter == max_iter:
        return CLPLSolution(first.weights, first.objective_path, first.gradient, first.n_iter, first.converged)
    last = minimize(problem, max_iter=max_iter - first.n_iter, tol=tol, initial=np.ascontiguousarray(first.weights))
    path = np.concatenate([first.objective_path, last.objective_path[1:]])
    return CLPLSolution(last.weights, path, last.gradient, first.n_iter + last.n_iter, last.converged)


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked below, and reported in one message
def minimize(problem: CLPLProblem, *, max_iter: int, tol: float, initial: Floats | None = None) -> CLPLSolution:
    """Minimize an objective; the other parameters are those of `solve_clpl`."""
    weights = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    n_iter, converged, accuracy, blocks = 0, False, 0.1, False
    objective_path = []
    while True:
        scores = problem.matvec(weights)
        active, active_scores = problem.active(scores)
        point = active.point(weights, active_scores)
        objective, gradient = problem.objective(weights, scores), active.gradient(point)
        objective_path.append(objective)
        step, n_products = _newton_step(active, point, gradient, accuracy, blocks=blocks)
        decrement = -float((gradient * step).sum())
        if not (np.isfinite(objective) and np.isfinite(decrement)):
            raise InputError(OVERFLOW)
        converged = 0.5 * decrement <= min(tol, 1.0) ** 2 * objective  # f - min f is at most f, and no square overflows
        if converged or n_iter == max_iter:
            break
        # Blocks keep the steps good if there are many.
        blocks = blocks or n_products > active.block_cost or (n_iter >= 10 and active.block_cost < np.inf)
        length = _line_minimum(problem, weights, scores, step)
        if length == 0.0:  # rounding hides any decrease along the step
            converged = 0.5 * decrement <= 1e-10 * objective
            break
        weights = weights + length * step
        accuracy = min(0.1, float(np.sqrt(decrement / objective)))
        n_iter += 1
    return CLPLSolution(weights, np.array(objective_path), gradient, n_iter, converged)


def _newton_step(
    problem: CLPLProblem, point: LinearIterate, gradient: Floats, accuracy: float, *, blocks: bool
) -> tuple[Floats, int]:
    """Solve H step = -gradient to a relative accuracy; return the step and the number of products used.

    The preconditioner is the inverse of the Hessian's blocks, one per class, or of its diagonal.
    """
    curvatures = problem.loss_curvatures(point.scores)
    diagonal = problem.diagonal(problem.curvatures(point.scores))
    result = conjugate_gradients(
        lambda direction: problem.hvp(curvatures, direction),
        -gradient,
        problem.preconditioner(point, "blocks") if blocks else lambda right: right / diagonal,
        tol=max(accuracy, 1e-8),
        max_iter=MAX_CG_ITER,
        inner=lambda a, b: float((a * b).sum()),
    )
    return result.solution, result.n_products


def _line_minimum(problem: CLPLProblem, weights: Floats, scores: Floats, step: Floats) -> float:
    """Return the step length that minimizes f, the root of an increasing piecewise linear derivative."""
    linear = float((problem.penalized(weights) * step).sum())
    square, score_step = float((problem.penalized(step) ** 2).sum()), problem.matvec(step)

    def derivatives(length: float) -> tuple[float, float]:
        first, second = problem.line_derivatives(scores, score_step, length)
        return linear + length * square + first, square + second

    initial_slope = derivatives(0.0)[0]
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):
        value, second = derivatives(length)
        if abs(value) <= 1e-3 * abs(initial_slope):
            return length
        low, high = (length, high) if value < 0 else (low, length)
        length = length - value / second if second > 0 else np.inf
        if not low < length < high:
            length = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low
