"""SpectralGraphTransducer: the published method on the graph defined by the parameters."""

import numpy as np
from sklearn.datasets import make_moons

from oneof import SpectralGraphTransducer
from tests.estimators.panel import table
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


def test_more_eigenvectors_than_rows_use_all():
    """Above n - 1 the number of eigenvectors changes nothing."""
    X, mask = table(30)
    all_ = SpectralGraphTransducer(29).fit(X, mask).label_distributions_
    np.testing.assert_array_equal(SpectralGraphTransducer(10**9).fit(X, mask).label_distributions_, all_)
