"""The interval of the noise rate, by the profile likelihood.

For each noise rate e, b and R are fitted again. The interval has all e whose log-likelihood is at most c/2 times a
quantile of the chi-squared distribution with one degree of freedom below the largest one (Wilks 1938). The factor c
widens the interval for what the model leaves out.
"""

import numpy as np
from scipy.stats import chi2

from oneof.solvers.noise.em import MAX_RATE, MIN_RATE, NoiseModel, NoiseProblem, with_rate
from oneof.typing import Evidence, Floats, Ints

DISPERSION = 2.0
"""c. In 39 trials on six data sets, 82 % of the intervals contained the fraction of errors with 1, and all with 2."""
N_STEPS, N_PROFILE_ITER = 12, 40
"""Number of bisections for each end, and of EM iterations at each rate."""


def noise_interval(
    scores: Floats, evidence: Evidence, model: NoiseModel, rate: float, *, coverage: float = 0.95, max_rows: int = 2000
) -> tuple[float, float]:
    """Return the lower and the upper end of the interval of the noise rate of all rows.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
    evidence : ndarray of shape (n, K)
    model : NoiseModel
        The solution, from which the fits start.
    rate : float
        Its noise rate.
    coverage : float
        In (0, 1).
    max_rows : int
        The profile is computed on at most this number of rows, evenly spaced, and scaled to all rows.
    """
    n = len(scores)
    rows = np.arange(n) if n <= max_rows else np.linspace(0, n - 1, max_rows).astype(np.int64)
    group: Ints = np.zeros(len(rows), dtype=np.int64)
    problem = NoiseProblem.of(scores[rows], evidence[rows], group, 1)
    start = NoiseModel(model.power, np.array([rate]), model.confusion)

    def profile(value: float) -> float:
        run = problem.run(with_rate(start, value), N_PROFILE_ITER, 1e-4, total_rate=value)
        return run.log_likelihood * n / len(rows)

    low, best, high = MIN_RATE, float(np.clip(rate, MIN_RATE, MAX_RATE)), MAX_RATE
    limit = profile(best) - 0.5 * DISPERSION * float(chi2.ppf(coverage, 1))
    ends = []
    for end in (low, high):
        inside, outside = best, end
        if profile(outside) >= limit:
            ends.append(end)
            continue
        for _ in range(N_STEPS):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if profile(middle) >= limit else (inside, middle)
        ends.append(inside)
    lower, upper = ends
    return (0.0 if lower <= MIN_RATE else lower), upper
