"""Logistic regression on candidate sets (Jin & Ghahramani 2003; Grandvalet & Bengio 2004), by Newton steps.

With s = X W^T + b, p_i the softmax of s_i, v_ik the evidence (1 in the set and 0 outside, or a weight), and q_ik
proportional to v_ik p_ik, minimize

    F(W, b) = 1/2 ||W||_F^2 + 1/lam sum_i w_i [ -log sum_k v_ik p_ik + mu H(q_i) ].

The original algorithm is EM: the responsibilities q, then a logistic regression on them as soft targets, whose Hessian
is that of F without the terms of q. If sets are large, those terms nearly cancel the rest, and EM takes hundreds of
iterations. With them F is not convex, which scipy's trust region handles. Near the minimum a step squares the error.

The trust region works on preconditioned weights. The preconditioner M is close to the Hessian's block of a class: the
weights are W = V L^-1, with L L^T = M, so that the scales of the features do not matter. M is either that block or its
diagonal, at the current curvature. The block is better for correlated features, for example with large means. The
diagonal is better if there are about as many features as rows, since few rows matter once the classes are separated.
So restarts of a few steps alternate between them. One M for all classes keeps the weights at sum 0 over the classes.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, cg

from oneof.errors import InputError
from oneof.likelihoods import (
    constant_rows,
    entropy,
    entropy_gradient,
    entropy_hvp,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    softmax,
    softmax_jvp,
    total_variation,
)
from oneof.solvers.linear_objective import OVERFLOW, HessianBlock, LinearProblem
from oneof.typing import Evidence, FeatureMatrix, Floats

STEPS_PER_RESTART = 10
"""Maximum number of steps of the trust region before its preconditioner is computed again."""
MAX_BLOCK_ENTRIES = 4e6
"""Maximum number of entries in a block for a factorization; above, every restart uses the diagonal."""
OBJECTIVE_RTOL = 1e-6
"""Fraction of F(0) below which the accuracy is not relative to F, which can be 0 with an intercept alone."""
MAX_CG_ITER = 500
"""Maximum number of Hessian products for the last Newton step."""


@dataclass(frozen=True)
class PLEMSolution:
    """Stationary point found by `solve_plem`."""

    weights: Floats
    """(K, D): D = d, or d + 1 with the intercept b in the last column; sums to 0 over the classes."""
    objective_path: Floats
    """(n_steps,): -lam F at the start and after each step; it never decreases, up to rounding."""
    gradient: Floats
    """(K, D): gradient of F."""
    n_iter: int
    """Steps of the trust region, including rejected steps, which would have increased F."""
    converged: bool


@dataclass(frozen=True)
class Evaluation:
    """Class probabilities at one W, from which the derivatives are computed."""

    proba: Floats
    """p, (n, K)."""
    inside: Floats
    """q, (n, K)."""


@dataclass(frozen=True)
class PLEMProblem(LinearProblem):
    """Objective F over weights of shape (K, D), for rows with a positive weight and a likelihood or an entropy."""

    evidence: Evidence
    cost: Floats
    """(n, 1): w_i / lam."""
    entropy_weight: float

    @classmethod
    def from_evidence(
        cls,
        X: FeatureMatrix,
        evidence: Evidence,
        lam: float,
        entropy_weight: float,
        sample_weight: Floats,
        *,
        fit_intercept: bool,
    ) -> "PLEMProblem":
        """Return the problem without rows of weight 0 and, if `entropy_weight` is 0, without unlabeled rows."""
        used = sample_weight > 0
        if entropy_weight == 0:
            used &= ~constant_rows(evidence)
        return cls(
            X=(X if used.all() else X[used]).astype(np.float64, copy=False),
            n_classes=evidence.shape[1],
            has_intercept=fit_intercept,
            evidence=evidence[used],
            cost=sample_weight[used][:, None] / lam,
            entropy_weight=entropy_weight,
        )

    def evaluate(self, scores: Floats) -> Evaluation:
        """Return the class probabilities at these scores."""
        return Evaluation(softmax(scores), masked_softmax(scores, self.evidence))

    def objective(self, weights: Floats, scores: Floats, at: Evaluation) -> float:
        """Return F."""
        losses = -log_likelihoods(scores, self.evidence)
        if self.entropy_weight:
            losses += self.entropy_weight * entropy(at.inside)
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + float(self.cost[:, 0] @ losses)

    def gradient(self, weights: Floats, at: Evaluation) -> Floats:
        """Return the (K, D) gradient of F."""
        by_score = -log_likelihood_gradient(at.proba, at.inside, self.evidence)
        if self.entropy_weight:
            by_score += self.entropy_weight * entropy_gradient(at.inside)
        return self.penalized(weights) + self.rmatvec(self.cost * by_score, self.X)

    def hvp(self, direction: Floats, at: Evaluation) -> Floats:
        """Return the Hessian of F times a direction, both (K, D)."""
        score_step = self.matvec(direction)
        by_score = softmax_jvp(at.proba, score_step) - softmax_jvp(at.inside, score_step)
        if self.entropy_weight:
            by_score += self.entropy_weight * entropy_hvp(at.inside, score_step)
        return self.penalized(direction) + self.rmatvec(self.cost * by_score, self.X)

    def preconditioner(self, at: Evaluation, *, full: bool) -> HessianBlock:
        """Return the Hessian's block of a class, or its diagonal, from the traces of the rows' Hessians."""
        variation = total_variation(at.proba, at.inside, self.evidence)
        curvature = np.minimum(
            (at.proba * (1.0 - at.proba)).sum(axis=1), 2.0 * variation
        )  # diag p - p p^T - (diag q - q q^T)
        curvature += self.entropy_weight * (at.inside * (1.0 - at.inside)).sum(axis=1)
        curvature *= self.cost[:, 0]
        if full and self.shape[1] ** 2 <= MAX_BLOCK_ENTRIES:
            return self.block(curvature)
        return HessianBlock(None, 1.0 / np.sqrt(self.diagonal(curvature[:, None])[0]))


class NewtonObjective:
    """F of one restart for scipy: over v, the preconditioned step from the start, relative to F at the start."""

    def __init__(self, problem: PLEMProblem, start: Floats, *, full: bool) -> None:
        scores = problem.matvec(start)
        at = problem.evaluate(scores)
        self.problem, self.start, self.preconditioner = problem, start, problem.preconditioner(at, full=full)
        self.scale = self._finite(problem.objective(start, scores, at))
        self.trace: list[float] = []
        self._last: tuple[bytes, Floats, float, Evaluation] | None = None

    def weights(self, v: Floats) -> Floats:
        """Return the (K, D) weights."""
        return self.start + np.sqrt(self.scale) * self.preconditioner.backward(v.reshape(self.start.shape))

    def value(self, v: Floats) -> float:
        """Return F."""
        return self._at(v)[1]

    def gradient(self, v: Floats) -> Floats:
        """Return the gradient of F."""
        weights, _, at = self._at(v)
        gradient = self.preconditioner.forward(self.problem.gradient(weights, at)) / np.sqrt(self.scale)
        return self._finite(gradient).ravel()

    def hvp(self, v: Floats, step: Floats) -> Floats:
        """Return the Hessian of F times a step."""
        direction = self.preconditioner.backward(step.reshape(self.start.shape))
        return self._finite(self.preconditioner.forward(self.problem.hvp(direction, self._at(v)[2]))).ravel()

    def record(self, intermediate_result: OptimizeResult) -> None:
        """Append F after a step to the trace."""
        self.trace.append(self.scale * intermediate_result.fun)

    def newton(self, v: Floats) -> Floats:
        """Return v after a full Newton step, if that reduces the gradient and, up to rounding, does not increase F."""
        gradient = self.gradient(v)
        hessian = LinearOperator((v.size, v.size), matvec=lambda step: self.hvp(v, step), dtype=np.float64)
        try:
            with np.errstate(divide="ignore"):
                proposal = v + cg(hessian, -gradient, atol=0.0, maxiter=MAX_CG_ITER)[0]
            reduces_gradient = np.linalg.norm(self.gradient(proposal)) < np.linalg.norm(gradient)
        except InputError:  # the curvature is 0 for an intercept without a finite optimum
            return v
        return proposal if reduces_gradient and self.value(proposal) <= self.value(v) * (1.0 + 1e-13) else v

    def _at(self, v: Floats) -> tuple[Floats, float, Evaluation]:
        """Return the weights, the value and the probabilities; those of the last v are cached."""
        key = v.tobytes()
        if self._last is None or self._last[0] != key:
            weights = self.weights(v)
            scores = self.problem.matvec(weights)
            at = self.problem.evaluate(scores)
            self._last = (key, weights, self._finite(self.problem.objective(weights, scores, at)) / self.scale, at)
        return self._last[1:]

    def _finite(self, values: Any) -> Any:
        if not np.isfinite(values).all():
            raise InputError(OVERFLOW)
        return values


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked, and reported in one message
def solve_plem(
    X: FeatureMatrix,
    evidence: Evidence,
    *,
    lam: float,
    entropy_weight: float = 0.0,
    sample_weight: Floats,
    fit_intercept: bool = False,
    max_iter: int = 1000,
    tol: float = 1e-6,
    initial: Floats | None = None,
) -> PLEMSolution:
    """Find a stationary point of F; with exact labels it is the minimum.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    evidence : ndarray of shape (n, K), bool or float64
        The candidate sets, or the weights v. At least one row that is not unlabeled has a sample weight above 0.
    lam : float
        Weight of the penalty, > 0.
    entropy_weight : float
        mu, >= 0.
    sample_weight : ndarray of shape (n,)
        At least 0; a weight of 2 is the same as the row twice.
    fit_intercept : bool
        Add a constant to each class's score, not penalized.
    max_iter : int
        Maximum number of steps.
    tol : float
        Stop if the gradient g has g^T M^-1 g <= tol^2 max(F, 1e-6 F(0)). As M approximates the Hessian, this is a
        relative error of about `tol` in W; one more Newton step then squares it, as far as rounding allows.
    initial : ndarray of shape (K, D), optional
        The start; 0 by default.

    Returns
    -------
    PLEMSolution
    """
    problem = PLEMProblem.from_evidence(X, evidence, lam, entropy_weight, sample_weight, fit_intercept=fit_intercept)
    weights: Floats = np.zeros(problem.shape) if initial is None else np.array(initial, dtype=np.float64)
    zero_scores = np.zeros((len(problem.cost), problem.n_classes))
    at_zero = problem.objective(np.zeros(problem.shape), zero_scores, problem.evaluate(zero_scores))
    min_objective = OBJECTIVE_RTOL * at_zero
    n_iter, n_restarts = 0, 0
    trace: list[float] = []
    while True:
        objective = NewtonObjective(problem, weights, full=n_restarts % 2 == 1)
        result = minimize(
            objective.value,
            np.zeros(weights.size),
            jac=objective.gradient,
            hessp=objective.hvp,
            method="trust-ncg",
            callback=objective.record,
            options={
                "gtol": tol * np.sqrt(max(1.0, min_objective / objective.scale)),
                "maxiter": min(STEPS_PER_RESTART, max_iter - n_iter),
            },
        )
        trace += objective.trace if trace else [objective.scale, *objective.trace]
        n_iter += result.nit
        n_restarts += 1
        goal = tol * np.sqrt(max(result.fun, min_objective / objective.scale))
        converged = bool(np.linalg.norm(objective.gradient(result.x)) <= goal)
        if converged and objective.preconditioner.factor is None and problem.shape[1] ** 2 <= MAX_BLOCK_ENTRIES:
            # With the diagonal alone, the gradient looks small along nearly collinear features.
            check = NewtonObjective(problem, objective.weights(result.x), full=True)
            goal = tol * np.sqrt(max(1.0, min_objective / check.scale))
            converged = bool(np.linalg.norm(check.gradient(np.zeros(weights.size))) <= goal)
            if not converged and n_iter < max_iter:
                weights = check.start
                continue
        if converged or n_iter >= max_iter or result.nit == 0:
            break
        weights = objective.weights(result.x)
    v = objective.newton(result.x) if converged else result.x
    weights = objective.weights(v)
    if fit_intercept:
        weights[:, -1] -= weights[:, -1].mean()  # already 0 up to rounding
    return PLEMSolution(
        weights=weights,
        objective_path=-lam * np.array([*trace, objective.scale * objective.value(v)]),
        gradient=problem.gradient(weights, problem.evaluate(problem.matvec(weights))),
        n_iter=n_iter,
        converged=converged,
    )
