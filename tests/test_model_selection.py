"""Splitters and scorers for candidate sets, folds by groups, and held-out predictions."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.model_selection import cross_val_predict as sklearn_cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from oneof import CLPL, PLEM, PLKNN, CandidateSets, LOORidge, compare
from oneof.audit import find_label_issues
from oneof.comparison import learning_curve
from oneof.comparison.folds import check_task, make_folds
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.metrics import approximated_accuracy, covering_rate, exact_accuracy
from oneof.model_selection import (
    CandidateGroupKFold,
    CandidateKFold,
    approximated_accuracy_scorer,
    covering_rate_scorer,
    cross_val_predict,
    exact_accuracy_scorer,
)
from tests.blobs import Constant, Frequencies, draw

SCORERS = (covering_rate_scorer, approximated_accuracy_scorer, exact_accuracy_scorer)
seeds = st.integers(0, 2**32 - 1)


class Centroids(LinearClassifierMixin, CandidateClassifier):
    """Classifier by inner products with class means; `shrink` shrinks the means to 0."""

    def __init__(self, shrink=0.0):
        self.shrink = shrink

    def _fit(self, training):
        weights = training.candidates.mask / training.candidates.sizes[:, None]
        means = (weights.T @ training.X) / np.maximum(weights.sum(axis=0), 1)[:, None]
        self.coef_, self.intercept_ = (1 - self.shrink) * means, -0.5 * (means**2).sum(axis=1)


def draw_sets(seed, *, n=None, K=None, fraction=0.25):
    rng = np.random.default_rng(seed)
    n, K = n or rng.integers(8, 40), K or rng.integers(2, 7)
    mask = rng.random((n, K)) < fraction
    truth = rng.integers(0, K, n)
    mask[np.arange(n), truth] = True
    X = rng.normal(size=(n, 3)) + truth[:, None] * [1.0, -1.0, 0.5]
    return X, CandidateSets(mask, [f"c{k}" for k in range(K)]), truth


@given(seed=seeds, n_splits=st.integers(2, 5), shuffle=st.booleans())
@settings(deadline=None)
def test_folds_partition_the_labeled_rows(seed, n_splits, shuffle):
    """Every labeled row is in one test set, unlabeled rows in every training set; sizes differ by at most one."""
    X, candidates, _ = draw_sets(seed)
    labeled = np.flatnonzero(~candidates.is_unlabeled)
    if len(labeled) < n_splits:
        return
    cv = CandidateKFold(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    folds = list(cv.split(X, candidates))
    assert len(folds) == cv.get_n_splits() == n_splits
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), labeled)
    for train, test in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(X)))
        assert len(test) - len(labeled) // n_splits in (0, 1)


@given(seed=seeds, n_splits=st.integers(2, 5))
@settings(deadline=None)
def test_exact_labels_are_stratified(seed, n_splits):
    """On exact labels two folds differ by at most one row per class; classes with two rows are in each training set."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c", "d"], size=rng.integers(n_splits, 40), p=[0.6, 0.2, 0.15, 0.05])
    y[0], y[1] = "a", "b"
    for train, test in CandidateKFold(n_splits, random_state=seed).split(y, y):
        for label, count in zip(*np.unique(y, return_counts=True)):
            assert abs((y[test] == label).sum() - count / n_splits) < 1
            assert count < 2 or label in y[train]


def test_repeated_sets_are_stratified():
    """If no class is rare, two folds differ by at most one row of any candidate set."""
    _, candidates, _ = draw_sets(3, n=300, K=4)
    candidates = candidates[~candidates.is_unlabeled]
    _, kind = np.unique(candidates.mask, axis=0, return_inverse=True)
    held_out = [np.bincount(kind[test]) for _, test in CandidateKFold(5, random_state=0).split(kind, candidates)]
    assert len(np.unique(kind)) > 8
    assert (np.ptp(held_out, axis=0) <= 1).all()


@pytest.mark.parametrize("seed", range(20))
def test_every_class_with_two_rows_is_in_every_training_set(seed):
    """Each candidate of at least two rows is in each training set, also for overlapping partial rows."""
    rng = np.random.default_rng(seed)
    mask = rng.random((25, 12)) < 0.1
    mask[np.arange(25), rng.integers(0, 12, 25)] = True
    for train, _ in CandidateKFold(5, random_state=seed).split(mask, mask):
        assert (mask[train].any(axis=0) | (mask.sum(axis=0) < 2)).all()


def test_random_state_determines_the_folds():
    """Equal seeds give equal folds, other seeds other folds, and no shuffling always the same folds."""
    X, candidates, _ = draw_sets(2, n=60, K=3)

    def folds(**how):
        return [test.tolist() for _, test in CandidateKFold(3, **how).split(X, candidates)]

    assert folds(random_state=0) == folds(random_state=0) != folds(random_state=1)
    assert folds(shuffle=False) == folds(shuffle=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CandidateKFold(shuffle=False, random_state=0), "no effect without shuffle"),
        (
            lambda: list(CandidateKFold(3).split(np.zeros(4), ["a", "b", None, None])),
            "at least 3 labeled rows, one for each fold; got 2",
        ),
        (lambda: list(CandidateKFold(2).split(np.zeros(3), ["a", "b"])), "inconsistent numbers of samples"),
    ],
)
def test_invalid_folds_raise(call, message):
    """The error states the cause."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("form", ["indicator", "frame", "sets", "lists"])
def test_cross_validation_equals_an_explicit_loop(form):
    """cross_val_score with the splitter and a scorer gives the metric on each test set."""
    X, candidates, _ = draw_sets(4, n=60, K=3)
    indicator = candidates.to_indicator()
    frame = pd.DataFrame(indicator, columns=candidates.classes)
    y = {"indicator": indicator, "frame": frame, "sets": candidates, "lists": candidates.to_sets()}[form]
    cv = CandidateKFold(3, random_state=0)
    scores = cross_val_score(make_pipeline(StandardScaler(), Centroids()), X, y, cv=cv, scoring=covering_rate_scorer)
    for score, (train, test) in zip(scores, cv.split(X, sp.csr_array(indicator)), strict=True):
        model = make_pipeline(StandardScaler(), Centroids()).fit(X[train], candidates[train])
        assert score == covering_rate(candidates[test], model.predict(X[test]))


@pytest.mark.parametrize("estimator", [Centroids(), Frequencies()])
@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: make_pipeline(StandardScaler(), e)])
def test_scorers_equal_the_metrics(estimator, wrap):
    """Each scorer equals its metric of predictions or probabilities, with weights, in a pipeline or not."""
    X, candidates, _ = draw_sets(5, n=50, K=3)
    model = wrap(estimator).fit(X, candidates)
    weight = np.random.default_rng(0).random(50)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
    else:
        proba = np.exp(model.decision_function(X))
        proba /= proba.sum(axis=1, keepdims=True)
    for y in (candidates, candidates.to_indicator(), candidates.to_sets()):
        for w in (None, weight):
            options = {"classes": candidates.classes, "sample_weight": w}
            predicted = model.predict(X)
            assert covering_rate_scorer(model, X, y, sample_weight=w) == covering_rate(y, predicted, **options)
            assert exact_accuracy_scorer(model, X, y, sample_weight=w) == exact_accuracy(y, predicted, **options)
            assert approximated_accuracy_scorer(model, X, y, sample_weight=w) == pytest.approx(
                approximated_accuracy(y, proba, **options)
            )


def test_two_classes_are_scored_by_the_logistic_function():
    """For two classes, the softmax of the 1-D decision function is the logistic function."""
    X, candidates, _ = draw_sets(6, n=30, K=2)
    model = Centroids().fit(X, candidates)
    up = expit(model.decision_function(X))
    expected = approximated_accuracy(candidates, np.stack([1 - up, up], axis=1))
    assert approximated_accuracy_scorer(model, X, candidates) == pytest.approx(expected)


def test_approximated_accuracy_needs_scores():
    """An estimator without scores has a covering rate, but no approximated accuracy."""
    X, candidates, _ = draw_sets(7, n=30, K=3)
    labeled, constant = ~candidates.is_unlabeled, Constant("c1").fit(X, candidates)
    assert covering_rate_scorer(constant, X, candidates) == pytest.approx(candidates.mask[labeled, 1].mean())
    with pytest.raises(InputError, match="Constant has neither"):
        approximated_accuracy_scorer(constant, X, candidates)


def test_an_unknown_held_out_label_counts_as_wrong():
    """A class that is only in the test set lowers every score and raises no error."""
    X, y = np.arange(12.0).reshape(6, 2), ["a", "b", "a", "b", "a", "b"]
    model = Frequencies().fit(X, y)
    for scorer in SCORERS:
        assert scorer(model, X[:2], ["a", "new"]) == pytest.approx(0.5)
    with pytest.raises(LabelError, match="same classes"):
        covering_rate_scorer(model, X[:2], CandidateSets.from_labels([0, 1]))


def test_weights_are_routed_to_a_scorer_that_requests_them():
    """Under metadata routing a scorer receives weights if it requests them; otherwise an error is raised."""
    X, candidates, _ = draw_sets(9, n=60, K=3)
    cv, weight = CandidateKFold(3, random_state=0), np.random.default_rng(0).random(60)
    arguments = {"cv": cv, "params": {"sample_weight": weight}}
    with sklearn.config_context(enable_metadata_routing=True):
        requesting = covering_rate_scorer.set_score_request(sample_weight=True)
        scores = cross_val_score(Centroids(), X, candidates, scoring=requesting, **arguments)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            cross_val_score(Centroids(), X, candidates, scoring=covering_rate_scorer, **arguments)
    for score, (train, test) in zip(scores, cv.split(X, candidates), strict=True):
        model = Centroids().fit(X[train], candidates[train])
        assert score == covering_rate(candidates[test], model.predict(X[test]), sample_weight=weight[test])


@pytest.mark.parametrize("scorer", SCORERS)
def test_scorers_are_copied(scorer):
    """A pickled, copied or cloned scorer gives equal scores."""
    X, candidates, _ = draw_sets(10, n=30, K=3)
    model = Frequencies().fit(X, candidates)
    for again in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer), sklearn.clone(scorer, safe=False)):
        assert again(model, X, candidates) == scorer(model, X, candidates)
        assert repr(again) == repr(scorer)


def test_small_weights_do_not_change_the_folds():
    """Softened sets have the folds of the sets."""
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c"], 90, p=[0.6, 0.3, 0.1])
    hard = CandidateSets.from_labels([*labels, None])
    soft = hard.soften(0.2)
    X = np.zeros((91, 1))
    for (train, test), (soft_train, soft_test) in zip(
        CandidateKFold(5, random_state=0).split(X, hard), CandidateKFold(5, random_state=0).split(X, soft), strict=True
    ):
        np.testing.assert_array_equal(train, soft_train)
        np.testing.assert_array_equal(test, soft_test)


def test_metrics_of_scikit_learn_name_the_scorer():
    """A metric of scikit-learn is an error with candidate sets that names the scorer; its other tools accept sets."""
    X, y = np.zeros((6, 1)), CandidateSets.from_sets([["a"], ["a", "b"], ["b"], ["a"], ["b", "c"], ["a"]])
    pattern = r"scoring=oneof\.model_selection\.covering_rate_scorer"
    with pytest.raises(InputTypeError, match=pattern):
        cross_val_score(Constant(), X, y, cv=2, error_score="raise")
    with pytest.warns(UserWarning, match=pattern):
        assert np.isnan(cross_val_score(Constant(), X, y, cv=CandidateKFold(2, random_state=0))).all()
    for metric in (accuracy_score, confusion_matrix):
        with pytest.raises(InputTypeError, match=pattern):
            metric(y, ["a"] * 6)
    assert cross_val_score(Constant(), X, y, cv=2, scoring=covering_rate_scorer).tolist() == pytest.approx(
        [2 / 3, 2 / 3]
    )


# -- Folds by groups: the splitter, and the functions that make folds -------------------------------------------------


def drawn_groups(seed, n, n_groups):
    """Return the group of each row: sizes differ, and each group occurs."""
    rng = np.random.default_rng(seed)
    return rng.permutation(np.append(np.arange(n_groups), (n_groups * rng.beta(1, 2, n - n_groups)).astype(int)))


@given(seed=st.integers(0, 10**6), n_splits=st.integers(2, 5), n_groups=st.integers(5, 40), shuffle=st.booleans())
@settings(deadline=None)
def test_no_group_is_in_both_parts_of_a_fold(seed, n_splits, n_groups, shuffle):
    """Each labeled row is tested once, no fold is empty, and no row of a tested group is a training row."""
    X, y, _ = draw(60, seed=seed)
    groups = np.array([f"g{k}" for k in range(n_groups)])[drawn_groups(seed, 60, n_groups)]
    labeled = np.flatnonzero(~y.is_unlabeled)
    n_usable = len(np.unique(groups[labeled]))
    cv = CandidateGroupKFold(n_splits, shuffle=shuffle, random_state=seed if shuffle else None)
    if n_usable < n_splits:
        with pytest.raises(InputError, match=f"got {n_usable} such group"):
            list(cv.split(X, y, groups))
        return
    folds = list(cv.split(X, y, groups))
    assert len(folds) == cv.get_n_splits() == n_splits
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), labeled)
    for train, test in folds:
        assert len(test)
        np.testing.assert_array_equal(train, np.flatnonzero(~np.isin(groups, groups[test])))


@pytest.mark.parametrize("n_groups", [300, 60, 12])
def test_folds_by_groups_are_stratified(n_groups):
    """On average, the fractions of the classes differ no more than in the stratified folds of scikit-learn."""
    deviations = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, groups = rng.choice(4, 300, p=[0.5, 0.3, 0.15, 0.05]), rng.permutation(np.arange(300) % n_groups)
        for splitter in (CandidateGroupKFold, StratifiedGroupKFold):
            folds = splitter(5, shuffle=True, random_state=seed).split(np.zeros((300, 1)), y, groups)
            counts = np.array([np.bincount(y[test], minlength=4) for _, test in folds])
            deviations.append(np.append(counts / np.bincount(y), counts.sum(axis=1, keepdims=True) / 300, axis=1))
    ours, theirs = (np.std(deviations[k::2], axis=1).mean(axis=1) for k in (0, 1))
    excess = ours - theirs
    assert excess.mean() <= 2.0 * excess.std() / np.sqrt(len(excess))


def test_groups_of_one_row_are_folds_without_groups():
    """If each row is a group, sizes differ by at most one row, and so do the rows of each exact label."""
    y = np.repeat(["finch", "owl", "wren"], [31, 17, 5])
    for _, test in CandidateGroupKFold(4, random_state=0).split(y, y, np.arange(53)):
        assert len(test) in (13, 14)
        for label, n in (("finch", 31), ("owl", 17), ("wren", 5)):
            assert abs((y[test] == label).sum() - n / 4) < 1


def test_every_form_of_groups_gives_the_same_folds():
    """Numbers, texts, and columns of pandas and polars are equal groups; only the partition matters."""
    X, y, _ = draw(40)
    groups = drawn_groups(1, 40, 9)
    expected = [test.tolist() for _, test in CandidateGroupKFold(3, random_state=0).split(X, y, groups)]
    names = [f"bird {k}" for k in groups]
    for form in (groups.tolist(), names, np.array(names), pd.Series(names, dtype="category"), pl.Series(names)):
        folds = [test.tolist() for _, test in CandidateGroupKFold(3, random_state=0).split(X, y, form)]
        assert folds == expected


@pytest.mark.parametrize("cv", ["auto", 3, 1, GroupKFold(3), LeaveOneGroupOut(), CandidateGroupKFold(3)])
def test_compare_has_folds_by_groups(cv):
    """`compare` and `learning_curve` have the folds of the groups, and the evaluation has their number."""
    X, y, _ = draw(80)
    groups = np.arange(80) % 8
    for train, test in make_folds(check_task(X, y, None), cv, 0, groups):
        assert not set(groups[train]) & set(groups[test])
    comparison = compare(X, y, {"a": Frequencies(), "b": PLKNN()}, cv=cv, groups=groups, keep_predictions=True)
    assert comparison.n_groups == comparison.to_dict()["n_groups"] == 8
    assert "by 8 groups" in comparison.evaluation
    curve = learning_curve(Frequencies(), X, y, cv=cv, groups=groups, train_sizes=[0.5, 1.0])
    assert len(curve.train_sizes) == 2


@pytest.mark.parametrize(("n_groups", "n_folds"), [(3, 3), (4, 4), (90, 5), (150, 1)])
def test_automatic_folds_by_groups(n_groups, n_folds):
    """There are not more folds than groups, and one split needs many groups as well as many rows."""
    X, y, _ = draw(2_500)
    groups = np.arange(2_500) % n_groups
    folds = make_folds(check_task(X, y, None), "auto", 0, groups)
    assert len(folds) == n_folds
    n_labeled = (~y.is_unlabeled).sum()
    assert all(abs(len(test) - n_labeled / max(n_folds, min(n_groups, 5))) < 60 for _, test in folds)
    assert compare(X, y, {"a": Frequencies()}).n_groups is None


def test_rates_of_known_and_of_new_groups():
    """If features identify groups with equal labels, only folds by groups estimate the accuracy on new groups."""
    rng = np.random.default_rng(0)
    n_groups, n_classes, n_features = 80, 3, 8

    def recordings(n):
        label = rng.integers(n_classes, size=n)
        centers = 6 * rng.normal(size=(n, n_features)) + 2 * np.eye(n_classes, n_features)[label]
        X = np.repeat(centers, 6, axis=0) + rng.normal(size=(6 * n, n_features))
        return X, np.repeat(label, 6), np.repeat(np.arange(n), 6)

    X, truth, groups = recordings(n_groups)
    new, new_truth, _ = recordings(400)
    y = CandidateSets.from_labels(truth)
    methods = {"PLKNN": PLKNN(n_neighbors=3)}
    known = compare(X, y, methods, cv=5).results[0].covering_rate
    grouped = compare(X, y, methods, cv=5, groups=groups).results[0].covering_rate
    accuracy = PLKNN(n_neighbors=3).fit(X, y).score(new, new_truth)
    assert known > 0.99
    assert accuracy < 0.6
    # The rate of 80 groups with equal predictions has the standard error of 80 rows.
    assert abs(grouped - accuracy) < 3 * np.sqrt(0.25 / n_groups)


@pytest.fixture(scope="module")
def doubled():
    """Return rows that occur three times each, their group, and labels with errors that are equal within a group."""
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=150)
    X = 3 * np.eye(3)[truth] + rng.normal(size=(150, 3))
    y = truth.copy()
    y[:15] = (y[:15] + 1) % 3
    groups = np.repeat(np.arange(150), 3)
    return X[groups] + 0.001 * rng.normal(size=(450, 3)), y[groups], groups


def test_copies_of_a_wrong_label_do_not_hide_it(doubled):
    """Wrong labels of whole groups are found only if no row is predicted from the others of its group."""
    X, y, groups = doubled
    wrong = np.arange(450) < 45
    hidden, found = (find_label_issues(X, y, groups=given) for given in (None, groups))
    assert hidden.noise_rate < 0.01
    assert found.noise_rate_interval[0] < 0.1 < found.noise_rate_interval[1]
    assert hidden.probability[wrong].mean() < 0.1
    assert found.probability[wrong].mean() > 0.6


@pytest.mark.parametrize("estimator", [PLEM(), LOORidge()])
def test_audit_by_groups_equals_held_out_probabilities_by_groups(doubled, estimator):
    """On exact labels, the audit by groups is that of held-out probabilities of the same folds."""
    X, y, groups = doubled
    calls = []
    issues = find_label_issues(X, y, estimator, cv=3, groups=groups, progress=lambda *call: calls.append(call[:2]))
    proba = cross_val_predict(estimator, X, y, cv=3, groups=groups, method="predict_proba")
    np.testing.assert_allclose(issues.probability, find_label_issues(None, y, proba=proba).probability, atol=1e-9)
    assert calls == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], "one group for each of the 60 rows; got 2"),
        ("abc", "must be 1-D, one group for each of the 60 rows; got 'abc'"),
        (7, "must be 1-D, one group for each of the 60 rows; got 7"),
        (np.zeros((60, 1)), r"must be 1-D, one group for each of the 60 rows; got shape \(60, 1\)"),
        ([None] + 59 * ["a"], "row 0: `groups` must not be missing"),
        (np.append(np.zeros(59), np.nan), "row 59: `groups` must not be missing"),
        (pd.Series([pd.NA] + 59 * [1], dtype="Int64"), "row 0: `groups` must not be missing"),
        ([[1]] * 60, "row 0: `groups` must be numbers or texts"),
        (np.arange(60) % 2, "got 2 such groups and 3 folds. Use fewer folds"),
    ],
)
def test_invalid_groups(groups, message):
    """An error states the cause, and the row."""
    X, y, _ = draw(60)
    for call in (
        lambda: compare(X, y, {"a": Frequencies()}, cv=3, groups=groups),
        lambda: find_label_issues(X, y, PLEM(), cv=3, groups=groups),
        lambda: list(CandidateGroupKFold(3).split(X, y, groups)),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_folds_that_ignore_groups_are_an_error():
    """Folds with a group in both parts are refused; so are folds by groups without groups, and groups without X."""
    X, y, _ = draw(60)
    groups = [f"g{k}" for k in np.arange(60) // 5]
    folds = list(KFold(7).split(X))
    for cv in (folds, CandidateKFold(3, random_state=0)):
        with pytest.raises(InputError, match=r"fold 0 has 'g\d+' in both"):
            compare(X, y, {"a": Frequencies()}, cv=cv, groups=groups)
        with pytest.raises(InputError, match=r"fold 0 has 'g\d+' in both"):
            cross_val_predict(PLEM(), X, y, cv=cv, groups=groups)
    own, theirs = (
        "`groups` must be 1-D, one group for each of the 60 rows; got None",
        "The 'groups' parameter should not be None",
    )
    for cv, message in ((CandidateGroupKFold(3), own), (GroupKFold(5), theirs), (LeaveOneGroupOut(), theirs)):
        with pytest.raises(InputError, match=message):
            compare(X, y, {"a": Frequencies()}, cv=cv)
    for train, test in make_folds(check_task(X, y, None), GroupKFold(5).split(X, groups=groups), 0):
        assert not set(np.take(groups, train)) & set(np.take(groups, test))
    with pytest.raises(InputError, match="`groups` and `proba` cannot both be given"):
        find_label_issues(None, y, proba=np.full(y.shape, 1 / 3), groups=groups)


# -- Held-out predictions of all rows, for all forms of labels --------------------------------------------------------


METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")
NAMES = np.array(["finch", "owl", "wren"])


def exact(n=60, K=3):
    X, _, _ = draw(n, 3)
    return X, np.arange(n) % K


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("named", [False, True])
def test_exact_labels_give_the_predictions_of_scikit_learn(method, K, named):
    """On exact labels and equal folds the result is that of scikit-learn's function, to the last bit."""
    X, y = exact(K=K)
    y = NAMES[y] if named else y
    for cv in (StratifiedKFold(4), KFold(3, shuffle=True, random_state=0)):
        for estimator in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
            expected = sklearn_cross_val_predict(estimator, X, y, cv=cv, method=method)
            np.testing.assert_array_equal(cross_val_predict(estimator, X, y, cv=cv, method=method), expected)
    groups = np.arange(len(y)) // 7
    expected = sklearn_cross_val_predict(PLEM(), X, y, cv=GroupKFold(3), groups=groups)
    np.testing.assert_array_equal(cross_val_predict(PLEM(), X, y, cv=GroupKFold(3), groups=groups), expected)


@pytest.mark.parametrize("kind", ["sets", "weights", "groups"])
def test_each_row_is_predicted_by_the_model_of_its_fold(kind):
    """The prediction of a row is that of a model without its fold; unlabeled rows are predicted by one fold each.

    With groups, an unlabeled row is predicted by a model without the rows of its group.
    """
    X, y, _ = draw()
    groups = np.arange(60) // 5 if kind == "groups" else None
    if kind == "weights":
        y = CandidateSets.from_weights(y.mask * np.random.default_rng(0).choice([0.2, 1.0], y.shape), y.classes)
    assert y.is_unlabeled.any()
    estimator = make_pipeline(StandardScaler(), LOORidge("rbf"))
    options = {"cv": 3, "groups": groups, "random_state": 4}
    proba = cross_val_predict(estimator, X, y, method="predict_proba", **options)
    labels = cross_val_predict(estimator, X, y, **options)
    np.testing.assert_array_equal(labels, y.classes[proba.argmax(axis=1)])
    seen = np.zeros(len(y), dtype=int)
    splitter = CandidateKFold if groups is None else CandidateGroupKFold
    for k, (train, test) in enumerate(splitter(3, random_state=4).split(X, y, groups)):
        others = np.arange(len(y)) % 3 == k if groups is None else np.isin(groups, groups[test])
        rows = np.concatenate([test, np.flatnonzero(y.is_unlabeled & others)])
        model = clone(estimator).fit(X[train], y[train])
        np.testing.assert_allclose(proba[rows], model.predict_proba(X[rows]), rtol=1e-12)
        seen[rows] += 1
    assert (seen == 1).all()


def test_all_forms_of_labels_and_rows_agree():
    """Sets, indicators, tables, candidate sets, sparse and pandas rows, and parallel folds give one result."""
    X, y, _ = draw()
    expected = cross_val_predict(CLPL(), X, y, cv=3, method="decision_function")
    assert expected.shape == (60, 3)
    frame = pd.DataFrame(y.to_indicator(), columns=y.classes)
    for form in (y.to_sets(), y.to_indicator(), sp.csr_array(y.to_indicator()), frame):
        np.testing.assert_array_equal(cross_val_predict(CLPL(), X, form, cv=3, method="decision_function"), expected)
    for rows in (sp.coo_array(X), pd.DataFrame(X, columns=list("abc")), X.tolist()):
        values = cross_val_predict(CLPL(), rows, y, cv=3, method="decision_function")
        np.testing.assert_allclose(values, expected, rtol=1e-6, atol=1e-9)
    with joblib.parallel_config("threading"):
        values = cross_val_predict(CLPL(), X, y, cv=3, method="decision_function", n_jobs=2)
    np.testing.assert_array_equal(values, expected)


def test_classes_that_a_fold_lacks():
    """Columns are the classes of all rows: a class that a training set lacks has probability 0 and score -inf."""
    X, y = exact(12)
    folds = [(np.flatnonzero(y != k), np.flatnonzero(y == k)) for k in (2, 0, 1)]
    proba = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="predict_proba")
    assert (proba[y == 2, 2] == 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    scores = cross_val_predict(LogisticRegression(), X, y, cv=folds, method="decision_function")
    assert (scores[y == 2, 2] == -np.inf).all()
    model = LogisticRegression().fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(scores[y == 2, 1] - scores[y == 2, 0], model.decision_function(X[y == 2]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cv": ShuffleSplit(2, random_state=0)}, InputError, "each labeled row in exactly one test subset; row"),
        ({"cv": []}, InputError, "at least one pair"),
        ({"cv": [([0], [99])]}, InputError, "row indices from 0 to 59"),
        ({"cv": 1}, InputError, "`n_splits` must be"),
        ({"groups": np.zeros(60)}, InputError, "got 1 such group and 5 folds"),
        ({"method": "predict_proba"}, InputError, "`estimator` must have predict_proba; CLPL does not have it"),
        ({"estimator": CLPL}, InputTypeError, "`estimator` must be an object"),
        ({"y": [0, 1]}, InputError, r"inconsistent numbers of samples: \[60, 2\]"),
        (
            {"estimator": SVC(decision_function_shape="ovo"), "y": np.arange(60) % 4, "method": "decision_function"},
            InputError,
            "one column for each of the 4 classes; got 6",
        ),
    ],
)
def test_invalid_arguments(options, error, message):
    """Errors name the argument, the row and the remedy."""
    X, y, _ = draw()
    arguments = {"estimator": CLPL(), "y": y, **options}
    with pytest.raises(error, match=message):
        cross_val_predict(arguments.pop("estimator"), X, arguments.pop("y"), **arguments)
