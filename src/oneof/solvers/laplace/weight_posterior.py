"""The Gaussian posterior of the weights of features, kept without the rows that it was learned from."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.solvers.laplace.landmarks import NystroemFeatures
from oneof.solvers.laplace.posterior import LaplacePosterior
from oneof.solvers.laplace.weights import WeightCovariance
from oneof.typing import Array, Floats, Mask


@dataclass(frozen=True)
class WeightPosterior(LaplacePosterior):
    """A `LaplacePosterior` for which sums over rows that are elsewhere were worked out once and for all.

    The landmarks stand for the rows of fit, and the weights for their coefficients.
    """

    covariance: WeightCovariance
    psi: float
    """At the mode."""

    @classmethod
    def of(
        cls,
        kernels: list[Any],
        features: list[NystroemFeatures],
        weights: Floats,
        covariance: WeightCovariance,
        psi: float,
        sharpness: float,
    ) -> "WeightPosterior":
        """Keep what predicts."""
        none = tuple(0.0 for _ in kernels)
        shares = np.empty((0, weights.shape[1]))
        rows = features[0].landmarks
        return cls(kernels, rows, features, weights, shares, weights, none, sharpness, False, covariance, psi)

    def spread(self, random: np.random.Generator) -> WeightCovariance:
        """Return what covariances of further rows need."""
        del random
        return self.covariance

    def evidence(self, mask: Mask) -> float:
        """Return the Laplace evidence log q(Y | X) of the rows of fit."""
        del mask
        return self.psi - 0.5 * self.covariance.log_det

    def cavities(self, spread: Any) -> Iterator[tuple[Array, Array]]:
        """Raise: the rows are not at hand."""
        del spread
        raise InputError("leave-one-out probabilities need the rows of fit, which this model does not hold.")
