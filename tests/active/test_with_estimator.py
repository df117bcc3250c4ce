"""Queries of graph-prior logistic regression, with one view of the rows and with two."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import GraphLogisticRegression
from oneof.active import query, query_subsets, simulate
from oneof.datasets import make_two_sensors
from oneof.errors import InputError


@pytest.fixture(scope="module")
def sensors():
    """Return a classifier of two views of few features, and its rows."""
    rows = make_two_sensors((20, 40, 40), (8, 5), separation=(4.0, 3.0), random_state=0)
    known = np.where(np.arange(100) < 30, rows.y, None)
    return GraphLogisticRegression(views=rows.views).fit(rows.X, known), rows


def probability(model, X, view=None):
    return model.predict_proba(X, view=view)[:, 0]


def test_two_classes_and_one_view_give_the_equation_of_the_paper():
    rng = np.random.default_rng(0)
    X, pool = rng.normal(size=(60, 4)), rng.normal(size=(25, 4))
    y = np.where(np.arange(60) < 20, (X[:, 0] > 0).astype(int), -1)
    model = GraphLogisticRegression().fit(X, y)
    ((_, x),) = model.posterior_features(pool)
    p = probability(model, pool)
    told = 0.5 * np.log1p(p * (1 - p) * model.posterior_.covariance(x)[:, 0, 0])
    found = query(model, pool, 1)
    assert found.indices[0] == np.argmax(told)
    assert found.scores[0] == pytest.approx(told.max(), rel=1e-8)


def test_a_row_with_one_view_is_told_of_by_that_view_and_one_with_two_by_both(sensors):
    model, rows = sensors
    has = np.column_stack([np.isfinite(rows.X[:, columns[0]]) for columns in rows.views])
    rest = np.arange(30, 100)
    found = query(model, rows.X[rest], 70)
    first = rest[found.indices[0]]
    views = [v for v in range(2) if has[first, v]]
    instances = [model.posterior_features(rows.X[[first]])[v][1] for v in views]
    M = np.array([[model.posterior_.covariance(a, b)[0, 0, 0] for b in instances] for a in instances])
    p = np.array([probability(model, rows.X[[first]], v)[0] for v in views])
    expected = 0.5 * np.log(np.linalg.det(np.eye(len(views)) + (p * (1 - p))[:, None] * M))
    assert found.scores[0] == pytest.approx(expected, rel=1e-8)
    assert sorted(found.indices.tolist()) == list(range(70))


def test_a_row_without_the_second_view_tells_no_more_than_with_it(sensors):
    model, rows = sensors
    both = np.flatnonzero(np.isfinite(rows.X).all(axis=1))[-1:]
    lacking = rows.X[both].copy()
    lacking[:, rows.views[1]] = np.nan
    assert query(model, rows.X[both]).scores[0] >= query(model, lacking).scores[0]


def test_a_view_that_is_there_in_part_is_refused(sensors):
    model, rows = sensors
    broken = rows.X[:5].copy()
    broken[2] = 0.0
    broken[2, 1] = np.nan
    with pytest.raises(InputError):
        query(model, broken)


@pytest.mark.parametrize("strategy", ["information", "entropy", "margin", "random"])
def test_the_whole_loop_runs_over_two_views(sensors, strategy):
    _, rows = sensors
    estimator = GraphLogisticRegression(views=rows.views, tol=1e-2)
    run = simulate(estimator, rows.X, rows.y, start=10, n_queries=12, batch=4, strategy=strategy, random_state=0)
    assert run.n_labeled[-1] == run.n_labeled[0] + 12
    assert len(set(run.indices.tolist()) | set(run.start.tolist())) == run.n_labeled[-1]
    assert run.found[-1].sum() == run.n_labeled[-1]
    assert np.isfinite(run.accuracy).all()


def test_a_scaler_may_stand_before_it_and_questions_may_be_asked_of_subsets():
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(80, 3))
    y = np.where(np.arange(80) < 30, np.argmax(X, axis=1), -1)
    model = make_pipeline(StandardScaler(), GraphLogisticRegression()).fit(X, y)
    labels, questions = query(model, X[30:], 50), query_subsets(model, X[30:], 50)
    assert questions.scores[0] <= labels.scores[0] * (1 + 1e-9)
    assert (np.diff(labels.scores) <= 1e-12).all()
