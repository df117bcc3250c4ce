"""Diffusion of labels over a graph: harmonic functions, local and global consistency, Poisson learning, Markov walks.

Reading order: `label_propagation` (the two methods that are linear systems), `linear_solve` (the systems, and rows with
several candidates), `poisson`, `markov_walk`. Class sizes are in `oneof.solvers.class_sizes`.
"""

from dataclasses import KW_ONLY, dataclass

from oneof.typing import Floats, Ints


@dataclass(frozen=True)
class DiffusionResult:
    """Label distributions of the nodes of a graph: the common part of the results of all solvers."""

    distributions: Floats
    """(n, K): rows sum to 1, and are 0 outside the set in rows with several candidates."""
    n_iter: int
    """Iterations of conjugate gradients (1 for a factorization), of EM, or sweeps; see the solver."""
    converged: bool
    unreachable: Ints
    """Row indices that no label reaches; their distributions are uniform."""
    _: KW_ONLY
    has_sizes: bool = False
    """Whether the distributions have the class sizes already."""
