"""Gaussian process classification by Laplace's approximation.

Reading order: `plgp` (the estimator), `oneof.solvers.laplace.hyperparameters` (the search of hyperparameters),
`oneof.solvers.laplace.posterior` (the posterior of the latents), and the other modules of `oneof.solvers.laplace` in
the order of its docstring.
"""
