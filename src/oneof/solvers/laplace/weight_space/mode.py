"""Mode over the weights of features, for rows in memory or distributed over many machines.

If the prior covariance is Phi_k Phi_k^T, coefficients A have an effect only through w_k = Phi_k^T a_k, with the latents
f_k = Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the trust-region
method takes the same steps as in `oneof.solvers.laplace.mode`, and uses the rows only through sums over them:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

`FeatureSums` is the interface of these sums. `RowSums` computes them for rows in memory, and `FeatureRows` the terms of
a block of rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from oneof.solvers.laplace.model import (
    STAGE_TOL,
    FeaturePrior,
    Likelihood,
    LikelihoodDerivatives,
    annealing_schedule,
    as_single,
    has_partial_rows,
    matvec_by_class,
    max_abs,
    zero_latents,
)
from oneof.solvers.laplace.posterior_covariance import curvature_matrix
from oneof.solvers.laplace.weight_space.preconditioner import WeightPreconditioner
from oneof.solvers.linear import Operator, inner_product
from oneof.solvers.trust_region import QuadraticModel, TrustRegionNewton
from oneof.typing import Array, Evidence, Floats

BLOCK_ROWS = 1024
"""Number of rows of a product with the Hessian that are read from memory once."""


class Derivatives(Protocol):
    """Derivatives of the log likelihood with respect to the weights, at some weights."""

    @property
    def gradient(self) -> Array:
        """Phi^T (q - pi), (m, K)."""

    def hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K)."""

    def fast_hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, in single precision if that saves time."""

    @property
    def make_preconditioner(self) -> Callable[[], Operator] | None:
        """Function that computes an approximation of (I + Phi^T W Phi)^-1 as an operator, if it is worth its time."""


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

    def zeros(self) -> Array:
        """Return weights of 0."""

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


@dataclass
class RowSums:
    """Sums over rows in memory, as `FeatureSums`."""

    prior: FeaturePrior
    evidence: Array
    """(n, K): candidate sets, or weights of the candidates; no row has equal weights of all classes."""
    _last: list[tuple[Array, Array]] = field(default_factory=list)
    """The last two weights with their latents."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.evidence.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, K) of the weights."""
        return int(self.prior.features.shape[-1]), int(self.evidence.shape[1])

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""
        return has_partial_rows(self.evidence)

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""
        return self.prior.weights(zero_latents(self.prior.features, self.evidence.shape[1]))

    def latents(self, weights: Array) -> Array:
        """Return F = Phi w, (n, K)."""
        for last_weights, last_latents in self._last:
            if last_weights is weights:
                return last_latents
        latents = self.prior.latents(weights)
        self._last = [*self._last[-1:], (weights, latents)]
        return latents

    def value(self, weights: Array, sharpness: float) -> float:
        """Return sum_i log p(S_i | f_i)."""
        return Likelihood(self.evidence, sharpness).value(self.latents(weights))

    def derivatives(self, weights: Array, sharpness: float) -> "RowDerivatives":
        """Return the derivatives with respect to the weights."""
        return RowDerivatives(self.prior, Likelihood(self.evidence, sharpness).derivatives(self.latents(weights)))

    def max_abs(self, weights: Array) -> float:
        """Return max |Phi w| over rows and classes; of other weights than the last ones in single precision."""
        is_last = any(last is weights for last, _ in self._last)
        return max_abs(self.latents(weights) if is_last else self.prior.single.latents(weights))


@dataclass(frozen=True)
class RowDerivatives:
    """Derivatives of the log likelihood of rows in memory with respect to the weights, as `Derivatives`."""

    prior: FeaturePrior
    rows: LikelihoodDerivatives
    """Derivatives with respect to the latents."""

    @cached_property
    def gradient(self) -> Array:
        """Phi^T (q - pi), (m, K)."""
        return self.prior.weights(self.rows.gradient)

    def hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K)."""
        return hvp_by_blocks(self.prior.features, self.rows, direction)

    def fast_hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K), computed in single precision."""
        product = hvp_by_blocks(self.prior.single.features, self._single_rows, as_single(direction))
        return array_namespace(direction).astype(product, direction.dtype, copy=False)

    @cached_property
    def _single_rows(self) -> LikelihoodDerivatives:
        return self.rows.astype(self.prior.single.features.dtype)

    def make_preconditioner(self) -> Operator:
        """Return an approximation of (I + Phi^T W Phi)^-1, computed at the first call."""
        return self._preconditioner.solve

    @cached_property
    def _preconditioner(self) -> WeightPreconditioner:
        return WeightPreconditioner.from_rows(self.prior.single.features, self.rows)


def hvp_by_blocks(features: Array, derivatives: LikelihoodDerivatives, direction: Array) -> Array:
    """Return Phi^T W_true Phi v, which reads the features from memory once."""
    n = features.shape[-2]
    size = BLOCK_ROWS if is_numpy_array(features) else n
    product = None
    for block in (slice(start, start + size) for start in range(0, n, size)):
        own = features[..., block, :]
        term = matvec_by_class(own.mT, derivatives[block].hvp(matvec_by_class(own, direction)))
        product = term if product is None else product + term
    return product


@dataclass(frozen=True)
class WeightMode:
    """Maximum of Psi over the weights."""

    weights: Array
    """W, (m, K)."""
    objective_path: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    converged: bool


def find_weight_mode(
    sums: FeatureSums,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> WeightMode:
    """Find a mode; `initial` weights are used without annealing. See `oneof.solvers.laplace.mode.find_mode`."""
    weights, n_iter = sums.zeros() if initial is None else initial, 0
    is_partial = anneal and initial is None and sums.is_partial
    for level in annealing_schedule(sharpness, is_partial=is_partial):
        newton = TrustRegionNewton(WeightObjective(sums, level), weights)
        newton.run(max_iter, STAGE_TOL)
        weights, n_iter = newton.x, n_iter + newton.n_iter
    newton = TrustRegionNewton(WeightObjective(sums, sharpness), weights)
    converged = newton.run(max_iter, tol)
    return WeightMode(newton.x, newton.objective_path, n_iter + newton.n_iter, converged)


@dataclass(frozen=True)
class WeightObjective:
    """Psi as a function of the weights, whose prior covariance is I."""

    sums: FeatureSums
    sharpness: float

    @property
    def eps(self) -> float:
        """Machine epsilon of the weights."""
        zeros = self.sums.zeros()
        return float(array_namespace(zeros).finfo(zeros.dtype).eps)

    @property
    def n_terms(self) -> int:
        """Number of rows, n."""
        return self.sums.n_rows

    def value(self, x: Floats) -> float:
        """Return Psi."""
        return self.sums.value(x, self.sharpness) - 0.5 * inner_product(x, x)

    def model(self, x: Floats) -> QuadraticModel:
        """Return the second-order model."""
        derivatives = self.sums.derivatives(x, self.sharpness)
        return QuadraticModel(
            derivatives.gradient - x,
            lambda step: step + derivatives.hvp(step),
            _unchanged,
            lambda step: step + derivatives.fast_hvp(step),
            _unchanged,
            derivatives.make_preconditioner,
        )

    def max_abs(self, x: Floats) -> float:
        """Return max |F| over rows and classes."""
        return self.sums.max_abs(x)

    def inner(self, gradient: Floats, step: Floats) -> float:
        """Return g^T s."""
        return inner_product(gradient, step)

    def norm(self, step: Floats) -> float:
        """Return |s|."""
        return inner_product(step, step) ** 0.5

    def correct(self, step: Floats) -> Floats:
        """Return the step unchanged."""
        return step


def _unchanged(gradient: Floats) -> Floats:
    return gradient
