"""Convex loss for partial labels, on linear scores (Cour, Sapp & Taskar 2011), by a Newton method.

Over the rows that are not unlabeled, with s = X W^T + b and psi(u) = max(0, 1 - u)^2, minimize

    f(W, b) = 1/2 ||W||_F^2 + C sum_i c_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ].

With weights w_ik, the first term is the sum over the row's level sets of their masses times psi(mean over the set), and
the term of a class outside is multiplied by 1 - w_ik, the total mass of the level sets without it.

f is convex and piecewise quadratic, so that a Newton step is exact once the active losses stay the same. Each step is
computed by conjugate gradients, whose Hessian product is two products of X with K columns, preconditioned by the
Hessian's diagonal. If that takes many products, the Hessian's K blocks, one per class, are factorized instead. They are
close to the full Hessian, since the classes are coupled only by the mean over the set. An exact line search along each
step needs no product with X. All products of a step use only the rows with a positive loss. Without an intercept,
passes of dual ascent run first; for sparse rows with many features they are mostly sufficient. Dense rows with few
nonzeros are solved as sparse rows.

Reading order: `newton_cg` (the solver and the objective's protocol), `problem` (objective and derivatives),
`inside_means` (the means over sets and over level sets), `dual_ascent` (the start without an intercept).
"""

from oneof.solvers.clpl.newton_cg import CLPLSolution, minimize, solve_clpl
from oneof.solvers.clpl.problem import CLPLProblem

__all__ = ["CLPLProblem", "CLPLSolution", "minimize", "solve_clpl"]
