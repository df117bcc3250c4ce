"""Precisions of the prior, given the weights of the last M-step: hyper-prior, evidence, and accelerated updates.

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
from oneof.solvers.graph_logistic.posterior import LogisticPosterior
from oneof.solvers.graph_logistic.prior import PriorTerm
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
    reference: Floats
    """Precision at which the term equals the curvature of the labeled rows, (J,)."""

    @classmethod
    def from_likelihood(
        cls, terms: tuple[PriorTerm, ...], likelihood: CandidateLikelihood, alpha: float, beta: float
    ) -> "GammaHyperprior":
        """Compute the curvature of the labeled rows."""
        X = likelihood.features
        squares = np.asarray((X * X).T @ likelihood.row_weight) / 4.0
        references = [_reference_precision(term, squares) for term in terms]
        return cls(alpha, beta, np.repeat(references, [term.n_precisions for term in terms]))

    @property
    def lower(self) -> Floats:
        """Smallest precisions, (J,)."""
        return MIN_PRECISION * self.reference

    @property
    def upper(self) -> Floats:
        """Largest precisions, (J,)."""
        return MAX_PRECISION * self.reference

    def update(self, counts: Floats, squares: Floats) -> Floats:
        """Return (2 alpha + n) / (2 beta + w^T P w), clipped to the range."""
        count, square = 2.0 * self.alpha + counts, 2.0 * self.beta + squares
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            updated = np.where(square > 0, count / square, np.inf)
        return np.clip(updated, self.lower, self.upper)

    def gradient(self, precisions: Floats, counts: Floats, squares: Floats) -> Floats:
        """Return the derivatives by log lambda that vanish at a fixed point, (J,).

        They are alpha + n / 2 - lambda (beta + w^T P w / 2), or 0 if they point out of the range.
        """
        gradient = self.alpha + counts / 2.0 - precisions * (self.beta + squares / 2.0)
        outward = np.where(gradient > 0, precisions >= self.upper, precisions <= self.lower)
        return np.where(outward, 0.0, gradient)

    def log_density(self, precisions: Floats) -> float:
        """Return the logarithm of the hyper-prior as a density of log lambda, up to a constant."""
        return float((self.alpha * np.log(precisions) - self.beta * precisions).sum())


def _reference_precision(term: PriorTerm, squares: Floats) -> float:
    penalties, curvatures = term.diagonal[term.penalized], squares[term.penalized]
    # The logarithms of the bounds are finite.
    limits = np.finfo(float).tiny / MIN_PRECISION, np.finfo(float).max / MAX_PRECISION
    with np.errstate(over="ignore"):
        if curvatures.any():
            return float(np.clip(curvatures.sum() / penalties.sum(), *limits))
        return float(np.clip(1.0 / (penalties.mean() if len(penalties) else 1.0), *limits))


def laplace_evidence(
    likelihood: CandidateLikelihood, coordinates: Coordinates, weights: Floats, hyperprior: GammaHyperprior
) -> tuple[float, Floats]:
    """Return the log evidence at the mode, and gamma for each precision, (J,).

    The value is l(w) - 1/2 w^T Lambda w + 1/2 log |Lambda| - 1/2 log |H|, plus the log hyper-prior.
    """
    prior, precisions = coordinates.prior, coordinates.precisions
    posterior = LogisticPosterior.at_mode(likelihood, coordinates, weights)
    value = likelihood.value(weights) - prior.penalty(weights, precisions) + hyperprior.log_density(precisions)
    value += 0.5 * (coordinates.log_prior - posterior.log_determinant)
    total = np.sum([posterior.blocks[c, c] for c in range(prior.n_vectors)], axis=0)
    return value, coordinates.posterior_counts(total)


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
        self._history: list[tuple[Floats, Floats]] = []

    def restart(self) -> None:
        """Discard the history, and reduce the largest extrapolation."""
        self._history = []
        self._max_extrapolation /= 4.0

    def extrapolate(self, x: Floats, image: Floats, gradient: Floats) -> Floats:
        """Return the next x, from x, its image phi(x), and the derivatives of the evidence by x."""
        residual = image - x
        ineffective = (np.abs(gradient) < GRADIENT_TOL) & (np.abs(residual) > RESIDUAL_TOL) & ~self._at_bound
        if ineffective.any():
            self._at_bound |= ineffective
            self._history = []
            return np.where(ineffective, np.where(residual > 0, self._bounds[1], self._bounds[0]), image)
        self._history = [*self._history[-ANDERSON_MEMORY:], (x, residual)]
        if len(self._history) == 1 or len(x) > ANDERSON_MAX_DIMENSION:
            return image
        steps, changes = np.diff(np.array(self._history), axis=0).transpose(1, 2, 0)
        coefficients = np.linalg.lstsq(changes, residual, rcond=1e-6)[0]
        extrapolation = -(steps + changes) @ coefficients
        extrapolation *= min(1.0, self._max_extrapolation / max(float(np.abs(extrapolation).max()), 1e-300))
        self._max_extrapolation = min(EXTRAPOLATION_GROWTH * self._max_extrapolation, MAX_EXTRAPOLATION)
        return np.asarray(np.clip(image + extrapolation, *self._bounds))
