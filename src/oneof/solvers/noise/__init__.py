"""The noise of candidate sets: the probability of each set to exclude the true class, by EM.

Reading order:

1. `wrong_sets`: the probability of a set that excludes the true class, for sets and for weights.
2. `em`: EM for the noise rates, the confusion of wrong sets, and the power that calibrates the predictions.
3. `interval`: the interval of the noise rate, by the profile likelihood.
"""

from oneof.solvers.noise.em import NoiseModel, NoiseSolution, solve_noise
from oneof.solvers.noise.interval import noise_interval
from oneof.solvers.noise.wrong_sets import WrongSets

__all__ = ["NoiseModel", "NoiseSolution", "WrongSets", "noise_interval", "solve_noise"]
