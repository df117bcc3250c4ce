"""Spectral graph transducer: graph eigenvectors and a quadratic on a sphere, one problem for each class.

Reading order: `transduction` (the method and the eigenvectors), `sphere` (the quadratic problems).
"""

from oneof.solvers.transducer.transduction import TransductionSolution, solve_transduction

__all__ = ["TransductionSolution", "solve_transduction"]
