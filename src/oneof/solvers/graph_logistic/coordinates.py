"""Coordinates of the weights for Newton's steps and the Laplace posterior, and the basis for more weights than rows.

The coordinates are the weights themselves, or with fewer labeled rows than weights, one coordinate for each linearly
independent row (Woodbury's identity as a change of coordinates). With Lambda^+ the prior covariance outside the
unpenalized directions N,

    X Lambda^+ X^T = T T^T,   w = N f + Phi z,   Phi = Lambda^+ X^T T^+T,

the scores of the rows are X N f + T z, and z has the prior N(0, I). Weights outside the span of Phi keep their prior.
This takes one factorization of a D x D matrix, and none if Lambda is diagonal.

**The row space.** Let X be all rows, labeled or not. The likelihood and the terms X^T L X and C depend on the
components of the weights in the span of X only. On its orthogonal complement a ridge is the only term; there the
weights are 0, and neither the evidence nor the counts of the precisions depend on the complement. With an orthonormal
basis Q of the span, the weights are thus w = Q v, where v has the instances X Q, the terms Q^T P Q, and the same ridge.
Precisions, evidence and weights are equal in both; a factorization takes r^3 operations for r rows, not D^3 for D
weights. Q consists of eigenvectors of the term of the graph. Lambda is then diagonal, so that no factorization fails if
the graph is much stronger than the ridge. A precision for each weight has no such basis, and without a ridge the
complement is unpenalized. A ridge alone needs no factorization.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import VAGUE_PRECISION, Prior, PriorTerm, scale_rows, symmetric_part, to_dense
from oneof.typing import FeatureMatrix, Floats

EIGENVALUE_RTOL = 1e-15
"""Fraction of the largest eigenvalue of X Lambda^+ X^T below which an eigenvector is dropped."""
MAX_ROWS_PER_WEIGHT = 0.5
"""Fraction of the weights under a ridge above which the number of rows is too large for a gain."""
ROUNDING_RTOL = 1e-13
"""Fraction of the largest entry of a rotated term below which an entry is a rounding error."""


@dataclass(frozen=True)
class PrecisionFactor:
    """Factor of Lambda, completed with the full curvature: its Cholesky factor, or the root of its diagonal."""

    root: Floats
    """(D, D) lower triangular, or (D,)."""

    @classmethod
    def from_prior(cls, prior: Prior, precisions: Floats) -> "PrecisionFactor":
        """Factorize Lambda."""
        matrix = prior.matrix(precisions, 1.0)
        if prior.is_diagonal:
            return cls(np.sqrt(np.asarray(matrix.diagonal())))
        try:
            return cls(scipy.linalg.cholesky(to_dense(matrix), lower=True, check_finite=False))
        except scipy.linalg.LinAlgError:
            raise InputError(
                "the prior precision is not positive definite. Set `alpha` and `beta` above 0, or scale the features, "
                "for example with StandardScaler."
            ) from None

    def whiten(self, rows: FeatureMatrix) -> Floats:
        """Return R with R R^T = x Lambda^-1 x^T for t rows, (t, D); sparse if rows are sparse and Lambda diagonal."""
        if self.root.ndim == 1:
            return scale_rows(rows.T, 1.0 / self.root).T
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


@dataclass(frozen=True)
class Coordinates:
    """Coordinates z of the weights, w = B z, with B = [N, Phi], or the identity."""

    prior: Prior
    precisions: Floats
    rows: FeatureMatrix
    """X, (m, D): features of the labeled rows."""
    features: FeatureMatrix
    """X B, (m, size)."""
    precision: Floats
    """(size, size): prior precision of z, with the vague precision; diagonal unless B is the identity."""
    basis: Floats | None = None
    """B, (D, size); None for the identity."""
    rotation: Floats | None = None
    """T^+, (size - r, m)."""

    @classmethod
    def from_rows(cls, prior: Prior, precisions: Floats, X: FeatureMatrix) -> "Coordinates":
        """Factorize Lambda, and X Lambda^+ X^T."""
        free_scores = np.asarray(X @ prior.observed)
        solved = PrecisionFactor.from_prior(prior, precisions).solve_rows(X)
        solved -= free_scores / prior.curvature @ prior.observed.T
        values, vectors = np.linalg.eigh(symmetric_part(np.asarray(X @ solved.T)))
        roots = np.sqrt(np.where(values > EIGENVALUE_RTOL * values.max(initial=0.0), values, 0.0))
        rotation = np.where(roots > 0, 1.0 / np.where(roots > 0, roots, 1.0), 0.0)[:, None] * vectors.T
        features = np.hstack([free_scores, vectors * roots])
        basis = np.hstack([prior.observed, solved.T @ rotation.T])
        precision = np.diag(np.concatenate([VAGUE_PRECISION * prior.curvature, np.ones(len(roots))]))
        return cls(prior, precisions, X, features, precision, basis, rotation)

    @cached_property
    def factor(self) -> PrecisionFactor:
        """Factor of Lambda."""
        return PrecisionFactor.from_prior(self.prior, self.precisions)

    @property
    def n_unpenalized(self) -> int:
        """Number of coordinates of unpenalized directions, r."""
        return len(self.prior.curvature)

    def prior_matvec(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return z @ self.precision if self.basis is None else z * self.precision.diagonal()

    def to_internal(self, weights: Floats) -> Floats:
        """Return the coordinates of the (K-1, D) weights with the same scores."""
        if self.rotation is None:
            return weights
        observed = self.prior.observed
        components = weights @ observed
        scores = np.asarray(self.rows @ (weights - components @ observed.T).T)
        return np.hstack([components, (self.rotation @ scores).T])

    def from_internal(self, z: Floats) -> Floats:
        """Return the weights from their coordinates."""
        return z if self.basis is None else z @ self.basis.T

    def transform(self, rows: FeatureMatrix) -> Floats:
        """Return the (t, size) features of any rows, without their component in unobserved directions."""
        if self.basis is not None:
            return np.asarray(rows @ self.basis)
        x, unobserved = to_dense(rows), self.prior.unobserved
        return x - x @ unobserved @ unobserved.T

    def residual_covariance(self, left: FeatureMatrix, right: FeatureMatrix, *, pairs: bool) -> Floats:
        """Return the prior covariance of rows outside the coordinates: of all pairs, (t, s), or of `pairs`, (t,)."""
        if self.basis is None:
            return np.zeros(left.shape[0] if pairs else (left.shape[0], right.shape[0]))
        scale = np.ones(self.basis.shape[1])
        scale[: self.n_unpenalized] /= self.prior.curvature
        inside = [np.hstack([self.transform(x), np.asarray(x @ self.prior.unobserved)]) for x in (left, right)]
        inside[0][:, : len(scale)] *= scale
        if not pairs:
            return np.asarray(left @ self.factor.solve_rows(right).T) - inside[0] @ inside[1].T
        whitened = self.factor.whiten(left)
        products = whitened * (whitened if left is right else self.factor.whiten(right))
        return np.asarray(products.sum(axis=1)).ravel() - (inside[0] * inside[1]).sum(axis=1)

    @property
    def log_prior(self) -> float:
        """Sum_c log |Lambda| outside the unpenalized directions, in these coordinates."""
        if self.basis is not None:
            return 0.0
        return self.prior.n_vectors * (self.factor.log_determinant - float(np.log(self.prior.curvature).sum()))

    def posterior_counts(self, total: Floats) -> Floats:
        """Return gamma_j = lambda_j sum_c tr[(Lambda^+ - H_cc^-1) P_j] for each precision, (J,).

        `total` is the sum of the diagonal blocks of H^-1 in these coordinates, (size, size). In those of the rows the
        trace is that of Phi (I - H_z^-1) Phi^T P, which avoids a difference of large numbers if the labels determine
        few directions.
        """
        n, r = self.prior.n_vectors, self.n_unpenalized
        if self.basis is None:
            reduction = n * self.factor.solve_rows(np.eye(len(total))) - total
            products = [term.matrix * reduction for term in self.prior.terms]
        else:
            phi = self.basis[:, r:]
            reduction = phi @ (n * np.eye(len(total) - r) - total[r:, r:])
            products = [(term.matrix @ phi) * reduction for term in self.prior.terms]
        traces = [
            term.per_precision(np.asarray(product.sum(axis=1)))
            for term, product in zip(self.prior.terms, products, strict=True)
        ]
        return np.maximum(self.precisions * np.concatenate(traces), 0.0)


def choose_coordinates(prior: Prior, precisions: Floats, likelihood: CandidateLikelihood) -> Coordinates:
    """Return the smaller of the two coordinate systems."""
    X = likelihood.features
    if X.shape[0] < X.shape[1]:
        return Coordinates.from_rows(prior, precisions, X)
    return Coordinates(prior, precisions, X, X, to_dense(prior.matrix(precisions)))


# -- the row space --------------------------------------------------------------------------------------------------


def row_space_basis(terms: tuple[PriorTerm, ...], rows: FeatureMatrix) -> Floats | None:
    """Return an orthonormal basis of the row space, or None if the weights themselves are to be used.

    Parameters
    ----------
    terms : tuple of PriorTerm
        All that are not diagonal must be 0 outside the span of `rows`, apart from weights without a ridge.
    rows : ndarray or csr_array of shape (n, D)

    Returns
    -------
    ndarray of shape (D, r) or None
        The basis is separate for each ridge, and for weights without a ridge it consists of the unit vectors.
    """
    ridges = [term for term in terms if term.is_diagonal]
    if len(ridges) == len(terms) or not all(map(_is_ridge, ridges)):
        return None
    blocks, free = [], np.ones(rows.shape[1], dtype=bool)
    for ridge in ridges:
        own = ridge.penalized
        part = rows[:, own]
        present = np.flatnonzero(abs(part).sum(axis=1))
        if 0 < len(present) <= MAX_ROWS_PER_WEIGHT * len(own):
            span = scipy.linalg.qr(to_dense(part[present]).T, mode="economic", check_finite=False)[0]
            graph = next((term for term in terms if not term.is_diagonal and term.diagonal[own].any()), None)
            if graph is not None:
                span = span @ np.linalg.eigh(symmetric_part(span.T @ (graph.matrix[own][:, own] @ span)))[1]
            blocks.append((own, span))
            free[own] = False
    if not blocks:
        return None
    unit = np.flatnonzero(free)
    order = np.argsort(np.concatenate([*(own for own, _ in blocks), unit]))
    return scipy.linalg.block_diag(*(block for _, block in blocks), np.eye(unit.size))[order]


def _is_ridge(term: PriorTerm) -> bool:
    """Return whether the entries of a diagonal term are equal where they are not 0."""
    return not term.per_weight and len(np.unique(term.diagonal[term.penalized])) <= 1


def rotate_term(term: PriorTerm, basis: Floats) -> PriorTerm:
    """Return the term for the coefficients of the weights in an orthonormal basis (D, r).

    A term whose entries off the diagonal are rounding errors is diagonal, and its eigenvalues that are rounding errors
    are 0.
    """
    product = symmetric_part(np.asarray(basis.T @ (term.matrix @ basis)))
    diagonal, error = product.diagonal(), ROUNDING_RTOL * np.abs(product).max(initial=0.0)
    if term.is_diagonal or (np.abs(product - np.diag(diagonal)) <= error).all():
        entries = np.where(diagonal > error, term.diagonal.max() if term.is_diagonal else diagonal, 0.0)
        return replace(term, matrix=sp.csr_array(sp.diags_array(entries)))
    return replace(term, matrix=product)
