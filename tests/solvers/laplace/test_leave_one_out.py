"""Leave-one-out probabilities against fits that leave rows out; the temperature against what it maximizes."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, WhiteKernel

from oneof import PLGP
from oneof.likelihoods import log_likelihoods
from oneof.solvers.laplace.predictive import apply_temperature, fit_temperature, loo_latents
from tests.estimators.panel import table

FIXED = {"optimizer": None, "random_state": 0}


def left_out(X, mask, **options):
    """Return each row's latents from a fit without it."""
    found = [PLGP(**options, **FIXED).fit(np.delete(X, i, 0), np.delete(mask, i, 0)) for i in range(len(X))]
    moments = [model.latent_mean_and_cov(X[[i]]) for i, model in enumerate(found)]
    return np.concatenate([mean for mean, _ in moments]), np.concatenate([cov for _, cov in moments])


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_cavities_are_fits_without_the_row(approximation):
    """What is left is how far the other rows' modes move: little, beside how far leaving out moves the row's."""
    X, _ = table(24, K=3)
    mask = np.eye(3, dtype=bool)[np.arange(24) % 3]
    options = {"kernel": 0.5 * RBF(2.0), "approximation": approximation}
    model = PLGP(**options, **FIXED).fit(X, mask)
    moments = list(model._posterior.loo_latents(model._covariance()))
    means, covariances = (np.concatenate(part) for part in zip(*moments, strict=True))
    exact_means, exact_covariances = left_out(X, mask, **options)
    with_it = model.latent_mean_and_cov(X)
    for found, exact, before in zip((means, covariances), (exact_means, exact_covariances), with_it, strict=True):
        assert np.abs(found - exact).max() < 0.15 * np.abs(exact - before).max()


@pytest.mark.parametrize(
    ("kernel", "options"),
    [
        (2.0 * RBF(1.0) + WhiteKernel(3.0), {}),
        (10.0 * RBF(1.0), {"approximation": "nystroem", "n_components": 20}),
        ([RBF(1.0), RBF(2.0), 3.0 * RBF(1.0)], {}),
    ],
)
def test_cavities_are_covariances(kernel, options):
    """Their noise is that of the fit, and what landmarks miss stays out of them: none has a negative eigenvalue."""
    X, _ = table(120, K=3)
    model = PLGP(kernel, **options, **FIXED).fit(X, np.eye(3, dtype=bool)[np.arange(120) % 3])
    for _, covariances in model._posterior.loo_latents(model._covariance()):
        assert np.linalg.eigvalsh(covariances).min() > 0
    shares = model._expected_softmax(model._posterior.loo_latents(model._covariance()))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_the_cavity_of_a_gaussian_likelihood_is_exact():
    """Putting the likelihood's precision and slope back gives the posterior again."""
    random = np.random.default_rng(0)
    root = random.normal(size=(6, 4, 4))
    covariances, means = 0.2 * root @ root.mT, random.normal(size=(6, 4))
    shares = random.dirichlet(np.ones(4), 6)
    slopes = np.eye(4)[:1] - shares
    m, V = loo_latents(means, covariances, shares, slopes)
    W = np.eye(4) * shares[:, None] - shares[:, :, None] * shares[:, None, :]
    np.testing.assert_allclose(np.linalg.inv(np.linalg.inv(V) + W), covariances, atol=1e-10)
    np.testing.assert_allclose(m + (V @ slopes[:, :, None])[:, :, 0], means, atol=1e-10)


def test_the_temperature_is_the_likeliest():
    """No other makes the sets more probable; what was sharpened by one is found again; the order of classes stays."""
    random = np.random.default_rng(0)
    shares = random.dirichlet(np.ones(5), 4000)
    label = (shares.cumsum(axis=1) < random.uniform(size=(4000, 1))).sum(axis=1)
    mask = np.eye(5, dtype=bool)[label]
    assert fit_temperature(shares, mask) == pytest.approx(1.0, abs=0.1)
    flat = apply_temperature(shares, 3.0)
    found = fit_temperature(flat, mask)
    assert found == pytest.approx(fit_temperature(shares, mask) / 3.0, rel=1e-3)
    np.testing.assert_array_equal(flat.argmax(axis=1), shares.argmax(axis=1))
    np.testing.assert_allclose(flat.sum(axis=1), 1.0)
    values = [
        log_likelihoods(np.log(apply_temperature(flat, t)), mask).sum() for t in (0.9 * found, found, 1.1 * found)
    ]
    assert values[1] == max(values)


def test_probabilities_of_0_are_borne():
    """Classes that no draw favors have a probability of 0, and keep it."""
    shares = np.array([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(apply_temperature(shares, 0.5), shares)
    assert np.isfinite(fit_temperature(shares, np.array([[True, False], [True, False]])))


def test_models_at_their_own_temperature():
    """It is that of the sets, `predict` is as without it, and another `fit` finds another."""
    X, mask = table(80)
    plain, model = (PLGP(temperature=temperature, **FIXED).fit(X, mask) for temperature in (1.0, "loo"))
    np.testing.assert_array_equal(plain.predict(X), model.predict(X))
    assert plain.temperature_ == 1.0
    np.testing.assert_allclose(
        model.predict_proba(X), apply_temperature(plain.predict_proba(X), model.temperature_), atol=1e-12
    )
    first = model.temperature_
    assert first != 1.0
    assert model.fit(X[:40], mask[:40]).temperature_ != first
