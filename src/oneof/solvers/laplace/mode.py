"""Mode of the posterior: the latents F that maximize Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k.

Over coefficients A with F = K A, Psi is a function on the reproducing kernel Hilbert space, whose inner product is
<A, B> = sum A (K B). In that inner product its gradient is q - pi - A, and its negative Hessian is I + W_true K. The
trust-region Newton method therefore needs neither K^-1 nor a factor of K: each iteration of conjugate gradients costs
one product of K with an n x K block. The points and steps of `GramObjective` are pairs (A, K A).

Psi has many maxima if the sets are large. At F = 0 all candidates tie, and with infinite sharpness the first step
determines the label of most rows. Therefore the sharpness is increased in stages (annealing). As L goes to 0, the
likelihood becomes the mean of the candidates' latents, by weight, less log sum_k exp f_ik, which is concave and has one
maximum.
The stages only determine where the last maximization starts. With many rows they use a Nystroem approximation of the
prior, whose products are cheap.

`find_mode_cholesky` is the published method, kept as a reference: Newton steps by Cholesky factors with bisection along
the step (Zhou et al. 2017),

    F_new = (K^-1 + W)^-1 (W F + q - pi),     W = diag pi - pi pi^T.

It omits the positive part of the Hessian, L (diag q - q q^T), and so maximizes a concave lower bound of the quadratic
model of Psi. Psi increases, but at low sharpness it takes hundreds of steps where the trust region takes tens. Each
step costs K n^3 operations.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from array_api_compat import array_namespace, device

from oneof.kernels.nystroem import inverse_root
from oneof.likelihoods import softmax_jvp
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors
from oneof.solvers.laplace.model import (
    STAGE_TOL,
    FeaturePrior,
    GramPrior,
    Likelihood,
    LikelihoodDerivatives,
    Prior,
    annealing_schedule,
    has_partial_rows,
    max_abs,
    zero_latents,
)
from oneof.solvers.laplace.weight_space.mode import RowSums, find_weight_mode
from oneof.solvers.linear import inner_product
from oneof.solvers.trust_region import TrustRegionNewton
from oneof.typing import Array

N_LANDMARKS = 500
"""Number of landmarks of the prior in the annealing stages, if there are at least four times as many rows."""
N_BISECTIONS = 30
"""Number of bisections of a step length."""


@dataclass(frozen=True)
class LaplaceMode:
    """Maximum of Psi."""

    latents: Array
    """F, (n, K)."""
    coefficients: Array
    """A, (n, K), with F = K A; at the mode it equals q - pi to the tolerance."""
    derivatives: LikelihoodDerivatives
    """Derivatives of the log likelihood at F."""
    objective_path: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    """Number of steps over all stages."""
    converged: bool


@dataclass(frozen=True)
class GramPoint:
    """A pair (A, K A), an array of shape (2, n, K), with the derivatives of Psi in the inner product of the space."""

    x: Array
    likelihood: Likelihood
    preconditioner: None = None

    @cached_property
    def value(self) -> float:
        """Psi."""
        return self.likelihood.psi(self.x[0, ...], self.x[1, ...])

    @cached_property
    def max_abs(self) -> float:
        """Max |F| over rows and classes."""
        return max_abs(self.x[1, ...])

    @cached_property
    def derivatives(self) -> LikelihoodDerivatives:
        """Derivatives of the log likelihood."""
        return self.likelihood.derivatives(self.x[1, ...])

    @cached_property
    def gradient(self) -> Array:
        """Q - pi - A."""
        return self.derivatives.gradient - self.x[0, ...]

    def product(self, step: Array) -> Array:
        """Return (I + W_true K) s."""
        return step[0, ...] + self.derivatives.hvp(step[1, ...])

    fast_product = product


@dataclass(frozen=True)
class GramObjective:
    """Psi as a function of pairs (A, K A)."""

    prior: Prior
    likelihood: Likelihood

    @cached_property
    def eps(self) -> float:
        """Machine epsilon of the latents."""
        matrix = self.prior.gram if isinstance(self.prior, GramPrior) else self.prior.features
        return float(array_namespace(matrix).finfo(matrix.dtype).eps)

    @property
    def n_terms(self) -> int:
        """Number of rows, n."""
        return int(self.likelihood.evidence.shape[0])

    def evaluate(self, x: Array) -> GramPoint:
        """Return a point."""
        return GramPoint(x, self.likelihood)

    def ascent(self, gradient: Array) -> Array:
        """Return the pair (g, K g)."""
        return _to_pair(self.prior, gradient)

    def fast_ascent(self, gradient: Array) -> Array:
        """Return the pair (g, K g), computed in single precision."""
        return _to_pair(self.prior.single, gradient)

    def max_abs(self, step: Array) -> float:
        """Return max |K s| over rows and classes."""
        return max_abs(step[1, ...])

    def inner(self, gradient: Array, step: Array) -> float:
        """Return <g, s> = sum g (K s)."""
        return inner_product(gradient, step[1, ...])

    def norm(self, step: Array) -> float:
        """Return |s|, with |s|^2 = sum s (K s)."""
        return max(inner_product(step[0, ...], step[1, ...]), 0.0) ** 0.5

    def correct(self, step: Array) -> Array:
        """Return the step with its image computed in the precision of the prior."""
        return _to_pair(self.prior, step[0, ...])


def _to_pair(prior: Prior, coefficients: Array) -> Array:
    return array_namespace(coefficients).stack([coefficients, prior.matvec(coefficients)])


def find_mode(
    prior: Prior,
    evidence: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Find a mode by trust-region Newton steps.

    Parameters
    ----------
    prior : GramPrior or FeaturePrior
        Prior over n rows.
    evidence : array of shape (n, K), bool or float
        The candidate sets, or weights of the candidates; no row has equal weights of all classes.
    sharpness : float
        L, above 0.
    initial : array of shape (n, K), optional
        Initial coefficients, used without annealing; the default is 0.
    anneal : bool
        Whether to increase the sharpness in stages.
    max_iter : int
        Maximum number of steps in each stage.
    tol : float
        The iteration stops if max |F - K (q - pi)| <= tol max(1, max |F|). In single precision the tolerance is at
        least 6e-5.

    Returns
    -------
    LaplaceMode
    """
    likelihood = Likelihood(evidence, sharpness)
    if isinstance(prior, FeaturePrior):
        weights = None if initial is None else prior.weights(initial)
        sums = RowSums(prior, evidence)
        mode = find_weight_mode(sums, sharpness, initial=weights, anneal=anneal, max_iter=max_iter, tol=tol)
        latents = prior.latents(mode.weights)
        derivatives = likelihood.derivatives(latents)
        return LaplaceMode(latents, derivatives.gradient, derivatives, mode.objective_path, mode.n_iter, mode.converged)
    x, n_iter = _start(prior, evidence, initial), 0
    if anneal and initial is None:
        x, n_iter = _run_stages(prior, evidence, x, sharpness, max_iter)
    newton = TrustRegionNewton(GramObjective(prior, likelihood), x)
    converged = newton.run(max_iter, tol)
    point = cast(GramPoint, newton.point)
    return LaplaceMode(
        point.x[1, ...],
        point.x[0, ...],
        point.derivatives,
        newton.objective_path,
        n_iter + newton.n_iter,
        converged,
    )


def _start(prior: GramPrior, evidence: Array, initial: Array | None) -> Array:
    """Return the pair of the initial coefficients."""
    if initial is not None:
        return _to_pair(prior, initial)
    zeros = zero_latents(prior.gram, evidence.shape[1])
    return array_namespace(zeros).stack([zeros, zeros])


def _run_stages(prior: GramPrior, evidence: Array, x: Array, sharpness: float, max_iter: int) -> tuple[Array, int]:
    """Return the pair after the annealing stages, and the number of steps."""
    schedule = annealing_schedule(sharpness, is_partial=has_partial_rows(evidence))
    use_landmarks = len(schedule) > 0 and evidence.shape[0] >= 4 * N_LANDMARKS
    stage_prior, n_iter = nystroem_prior(prior) if use_landmarks else prior, 0
    for level in schedule:
        newton = TrustRegionNewton(GramObjective(stage_prior, Likelihood(evidence, level)), x)
        newton.run(max_iter, STAGE_TOL)
        x, n_iter = newton.point.x, n_iter + newton.n_iter
    return _to_pair(prior, x[0, ...]) if use_landmarks else x, n_iter


def nystroem_prior(prior: GramPrior) -> FeaturePrior:
    """Return the Nystroem approximation of a prior, with evenly spaced rows as deterministic landmarks."""
    xp = array_namespace(prior.gram)
    n = prior.gram.shape[-1]
    landmarks = xp.asarray(np.linspace(0, n - 1, N_LANDMARKS).astype(np.int64), device=device(prior.gram))

    def features(gram: Array) -> Array:
        columns = gram[:, landmarks]
        return columns @ xp.astype(inverse_root(columns[landmarks, :]), gram.dtype, copy=False)

    if prior.is_shared:
        return FeaturePrior(features(prior.gram))
    return FeaturePrior(xp.stack([features(prior.of_class(k)) for k in range(prior.gram.shape[0])], axis=0))


def find_mode_cholesky(
    prior: GramPrior,
    evidence: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Find a mode by Newton steps with Cholesky factors; parameters and result are those of `find_mode`."""
    start = _start(prior, evidence, initial)
    coefficients, latents = start[0, ...], start[1, ...]
    is_partial = anneal and initial is None and has_partial_rows(evidence)
    n_iter = 0
    for level in [*annealing_schedule(sharpness, is_partial=is_partial), sharpness]:
        likelihood, stage_tol = Likelihood(evidence, level), tol if level == sharpness else STAGE_TOL
        objective_path = [likelihood.psi(coefficients, latents)]
        for step in range(max_iter + 1):
            derivatives = likelihood.derivatives(latents)
            distance = max_abs(latents - prior.matvec(derivatives.gradient)) / max(1.0, max_abs(latents))
            if distance <= stage_tol or step == max_iter:
                break
            target = softmax_jvp(derivatives.proba, latents) + derivatives.gradient  # W F + q - pi
            factors = CholeskyFactors.from_proba(prior, derivatives.proba)
            solution = target - factors.matvec(prior.matvec(target))
            latent_step, step_coefficients = prior.matvec(solution) - latents, solution - coefficients
            length = _bisect(likelihood, latents, coefficients, latent_step, step_coefficients)
            lowest = objective_path[-1] - 1e-13 * abs(objective_path[-1])
            while (
                psi := likelihood.psi(coefficients + length * step_coefficients, latents + length * latent_step)
            ) < lowest:
                length /= 2.0
            coefficients, latents = coefficients + length * step_coefficients, latents + length * latent_step
            objective_path.append(psi)
            n_iter += 1
    return LaplaceMode(latents, coefficients, derivatives, objective_path, n_iter, distance <= stage_tol)


def _bisect(
    likelihood: Likelihood, latents: Array, coefficients: Array, latent_step: Array, step_coefficients: Array
) -> float:
    """Return the step length, at most 1, at which the derivative of Psi along the step changes its sign."""
    xp = array_namespace(latents)

    def is_increasing(length: float) -> bool:
        gradient = likelihood.derivatives(latents + length * latent_step).gradient
        return float(xp.sum((gradient - coefficients - length * step_coefficients) * latent_step)) > 0

    if is_increasing(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(N_BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_increasing(middle) else (low, middle)
    return low if low > 0 else high
