"""Gaussian prior of graph-prior logistic regression: its matrices, its terms, and the directions without a penalty.

Each weight vector w^(c), c = 1..K-1, has the prior N(0, Lambda^-1) (6) with

    Lambda = sum_j lambda_j P_j.                                        (5) for one view, (10) for views

P_j is the smoothness matrix X^T L X of a graph, the identity (ridge), a diagonal mask with one precision per weight
(ARD), or the disagreement of views (coregularization). The precisions lambda of all terms are one vector (J,), in the
order of the terms. The prior is improper in the directions that no term penalizes, such as the intercept;
`Prior` completes it there.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.graphs import laplacian
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.typing import FeatureMatrix, Floats, Ints

EIGENVALUE_RTOL = 1e-10
"""Fraction of the largest eigenvalue, of a matrix scaled to a unit diagonal, below which an eigenvalue counts as 0."""
VAGUE_PRECISION = 1e-8
"""Precision of observed unpenalized directions, in units of the curvature of the labeled rows in that direction."""
SCORE_RTOL = 1e-5
"""Fraction of a row's norm below which its score in an unpenalized direction counts as 0.

It is the root of `EIGENVALUE_RTOL`: in a direction whose penalty is 0, a row contains rounding errors only.
"""
SMOOTHNESS_RTOL = 1e-13
"""Fraction of a feature's weighted sum of squares below which its squared differences along edges count as 0."""
MAX_SPARSE_DENSITY = 0.1
"""Density above which a sparse product is stored as a dense matrix, which is faster."""


# -- the matrices of the terms --------------------------------------------------------------------------------------


def smoothness_matrix(features: FeatureMatrix, affinity: sp.csr_array, weight: Floats) -> Any:
    """Return A = X^T L X (4), with L the Laplacian of the edge weights w_i w_j W_ij.

    w^T A w is the weighted sum of the squared differences of the scores along the edges. A row of weight w is
    equivalent to w equal rows: their scores are equal, and each of them has the edges of the one row.

    Parameters
    ----------
    features : ndarray or CSR matrix of shape (n, p)
    affinity : csr_array of shape (n, n)
    weight : ndarray of shape (n,)

    Returns
    -------
    ndarray or csr_array of shape (p, p)
        Symmetric and positive semi-definite. Its rank is below p if the number of rows minus the number of connected
        components is below p.
    """
    diagonal = sp.diags_array(weight, format="csr")
    L = laplacian(diagonal @ affinity @ diagonal)
    A = densify_if_full(features.T @ (L @ features))
    # Features that are equal along all edges, such as a constant, have 0 here up to rounding.
    squares = np.asarray((features * features).T @ L.diagonal()).ravel()
    varies = (A.diagonal() > SMOOTHNESS_RTOL * squares).astype(np.float64)
    return symmetric_part(scale_rows(scale_rows(A, varies).T, varies).T)


def disagreement_matrix(left: FeatureMatrix, right: FeatureMatrix, weight: Floats) -> Any:
    """Return C = sum_i w_i (l_i - r_i) (l_i - r_i)^T (8), with the instances in the columns of all views."""
    difference = scale_rows(left - right, np.sqrt(weight))
    return symmetric_part(difference.T @ difference)


def symmetric_part(matrix: Any) -> Any:
    """Return (A + A^T) / 2, without the antisymmetric part that rounding adds."""
    return densify_if_full((matrix + matrix.T) / 2)


def densify_if_full(matrix: Any) -> Any:
    """Return a sparse matrix unchanged if its density is at most `MAX_SPARSE_DENSITY`, and dense otherwise."""
    if not sp.issparse(matrix):
        return np.asarray(matrix)
    return matrix.toarray() if matrix.nnz > MAX_SPARSE_DENSITY * max(np.prod(matrix.shape), 1) else sp.csr_array(matrix)


def scale_rows(rows: Any, factors: Floats) -> Any:
    """Return the rows, dense or sparse, each multiplied by its factor."""
    return sp.csr_array(sp.diags_array(factors) @ rows) if sp.issparse(rows) else factors[:, None] * rows


def to_dense(rows: Any) -> Floats:
    """Return rows as an ndarray."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


# -- the terms ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PriorTerm:
    """Term lambda P of the prior precision: one matrix for all classes, times a precision that is estimated."""

    name: str
    matrix: Any
    """(D, D): symmetric positive semi-definite, ndarray or csr_array. With `per_weight`, a diagonal of 0 and 1."""
    per_weight: bool = False
    """Whether each weight with a diagonal entry of 1 has its own precision."""
    couples_views: bool = False
    """Whether the term couples weights of views, which are models of the same labels.

    The evidence of the other terms excludes such a term, since coupled views would count each label several times.
    """

    @cached_property
    def diagonal(self) -> Floats:
        """P_uu, (D,)."""
        return np.asarray(self.matrix.diagonal(), dtype=np.float64)

    @cached_property
    def penalized(self) -> Ints:
        """Indices of the weights with P_uu > 0."""
        return np.flatnonzero(self.diagonal > 0)

    @property
    def n_precisions(self) -> int:
        """Number of its precisions."""
        return len(self.penalized) if self.per_weight else 1

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether all stored entries are on the diagonal."""
        if not sp.issparse(self.matrix):
            return self.per_weight
        entries = sp.coo_array(self.matrix)
        return bool(np.all((entries.coords[0] == entries.coords[1]) | (entries.data == 0)))

    def per_precision(self, products: Floats) -> Floats:
        """Return the sum of one number for each weight, as (1,), or with `per_weight` those of the penalized ones."""
        return products[self.penalized] if self.per_weight else np.array([products.sum()])

    def counts(self) -> Floats:
        """Return the number of weights under each precision, which is the rank of P, or 1 with `per_weight`."""
        if self.per_weight or self.is_diagonal:
            return self.per_precision((self.diagonal > 0).astype(np.float64))
        block = to_dense(self.matrix[self.penalized][:, self.penalized])
        return np.array([len(block) - null_space(block).shape[1]], dtype=np.float64)

    def scaled(self, precision: Floats) -> Any:
        """Return lambda P."""
        if not self.per_weight:
            return float(precision[0]) * self.matrix
        entries = np.zeros(len(self.diagonal))
        entries[self.penalized] = precision
        return sp.diags_array(entries, format="csr")


# -- the directions without a penalty -------------------------------------------------------------------------------


def _unpenalized_basis(terms: tuple[PriorTerm, ...], n_weights: int) -> Floats:
    """Return an orthonormal basis of the unpenalized directions, (D, r).

    They have no component in the weights that a diagonal term penalizes.
    """
    free = np.ones(n_weights, dtype=bool)
    for term in terms:
        if term.is_diagonal:
            free[term.penalized] = False
    total = np.zeros((np.count_nonzero(free),) * 2)
    for term in terms:
        if not term.is_diagonal and (largest := term.diagonal.max(initial=0.0)) > 0:
            total += to_dense(term.matrix[free][:, free]) / largest
    null = null_space(total)
    basis = np.zeros((n_weights, null.shape[1]))
    basis[free] = np.linalg.qr(null)[0]
    return basis


def null_space(matrix: Floats) -> Floats:
    """Return a basis of the numerical null space of a positive semi-definite matrix, scaled to a unit diagonal."""
    diagonal = matrix.diagonal()
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / np.outer(scale, scale)
    try:
        factor = np.linalg.cholesky(scaled)
        if factor.diagonal().min(initial=1.0) ** 2 > 1e-6:
            return np.zeros((len(matrix), 0))
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(scaled)
    return vectors[:, values <= EIGENVALUE_RTOL * max(values[-1], EIGENVALUE_RTOL)] / scale[:, None]


# -- the prior ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prior:
    """Sum of the terms over K-1 weight vectors, completed in the directions that no term penalizes.

    An unpenalized direction is observed if some labeled row has a score along it. It gets a vague precision of
    `VAGUE_PRECISION` times its curvature, so that an optimum exists if the classes are separable or a class has no row.
    In an unobserved direction the weights are 0; determinants, inverses and covariances are those of the other
    directions.
    """

    terms: tuple[PriorTerm, ...]
    n_vectors: int
    """K-1."""
    observed: Floats
    """(D, r): orthonormal directions that are unpenalized and observed."""
    curvature: Floats
    """(r,): 1/4 sum_i (x_i^T u)^2 of each observed direction, above 0. The directions are uncorrelated in it."""
    unobserved: Floats
    """(D, u): orthonormal directions that are neither penalized nor observed."""

    @classmethod
    def from_terms(cls, terms: tuple[PriorTerm, ...], likelihood: CandidateLikelihood) -> "Prior":
        """Compute the null space of the sum of the terms, and the curvature of the labeled rows in it."""
        X, roots = likelihood.features, np.sqrt(likelihood.row_weight) / 2.0
        basis = _unpenalized_basis(terms, X.shape[1])
        scores = roots[:, None] * np.asarray(X @ basis)
        # Rows without a component in the null space have scores there only by rounding; these are not observations.
        norms = np.sqrt(np.asarray((X * X).sum(axis=1)).ravel()) * roots
        scores[np.abs(scores) <= SCORE_RTOL * norms[:, None]] = 0.0
        gram = scores.T @ scores
        hidden = null_space(gram)
        rotation = np.linalg.qr(hidden, mode="complete")[0]  # its first columns span the hidden directions
        hidden, complement = np.split(rotation, [hidden.shape[1]], axis=1)
        curvature, vectors = np.linalg.eigh(complement.T @ gram @ complement)
        curvature = np.maximum(curvature, np.finfo(float).tiny)
        n_vectors = likelihood.evidence.shape[1] - 1
        return cls(terms, n_vectors, basis @ (complement @ vectors), curvature, basis @ hidden)

    @property
    def n_weights(self) -> int:
        """D."""
        return len(self.observed)

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether every term is diagonal, and every unpenalized direction that of a single weight."""
        directions = np.abs(np.hstack([self.observed, self.unobserved])) > EIGENVALUE_RTOL
        return all(term.is_diagonal for term in self.terms) and bool((directions.sum(axis=0) == 1).all())

    def _split(self, precisions: Floats) -> list[tuple[PriorTerm, Floats]]:
        """Return the terms with their precisions."""
        ends = np.cumsum([term.n_precisions for term in self.terms])[:-1]
        return list(zip(self.terms, np.split(precisions, ends), strict=True))

    def by_term(self, precisions: Floats) -> dict[str, Floats]:
        """Return the precisions of each term by its name: (), or with `per_weight` (D,), 0 for other weights."""
        return {
            term.name: np.asarray(term.scaled(part).diagonal() if term.per_weight else part[0])
            for term, part in self._split(precisions)
        }

    def from_names(self, precisions: dict[str, Floats]) -> Floats:
        """Return the vector (J,) of the precisions of each term by its name."""
        values = [(term, np.asarray(precisions[term.name], dtype=np.float64)) for term in self.terms]
        return np.concatenate(
            [value[term.penalized] if term.per_weight else value.reshape(1) for term, value in values]
        )

    def quadratics(self, weights: Floats) -> Floats:
        """Return sum_c w^(c)T P_j w^(c) for each precision, (J,)."""
        parts = [term.per_precision((weights.T * (term.matrix @ weights.T)).sum(axis=1)) for term in self.terms]
        return np.maximum(np.concatenate(parts), 0.0)

    def counts(self) -> Floats:
        """Return the number of directions of the weights of all classes under each precision, (J,)."""
        return self.n_vectors * np.concatenate([term.counts() for term in self.terms])

    def vague_quadratic(self, weights: Floats) -> float:
        """Return sum_c w^(c)T M w^(c) under the vague precision M; unobserved directions have the precision 1."""
        scores = (weights @ self.observed) ** 2 @ (VAGUE_PRECISION * self.curvature)
        return float(scores.sum() + ((weights @ self.unobserved) ** 2).sum())

    def penalty(self, weights: Floats, precisions: Floats) -> float:
        """Return 1/2 sum_c w^(c)T Lambda w^(c), with the vague precision."""
        return 0.5 * (float(precisions @ self.quadratics(weights)) + self.vague_quadratic(weights))

    def matrix(self, precisions: Floats, fraction: float = VAGUE_PRECISION) -> Any:
        """Return Lambda, with `fraction` times the curvature of the observed unpenalized directions and 1 for others.

        It is a csr_array if all terms are, else an ndarray.
        """
        total: Any = sp.csr_array((self.n_weights, self.n_weights))
        for term, part in self._split(precisions):
            total = total + term.scaled(part)
        roots = np.hstack([self.observed * np.sqrt(fraction * self.curvature), self.unobserved])
        if not sp.issparse(total):
            return np.asarray(total + roots @ roots.T)
        roots = sp.csr_array(roots)
        return sp.csr_array(total + roots @ roots.T)
