"""Logistic regression with a prior from graphs of the rows, for one view of them or several (co-training).

Reading order: `graph_logistic` (the estimator), `_view_encoding` (views, graphs, terms of the prior), `_views`
(features and linear model of the views), and `oneof.solvers.graph_logistic` in the order of its docstring.
"""
