"""Queries of graph-prior logistic regression, with one view of the rows and with two."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import GraphLogisticRegression
from oneof.active import query, query_subsets
from reproduction.sensors import make_two_sensors


@pytest.fixture(scope="module")
def sensors():
    """Return a classifier of two views of few features, and its rows."""
    rows = make_two_sensors((20, 40, 40), (8, 5), separation=(4.0, 3.0), random_state=0)
    y = np.where(np.arange(100) < 30, rows.y, None)
    return GraphLogisticRegression(views=rows.views).fit(rows.X, y), rows


def first_proba(model, X, view=None):
    return model.predict_proba(X, view=view)[:, 0]


def test_the_information_of_a_row_is_that_of_its_views(sensors):
    """The information of a row is one determinant over the views that it has."""
    model, rows = sensors
    present = np.column_stack([np.isfinite(rows.X[:, columns[0]]) for columns in rows.views])
    pool = np.arange(30, 100)
    result = query(model, rows.X[pool], 70)
    first = pool[result.indices[0]]
    views = [v for v in range(2) if present[first, v]]
    instances = [model.posterior_features(rows.X[[first]])[v][1] for v in views]
    M = np.array([[model.posterior_.covariance(a, b)[0, 0, 0] for b in instances] for a in instances])
    p = np.array([first_proba(model, rows.X[[first]], v)[0] for v in views])
    expected = 0.5 * np.log(np.linalg.det(np.eye(len(views)) + (p * (1 - p))[:, None] * M))
    assert result.utilities[0] == pytest.approx(expected, rel=1e-8)
    assert sorted(result.indices.tolist()) == list(range(70))


def test_queries_of_a_pipeline_with_a_scaler():
    """A pipeline can be queried for labels and for subsets; a label is at least as informative as an answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(3.0, 2.0, size=(80, 3))
    y = np.where(np.arange(80) < 30, np.argmax(X, axis=1), -1)
    model = make_pipeline(StandardScaler(), GraphLogisticRegression()).fit(X, y)
    labels, subsets = query(model, X[30:], 50), query_subsets(model, X[30:], 50)
    assert subsets.utilities[0] <= labels.utilities[0] * (1 + 1e-9)
    assert (np.diff(labels.utilities) <= 1e-12).all()
