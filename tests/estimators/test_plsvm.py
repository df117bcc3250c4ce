"""Tests of PLSVM: equality with scikit-learn on exact labels, kernels, landmarks, scaling, convergence."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from oneof import PLSVM, TransductiveSVM, make_partial_labels
from oneof.datasets import load
from tests.estimators.panel import table
from tests.oracles import plsvm as oracle


def objective(model, X, mask):
    """Return J of a linear model."""
    square = float((model.coef_**2).sum() + np.sum(model.intercept_**2))
    return oracle.objective(X @ model.coef_.T + model.intercept_, square, mask, model.lam)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("lam", [1e-1, 1e-2, 1e-3])
def test_exact_labels_give_the_svm_of_crammer_and_singer(lam, fit_intercept):
    """With exact labels and the default tolerance, J is within 1e-4 of liblinear's optimum."""
    data = load("digits")
    X, y = data.X[:600] / 16, data.y[:600]
    mask = y[:, None] == np.arange(10)
    peer = LinearSVC(
        multi_class="crammer_singer", C=1 / (lam * len(X)), fit_intercept=fit_intercept, tol=1e-8, max_iter=10**6
    ).fit(X, y)
    model = PLSVM(lam, fit_intercept=fit_intercept).fit(X, y)
    peer.lam = lam
    best = objective(peer, X, mask)
    assert model.objective_ == pytest.approx(best, rel=1e-4)
    assert objective(model, X, mask) == pytest.approx(model.objective_, rel=1e-9)
    tight = PLSVM(lam, fit_intercept=fit_intercept, tol=1e-10).fit(X, y)
    assert objective(tight, X, mask) <= best * (1 + 1e-9)
    np.testing.assert_allclose(tight.decision_function(X), peer.decision_function(X), atol=1e-3)


def quadratic(A, B):
    """Return (a.b)^2, sparse if the rows are."""
    return (A @ B.T).power(2) if sp.issparse(A) else (A @ B.T) ** 2


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("options", "gram"),
    [
        ({"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 0.0}, lambda A, B: (A @ B.T) ** 3),
        ({"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 2.0}, lambda A, B: (0.5 * A @ B.T + 2.0) ** 2),
        ({"kernel": "rbf", "gamma": 0.3}, lambda A, B: rbf_kernel(A, B, gamma=0.3)),
        ({"kernel": quadratic}, lambda A, B: (A @ B.T) ** 2),
    ],
    ids=["cubic", "quadratic", "rbf", "callable"],
)
def test_kernels_are_their_gram_matrices(options, gram, rows):
    """A named or callable kernel of dense or CSR rows equals the precomputed one; scores are sums over dual_coef_."""
    X, mask = table(80)
    Z, _ = table(20, seed=1)
    model = PLSVM(0.05, tol=1e-10, **options).fit(rows(X), mask)
    peer = PLSVM(0.05, tol=1e-10, kernel="precomputed").fit(gram(X, X), mask)
    expected = gram(Z, X) @ peer.dual_coef_
    assert model.dual_coef_.shape == mask.shape
    np.testing.assert_allclose(peer.decision_function(gram(Z, X)), expected, atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(rows(Z)), expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max()
    )
    assert not model.dual_coef_[mask.all(axis=1)].any()
    np.testing.assert_array_equal(model.disambiguate().labels, peer.disambiguate().labels)


@pytest.mark.parametrize("solver", ["cccp", "pegasos"])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_a_precomputed_linear_kernel_equals_the_linear_kernel(solver, fit_intercept):
    """The linear kernel and the Gram matrix of its rows give the same scores, with and without intercept."""
    X, mask = table(80)
    options = {"solver": solver, "fit_intercept": fit_intercept, "max_iter": 200, "tol": 1e-10}
    linear = PLSVM(0.05, **options).fit(X, mask)
    kernel = PLSVM(0.05, kernel="precomputed", **options).fit(X @ X.T, mask)
    expected = linear.decision_function(X)
    np.testing.assert_allclose(
        kernel.decision_function(X @ X.T), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max()
    )
    np.testing.assert_allclose(kernel.intercept_, linear.intercept_, atol=1e-6)


def test_gamma_is_that_of_svc():
    """gamma="scale" is 1/(d Var(X)) over the labeled rows, and "auto" is 1/d, for dense and sparse rows."""
    X, mask = table(80)
    labeled = X[~mask.all(axis=1)]
    for rows in (X, sp.csr_array(X)):
        scale = PLSVM(0.05, kernel="rbf", tol=1e-9).fit(rows, mask).decision_function(rows)
        given = (
            PLSVM(0.05, kernel="rbf", gamma=1 / (4 * labeled.var()), tol=1e-9).fit(rows, mask).decision_function(rows)
        )
        np.testing.assert_allclose(scale, given, atol=1e-6)
    auto = PLSVM(0.05, kernel="rbf", gamma="auto", tol=1e-9).fit(X, mask).decision_function(X)
    given = PLSVM(0.05, kernel="rbf", gamma=0.25, tol=1e-9).fit(X, mask).decision_function(X)
    np.testing.assert_allclose(auto, given, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 256.0, 1e6, 1e30, 1e60])
def test_features_of_any_size(scale):
    """J(s X, s^2 lam) equals J(X, lam), in double precision and, to rounding, in single precision."""
    X, mask = table(120)
    X = X.astype(np.float32)
    expected = PLSVM(0.05).fit(X.astype(np.float64), mask).objective_
    double = PLSVM(0.05 * scale**2).fit(X.astype(np.float64) * scale, mask).objective_
    assert double == pytest.approx(expected, rel=2e-4)
    if scale < 1e15:
        single = PLSVM(0.05 * scale**2).fit(X * np.float32(scale), mask).objective_
        assert single == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("lam", [1e-2, 1e-5])
def test_single_precision_ends_as_low_as_double(lam):
    """float32 rows of large numbers, such as 8-bit images, reach the objective of float64 rows."""
    data = load("digits")
    X = np.round(data.X[:400] * 16).astype(np.float32)
    y = make_partial_labels(data.y[:400], n_distractors=2, random_state=0)
    single, double = PLSVM(lam).fit(X, y), PLSVM(lam).fit(X.astype(np.float64), y)
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-3)
    assert single.coef_.dtype == np.float32


def test_the_default_solver_ends_below_the_published_one():
    """On ambiguous digits J is at most 0.5 % above that of 1,000 published iterations."""
    data = load("digits")
    X = data.X[:500] / 16
    for extra in (1, 4):
        y = make_partial_labels(data.y[:500], n_distractors=extra, random_state=0)
        for lam in (1e-2, 1e-3):
            published = PLSVM(lam, solver="pegasos", max_iter=1000, tol=0.0).fit(X, y)
            assert published.n_iter_ == 1000
            assert PLSVM(lam).fit(X, y).objective_ <= 1.005 * published.objective_


def test_a_model_without_support_vectors():
    """With indistinguishable rows and strong regularization, scores are 0 and the first class is predicted."""
    model = PLSVM(100.0, kernel="rbf").fit([[1.0]] * 6, [[0], [1], [2]] * 2)
    assert model.predict([[1.0], [5.0]]).tolist() == [0, 0]
    assert model.disambiguate().labels.tolist() == [0, 1, 2] * 2


MODELS = {
    "PLSVM": PLSVM(0.05, kernel="rbf", gamma=0.3, tol=1e-7),
    "intercept": PLSVM(0.05, kernel="rbf", gamma=0.3, tol=1e-7, fit_intercept=True),
    "TransductiveSVM": TransductiveSVM(kernel="rbf", gamma=0.3, tol=1e-4),
}


def task(n=90, apart=2.0):
    """Return rows of three clusters, with candidate sets and unlabeled rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    mask = make_partial_labels(y, n_distractors=1, random_state=0).mask.copy()
    mask[: n // 3] = y[: n // 3, None] == np.arange(3)
    mask[-10:] = True
    return rng.normal(size=(n, 4)) + apart * np.eye(3, 4)[y], mask, y


def approximate(model, **options):
    return type(model)(**{**model.get_params(), "approximation": "nystroem", "random_state": 0, **options})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
def test_with_all_rows_as_landmarks_the_kernel_is_exact(name, is_sparse):
    """If every row is a landmark, the objective and the scores are those of the kernel of all pairs."""
    X, mask, y = task()
    if name != "TransductiveSVM":  # exact sets, whose minimum is unique
        mask = y[:, None] == np.arange(3)
    rows = sp.csr_array(X) if is_sparse else X
    exact, model = MODELS[name], approximate(MODELS[name], n_components=10**6)
    exact.fit(rows, mask)
    model.fit(rows, mask)
    assert model.objective_ == pytest.approx(exact.objective_, rel=1e-4)
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(rows), atol=2e-2)


@pytest.mark.parametrize("name", MODELS)
def test_few_landmarks_predict_nearly_as_well(name):
    """A third of the rows as landmarks predict nearly as well; only landmarks have coefficients, of a fixed seed."""
    X, mask, y = task(240, apart=4.0)
    exact, model = MODELS[name].fit(X, mask), approximate(MODELS[name], n_components=80).fit(X, mask)
    assert np.count_nonzero(model.dual_coef_.any(axis=1)) <= 80
    assert not hasattr(model, "coef_")
    assert (model.predict(X) == y).mean() >= (exact.predict(X) == y).mean() - 0.05
    again = approximate(MODELS[name], n_components=80).fit(X, mask)
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
