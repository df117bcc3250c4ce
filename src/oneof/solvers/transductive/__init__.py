"""Transductive support vector machines (Joachims 1999): two classes, or one against the others."""

from oneof.solvers.transductive.annealing import Sides, TransductiveSolution, solve_transductive
from oneof.solvers.transductive.machine import Machine, MachineProblem, solve_machine
from oneof.solvers.transductive.one_vs_rest import ClassMachines, solve_classes
from oneof.solvers.transductive.sides import sides_of

__all__ = [
    "ClassMachines",
    "Machine",
    "MachineProblem",
    "Sides",
    "TransductiveSolution",
    "sides_of",
    "solve_classes",
    "solve_machine",
    "solve_transductive",
]
