"""Weights of candidates in the methods that maximize a likelihood: limits, disambiguation, transduction, views."""

import numpy as np
import pytest
from sklearn.base import clone

from oneof import (
    PLEM,
    PLGP,
    CandidateSets,
    GaussianEM,
    GraphLogisticRegression,
    MarkovWalk,
    MultinomialEM,
)
from tests.estimators.panel import further, name, same_model, table
from tests.weights import draw_weights, informative

ESTIMATORS = [
    PLEM(),
    PLEM(entropy_weight=0.5, fit_intercept=True),
    GraphLogisticRegression(tol=1e-9),
    GraphLogisticRegression(solver="sequential", tol=1e-9),
    MarkovWalk(),
    MultinomialEM(tol=1e-10),
    MultinomialEM("cv", tol=1e-10),
    GaussianEM(tol=1e-10),
    GaussianEM("cv", partial_weight=0.5, tol=1e-10),
    PLGP(optimizer=None, tol=1e-10, n_mc_samples=50, random_state=0),
    PLGP(sharpness=1.0, optimizer=None, tol=1e-10, n_mc_samples=50, random_state=0),
]
estimators = pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)


def fit(estimator, X, evidence):
    """Return a fitted clone."""
    is_mask = evidence.dtype == bool
    y = CandidateSets(evidence, range(evidence.shape[1])) if is_mask else CandidateSets.from_weights(evidence)
    return clone(estimator).fit(X, y)


@estimators
def test_one_weighted_row_leaves_the_others_sets(estimator):
    """If a single weight is almost 1, the model with weights is the model of the sets."""
    X, mask = table(K=4, like=estimator)
    weights = mask.astype(float)
    row = np.flatnonzero(informative(mask) & (mask.sum(axis=1) > 1))[0]
    weights[row, np.flatnonzero(mask[row])[0]] = 1.0 - 1e-13
    same_model(fit(estimator, X, weights), fit(estimator, X, mask), X, rtol=1e-10)


@estimators
@pytest.mark.parametrize("outside", [1e-300, 1e-12])
def test_tiny_weights_outside_the_sets_give_the_model_of_the_sets(estimator, outside):
    """As the weights outside go to 0, predictions and disambiguations go to those of the sets, also in exact rows."""
    X, mask = table(K=4, like=estimator)
    if isinstance(estimator, GaussianEM):  # partial rows have a factor of their own, and exact rows become partial
        estimator = clone(estimator).set_params(partial_weight=1.0)
    sets, weights = fit(estimator, X, mask), fit(estimator, X, np.where(mask, 1.0, outside))
    same_model(weights, sets, X, rtol=1e-8)
    expected, disambiguation = sets.disambiguate(), weights.disambiguate()
    np.testing.assert_array_equal(disambiguation.labels, expected.labels)
    np.testing.assert_allclose(disambiguation.confidence, expected.confidence, atol=1e-8)


@estimators
def test_disambiguation_multiplies_probabilities_and_weights(estimator):
    """The distribution of a row is proportional to the method's probabilities times the weights of the row."""
    X, mask = table(K=4, like=estimator)
    rows = np.abs(further())
    weights = draw_weights(mask)
    model = fit(estimator, X, weights)
    new = draw_weights(np.ones((len(rows), 4), dtype=bool))
    q = model.predict_proba(rows) * new
    q /= q.sum(axis=1, keepdims=True)
    labels, confidence = model.disambiguate(rows, CandidateSets.from_weights(new))
    np.testing.assert_array_equal(labels, q.argmax(axis=1))
    np.testing.assert_allclose(confidence, q.max(axis=1), rtol=1e-10)
    labels, _ = model.disambiguate()
    assert (weights[np.arange(len(labels)), labels] > 0).all()
    if hasattr(model, "transduction_"):
        several = (weights > 1e-3).sum(axis=1) > 1
        np.testing.assert_array_equal(model.transduction_[several], labels[several])


@estimators
def test_weights_change_the_model_only_if_they_differ(estimator):
    """A factor of a row and equal weights of all classes have no effect; different weights have."""
    X, mask = table(K=4, like=estimator)
    weights = draw_weights(mask)
    model = fit(estimator, X, weights)
    factors = np.random.default_rng(0).uniform(0.1, 9.0, size=(len(X), 1))
    same_model(fit(estimator, X, weights * factors), model, X, rtol=1e-8)
    assert np.abs(model.predict_proba(X) - fit(estimator, X, mask).predict_proba(X)).max() > 1e-3


def test_views_are_coupled_on_rows_of_equal_weights_only():
    """Rows whose classes have equal weights are unlabeled, and those with weights for all classes are not."""
    X, mask = table(K=3)
    weights = draw_weights(mask)
    model = GraphLogisticRegression(views=[[0, 1], [2, 3]], coregularization=True, tol=1e-9)
    fitted = fit(model, X, weights)
    constant = np.where(informative(weights)[:, None], weights, 0.3)
    np.testing.assert_array_equal(fit(model, X, constant).predict_proba(X), fitted.predict_proba(X))
    some = np.flatnonzero(~informative(weights))[:2]
    weights[some] = [1.0, 0.9, 0.8]
    assert len(fit(model, X, weights)._fitted_views.labeled.row) == len(fitted._fitted_views.labeled.row) + 4


def test_tensors_with_weights_give_the_model_of_arrays():
    """PLGP on tensors in double and in single precision has the probabilities of NumPy rows."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X, mask = table(K=4)
    y = CandidateSets.from_weights(draw_weights(mask))
    for sharpness in (1.0, np.inf):
        model = PLGP(sharpness=sharpness, optimizer=None, n_mc_samples=50, temperature="loo", random_state=0)
        expected = clone(model).fit(X, y)
        for dtype, atol in ((torch.float64, 1e-8), (torch.float32, 2e-3)):
            rows = torch.asarray(X, dtype=dtype)
            fitted = clone(model).fit(rows, y)
            np.testing.assert_allclose(fitted.predict_proba(rows).numpy(), expected.predict_proba(X), atol=atol)
            assert fitted.log_marginal_likelihood_value_ == pytest.approx(
                expected.log_marginal_likelihood_value_, rel=1e-3
            )
