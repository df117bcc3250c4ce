"""TransductiveSVM: parameters, fitted attributes, errors."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from oneof import CandidateSets, TransductiveSVM
from oneof.errors import InputError
from oneof.solvers.transductive.tsvm import fractions_of_problems
from oneof.solvers.transductive.weighted_svm import solve_weighted_svm


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
