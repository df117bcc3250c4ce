"""Convex loss for partial labels, on linear scores (Cour, Sapp & Taskar 2011), by a Newton method.

Over the rows that are not full, with s = X W^T + b and psi(u) = max(0, 1 - u)^2, minimize

    f(W, b) = 1/2 ||W||_F^2 + C sum_i w_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ].

f is convex and quadratic in pieces, so that a Newton step is exact once the losses that are not 0 stay the same. Each
step is found by conjugate gradients, where a Hessian product is two products of X with K columns, preconditioned by the
Hessian's diagonal. Where that takes many products, its K blocks, one a class, are factorized instead: the classes meet
only in the mean over the set, so they are close to the whole. The step is followed to the minimum on its line, at no
product with X. For sparse rows of many features dual ascent goes first.
"""

from oneof.solvers.clpl.problem import CLPLProblem
from oneof.solvers.clpl.search import CLPLSolution, minimize, solve_clpl

__all__ = ["CLPLProblem", "CLPLSolution", "minimize", "solve_clpl"]
