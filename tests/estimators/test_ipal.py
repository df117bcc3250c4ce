"""IPAL against the definition, and its own promises."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof import IPAL, PLKNN, CandidateSets
from oneof.errors import InputError
from tests.estimators.panel import scores, table
from tests.oracles import ipal as oracle

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def literal(X, mask, k, alpha, n_sweeps=100, class_mass=False):
    """Return F for all rows, and the labeled rows with their labels."""
    told = ~mask.all(axis=1)
    F = oracle.sweep(X[told], mask[told], k, alpha, n_sweeps)
    F = oracle.balance(F, mask[told]) if class_mass else F
    whole = np.empty(mask.shape)
    whole[told] = F
    for i in np.flatnonzero(~told):
        whole[i] = oracle.spread(X[told], F, X[i], k)
    return whole, X[told], F.argmax(axis=1)


@FORMS
@pytest.mark.parametrize("class_mass", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 0.95])
@pytest.mark.parametrize("k", [1, 4, 10, 500])
def test_fit_and_prediction_equal_the_definition(k, alpha, class_mass, form):
    """Confidences, labels, errors and predictions are those of the slow algorithm, for any number of neighbors."""
    X, mask = table(40, 40)
    queries, _ = table(15, 40, seed=1)
    F, known, labels = literal(X, mask, k, alpha, class_mass=class_mass)
    model = IPAL(k, alpha, class_mass=class_mass, tol=1e-300).fit(form(X), mask)
    assert model.n_iter_ <= 100
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-9)
    decided, confidence = model.disambiguate()
    np.testing.assert_array_equal(decided, F.argmax(axis=1))
    np.testing.assert_allclose(confidence, F.max(axis=1), atol=1e-9)
    errors = np.array([oracle.errors(known, labels, 3, x, k) for x in queries])
    np.testing.assert_allclose(model.decision_function(form(queries)), -errors, atol=1e-9)
    np.testing.assert_array_equal(model.predict(form(queries)), errors.argmin(axis=1))


@pytest.mark.parametrize("k", [1, 5])
def test_votes_are_those_of_plknn_on_the_labels_that_rows_took(k):
    """prediction="votes" is PLKNN fitted on the disambiguated labeled rows."""
    X, mask = table(80)
    model = IPAL(k, prediction="votes").fit(X, mask)
    told = ~mask.all(axis=1)
    peer = PLKNN(k).fit(X[told], np.eye(3, dtype=bool)[model.disambiguate().labels[told]])
    queries, _ = table(30, seed=1)
    np.testing.assert_allclose(model.decision_function(queries), peer.predict_proba(queries), atol=1e-12)


@FORMS
@pytest.mark.parametrize("other", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [IPAL(), PLKNN()], ids=["IPAL", "PLKNN"])
def test_rows_to_predict_may_come_in_the_other_form(model, form, other):
    """A model fitted on dense rows predicts CSR rows, and the reverse, as it predicts its own form."""
    X, mask = table(80)
    queries, _ = table(20, seed=1)
    fitted = clone(model).fit(form(X), mask)
    np.testing.assert_allclose(scores(fitted, other(queries)), scores(clone(model).fit(X, mask), queries), atol=1e-9)


def test_sweeps_end_where_nothing_changes():
    """A loose tolerance takes fewer sweeps, and max_iter bounds them without a warning."""
    X, mask = table(80, 8)
    loose, tight, short = (IPAL(**o).fit(X, mask).n_iter_ for o in ({"tol": 1e-2}, {"tol": 1e-8}, {"max_iter": 3}))
    assert loose < tight
    assert short == 3


@FORMS
@pytest.mark.parametrize("size", [1e-305, 1e-170, 1e-3, 1e3, 1e160, 1e300])
def test_features_know_no_unit(size, form):
    """Scaling all features alike, however much, changes neither confidences nor decision values."""
    X, mask = table(80)
    plain, scaled = IPAL().fit(X, mask), IPAL().fit(form(X * size), mask)
    np.testing.assert_allclose(scaled.label_distributions_, plain.label_distributions_, atol=1e-7)
    np.testing.assert_allclose(scores(scaled, form(X * size)), scores(plain, X), atol=1e-7)


def test_votes_know_no_origin():
    """Far from the origin, neighbors are the right ones; labels are exact here, for the weights do know it."""
    X, _ = table(200, 20)
    X, queries = (np.round(rows * 2**10) / 2**10 for rows in (X, table(20, 20, seed=1)[0]))
    y, model = np.arange(200) % 3, IPAL(prediction="votes")
    plain, moved = clone(model).fit(X, y), clone(model).fit(X + 2.0**30, y)
    np.testing.assert_allclose(scores(moved, queries + 2.0**30), scores(plain, queries), atol=1e-12)


def test_exact_labels_stay_and_rows_predict_their_own():
    """On exact labels F is the indicator, and each row of fit, which is its own best neighbor, has its label."""
    X, _ = table(60, 20)
    y = np.arange(60) % 3
    model = IPAL().fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, np.eye(3)[y])
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_allclose(model.decision_function(X).max(axis=1), 0, atol=1e-9)


def test_no_row_vouches_for_itself_among_duplicates():
    """Pairs of equal rows rebuild each other: the ambiguous one takes the label of its exact twin."""
    X, _ = table(20, 20)
    y = np.arange(20) % 3
    exact = np.eye(3, dtype=bool)[y]
    wide = exact | exact[:, [2, 0, 1]]
    model = IPAL().fit(np.vstack([X, X]), np.vstack([exact, wide]))
    labels, confidence = model.disambiguate()
    np.testing.assert_array_equal(labels, np.tile(y, 2))
    np.testing.assert_allclose(confidence[20:], 0.975)


def test_a_class_without_neighbors_has_decision_value_minus_one():
    """Decision values lie at -1 where a class explains nothing, and classes tie there where none explains anything."""
    X = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    model = IPAL(2).fit(X, CandidateSets.from_labels(["a", "a", "b", "b"], classes=["a", "b", "c"]))
    values = model.decision_function([[2.0, 0.1], [-1.0, -1.0]])
    np.testing.assert_allclose(values, [[0, -1, -1], [-1, -1, -1]], atol=1e-12)
    assert model.predict([[-1.0, -1.0], [0.0, 0.0]]).tolist() == ["a", "a"]


def test_a_row_alone_is_uniform_over_its_set():
    """With one labeled row there is no other to ask: its candidates share equally, and an unlabeled row follows."""
    y = CandidateSets([[True, True, False], [True, True, True], [True, True, True]], ["a", "b", "c"])
    model = IPAL().fit([[1.0], [2.0], [-1.0]], y)
    np.testing.assert_allclose(model.label_distributions_, [[0.5, 0.5, 0], [0.5, 0.5, 0], [1 / 3] * 3])
    assert model.predict([[1.0]]).tolist() == ["a"]


def test_memory_grows_with_the_neighbors_alone():
    """No array of n x n numbers is made: 5,000 rows, whose square would be 200 MB, stay far below."""
    X, mask = table(5000, 20)
    IPAL().fit(X[:100], mask[:100]).predict(X[:1])
    tracemalloc.start()
    try:
        IPAL().fit(X, mask).predict(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 30e6


@pytest.mark.parametrize(
    "options",
    [
        {"n_neighbors": 0},
        {"n_neighbors": 2.5},
        {"alpha": -0.1},
        {"alpha": 1.1},
        {"alpha": float("nan")},
        {"max_iter": 0},
        {"tol": 0.0},
        {"prediction": "near"},
    ],
)
def test_refused_parameters(options):
    """Parameters that mean nothing are refused in fit, by name."""
    with pytest.raises(InputError, match=next(iter(options))):
        IPAL(**options).fit([[0.0], [1.0]], ["a", "b"])
