"""Updates of the precisions of the prior, given the weights of the last M-step.

With w^T P w the quadratic form of a term, both rules have a fixed point at

    lambda = (2 alpha + n) / (2 beta + w^T P w).

"em" is the E-step of Krishnapuram et al. (2004, below (12)): n is the number of directions under the precision. This is
the rank of P, or 1 if each weight has a precision, times the K-1 classes, which share it. "evidence" is MacKay's rule
(1992): n is the number of these directions that the data determine, gamma = lambda tr[(Lambda^+ - H^-1) P]. At its
fixed point the derivative of the Laplace evidence by log lambda vanishes, for the curvature at the mode. For one term,
gamma = d - lambda tr(H^-1 A).

The updates of all precisions together, as a vector of logarithms, are accelerated by Anderson's method.
"""

from dataclasses import dataclass

import numpy as np

from oneof.solvers.graph_logistic.coordinates import Coordinates
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.posterior import PosteriorInverse
from oneof.solvers.graph_logistic.prior import Precisions, PriorTerm
from oneof.typing import Floats

MAX_PRECISION = 1e8
"""Precision at which the weights of a term are numerically 0, in units of the curvature of the labeled rows."""
MIN_PRECISION = 1e-8
"""Precision at which a term has no effect, in the same units."""
ANDERSON_MEMORY = 4
"""Number of earlier iterations that the acceleration uses."""
ANDERSON_MAX_DIMENSION = 20
"""Number of precisions above which steps are not accelerated: precisions of single weights have little in common."""
MAX_EXTRAPOLATION = 3.0
"""Maximum change of a logarithm in addition to the plain step."""
EXTRAPOLATION_GROWTH = 1.3
"""Growth of the allowed change with each step, up to `MAX_EXTRAPOLATION`; a rejected step divides it by 4."""
GRADIENT_TOL, RESIDUAL_TOL = 0.01, 0.03
"""A precision with a derivative below the first and a step above the second is set to a bound of its range."""


@dataclass(frozen=True)
class GammaHyperprior:
    """Gamma hyper-prior of all precisions, and the range of each."""

    alpha: float
    beta: float
    min_precision: dict[str, float]
    max_precision: dict[str, float]

    @classmethod
    def from_likelihood(
        cls, terms: tuple[PriorTerm, ...], likelihood: CandidateLikelihood, alpha: float, beta: float
    ) -> "GammaHyperprior":
        """Set the ranges around the precision that equals the curvature of the labeled rows."""
        scales = {term.name: reference_precision(term, likelihood) for term in terms}
        lower = {term.name: min(MIN_PRECISION * scales[term.name], term.max_precision) for term in terms}
        upper = {term.name: min(MAX_PRECISION * scales[term.name], term.max_precision) for term in terms}
        return cls(alpha, beta, lower, upper)

    def update(self, term: PriorTerm, counts: Floats, quadratic: Floats) -> Floats:
        """Return (2 alpha + n) / (2 beta + w^T P w), clipped to the range; 0 for weights outside the term."""
        count, square = 2.0 * self.alpha + counts, 2.0 * self.beta + quadratic
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            updated = np.where(square > 0, count / square, np.inf)
        return self.clip(term, updated)

    def clip(self, term: PriorTerm, precision: Floats) -> Floats:
        """Return the precisions clipped to their range."""
        inside = np.clip(precision, self.min_precision[term.name], self.max_precision[term.name])
        return np.asarray(np.where(term.diagonal > 0, inside, 0.0) if term.per_weight else inside)

    def gradient(self, term: PriorTerm, precision: Floats, counts: Floats, quadratic: Floats) -> Floats:
        """Return the derivatives by log lambda that vanish at a fixed point, in the shape of the precisions.

        They are alpha + n / 2 - lambda (beta + w^T P w / 2), or 0 if they point out of the range.
        """
        gradient = self.alpha + counts / 2.0 - precision * (self.beta + quadratic / 2.0)
        above = (gradient > 0) & (precision >= self.max_precision[term.name])
        below = (gradient < 0) & (precision <= self.min_precision[term.name])
        gradient = np.where(above | below, 0.0, gradient)
        return np.asarray(np.where(term.diagonal > 0, gradient, 0.0) if term.per_weight else gradient)

    def log_density(self, precision: Floats) -> float:
        """Return the logarithm of the hyper-prior as a density of log lambda, up to a constant."""
        positive = precision[precision > 0]
        return float((self.alpha * np.log(positive) - self.beta * positive).sum())


def reference_precision(term: PriorTerm, likelihood: CandidateLikelihood) -> float:
    """Return the precision at which a term equals the curvature of the labeled rows."""
    diagonal = term.diagonal
    X = likelihood.features
    squares = np.asarray((X * X).T @ likelihood.row_weight) / 4.0
    penalized = diagonal > 0
    if not penalized.any() or not squares[penalized].any():
        return 1.0 / (float(diagonal[penalized].mean()) if penalized.any() else 1.0)
    return float(squares[penalized].sum() / diagonal[penalized].sum())


@dataclass(frozen=True)
class LaplaceEvidence:
    """Laplace evidence at the mode, and the number of directions of each term that the data determine."""

    value: float
    """l(w) - 1/2 w^T Lambda w + 1/2 log |Lambda| - 1/2 log |H|, for the proper prior, plus the log hyper-prior."""
    posterior_counts: Precisions
    """gamma, in the shape of the precisions."""

    @property
    def total_count(self) -> float:
        """Number of directions that the data determine, over all terms."""
        return sum(float(counts.sum()) for counts in self.posterior_counts.values())

    @classmethod
    def at_mode(
        cls,
        likelihood: CandidateLikelihood,
        coordinates: Coordinates,
        precisions: Precisions,
        weights: Floats,
        hyperprior: GammaHyperprior,
    ) -> "LaplaceEvidence":
        """Compute H at the mode, and the evidence from it."""
        prior = coordinates.prior
        at = likelihood.evaluate(np.asarray(likelihood.features @ weights.T))
        inverse = PosteriorInverse.from_curvatures(coordinates, likelihood.curvatures(at, convex=True))
        value = at.log_likelihood - prior.penalty(weights, precisions)
        log_prior = coordinates.factor.log_prior(prior)
        value += 0.5 * (log_prior - coordinates.log_offset - inverse.log_determinant)
        total = np.sum([inverse.blocks[c, c] for c in range(prior.n_vectors)], axis=0)
        counts = {}
        for term in prior.terms:
            precision = precisions[term.name]
            value += hyperprior.log_density(precision)
            counts[term.name] = np.maximum(precision * coordinates.posterior_counts(term, total), 0.0)
        return cls(value, counts)


class PrecisionUpdater:
    """Accelerated updates of all precisions, as one vector of logarithms."""

    def __init__(self, hyperprior: GammaHyperprior, terms: tuple[PriorTerm, ...], initial: Precisions) -> None:
        self._hyperprior, self._terms = hyperprior, terms
        self._active = {term.name: initial[term.name] > 0 for term in terms}
        bounds = (
            self._flatten({name: np.full_like(initial[name], bound[name]) for name in initial})
            for bound in (hyperprior.min_precision, hyperprior.max_precision)
        )
        self._acceleration = AndersonAcceleration(*(np.log(bound) for bound in bounds))
        self.plain: Precisions | None = None
        """The last plain update, if an accelerated one was proposed in its place."""

    def propose(self, current: Precisions, plain: Precisions, gradient: Precisions) -> Precisions:
        """Return the next precisions, from the current ones and their plain update."""
        self.plain = plain
        flat = self._flatten(current)
        if len(flat) == 0:
            return plain
        proposed = self._acceleration.extrapolate(np.log(flat), np.log(self._flatten(plain)), self._flatten(gradient))
        return self._unflatten(np.exp(proposed))

    def reject(self) -> Precisions:
        """Return the plain update in place of the last proposal, and restart the acceleration."""
        if self.plain is None:
            raise RuntimeError("there is no proposal to reject.")
        plain, self.plain = self.plain, None
        self._acceleration.restart()
        return plain

    def _flatten(self, precisions: Precisions) -> Floats:
        return np.concatenate(
            [np.zeros(0), *(precisions[name][active].ravel() for name, active in self._active.items())]
        )

    def _unflatten(self, flat: Floats) -> Precisions:
        precisions, start = {}, 0
        for term in self._terms:
            active = self._active[term.name]
            value = np.zeros(active.shape)
            value[active] = flat[start : start + np.count_nonzero(active)]
            precisions[term.name] = self._hyperprior.clip(term, value)
            start += int(np.count_nonzero(active))
        return precisions


class AndersonAcceleration:
    """Anderson acceleration (1965) of the fixed-point iteration x <- phi(x), within bounds.

    The precisions of overlapping terms converge slowly under the plain iteration; the acceleration treats phi as
    affine. A precision with almost no effect approaches a bound of its range by about one factor per iteration; it is
    set to that bound at once.
    """

    def __init__(self, lower: Floats, upper: Floats) -> None:
        self._bounds = lower, upper
        self._at_bound = np.zeros(len(lower), dtype=bool)
        self._max_extrapolation = MAX_EXTRAPOLATION
        self._clear()

    def _clear(self) -> None:
        self._points: list[Floats] = []
        self._residuals: list[Floats] = []

    def restart(self) -> None:
        """Discard the history, and reduce the largest extrapolation."""
        self._clear()
        self._max_extrapolation /= 4.0

    def extrapolate(self, x: Floats, image: Floats, gradient: Floats) -> Floats:
        """Return the next x, from x, its image phi(x), and the derivatives of the evidence by x."""
        residual = image - x
        ineffective = (np.abs(gradient) < GRADIENT_TOL) & (np.abs(residual) > RESIDUAL_TOL) & ~self._at_bound
        if ineffective.any():
            self._at_bound |= ineffective
            self._clear()
            return np.where(ineffective, np.where(residual > 0, self._bounds[1], self._bounds[0]), image)
        self._points = [*self._points[-ANDERSON_MEMORY:], x]
        self._residuals = [*self._residuals[-ANDERSON_MEMORY:], residual]
        if len(self._points) == 1 or len(x) > ANDERSON_MAX_DIMENSION:
            return image
        steps = np.diff(np.array(self._points), axis=0).T
        changes = np.diff(np.array(self._residuals), axis=0).T
        coefficients = np.linalg.lstsq(changes, residual, rcond=1e-6)[0]
        extrapolation = -(steps + changes) @ coefficients
        extrapolation *= min(1.0, self._max_extrapolation / max(float(np.abs(extrapolation).max()), 1e-300))
        self._max_extrapolation = min(EXTRAPOLATION_GROWTH * self._max_extrapolation, MAX_EXTRAPOLATION)
        return np.asarray(np.clip(image + extrapolation, *self._bounds))
