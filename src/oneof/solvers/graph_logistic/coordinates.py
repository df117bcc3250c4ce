"""Coordinates of the weights for Newton's steps and the Laplace posterior.

`WeightCoordinates` are the weights themselves. `SampleCoordinates` are used if there are fewer labeled rows than
weights: they have one coordinate for each linearly independent row (Woodbury's identity as a change of coordinates).
With Lambda^+ the prior covariance outside the unpenalized directions N,

    X Lambda^+ X^T = T T^T,   w = N f + Phi z,   Phi = Lambda^+ X^T T^+T,

the scores of the rows are X N f + T z, and z has the prior N(0, I). Weights outside the span of Phi keep their prior.
This takes one factorization of a D x D matrix, and none if Lambda is diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import VAGUE_PRECISION, Precisions, Prior, PriorTerm
from oneof.typing import FeatureMatrix, Floats

EIGENVALUE_RTOL = 1e-15
"""Fraction of the largest eigenvalue of X Lambda^+ X^T below which an eigenvector is dropped."""


@dataclass(frozen=True)
class PrecisionFactor:
    """Factor of Lambda, completed with the full curvature: its Cholesky factor, or the root of its diagonal."""

    root: Floats
    """(D, D) lower triangular, or (D,)."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Precisions) -> "PrecisionFactor":
        """Factorize Lambda."""
        matrix = prior.matrix(precisions, 1.0)
        if prior.is_diagonal:
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

    def log_prior(self, prior: Prior) -> float:
        """Return sum_c log |Lambda| outside the unpenalized directions."""
        roots = self.root if self.root.ndim == 1 else self.root.diagonal()
        log_determinant = 2.0 * float(np.log(roots).sum()) - float(np.log(prior.unpenalized.curvature).sum())
        return prior.n_vectors * log_determinant


def to_dense(rows: Any) -> Floats:
    """Return rows as an ndarray."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


@dataclass(frozen=True)
class WeightCoordinates:
    """The weights themselves as coordinates."""

    prior: Prior
    precisions: Precisions
    features: FeatureMatrix
    """(m, D): features of the labeled rows."""
    precision: Floats
    """(D, D): Lambda, completed with the vague precision."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> "WeightCoordinates":
        """Form Lambda."""
        return cls(prior, precisions, likelihood.features, to_dense(prior.matrix(precisions, VAGUE_PRECISION)))

    def prior_matvec(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return self.prior.matvec(z, self.precisions)

    def to_internal(self, weights: Floats) -> Floats:
        """Return the coordinates of (K-1, D) weights."""
        return weights

    def from_internal(self, z: Floats) -> Floats:
        """Return the weights from their coordinates."""
        return z

    def transform(self, rows: FeatureMatrix) -> Floats:
        """Return the (t, size) features of any rows, without their component in unobserved directions."""
        x = to_dense(rows)
        unobserved = self.prior.unpenalized.unobserved
        return x - x @ unobserved @ unobserved.T if unobserved.shape[1] else x

    def residual_covariance(self, left: FeatureMatrix, right: FeatureMatrix, *, pairs: bool) -> Floats:
        """Return the prior covariance of rows outside the coordinates: of all pairs, (t, s), or of `pairs`, (t,)."""
        return np.zeros(left.shape[0] if pairs else (left.shape[0], right.shape[0]))

    @cached_property
    def factor(self) -> PrecisionFactor:
        """Factor of Lambda."""
        return PrecisionFactor.from_prior(self.prior, self.precisions)

    @cached_property
    def _covariance(self) -> Floats:
        return self.factor.solve_rows(np.eye(self.prior.n_weights))

    @property
    def log_offset(self) -> float:
        """Log |H| minus the log determinant of H in these coordinates; unobserved directions have the precision 1."""
        return 0.0

    def posterior_counts(self, term: PriorTerm, total: Floats) -> Floats:
        """Return the sum over classes of the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P.

        `total` is the sum of the diagonal blocks of H^-1, (size, size).
        """
        return self.prior.n_vectors * term.trace(self._covariance) - term.trace(total)


@dataclass(frozen=True)
class SampleCoordinates:
    """One coordinate for each observed unpenalized direction, and one for each linearly independent row."""

    prior: Prior
    precisions: Precisions
    factor: PrecisionFactor
    """Factor of Lambda."""
    features: Floats
    """[X N, T], (m, size)."""
    basis: Floats
    """Phi, (D, size - r)."""
    rotation: Floats
    """T^+, (size - r, m)."""
    rows: FeatureMatrix
    """X, (m, D)."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> "SampleCoordinates":
        """Factorize Lambda and X Lambda^+ X^T."""
        unpenalized, X = prior.unpenalized, likelihood.features
        factor, observed = PrecisionFactor.from_prior(prior, precisions), unpenalized.observed
        unpenalized_scores = np.asarray(X @ observed)
        solved = factor.solve_rows(X) - unpenalized_scores / unpenalized.curvature @ observed.T
        gram = np.asarray(X @ solved.T)
        values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
        roots = np.sqrt(np.where(values > EIGENVALUE_RTOL * values.max(initial=0.0), values, 0.0))
        rotation = np.where(roots > 0, 1.0 / np.where(roots > 0, roots, 1.0), 0.0)[:, None] * vectors.T
        features = np.hstack([unpenalized_scores, vectors * roots])
        return cls(prior, precisions, factor, features, solved.T @ rotation.T, rotation, X)

    @property
    def n_unpenalized(self) -> int:
        """Number of coordinates of unpenalized directions, r."""
        return int(self.prior.unpenalized.observed.shape[1])

    @cached_property
    def precision(self) -> Floats:
        """Prior precision, (size, size), which is diagonal."""
        vague = VAGUE_PRECISION * self.prior.unpenalized.curvature
        return np.diag(np.concatenate([vague, np.ones(self.features.shape[1] - self.n_unpenalized)]))

    def prior_matvec(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return z * self.precision.diagonal()

    def to_internal(self, weights: Floats) -> Floats:
        """Return the coordinates of the (K-1, D) weights with the same scores."""
        observed = self.prior.unpenalized.observed
        components = weights @ observed
        scores = np.asarray(self.rows @ (weights - components @ observed.T).T)
        return np.hstack([components, (self.rotation @ scores).T])

    def from_internal(self, z: Floats) -> Floats:
        """Return the weights from their coordinates."""
        r = self.n_unpenalized
        return z[:, :r] @ self.prior.unpenalized.observed.T + z[:, r:] @ self.basis.T

    def transform(self, rows: FeatureMatrix) -> Floats:
        """Return the (t, size) features of any rows, whose scores are linear in the coordinates."""
        return np.hstack([np.asarray(rows @ self.prior.unpenalized.observed), np.asarray(rows @ self.basis)])

    def residual_covariance(self, left: FeatureMatrix, right: FeatureMatrix, *, pairs: bool) -> Floats:
        """Return the prior covariance of rows outside the coordinates: of all pairs, (t, s), or of `pairs`, (t,)."""
        r, curvature = self.n_unpenalized, self.prior.unpenalized.curvature
        scale = np.concatenate([1.0 / curvature, np.ones(self.features.shape[1] - r)])
        unobserved = self.prior.unpenalized.unobserved
        same, a = left is right, self.transform(left) * scale
        inside = [(a, self.transform(right)), (np.asarray(left @ unobserved), np.asarray(right @ unobserved))]
        if not pairs:
            return np.asarray(left @ self.factor.solve_rows(right).T) - sum(u @ v.T for u, v in inside)
        whitened = self.factor.whiten(left)
        total = np.asarray((whitened * (whitened if same else self.factor.whiten(right))).sum(axis=1)).ravel()
        return total - sum((u * v).sum(axis=1) for u, v in inside)

    @property
    def log_offset(self) -> float:
        """Log |H| minus the log determinant of H in these coordinates."""
        return self.factor.log_prior(self.prior)

    def posterior_counts(self, term: PriorTerm, total: Floats) -> Floats:
        """Return the sum over classes of the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P.

        It equals that of Phi (I - H_z^-1) Phi^T P, which avoids a difference of large numbers if the labels determine
        few directions. `total` is the sum of the diagonal blocks of H_z^-1, (size, size).
        """
        r = self.n_unpenalized
        reduction = self.prior.n_vectors * np.eye(len(total) - r) - total[r:, r:]
        if term.per_weight:
            return term.diagonal * ((self.basis @ reduction) * self.basis).sum(axis=1)
        return np.asarray(float(((self.basis.T @ (term.matrix @ self.basis)) * reduction).sum()))


Coordinates = WeightCoordinates | SampleCoordinates


def choose_coordinates(prior: Prior, precisions: Precisions, likelihood: CandidateLikelihood) -> Coordinates:
    """Return the smaller of the two coordinate systems."""
    m, size = likelihood.features.shape
    return (SampleCoordinates if m < size else WeightCoordinates).from_prior(prior, precisions, likelihood)
