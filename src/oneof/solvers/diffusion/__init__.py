"""Labels that spread over a graph: harmonic functions, local and global consistency, Markov walks."""

from oneof.solvers.diffusion.consistency import ConsistencySolution, solve_consistency
from oneof.solvers.diffusion.harmonic import HarmonicSolution, balance_mass, solve_harmonic
from oneof.solvers.diffusion.walk import WalkSolution, solve_walk

__all__ = [
    "ConsistencySolution",
    "HarmonicSolution",
    "WalkSolution",
    "balance_mass",
    "solve_consistency",
    "solve_harmonic",
    "solve_walk",
]
