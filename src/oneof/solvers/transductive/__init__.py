"""Transductive support vector machines (Joachims 1999): two classes, or one against the others.

Reading order: `tsvm` (label switching with annealed costs, for two classes and for one class against the others),
`weighted_svm` (the SVM with one cost for each row), `newton` (its Newton steps).
"""

from oneof.solvers.transductive.tsvm import (
    BinaryLabels,
    OneVsRestSolution,
    SwitchingOptions,
    TransductiveSolution,
    binary_labels,
    fractions_of_problems,
    solve_one_vs_rest,
    solve_transductive,
)
from oneof.solvers.transductive.weighted_svm import SVMProblem, SVMSolution, solve_weighted_svm

__all__ = [
    "BinaryLabels",
    "OneVsRestSolution",
    "SVMProblem",
    "SVMSolution",
    "SwitchingOptions",
    "TransductiveSolution",
    "binary_labels",
    "fractions_of_problems",
    "solve_one_vs_rest",
    "solve_transductive",
    "solve_weighted_svm",
]
