"""The ascent to the mode over the weights of features, for rows that may lie on many machines.

Where the prior covariance is Phi_k Phi_k^T, coefficients A act through w_k = Phi_k^T a_k alone, with the latents f_k =
Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the ascent of `climb` is
the same ascent, step by step, and sees the rows only through sums over them:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

`FeatureRows` works them out for rows that are at hand; `FeatureSums` is what the ascent asks of all rows.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oneof.solvers.laplace.climb import Climb, Slopes
from oneof.solvers.laplace.likelihood import Likelihood, Shares
from oneof.solvers.laplace.mode import STAGE_TOLERANCE, levels_below
from oneof.solvers.laplace.prior import by_class
from oneof.solvers.laplace.weights import summed_curvature
from oneof.typing import Array, Floats, Mask


class FeatureSums(Protocol):
    """Sums over n rows, none of which is full."""

    @property
    def n_rows(self) -> int:
        """N."""

    @property
    def shape(self) -> tuple[int, int]:
        """(m, K), the shape of weights."""

    @property
    def is_partial(self) -> bool:
        """Whether some set holds several labels."""

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""

    def at(self, weights: Floats, sharpness: float) -> Slopes:
        """Return the derivatives at these weights, by the weights."""

    def largest(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""


@dataclass(frozen=True)
class FeatureRows:
    """Rows that are at hand."""

    features: Array
    """Phi: (n, m), shared by all classes, or (K, n, m)."""
    mask: Mask
    """(n, K): no row is full."""

    def latents(self, weights: Floats) -> Floats:
        """Return F = Phi w, (n, K)."""
        return by_class(self.features, weights)

    def gather(self, values: Floats) -> Floats:
        """Return Phi^T v, (m, K)."""
        return by_class(self.features.mT, values)

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""
        return Likelihood(self.mask, sharpness).value(self.latents(weights))

    def shares(self, weights: Floats, sharpness: float) -> Shares:
        """Return what the derivatives come from."""
        return Likelihood(self.mask, sharpness).at(self.latents(weights))

    def bends(self, shares: Shares, moves: Floats) -> Floats:
        """Return Phi^T W_true Phi v, (m, K)."""
        return self.gather(shares.bends(self.latents(moves)))

    def curvature(self, shares: Shares, sharpness: float) -> Floats:
        """Return Phi^T W_true Phi, (K m, K m), class by class; with infinite sharpness W_true is W."""
        pi, q = shares.overall, shares.inside
        n_classes = pi.shape[1]
        features = [self.features if self.features.ndim == 2 else self.features[k] for k in range(n_classes)]

        def weight(k: int, j: int) -> Floats:
            same = 1.0 if j == k else 0.0
            bend = pi[:, k] * (same - pi[:, j])
            return bend if np.isinf(sharpness) else bend - sharpness * q[:, k] * (same - q[:, j])

        return summed_curvature(features, weight)


@dataclass(frozen=True)
class WeightMode:
    """A maximum of Psi."""

    weights: Floats
    """W, (m, K)."""
    objective: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    converged: bool


def find_weights(
    sums: FeatureSums, sharpness: float, *, anneal: bool = True, max_iter: int = 1000, tol: float = 1e-6
) -> WeightMode:
    """Climb to a mode; the parameters are those of `oneof.solvers.laplace.mode.find_mode`."""
    prior, steps = WeightPrior(sums), 0
    weights = np.zeros(sums.shape)
    for level in levels_below(sharpness) if anneal and sums.is_partial else []:
        climb = Climb(prior, WeightLikelihood(sums, level), weights, weights)
        climb.run(max_iter, STAGE_TOLERANCE)
        weights, steps = climb.coefficients, steps + climb.n_iter
    climb = Climb(prior, WeightLikelihood(sums, sharpness), weights, weights)
    converged = climb.run(max_iter, tol)
    return WeightMode(climb.coefficients, climb.objective, steps + climb.n_iter, converged)


@dataclass(frozen=True)
class WeightPrior:
    """The prior of the weights, whose covariance is I, in the words of `oneof.solvers.laplace.prior`."""

    sums: FeatureSums

    @property
    def n_rows(self) -> int:
        """N."""
        return self.sums.n_rows

    def largest(self, weights: Floats) -> float:
        """Return max |F| over rows and classes."""
        return self.sums.largest(weights)

    def product(self, V: Floats) -> Floats:
        """Return the weights as they are."""
        return V

    def rough_product(self, V: Floats) -> Floats:
        """Return the same: there is nothing to save."""
        return V


@dataclass(frozen=True)
class WeightLikelihood:
    """The likelihood as a function of the weights, in the words of `oneof.solvers.laplace.likelihood`."""

    sums: FeatureSums
    sharpness: float

    def psi(self, coefficients: Floats, weights: Floats) -> float:
        """Return Psi; coefficients and weights are the same here."""
        return self.sums.value(weights, self.sharpness) - 0.5 * float(np.sum(coefficients * weights))

    def at(self, weights: Floats) -> Slopes:
        """Return the derivatives at these weights."""
        return self.sums.at(weights, self.sharpness)
