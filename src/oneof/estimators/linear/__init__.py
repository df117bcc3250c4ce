"""Linear classifiers that minimize one objective over all rows.

Reading order: `clpl` (a convex loss of the average score of the candidates) with `oneof.solvers.clpl`, or `plem`
(logistic regression on the sum of the probabilities of the candidates) with `oneof.solvers.plem`.
"""
