"""Mode over the weights of features, for rows in memory or distributed over many machines.

If the prior covariance is Phi_k Phi_k^T, coefficients A have an effect only through w_k = Phi_k^T a_k, with the latents
f_k = Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the method of
`trust_region` takes the same steps, and uses the rows only through sums over them:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

`FeatureSums` is the interface of these sums. `RowSums` computes them for rows in memory, and `FeatureRows` the terms of
a block of rows.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from array_api_compat import array_namespace, is_numpy_array

from oneof.likelihoods import support
from oneof.solvers.laplace.model import FeaturePrior, Likelihood, LikelihoodDerivatives, matvec_by_class
from oneof.solvers.laplace.posterior_covariance import curvature_matrix
from oneof.solvers.laplace.trust_region import STAGE_TOL, Derivatives, TrustRegionNewton, stages_below
from oneof.solvers.laplace.weight_space.preconditioner import WeightPreconditioner
from oneof.typing import Array, Evidence, Floats

BLOCK_ROWS = 1024
"""Number of rows of a product with the Hessian that are read from memory once."""


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
        return self.prior.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (m, K) of the weights."""
        return int(self.prior.features.shape[-1]), int(self.evidence.shape[1])

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""
        xp = array_namespace(self.evidence)
        return bool(xp.any(xp.sum(xp.astype(support(self.evidence), xp.int64), axis=1) > 1))

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""
        return self.prior.weights(self.prior.zeros(self.evidence.shape[1]))

    def latents(self, weights: Array) -> Array:
        """Return F = Phi w, (n, K)."""
        for last_weights, last_latents in self._last:
            if last_weights is weights:
                return last_latents
        latents = matvec_by_class(self.prior.features, weights)
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
        xp = array_namespace(weights)
        if any(last is weights for last, _ in self._last):
            return float(xp.max(xp.abs(self.latents(weights))))
        single = self.prior.float32
        return float(xp.max(xp.abs(matvec_by_class(single, xp.astype(weights, single.dtype, copy=False)))))


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

    def hvp_float32(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K), computed in single precision."""
        xp = array_namespace(direction)
        single = self.prior.float32
        product = hvp_by_blocks(single, self._rows_float32, xp.astype(direction, single.dtype, copy=False))
        return xp.astype(product, direction.dtype, copy=False)

    @cached_property
    def _rows_float32(self) -> LikelihoodDerivatives:
        return self.rows.astype(self.prior.float32.dtype)

    def precondition(self, residual: Array) -> Array:
        """Return an approximation of (I + Phi^T W Phi)^-1 r."""
        return self._preconditioner.solve(residual)

    @cached_property
    def _preconditioner(self) -> WeightPreconditioner:
        return WeightPreconditioner.from_rows(self.prior.float32, self.rows)


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
    prior, n_iter = WeightPrior(sums), 0
    weights = sums.zeros() if initial is None else initial
    for level in stages_below(sharpness) if anneal and initial is None and sums.is_partial else []:
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
        return self.sums.value(weights, self.sharpness) - 0.5 * float(
            array_namespace(weights).sum(coefficients * weights)
        )

    def derivatives(self, weights: Floats) -> Derivatives:
        """Return the derivatives at these weights."""
        return self.sums.derivatives(weights, self.sharpness)
