"""Logistic regression with a prior from graphs of the rows, for one view of them or several (co-training).

Reading order: `graph_logistic` (the estimator), `_views` (features, linear model and graphs of the views, terms of the
prior), and `oneof.solvers.graph_logistic` in the order of its docstring.
"""
