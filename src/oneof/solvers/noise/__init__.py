"""The noise of candidate sets: the probability of each set to exclude the true class, by EM.

Reading order:

1. `wrong_sets`: the probability of a set that excludes the true class, for sets and for weights.
2. `em`: EM for the noise rates, the confusion of wrong sets, and the power that calibrates the predictions.
3. `profile`: the interval of the noise rate, and averages over it.
"""

from oneof.solvers.noise.em import NoiseModel, NoiseSolution, solve_noise
from oneof.solvers.noise.profile import NoiseEstimate, average_noise
from oneof.solvers.noise.wrong_sets import WrongSets

__all__ = ["NoiseEstimate", "NoiseModel", "NoiseSolution", "WrongSets", "average_noise", "solve_noise"]
