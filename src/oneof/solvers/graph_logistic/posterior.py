"""The Laplace approximation to the posterior of the weights.

It is N(w, H^-1) with

    H = Lambda + sum_i v_i (diag p_i - p_i p_i^T) kron x_i x_i^T,

p_i over the first K-1 classes (section 5 of Krishnapuram et al. 2004). A candidate set has less curvature: see
`Likelihood.curvatures`. H is worked out in the coordinates of spaces.py; where they are more than `MOST_COORDINATES`,
only the block of each class is, as if the classes were independent given the rows.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from oneof.errors import InputError
from oneof.solvers.graph_logistic.curvature import cholesky, class_hessian, is_whole, whole_hessian
from oneof.solvers.graph_logistic.openings import Openings
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.spaces import Space, space_of
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import FeatureMatrix, Floats, Mask

CHUNK = 20_000
"""Rows worked on at a time."""


@dataclass(frozen=True)
class Inverse:
    """H^-1 in the coordinates of a space: whole, or the block of each class."""

    blocks: dict[tuple[int, int], Floats]
    """(size, size) for each pair c <= k of classes, or for each c = k alone."""
    log_determinant: float
    """log |H| in these coordinates."""

    @classmethod
    def of(cls, space: Space, curvatures: Floats) -> "Inverse":
        """Form H and invert it."""
        n, r = space.prior.n_vectors, space.size
        if not is_whole(space):
            parts = [_inverse(class_hessian(space, curvatures[:, c, c], c)) for c in range(n)]
            return cls({(c, c): part[0] for c, part in enumerate(parts)}, sum(part[1] for part in parts))
        inverse, log_determinant = _inverse(whole_hessian(space, curvatures))
        cut = {(c, k): inverse[c * r : (c + 1) * r, k * r : (k + 1) * r] for c in range(n) for k in range(c, n)}
        return cls(cut, log_determinant)


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    factor = cholesky(matrix)
    if factor is None:
        raise InputError("the posterior precision is not positive definite: scale the features, or raise a precision.")
    lower = np.tril(scipy.linalg.lapack.dpotri(factor, lower=True)[0])
    return lower + np.tril(lower, -1).T, 2.0 * float(np.log(factor.diagonal()).sum())


@dataclass(frozen=True)
class LaplacePosterior:
    """A Gaussian posterior of the (K-1, D) weights; made by `of`."""

    weights: Floats
    """(K-1, D): its mode."""
    space: Space
    inverse: Inverse

    @classmethod
    def of(
        cls,
        features: FeatureMatrix,
        weights: Floats,
        terms: list[Term] | tuple[Term, ...],
        precisions: Precisions,
        sample_weight: Floats | None = None,
        mask: Mask | None = None,
    ) -> "LaplacePosterior":
        """Work out H.

        Parameters
        ----------
        features : ndarray or csr_array of shape (m, D)
            The labeled instances.
        weights : ndarray of shape (K-1, D)
        terms : sequence of Term
        precisions : dict
        sample_weight : ndarray of shape (m,), optional
        mask : ndarray of shape (m, K), bool, optional
            The candidate sets; without it every row counts as exactly labeled.
        """
        if mask is None:
            mask = np.zeros((features.shape[0], len(weights) + 1), dtype=bool)
            mask[:, 0] = True
        likelihood = Likelihood.of(features, mask, sample_weight)
        openings = Openings.of(tuple(terms), likelihood.features, likelihood.row_weight)
        space = space_of(Prior(tuple(terms), len(weights), openings), precisions, likelihood)
        at = likelihood.point(np.asarray(likelihood.features @ weights.T))
        return cls(weights, space, Inverse.of(space, likelihood.curvatures(at, convex=True)))

    @property
    def n_vectors(self) -> int:
        """K-1."""
        return len(self.weights)

    def covariance(self, left: FeatureMatrix, right: FeatureMatrix | None = None) -> Floats:
        """Return the posterior covariance of the scores of pairs of instances.

        Parameters
        ----------
        left, right : ndarray or csr_array of shape (t, D)
            Without `right`, each instance is paired with itself.

        Returns
        -------
        ndarray of shape (t, K-1, K-1)
            (I kron l_t)^T H^-1 (I kron r_t).
        """
        right = left if right is None else right
        t = left.shape[0]
        whole = np.zeros((t, self.n_vectors, self.n_vectors))
        for start in range(0, t, CHUNK):
            part = slice(start, min(start + CHUNK, t))
            own = left[part]
            with np.errstate(over="ignore", invalid="ignore"):
                whole[part] = self._of_pairs(own, own if left is right else right[part])
        if not np.isfinite(whole).all():
            raise InputError("covariances of the scores overflow: scale the features, for example with StandardScaler.")
        return whole

    @property
    def log_determinant(self) -> float:
        """Log |H|, outside the directions that neither prior nor rows see."""
        return self.inverse.log_determinant + self.space.log_outside

    def cross_covariance(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        """Return the posterior covariance of all pairs: (t, D) and (s, D) instances -> (t, s, K-1, K-1)."""
        n = self.n_vectors
        whole = np.zeros((left.shape[0], right.shape[0], n, n))
        a, b, missed = [], [], []
        for c in range(self.space.prior.n_distinct):
            a.append(self.space.features_of(left, c))
            b.append(self.space.features_of(right, c))
            missed.append(self.space.missed_cross(left, right, c))
        for (c, k), block in self.inverse.blocks.items():
            whole[:, :, c, k] = a[c % len(a)] @ (block @ b[k % len(b)].T)
            if c == k:
                whole[:, :, c, c] += missed[c % len(missed)]
            else:
                whole[:, :, k, c] = a[k % len(a)] @ (block.T @ b[c % len(b)].T)
        return whole

    def _of_pairs(self, left: FeatureMatrix, right: FeatureMatrix) -> Floats:
        n, same = self.n_vectors, left is right
        whole = np.zeros((left.shape[0], n, n))
        a = [self.space.features_of(left, c) for c in range(self.space.prior.n_distinct)]
        b = a if same else [self.space.features_of(right, c) for c in range(self.space.prior.n_distinct)]
        missed = [self.space.missed(left, right, c) for c in range(self.space.prior.n_distinct)]
        for (c, k), block in self.inverse.blocks.items():
            whole[:, c, k] = ((a[c % len(a)] @ block) * b[k % len(b)]).sum(axis=1)
            if c == k:
                whole[:, c, c] += missed[c % len(missed)]
            else:
                whole[:, k, c] = whole[:, c, k] if same else ((a[k % len(a)] @ block.T) * b[c % len(b)]).sum(axis=1)
        return whole
