"""The noise of candidate sets: the probability of each set to exclude the true class, by EM.

Reading order:

1. `wrong_sets`: the probability of a set that excludes the true class, for sets and for weights.
2. `em`: EM for the noise rates, the confusion of wrong sets, and the power that calibrates the predictions.
3. `profile`: the interval of the noise rate, and averages over it.
4. `information`: whether the predictions are good enough for an estimate of the rate.
"""

from oneof.solvers.noise.em import MAX_RATE, NoiseModel, NoiseProblem, NoiseSolution, normalize_rows, solve_noise
from oneof.solvers.noise.information import information_gains, is_better_than_frequencies
from oneof.solvers.noise.profile import NoiseEstimate, average_noise
from oneof.solvers.noise.wrong_sets import WrongSets

__all__ = [
    "MAX_RATE",
    "NoiseEstimate",
    "NoiseModel",
    "NoiseProblem",
    "NoiseSolution",
    "WrongSets",
    "average_noise",
    "information_gains",
    "is_better_than_frequencies",
    "normalize_rows",
    "solve_noise",
]
