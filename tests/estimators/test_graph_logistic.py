"""GraphLogisticRegression: its prior, its equations, difficult rows, and several views of the rows."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from oneof import CandidateSets, GraphLogisticRegression
from oneof.errors import InputError
from oneof.graphs import NeighborGraph, laplacian
from oneof.likelihoods import masked_softmax, softmax
from tests.estimators.panel import few_labels, table


def smoothness(X, **rule):
    """Return A = X^T L X."""
    return X.T @ laplacian(NeighborGraph(**rule).graph(X).affinity).toarray() @ X


def gradient(model, X, mask):
    """Return the gradient of the log likelihood by weights and intercepts, (K - 1, d) and (K - 1,)."""
    p = model.predict_proba(X)
    with np.errstate(divide="ignore"):
        q = masked_softmax(np.log(p), mask)
    score_gradient = (q - p)[~mask.all(axis=1), :-1]
    return score_gradient.T @ X[~mask.all(axis=1)], score_gradient.sum(axis=0)


@pytest.mark.parametrize("prior", ["graph", "graph+ridge", "graph+ard"])
@pytest.mark.parametrize("precision", ["evidence", "em"])
def test_weights_balance_likelihood_and_prior(prior, precision):
    """The gradient of l is (lambda_0 A + Lambda) w, with A, precisions and weights for the rows as given."""
    X, mask = table(120)
    X = 3.0 + X * [1.0, 2.0, 0.5, 4.0]
    model = GraphLogisticRegression(prior, precision, alpha=0.5, beta=0.5).fit(X, mask)
    precisions = model.precisions_
    expected = precisions["graph"] * model.coef_ @ smoothness(X)
    if prior != "graph":
        expected = expected + precisions[prior.removeprefix("graph+")] * model.coef_
    by_weights, by_intercepts = gradient(model, X, mask)
    np.testing.assert_allclose(by_weights, expected, atol=1e-4 * np.abs(X).sum())
    np.testing.assert_allclose(by_intercepts, 0, atol=1e-4)
    scores = np.column_stack([X @ model.coef_.T + model.intercept_, np.zeros(len(X))])
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores), atol=1e-9)


@pytest.mark.parametrize("n_features", [30, 120])
def test_above_a_hundred_features_the_prior_variance_is_constant(n_features):
    """Above 100 features, repeating each changes no probability: the unit of the hyper-prior doubles as well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, n_features))
    y = np.where(np.arange(90) < 40, (X[:, 0] + rng.normal(size=90) > 0).astype(int), -1)
    model = GraphLogisticRegression(affinity=sp.csr_array((90, 90)))
    once, twice = clone(model).fit(X, y), clone(model).fit(np.hstack([X, X]), y)
    same = np.allclose(twice.predict_proba(np.hstack([X, X])), once.predict_proba(X), atol=1e-5)
    assert same == (n_features > 100)
    assert np.isclose(twice.precisions_["ridge"], 2 * once.precisions_["ridge"], rtol=1e-4) == (n_features > 100)


def test_unlabeled_rows_have_an_effect_through_the_graph_only():
    """The features of unlabeled rows have an effect with edges, and none without."""
    X, y = few_labels()
    connected = GraphLogisticRegression().fit(X, y)
    changed = np.where((y < 0)[:, None], X * [1.0, 5.0, 1.0, 1.0], X)
    assert np.abs(GraphLogisticRegression().fit(changed, y).predict_proba(X) - connected.predict_proba(X)).max() > 1e-3
    affinity = np.zeros((len(X), len(X)))
    labeled = np.flatnonzero(y >= 0)
    affinity[np.ix_(labeled, labeled)] = 1.0
    isolated = GraphLogisticRegression("graph", affinity=affinity, fit_intercept=False, alpha=0.0, beta=0.0)
    np.testing.assert_allclose(
        clone(isolated).fit(changed, y).predict_proba(X), isolated.fit(X, y).predict_proba(X), atol=1e-5
    )


def test_kernel_features_are_kernels_with_the_labeled_rows():
    """Features are [1, k(x, x_i)] over rows with informative sets; the prior is A of these features over all rows."""
    X, y = few_labels()
    labeled = y >= 0
    model = GraphLogisticRegression("graph", features="kernel", gamma=0.2).fit(X, y)
    phi = rbf_kernel(X, X[labeled], gamma=0.2)
    assert model.coef_.shape == (2, labeled.sum())
    scores = np.column_stack([phi @ model.coef_.T + model.intercept_, np.zeros(len(X))])
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores), atol=1e-8)
    A = phi.T @ laplacian(NeighborGraph().graph(X).affinity).toarray() @ phi
    p = model.predict_proba(X)
    by_weights = (np.eye(3)[y[labeled]] - p[labeled])[:, :2].T @ phi[labeled]
    np.testing.assert_allclose(by_weights, model.precisions_["graph"] * model.coef_ @ A, atol=1e-3)


def test_em_degenerates_with_few_labels_and_warns():
    """With 10 labels the paper's EM ends at weights of 0, and warns with a remedy."""
    X, y = few_labels(100, 10, d=10, K=2)
    with pytest.warns(ConvergenceWarning, match='precision="evidence"'):
        model = GraphLogisticRegression(precision="em").fit(X, y)
    assert np.ptp(model.predict_proba(X), axis=0).max() < 1e-4


def test_the_origin_of_the_features_has_no_effect():
    """Features far from the origin give the same probabilities."""
    X, y = few_labels()
    expected = GraphLogisticRegression().fit(X, y).predict_proba(X)
    proba = GraphLogisticRegression().fit(X + 1e4, y).predict_proba(X + 1e4)
    np.testing.assert_allclose(proba, expected, atol=1e-6)


def test_sparse_rows_remain_sparse():
    """CSR rows of many features are neither centered nor made dense."""
    rng = np.random.default_rng(0)
    X = sp.random_array((200, 1500), density=0.02, rng=rng, format="csr")
    y = np.where(np.arange(200) < 60, (np.asarray(X[:, :30].sum(axis=1)).ravel() > 0.15).astype(int), -1)
    model = GraphLogisticRegression(affinity="cosine", max_iter=5)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.score(X, y) > 0.9
    ((_, instances),) = model.posterior_features(X)
    assert sp.issparse(instances)


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_sparse_matrices_equal_sparse_arrays(fit_intercept):
    """A CSR matrix, whose `*` is another product, gives the probabilities of a CSR array."""
    X, y = few_labels()
    first, second = (kind(X * (X > 0)) for kind in (sp.csr_matrix, sp.csr_array))
    model = GraphLogisticRegression(fit_intercept=fit_intercept)
    np.testing.assert_array_equal(model.fit(first, y).predict_proba(first), model.fit(second, y).predict_proba(second))


def test_the_posterior_covers_the_instances():
    """The posterior has positive covariances of all instances; a pickled model has no posterior, which is an error."""
    X, y = few_labels()
    model = GraphLogisticRegression().fit(X, y)
    ((present, instances),) = model.posterior_features(X)
    np.testing.assert_array_equal(present, np.arange(len(X)))
    covariance = model.posterior_.covariance(instances)
    assert covariance.shape == (len(X), 2, 2)
    assert (np.linalg.eigvalsh(covariance) > -1e-12).all()
    model = pickle.loads(pickle.dumps(model))
    with pytest.raises(InputError, match="has no `posterior_`"):
        model.posterior_  # noqa: B018 - a property


@pytest.mark.parametrize("noise", [0.0, 1e-9, 3e-8, 1e-7, 1e-6])
def test_nearly_dependent_columns_have_no_effect(noise):
    """Rounding errors in the null space of the graph's A are not features: probabilities do not change."""
    rng = np.random.default_rng(0)
    Z, N = rng.normal(size=(300, 4)), rng.normal(size=(300, 2))
    label = (Z @ rng.normal(size=(4, 3))).argmax(axis=1)
    y = np.where(np.arange(300) < 40, label, -1)

    def proba(noise):
        X = np.column_stack([Z, Z[:, 0] + Z[:, 1] + noise * N[:, 0], Z[:, 1] - Z[:, 2] + noise * N[:, 1]])
        return GraphLogisticRegression("graph").fit(X, y).predict_proba(X)

    np.testing.assert_allclose(proba(noise), proba(0.0), atol=1e-4)


def test_em_without_a_penalty_is_not_degenerate():
    """Without edges A is 0, and the weights depend on the labels only."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.where(X[:, 0] > 0, 1, 0)
    model = GraphLogisticRegression("graph", precision="em", affinity=sp.csr_array((40, 40)))
    assert (model.fit(X, y).predict(X) == y).mean() > 0.9  # a ConvergenceWarning is an error here


def test_a_flat_likelihood_converges():
    """For two classes that occur in the same sets, the curvature is not positive, and the solver converges."""
    full = list(range(6))
    partial = {3: [2, 5], 5: [2, 5], 6: [0, 3], 9: [1, 4], 12: [0, 3]}
    X = np.array([1, 1, -1, 0, 1, 0, -1, -1, 0, -1, 0, 1, 0.0])[:, None]
    y = CandidateSets.from_sets([partial.get(i, full) for i in range(len(X))], classes=full)
    model = GraphLogisticRegression(alpha="auto", symmetrize="sum", max_iter=20)
    model.fit(X, y)  # a ConvergenceWarning is an error here
    np.testing.assert_allclose(gradient(model, X, y.mask)[1], 0, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_features", [2, 150])
def test_inseparable_classes_remain_equal(seed, n_features):
    """Classes that occur in the same sets have equal probabilities, although the likelihood has a saddle there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, n_features))
    X[:10, :2] += 2
    y = CandidateSets.from_sets([{0, 1}] * 10 + [{2}] * 10, classes=[0, 1, 2])
    p = GraphLogisticRegression().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(p[:, 0], p[:, 1], rtol=1e-9)
    assert p[:10, :2].sum() > 7


# -- Co-training: views as groups of columns, rows that lack views, and predictions from several views ----------------


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
