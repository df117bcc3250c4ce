"""Posterior over the weights of features, for rows that are distributed over blocks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.kernels.nystroem import NystroemFeatures
from oneof.solvers.laplace.posterior import LaplacePosterior
from oneof.solvers.laplace.posterior_covariance import WeightCovariance
from oneof.typing import Array, Evidence, Floats


@dataclass(frozen=True)
class WeightPosterior(LaplacePosterior):
    """Posterior of the weights of features, without the training rows.

    The sums over rows are computed once. The landmarks take the place of the rows, and the weights that of the
    coefficients.
    """

    weight_covariance: WeightCovariance
    psi: float
    """Psi at the mode."""

    @classmethod
    def from_weights(
        cls,
        kernels: list[Any],
        features: list[NystroemFeatures],
        weights: Floats,
        covariance: WeightCovariance,
        psi: float,
        sharpness: float,
    ) -> "WeightPosterior":
        """Make a posterior from the weights at the mode and their covariance."""
        jitters = tuple(0.0 for _ in kernels)
        proba = np.empty((0, weights.shape[1]))
        rows = features[0].landmarks
        return cls(kernels, rows, features, weights, proba, weights, jitters, sharpness, False, covariance, psi)

    def latent_covariance(self, rng: np.random.Generator) -> WeightCovariance:
        """Return the form of the posterior covariance that predictions use."""
        del rng
        return self.weight_covariance

    def log_evidence(self, evidence: Evidence) -> float:
        """Return the Laplace evidence log q(Y | X) of the training rows."""
        del evidence
        return self.psi - 0.5 * self.weight_covariance.log_det

    def loo_latents(self, covariance: Any) -> Iterator[tuple[Array, Array]]:
        """Raise an InputError, since the rows are not available."""
        del covariance
        raise InputError("leave-one-out probabilities need the training rows, which this model does not store.")
