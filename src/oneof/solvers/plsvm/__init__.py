"""Partial-label SVM (Nguyen & Caruana 2008): the published solver, and a solver by annealing and dual ascent.

With s_i = W x_i over the n rows that are not unlabeled,

    J(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - max_{k in S_i} s_ik + max_{k not in S_i} s_ik).

The loss of a row with weights is the sum of the losses of its level sets (`oneof.solvers.stacked_sets`), each times its
mass. Dual variables belong to a set, and features to the row, whose scores are computed once.

Reading order: `problem` (objective and Pegasos), `cccp` (the default solver and its annealed start), `dual_ascent` (its
convex problems, and steps over all free dual variables).
"""

from oneof.solvers.plsvm.cccp import solve_cccp
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution, solve_pegasos

__all__ = ["PLSVMProblem", "PLSVMSolution", "solve_cccp", "solve_pegasos"]
