"""GraphLogisticRegression with one view: its prior, its equations, and difficult rows."""

import pickle

import numpy as np
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
