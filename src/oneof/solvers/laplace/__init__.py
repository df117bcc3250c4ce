"""Laplace approximation of Gaussian process classification with candidate sets.

Reading order:

1. `model`: the prior and the likelihood.
2. `mode`: the search for the posterior mode, by `oneof.solvers.trust_region`.
3. `cholesky_factors`: the reference form of Rasmussen & Williams.
4. `evidence`, `hyperparameters`: the evidence, and its maximization.
5. `posterior_covariance`: the covariances of further rows.
6. `predictive`: the class probabilities of further rows.
7. `posterior`: the combination of all of these.
8. `weight_space`: the mode over the weights of features.
"""
