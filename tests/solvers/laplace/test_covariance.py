"""Posterior covariances of new rows by Gram matrices and by features."""

import numpy as np

from oneof.solvers.laplace.covariance import CholeskyFactors, WeightCovariance
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from oneof.solvers.laplace.posterior import draw_normals, expected_softmax
from tests.estimators.panel import table


def test_features_give_the_covariances_of_their_kernel():
    """The weight space gives the same covariances, plus the variance that the features do not explain."""
    X, mask = table(200, K=3)
    labeled = ~mask.all(axis=1)
    features = np.tanh(X[labeled] @ np.random.default_rng(0).normal(size=(4, 7)))
    further = np.tanh(np.random.default_rng(1).normal(size=(20, 7)))
    exact, by_features = GramPrior(features @ features.T), FeaturePrior(features)
    proba = find_mode(by_features, mask[labeled], np.inf).derivatives.proba
    prior_variances = (further**2).sum(axis=1)
    reference = CholeskyFactors.from_proba(exact, proba).covariances(further @ features.T, prior_variances)
    by_weights = WeightCovariance.from_features([features] * 3, proba)
    np.testing.assert_allclose(by_weights.covariances(further, prior_variances), reference, atol=1e-9)
    more = by_weights.covariances(further, prior_variances + 2.0) - reference
    np.testing.assert_allclose(more, np.broadcast_to(2.0 * np.eye(3), more.shape), atol=1e-9)


def test_expected_softmax_is_the_mean_of_the_softmax():
    """For two classes it is the mean of the logistic function of a normal; with covariance 0 it is the softmax."""
    means, covariances = np.array([[0.3, -0.4]]), np.array([[[1.5, 0.2], [0.2, 0.8]]])
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    std = np.sqrt(1.5 + 0.8 - 2 * 0.2)
    exact = (weights / (1 + np.exp(-(0.7 + std * nodes)))).sum() / weights.sum()
    normals = draw_normals(100_001, 2, np.random.default_rng(0))
    np.testing.assert_allclose(expected_softmax(means, covariances, normals)[0], [exact, 1 - exact], atol=2e-3)
    exact_softmax = expected_softmax(means, 0 * covariances, normals)
    np.testing.assert_allclose(exact_softmax[0, 0], 1 / (1 + np.exp(-0.7)))
