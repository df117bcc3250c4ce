"""Mode over the weights of features, for rows in memory or distributed over many machines.

If the prior covariance is Phi_k Phi_k^T, coefficients A have an effect only through w_k = Phi_k^T a_k, with the latents
f_k = Phi_k w_k, the inner product <A, B> = sum w_A w_B, and the prior covariance I. In these terms the trust-region
method takes the same steps as in `oneof.solvers.laplace.mode`, and uses the rows only through sums over them:

    sum_i log p(S_i | f_i),     Phi^T (q - pi),     Phi^T W_true Phi v,     max |Phi v|.

`FeatureSums` is the interface of these sums. `RowSums` computes them for rows in memory.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

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
from oneof.solvers.laplace.weight_space.preconditioner import WeightPreconditioner
from oneof.solvers.linear import Operator, inner_product
from oneof.solvers.trust_region import TrustRegionNewton
from oneof.typing import Array, Floats

BLOCK_ROWS = 1024
"""Number of rows of a product with the Hessian that are read from memory once."""


class WeightPoint(Protocol):
    """Log likelihood at some weights, with its derivatives."""

    @property
    def value(self) -> float:
        """sum_i log p(S_i | f_i)."""

    @property
    def max_abs(self) -> float:
        """Max |Phi w| over rows and classes."""

    @property
    def gradient(self) -> Array:
        """Phi^T (q - pi), (m, K)."""

    def hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, (m, K)."""

    def fast_hvp(self, direction: Array) -> Array:
        """Return Phi^T W_true Phi v, in single precision if that saves time."""

    @property
    def preconditioner(self) -> Operator | None:
        """Approximation of (I + Phi^T W Phi)^-1, if it is worth its time."""


class FeatureSums(Protocol):
    """Sums over n rows; no set contains every class."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""

    def evaluate(self, weights: Floats, sharpness: float) -> WeightPoint:
        """Return the log likelihood."""

    def max_abs(self, weights: Floats) -> float:
        """Return max |Phi w| over rows and classes."""


@dataclass(frozen=True)
class RowSums:
    """Sums over rows in memory, as `FeatureSums`."""

    prior: FeaturePrior
    evidence: Array
    """(n, K): candidate sets, or weights of the candidates; no row has equal weights of all classes."""

    @property
    def n_rows(self) -> int:
        """Number of rows, n."""
        return int(self.evidence.shape[0])

    @property
    def is_partial(self) -> bool:
        """Whether some set contains several labels."""
        return has_partial_rows(self.evidence)

    def zeros(self) -> Array:
        """Return weights of 0, (m, K)."""
        return self.prior.weights(zero_latents(self.prior.features, self.evidence.shape[1]))

    def evaluate(self, weights: Array, sharpness: float) -> "RowPoint":
        """Return the log likelihood."""
        return RowPoint(self.prior, self.prior.latents(weights), Likelihood(self.evidence, sharpness))

    def max_abs(self, weights: Array) -> float:
        """Return max |Phi w| over rows and classes, computed in single precision."""
        return max_abs(self.prior.single.latents(weights))


@dataclass(frozen=True)
class RowPoint:
    """Log likelihood of rows in memory with respect to the weights, as `WeightPoint`."""

    prior: FeaturePrior
    latents: Array
    """F = Phi w, (n, K)."""
    likelihood: Likelihood

    @cached_property
    def value(self) -> float:
        """sum_i log p(S_i | f_i)."""
        return self.likelihood.value(self.latents)

    @cached_property
    def max_abs(self) -> float:
        """Max |Phi w| over rows and classes."""
        return max_abs(self.latents)

    @cached_property
    def rows(self) -> LikelihoodDerivatives:
        """Derivatives with respect to the latents."""
        return self.likelihood.derivatives(self.latents)

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

    @cached_property
    def preconditioner(self) -> Operator:
        """Approximation of (I + Phi^T W Phi)^-1."""
        return WeightPreconditioner.from_rows(self.prior.single.features, self.rows).solve


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
        weights, n_iter = newton.point.x, n_iter + newton.n_iter
    newton = TrustRegionNewton(WeightObjective(sums, sharpness), weights)
    converged = newton.run(max_iter, tol)
    return WeightMode(newton.point.x, newton.objective_path, n_iter + newton.n_iter, converged)


@dataclass(frozen=True)
class PenalizedPoint:
    """Psi at some weights, whose prior covariance is I."""

    x: Floats
    likelihood: WeightPoint

    @property
    def value(self) -> float:
        """Psi."""
        return self.likelihood.value - 0.5 * inner_product(self.x, self.x)

    @property
    def max_abs(self) -> float:
        """Max |F| over rows and classes."""
        return self.likelihood.max_abs

    @property
    def gradient(self) -> Floats:
        """Phi^T (q - pi) - w, (m, K)."""
        return self.likelihood.gradient - self.x

    def product(self, step: Floats) -> Floats:
        """Return (I + Phi^T W_true Phi) s."""
        return step + self.likelihood.hvp(step)

    def fast_product(self, step: Floats) -> Floats:
        """Return (I + Phi^T W_true Phi) s, in single precision if that saves time."""
        return step + self.likelihood.fast_hvp(step)

    @property
    def preconditioner(self) -> Operator | None:
        """Approximation of (I + Phi^T W Phi)^-1."""
        return self.likelihood.preconditioner


@dataclass(frozen=True)
class WeightObjective:
    """Psi as a function of the weights."""

    sums: FeatureSums
    sharpness: float

    @cached_property
    def eps(self) -> float:
        """Machine epsilon of the weights."""
        zeros = self.sums.zeros()
        return float(array_namespace(zeros).finfo(zeros.dtype).eps)

    @property
    def n_terms(self) -> int:
        """Number of rows, n."""
        return self.sums.n_rows

    def evaluate(self, x: Floats) -> PenalizedPoint:
        """Return Psi at some weights."""
        return PenalizedPoint(x, self.sums.evaluate(x, self.sharpness))

    def ascent(self, gradient: Floats) -> Floats:
        """Return the gradient."""
        return gradient

    fast_ascent = ascent

    def max_abs(self, step: Floats) -> float:
        """Return max |Phi s| over rows and classes."""
        return self.sums.max_abs(step)

    def inner(self, gradient: Floats, step: Floats) -> float:
        """Return g^T s."""
        return inner_product(gradient, step)

    def norm(self, step: Floats) -> float:
        """Return |s|."""
        return inner_product(step, step) ** 0.5

    def correct(self, step: Floats) -> Floats:
        """Return the step unchanged."""
        return step
