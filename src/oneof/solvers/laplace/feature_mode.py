"""Mode and posterior over the weights of features, for rows that may be distributed over many machines.

If the prior covariance is Phi_k Phi_k^T, coefficients A have an effect only through w_k = Phi_k^T a_k, with the latents
f_k = Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the method of
`trust_region` takes the same steps, and uses the rows only through sums over them:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

`FeatureRows` computes the terms of rows in memory. `FeatureSums` is the interface of the sums over all rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from oneof.errors import InputError
from oneof.kernels.nystroem import NystroemFeatures
from oneof.solvers.laplace.mode import STAGE_TOL, stages_below
from oneof.solvers.laplace.model import Likelihood, LikelihoodDerivatives, matvec_by_class
from oneof.solvers.laplace.posterior import LaplacePosterior
from oneof.solvers.laplace.posterior_covariance import WeightCovariance, curvature_matrix
from oneof.solvers.laplace.trust_region import Derivatives, TrustRegionNewton
from oneof.typing import Array, Evidence, Floats


class FeatureSums(Protocol):
    """Sums over n rows; no set contains every class."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, K) of the weights."""

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""

    def derivatives(self, weights: Floats, sharpness: float) -> Derivatives:
        """Return the derivatives with respect to the weights."""

    def max_abs(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""


@dataclass(frozen=True)
class FeatureRows:
    """Features and candidate sets of rows in memory."""

    features: Array
    """Phi: (n, m), shared by all classes, or (K, n, m)."""
    evidence: Evidence
    """(n, K): candidate sets, or weights of the candidates; no row has equal weights of all classes."""

    def latents(self, weights: Floats) -> Floats:
        """Return F = Phi w, (n, K)."""
        return matvec_by_class(self.features, weights)

    def rmatvec(self, values: Floats) -> Floats:
        """Return Phi^T v, (m, K)."""
        return matvec_by_class(self.features.mT, values)

    def value(self, weights: Floats, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""
        return Likelihood(self.evidence, sharpness).value(self.latents(weights))

    def derivatives(self, weights: Floats, sharpness: float) -> LikelihoodDerivatives:
        """Return the derivatives with respect to the latents."""
        return Likelihood(self.evidence, sharpness).derivatives(self.latents(weights))

    def hvp(self, derivatives: LikelihoodDerivatives, direction: Floats) -> Floats:
        """Return Phi^T W_true Phi v, (m, K)."""
        return self.rmatvec(derivatives.hvp(self.latents(direction)))

    def curvature(self, derivatives: LikelihoodDerivatives, sharpness: float) -> Floats:
        """Return Phi^T W_true Phi, (K m, K m), class by class; with infinite sharpness W_true is W."""
        pi, q = derivatives.proba, derivatives.candidate_proba
        n_classes = pi.shape[1]
        features = [self.features if self.features.ndim == 2 else self.features[k] for k in range(n_classes)]

        def weight(k: int, j: int) -> Floats:
            same = 1.0 if j == k else 0.0
            positive = pi[:, k] * (same - pi[:, j])
            return positive if np.isinf(sharpness) else positive - sharpness * q[:, k] * (same - q[:, j])

        return curvature_matrix(features, weight)


@dataclass(frozen=True)
class WeightMode:
    """Maximum of Psi over the weights."""

    weights: Floats
    """W, (m, K)."""
    objective_path: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    converged: bool


def find_weight_mode(
    sums: FeatureSums, sharpness: float, *, anneal: bool = True, max_iter: int = 1000, tol: float = 1e-6
) -> WeightMode:
    """Find a mode; the parameters are those of `oneof.solvers.laplace.mode.find_mode`."""
    prior, n_iter = WeightPrior(sums), 0
    weights = np.zeros(sums.shape)
    for level in stages_below(sharpness) if anneal and sums.is_partial else []:
        newton = TrustRegionNewton(prior, WeightLikelihood(sums, level), weights, weights)
        newton.run(max_iter, STAGE_TOL)
        weights, n_iter = newton.coefficients, n_iter + newton.n_iter
    newton = TrustRegionNewton(prior, WeightLikelihood(sums, sharpness), weights, weights)
    converged = newton.run(max_iter, tol)
    return WeightMode(newton.coefficients, newton.objective_path, n_iter + newton.n_iter, converged)


@dataclass(frozen=True)
class WeightPrior:
    """Prior of the weights, whose covariance is I, as a `PriorOperator`."""

    sums: FeatureSums

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return self.sums.n_rows

    def max_abs(self, weights: Floats) -> float:
        """Return max |F| over rows and classes."""
        return self.sums.max_abs(weights)

    def matvec(self, V: Floats) -> Floats:
        """Return the weights unchanged."""
        return V

    def matvec_float32(self, V: Floats) -> Floats:
        """Return the weights unchanged, since single precision saves no time here."""
        return V


@dataclass(frozen=True)
class WeightLikelihood:
    """Likelihood as a function of the weights, as a `LogPosterior`."""

    sums: FeatureSums
    sharpness: float

    def psi(self, coefficients: Floats, weights: Floats) -> float:
        """Return Psi; coefficients and weights are the same here."""
        return self.sums.value(weights, self.sharpness) - 0.5 * float(np.sum(coefficients * weights))

    def derivatives(self, weights: Floats) -> Derivatives:
        """Return the derivatives at these weights."""
        return self.sums.derivatives(weights, self.sharpness)


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
