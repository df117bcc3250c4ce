"""Convex loss for partial labels, on linear scores (Cour, Sapp & Taskar 2011), by a Newton method.

Over the rows that are not unlabeled, with s = X W^T + b and psi(u) = max(0, 1 - u)^2, minimize

    f(W, b) = 1/2 ||W||_F^2 + C sum_i c_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ].

With weights w_ik, the first term is the sum over the row's level sets of their masses times psi(mean over the set), and
the term of a class outside is multiplied by 1 - w_ik, the total mass of the level sets without it.

f is convex with a continuous gradient, and is minimized by L-BFGS (`oneof.solvers.lbfgs`), whose preconditioner is made
of the Hessian's K blocks, one per class. They are close to the full Hessian, since the classes are coupled only by the
mean over the set. For large C the kinks of the losses make L-BFGS slow. Newton steps follow then, which are exact once
the active losses stay the same, since f is piecewise quadratic; an exact line search along each step needs no product
with X, and all products use only the rows with a positive loss. Sparse rows without an intercept begin with passes of
dual ascent, which are mostly sufficient. Dense rows with few nonzeros are solved as sparse rows.

Reading order: `newton_cg` (the solver), `problem` (objective and derivatives), `dual_ascent` (the start on sparse
rows).
"""

from oneof.solvers.clpl.newton_cg import CLPLSolution, minimize, solve_clpl
from oneof.solvers.clpl.problem import CLPLProblem

__all__ = ["CLPLProblem", "CLPLSolution", "minimize", "solve_clpl"]
