"""Folds by groups: the splitter, and the functions that make folds."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedGroupKFold

from oneof import PLEM, PLKNN, CandidateSets, LOORidge, compare
from oneof.audit import find_label_issues
from oneof.comparison import learning_curve
from oneof.comparison.folds import check_task, make_folds
from oneof.errors import InputError
from oneof.model_selection import CandidateGroupKFold, CandidateKFold, cross_val_predict
from tests.blobs import Frequencies, draw


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


def test_unlabeled_rows_of_a_group_are_predicted_without_it():
    """A held-out prediction of an unlabeled row is that of a model without the rows of its group."""
    X, y, _ = draw(60)
    groups = np.arange(60) // 5
    proba = cross_val_predict(PLEM(), X, y, cv=4, groups=groups, method="predict_proba", random_state=3)
    for train, test in CandidateGroupKFold(4, random_state=3).split(X, y, groups):
        rows = np.flatnonzero(np.isin(groups, groups[test]))
        assert not set(rows) & set(train)
        expected = clone(PLEM()).fit(X[train], y[train]).predict_proba(X[rows])
        np.testing.assert_allclose(proba[rows], expected, rtol=1e-10)


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
    own, theirs = "`groups` must be the group of each row; got None", "The 'groups' parameter should not be None"
    for cv, message in ((CandidateGroupKFold(3), own), (GroupKFold(5), theirs), (LeaveOneGroupOut(), theirs)):
        with pytest.raises(InputError, match=message):
            compare(X, y, {"a": Frequencies()}, cv=cv)
    for train, test in make_folds(check_task(X, y, None), GroupKFold(5).split(X, groups=groups), 0):
        assert not set(np.take(groups, train)) & set(np.take(groups, test))
    with pytest.raises(InputError, match="`groups` and `proba` cannot both be given"):
        find_label_issues(None, y, proba=np.full(y.shape, 1 / 3), groups=groups)
