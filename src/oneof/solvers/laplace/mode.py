"""Mode of the posterior: the latents F that maximize Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k.

Psi has many maxima if the sets are large. At F = 0 all candidates tie, and with infinite sharpness the first step
determines the label of most rows. Therefore the sharpness is increased in stages (annealing). As L goes to 0, the
likelihood becomes the mean of the candidates' latents, by weight, less log sum_k exp f_ik, which is concave and has one
maximum.
The stages only determine where the last maximization starts. With many rows they use a Nystroem approximation of the
prior, whose products are cheap.

`find_mode` takes trust-region Newton steps. `find_mode_cholesky` is the published method, kept as a reference: Newton
steps by Cholesky factors with bisection along the step (Zhou et al. 2017),

    F_new = (K^-1 + W)^-1 (W F + q - pi),     W = diag pi - pi pi^T.

It omits the positive part of the Hessian, L (diag q - q q^T), and so maximizes a concave lower bound of the quadratic
model of Psi. Psi increases, but slowly at low sharpness. Each step costs K n^3 operations.
"""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from oneof.kernels.nystroem import inverse_root
from oneof.likelihoods import softmax_jvp, support
from oneof.solvers.laplace.cholesky_factors import CholeskyFactors
from oneof.solvers.laplace.model import FeaturePrior, GramPrior, Likelihood, LikelihoodDerivatives, Prior
from oneof.solvers.laplace.trust_region import STAGE_TOL, TrustRegionNewton, relative_size, stages_below
from oneof.solvers.laplace.weight_space.mode import RowSums, find_weight_mode
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
    if isinstance(prior, FeaturePrior):
        start = None if initial is None else prior.weights(initial)
        sums = RowSums(prior, evidence)
        solution = find_weight_mode(sums, sharpness, initial=start, anneal=anneal, max_iter=max_iter, tol=tol)
        latents = sums.latents(solution.weights)
        derivatives = Likelihood(evidence, sharpness).derivatives(latents)
        return LaplaceMode(
            latents,
            derivatives.gradient,
            derivatives,
            solution.objective_path,
            solution.n_iter,
            solution.converged,
        )
    n_iter = 0
    if initial is not None:
        coefficients, latents = initial, prior.matvec(initial)
    else:
        schedule = annealing_schedule(evidence, sharpness) if anneal else []
        coefficients, latents, n_iter = run_annealing(prior, evidence, schedule, max_iter)
    likelihood = Likelihood(evidence, sharpness)
    newton = TrustRegionNewton(prior, likelihood, coefficients, latents)
    converged = newton.run(max_iter, tol)
    n_iter += newton.n_iter
    derivatives = likelihood.derivatives(newton.latents)
    return LaplaceMode(newton.latents, newton.coefficients, derivatives, newton.objective_path, n_iter, converged)


def annealing_schedule(evidence: Array, sharpness: float) -> list[float]:
    """Return the sharpness of each stage before the last one; empty if every row is exact, since no stage matters."""
    xp = array_namespace(evidence)
    is_partial = bool(xp.any(xp.sum(xp.astype(support(evidence), xp.int64), axis=1) > 1))
    return stages_below(sharpness) if is_partial else []


def run_annealing(prior: Prior, evidence: Array, schedule: list[float], max_iter: int) -> tuple[Array, Array, int]:
    """Return the coefficients and latents after the stages, started from 0, and the number of steps."""
    coefficients = latents = prior.zeros(evidence.shape[1])
    n_iter, stage_prior = 0, prior
    if schedule and isinstance(prior, GramPrior) and evidence.shape[0] >= 4 * N_LANDMARKS:
        stage_prior = nystroem_prior(prior)
    for sharpness in schedule:
        newton = TrustRegionNewton(stage_prior, Likelihood(evidence, sharpness), coefficients, latents)
        newton.run(max_iter, STAGE_TOL)
        coefficients, latents, n_iter = newton.coefficients, newton.latents, n_iter + newton.n_iter
    return coefficients, latents if stage_prior is prior else prior.matvec(coefficients), n_iter


def nystroem_prior(prior: GramPrior) -> FeaturePrior:
    """Return the Nystroem approximation of a prior, with evenly spaced rows as deterministic landmarks."""
    xp = array_namespace(prior.gram)
    landmarks = xp.asarray(
        np.linspace(0, prior.gram.shape[-1] - 1, N_LANDMARKS).astype(np.int64), device=device(prior.gram)
    )

    def features(gram: Array) -> Array:
        columns = gram[:, landmarks]
        return columns @ xp.astype(inverse_root(columns[landmarks, :]), gram.dtype, copy=False)

    if prior.is_shared:
        return FeaturePrior.from_features(features(prior.gram))
    by_class = [features(prior.of_class(k)) for k in range(prior.gram.shape[0])]
    return FeaturePrior.from_features(xp.stack(by_class, axis=0))


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
    if initial is None:
        coefficients = latents = prior.zeros(evidence.shape[1])
    else:
        coefficients, latents = initial, prior.matvec(initial)
    schedule = annealing_schedule(evidence, sharpness) if anneal and initial is None else []
    n_iter = 0
    for stage_sharpness, stage_tol in [*((level, STAGE_TOL) for level in schedule), (sharpness, tol)]:
        likelihood = Likelihood(evidence, stage_sharpness)
        objective_path = [likelihood.psi(coefficients, latents)]
        for step in range(max_iter + 1):
            derivatives = likelihood.derivatives(latents)
            distance = relative_size(prior, latents - prior.matvec(derivatives.gradient), latents)
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
