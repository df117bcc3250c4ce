"""Logistic regression with a prior from a graph (Krishnapuram et al. 2004): its solver and its Laplace posterior.

With w^(K) = 0, over the labeled rows whose set is not full,

    l(w) = sum_i log sum_{k in S_i} p(k | x_i),     w^(c) ~ N(0, (sum_j lambda_j P_j)^-1),  c = 1..K-1,

the precisions lambda by the paper's EM algorithm, by the evidence, or given.
"""

from oneof.solvers.graph_logistic.posterior import LaplacePosterior
from oneof.solvers.graph_logistic.solve import GraphLogisticSolution, solve_graph_logistic
from oneof.solvers.graph_logistic.terms import Term

__all__ = ["GraphLogisticSolution", "LaplacePosterior", "Term", "solve_graph_logistic"]
