"""The profile likelihood of the noise rate: its interval, and averages over the rates that are as probable.

For each noise rate e, b, R and the ratios of the rates of the groups are fitted again. Let l be the largest
log-likelihood, and q a quantile of the chi-squared distribution with one degree of freedom. The interval has all e
whose log-likelihood is at least l - c q / 2 (Wilks 1938). The factor c widens the interval, since the model is an
approximation.

Noise and classes that overlap are often hard to distinguish, and the likelihood is nearly constant over the interval.
The estimates are therefore averages over equally spaced rates of the interval. Their weights are the likelihood to the
power 1/c, as with a uniform prior of e.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from oneof.solvers.noise.em import MAX_RATE, NoiseModel, NoiseProblem, NoiseSolution, normalize_rows, sample_rows
from oneof.typing import Evidence, Floats, Ints

DISPERSION = 2.0
"""c. With 1, 35 of 39 intervals contained the fraction of errors, on six data sets; with 2, 38 of them."""
COVERAGE = 0.95
N_RATES, N_STEPS = 9, 10
"""Number of rates of the averages, and of bisections for each end of the interval."""
N_PROFILE_ITER, PROFILE_TOL, MAX_PROFILE_ROWS = 60, 1e-4, 2000
"""Limit and tolerance of EM at each rate, and number of rows of the profile."""


@dataclass(frozen=True)
class NoiseEstimate:
    """Result of `average_noise`."""

    interval: tuple[float, float]
    power: float
    """Geometric mean of b."""
    confusion: Floats
    """Mean of R, (K, K)."""
    wrong: Floats
    """Mean of r, (n,)."""
    outside: Floats
    """(n, K): probabilities of the classes if the set is wrong; rows sum to 1, or are 0 without such a class."""
    ends: tuple[NoiseModel, NoiseModel]
    """The models at both ends of the interval."""


def average_noise(
    scores: Floats,
    evidence: Evidence,
    group: Ints,
    solution: NoiseSolution,
    *,
    coverage: float = COVERAGE,
    seed: int = 0,
) -> NoiseEstimate:
    """Return averages over the interval of the noise rate.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
    evidence : ndarray of shape (n, K)
    group : ndarray of shape (n,)
        As in `solve_noise`.
    solution : NoiseSolution
        Its result, from which the fits start.
    coverage : float
        The probability of the interval, in (0, 1).
    seed : int
        Seed of the choice of the rows if there are more than `MAX_PROFILE_ROWS`.
    """
    n_groups, rate = len(solution.model.rates), float(np.clip(solution.wrong.mean(), 0.0, MAX_RATE))
    rows = sample_rows(len(scores), MAX_PROFILE_ROWS, seed)
    part = NoiseProblem.of(scores[rows], evidence[rows], group[rows], n_groups)

    def profile(value: float) -> tuple[float, NoiseModel]:
        run = part.run(solution.model, N_PROFILE_ITER, PROFILE_TOL, total_rate=value)
        return run.log_likelihood * len(scores) / len(rows), run.model

    limit = profile(rate)[0] - 0.5 * DISPERSION * float(chi2.ppf(coverage, 1))
    low, high = (_end(rate, end, limit, lambda value: profile(value)[0]) for end in (0.0, MAX_RATE))
    rates = np.linspace(low, high, N_RATES)
    logs, models = zip(*map(profile, rates.tolist()), strict=True)
    weights = np.exp((np.array(logs) - max(logs)) / DISPERSION)
    weights[[0, -1]] *= 0.5  # trapezoidal rule
    weights /= weights.sum()
    problem = NoiseProblem.of(scores, evidence, group, n_groups)
    wrong, outside = np.zeros(len(scores)), np.zeros_like(scores)
    for weight, model in zip(weights, models, strict=True):
        posterior = problem.posterior(model)
        wrong += weight * posterior.wrong
        outside += weight * posterior.proba * posterior.ratios
    return NoiseEstimate(
        interval=(low, high),
        power=float(np.exp(weights @ np.log([model.power for model in models]))),
        confusion=np.asarray(sum(weight * model.confusion for weight, model in zip(weights, models, strict=True))),
        wrong=np.minimum(wrong, 1.0),  # the weights sum to 1 up to rounding
        outside=normalize_rows(outside),
        ends=(models[0], models[-1]),
    )


def _end(inside: float, outside: float, limit: float, value_of: Callable[[float], float]) -> float:
    """Return an end of the interval, between a rate inside and a limit of the rates."""
    if value_of(outside) >= limit:
        return outside
    for _ in range(N_STEPS):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if value_of(middle) >= limit else (inside, middle)
    return inside
