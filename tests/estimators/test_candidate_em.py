"""CandidateEM compared with an oracle, with various classifiers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from oneof import CandidateEM, CandidateSets, make_partial_labels
from oneof.errors import InputError
from oneof.solvers.soft_label_em import label_pairs, repeat_pairs
from tests.estimators.panel import table
from tests.oracles.soft_label_em import fitted_to_labels, held_out_labels
from tests.weights import draw_weights

NEWTON = LogisticRegression(solver="newton-cholesky", tol=1e-12, C=0.5)
BOOSTING = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, early_stopping=False)


def named(weights):
    return CandidateSets.from_weights(np.where(weights.any(axis=1, keepdims=True), weights, 1.0), ["ant", "bee", "cat"])


@pytest.mark.parametrize("estimator", [NEWTON, GaussianNB()], ids=["logistic", "naive Bayes"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 9])
@pytest.mark.filterwarnings("ignore:CandidateEM did not converge")
def test_model_equals_the_oracle(estimator, weighted, max_iter):
    """Labels, their changes and the probabilities of new rows equal those of loops over rows and classes."""
    X, mask = table()
    y = named(draw_weights(mask) if weighted else mask)
    assert y.is_weighted.any() == weighted
    known = np.flatnonzero(~y.is_unlabeled)
    folds = list(KFold(3).split(known))
    model = CandidateEM(estimator, cv=folds, max_iter=max_iter, tol=1e-3).fit(X, y)
    labels, changes = held_out_labels(estimator, X[known], y.weights[known], folds, max_iter, 1e-3)
    np.testing.assert_allclose(model.label_distributions_[known], labels, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.label_changes_, changes, rtol=1e-9, atol=1e-12)
    final = fitted_to_labels(estimator, X[known], labels)
    np.testing.assert_allclose(model.predict_proba(X), final.predict_proba(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [None, BOOSTING, RandomForestClassifier(5), LogisticRegression(), KNeighborsClassifier(3)],
    ids=lambda e: type(e).__name__,
)
def test_on_exact_labels_the_model_is_the_classifier(estimator):
    """Exact labels, in any form, give the bits of a clone that is fitted to them, whatever the unlabeled rows."""
    X, _ = table()
    labels = np.array(["ant", "bee", "cat"])[np.arange(len(X)) % 3]
    peer = HistGradientBoostingClassifier(l2_regularization=1, early_stopping=False) if estimator is None else estimator
    if "random_state" in peer.get_params():
        peer = peer.set_params(random_state=3)
        estimator = None if estimator is None else peer
    expected = peer.fit(X, labels).predict_proba(X)
    for y in (labels, CandidateSets.from_labels(labels)):
        model = CandidateEM(estimator, random_state=0).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        assert model.n_iter_ == 1
        assert model.label_changes_.tolist() == [0.0]
    more = CandidateEM(estimator, random_state=0).fit(np.vstack([X, 2 * X]), [*labels, *[None] * len(X)])
    np.testing.assert_array_equal(more.predict_proba(X), expected)
    np.testing.assert_array_equal(more.label_distributions_[len(X) :], more.predict_proba(2 * X))


def test_a_row_is_not_confirmed_by_itself():
    """A forest reproduces its training labels, but a row's label is predicted by forests of other rows."""
    X = np.arange(40.0)[:, None]
    sets = [["a", "b"] if i == 10 else ["a"] if i < 20 else ["b"] for i in range(40)]
    weights = CandidateSets.from_sets(sets).weights
    weights[10] = [0.4, 1.0]  # most probably b, among rows of a
    model = CandidateEM(RandomForestClassifier(50), random_state=0).fit(
        X, CandidateSets.from_weights(weights, ["a", "b"])
    )
    assert model.transduction_[10] == "a"


def test_a_class_that_a_fold_lacks_has_probability_0_there():
    """A class whose only row is held out is restored from the set; the columns of the other classes are in order."""
    X, y = np.arange(12.0)[:, None], [[0]] * 5 + [[0, 2]] + [[2]] * 5 + [[1, 2]]
    folds = [(np.arange(6, 12), np.arange(6)), (np.arange(6), np.arange(6, 12))]
    model = CandidateEM(NEWTON, cv=folds, max_iter=1, tol=1.0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    # The first fold has no row of 0, so that row 5 is 2; the second has rows of 0 and 2 and no row of 1.
    assert model.label_distributions_[5, 2] > 0.99
    assert model.label_distributions_[11, 2] > 0.99
    assert model.predict_proba(X).shape == (12, 3)


def test_one_class_and_one_row():
    """If all labels are one class, it has probability 1; the labels of an only row stay those of its weights."""
    assert CandidateEM(NEWTON).fit(
        [[0.0], [1.0]], CandidateSets.from_labels(["a", "a"], classes=["a", "b"])
    ).predict_proba([[3.0]]).tolist() == [[1.0, 0.0]]
    y = CandidateSets.from_weights([[1.0, 0.25, 0.0]], ["a", "b", "c"])
    model = CandidateEM(NEWTON).fit([[1.0]], y)
    np.testing.assert_allclose(model.label_distributions_, [[0.8, 0.2, 0.0]])


class WithoutWeights(ClassifierMixin, BaseEstimator):
    """Classifier whose `fit` has no weights; it records its rows."""

    def fit(self, X, y):
        self.classes_, self.rows_, self.labels_ = np.unique(y), X, y
        return self

    def predict_proba(self, X):
        return np.tile(np.bincount(self.labels_, minlength=len(self.classes_)) / len(self.labels_), (len(X), 1))


def test_classifiers_without_weights_get_copies():
    """Without `sample_weight` rows are copied in proportion to their labels; exact rows are not, if all are exact."""
    X, mask = table()
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 iteration"):
        model = CandidateEM(WithoutWeights(), n_copies=7, max_iter=1, tol=1e-9).fit(X, mask)
    labeled = ~mask.all(axis=1)
    copies = repeat_pairs(label_pairs(model.label_distributions_[labeled]), 7)
    np.testing.assert_array_equal(model.estimator_.rows_, X[labeled][copies.row])
    np.testing.assert_array_equal(model.estimator_.labels_, copies.label)
    assert len(model.estimator_.rows_) == 7 * labeled.sum()
    votes = CandidateEM(KNeighborsClassifier(50), random_state=0).fit(X, mask)
    assert votes.score(X, mask) > 0.9


def test_pipelines_get_weights_in_their_last_step():
    """A pipeline that ends with a classifier of weighted rows equals the classifier of the transformed rows."""
    X, mask = table()
    Z = X / 4.0
    scaled = make_pipeline(StandardScaler().set_params(with_mean=False, with_std=False), NEWTON)
    reference = CandidateEM(NEWTON, random_state=0).fit(Z, mask).predict_proba(Z)
    np.testing.assert_allclose(CandidateEM(scaled, random_state=0).fit(Z, mask).predict_proba(Z), reference, rtol=1e-9)


def test_missing_values_and_sparse_rows_are_those_of_the_classifier():
    """NaN and sparse rows are accepted if the classifier accepts them; the errors of others name the row."""
    X, mask = table()
    gaps = X.copy()
    gaps[3, 1] = np.nan
    model = CandidateEM(BOOSTING, random_state=0).fit(gaps, mask)
    assert np.isfinite(model.predict_proba(gaps)).all()
    with pytest.raises(InputError, match="row 3, column 1"):
        CandidateEM(NEWTON).fit(gaps, mask)
    with pytest.raises(InputError, match="infinity"):
        CandidateEM(BOOSTING).fit(np.where(np.isnan(gaps), np.inf, gaps), mask)
    forest = RandomForestClassifier(5, random_state=0)
    dense = CandidateEM(forest, random_state=0).fit(X, mask).predict_proba(X)
    rows = sp.csr_array(X)
    np.testing.assert_array_equal(CandidateEM(forest, random_state=0).fit(rows, mask).predict_proba(rows), dense)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        CandidateEM(BOOSTING).fit(rows, mask)


def test_seeds_and_parameters_of_the_classifier():
    """A seed of the classifier is kept, and a missing one follows from random_state; the rounds have round_params."""
    X, mask = table()
    assert (
        CandidateEM(RandomForestClassifier(3, random_state=7), random_state=0).fit(X, mask).estimator_.random_state == 7
    )
    seeds = [
        CandidateEM(make_pipeline(RandomForestClassifier(3)), random_state=s).fit(X, mask).estimator_[-1].random_state
        for s in (0, 0, 1)
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    model = CandidateEM(BOOSTING, round_params={"max_iter": 2}, random_state=0).fit(X, mask)
    assert model.estimator_.max_iter == 5
    assert not np.array_equal(
        model.label_distributions_, CandidateEM(BOOSTING, random_state=0).fit(X, mask).label_distributions_
    )


@pytest.mark.parametrize("verbose", [0, 1])
def test_verbose_prints_one_line_for_each_round(verbose, capsys):
    """With `verbose` each round has a line with its change, and the last fit has one; the result is the same."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), make_partial_labels(rng.integers(0, 3, 40), random_state=0)
    model = CandidateEM(GaussianNB(), cv=2, tol=1e-3, max_iter=50, random_state=0, verbose=verbose).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    silent = CandidateEM(GaussianNB(), cv=2, tol=1e-3, max_iter=50, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, silent.label_distributions_)
    assert len(lines) == verbose * (model.n_iter_ + 1)
    for line, change in zip(lines, model.label_changes_):
        assert f"mean change of labels {change:.4f}, " in line


def mixed_frame(library, n=60):
    """Return a DataFrame with missing numbers and a column of text, the true labels, and candidate sets."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n)
    span = np.where(rng.random(n) < 0.1, np.nan, truth + 0.1 * rng.normal(size=n))
    columns = {"span": span, "color": np.array(["red", "blue", "gray"])[truth], "unused": ["text"] * n}
    y = make_partial_labels(truth, n_distractors=1, random_state=0)
    return pytest.importorskip(library).DataFrame(columns), truth, y


def mixed_pipeline():
    """Return a pipeline that encodes two columns by their names."""
    columns = make_column_transformer((SimpleImputer(), ["span"]), (OneHotEncoder(), ["color"]))
    return make_pipeline(columns, LogisticRegression())


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_pipeline_receives_the_dataframe(library):
    """A pipeline selects columns by name, and the model is that of the columns encoded in each fold."""
    X, truth, y = mixed_frame(library)
    mask = y.mask.copy()
    mask[::7] = True  # unlabeled rows
    model = CandidateEM(mixed_pipeline(), random_state=0).fit(X, mask)
    assert model.feature_names_in_.tolist() == ["span", "color", "unused"]
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(model.predict(X), truth)
    np.testing.assert_array_equal(model.disambiguate().labels[mask.sum(axis=1) == 2], truth[mask.sum(axis=1) == 2])
    np.testing.assert_array_equal(model.label_distributions_[::7], model.predict_proba(X)[::7])
    reordered = X[["color", "span"]]
    np.testing.assert_array_equal(model.predict_proba(reordered), model.predict_proba(X))


def test_missing_column_is_an_error():
    """The pipeline names a column that new rows lack, and its error is one of oneof."""
    X, _, y = mixed_frame("pandas")
    model = CandidateEM(mixed_pipeline(), random_state=0).fit(X, y)
    with pytest.raises(InputError, match="color"):
        model.predict(X.drop(columns="color"))
