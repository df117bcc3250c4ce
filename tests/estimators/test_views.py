"""Co-training: views as groups of columns, rows that lack views, and predictions from several views."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oneof import GraphLogisticRegression
from oneof.errors import InputError
from oneof.likelihoods import softmax

pytestmark = pytest.mark.filterwarnings("error")
HALVES = [[0, 1, 2], [3, 4, 5]]


def two_views(n=120, n_labeled=40, noise=1.0, seed=0):
    """Return rows with two views of three features, their true classes, and labels of some rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    truth[:3] = [0, 1, 2]
    centers = np.random.default_rng(9).normal(size=(3, 6)) * 2.5
    X = centers[truth] + noise * rng.normal(size=(n, 6))
    return X, truth, np.where(np.arange(n) < n_labeled, truth, -1)


def with_gaps(X, seed=1):
    """Return rows, some without the first view and some without the second, and the index of the missing view."""
    lack = np.random.default_rng(seed).integers(0, 4, len(X))
    X = X.copy()
    X[np.ix_(lack == 0, HALVES[0])] = np.nan
    X[np.ix_(lack == 1, HALVES[1])] = np.nan
    return X, lack


@pytest.mark.parametrize(("prior", "precision"), [("graph", "em"), ("graph+ridge", "evidence")])
def test_copies_of_a_view_equal_one_view(prior, precision):
    """Two and three equal views give the predictions of one."""
    X, _, y = two_views(60)
    model = GraphLogisticRegression(prior, precision, alpha=0.5, beta=0.5, tol=1e-7)
    expected = clone(model).fit(X, y).predict_proba(X)
    for n_copies in (2, 3):
        groups = [np.arange(6) + 6 * view for view in range(n_copies)]
        copies = np.tile(X, n_copies)
        fitted = clone(model).set_params(views=groups).fit(copies, y)
        np.testing.assert_allclose(fitted.predict_proba(copies), expected, atol=1e-4)


def test_a_view_of_noise_reduces_accuracy_little():
    """An additional view of noise reduces the accuracy by at most 2 points, and has a low weight."""
    single_view, both, weights = [], [], []
    for seed in range(3):
        X, truth, y = two_views(200, 50, noise=2.0, seed=seed)
        noisy = np.hstack([X, np.random.default_rng(50 + seed).normal(size=X.shape)])
        model = GraphLogisticRegression(views=[range(6), range(6, 12)]).fit(noisy, y)
        single_view.append((GraphLogisticRegression().fit(X, y).predict(X) == truth)[50:].mean())
        both.append((model.predict(noisy) == truth)[50:].mean())
        weights.append(model.view_weights_[1])
    assert np.mean(both) >= np.mean(single_view) - 0.02
    assert np.mean(weights) < 0.1


def test_auto_couples_views_unless_the_predictive_gain_decreases():
    """With "auto", views are coupled unless the predictive gain decreases; uncoupled views equal single ones."""
    selected = []
    for seed in (1, 2):
        X, _, y = two_views(200, 30, noise=4.0, seed=seed)
        model = GraphLogisticRegression(views=HALVES)
        models = {kind: clone(model).set_params(coregularization=kind).fit(X, y) for kind in ("auto", True, False)}
        proba = {kind: model.predict_proba(X) for kind, model in models.items()}
        selected.append(bool(models["auto"].precisions_["coregularization"] > 0))
        assert selected[-1] == (
            models[True]._fitted_views.total_predictive_gain >= models[False]._fitted_views.total_predictive_gain
        )
        np.testing.assert_allclose(proba["auto"], proba[selected[-1]], atol=1e-4)
        assert np.abs(proba["auto"] - proba[not selected[-1]]).max() > 1e-2
        assert models[False].precisions_["coregularization"] == 0
        for view, columns in enumerate(HALVES):
            single_view = GraphLogisticRegression().fit(X[:, columns], y).predict_proba(X[:, columns])
            np.testing.assert_allclose(models[False].predict_proba(X, view=view), single_view, atol=1e-5)
    assert set(selected) == {True, False}


def test_predictions_from_one_view():
    """With `view`, probabilities are the softmax of its scores; otherwise that of the weighted mean of all views."""
    X, _, y = two_views()
    X, lack = with_gaps(X)
    model = GraphLogisticRegression(views=HALVES).fit(X, y)
    odds = []
    for view, columns in enumerate(HALVES):
        present = lack != view
        scores = np.zeros((len(X), 3))
        scores[present, :2] = X[np.ix_(present, columns)] @ model.coef_[view].T + model.intercept_[view]
        proba = model.predict_proba(X, view=view)
        np.testing.assert_allclose(proba, softmax(scores), atol=1e-9)
        np.testing.assert_allclose(proba[~present], 1 / 3)
        single = X.copy()
        single[:, HALVES[1 - view]] = np.nan
        np.testing.assert_allclose(model.predict_proba(single), proba, atol=1e-12)
        odds.append(scores)
    weights = np.column_stack([lack != 0, lack != 1]) * model.view_weights_
    weights /= weights.sum(axis=1, keepdims=True)
    mean = weights[:, [0]] * odds[0] + weights[:, [1]] * odds[1]
    np.testing.assert_allclose(model.predict_proba(X), softmax(mean), atol=1e-9)
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])


def test_rows_without_any_view():
    """A row without any view has no effect on the fit, and uniform probabilities."""
    X, _, y = two_views()
    X, _ = with_gaps(X)
    model = GraphLogisticRegression(views=HALVES).fit(X, y)
    empty = np.full((2, 6), np.nan)
    np.testing.assert_allclose(model.predict_proba(empty), 1 / 3)
    more = clone(model).fit(np.vstack([X, empty]), np.r_[y, 2, -1])
    np.testing.assert_allclose(more.predict_proba(X), model.predict_proba(X), atol=1e-6)


def test_unlabeled_rows_couple_views():
    """With few labels and many rows with both views, coupled views disagree less than uncoupled ones."""
    for seed in range(3):
        X, _, y = two_views(200, 15, noise=2.5, seed=seed)
        disagreement = {}
        for coregularization in (True, False):
            model = GraphLogisticRegression(views=HALVES, coregularization=coregularization).fit(X, y)
            views = zip(HALVES, model.coef_, model.intercept_, strict=True)
            first, second = (X[15:, columns] @ coef.T + intercept for columns, coef, intercept in views)
            disagreement[coregularization] = ((first - second) ** 2).sum()
            assert (model.precisions_["coregularization"] > 0) == coregularization
            assert set(model.precisions_) == {"graph 0", "ridge 0", "graph 1", "ridge 1", "coregularization"}
        assert disagreement[True] < disagreement[False]


def test_without_rows_of_both_views_each_is_fitted_separately():
    """Views without an unlabeled row in common are fitted independently."""
    X, _, y = two_views()
    first, second = X.copy(), X.copy()
    first[:, 3:], second[:, :3] = np.nan, np.nan
    model = GraphLogisticRegression(views=HALVES).fit(np.vstack([first, second]), np.r_[y, y])
    assert "coregularization" not in model.precisions_
    for view, columns in enumerate(HALVES):
        single_view = GraphLogisticRegression().fit(X[:, columns], y)
        np.testing.assert_allclose(
            model.predict_proba(X, view=view), single_view.predict_proba(X[:, columns]), atol=1e-5
        )


FORMS = {
    "slices": [slice(0, 3), slice(3, 6)],
    "another order": [[2, 0, 1], (5, 4, 3)],
    "mask": [np.array([True] * 3 + [False] * 3), [-3, -2, -1]],
    "range": [range(3), pd.Series([3, 4, 5])],
    "names": [["a", "b", "c"], ["d", "e", "f"]],
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_column_groups(form):
    """Slices, lists, masks, ranges and names of the same columns, in any order, give the same model."""
    X, _, y = two_views()
    X, _ = with_gaps(X)
    rows = pd.DataFrame(X, columns=list("abcdef")) if form == "names" else X
    expected = GraphLogisticRegression(views=HALVES).fit(X, y)
    model = GraphLogisticRegression(views=FORMS[form]).fit(rows, y)
    np.testing.assert_allclose(model.predict_proba(rows), expected.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("features", ["raw", "kernel"])
def test_sparse_rows_with_views(features):
    """CSR rows give the model of dense ones; a view is missing if its stored entries are NaN."""
    X, _, y = two_views()
    X, _ = with_gaps(np.where(np.abs(X) < 0.5, 0.0, X))
    model = GraphLogisticRegression(views=HALVES, features=features)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict_proba(sp.csr_array(X)), dense.predict_proba(X), atol=1e-5)


def test_instances_of_the_posterior():
    """The instances of a view are 0 in the columns of the other view, and are those of the rows that have it."""
    X, _, y = two_views()
    X, lack = with_gaps(X)
    model = GraphLogisticRegression(views=HALVES).fit(X, y)
    for view, (present, instances) in enumerate(model.posterior_features(X)):
        np.testing.assert_array_equal(present, np.flatnonzero(lack != view))
        assert instances.shape == (len(present), 8)
        assert not instances[:, 4 * (1 - view) : 4 * (2 - view)].any()
        assert model.posterior_.covariance(instances).shape == (len(present), 2, 2)


@pytest.mark.parametrize(
    ("views", "message"),
    [
        ([], "`views` must be a nonempty list of groups"),
        ("ab", "`views` must be a nonempty list of groups"),
        ([[0, 1], []], r"`views\[1\]` must be a nonempty list of distinct columns"),
        ([0, 1], r"`views\[0\]` .* got 0: 'int' object is not iterable"),
        ([[0, 1], [7]], r"`views\[1\]` .* 7 is out of bounds for axis 0 with size 6"),
        ([[0.0, 1.0]], r"`views\[0\]`"),
        ([[0, -6]], r"`views\[0\]` must be a nonempty list of distinct columns"),
        ([["a", "b"]], "X does not have the column 'a'"),
        ([[True, False]], r"`views\[0\]` .* boolean"),
        ([[[0, 1]]], r"`views\[0\]` must be a nonempty list"),
        ([[[0, 1], [2]]], r"`views\[0\]` must be a nonempty list"),
    ],
)
def test_errors_name_the_group(views, message):
    """An error names the group that is not valid, and the cause."""
    X, _, y = two_views()
    with pytest.raises(InputError, match=message):
        GraphLogisticRegression(views=views).fit(X, y)


def test_errors_name_the_missing_values():
    """NaN in some columns of a view, a view that no row has, and NaN without views are errors."""
    X, _, y = two_views()
    partial = X.copy()
    partial[4, 1] = np.nan
    with pytest.raises(InputError, match="row 4, column 1: NaN in a view"):
        GraphLogisticRegression(views=HALVES).fit(partial, y)
    with pytest.raises(InputError, match="row 4, column 'b': NaN in a view"):
        GraphLogisticRegression(views=HALVES).fit(pd.DataFrame(partial, columns=list("abcdef")), y)
    with pytest.raises(ValueError, match="NaN"):
        GraphLogisticRegression().fit(partial, y)
    absent = X.copy()
    absent[:, 3:] = np.nan
    with pytest.raises(InputError, match=r"`views\[1\]`: no row has this view"):
        GraphLogisticRegression(views=HALVES).fit(absent, y)
    absent[60:] = X[60:]
    unlabeled_view = GraphLogisticRegression(views=HALVES).fit(absent, y)
    assert np.isfinite(unlabeled_view.predict_proba(X)).all()
    with pytest.raises(InputError, match=r"`views\[1\]`: no labeled row has this view"):
        GraphLogisticRegression(views=HALVES, features="kernel").fit(absent, y)
    with pytest.raises(InputError, match=r"`view` must be an integer from 0 to 1, .* got 2"):
        unlabeled_view.predict_proba(X, view=2)


def test_views_may_share_columns_and_exclude_some():
    """A column may be in two views, or in none: columns in no view have no effect, even with NaN."""
    X, _, y = two_views()
    model = GraphLogisticRegression(views=[[0, 1, 2], [2, 3]]).fit(X, y)
    X[:, 5] = np.nan
    np.testing.assert_array_equal(
        GraphLogisticRegression(views=[[0, 1, 2], [2, 3]]).fit(X, y).predict_proba(X), model.predict_proba(X)
    )
