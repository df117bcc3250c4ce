"""Diffusion of labels over a graph: harmonic functions, local and global consistency, Markov walks.

Reading order: `label_propagation` (the two methods that are linear systems), `constrained` (rows with several
candidates), `linear_solve` (the systems), `pseudo_transient` (acceleration of slow sweeps), `markov_walk`.
"""

from oneof.solvers.diffusion.label_propagation import (
    HarmonicSolution,
    LocalGlobalConsistencySolution,
    balance_mass,
    solve_harmonic,
    solve_local_global_consistency,
)
from oneof.solvers.diffusion.markov_walk import MarkovWalkSolution, solve_markov_walk

__all__ = [
    "HarmonicSolution",
    "LocalGlobalConsistencySolution",
    "MarkovWalkSolution",
    "balance_mass",
    "solve_harmonic",
    "solve_local_global_consistency",
    "solve_markov_walk",
]
