"""Tests of GaussianEM: equality with mixtures of scikit-learn, invariances, unlabeled rows, errors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from oneof import GaussianEM
from oneof.errors import InputError
from oneof.solvers.generative.gaussian import COVARIANCE_TYPES
from tests.solvers.generative.problems import clouds

forms = pytest.mark.parametrize("covariance", COVARIANCE_TYPES)


@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical"])
def test_a_solution_is_a_fixed_point_of_gaussian_mixtures(covariance):
    """The components of a class with exact labels are a fixed point of scikit-learn's GaussianMixture."""
    X, _ = clouds(n=120, seed=3)
    both, y = np.vstack([X, X + 1.0]), np.repeat([0, 1], 120)
    model = GaussianEM(n_components=2, covariance=covariance, shrinkage=1e-9, tol=1e-12, random_state=1, max_iter=5000)
    model.fit(both, y)
    kind = {"diagonal": "diag"}.get(covariance, covariance)
    values = model.covariances_[0]
    precisions = np.linalg.inv(values) if kind == "full" else 1 / values
    peer = GaussianMixture(
        2,
        covariance_type=kind,
        weights_init=model.component_weights_[0],
        means_init=model.means_[0],
        precisions_init=precisions,
        reg_covar=0,
        tol=1e-9,
    ).fit(X)
    np.testing.assert_allclose(peer.means_, model.means_[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(peer.covariances_, values, rtol=1e-3, atol=1e-5)


def two_clouds(n=400, d=5, seed=0):
    """Return two slightly overlapping spherical clusters and their labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 1.2 * y[:, None], y


@forms
def test_unlabeled_rows_help_if_classes_are_clusters(covariance):
    """With two labels per class, unlabeled rows reduce the error over five draws."""
    gains = []
    for seed in range(5):
        X, y = two_clouds(seed=seed)
        partly_labeled = np.where(np.arange(len(y)) < 4, y, -1)
        wrong = [
            (GaussianEM(w, covariance=covariance, max_iter=5000).fit(X, partly_labeled).transduction_ != y).mean()
            for w in (0.0, 1.0)
        ]
        gains.append(wrong[0] - wrong[1])
    assert np.mean(gains) > 0.02


def test_cross_validation_ignores_misleading_rows():
    """If the clusters are not the classes, unlabeled rows increase the error, and "cv" selects the weight 0."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 2
    cloud = rng.integers(0, 2, 600)
    X = np.column_stack([8.0 * cloud, 2.5 * y]) + rng.normal(size=(600, 2))  # the wide gap is independent of y
    partly_labeled = np.where(np.arange(600) < 60, y, -1)
    reference, misled, chosen = (GaussianEM(w, covariance="spherical").fit(X, partly_labeled) for w in (0.0, 1.0, "cv"))
    errors = [(model.predict(X) != y).mean() for model in (reference, misled, chosen)]
    assert errors[1] > errors[0] + 0.1
    assert errors[2] <= errors[0] + 0.02
    assert chosen.unlabeled_weight_ < 1.0


@pytest.mark.parametrize("shrinkage", [None, 0.0])
@pytest.mark.parametrize("constant", [0.1, 1.0, 3.71, 255.0])
@forms
def test_a_constant_with_a_rounded_mean_is_ignored(covariance, constant, shrinkage):
    """A constant is ignored even if its weighted mean over hundreds of rows differs from it by rounding."""
    rng = np.random.default_rng(0)
    y = (np.arange(1000) % 10 == 0).astype(int)
    X = rng.normal(size=(1000, 2)) + 1.5 * y[:, None]
    model = GaussianEM(covariance=covariance, shrinkage=shrinkage)
    reference, more = clone(model).fit(X, y), clone(model).fit(np.column_stack([X, np.full(1000, constant)]), y)
    shifted = np.column_stack([X, np.full(1000, constant + 1e-9)])
    np.testing.assert_allclose(more.predict_proba(shifted), reference.predict_proba(X), rtol=1e-9)


def test_folds_that_cannot_be_fitted_cover_no_row():
    """Cross-validation succeeds if a class has too few rows without a fold: that fold covers nothing."""
    X = np.arange(12.0)[:, None]
    y = ["a"] * 4 + ["b"] * 4 + ["c"] * 2 + [None] * 2
    assert GaussianEM("cv", shrinkage=0.0).fit(X, y).unlabeled_weight_ >= 0
    sets = ["a"] + [{"b", "c"}] * 8 + [None] * 3
    assert GaussianEM("cv", partial_weight=0.0).fit(X, sets).unlabeled_weight_ >= 0


def test_features_too_small_to_have_a_variance_are_named():
    """A variance that underflows raises, since the feature is not constant."""
    X, mask = clouds()
    with pytest.raises(InputError, match=r"underflow float64. Scale the features"):
        GaussianEM().fit(X * 1e-165, mask)
