"""How the precisions of the prior set themselves, given the weights that they led to.

With w^T P w the square of the weights under a term, both rules have a fixed point at

    lambda = (2 alpha + n) / (2 beta + w^T P w).

`em` is the E-step of Krishnapuram et al. (2004): n is the number of directions that the precision governs (the rank of
P, or 1 for a weight of its own, times the number of classes that share it). `evidence` is MacKay's (1992): n is how
many of these the data determine, gamma = lambda tr[(Lambda^+ - H^-1) P], where the derivative of the Laplace evidence
by log lambda vanishes, at the curvature where the mode stands. For one term gamma = d - lambda tr(H^-1 A).
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.graph_logistic.posterior import Inverse
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.spaces import Space
from oneof.solvers.graph_logistic.terms import Precisions, Term
from oneof.typing import Floats

ALL_BUT_ZERO = 1e8
"""Precision at which the weights under a term are as good as 0, in units of the labeled rows' curvature."""
ALL_BUT_FREE = 1e-8
"""Precision at which a term no longer matters, in the same units."""


@dataclass(frozen=True)
class Hyper:
    """The Gamma hyper-prior of all precisions, and the range of each."""

    alpha: float
    beta: float
    lowest: dict[str, float]
    largest: dict[str, float]

    @classmethod
    def of(cls, terms: tuple[Term, ...], likelihood: Likelihood, alpha: float, beta: float) -> "Hyper":
        """Find the ranges: around the precision that weighs as much as the labeled rows."""
        scales = {term.name: scale_of(term, likelihood) for term in terms}
        lowest = {term.name: min(ALL_BUT_FREE * scales[term.name], term.largest) for term in terms}
        largest = {term.name: min(ALL_BUT_ZERO * scales[term.name], term.largest) for term in terms}
        return cls(alpha, beta, lowest, largest)

    def updated(self, term: Term, counts: Floats, quadratic: Floats) -> Floats:
        """Return (2 alpha + n) / (2 beta + w^T P w), within the range; 0 where a weight is not in the term."""
        count, square = 2.0 * self.alpha + counts, 2.0 * self.beta + quadratic
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found = np.where(square > 0, count / square, np.inf)
        return self.within(term, found)

    def within(self, term: Term, precision: Floats) -> Floats:
        """Return the precisions within their range."""
        inside = np.clip(precision, self.lowest[term.name], self.largest[term.name])
        return np.asarray(np.where(term.diagonal > 0, inside, 0.0) if term.per_weight else inside)

    def slopes(self, term: Term, precision: Floats, counts: Floats, quadratic: Floats) -> Floats:
        """Return the derivatives by log lambda of what the update makes stationary, in the shape of the precisions.

        They are alpha + n / 2 - lambda (beta + w^T P w / 2), or 0 where they lead out of the range.
        """
        slopes = self.alpha + counts / 2.0 - precision * (self.beta + quadratic / 2.0)
        rising = (slopes > 0) & (precision >= self.largest[term.name])
        falling = (slopes < 0) & (precision <= self.lowest[term.name])
        slopes = np.where(rising | falling, 0.0, slopes)
        return np.asarray(np.where(term.diagonal > 0, slopes, 0.0) if term.per_weight else slopes)

    def log_prior(self, precision: Floats) -> float:
        """Return the logarithm of the hyper-prior, as a density of log lambda, but for a constant."""
        own = precision[precision > 0]
        return float((self.alpha * np.log(own) - self.beta * own).sum())


def scale_of(term: Term, likelihood: Likelihood) -> float:
    """Return the precision at which a term weighs as much as the curvature of the labeled rows."""
    diagonal = term.diagonal
    X = likelihood.features
    squares = np.asarray((X * X).T @ likelihood.row_weight) / 4.0
    held = diagonal > 0
    if not held.any() or not squares[held].any():
        return 1.0 / (float(diagonal[held].mean()) if held.any() else 1.0)
    return float(squares[held].sum() / diagonal[held].sum())


@dataclass(frozen=True)
class Evidence:
    """The Laplace evidence at the mode, and how many directions of each term the data determine."""

    value: float
    """l(w) - 1/2 w^T Lambda w + 1/2 log |Lambda| - 1/2 log |H|, where the prior is proper; and the hyper-prior."""
    learned: Precisions
    """gamma, in the shape of the precisions."""

    @property
    def total(self) -> float:
        """How many directions the data determine in all."""
        return sum(float(learned.sum()) for learned in self.learned.values())

    @classmethod
    def of(
        cls, likelihood: Likelihood, space: Space, precisions: Precisions, weights: Floats, hyper: Hyper
    ) -> "Evidence":
        """Work out H at the mode."""
        prior = space.prior
        at = likelihood.point(np.asarray(likelihood.features @ weights.T))
        inverse = Inverse.of(space, likelihood.curvatures(at, convex=True))
        value = at.likelihood - prior.penalty(weights, precisions)
        value += 0.5 * (space.log_prior - space.log_outside - inverse.log_determinant)
        blocks = [inverse.blocks[c, c] for c in range(prior.n_vectors)]
        learned = {}
        for term in prior.terms:
            precision = precisions[term.name]
            value += hyper.log_prior(precision)
            learned[term.name] = np.maximum(precision * term.summed(space.learned(term, blocks)), 0.0)
        return cls(value, learned)
