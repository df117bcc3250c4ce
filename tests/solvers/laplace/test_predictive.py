"""Predictive covariances, leave-one-out probabilities against fits without a row, and the temperature."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from oneof import PLGP
from oneof.solvers.laplace.covariance import CholeskyFactors, WeightCovariance
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import FeaturePrior, GramPrior
from oneof.solvers.laplace.posterior import (
    apply_temperature,
    draw_normals,
    expected_softmax,
    fit_temperature,
    loo_latents,
)
from tests.estimators.panel import table

FIXED = {"optimizer": None, "random_state": 0}


def fits_without_each_row(X, mask, **options):
    """Return the latents of each row from a fit without it."""
    models = [PLGP(**options, **FIXED).fit(np.delete(X, i, 0), np.delete(mask, i, 0)) for i in range(len(X))]
    moments = [model.latent_mean_and_cov(X[[i]]) for i, model in enumerate(models)]
    return np.concatenate([mean for mean, _ in moments]), np.concatenate([cov for _, cov in moments])


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_loo_latents_are_near_fits_without_the_row(approximation):
    """The error, due to the change of the other rows' mode, is small compared with the effect on the row itself."""
    X, _ = table(24, K=3)
    mask = np.eye(3, dtype=bool)[np.arange(24) % 3]
    options = {"kernel": 0.5 * RBF(2.0), "approximation": approximation}
    model = PLGP(**options, **FIXED).fit(X, mask)
    moments = list(model._posterior.loo_latents(model._covariance()))
    means, covariances = (np.concatenate(values) for values in zip(*moments, strict=True))
    exact_means, exact_covariances = fits_without_each_row(X, mask, **options)
    with_it = model.latent_mean_and_cov(X)
    for approximate, exact, before in zip((means, covariances), (exact_means, exact_covariances), with_it, strict=True):
        assert np.abs(approximate - exact).max() < 0.15 * np.abs(exact - before).max()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (2.0 * RBF(1.0) + WhiteKernel(3.0), {}),
        (10.0 * RBF(1.0), {"approximation": "nystroem", "n_components": 20}),
        ([RBF(1.0), RBF(2.0), 3.0 * RBF(1.0)], {}),
    ],
)
def test_loo_covariances_are_positive_definite(kernel, options):
    """Covariances include the noise of `fit` and the residual variance of landmarks; no eigenvalue is negative."""
    X, _ = table(120, K=3)
    model = PLGP(kernel, **options, **FIXED).fit(X, np.eye(3, dtype=bool)[np.arange(120) % 3])
    for _, covariances in model._posterior.loo_latents(model._covariance()):
        assert np.linalg.eigvalsh(covariances).min() > 0
    proba = model._expected_softmax(model._posterior.loo_latents(model._covariance()))
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)


def test_cavity_of_a_gaussian_likelihood_is_exact():
    """Adding the precision and the gradient of the likelihood gives the posterior again."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(6, 4, 4))
    covariances, means = 0.2 * root @ root.mT, rng.normal(size=(6, 4))
    proba = rng.dirichlet(np.ones(4), 6)
    gradient = np.eye(4)[:1] - proba
    m, V = loo_latents(means, covariances, proba, gradient)
    W = np.eye(4) * proba[:, None] - proba[:, :, None] * proba[:, None, :]
    np.testing.assert_allclose(np.linalg.inv(np.linalg.inv(V) + W), covariances, atol=1e-10)
    np.testing.assert_allclose(m + (V @ gradient[:, :, None])[:, :, 0], means, atol=1e-10)


def test_the_temperature_inverts_an_applied_one():
    """The temperature of calibrated probabilities is 1, divided by an applied one, which keeps the order of classes."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(5), 4000)
    label = (proba.cumsum(axis=1) < rng.uniform(size=(4000, 1))).sum(axis=1)
    mask = np.eye(5, dtype=bool)[label]
    assert fit_temperature(proba, mask) == pytest.approx(1.0, abs=0.1)
    flat = apply_temperature(proba, 3.0)
    assert fit_temperature(flat, mask) == pytest.approx(fit_temperature(proba, mask) / 3.0, rel=1e-3)
    np.testing.assert_array_equal(flat.argmax(axis=1), proba.argmax(axis=1))
    np.testing.assert_allclose(flat.sum(axis=1), 1.0)


def test_probabilities_of_0():
    """Probabilities of 0 stay 0 at any temperature."""
    proba = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(apply_temperature(proba, 0.5), proba)
    assert np.isfinite(fit_temperature(proba, np.array([[True, False], [True, False]])))


def test_models_with_fitted_temperature():
    """The temperature is that of the sets, does not change `predict`, and is computed again after another `fit`."""
    X, mask = table(80)
    reference, model = (PLGP(temperature=temperature, **FIXED).fit(X, mask) for temperature in (1.0, "loo"))
    np.testing.assert_array_equal(reference.predict(X), model.predict(X))
    assert reference.temperature_ == 1.0
    np.testing.assert_allclose(
        model.predict_proba(X), apply_temperature(reference.predict_proba(X), model.temperature_), atol=1e-12
    )
    first = model.temperature_
    assert first != 1.0
    assert model.fit(X[:40], mask[:40]).temperature_ != first


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
