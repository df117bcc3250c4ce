"""Coordinates of the weights in which Newton's steps and the Laplace posterior are worked out.

`DirectSpace` is the weights themselves. Where there are fewer labeled rows than weights, `RowSpace` has one coordinate
for each independent row (Woodbury's identity, as a change of coordinates): with Lambda^+ the prior covariance outside
the open directions N,

    X Lambda^+ X^T = T T^T,   w = N f + Phi z,   Phi = Lambda^+ X^T T^+T,

the scores of the rows are X N f + T z and z has the prior N(0, I). What Phi does not span keeps its prior. One
factorization of a D x D matrix per distinct Lambda does it, and none where Lambda is diagonal.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneof.solvers.graph_logistic.factors import Factor, dense, log_determinants
from oneof.solvers.graph_logistic.openings import VAGUE
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import FeatureMatrix, Floats

NO_EIGENVALUE = 1e-15
"""Share of the largest eigenvalue of X Lambda^+ X^T below which one is left out: what it moves is below rounding."""


@dataclass(frozen=True)
class DirectSpace:
    """The weights themselves."""

    prior: Prior
    precisions: Precisions
    features: FeatureMatrix
    """(m, D)."""
    matrices: tuple[Any, ...]
    """Lambda_c, vaguely closed, one for each distinct class."""

    @classmethod
    def of(cls, prior: Prior, precisions: Precisions, likelihood: Likelihood) -> "DirectSpace":
        """Form Lambda."""
        closed = (prior.openings.closed(prior.matrix(precisions, c), VAGUE) for c in range(prior.n_distinct))
        return cls(prior, precisions, likelihood.features, tuple(dense(matrix) for matrix in closed))

    @property
    def size(self) -> int:
        """Coordinates of a class."""
        return self.prior.n_weights

    def features_of_class(self, _: int) -> FeatureMatrix:
        """Return the (m, size) features of the labeled rows."""
        return self.features

    def prior_of_class(self, c: int) -> Floats:
        """Return the (size, size) prior precision."""
        return self.matrices[c % len(self.matrices)]

    def penalized(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return self.prior.penalized(z, self.precisions)

    def scores(self, z: Floats) -> Floats:
        """Return the (m, K-1) scores."""
        return np.asarray(self.features @ z.T)

    def gather(self, slopes: Floats) -> Floats:
        """Return the (K-1, size) gradient of what has (m, K-1) slopes by the scores."""
        return np.asarray((self.features.T @ slopes).T)

    def enter(self, weights: Floats) -> Floats:
        """Return the coordinates of (K-1, D) weights."""
        return weights

    def leave(self, z: Floats) -> Floats:
        """Return the weights at some coordinates."""
        return z

    def features_of(self, rows: FeatureMatrix, _: int) -> Floats:
        """Return the (t, size) features of any rows, but for what nothing is known of."""
        x = dense(rows)
        unseen = self.prior.openings.unseen
        return x - x @ unseen @ unseen.T if unseen.shape[1] else x

    def missed(self, left: FeatureMatrix, right: FeatureMatrix, _: int) -> Floats:  # noqa: ARG002 - the spaces have one signature
        """Return the prior covariance of pairs of rows outside the space, (t,)."""
        return np.zeros(left.shape[0])

    def missed_cross(self, left: FeatureMatrix, right: FeatureMatrix, _: int) -> Floats:
        """Return the same of all pairs, (t, s)."""
        return np.zeros((left.shape[0], right.shape[0]))

    @cached_property
    def factors(self) -> tuple[Factor, ...]:
        """Lambda_c, closed with the whole curvature, factorized."""
        closed = (self.prior.openings.closed(self.prior.matrix(self.precisions, c), 1.0) for c in self._distinct)
        return tuple(Factor.of(matrix, is_diagonal=self.prior.is_diagonal) for matrix in closed)

    @cached_property
    def covariances(self) -> tuple[Floats, ...]:
        """Lambda^-1 so closed, of each distinct class."""
        return tuple(factor.solve_rows(np.eye(self.size)) for factor in self.factors)

    @property
    def log_prior(self) -> float:
        """sum_c log |Lambda_c| outside the open directions."""
        return log_determinants(self.factors, self.prior.openings, self.prior.n_vectors)

    @property
    def log_outside(self) -> float:
        """Log |H| less the log determinant of H in these coordinates: what is not seen is closed by 1."""
        return 0.0

    def learned(self, term: Term, blocks: list[Floats]) -> Floats:
        """Return the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P for each class.

        `blocks` are the diagonal blocks of H^-1, (size, size) for each class.
        """
        both = ((self.covariances[c % len(self.factors)], block) for c, block in enumerate(blocks))
        return np.array([_traced(term, prior) - _traced(term, block) for prior, block in both])

    @property
    def _distinct(self) -> range:
        return range(self.prior.n_distinct)


def _traced(term: Term, covariance: Floats) -> Any:
    if term.per_weight:
        return term.diagonal * covariance.diagonal()
    return float((term.matrix * covariance).sum())


@dataclass(frozen=True)
class RowSpace:
    """One coordinate for each open direction that is seen, and one for each independent row."""

    prior: Prior
    precisions: Precisions
    factors: tuple[Factor, ...]
    """Lambda_c of each distinct class, closed with the whole curvature."""
    features: tuple[Floats, ...]
    """[X N, T] of each distinct class, (m, size); filled up with zeros where a class has fewer independent rows."""
    spans: tuple[Floats, ...]
    """Phi of each distinct class, (D, size - r)."""
    turns: tuple[Floats, ...]
    """T^+ of each distinct class, (size - r, m)."""
    rows: FeatureMatrix
    """X, (m, D)."""

    @classmethod
    def of(cls, prior: Prior, precisions: Precisions, likelihood: Likelihood) -> "RowSpace":
        """Factorize Lambda, and X Lambda^+ X^T."""
        openings, X = prior.openings, likelihood.features
        open_scores = np.asarray(X @ openings.seen)
        factors, features, spans, turns = [], [], [], []
        for c in range(prior.n_distinct):
            factor = Factor.of(openings.closed(prior.matrix(precisions, c), 1.0), is_diagonal=prior.is_diagonal)
            spread = factor.solve_rows(X) - open_scores / openings.curvature @ openings.seen.T
            gram = np.asarray(X @ spread.T)
            values, vectors = np.linalg.eigh((gram + gram.T) / 2.0)
            roots = np.sqrt(np.where(values > NO_EIGENVALUE * values.max(initial=0.0), values, 0.0))
            inverse = np.where(roots > 0, 1.0 / np.where(roots > 0, roots, 1.0), 0.0)
            factors.append(factor)
            features.append(np.hstack([open_scores, vectors * roots]))
            turns.append(inverse[:, None] * vectors.T)
            spans.append(spread.T @ turns[-1].T)
        return cls(prior, precisions, tuple(factors), tuple(features), tuple(spans), tuple(turns), X)

    @property
    def size(self) -> int:
        """Coordinates of a class."""
        return int(self.features[0].shape[1])

    @property
    def n_open(self) -> int:
        """How many of them are open directions."""
        return int(self.prior.openings.seen.shape[1])

    def features_of_class(self, c: int) -> Floats:
        """Return the (m, size) features of the labeled rows."""
        return self.features[c % len(self.features)]

    @cached_property
    def prior_diagonal(self) -> Floats:
        """The prior precision, (size,), which is diagonal."""
        vague = VAGUE * self.prior.openings.curvature
        return np.concatenate([vague, np.ones(self.size - self.n_open)])

    def prior_of_class(self, _: int) -> Floats:
        """Return the (size, size) prior precision."""
        return np.diag(self.prior_diagonal)

    def penalized(self, z: Floats) -> Floats:
        """Return the prior precision times (K-1, size) coordinates."""
        return z * self.prior_diagonal

    def scores(self, z: Floats) -> Floats:
        """Return the (m, K-1) scores."""
        if len(self.features) == 1:
            return self.features[0] @ z.T
        return np.stack([own @ part for own, part in zip(self.features, z, strict=True)], axis=1)

    def gather(self, slopes: Floats) -> Floats:
        """Return the (K-1, size) gradient of what has (m, K-1) slopes by the scores."""
        if len(self.features) == 1:
            return slopes.T @ self.features[0]
        return np.stack([own.T @ part for own, part in zip(self.features, slopes.T, strict=True)])

    def enter(self, weights: Floats) -> Floats:
        """Return the coordinates of the (K-1, D) weights with the same scores."""
        own = weights @ self.prior.openings.seen
        scores = np.asarray(self.rows @ (weights - own @ self.prior.openings.seen.T).T).T
        turned = [self.turns[c % len(self.turns)] @ part for c, part in enumerate(scores)]
        return np.hstack([own, np.array(turned).reshape(len(weights), -1)])

    def leave(self, z: Floats) -> Floats:
        """Return the weights at some coordinates."""
        r = self.n_open
        spanned = [self.spans[c % len(self.spans)] @ part for c, part in enumerate(z[:, r:])]
        return z[:, :r] @ self.prior.openings.seen.T + np.array(spanned).reshape(len(z), -1)

    def features_of(self, rows: FeatureMatrix, c: int) -> Floats:
        """Return the (t, size) features of any rows: of w = N f + Phi z, their scores."""
        return np.hstack([np.asarray(rows @ self.prior.openings.seen), np.asarray(rows @ self.spans[c % self._n])])

    def missed(self, left: FeatureMatrix, right: FeatureMatrix, c: int) -> Floats:
        """Return the prior covariance of pairs of rows outside the space, (t,)."""
        factor, r = self.factors[c % self._n], self.n_open
        halves = [factor.half(rows) for rows in ((left,) if left is right else (left, right))]
        known = np.asarray((halves[0] * halves[-1]).sum(axis=1)).ravel()
        a, b = self.features_of(left, c), self.features_of(right, c)
        known -= (a[:, :r] / self.prior.openings.curvature * b[:, :r]).sum(axis=1) + (a[:, r:] * b[:, r:]).sum(axis=1)
        unseen = self.prior.openings.unseen
        return known - (np.asarray(left @ unseen) * np.asarray(right @ unseen)).sum(axis=1)

    def missed_cross(self, left: FeatureMatrix, right: FeatureMatrix, c: int) -> Floats:
        """Return the same of all pairs, (t, s), of which the second are few."""
        factor, r = self.factors[c % self._n], self.n_open
        known = np.asarray(left @ factor.solve_rows(right).T)
        a, b = self.features_of(left, c), self.features_of(right, c)
        known = known - (a[:, :r] / self.prior.openings.curvature @ b[:, :r].T + a[:, r:] @ b[:, r:].T)
        unseen = self.prior.openings.unseen
        return known - np.asarray(left @ unseen) @ np.asarray(right @ unseen).T

    @cached_property
    def log_prior(self) -> float:
        """sum_c log |Lambda_c| outside the open directions."""
        return log_determinants(self.factors, self.prior.openings, self.prior.n_vectors)

    @property
    def log_outside(self) -> float:
        """Log |H| less the log determinant of H in these coordinates."""
        return self.log_prior

    def learned(self, term: Term, blocks: list[Floats]) -> Floats:
        """Return the trace, or per weight the diagonal, of (Lambda^+ - H^-1) P for each class.

        It is that of Phi (I - H_z^-1) Phi^T P: no difference of large numbers where little is learned.
        """
        r, totals, inner = self.n_open, [], None
        for c, block in enumerate(blocks):
            span = self.spans[c % self._n]
            gain = np.eye(self.size - r) - block[r:, r:]
            if term.per_weight:
                totals.append(term.diagonal * ((span @ gain) * span).sum(axis=1))
            else:
                if inner is None or self._n > 1:
                    inner = span.T @ (term.matrix @ span)
                totals.append(float((inner * gain).sum()))
        return np.array(totals)

    @property
    def _n(self) -> int:
        return len(self.factors)


Space = DirectSpace | RowSpace


def space_of(prior: Prior, precisions: Precisions, likelihood: Likelihood) -> Space:
    """Return the space of fewer coordinates."""
    m, size = likelihood.features.shape
    return (RowSpace if m < size else DirectSpace).of(prior, precisions, likelihood)
