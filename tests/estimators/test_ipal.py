"""IPAL compared with an oracle, and its laws."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import IPAL, PLKNN, CandidateSets
from tests.estimators.panel import table, weighted_table
from tests.oracles import ipal as oracle

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def expected_result(X, mask, k, alpha, n_iter=100, class_mass=False):
    """Return F of all rows, and the labeled rows with their labels."""
    labeled = (mask < 1).any(axis=1)
    F = oracle.propagate(X[labeled], mask[labeled], k, alpha, n_iter)
    F = oracle.normalize_class_mass(F, mask[labeled]) if class_mass else F
    full = np.empty(mask.shape)
    full[labeled] = F
    for i in np.flatnonzero(~labeled):
        full[i] = oracle.label_distribution(X[labeled], F, X[i], k)
    return full, X[labeled], F.argmax(axis=1)


@FORMS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_mass", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.95])
@pytest.mark.parametrize("k", [1, 4, 10, 500])
def test_fit_and_prediction_equal_the_oracle(k, alpha, class_mass, weighted, form):
    """Distributions, labels, errors and predictions equal those of the oracle, for any number of neighbors."""
    X, mask, W = weighted_table(40, 40)
    W = W if weighted else mask.astype(float)
    queries, _ = table(15, 40, seed=1)
    F, rows, labels = expected_result(X, W, k, alpha, class_mass=class_mass)
    model = IPAL(k, alpha, class_mass=class_mass, tol=1e-300).fit(form(X), CandidateSets.from_weights(W))
    assert model.n_iter_ <= 100
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-9)
    predicted, confidence = model.disambiguate()
    np.testing.assert_array_equal(predicted, F.argmax(axis=1))
    np.testing.assert_allclose(confidence, F.max(axis=1), atol=1e-9)
    errors = np.array([oracle.errors(rows, labels, 3, x, k) for x in queries])
    np.testing.assert_allclose(model.decision_function(form(queries)), -errors, atol=1e-9)
    np.testing.assert_array_equal(model.predict(form(queries)), errors.argmin(axis=1))


@pytest.mark.parametrize("k", [1, 5])
def test_votes_equal_plknn_on_the_disambiguated_labels(k):
    """prediction="votes" is PLKNN fitted on the disambiguated labeled rows."""
    X, mask = table(80)
    model = IPAL(k, prediction="votes").fit(X, mask)
    labeled = ~mask.all(axis=1)
    peer = PLKNN(k).fit(X[labeled], np.eye(3, dtype=bool)[model.disambiguate().labels[labeled]])
    queries, _ = table(30, seed=1)
    np.testing.assert_allclose(model.decision_function(queries), peer.predict_proba(queries), atol=1e-12)


def test_tolerance_and_max_iter_bound_the_iterations():
    """A loose tolerance needs fewer iterations, and max_iter bounds them without a warning."""
    X, mask = table(80, 8)
    loose, tight, short = (IPAL(**o).fit(X, mask).n_iter_ for o in ({"tol": 1e-2}, {"tol": 1e-8}, {"max_iter": 3}))
    assert loose < tight
    assert short == 3


def test_exact_labels_do_not_change_and_are_predicted():
    """With exact labels F is the indicator, and each row of fit is its own nearest neighbor in prediction."""
    X, _ = table(60, 20)
    y = np.arange(60) % 3
    model = IPAL().fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, np.eye(3)[y])
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.decision_function(X).max(axis=1), 0, atol=1e-9)


def test_a_row_is_not_its_own_neighbor_among_duplicates():
    """Pairs of equal rows reconstruct each other: the partial row gets the label of its exact duplicate."""
    X, _ = table(20, 20)
    y = np.arange(20) % 3
    exact = np.eye(3, dtype=bool)[y]
    wide = exact | exact[:, [2, 0, 1]]
    model = IPAL().fit(np.vstack([X, X]), np.vstack([exact, wide]))
    labels, confidence = model.disambiguate()
    np.testing.assert_array_equal(labels, np.tile(y, 2))
    np.testing.assert_allclose(confidence[20:], 0.975)


def test_a_class_without_neighbors_has_decision_value_minus_one():
    """The decision value of a class without neighbors is -1, and all classes tie if no neighbor has a weight."""
    X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    model = IPAL(2).fit(X, CandidateSets.from_labels(["a", "a", "b", "b"], classes=["a", "b", "c"]))
    values = model.decision_function([[2.0, 0.1], [-1.0, -1.0]])
    np.testing.assert_allclose(values, [[0, -1, -1], [-1, -1, -1]], atol=1e-12)
    assert model.predict([[-1.0, -1.0], [0.0, 0.0]]).tolist() == ["a", "a"]


def test_memory_is_proportional_to_the_neighbors():
    """No n x n array is allocated, which would be 72 MB for 3,000 rows."""
    X, mask = table(3000, 20)
    IPAL().fit(X[:100], mask[:100]).predict(X[:1])
    tracemalloc.start()
    try:
        IPAL().fit(X, mask).predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20e6
