"""Logistic regression on candidate sets (Jin & Ghahramani 2003; Grandvalet & Bengio 2004), by Newton steps.

With s = X W^T + b, p_i the softmax of s_i and q_i its shares within S_i, minimize

    F(W, b) = 1/2 ||W||_F^2 + 1/lam sum_i w_i [ -log sum_{k in S_i} p_ik + mu H(q_i) ].

The literal algorithm is EM: the responsibilities q, then a logistic regression on them as soft targets, whose Hessian
is that of F without the terms of q. Where sets are large those terms nearly cancel the others, and EM takes hundreds of
rounds. With them F is not convex, which scipy's trust region copes with, and near the minimum a step squares the error.

What is scipy's works in a metric, a matrix M close to the Hessian's block of a class: the weights are W = V L^-1, with
L L^T = M, so that the scales of the features do not matter. M is either that block or its diagonal, at the curvature
where the search stands. The block is good where features go together, as with large means; the diagonal where there are
about as many features as rows, of which few matter once the classes are apart. So rounds of a few steps take one and
the other in turn. One M for all classes treats them alike: the weights sum to 0 over the classes throughout.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, cg

from oneof.errors import InputError
from oneof.likelihoods import (
    entropy,
    entropy_gradient,
    entropy_hvp,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    softmax,
    softmax_jvp,
)
from oneof.solvers.linear_objective import OVERFLOW, Block, LinearProblem
from oneof.typing import FeatureMatrix, Floats, Mask

STEPS_A_ROUND = 10
LARGEST_BLOCK = 4e6
"""Most numbers in a block for which it is factorized; beyond, every round takes the diagonal."""
NEARLY_NOTHING = 1e-6
"""Share of F(0) below which the accuracy is no longer relative to F, which can be 0 with an intercept alone."""
MOST_PRODUCTS = 500
"""Most Hessian products for the last Newton step."""


@dataclass(frozen=True)
class PLEMSolution:
    """The stationary point that `solve_plem` found."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column; sums to 0 over the classes."""
    objective: Floats
    """-lam F at the start and after each step, which does not fall but for rounding."""
    gradient: Floats
    """(K, D): of F."""
    n_iter: int
    """Steps of the trust region, those included that were not taken as F would have risen."""
    converged: bool


@dataclass(frozen=True)
class Point:
    """What the derivatives need of the scores at one W."""

    shares: Floats
    """p, (n, K)."""
    inside: Floats
    """q, (n, K)."""


@dataclass(frozen=True)
class PLEMProblem(LinearProblem):
    """The objective F over weights of shape (K, D), for rows that have some weight and say something."""

    mask: Mask
    cost: Floats
    """(n, 1): w_i / lam."""
    entropy_weight: float

    @classmethod
    def of(
        cls,
        X: FeatureMatrix,
        mask: Mask,
        lam: float,
        entropy_weight: float,
        sample_weight: Floats,
        *,
        fit_intercept: bool,
    ) -> "PLEMProblem":
        """Leave out rows without weight and, where entropies do not count, full rows."""
        told = sample_weight > 0
        if entropy_weight == 0:
            told &= ~mask.all(axis=1)
        return cls(
            X=(X if told.all() else X[told]).astype(np.float64, copy=False),
            n_classes=mask.shape[1],
            has_intercept=fit_intercept,
            mask=mask[told],
            cost=sample_weight[told][:, None] / lam,
            entropy_weight=entropy_weight,
        )

    def point(self, scores: Floats) -> Point:
        """Return the shares at these scores."""
        return Point(softmax(scores), masked_softmax(scores, self.mask))

    def objective(self, weights: Floats, scores: Floats, at: Point) -> float:
        """Return F."""
        losses = -log_likelihoods(scores, self.mask)
        if self.entropy_weight:
            losses += self.entropy_weight * entropy(at.inside)
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + float(self.cost[:, 0] @ losses)

    def gradient(self, weights: Floats, at: Point) -> Floats:
        """Return the (K, D) gradient of F."""
        slopes = -log_likelihood_gradient(at.shares, at.inside, self.mask)
        if self.entropy_weight:
            slopes += self.entropy_weight * entropy_gradient(at.inside)
        return self.penalized(weights) + self.gather(self.cost * slopes, self.X)

    def product(self, direction: Floats, at: Point) -> Floats:
        """Return the Hessian of F times a direction, both (K, D)."""
        moves = self.scores(direction)
        bends = softmax_jvp(at.shares, moves) - softmax_jvp(at.inside, moves)
        if self.entropy_weight:
            bends += self.entropy_weight * entropy_hvp(at.inside, moves)
        return self.penalized(direction) + self.gather(self.cost * bends, self.X)

    def metric(self, at: Point, *, whole: bool) -> Block:
        """Return the metric: the Hessian's block of a class, or its diagonal, by the traces of the rows' Hessians."""
        missed = np.where(self.mask, 0.0, at.shares).sum(axis=1)
        curvature = np.minimum((at.shares * (1.0 - at.shares)).sum(axis=1), 2.0 * missed)  # diag p - p p^T, less q's
        curvature += self.entropy_weight * (at.inside * (1.0 - at.inside)).sum(axis=1)
        curvature *= self.cost[:, 0]
        if whole and self.shape[1] ** 2 <= LARGEST_BLOCK:
            return self.block(curvature)
        return Block(None, 1.0 / np.sqrt(self.diagonal(curvature[:, None])[0]))


class Search:
    """F as scipy sees it in one round: over v, the move from the start in the metric, in units of F at the start."""

    def __init__(self, problem: PLEMProblem, start: Floats, *, whole: bool) -> None:
        scores = problem.scores(start)
        point = problem.point(scores)
        self.problem, self.start, self.metric = problem, start, problem.metric(point, whole=whole)
        self.unit = self._finite(problem.objective(start, scores, point))
        self.trace: list[float] = []
        self._last: tuple[bytes, Floats, float, Point] | None = None

    def weights(self, v: Floats) -> Floats:
        """Return the (K, D) weights."""
        return self.start + np.sqrt(self.unit) * self.metric.backward(v.reshape(self.start.shape))

    def value(self, v: Floats) -> float:
        """Return F."""
        return self._at(v)[1]

    def gradient(self, v: Floats) -> Floats:
        """Return its gradient."""
        weights, _, point = self._at(v)
        return self._finite(self.metric.forward(self.problem.gradient(weights, point)) / np.sqrt(self.unit)).ravel()

    def product(self, v: Floats, move: Floats) -> Floats:
        """Return its Hessian times a move."""
        direction = self.metric.backward(move.reshape(self.start.shape))
        return self._finite(self.metric.forward(self.problem.product(direction, self._at(v)[2]))).ravel()

    def record(self, intermediate_result: OptimizeResult) -> None:
        """Note F after a step."""
        self.trace.append(self.unit * intermediate_result.fun)

    def newton(self, v: Floats) -> Floats:
        """Return v after one whole Newton step, if that lowers the gradient and, but for rounding, does not raise F."""
        slope = self.gradient(v)
        hessian = LinearOperator((v.size, v.size), matvec=lambda move: self.product(v, move), dtype=np.float64)
        try:
            with np.errstate(divide="ignore"):
                ahead = v + cg(hessian, -slope, atol=0.0, maxiter=MOST_PRODUCTS)[0]
            closer = np.linalg.norm(self.gradient(ahead)) < np.linalg.norm(slope)
        except InputError:  # an intercept without a finite optimum has no curvature left, and so no whole step
            return v
        return ahead if closer and self.value(ahead) <= self.value(v) * (1.0 + 1e-13) else v

    def _at(self, v: Floats) -> tuple[Floats, float, Point]:
        """Return the weights, the value and the shares; those of the last v are kept."""
        key = v.tobytes()
        if self._last is None or self._last[0] != key:
            weights = self.weights(v)
            scores = self.problem.scores(weights)
            point = self.problem.point(scores)
            self._last = (key, weights, self._finite(self.problem.objective(weights, scores, point)) / self.unit, point)
        return self._last[1:]

    def _finite(self, numbers: Any) -> Any:
        if not np.isfinite(numbers).all():
            raise InputError(OVERFLOW)
        return numbers


@np.errstate(over="ignore", invalid="ignore")  # overflow is looked for, and said in one sentence
def solve_plem(
    X: FeatureMatrix,
    mask: Mask,
    *,
    lam: float,
    entropy_weight: float = 0.0,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-6,
    initial: Floats | None = None,
) -> PLEMSolution:
    """Find a stationary point of F, which for exact labels is its minimum.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    mask : ndarray of shape (n, K), bool
        With some row that is not full and has a weight above 0.
    lam : float
        Weight of the penalty, > 0.
    entropy_weight : float
        mu, >= 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized.
    max_iter : int
        Steps, at most.
    tol : float
        The search ends where the gradient g has g^T M^-1 g <= tol^2 max(F, 1e-6 F(0)). As M is about the Hessian, this
        is a relative error of about `tol` in W; one more Newton step then squares it, as far as rounding allows.
    initial : ndarray of shape (K, D), optional
        The start, in place of 0.

    Returns
    -------
    PLEMSolution
    """
    problem = PLEMProblem.of(X, mask, lam, entropy_weight, sample_weight, fit_intercept=fit_intercept)
    weights: Floats = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    nothing = np.zeros((len(problem.cost), problem.n_classes))
    least = NEARLY_NOTHING * problem.objective(np.zeros(problem.shape), nothing, problem.point(nothing))
    n_iter, n_passes = 0, 0
    trace: list[float] = []
    while True:
        search = Search(problem, weights, whole=n_passes % 2 == 1)
        found = minimize(
            search.value,
            np.zeros(weights.size),
            jac=search.gradient,
            hessp=search.product,
            method="trust-ncg",
            callback=search.record,
            options={
                "gtol": tol * np.sqrt(max(1.0, least / search.unit)),
                "maxiter": min(STEPS_A_ROUND, max_iter - n_iter),
            },
        )
        trace += search.trace if trace else [search.unit, *search.trace]
        n_iter += found.nit
        n_passes += 1
        goal = tol * np.sqrt(max(found.fun, least / search.unit))
        converged = bool(np.linalg.norm(search.gradient(found.x)) <= goal)
        if converged and search.metric.factor is None and problem.shape[1] ** 2 <= LARGEST_BLOCK:
            # By the diagonal alone, slopes look small along features that nearly depend on each other.
            looked = Search(problem, search.weights(found.x), whole=True)
            goal = tol * np.sqrt(max(1.0, least / looked.unit))
            converged = bool(np.linalg.norm(looked.gradient(np.zeros(weights.size))) <= goal)
            if not converged and n_iter < max_iter:
                weights = looked.start
                continue
        if converged or n_iter >= max_iter or found.nit == 0:
            break
        weights = search.weights(found.x)
    v = search.newton(found.x) if converged else found.x
    weights = search.weights(v)
    if fit_intercept:
        weights[:, -1] -= weights[:, -1].mean()  # to rounding it is 0 already
    return PLEMSolution(
        weights=weights,
        objective=-lam * np.array([*trace, search.unit * search.value(v)]),
        gradient=problem.gradient(weights, problem.point(problem.scores(weights))),
        n_iter=n_iter,
        converged=converged,
    )
