"""The likelihood of graph-prior logistic regression over the labeled rows, with its derivatives.

With s_ik = w^(k)T x_i, w^(K) = 0 and p_i the softmax of s_i,

    l(w) = sum_i v_i log sum_{k in S_i} p_ik,

v the weights of the rows. Its gradient by the scores is q_i - p_i with q_i the shares of p_i within the set: the
responsibilities of the generalized EM algorithm, which an exact label makes 1 at the label.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oneof.likelihoods import log_likelihood_gradient, log_likelihoods, masked_softmax, softmax, softmax_jvp
from oneof.typing import FeatureMatrix, Floats, Mask


@dataclass(frozen=True)
class Point:
    """What the derivatives need of the scores at one w."""

    shares: Floats
    """p, (m, K)."""
    inside: Floats
    """q, (m, K)."""
    likelihood: float
    """l."""


@dataclass(frozen=True)
class Likelihood:
    """Rows that have some weight and say something."""

    features: FeatureMatrix
    """(m, D)."""
    mask: Mask
    """(m, K)."""
    row_weight: Floats
    """v, (m,)."""

    @classmethod
    def of(cls, features: FeatureMatrix, mask: Mask, sample_weight: Floats | None) -> "Likelihood":
        """Leave out rows without weight, and full sets."""
        row_weight = np.ones(len(mask)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        told = (row_weight > 0) & ~mask.all(axis=1)
        if told.all():
            return cls(features.astype(np.float64, copy=False), mask, row_weight)
        return cls(features[told].astype(np.float64, copy=False), mask[told], row_weight[told])

    @property
    def n_vectors(self) -> int:
        """K-1."""
        return self.mask.shape[1] - 1

    @cached_property
    def is_exact(self) -> bool:
        """Whether every set is a single label, so that l is concave."""
        return bool((self.mask.sum(axis=1) == 1).all())

    def point(self, scores: Floats) -> Point:
        """Return the shares at (m, K-1) scores."""
        whole = np.concatenate([scores, np.zeros((len(scores), 1))], axis=1)
        return Point(
            softmax(whole),
            masked_softmax(whole, self.mask),
            float(self.row_weight @ log_likelihoods(whole, self.mask)),
        )

    def slopes(self, at: Point) -> Floats:
        """Return the (m, K-1) gradient of l by the scores."""
        return self.row_weight[:, None] * log_likelihood_gradient(at.shares, at.inside, self.mask)[:, :-1]

    def bends(self, at: Point, moves: Floats) -> Floats:
        """Return minus the Hessian of l by the scores, times (m, K-1) moves of theirs."""
        bent = softmax_jvp(at.shares[:, :-1], moves)
        if not self.is_exact:
            bent -= softmax_jvp(at.inside[:, :-1], moves)
        bent *= self.row_weight[:, None]
        return bent

    def bend(self, at: Point) -> Floats:
        """Return about the trace of minus the Hessian of l by each row's K scores, (m,), at least 0."""
        trace = 1.0 - (at.shares**2).sum(axis=1)
        if not self.is_exact:
            missed = np.where(self.mask, 0.0, at.shares).sum(axis=1)
            trace = np.minimum(trace, 2.0 * missed)
        return np.maximum(trace, 0.0)

    def curvatures(self, at: Point, *, convex: bool) -> Floats:
        """Return minus the Hessian of l by the scores of each row, (m, K-1, K-1).

        For a candidate set it is diag p - p p^T less diag q - q q^T and may be indefinite; `convex` leaves out its
        negative part. An exact label has diag p - p p^T, a full set 0.
        """
        curved = _spread(at.shares)
        several = np.flatnonzero(self.mask.sum(axis=1) > 1)
        if len(several):
            less = curved[several] - _spread(at.inside[several])
            if convex:
                values, vectors = np.linalg.eigh(less)
                less = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.mT
            curved[several] = less
        return self.row_weight[:, None, None] * curved[:, :-1, :-1]


def _spread(shares: Floats) -> Floats:
    """Return diag p - p p^T of each row, (m, K, K)."""
    spread = -shares[:, :, None] * shares[:, None, :]
    spread[:, np.arange(shares.shape[1]), np.arange(shares.shape[1])] += shares
    return spread
