"""The mode of the posterior: the latents F that maximize Psi(F) = sum_i log p(S_i | f_i) - 1/2 sum_k f_k^T K_k^-1 f_k.

Psi has many maxima where sets are large. At F = 0 all candidates tie, and with infinite sharpness the first step
settles most rows. So the sharpness is raised in stages: as L goes to 0 the likelihood becomes the mean of the
candidates' latents less log sum_k exp f_ik, which is concave, and has one maximum. The stages only lead to where the
last ascent begins. With many rows they see a Nystrom approximation of the prior, whose products cost little.
"""

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device

from oneof.solvers.laplace.climb import Climb
from oneof.solvers.laplace.landmarks import inverse_root
from oneof.solvers.laplace.likelihood import Likelihood, Shares
from oneof.solvers.laplace.prior import FeaturePrior, GramPrior, Prior
from oneof.typing import Array

STAGES = (0.1, 1.0, 10.0)
"""Sharpnesses that lead to a larger one."""
STAGE_TOLERANCE = 0.05
LANDMARKS = 500
"""Rows whose covariances stand for the prior in the stages, where there are at least four times as many."""


@dataclass(frozen=True)
class LaplaceMode:
    """A maximum of Psi."""

    latents: Array
    """F, (n, K)."""
    coefficients: Array
    """A, (n, K), with F = K A; at the mode it is q - pi, to the tolerance."""
    shares: Shares
    """At F."""
    objective: list[float]
    """Psi at the start of the last stage and after each of its steps."""
    n_iter: int
    """Steps, over all stages."""
    converged: bool


def find_mode(
    prior: Prior,
    mask: Array,
    sharpness: float,
    *,
    initial: Array | None = None,
    anneal: bool = True,
    max_iter: int = 1000,
    tol: float = 1e-6,
) -> LaplaceMode:
    """Climb to a mode by Newton steps.

    Parameters
    ----------
    prior : GramPrior or FeaturePrior
        Over n rows.
    mask : boolean array of shape (n, K)
        The sets; none holds every class.
    sharpness : float
        L.
    initial : array of shape (n, K), optional
        Coefficients to start from, without stages, in place of 0.
    anneal : bool
        Raise the sharpness in stages.
    max_iter : int
        Most steps in each stage.
    tol : float
        Stop where max |F - K (q - pi)| <= tol max(1, max |F|); in single precision at 6e-5, if that is more.

    Returns
    -------
    LaplaceMode
    """
    steps = 0
    if initial is not None:
        coefficients, latents = initial, prior.product(initial)
    else:
        levels = stages(mask, sharpness) if anneal else []
        coefficients, latents, steps = climb_stages(prior, mask, levels, max_iter)
    likelihood = Likelihood(mask, sharpness)
    climb = Climb(prior, likelihood, coefficients, latents)
    converged = climb.run(max_iter, tol)
    steps += climb.n_iter
    shares = likelihood.at(climb.latents)
    return LaplaceMode(climb.latents, climb.coefficients, shares, climb.objective, steps, converged)


def stages(mask: Array, sharpness: float) -> list[float]:
    """Return the sharpnesses before that which is asked for; where all sets are of one label it changes nothing."""
    xp = array_namespace(mask)
    partial = bool(xp.any(xp.sum(xp.astype(mask, xp.int64), axis=1) > 1))
    return levels_below(sharpness) if partial else []


def levels_below(sharpness: float) -> list[float]:
    """Return the sharpnesses of the stages before one."""
    return [level for level in STAGES if level < sharpness]


def climb_stages(prior: Prior, mask: Array, levels: list[float], max_iter: int) -> tuple[Array, Array, int]:
    """Return the coefficients and latents to which the stages lead from 0, and their steps."""
    coefficients = latents = prior.zeros(mask.shape[1])
    steps, seen = 0, prior
    if levels and isinstance(prior, GramPrior) and mask.shape[0] >= 4 * LANDMARKS:
        seen = reduced(prior)
    for level in levels:
        climb = Climb(seen, Likelihood(mask, level), coefficients, latents)
        climb.run(max_iter, STAGE_TOLERANCE)
        coefficients, latents, steps = climb.coefficients, climb.latents, steps + climb.n_iter
    return coefficients, latents if seen is prior else prior.product(coefficients), steps


def reduced(prior: GramPrior) -> FeaturePrior:
    """Return the Nystrom approximation of a prior by rows at equal distances, which no order of the rows hides."""
    xp = array_namespace(prior.gram)
    at = xp.asarray(np.linspace(0, prior.gram.shape[-1] - 1, LANDMARKS).astype(np.int64), device=device(prior.gram))

    def features(gram: Array) -> Array:
        columns = gram[:, at]
        return columns @ xp.astype(inverse_root(columns[at, :]), gram.dtype, copy=False)

    if prior.is_shared:
        return FeaturePrior.of(features(prior.gram))
    return FeaturePrior.of(xp.stack([features(prior.of_class(k)) for k in range(prior.gram.shape[0])], axis=0))
