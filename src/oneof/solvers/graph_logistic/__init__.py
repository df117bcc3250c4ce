"""Logistic regression with a prior from a graph (Krishnapuram et al. 2004): its solver and its Laplace posterior.

With w^(K) = 0, over the labeled rows with a set that is not full,

    l(w) = sum_i log sum_{k in S_i} p(k | x_i),     w^(c) ~ N(0, (sum_j lambda_j P_j)^-1),  c = 1..K-1.

Numbers in parentheses are those of the paper's equations; it has exact labels, and may have precisions of each class.
The precisions lambda are estimated by the paper's EM algorithm or by the evidence, or given.

Reading order:

1. `solve`: the iterations of M-steps and precision updates; several views.
2. `prior`: the matrices P_j, the terms, and the directions without a penalty.
3. `likelihood`: l(w) and its derivatives.
4. `coordinates`: the coordinates of the weights, by weights or by rows; the basis for more weights than rows.
5. `newton`: the M-step by Newton's method, and the Hessian.
6. `bohning`: the M-steps by Böhning's bound, of all weights or one at a time.
7. `posterior`: the Laplace posterior, and leave-one-out scores.
8. `evidence`: the evidence, and accelerated updates of the precisions.
"""

from oneof.solvers.graph_logistic.posterior import LogisticPosterior
from oneof.solvers.graph_logistic.prior import PriorTerm
from oneof.solvers.graph_logistic.solve import GraphLogisticSolution, solve_graph_logistic

__all__ = ["GraphLogisticSolution", "LogisticPosterior", "PriorTerm", "solve_graph_logistic"]
