"""Logistic regression on candidate sets (Jin & Ghahramani 2003; Grandvalet & Bengio 2004), by Newton steps.

With s = X W^T + b, p_i the softmax of s_i, v_ik the evidence (1 in the set and 0 outside, or a weight), and q_ik
proportional to v_ik p_ik, minimize

    F(W, b) = 1/2 ||W||_F^2 + 1/lam sum_i w_i [ -log sum_k v_ik p_ik + mu H(q_i) ].

The original algorithm is EM: the responsibilities q, then a logistic regression on them as soft targets, whose Hessian
is that of F without the terms of q. If sets are large, those terms nearly cancel the rest, and EM takes hundreds of
iterations. With them F is not convex, which a trust region handles (Steihaug 1983). Near the minimum a step squares the
error.

Reading order: `problem` (objective, derivatives, preconditioners), `row_hessians` (products with the rows' Hessians),
`trust_region` (the solver).
"""

from oneof.solvers.plem.problem import PLEMProblem
from oneof.solvers.plem.trust_region import PLEMSolution, solve_plem

__all__ = ["PLEMProblem", "PLEMSolution", "solve_plem"]
