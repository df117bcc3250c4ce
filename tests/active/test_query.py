"""Laws of the rows that are queried."""

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
from tests.active.dense import RidgeLogistic, brute

STRATEGIES = ("information", "entropy", "margin", "random")


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def fitted(request):
    """Return a model with a posterior, and a pool."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % request.param
    return RidgeLogistic().fit(X + np.eye(3)[y], y), rng.normal(size=(40, 3))


def test_the_most_informative_row_is_that_of_brute_force(fitted):
    model, pool = fitted
    told = [brute(model.posterior_, model.posterior_features(pool), row) for row in range(len(pool))]
    found = query(model, pool)
    assert isinstance(found, Query)
    assert found.indices.tolist() == [np.argmax(told)]
    np.testing.assert_allclose(found.scores, [max(told)], rtol=1e-9)
    everything = query(model, pool, len(pool))
    assert sorted(everything.indices.tolist()) == list(range(len(pool)))


def test_entropy_and_margin_are_what_their_names_say(fitted):
    model, pool = fitted
    p = model.predict_proba(pool)
    top = np.sort(p, axis=1)
    for strategy, scores in {"entropy": -(p * np.log(p)).sum(axis=1), "margin": 1 - (top[:, -1] - top[:, -2])}.items():
        found = query(model, pool, 7, strategy)
        assert found.indices.tolist() == np.argsort(-scores)[:7].tolist()
        np.testing.assert_allclose(found.scores, scores[found.indices])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_larger_batch_begins_with_the_smaller_one(fitted, strategy):
    model, pool = fitted
    few, many = (query(model, pool, n, strategy, random_state=0).indices.tolist() for n in (3, 9))
    assert many[:3] == few


@pytest.mark.parametrize("strategy", ["entropy", "margin"])
def test_without_another_fit_a_batch_is_so_many_single_queries(fitted, strategy):
    model, pool = fitted
    left, single = np.arange(len(pool)), []
    for _ in range(5):
        at = query(model, pool[left], 1, strategy).indices[0]
        single.append(int(left[at]))
        left = np.delete(left, at)
    assert query(model, pool, 5, strategy).indices.tolist() == single


@pytest.mark.parametrize("strategy", ["information", "entropy", "margin"])
def test_a_permutation_of_the_pool_permutes_the_query(fitted, strategy):
    model, pool = fitted
    order = np.random.default_rng(1).permutation(len(pool))
    moved, plain = query(model, pool[order], 6, strategy), query(model, pool, 6, strategy)
    assert order[moved.indices].tolist() == plain.indices.tolist()


@pytest.mark.parametrize("strategy", ["information", "entropy", "margin"])
def test_ties_go_to_the_lowest_index(fitted, strategy):
    model, pool = fitted
    row = query(model, pool, 1, strategy).indices[0]
    assert query(model, np.concatenate([pool, pool]), 1, strategy).indices[0] == row
    assert query(model, np.concatenate([pool[::-1], pool]), 1, strategy).indices[0] == len(pool) - 1 - row


def test_random_queries_are_repeatable_and_without_repetition(fitted):
    model, pool = fitted
    first, again, other = (query(model, pool, 10, "random", random_state=s).indices.tolist() for s in (0, 0, 1))
    assert first == again
    assert first != other
    assert len(set(first)) == 10
    assert query(None, pool, 2, "random", random_state=0).indices.tolist() == first[:2]


@pytest.mark.parametrize("estimator", [LogisticRegression(), oneof.PLEM(), oneof.PLKNN(), oneof.HarmonicField()])
def test_any_estimator_of_probabilities_can_be_queried(estimator):
    X = np.random.default_rng(0).normal(size=(30, 2))
    estimator.fit(X, (X[:, 0] > 0).astype(int))
    for strategy in ("entropy", "margin", "random"):
        found = query(estimator, X, 4, strategy, random_state=0)
        assert len(set(found.indices.tolist())) == 4
        assert (np.diff(found.scores) <= 0).all()


def test_rows_may_come_in_any_form(fitted):
    model, pool = fitted
    plain = query(model, pool, 5)
    for form in (pool.tolist(), pd.DataFrame(pool), np.asfortranarray(pool)):
        assert query(model, form, 5).indices.tolist() == plain.indices.tolist()
    X = np.abs(pool)
    linear = LogisticRegression().fit(X, X[:, 0] > 0.5)
    for strategy in ("entropy", "random"):
        dense, sparse = (query(linear, form, 5, strategy, random_state=0) for form in (X, sp.coo_matrix(X)))
        assert dense.indices.tolist() == sparse.indices.tolist()


def test_the_posterior_may_stand_at_the_end_of_a_pipeline():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(5, 3, size=(20, 3)), rng.normal(5, 3, size=(30, 3))
    model = make_pipeline(StandardScaler(), RidgeLogistic()).fit(X, np.arange(20) % 2)
    inner = query(model[-1], model[0].transform(pool), 4)
    assert query(model, pool, 4).indices.tolist() == inner.indices.tolist()
    assert query(make_pipeline(model[-1]), pool, 4).indices.tolist() == query(model[-1], pool, 4).indices.tolist()


def test_what_an_estimator_lacks_is_named_with_what_to_do():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(InputError, match=r"PLEM has no posterior .*'entropy', 'margin' or 'random'"):
        query(oneof.PLEM().fit(X, y), X)
    with pytest.raises(InputError, match="LogisticRegression has no posterior"):
        query(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    for estimator in (RidgeClassifier(), SVC(), make_pipeline(RidgeClassifier())):
        with pytest.raises(InputError, match=r"has no predict_proba, .*strategy='random'"):
            query(estimator.fit(X, y), X, strategy="entropy")


@pytest.mark.parametrize("strategy", ["information", "entropy", "margin"])
def test_an_estimator_that_is_not_fitted_says_so(strategy):
    with pytest.raises(NotFittedError):
        query(RidgeLogistic(), [[0.0]], strategy=strategy)
    with pytest.raises(NotFittedError):
        query(make_pipeline(StandardScaler(), RidgeLogistic()), [[0.0]], strategy=strategy)


def test_what_cannot_be_asked_for_is_said_in_one_sentence(fitted):
    model, pool = fitted
    for strategy in STRATEGIES:
        with pytest.raises(InputError, match="n=41 rows are asked for, but the pool has 40"):
            query(model, pool, 41, strategy)
        with pytest.raises(InputError, match="the pool is empty"):
            query(model, pool[:0], 1, strategy)
        for n in (0, -1, 1.5, True, "2"):
            with pytest.raises(InputError, match=r"n=.* is not possible"):
                query(model, pool, n, strategy)
    for strategy in ("best", None, ["entropy"]):
        with pytest.raises(InputError, match=r'strategy=.* is not possible: choose "information", "entropy"'):
            query(model, pool, 1, strategy)


def test_rows_of_nan_are_refused(fitted):
    model, pool = fitted
    broken = pool.copy()
    broken[3, 1] = np.nan
    for strategy in ("information", "entropy", "margin"):
        with pytest.raises(InputError, match="row 3 of the pool"):
            query(model, broken, 1, strategy)
    with pytest.raises(ValueError, match="NaN"):
        query(LogisticRegression().fit(pool, pool[:, 0] > 0), broken, 1, "entropy")
