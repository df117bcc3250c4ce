"""Splitter and scorers for candidate sets."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oneof import CandidateSets
from oneof.errors import InputError, InputTypeError, LabelError
from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.metrics import approximated_accuracy, covering_rate, exact_accuracy
from oneof.model_selection import (
    CandidateKFold,
    approximated_accuracy_scorer,
    covering_rate_scorer,
    exact_accuracy_scorer,
)
from tests.blobs import Constant, Frequencies

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


def draw(seed, *, n=None, K=None, fraction=0.25):
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
    X, candidates, _ = draw(seed)
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
    _, candidates, _ = draw(3, n=300, K=4)
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
    X, candidates, _ = draw(2, n=60, K=3)

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
    X, candidates, _ = draw(4, n=60, K=3)
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
    X, candidates, _ = draw(5, n=50, K=3)
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
    X, candidates, _ = draw(6, n=30, K=2)
    model = Centroids().fit(X, candidates)
    up = expit(model.decision_function(X))
    expected = approximated_accuracy(candidates, np.stack([1 - up, up], axis=1))
    assert approximated_accuracy_scorer(model, X, candidates) == pytest.approx(expected)


def test_approximated_accuracy_needs_scores():
    """An estimator without scores has a covering rate, but no approximated accuracy."""
    X, candidates, _ = draw(7, n=30, K=3)
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
    X, candidates, _ = draw(9, n=60, K=3)
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
    X, candidates, _ = draw(10, n=30, K=3)
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
