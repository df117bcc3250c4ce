"""Diffusion of labels over a graph: harmonic functions, local and global consistency, Poisson learning, Markov walks.

Reading order: `label_propagation` (the two methods that are linear systems), `constrained` (rows with several
candidates), `linear_solve` (the systems), `poisson`, `markov_walk`. Class sizes are in `oneof.solvers.class_sizes`.
"""

from oneof.solvers.diffusion.label_propagation import (
    HarmonicSolution,
    LocalGlobalConsistencySolution,
    solve_harmonic,
    solve_local_global_consistency,
)
from oneof.solvers.diffusion.markov_walk import MarkovWalkSolution, solve_markov_walk
from oneof.solvers.diffusion.poisson import PoissonSolution, solve_poisson, solve_poisson_cuts

__all__ = [
    "HarmonicSolution",
    "LocalGlobalConsistencySolution",
    "MarkovWalkSolution",
    "PoissonSolution",
    "solve_harmonic",
    "solve_local_global_consistency",
    "solve_markov_walk",
    "solve_poisson",
    "solve_poisson_cuts",
]
