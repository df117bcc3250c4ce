"""SpectralGraphTransducer: the published method on the graph defined by the parameters."""

import numpy as np
import pytest
from sklearn.datasets import make_moons

from oneof import SpectralGraphTransducer
from oneof.graphs import NeighborGraph
from oneof.solvers.transducer import solve_transduction
from tests.estimators.panel import scores, table
from tests.oracles import transducer as oracle


def two_classes(n=60, n_known=6, seed=0):
    """Return rows of two clusters, and labels of a few."""
    X, mask = table(n, K=2, seed=seed)
    labels = np.full(n, -1)
    labels[:n_known] = np.where(mask[:n_known].sum(axis=1) == 1, mask[:n_known].argmax(axis=1), -1)
    return X, labels


def test_fit_is_the_published_method_on_a_cosine_graph():
    """The transduction of exact labels is z above the threshold, on A + A^T of the nearest rows by cosine."""
    X, labels = two_classes()
    model = SpectralGraphTransducer(20, n_neighbors=15).fit(X, labels)
    Z = X / np.linalg.norm(X, axis=1, keepdims=True)
    S = Z @ Z.T
    np.fill_diagonal(S, -np.inf)
    A = np.zeros_like(S)
    for i, row in enumerate(S):
        near = np.argsort(-row)[:15]
        A[i, near] = np.maximum(row[near], 0)
    np.testing.assert_allclose(model.affinity_.toarray(), A + A.T, atol=1e-12)
    z, threshold, _ = oracle.scores(A + A.T, np.choose(labels + 1, [0, -1, 1]), 20, 3200.0)
    np.testing.assert_array_equal(model.transduction_[labels < 0], (z > threshold)[labels < 0])
    np.testing.assert_array_equal(model.transduction_[labels >= 0], labels[labels >= 0])
    assert model.n_iter_ == 1


def test_two_moons_are_separated_by_two_labels():
    """Labels follow the curved clusters, which a straight line would not separate."""
    X, y = make_moons(400, noise=0.05, random_state=0)
    labels = np.full(400, -1)
    labels[[np.argmin(X[:, 0]), np.argmax(X[:, 0])]] = [0, 1]
    model = SpectralGraphTransducer(affinity="gaussian", n_neighbors=10).fit(X, labels)
    assert (model.transduction_ == y).mean() > 0.98
    assert model.score(X, y) > 0.98


def test_new_rows_get_the_mean_of_their_neighbors():
    """predict_proba is the mean of label_distributions_ by the edge weights of new rows."""
    X, mask = table()
    new, _ = table(20, seed=1)
    model = SpectralGraphTransducer(n_neighbors=7).fit(X, mask)
    weights = NeighborGraph("cosine", 7).graph(X).transform(new).toarray()
    expected = weights @ model.label_distributions_ / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(new), expected.argmax(axis=1))
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 4))), 1 / 3)


def test_more_eigenvectors_than_rows_use_all():
    """Above n - 1 the number of eigenvectors changes nothing."""
    X, mask = table(30)
    all_ = SpectralGraphTransducer(29).fit(X, mask).label_distributions_
    np.testing.assert_array_equal(SpectralGraphTransducer(10**9).fit(X, mask).label_distributions_, all_)


def test_a_precomputed_affinity_defines_the_graph():
    """The affinity of the rows of fit, and a function that returns it, give the result of the solver for it."""
    X, mask = table()
    W = NeighborGraph("gaussian", 8).graph(X).affinity
    expected = solve_transduction(W, mask, n_eigenvectors=30).distributions
    for form in (W, W.toarray(), lambda _: W):
        model = SpectralGraphTransducer(30, affinity=form, class_prior=None).fit(X, mask)
        np.testing.assert_array_equal(model.label_distributions_, expected)
        assert np.isfinite(scores(model, X)).all()


def test_components_without_a_label_are_uniform_with_a_warning():
    """Rows that no label reaches are uniform, and one warning has their number."""
    X = np.concatenate([np.random.default_rng(0).normal(size=(40, 2)), 100 + np.arange(10.0).reshape(5, 2)])
    labels = np.full(45, -1)
    labels[:8] = np.arange(8) % 2
    with pytest.warns(UserWarning, match="5 of 45 rows are in components of the graph without a label") as caught:
        model = SpectralGraphTransducer(affinity="gaussian", n_neighbors=4).fit(X, labels)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.label_distributions_[40:], 0.5)
    np.testing.assert_allclose(model.predict_proba(X[40:]), 0.5)
