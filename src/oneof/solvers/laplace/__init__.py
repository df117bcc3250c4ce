"""Laplace approximation of Gaussian process classification with candidate sets.

Reading order:

1. `model`: the prior and the likelihood.
2. `covariance`: the reference form of Rasmussen & Williams, and the covariances of further rows.
3. `mode`: the search for the posterior mode, by `oneof.solvers.trust_region`.
4. `hyperparameters`: the evidence, and its maximization.
5. `posterior`: the combination of all of these, and the class probabilities of further rows.
"""
