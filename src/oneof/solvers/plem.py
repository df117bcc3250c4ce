"""Logistic regression on candidate sets (Jin & Ghahramani 2003; Grandvalet & Bengio 2004), by L-BFGS.

With s = X W^T + b, p_i the softmax of s_i, v_ik the evidence (1 in the set and 0 outside, or a weight), and q_ik
proportional to v_ik p_ik, minimize

    F(W, b) = 1/2 ||W||_F^2 + 1/lam sum_i w_i [ -log sum_k v_ik p_ik + mu H(q_i) ].

The original algorithm is EM: the responsibilities q, then a logistic regression on them as soft targets. If sets are
large, EM takes hundreds of iterations. The derivatives of F by the scores are p - q, which `minimize` uses directly.

The Hessian of a row's loss is (diag p - p p^T) - (diag q - q q^T). A class's block of the Hessian is close to the sum
of c_ik x_i x_i^T with the absolute diagonal c_ik = |(p_ik - q_ik) (1 - p_ik - q_ik)|. The preconditioner is the inverse
of these blocks between two projections on weights whose sum over the classes is 0: diag p - p p^T has the inverse
diag 1/p between such projections. Rows of small curvature are left out of the blocks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oneof.jit import compiled
from oneof.likelihoods import (
    constant_rows,
    entropy,
    entropy_gradient,
    log_likelihood_gradient,
    masked_softmax,
    softmax,
)
from oneof.solvers.lbfgs import Kind, LinearIterate, SmoothProblem, Solution, minimize
from oneof.solvers.row_accessors import sparse_if_few
from oneof.typing import Evidence, FeatureMatrix, Floats

MAX_DENSITY = 0.04
"""Maximum fraction of nonzero numbers with which dense rows are converted to sparse ones, whose products are faster."""
MIN_INSIDE = 1e-280
"""Sum of v_ik exp(s_ik - max_j s_ij) below which a row is evaluated by logarithms, since the sum is rounded."""
OBJECTIVE_RTOL = 1e-6
"""Fraction of F(0) below which the accuracy is not relative to F, which can be 0 with an intercept alone."""


@dataclass(frozen=True)
class PLEMProblem(SmoothProblem):
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
        rows = (X if used.all() else X[used]).astype(np.float64, copy=False)
        return cls(
            X=sparse_if_few(rows, MAX_DENSITY),
            n_classes=evidence.shape[1],
            has_intercept=fit_intercept,
            evidence=np.ascontiguousarray(evidence[used]),
            cost=sample_weight[used][:, None] / lam,
            entropy_weight=entropy_weight,
        )

    def point(self, weights: Floats, scores: Floats) -> LinearIterate:
        """Return the point with these weights and their scores."""
        terms = np.empty_like(scores)
        _subtract_maxima(scores, terms)
        np.exp(terms, out=terms)
        value = _differentiate_losses(scores, self.evidence, self.cost[:, 0], terms)
        if self.entropy_weight:
            inside = masked_softmax(scores, self.evidence)
            value += self.entropy_weight * float(self.cost[:, 0] @ entropy(inside))
            terms += self.entropy_weight * self.cost * entropy_gradient(inside)
        return LinearIterate(weights, scores, terms, value + 0.5 * float((self.penalized(weights) ** 2).sum()))

    def curvatures(self, scores: Floats) -> Floats:
        """Return the absolute diagonals of the Hessians of the rows' losses by the scores, (n, K)."""
        proba, inside = softmax(scores), masked_softmax(scores, self.evidence)
        excess = log_likelihood_gradient(proba, inside, self.evidence)
        curvatures = np.abs(excess * (1.0 - proba - inside))  # p (1 - p) - q (1 - q)
        if self.entropy_weight:
            curvatures += self.entropy_weight * inside * (1.0 - inside)
        return curvatures * self.cost

    def preconditioner(self, point: LinearIterate, kind: Kind) -> Callable[[Floats], Floats]:
        """Return the function x -> M^-1 x; its values sum to 0 over the classes, as the weights."""
        solve = super().preconditioner(point, kind)

        def centered(right: Floats) -> Floats:
            out = solve(right)
            out -= out.mean(axis=0)
            return out

        return centered


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
) -> Solution:
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
        Maximum number of iterations.
    tol : float
        Stop if the gradient g has g^T H g <= tol^2 max(F, 1e-6 F(0)), with the inverse Hessian H of `minimize`: a
        relative error of about `tol` in W.
    initial : ndarray of shape (K, D), optional
        The start; 0 by default.

    Returns
    -------
    Solution
        The weights sum to 0 over the classes; with the intercept b in the last column D = d + 1. The objective is F.
    """
    problem = PLEMProblem.from_evidence(X, evidence, lam, entropy_weight, sample_weight, fit_intercept=fit_intercept)
    weights = problem.zeros()
    min_value = OBJECTIVE_RTOL * problem.point(weights, problem.matvec(weights)).value
    if initial is not None:
        weights += initial - np.mean(initial, axis=0)
    solution = minimize(problem, weights, tol=tol, max_iter=max_iter, min_value=min_value, single=problem.single)
    solution.weights[:] -= solution.weights.mean(axis=0)  # already 0 up to rounding
    return solution


@compiled
def _subtract_maxima(scores, out):  # type: ignore[no-untyped-def]
    """Store s_ik - max_j s_ij."""
    for i in range(scores.shape[0]):
        top = scores[i, 0]
        for k in range(1, scores.shape[1]):
            top = max(top, scores[i, k])
        for k in range(scores.shape[1]):
            out[i, k] = scores[i, k] - top


@compiled
def _differentiate_losses(scores, evidence, cost, terms):  # type: ignore[no-untyped-def]
    """Return sum_i c_i l_i, and replace `terms`, exp(s_ik - max_j s_ij), by the derivatives of the sum, c_i (p - q).

    With a = sum_k v_ik p_ik, p - q = p (a - v) / a, and a - v = (1 - v) a - v (1 - a). Both a and 1 - a are summed, so
    that small ones are precise.
    """
    n, n_classes = scores.shape
    total_loss = 0.0
    for i in range(n):
        inside = outside = 0.0
        for k in range(n_classes):
            inside += evidence[i, k] * terms[i, k]
            outside += (1.0 - evidence[i, k]) * terms[i, k]
        total = inside + outside
        if inside >= MIN_INSIDE:
            ratio = outside / inside
            total_loss += cost[i] * np.log1p(ratio)
            factor = cost[i] / total
            for k in range(n_classes):
                terms[i, k] *= factor * ((1.0 - evidence[i, k]) - evidence[i, k] * ratio)
            continue
        top = best = -np.inf
        for k in range(n_classes):
            top = max(top, scores[i, k])
            if evidence[i, k] > 0.0:
                best = max(best, scores[i, k])
        inside = 0.0
        for k in range(n_classes):
            if evidence[i, k] > 0.0:
                inside += evidence[i, k] * np.exp(scores[i, k] - best)
        total_loss += cost[i] * (np.log(total / inside) + top - best)
        for k in range(n_classes):
            q = evidence[i, k] * np.exp(scores[i, k] - best) / inside if evidence[i, k] > 0.0 else 0.0
            terms[i, k] = cost[i] * (terms[i, k] / total - q)
    return total_loss
