"""Likelihood of graph-prior logistic regression over the labeled rows, with its derivatives.

With s_ik = w^(k)T x_i, w^(K) = 0 and p_i the softmax of s_i (1),

    l(w) = sum_i v_i log sum_k e_ik p_ik,                                                       (2) for exact labels

v the weights of the rows, and e the evidence: 1 in the set and 0 outside, or the weights of the candidates. Its
gradient by the scores is q_i - p_i, with q_ik proportional to e_ik p_ik. The q_i are the responsibilities of the
generalized EM algorithm; an exact label has q = 1 at the label.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneof.likelihoods import (
    constant_rows,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    softmax,
    softmax_jvp,
    support,
    total_variation,
)
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints


@dataclass(frozen=True)
class LikelihoodEvaluation:
    """Likelihood and class distributions at one w, from which the derivatives are computed."""

    proba: Floats
    """p, (m, K)."""
    responsibilities: Floats
    """q, (m, K)."""
    log_likelihood: float
    """l."""


@dataclass(frozen=True)
class CandidateLikelihood:
    """Likelihood of candidate sets, over the rows with a positive weight and an informative set."""

    features: FeatureMatrix
    """(m, D)."""
    evidence: Evidence
    """(m, K): e."""
    row_weight: Floats
    """v, (m,)."""

    @classmethod
    def from_evidence(
        cls, features: FeatureMatrix, evidence: Evidence, sample_weight: Floats | None
    ) -> "CandidateLikelihood":
        """Select the rows with a positive weight and a set that is not full."""
        row_weight = np.ones(len(evidence)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        labeled = (row_weight > 0) & ~constant_rows(evidence)
        rows = slice(None) if labeled.all() else labeled
        return cls(features[rows].astype(np.float64, copy=False), evidence[rows], row_weight[rows])

    @cached_property
    def n_candidates(self) -> Ints:
        """Number of candidates of each row, (m,)."""
        return support(self.evidence).sum(axis=1)

    @cached_property
    def is_exact(self) -> bool:
        """Whether every set is a single label, so that l is concave."""
        return bool((self.n_candidates == 1).all())

    def evaluate(self, scores: Floats) -> LikelihoodEvaluation:
        """Return the likelihood and the distributions at (m, K-1) scores."""
        full = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)
        return LikelihoodEvaluation(
            softmax(full),
            masked_softmax(full, self.evidence),
            float(self.row_weight @ log_likelihoods(full, self.evidence)),
        )

    def value(self, weights: Floats) -> float:
        """Return l at (K-1, D) weights."""
        return self.evaluate(np.asarray(self.features @ weights.T)).log_likelihood

    def gradient(self, at: LikelihoodEvaluation) -> Floats:
        """Return the (m, K-1) gradient of l by the scores."""
        return self.row_weight[:, None] * log_likelihood_gradient(at.proba, at.responsibilities, self.evidence)[:, :-1]

    def hvp(self, at: LikelihoodEvaluation, direction: Floats) -> Floats:
        """Return minus the Hessian of l by the scores, times a (m, K-1) direction."""
        product = softmax_jvp(at.proba[:, :-1], direction)
        if not self.is_exact:
            product -= softmax_jvp(at.responsibilities[:, :-1], direction)
        product *= self.row_weight[:, None]
        return product

    def trace_curvature(self, at: LikelihoodEvaluation) -> Floats:
        """Return an approximate trace of minus the Hessian of l by the K scores of each row, (m,), at least 0."""
        trace = 1.0 - (at.proba**2).sum(axis=1)
        if not self.is_exact:
            trace = np.minimum(trace, 2.0 * total_variation(at.proba, at.responsibilities, self.evidence))
        return np.maximum(trace, 0.0)

    def curvatures(self, at: LikelihoodEvaluation, *, convex: bool) -> Floats:
        """Return minus the Hessian of l by the scores of each row, (m, K-1, K-1).

        For a candidate set it is diag p - p p^T minus diag q - q q^T, and may be indefinite; `convex` removes its
        negative part. For an exact label it is diag p - p p^T, for a full set 0.
        """
        curvature = _softmax_jacobian(at.proba)
        partial = np.flatnonzero(self.n_candidates > 1)
        if len(partial):
            difference = curvature[partial] - _softmax_jacobian(at.responsibilities[partial])
            if convex:
                values, vectors = np.linalg.eigh(difference)
                difference = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.mT
            curvature[partial] = difference
        return self.row_weight[:, None, None] * curvature[:, :-1, :-1]


def _softmax_jacobian(proba: Floats) -> Floats:
    """Return diag p - p p^T of each row, (m, K, K)."""
    jacobian = -proba[:, :, None] * proba[:, None, :]
    jacobian[:, np.arange(proba.shape[1]), np.arange(proba.shape[1])] += proba
    return jacobian
