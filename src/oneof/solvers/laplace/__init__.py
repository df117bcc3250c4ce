"""Laplace approximation of Gaussian process classification with candidate sets.

The modules in reading order: `model` has the prior and the likelihood, `trust_region` the Newton method, and `mode` the
search for the posterior mode. `cholesky_factors` has the reference form of Rasmussen & Williams, from which `evidence`
and `hyperparameters` follow. `posterior_covariance` and `low_rank_covariance` give the covariances of further rows,
`predictive` their class probabilities. `posterior` combines all of these, and `feature_mode` finds the same posterior
for rows that are distributed over blocks.
"""
