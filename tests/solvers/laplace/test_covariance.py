"""Posterior covariances of new rows by Gram matrices, by features, and in single precision."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from oneof.kernels import covariance, variances
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from oneof.solvers.laplace.posterior_covariance import LatentCovariance, WeightCovariance
from oneof.solvers.laplace.predictive import draw_normals, expected_softmax
from tests.estimators.panel import table

KERNELS = {
    "smooth": ConstantKernel(10.0) * RBF(6.0),
    "rough": ConstantKernel(3.0) * RBF(3.0),
    "linear": DotProduct(1.0),
}


def problem(kernel, n=300, K=4):
    """Return the prior and the probabilities at the mode, and the covariances and variances of new rows."""
    X, mask = table(n, K=K)
    labeled = ~mask.all(axis=1)
    further = np.random.default_rng(1).normal(size=(40, X.shape[1])) * 2
    prior = GramPrior(covariance(kernel, X[labeled]))
    mode = find_mode(prior, mask[labeled], np.inf)
    return prior, mode.derivatives.proba, covariance(kernel, further, X[labeled]), variances(kernel, further)


def test_features_give_the_covariances_of_their_kernel():
    """The weight space gives the same covariances, plus the variance that the features do not explain."""
    X, mask = table(200, K=3)
    labeled = ~mask.all(axis=1)
    features = np.tanh(X[labeled] @ np.random.default_rng(0).normal(size=(4, 7)))
    further = np.tanh(np.random.default_rng(1).normal(size=(20, 7)))
    exact, by_features = GramPrior(features @ features.T), FeaturePrior(features)
    proba = find_mode(by_features, mask[labeled], np.inf).derivatives.proba
    prior_variances = (further**2).sum(axis=1)
    reference = LatentCovariance.from_prior(exact, proba).covariances(further @ features.T, prior_variances)
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


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("name", KERNELS)
def test_refined_variances_equal_those_in_double_precision(name, by_class):
    """One step of refinement of factors in single precision has the variances of factors in double precision."""
    prior, proba, cross, prior_variances = problem(KERNELS[name])
    if by_class:
        factors = np.array([1.0, 0.5, 2.0, 1.0])
        prior = GramPrior(factors[:, None, None] * prior.gram)
        cross, prior_variances = factors[:, None, None] * cross, factors[:, None] * prior_variances
    exact = LatentCovariance.from_prior(prior, proba).covariances(cross, prior_variances)
    exact = np.diagonal(exact, axis1=1, axis2=2)
    single = LatentCovariance.from_prior_single(prior, proba)
    assert single.root.dtype == np.float32
    refined = single.refined_variances(prior, proba, cross, prior_variances)
    # A variance is the prior variance minus a reduction of nearly its size, so its rounding error is some units of
    # single precision of the largest prior variance; the digits beyond that differ between processors.
    unit = np.finfo(np.float32).eps / 2
    error = np.abs(refined - exact)
    assert error.max() <= 32 * unit * prior_variances.max()
    rough = np.diagonal(single.covariances(cross, prior_variances), axis1=1, axis2=2)
    assert error.max() <= np.abs(rough - exact).max() / 10
    if name != "linear":  # its variances are far smaller than those of the prior
        np.testing.assert_allclose(refined, exact, rtol=1e-5)
        np.testing.assert_allclose(rough, exact, rtol=1e-3)


def test_single_precision_is_not_tried_with_large_variances():
    """Factors in single precision are not computed if rounding errors would dominate them."""
    prior, proba, *_ = problem(KERNELS["smooth"])
    assert LatentCovariance.from_prior_single(GramPrior(1e6 * prior.gram), proba) is None
