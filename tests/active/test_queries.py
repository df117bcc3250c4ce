"""Properties of the rows that active learning selects."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import oneof
from oneof.active import Query, query
from oneof.errors import InputError
from tests.solvers.active.dense import RidgeLogistic, brute_force

STRATEGIES = ("mutual_information", "entropy", "margin", "random")


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request):
    """Return a model with a posterior, and a pool."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % request.param
    return RidgeLogistic().fit(X + np.eye(3)[y], y), rng.normal(size=(40, 3))


def test_the_most_informative_row_equals_that_of_brute_force(fitted):
    """By default the row of the largest mutual information is selected."""
    model, pool = fitted
    information = [brute_force(model.posterior_, model.posterior_features(pool), row) for row in range(len(pool))]
    result = query(model, pool)
    assert isinstance(result, Query)
    assert result.indices.tolist() == [np.argmax(information)]
    np.testing.assert_allclose(result.utilities, [max(information)], rtol=1e-9)
    everything = query(model, pool, len(pool))
    assert sorted(everything.indices.tolist()) == list(range(len(pool)))


def test_entropy_and_margin_equal_their_definitions(fitted):
    """The utilities are the entropy, and 1 minus the difference of the two largest probabilities."""
    model, pool = fitted
    p = model.predict_proba(pool)
    top = np.sort(p, axis=1)
    definitions = {"entropy": -(p * np.log(p)).sum(axis=1), "margin": 1 - (top[:, -1] - top[:, -2])}
    for strategy, utilities in definitions.items():
        result = query(model, pool, 7, strategy)
        assert result.indices.tolist() == np.argsort(-utilities)[:7].tolist()
        np.testing.assert_allclose(result.utilities, utilities[result.indices])


@pytest.mark.parametrize("strategy", ["mutual_information", "entropy", "margin"])
def test_ties_go_to_the_lowest_index(fitted, strategy):
    """The first of several equal rows is selected."""
    model, pool = fitted
    row = query(model, pool, 1, strategy).indices[0]
    assert query(model, np.concatenate([pool, pool]), 1, strategy).indices[0] == row
    assert query(model, np.concatenate([pool[::-1], pool]), 1, strategy).indices[0] == len(pool) - 1 - row


def test_random_queries_are_repeatable_and_without_replacement(fitted):
    """One seed gives one query of distinct rows, without an estimator."""
    model, pool = fitted
    first, again, other = (query(model, pool, 10, "random", random_state=s).indices.tolist() for s in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(set(first)) == 10
    assert query(None, pool, 2, "random", random_state=0).indices.tolist() == first[:2]


@pytest.mark.parametrize("estimator", [LogisticRegression(), oneof.PLEM(), oneof.PLKNN(), oneof.HarmonicField()])
def test_any_probabilistic_estimator_can_be_queried(estimator):
    """Estimators of this library and of scikit-learn give distinct rows in decreasing order of utility."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    estimator.fit(X, (X[:, 0] > 0).astype(int))
    for strategy in ("entropy", "margin", "random"):
        result = query(estimator, X, 4, strategy, random_state=0)
        assert len(set(result.indices.tolist())) == 4
        assert (np.diff(result.utilities) <= 0).all()


def test_rows_in_any_form(fitted):
    """Lists, tables, Fortran order and sparse matrices give the query of an array."""
    model, pool = fitted
    reference = query(model, pool, 5)
    for form in (pool.tolist(), pd.DataFrame(pool), np.asfortranarray(pool)):
        assert query(model, form, 5).indices.tolist() == reference.indices.tolist()
    X = np.abs(pool)
    linear = LogisticRegression().fit(X, X[:, 0] > 0.5)
    for strategy in ("entropy", "random"):
        dense, sparse = (query(linear, form, 5, strategy, random_state=0) for form in (X, sp.coo_matrix(X)))
        assert dense.indices.tolist() == sparse.indices.tolist()


def test_errors_name_the_missing_method_and_a_remedy():
    """The error for an estimator without a posterior or probabilities names it and its valid strategies."""
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(InputError, match=r'which PLEM does not have\. Pass .*"entropy", "margin" or "random"'):
        query(oneof.PLEM().fit(X, y), X)
    with pytest.raises(InputError, match="a posterior of the weights, which LogisticRegression does not have"):
        query(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    for estimator in (RidgeClassifier(), SVC(), make_pipeline(RidgeClassifier())):
        with pytest.raises(InputError, match=r'requires predict_proba, .* Pass strategy="random"'):
            query(estimator.fit(X, y), X, strategy="entropy")


@pytest.mark.parametrize("strategy", ["mutual_information", "entropy", "margin"])
def test_an_estimator_that_is_not_fitted_is_an_error(strategy):
    """An unfitted estimator or pipeline raises scikit-learn's NotFittedError."""
    with pytest.raises(NotFittedError):
        query(RidgeLogistic(), [[0.0]], strategy=strategy)
    with pytest.raises(NotFittedError):
        query(make_pipeline(StandardScaler(), RidgeLogistic()), [[0.0]], strategy=strategy)


def test_errors_name_the_argument(fitted):
    """An error names the argument that is not valid, and its value."""
    model, pool = fitted
    for strategy in STRATEGIES:
        with pytest.raises(InputError, match=r"`batch_size` must be at most 40, .* got 41"):
            query(model, pool, 41, strategy)
        with pytest.raises(InputError, match="got an empty pool"):
            query(model, pool[:0], 1, strategy)


def test_rows_with_nan_are_an_error(fitted):
    """NaN in the pool is an error with the row."""
    model, pool = fitted
    broken = pool.copy()
    broken[3, 1] = np.nan
    for strategy in ("mutual_information", "entropy", "margin"):
        with pytest.raises(InputError, match="row 3 of the pool"):
            query(model, broken, 1, strategy)
    with pytest.raises(ValueError, match="NaN"):
        query(LogisticRegression().fit(pool, pool[:, 0] > 0), broken, 1, "entropy")
