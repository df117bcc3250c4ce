"""Objective of PLEM over the weights, its derivatives, and preconditioners of its Hessian.

The Hessian is that of the log-sum-exp over all classes less that over the set. A class's block of it is close to the
sum of c_ik x_i x_i^T with the absolute diagonal c_ik = |(p_ik - q_ik) (1 - p_ik - q_ik)| of a row's Hessian. The
preconditioner is the inverse of these blocks, one for each class, between two projections on weights whose sum over the
classes is 0: the Hessian of a row's log-sum-exp, diag p - p p^T, has the inverse diag 1/p between such projections. On
images it takes a sixth of the Hessian products that a single block for all classes takes. Rows of small curvature are
left out of the blocks. The diagonal of a common block is cheaper, and is used until its products have cost as much as
the blocks.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dtrtri

from oneof.likelihoods import (
    constant_rows,
    entropy,
    entropy_gradient,
    entropy_hvp,
    is_mask,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    support,
)
from oneof.solvers.linear_objective import LinearProblem
from oneof.solvers.plem.row_hessians import multiply_hessians
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints

MAX_DENSITY = 0.04
"""Maximum fraction of nonzero numbers with which dense rows are converted to sparse ones, whose products are faster."""
MIN_INSIDE = 1e-280
"""Sum of exp(s_ik - max_j s_ij) over a set below which the row is evaluated by logarithms, since the sum is rounded."""
MIN_CURVATURE = 0.1
"""Fraction of the mean curvature below which a row is left out of a block."""
MAX_BLOCK_ENTRIES = 2e7
"""Maximum number of entries in the blocks of a preconditioner."""

PreconditionerKind = Literal["diagonal", "common", "blocks"]
"""The diagonal of the block common to all classes, that block, or a block for each class."""


@dataclass(frozen=True)
class Evaluation:
    """Class probabilities at one W, from which the derivatives are computed."""

    proba: Floats
    """p, (n, K)."""
    inside: Floats | None
    """q, (n, K); None if all rows are exact, whose q is the label itself."""
    excess: Floats
    """p - q, (n, K), with the relative precision of small probabilities."""
    outside: Floats
    """1 - sum_k v_ik p_ik, (n,)."""
    losses: Floats
    """-log sum_k v_ik p_ik, (n,)."""

    @cached_property
    def single(self) -> "Evaluation":
        """The probabilities in single precision."""
        inside = None if self.inside is None else self.inside.astype(np.float32)
        proba, excess, outside = (a.astype(np.float32) for a in (self.proba, self.excess, self.outside))
        return Evaluation(proba, inside, excess, outside, self.losses)


@dataclass(frozen=True)
class Preconditioner:
    """Positive definite operator M close to the Hessian, on weights whose sum over the classes is 0."""

    scale: Floats
    """(1, D) for all classes, or (K, D)."""
    inverse_factors: Floats | None
    """(1, D, D) or (K, D, D): inverse Cholesky factors of the blocks scaled to diagonals of ones; None if diagonal."""
    curvatures: Floats
    """(n, K): those from which the blocks were computed."""

    @cached_property
    def single(self) -> "Preconditioner":
        """The operator in single precision."""
        factors = None if self.inverse_factors is None else self.inverse_factors.astype(np.float32)
        return Preconditioner(self.scale.astype(np.float32), factors, self.curvatures)

    def solve(self, right: Floats) -> Floats:
        """Return M^-1 x for weights x, (K, D), in their memory layout."""
        if self.inverse_factors is None:
            return right * self.scale**2
        out = right - right.mean(axis=0)
        out *= self.scale
        if len(self.scale) == 1:
            np.matmul(out @ self.inverse_factors[0].T, self.inverse_factors[0], out=out)
        else:
            half = np.matmul(self.inverse_factors, out[:, :, None])
            out[:] = np.matmul(self.inverse_factors.transpose(0, 2, 1), half)[:, :, 0]
        out *= self.scale
        out -= out.mean(axis=0)
        return out


@dataclass(frozen=True)
class PLEMProblem(LinearProblem):
    """Objective F over weights of shape (K, D), for rows with a positive weight and a likelihood or an entropy.

    Arrays (n, K) are stored class by class if X is dense, since sums over few classes are then faster; if X is sparse,
    row by row, and weights feature by feature, which its products require.
    """

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
            evidence=np.asarray(evidence[used], order="C" if sp.issparse(rows) else "F"),
            cost=sample_weight[used][:, None] / lam,
            entropy_weight=entropy_weight,
        )

    @cached_property
    def single(self) -> "PLEMProblem":
        """The problem in single precision, for products with the Hessian."""
        return replace(self, X=self.X.astype(np.float32), cost=self.cost.astype(np.float32))

    @cached_property
    def labels(self) -> tuple[Ints, Ints] | None:
        """Rows and columns of the labels if all rows are exact, otherwise None."""
        if np.count_nonzero(self.evidence) > len(self.evidence):
            return None
        return np.arange(len(self.evidence)), support(self.evidence).argmax(axis=1)

    @cached_property
    def common_cost(self) -> float | None:
        """The cost of all rows if it is the same, otherwise None."""
        first = float(self.cost[0, 0]) if len(self.cost) else 1.0
        return first if (self.cost == first).all() else None

    @property
    def n_numbers(self) -> int:
        """Number of entries of X that a product reads."""
        return int(self.X.nnz if sp.issparse(self.X) else self.X.size)

    def zeros(self) -> Floats:
        """Return weights of 0."""
        return np.zeros(self.shape, order="F" if sp.issparse(self.X) else "C")

    def matvec(self, weights: Floats, out: Floats | None = None) -> Floats:
        """Return the (n, K) scores [X, 1] W^T; `out` is memory that may be used for them."""
        if sp.issparse(self.X):
            return super().matvec(weights)
        d = self.X.shape[1]
        scores = np.matmul(weights[:, :d], self.X.T, out=None if out is None else out.T)
        if self.has_intercept:
            scores += weights[:, d:]
        return scores.T

    def rmatvec(self, values: Floats, X: FeatureMatrix) -> Floats:
        """Return values^T [X, 1], the adjoint of `matvec`."""
        product: Floats = np.asarray(X.T @ values).T if sp.issparse(X) else values.T @ X
        if not self.has_intercept:
            return product
        out = np.empty(self.shape, product.dtype, order="F" if sp.issparse(X) else "C")
        out[:, :-1] = product
        out[:, -1] = values.sum(axis=0)
        return out

    def evaluate(self, scores: Floats) -> Evaluation:
        """Return the class probabilities at these scores, from one exponential of each."""
        terms = scores - scores.max(axis=1, keepdims=True)
        np.exp(terms, out=terms)
        if self.labels is None:
            within = terms * self.evidence
            rest = terms - within if is_mask(self.evidence) else terms * (1.0 - self.evidence)
            sums, outside = within.sum(axis=1), rest.sum(axis=1)
        else:
            sums = terms[self.labels]
            terms[self.labels] = 0.0
            outside = terms.sum(axis=1)
            terms[self.labels] = sums
        total = sums + outside
        terms /= total[:, None]
        outside_proba = outside / total
        rounded = np.flatnonzero(sums < MIN_INSIDE)
        sums[rounded] = 1.0
        losses = np.log1p(outside / sums)
        losses[rounded] = -log_likelihoods(scores[rounded], self.evidence[rounded])
        if self.labels is None:
            within /= sums[:, None]
            within[rounded] = masked_softmax(scores[rounded], self.evidence[rounded])
            if is_mask(self.evidence):  # p outside the set, and -q times the probability outside in it
                rest /= total[:, None]
                rest -= within * outside_proba[:, None]
                excess = rest
            else:
                excess = -log_likelihood_gradient(terms, within, self.evidence)
            return Evaluation(terms, within, excess, outside_proba, losses)
        excess = terms.copy(order="K")
        excess[self.labels] = -outside_proba
        return Evaluation(terms, None, excess, outside_proba, losses)

    def objective(self, weights: Floats, at: Evaluation) -> float:
        """Return F."""
        losses = at.losses
        if self.entropy_weight and at.inside is not None:
            losses = losses + self.entropy_weight * entropy(at.inside)
        return 0.5 * float((self.penalized(weights) ** 2).sum()) + float(self.cost[:, 0] @ losses)

    def gradient(self, weights: Floats, at: Evaluation) -> Floats:
        """Return the (K, D) gradient of F."""
        by_score = at.excess
        if self.entropy_weight and at.inside is not None:
            by_score = by_score + self.entropy_weight * entropy_gradient(at.inside)
        return self._add_penalty(weights, by_score)

    def hvp(self, direction: Floats, at: Evaluation, *, is_positive: bool = False) -> Floats:
        """Return the Hessian of F times a direction, both (K, D).

        With `is_positive` the negative part of the Hessians of the log likelihoods is left out.
        """
        product, scratch = self._scratch
        score_step = self.matvec(direction, out=scratch)
        if at.inside is None:  # diag p - p p^T
            np.multiply(at.proba, score_step, out=product)
            mean = product.sum(axis=1, keepdims=True)
            product -= np.multiply(at.proba, mean, out=score_step)
            return self._add_penalty(direction, product)
        entropies = self.entropy_weight * entropy_hvp(at.inside, score_step) if self.entropy_weight else None
        multiply_hessians(at.excess, at.inside, at.outside if is_positive else np.zeros_like(at.outside), score_step)
        if entropies is not None:
            score_step += entropies
        return self._add_penalty(direction, score_step)

    def curvatures(self, at: Evaluation) -> Floats:
        """Return the absolute diagonals of the rows' Hessians, (n, K)."""
        inside = at.proba - at.excess if at.inside is None else at.inside
        curvatures = np.abs(at.excess * (1.0 - at.proba - inside))  # p (1 - p) - q (1 - q)
        if self.entropy_weight and at.inside is not None:
            curvatures += self.entropy_weight * at.inside * (1.0 - at.inside)
        return curvatures * self.cost

    def preconditioner(self, at: Evaluation, kind: PreconditionerKind) -> Preconditioner:
        """Return the preconditioner M at these probabilities."""
        curvatures = self.curvatures(at)
        mean = curvatures.mean(axis=1)
        if kind == "diagonal":
            return Preconditioner(1.0 / np.sqrt(self.diagonal(mean[:, None])), None, curvatures)
        weights = curvatures.T if kind == "blocks" else mean[None]
        scale, factors = np.empty((len(weights), self.shape[1])), np.empty((len(weights), *2 * self.shape[1:]))
        for k, weight in enumerate(weights):
            block = self.block(np.ascontiguousarray(weight))
            scale[k], factors[k] = block.scale, dtrtri(block.factor, lower=1)[0]
        return Preconditioner(scale, factors, curvatures)

    def weighted_gram(self, curvature: Floats) -> Floats:
        """Return sum_i curvature_i [x_i, 1] [x_i, 1]^T, (D, D), without the rows whose curvature is small."""
        active = np.flatnonzero(curvature > MIN_CURVATURE * curvature.mean())
        root, d = np.sqrt(curvature[active])[:, None], self.X.shape[1]
        X = self.X[active]
        X = sp.diags_array(root[:, 0]) @ X if sp.issparse(X) else X * root
        product = X.T @ X  # an array times itself takes half the time of other products
        gram = np.empty((self.shape[1], self.shape[1]))
        gram[:d, :d] = product.toarray() if sp.issparse(product) else product
        if self.has_intercept:
            gram[d, :d] = gram[:d, d] = (X.T @ root)[:, 0]
            gram[d, d] = root[:, 0] @ root[:, 0]
        return gram

    def _add_penalty(self, weights: Floats, by_score: Floats) -> Floats:
        """Return W, without the intercept, plus 1/lam sum_i w_i g_i [x_i, 1]^T for derivatives g by the scores."""
        if self.common_cost is None:
            product = self.rmatvec(self.cost * by_score, self.X)
        else:
            product = self.rmatvec(by_score, self.X)
            product *= np.asarray(self.common_cost, product.dtype)
        product += self.penalized(weights)
        return product

    @cached_property
    def _scratch(self) -> tuple[Floats, Floats]:
        """Memory for `hvp`: two arrays (n, K)."""
        shape = (len(self.cost), self.n_classes)
        order: Literal["C", "F"] = "C" if sp.issparse(self.X) else "F"
        return np.empty(shape, self.X.dtype, order=order), np.empty(shape, self.X.dtype, order=order)
