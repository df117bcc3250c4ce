"""Partial-label SVM (Nguyen & Caruana 2008): the published solver, and one by annealing and dual ascent.

With s_i = W x_i over the n rows whose set is not full,

    J(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - max_{k in S_i} s_ik + max_{k not in S_i} s_ik).
"""

from oneof.solvers.plsvm.cccp import solve_cccp
from oneof.solvers.plsvm.pegasos import solve_pegasos
from oneof.solvers.plsvm.problem import PLSVMProblem, PLSVMSolution

__all__ = ["PLSVMProblem", "PLSVMSolution", "solve_cccp", "solve_pegasos"]
