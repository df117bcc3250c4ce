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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import get_lapack_funcs

from oneof.errors import InputError
from oneof.jit import compiled
from oneof.likelihoods import (
    constant_rows,
    entropy,
    entropy_gradient,
    log_likelihood_gradient,
    masked_softmax,
    softmax,
)
from oneof.solvers.lbfgs import Kind, Solution, minimize
from oneof.solvers.linear_objective import OVERFLOW, LinearProblem
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

MAX_DENSITY = 0.04
"""Maximum fraction of nonzero numbers with which dense rows are converted to sparse ones, whose products are faster."""
MIN_INSIDE = 1e-280
"""Sum of v_ik exp(s_ik - max_j s_ij) below which a row is evaluated by logarithms, since the sum is rounded."""
MIN_CURVATURE = 0.1
"""Fraction of the mean curvature below which a row is left out of a block."""
MAX_BLOCK_ENTRIES = 3e7
"""Maximum number of entries in the blocks of a preconditioner (240 MB)."""
MIN_SINGLE, MAX_SINGLE = 1e-12, 1e12
"""Range of the largest absolute feature for products in single precision, whose own range is 1e-38 to 1e38."""
MIN_PIVOT = 1e-4
"""Smallest variance of a feature given the others, of 1, with which blocks are inverted in single precision."""
OBJECTIVE_RTOL = 1e-6
"""Fraction of F(0) below which the accuracy is not relative to F, which can be 0 with an intercept alone."""


@dataclass(frozen=True)
class Point:
    """Weights, their scores and the derivatives there."""

    weights: Floats
    """(K, D)."""
    scores: Floats
    """(n, K)."""
    by_score: Floats
    """Derivatives of the sum of the losses by the scores, (n, K): (p - q) w_i / lam without entropies."""
    value: float
    """F."""


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
        rows = (X if used.all() else X[used]).astype(np.float64, copy=False)
        if not sp.issparse(rows) and np.count_nonzero(rows) < MAX_DENSITY * rows.size:
            rows = sp.csr_array(rows)
        return cls(
            X=rows,
            n_classes=evidence.shape[1],
            has_intercept=fit_intercept,
            evidence=np.ascontiguousarray(evidence[used]),
            cost=sample_weight[used][:, None] / lam,
            entropy_weight=entropy_weight,
        )

    @cached_property
    def single(self) -> "PLEMProblem | None":
        """The problem with products in single precision; None if its range is too small."""
        largest = np.abs(self.X.data if sp.issparse(self.X) else self.X).max(initial=0.0)
        if not MIN_SINGLE < largest < MAX_SINGLE:
            return None
        return replace(self, X=self.X.astype(np.float32))

    def zeros(self) -> Floats:
        """Return weights of 0, feature by feature if X is sparse, as its products require."""
        return np.zeros(self.shape, order="F" if sp.issparse(self.X) else "C")

    def point(self, weights: Floats, scores: Floats) -> Point:
        """Return the point with these weights and their scores."""
        terms = np.empty_like(scores)
        _subtract_maxima(scores, terms)
        np.exp(terms, out=terms)
        value = _differentiate_losses(scores, self.evidence, self.cost[:, 0], terms)
        if self.entropy_weight:
            inside = masked_softmax(scores, self.evidence)
            value += self.entropy_weight * float(self.cost[:, 0] @ entropy(inside))
            terms += self.entropy_weight * self.cost * entropy_gradient(inside)
        return Point(weights, scores, terms, value + 0.5 * float((self.penalized(weights) ** 2).sum()))

    def gradient(self, point: Point) -> Floats:
        """Return the (K, D) gradient of F."""
        gradient = self.rmatvec(point.by_score, self.X)
        gradient += self.penalized(point.weights)
        return gradient

    def slope(self, point: Point, step: Floats, score_step: Floats) -> float:
        """Return the derivative of F along a step."""
        return float((self.penalized(point.weights) * step).sum() + np.vdot(point.by_score, score_step))

    def curvatures(self, scores: Floats) -> Floats:
        """Return the absolute diagonals of the Hessians of the rows' losses by the scores, (n, K)."""
        proba, inside = softmax(scores), masked_softmax(scores, self.evidence)
        excess = log_likelihood_gradient(proba, inside, self.evidence)
        curvatures = np.abs(excess * (1.0 - proba - inside))  # p (1 - p) - q (1 - q)
        if self.entropy_weight:
            curvatures += self.entropy_weight * inside * (1.0 - inside)
        return curvatures * self.cost

    def preconditioner(self, point: Point, kind: Kind) -> Callable[[Floats], Floats]:
        """Return the function x -> M^-1 x; its values sum to 0 over the classes, as the weights."""
        curvatures = self.curvatures(point.scores)
        mean = curvatures.mean(axis=1)[:, None]
        if kind == "diagonal":
            diagonal = self.diagonal(mean)
            return lambda right: _centered(right / diagonal)
        curvatures = curvatures if kind == "blocks" else mean
        inverses = self._invert_blocks(curvatures, np.float32) or self._invert_blocks(curvatures, np.float64)
        if inverses is None:
            raise InputError(OVERFLOW)
        scale, scaled_inverses = inverses

        def solve(right: Floats) -> Floats:
            scaled = (scale * right).astype(scaled_inverses.dtype, copy=False)
            out = np.empty_like(right)
            np.multiply(np.matmul(scaled_inverses, scaled[:, :, None])[:, :, 0], scale, out=out)
            return _centered(out)

        return solve

    def fits(self, kind: Kind) -> bool:
        """Return whether the memory of a preconditioner is small enough."""
        return self.shape[1] ** 2 * (self.n_classes if kind == "blocks" else 1) <= MAX_BLOCK_ENTRIES

    @property
    def n_numbers(self) -> int:
        """Number of entries of X that a product reads."""
        return int(self.X.nnz if sp.issparse(self.X) else self.X.size)

    @property
    def first_kind(self) -> Kind:
        """The preconditioner at the start: the common block if it takes no longer than the products with X."""
        return "common" if self.shape[1] ** 2 <= self.n_numbers else "diagonal"

    @cached_property
    def block_cost(self) -> float:
        """The time of the blocks in iterations: about a fifth of the rows is active in a block."""
        n_classes, width = self.shape
        if not self.fits("blocks"):
            return np.inf
        n_numbers = max(self.n_numbers, 1)
        operations = 2.0 * (0.2 * n_numbers * n_numbers / max(len(self.cost), 1) + width**3) + 5e6
        return n_classes * operations / (4.0 * n_numbers * n_classes + 2e5)

    def _invert_blocks(self, curvatures: Floats, dtype: Any) -> tuple[Floats, Floats] | None:
        """Return d, (K, D), and the inverses of the blocks scaled to diagonals of ones, diag(d) B diag(d), (K, D, D).

        None if a feature is too close to a combination of others for the precision.
        """
        eps = np.finfo(dtype).eps
        potrf, potri = get_lapack_funcs(("potrf", "potri"), dtype=dtype)
        d, inverses = np.empty((curvatures.shape[1], self.shape[1])), []
        for k, curvature in enumerate(curvatures.T):
            active = np.flatnonzero(curvature > MIN_CURVATURE * curvature.mean())
            X, penalty = self._scaled_rows(active, np.sqrt(curvature[active])[:, None])
            squares = X.power(2).sum(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X)
            diagonal = np.asarray(squares).ravel() + penalty
            d[k] = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
            X = (X.multiply(d[k]).tocsr() if sp.issparse(X) else np.multiply(X, d[k], out=X)).astype(dtype, copy=False)
            block = X.T @ X  # an array times itself takes half the time of other products
            block = block.toarray() if sp.issparse(block) else block
            block[np.diag_indices_from(block)] += (penalty * d[k] ** 2 + 10.0 * eps).astype(dtype)
            factor, info = potrf(block.T, lower=1, overwrite_a=1)
            if info != 0 or (dtype == np.float32 and factor.diagonal().min() ** 2 < MIN_PIVOT):
                return None
            inverse = potri(factor, lower=1, overwrite_c=1)[0]
            inverses.append(np.tril(inverse) + np.tril(inverse, -1).T)
        return d, np.stack(inverses)

    def _scaled_rows(self, rows: Ints, factor: Floats) -> tuple[FeatureMatrix, Floats]:
        """Return the rows of [X, 1] times a factor, (m, D), and the penalty of each column, (D,)."""
        X, penalty = self.X[rows].astype(np.float64, copy=False), np.ones(self.shape[1])
        X = X.multiply(factor).tocsr() if sp.issparse(X) else X * factor
        if self.has_intercept:
            X = sp.hstack([X, factor], format="csr") if sp.issparse(X) else np.hstack([X, factor])
            penalty[-1] = 0.0
        return X, penalty


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


def _centered(weights: Floats) -> Floats:
    """Subtract the means over the classes in place."""
    weights -= weights.mean(axis=0)
    return weights


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
