"""PLSVM and TransductiveSVM: equality with scikit-learn, kernels, landmarks, scaling, convergence, sizes."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from oneof import PLSVM, CandidateSets, TransductiveSVM, make_partial_labels
from oneof.datasets import load
from oneof.errors import InputError
from oneof.solvers.transductive.tsvm import fractions_of_problems
from oneof.solvers.transductive.weighted_svm import solve_weighted_svm
from tests.estimators.panel import table
from tests.oracles import plsvm as oracle

# -- PLSVM, and landmarks of both -------------------------------------------------------------------------------------


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


# -- TransductiveSVM --------------------------------------------------------------------------------------------------


def two_clusters(n=80, n_known=6, seed=0, apart=1.5):
    """Return rows, true classes 0 and 1, and labels of the first rows."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.35).astype(int)
    truth[:2] = 0, 1
    X = rng.normal(size=(n, 3)) + apart * (2 * truth[:, None] - 1) * [1, 1, 0]
    return X, truth, np.where(np.arange(n) < n_known, truth, -1)


def test_the_fraction_of_positives_is_preserved():
    """The rounded fraction of the unlabeled rows becomes positive: that of the labeled rows, or the given one."""
    X, truth, labels = two_clusters(apart=0.4)
    is_unlabeled = labels < 0
    default = TransductiveSVM().fit(X, labels)
    assert default.transduction_[is_unlabeled].sum() == int(
        np.floor(is_unlabeled.sum() * truth[~is_unlabeled].mean() + 0.5)
    )
    for fraction, number in ((0.0, 0), (0.25, 19), (1.0, 74)):
        model = TransductiveSVM(positive_fraction=fraction).fit(X, labels)
        assert model.transduction_[is_unlabeled].sum() == number
        np.testing.assert_array_equal(model.transduction_[~is_unlabeled], truth[~is_unlabeled])
        np.testing.assert_array_equal(model.disambiguate().labels, model.transduction_)


@pytest.mark.parametrize("size", [1.0, 1e10])
def test_a_row_whose_sign_is_forced_keeps_its_label(size):
    """If the fraction forces a label against the score of a row, its confidence is at most one half."""
    X, _, labels = two_clusters()
    model = TransductiveSVM(C_unlabeled=1e-6, positive_fraction=1.0).fit(X, labels)
    model.coef_, model.intercept_ = (
        size * model.coef_,
        size * model.intercept_,
    )  # scores as large as those of distant rows
    against = model.decision_function(X) < 0
    assert (against & (labels < 0)).any()
    against[labels >= 0] = False
    assert (model.transduction_[against] == 1).all()
    solution = model.disambiguate()
    np.testing.assert_array_equal(solution.labels, model.transduction_)
    np.testing.assert_allclose(solution.confidence[against], 0.5, atol=1e-6)
    assert (model.disambiguate(X, labels).labels[against] == 0).all()


def test_unlabeled_rows_help_if_labels_are_few():
    """With one label in each of two clusters, only unlabeled rows show the gap between them."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 50)
    X = rng.normal(size=(100, 2)) * [0.3, 1.5] + np.where(truth[:, None], [1.5, 0.0], [-1.5, 0.0])
    labels = np.full(100, -1)
    labels[[X[:50, 1].argmin(), 50 + X[50:, 1].argmax()]] = 0, 1
    is_labeled = labels >= 0
    supervised = TransductiveSVM().fit(X[is_labeled], labels[is_labeled])
    both = TransductiveSVM().fit(X, labels)
    assert (both.transduction_ == truth).mean() > 0.98
    assert (supervised.predict(X) == truth).mean() < 0.9


def test_labels_of_one_class_rank_the_others():
    """Without exact rows of the second class, its given fraction is taken farthest from the first."""
    X, truth, _ = two_clusters(apart=2.5)
    mask = np.ones((80, 2), dtype=bool)
    mask[np.flatnonzero(truth == 0)[:10], 1] = False
    y = CandidateSets(mask, ["no", "yes"])
    fraction = truth.sum() / 70
    model = TransductiveSVM(positive_fraction=fraction).fit(X, y)
    assert ((model.transduction_ == "yes") == (truth == 1)).mean() > 0.95
    reference = TransductiveSVM().fit(X, y)  # all labeled rows are of the first class, and so are all others
    assert (reference.transduction_ == "no").all()
    np.testing.assert_allclose(reference.decision_function(X), -2.0, atol=1e-6)


def test_sparse_text_of_many_features():
    """CSR rows of 50,000 features stay sparse, and give the scores of a small dense copy of the used columns."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(50_000, 40, replace=False))
    small = np.where(rng.random((200, 40)) < 0.2, rng.random((200, 40)), 0.0)
    wide = sp.lil_array((200, 50_000))
    wide[:, columns] = small
    labels = np.where(np.arange(200) < 20, small[:, 0] + small[:, 1] > small[:, 2] + small[:, 3], -1).astype(int)
    dense, sparse = (TransductiveSVM(tol=1e-9).fit(rows, labels) for rows in (small, sp.csr_array(wide)))
    np.testing.assert_allclose(sparse.coef_[:, columns], dense.coef_, atol=1e-6)
    assert sparse.coef_.shape == (2, 50_000)


def test_an_svm_that_is_not_solved_warns(monkeypatch):
    """If the epochs of one SVM ran out, the warning names the remedies."""
    X, truth, _ = two_clusters(apart=0.3)
    monkeypatch.setattr(solve_weighted_svm, "__kwdefaults__", {**solve_weighted_svm.__kwdefaults__, "max_epochs": 1})
    with pytest.warns(ConvergenceWarning, match="did not converge .* Lower C, scale the features, or increase"):
        TransductiveSVM(C=100.0).fit(X, truth)


@pytest.mark.parametrize("name", ["C", "C_unlabeled"])
def test_a_cost_that_overflows_raises(name):
    """A cost by which sums would overflow raises; a tiny one is valid."""
    X, _, labels = two_clusters()
    with pytest.raises(InputError, match="cost of 1e\\+300 is too large"):
        TransductiveSVM(**{name: 1e300}).fit(X, labels)
    assert np.isfinite(TransductiveSVM(**{name: 1e-300}).fit(X, labels).decision_function(X)).all()


def test_unlabeled_rows_have_the_sizes_of_the_prior():
    """With three classes, the labels of the unlabeled rows have the sizes, not only the signs of each problem."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [90, 40, 20])
    X = np.eye(3, 4)[truth] * 2 + rng.normal(size=(150, 4))
    y = np.where(rng.permutation(150) % 10 == 0, truth, -1)
    sizes = np.bincount(truth[y < 0])
    model = TransductiveSVM(class_prior=sizes).fit(X, y)
    np.testing.assert_allclose(np.bincount(model.transduction_[y < 0]), sizes, atol=1)


def test_rows_of_several_candidates_do_not_follow_the_prior():
    """The prior is that of the unlabeled rows: a row with two candidates counts as half a row of each."""
    evidence = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 0, 0.5], [1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
    fractions = fractions_of_problems(evidence, np.array([0.0, 0.25, 0.75]))
    np.testing.assert_allclose(fractions, [(0 + 0.5 + 0.5 + 2 / 3) / 7, (1 + 0.5 + 0.5) / 6, (3 + 1 / 3) / 5])


@pytest.mark.parametrize(
    "sizes",
    [
        *({"positive_fraction": value} for value in ([0.6, 0.4], np.array([0.6, 0.4]), np.array(0.4), np.float32(0.4))),
        *({"class_prior": value} for value in ([3, 2], [0.6, 0.4])),
    ],
)
def test_forms_of_the_sizes_of_two_classes(sizes):
    """The size of the second class is a number, a 0-D array, or one of two; it is given once."""
    X, _, labels = two_clusters()
    expected = TransductiveSVM(positive_fraction=0.4).fit(X, labels)
    model = TransductiveSVM(**sizes).fit(X, labels)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    with pytest.raises(InputError, match="class_prior"):
        TransductiveSVM(positive_fraction=0.4, class_prior="uniform").fit(X, labels)
