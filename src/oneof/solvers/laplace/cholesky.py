"""The published ascent to the mode: Newton steps by Cholesky factors, bisection along the step (Zhou et al. 2017).

F_new = (K^-1 + W)^-1 (W F + q - pi), with W = diag pi - pi pi^T. It leaves out the positive part of the Hessian, L
(diag q - q q^T), and so maximizes a concave lower bound of Psi's quadratic model: it climbs, slowly at low sharpness.
Each step costs K n^3 operations. It is kept as the reference of `mode`, and takes the same stages, by its own steps.
"""

from array_api_compat import array_namespace

from oneof.likelihoods import softmax_jvp
from oneof.solvers.laplace.climb import relative_size
from oneof.solvers.laplace.factors import Factors
from oneof.solvers.laplace.likelihood import Likelihood
from oneof.solvers.laplace.mode import STAGE_TOLERANCE, LaplaceMode, stages
from oneof.solvers.laplace.prior import GramPrior
from oneof.typing import Array

BISECTIONS = 30


def find_mode_by_factors(
    prior: GramPrior,
    mask: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Climb to a mode; parameters and result are those of `find_mode`."""
    if initial is None:
        coefficients = latents = prior.zeros(mask.shape[1])
    else:
        coefficients, latents = initial, prior.product(initial)
    before = stages(mask, sharpness) if anneal and initial is None else []
    n_iter = 0
    for level, accuracy in [*((level, STAGE_TOLERANCE) for level in before), (sharpness, tol)]:
        likelihood = Likelihood(mask, level)
        objective = [likelihood.psi(coefficients, latents)]
        for step in range(max_iter + 1):
            shares = likelihood.at(latents)
            distance = relative_size(prior, latents - prior.product(shares.slopes), latents)
            if distance <= accuracy or step == max_iter:
                break
            target = softmax_jvp(shares.overall, latents) + shares.slopes  # W F + q - pi
            factors = Factors.of(prior, shares.overall)
            ahead = target - factors.times(prior.product(target))
            move, change = prior.product(ahead) - latents, ahead - coefficients
            length = _bisect(likelihood, latents, coefficients, move, change)
            least = objective[-1] - 1e-13 * abs(objective[-1])
            while (psi := likelihood.psi(coefficients + length * change, latents + length * move)) < least:
                length /= 2.0
            coefficients, latents = coefficients + length * change, latents + length * move
            objective.append(psi)
            n_iter += 1
    return LaplaceMode(latents, coefficients, shares, objective, n_iter, distance <= accuracy)


def _bisect(likelihood: Likelihood, latents: Array, coefficients: Array, move: Array, change: Array) -> float:
    """Return the length, at most 1, at which the slope of Psi along the step turns negative."""
    xp = array_namespace(latents)

    def rises(length: float) -> bool:
        slopes = likelihood.at(latents + length * move).slopes
        return float(xp.sum((slopes - coefficients - length * change) * move)) > 0

    if rises(1.0):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rises(middle) else (low, middle)
    return low if low > 0 else high
