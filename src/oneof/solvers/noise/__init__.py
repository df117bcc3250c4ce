"""The noise of candidate sets: the probability of each set to exclude the true class.

Reading order: `wrong_sets` (the probability of a set that excludes the true class, for sets and for weights), then
`estimate` (the noise rate with its interval, and the probabilities of the rows).
"""

from oneof.solvers.noise.estimate import MAX_RATE, NoiseModel, NoiseProblem, estimate_noise
from oneof.solvers.noise.wrong_sets import WrongSets

__all__ = ["MAX_RATE", "NoiseModel", "NoiseProblem", "WrongSets", "estimate_noise"]
