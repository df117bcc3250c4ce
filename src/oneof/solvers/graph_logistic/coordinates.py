"""Coordinates of the weights for Newton's steps and the Laplace posterior.

`WeightCoordinates` are the weights themselves. `SampleCoordinates` are used if there are fewer labeled rows than
weights: they have one coordinate for each linearly independent row (Woodbury's identity as a change of coordinates).
With Lambda^+ the prior covariance outside the unpenalized directions N,

    X Lambda^+ X^T = T T^T,   w = N f + Phi z,   Phi = Lambda^+ X^T T^+T,

the scores of the rows are X N f + T z, and z has the prior N(0, I). Weights outside the span of Phi keep their prior.
This takes one factorization of a D x D matrix per distinct Lambda, and none if Lambda is diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import VAGUE_PRECISION, Precisions, Prior, PriorTerm, UnpenalizedDirections
from oneof.typing import FeatureMatrix, Floats

EIGENVALUE_RTOL = 1e-15
"""Fraction of the largest eigenvalue of X Lambda^+ X^T below which an eigenvector is dropped."""


@dataclass(frozen=True)
class PrecisionFactor:
    """Factor of a positive definite Lambda: its Cholesky factor, or the root of its diagonal."""

    root: Floats
    """(D, D) lower triangular, or (D,)."""

    @classmethod
    def from_matrix(cls, matrix: Any, *, is_diagonal: bool) -> "PrecisionFactor":
        """Factorize a dense or sparse matrix."""
        if is_diagonal:
            return cls(np.sqrt(np.asarray(matrix.diagonal())))
        return cls(scipy.linalg.cholesky(to_dense(matrix), lower=True, check_finite=False))

    def whiten(self, rows: FeatureMatrix) -> Floats:
        """Return R with R R^T = x Lambda^-1 x^T for t rows, (t, D); sparse if rows are sparse and Lambda diagonal."""
        if self.root.ndim == 1:
            if sp.issparse(rows):
                return rows @ sp.dia_array((1.0 / self.root[None], 0), shape=(len(self.root),) * 2)
            return rows / self.root
        return scipy.linalg.solve_triangular(self.root, to_dense(rows).T, lower=True, check_finite=False).T

    def solve_rows(self, rows: FeatureMatrix) -> Floats:
        """Return x Lambda^-1 for t rows, (t, D)."""
        if self.root.ndim == 1:
            return to_dense(self.whiten(self.whiten(rows)))
        return scipy.linalg.cho_solve((self.root, True), to_dense(rows).T, check_finite=False).T

    @property
    def log_determinant(self) -> float:
        """Log |Lambda|."""
        return 2.0 * float(np.log(self.root if self.root.ndim == 1 else self.root.diagonal()).sum())


def to_dense(rows: Any) -> Floats:
    """Return rows as an ndarray."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def _log_determinants(
    factors: tuple[PrecisionFactor, ...], unpenalized: UnpenalizedDirections, n_vectors: int
) -> float:
    """Return sum_c log |Lambda_c| outside the unpenalized directions, from factors completed with their curvature."""
    completed = sum(factor.log_determinant for factor in factors) * (n_vectors if len(factors) == 1 else 1)
    return float(completed) - n_vectors * float(np.log(unpenalized.curvature).sum())


@dataclass(frozen=True)
class WeightCoordinates:
    """The weights themselves as coordinates."""

    prior: Prior
    precisions: Precisions
    features: FeatureMatrix
    """(m, D)."""
    matrices: tuple[Any, ...]
    """Distinct Lambda_c, completed with the vague precision."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> "WeightCoordinates":
        """Form Lambda."""
        completed = (
            prior.unpenalized.regularize(prior.matrix(precisions, c), VAGUE_PRECISION) for c in range(prior.n_distinct)
        )
        return cls(prior, precisions, likelihood.features, tuple(to_dense(matrix) for matrix in completed))

    @property
    def size(self) -> int:
        """Number of coordinates of a class."""
        return self.prior.n_weights

    def features_of_class(self, _: int) -> FeatureMatrix:
        """Return the (m, size) features of the labeled rows."""
        return self.features

    def prior_of_class(self, c: int) -> Floats:
        """Return the (size, size) prior precision."""
        return self.matrices[c % len(self.matrices)]

    def prior_matvec(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return self.prior.matvec(z, self.precisions)

    def matvec(self, z: Floats) -> Floats:
        """Return the (m, K-1) scores."""
        return np.asarray(self.features @ z.T)

    def rmatvec(self, gradient: Floats) -> Floats:
        """Return the (K-1, size) gradient by the coordinates, from the (m, K-1) gradient by the scores."""
        return np.asarray((self.features.T @ gradient).T)

    def to_internal(self, weights: Floats) -> Floats:
        """Return the coordinates of (K-1, D) weights."""
        return weights

    def from_internal(self, z: Floats) -> Floats:
        """Return the weights from their coordinates."""
        return z

    def transform(self, rows: FeatureMatrix, _: int) -> Floats:
        """Return the (t, size) features of any rows, without their component in unobserved directions."""
        x = to_dense(rows)
        unobserved = self.prior.unpenalized.unobserved
        return x - x @ unobserved @ unobserved.T if unobserved.shape[1] else x

    def residual_covariance(self, left: FeatureMatrix, right: FeatureMatrix, _: int) -> Floats:  # noqa: ARG002 - one signature for both classes
        """Return the prior covariance of pairs of rows outside the coordinates, (t,)."""
        return np.zeros(left.shape[0])

    def residual_cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix, _: int) -> Floats:
        """Return the prior covariance of all pairs of rows outside the coordinates, (t, s)."""
        return np.zeros((left.shape[0], right.shape[0]))

    @cached_property
    def factors(self) -> tuple[PrecisionFactor, ...]:
        """Factors of the distinct Lambda_c, completed with the full curvature."""
        completed = (
            self.prior.unpenalized.regularize(self.prior.matrix(self.precisions, c), 1.0)
            for c in range(self.prior.n_distinct)
        )
        return tuple(PrecisionFactor.from_matrix(matrix, is_diagonal=self.prior.is_diagonal) for matrix in completed)

    @cached_property
    def covariances(self) -> tuple[Floats, ...]:
        """Inverses of the matrices of `factors`."""
        return tuple(factor.solve_rows(np.eye(self.size)) for factor in self.factors)

    @property
    def log_prior(self) -> float:
        """sum_c log |Lambda_c| outside the unpenalized directions."""
        return _log_determinants(self.factors, self.prior.unpenalized, self.prior.n_vectors)

    @property
    def log_offset(self) -> float:
        """Log |H| minus the log determinant of H in these coordinates; unobserved directions have the precision 1."""
        return 0.0

    def posterior_counts(self, term: PriorTerm, blocks: list[Floats]) -> Floats:
        """Return the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P for each class.

        `blocks` are the diagonal blocks of H^-1, (size, size) for each class.
        """
        both = ((self.covariances[c % len(self.factors)], block) for c, block in enumerate(blocks))
        return np.array([_trace(term, prior) - _trace(term, block) for prior, block in both])


def _trace(term: PriorTerm, covariance: Floats) -> Any:
    """Return tr(P C), or per weight the diagonal of P C."""
    if term.per_weight:
        return term.diagonal * covariance.diagonal()
    return float((term.matrix * covariance).sum())


@dataclass(frozen=True)
class SampleCoordinates:
    """One coordinate for each observed unpenalized direction, and one for each linearly independent row."""

    prior: Prior
    precisions: Precisions
    factors: tuple[PrecisionFactor, ...]
    """Factors of the distinct Lambda_c, completed with the full curvature."""
    features: tuple[Floats, ...]
    """[X N, T] of each distinct class, (m, size); padded with zeros for a class with fewer independent rows."""
    bases: tuple[Floats, ...]
    """Phi of each distinct class, (D, size - r)."""
    rotation: tuple[Floats, ...]
    """T^+ of each distinct class, (size - r, m)."""
    rows: FeatureMatrix
    """X, (m, D)."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> "SampleCoordinates":
        """Factorize Lambda and X Lambda^+ X^T."""
        unpenalized, X = prior.unpenalized, likelihood.features
        unpenalized_scores = np.asarray(X @ unpenalized.observed)
        factors, features, bases, rotation = [], [], [], []
        for c in range(prior.n_distinct):
            factor = PrecisionFactor.from_matrix(
                unpenalized.regularize(prior.matrix(precisions, c), 1.0), is_diagonal=prior.is_diagonal
            )
            solved = factor.solve_rows(X) - unpenalized_scores / unpenalized.curvature @ unpenalized.observed.T
            gram = np.asarray(X @ solved.T)
            values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
            roots = np.sqrt(np.where(values > EIGENVALUE_RTOL * values.max(initial=0.0), values, 0.0))
            inverse = np.where(roots > 0, 1.0 / np.where(roots > 0, roots, 1.0), 0.0)
            factors.append(factor)
            features.append(np.hstack([unpenalized_scores, vectors * roots]))
            rotation.append(inverse[:, None] * vectors.T)
            bases.append(solved.T @ rotation[-1].T)
        return cls(prior, precisions, tuple(factors), tuple(features), tuple(bases), tuple(rotation), X)

    @property
    def size(self) -> int:
        """Number of coordinates of a class."""
        return int(self.features[0].shape[1])

    @property
    def n_unpenalized(self) -> int:
        """Number of coordinates of unpenalized directions, r."""
        return int(self.prior.unpenalized.observed.shape[1])

    def features_of_class(self, c: int) -> Floats:
        """Return the (m, size) features of the labeled rows."""
        return self.features[c % len(self.features)]

    @cached_property
    def prior_diagonal(self) -> Floats:
        """The prior precision, (size,), which is diagonal."""
        vague = VAGUE_PRECISION * self.prior.unpenalized.curvature
        return np.concatenate([vague, np.ones(self.size - self.n_unpenalized)])

    def prior_of_class(self, _: int) -> Floats:
        """Return the (size, size) prior precision."""
        return np.diag(self.prior_diagonal)

    def prior_matvec(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return z * self.prior_diagonal

    def matvec(self, z: Floats) -> Floats:
        """Return the (m, K-1) scores."""
        if len(self.features) == 1:
            return self.features[0] @ z.T
        return np.stack([features @ column for features, column in zip(self.features, z, strict=True)], axis=1)

    def rmatvec(self, gradient: Floats) -> Floats:
        """Return the (K-1, size) gradient by the coordinates, from the (m, K-1) gradient by the scores."""
        if len(self.features) == 1:
            return gradient.T @ self.features[0]
        return np.stack([features.T @ column for features, column in zip(self.features, gradient.T, strict=True)])

    def to_internal(self, weights: Floats) -> Floats:
        """Return the coordinates of the (K-1, D) weights with the same scores."""
        observed = self.prior.unpenalized.observed
        components = weights @ observed
        scores = np.asarray(self.rows @ (weights - components @ observed.T).T).T
        rotated = [self.rotation[c % len(self.rotation)] @ column for c, column in enumerate(scores)]
        return np.hstack([components, np.array(rotated).reshape(len(weights), -1)])

    def from_internal(self, z: Floats) -> Floats:
        """Return the weights from their coordinates."""
        r = self.n_unpenalized
        spanned = [self.bases[c % len(self.bases)] @ column for c, column in enumerate(z[:, r:])]
        return z[:, :r] @ self.prior.unpenalized.observed.T + np.array(spanned).reshape(len(z), -1)

    def transform(self, rows: FeatureMatrix, c: int) -> Floats:
        """Return the (t, size) features of any rows, whose scores are linear in the coordinates."""
        n = len(self.factors)
        return np.hstack([np.asarray(rows @ self.prior.unpenalized.observed), np.asarray(rows @ self.bases[c % n])])

    def residual_covariance(self, left: FeatureMatrix, right: FeatureMatrix, c: int) -> Floats:
        """Return the prior covariance of pairs of rows outside the coordinates, (t,)."""
        factor, r = self.factors[c % len(self.factors)], self.n_unpenalized
        whitened = [factor.whiten(rows) for rows in ((left,) if left is right else (left, right))]
        total = np.asarray((whitened[0] * whitened[-1]).sum(axis=1)).ravel()
        a, b = self.transform(left, c), self.transform(right, c)
        curvature, unobserved = self.prior.unpenalized.curvature, self.prior.unpenalized.unobserved
        total -= (a[:, :r] / curvature * b[:, :r]).sum(axis=1) + (a[:, r:] * b[:, r:]).sum(axis=1)
        return total - (np.asarray(left @ unobserved) * np.asarray(right @ unobserved)).sum(axis=1)

    def residual_cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix, c: int) -> Floats:
        """Return the prior covariance of all pairs of rows outside the coordinates, (t, s), for a small s."""
        factor, r = self.factors[c % len(self.factors)], self.n_unpenalized
        total = np.asarray(left @ factor.solve_rows(right).T)
        a, b = self.transform(left, c), self.transform(right, c)
        curvature, unobserved = self.prior.unpenalized.curvature, self.prior.unpenalized.unobserved
        total = total - (a[:, :r] / curvature @ b[:, :r].T + a[:, r:] @ b[:, r:].T)
        return total - np.asarray(left @ unobserved) @ np.asarray(right @ unobserved).T

    @cached_property
    def log_prior(self) -> float:
        """sum_c log |Lambda_c| outside the unpenalized directions."""
        return _log_determinants(self.factors, self.prior.unpenalized, self.prior.n_vectors)

    @property
    def log_offset(self) -> float:
        """Log |H| minus the log determinant of H in these coordinates."""
        return self.log_prior

    def posterior_counts(self, term: PriorTerm, blocks: list[Floats]) -> Floats:
        """Return the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P for each class.

        It equals that of Phi (I - H_z^-1) Phi^T P, which avoids a difference of large numbers if the labels determine
        few directions.
        """
        r, totals, inner = self.n_unpenalized, [], None
        for c, block in enumerate(blocks):
            basis = self.bases[c % len(self.factors)]
            reduction = np.eye(self.size - r) - block[r:, r:]
            if term.per_weight:
                totals.append(term.diagonal * ((basis @ reduction) * basis).sum(axis=1))
            else:
                if inner is None or len(self.factors) > 1:
                    inner = basis.T @ (term.matrix @ basis)
                totals.append(float((inner * reduction).sum()))
        return np.array(totals)


Coordinates = WeightCoordinates | SampleCoordinates


def choose_coordinates(prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> Coordinates:
    """Return the smaller of the two coordinate systems."""
    m, size = likelihood.features.shape
    return (SampleCoordinates if m < size else WeightCoordinates).from_prior(prior, precisions, likelihood)
