"""PLKNN and IPAL compared with oracles, and the laws of IPAL."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import IPAL, PLKNN, CandidateSets
from tests.estimators.panel import table, weighted_table
from tests.oracles import ipal, plknn
from tests.retained import peak_bytes

# -- IPAL -------------------------------------------------------------------------------------------------------------


FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def expected_result(X, mask, k, alpha, n_iter=100, class_mass=False):
    """Return F of all rows, and the labeled rows with their labels."""
    labeled = (mask < 1).any(axis=1)
    F = ipal.propagate(X[labeled], mask[labeled], k, alpha, n_iter)
    F = ipal.normalize_class_mass(F, mask[labeled]) if class_mass else F
    full = np.empty(mask.shape)
    full[labeled] = F
    for i in np.flatnonzero(~labeled):
        full[i] = ipal.label_distribution(X[labeled], F, X[i], k)
    return full, X[labeled], F.argmax(axis=1)


@FORMS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("class_mass", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.95])
@pytest.mark.parametrize("k", [1, 4, 10, 500])
def test_fit_and_prediction_equal_the_oracle(k, alpha, class_mass, weighted, form):
    """Distributions, labels, errors and predictions equal those of the oracle, for any number of neighbors."""
    X, mask, W = (np.concatenate([values, values[:3]]) for values in weighted_table(40, 40))  # with duplicates
    W = W if weighted else mask.astype(float)
    queries = np.vstack([table(15, 40, seed=1)[0], X[:5], X[-1:]])
    F, rows, labels = expected_result(X, W, k, alpha, class_mass=class_mass)
    model = IPAL(k, alpha, class_mass=class_mass, tol=1e-300).fit(form(X), CandidateSets.from_weights(W))
    assert model.n_iter_ <= 100
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-9)
    predicted, confidence = model.disambiguate()
    np.testing.assert_array_equal(predicted, F.argmax(axis=1))
    np.testing.assert_allclose(confidence, F.max(axis=1), atol=1e-9)
    errors = np.array([ipal.errors(rows, labels, 3, x, k) for x in queries])
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


def test_memory_is_proportional_to_the_neighbors():
    """No n x n array is allocated, which would be 72 MB for 3,000 rows."""
    X, mask = table(3000, 20)
    IPAL().fit(X[:100], mask[:100]).predict(X[:1])
    assert peak_bytes(lambda: IPAL().fit(X, mask).predict(X))[0] < 20e6


# -- PLKNN ------------------------------------------------------------------------------------------------------------


@FORMS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("weights", ["distance", "uniform"])
@pytest.mark.parametrize("k", [1, 2, 10, 500])
def test_votes_equal_the_oracle(k, weights, weighted, form):
    """Vote fractions equal the oracle; in the disambiguation they are multiplied by the weights of the row."""
    X, mask, W = weighted_table(70)
    W = W if weighted else mask.astype(float)
    queries, _ = table(20, seed=1)
    model = PLKNN(k, weights=weights).fit(form(X), CandidateSets.from_weights(W))
    expected = plknn.vote_fractions(X, W, queries, k, weights)
    np.testing.assert_allclose(model.predict_proba(form(queries)), expected, atol=1e-9)
    proba = W * plknn.vote_fractions(X, W, X, k, weights, leave_out=range(len(X)))
    proba = np.where(proba.sum(axis=1, keepdims=True) > 0, proba, W)
    proba /= proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.disambiguate().confidence, proba.max(axis=1), atol=1e-9)


def test_weights_are_equal_if_all_distances_are_zero():
    """Neighbors equal to the query have equal weights instead of 0/0."""
    X = np.zeros((4, 2))
    model = PLKNN(3).fit(X, [["a"], ["a"], ["b"], ["b"]])
    np.testing.assert_allclose(np.sort(model.predict_proba(X), axis=1), [[1 / 3, 2 / 3]] * 4)
