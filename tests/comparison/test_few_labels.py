"""Tests of the choice of a method with few labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof import LOORidge
from oneof.candidates import as_candidates
from oneof.comparison import compare, default_estimators, few_labels
from oneof.comparison.few_labels import (
    AGREEMENT_ROWS,
    FEW_LABEL_METHODS,
    MIN_VOTES,
    agreement_rates,
    blend_with_agreement,
    keep_classes_in_training,
    number_of_folds,
    sample_unlabeled_rows,
    vote_weights,
)
from oneof.model_selection import CandidateKFold


def draw_predictions(seed=0, n=200, K=3, accuracies=(0.9, 0.8, 0.7, 0.6)):
    """Return true labels, and the predictions of methods with independent errors."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    wrong = (truth + rng.integers(1, K, (len(accuracies), n))) % K
    return truth, np.where(rng.random((len(accuracies), n)) < np.array(accuracies)[:, None], truth, wrong)


def draw_clusters(n=90, n_labels=12, seed=0):
    """Return two clusters with the labels of a few rows, "ant" and "bee"."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, 4)) + 3.0 * truth[:, None]
    labels = np.array(["ant", "bee"], dtype=object)[truth]
    labels[rng.permutation(n)[n_labels:]] = None
    return X, labels


def scores(comparison):
    """Return the expected accuracy of each method."""
    return {result.method: result.expected_accuracy for result in comparison.results}


def test_agreement_equals_a_loop_over_rows_and_methods():
    """The rate is the mean over rows of the votes of other methods for the prediction, as a fraction of all of them."""
    _, predictions = draw_predictions()
    predictions[1, ::5] = predictions[2, ::5] = -1  # a label that is not a class agrees with nothing
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    expected = []
    for m, codes in enumerate(predictions):
        others = [j for j in range(len(predictions)) if j != m]
        votes = [sum(weights[j] for j in others if predictions[j, i] == codes[i] >= 0) for i in range(len(codes))]
        expected.append(np.mean(votes) / weights[others].sum())
    np.testing.assert_allclose(agreement_rates(predictions, weights), expected, rtol=1e-12)


def test_votes_are_the_log_odds_of_a_correct_prediction():
    """Votes are nearly 0 up to the rate of chance, increase with the rate, and are equal without labels."""
    n, K = 30, 3
    votes = vote_weights(np.array([0.0, 1 / 3, 0.5, 0.9, 1.0]), n, K)
    np.testing.assert_allclose(votes[:2], MIN_VOTES, atol=1e-12)
    assert (np.diff(votes[1:]) > 0).all()
    np.testing.assert_allclose(votes[3], np.log(2 * (27 + 1) / (3 + 2)))
    np.testing.assert_array_equal(vote_weights(np.full(3, np.nan), 0, K), np.full(3, MIN_VOTES))


@pytest.mark.parametrize("n_rows", [1, 10, 1000])
def test_the_score_is_between_both_rates_and_tends_to_that_of_the_labels(n_rows):
    """The score is a mean of the accuracy on labels and the agreement; the agreement has the weight of ten labels."""
    _, predictions = draw_predictions()
    rates = np.array([0.5, 0.9, 0.7, 0.6])
    agreement = agreement_rates(predictions, vote_weights(rates, n_rows, 3))
    blended = blend_with_agreement(rates, n_rows, predictions, 3)
    share = AGREEMENT_ROWS / (n_rows + AGREEMENT_ROWS)
    np.testing.assert_allclose(blended, (1 - share) * rates + share * agreement, rtol=1e-12)


def test_without_labels_or_without_unlabeled_rows_one_rate_remains():
    """The score is the agreement if no labeled row is held out, and the accuracy on labels without unlabeled rows."""
    _, predictions = draw_predictions()
    rates = np.array([0.5, 0.9, 0.7, 0.6])
    np.testing.assert_array_equal(blend_with_agreement(rates, 7, predictions[:, :0], 3), rates)
    unknown = np.full(4, np.nan)
    np.testing.assert_allclose(
        blend_with_agreement(unknown, 0, predictions, 3), agreement_rates(predictions, np.ones(4)), rtol=1e-12
    )


def test_agreement_ranks_methods_of_independent_errors_by_accuracy():
    """Without labels, methods with independent errors have agreements in the order of their accuracies."""
    _, predictions = draw_predictions(n=4000)
    assert (np.diff(agreement_rates(predictions, np.ones(4))) < 0).all()


def test_methods_at_the_rate_of_chance_do_not_outvote_the_others():
    """A majority of methods with equal predictions that are no better than chance on labels has no influence."""
    truth, predictions = draw_predictions(accuracies=(0.9, 0.85))
    same = np.zeros((5, len(truth)), dtype=int)
    rates = np.array([0.9, 0.85, *[1 / 3] * 5])
    blended = blend_with_agreement(rates, 30, np.concatenate([predictions, same]), 3)
    assert blended.argmax() == 0
    np.testing.assert_allclose(blended[:2], blend_with_agreement(rates[:2], 30, predictions, 3), atol=1e-5)


def test_scores_do_not_depend_on_the_order_of_rows_and_the_names_of_classes_and_permute_with_the_methods():
    """Permuted rows or classes give the same scores; permuted methods give permuted scores."""
    _, predictions = draw_predictions()
    rates = np.array([0.5, 0.9, 0.7, 0.6])
    expected = blend_with_agreement(rates, 10, predictions, 3)
    rng = np.random.default_rng(1)
    rows, names, methods = rng.permutation(predictions.shape[1]), np.array([2, 0, 1]), np.array([3, 1, 0, 2])
    np.testing.assert_allclose(blend_with_agreement(rates, 10, predictions[:, rows], 3), expected, rtol=1e-12)
    np.testing.assert_array_equal(blend_with_agreement(rates, 10, names[predictions], 3), expected)
    permuted = blend_with_agreement(rates[methods], 10, predictions[methods], 3)
    np.testing.assert_allclose(permuted, expected[methods], rtol=1e-12)


@pytest.mark.parametrize("counts", [(1, 9), (1, 1, 4), (5, 5), (2, 2, 2)])
def test_every_class_stays_in_the_training_rows(counts):
    """Each fold has all rows once and every class in training; a row is held out once if its class has another."""
    labels = np.concatenate([np.repeat(np.arange(len(counts)), counts), np.full(20, -1)])
    candidates = as_candidates(labels)
    cv = number_of_folds(candidates)
    splits = list(CandidateKFold(cv, random_state=0).split(np.zeros((len(labels), 1)), candidates))
    kept = keep_classes_in_training(candidates, splits)
    for train, test in kept:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(labels)))
        assert set(labels[train]) - {-1} == set(range(len(counts)))
    held_out = np.concatenate([test for _, test in kept])
    assert len(set(held_out.tolist())) == len(held_out)
    assert (np.bincount(labels[held_out], minlength=len(counts)) == np.where(np.array(counts) > 1, counts, 0)).all()


def test_one_label_of_each_class_gives_one_fold_without_held_out_labels():
    """If no label can be held out, one fold trains on all rows."""
    candidates = as_candidates([0, 1, -1, -1])
    splits = CandidateKFold(2, random_state=0).split(np.zeros((4, 1)), candidates)
    [(train, test)] = keep_classes_in_training(candidates, list(splits))
    assert train.tolist() == [0, 1, 2, 3]
    assert not len(test)


def test_a_sample_of_unlabeled_rows_is_bounded(monkeypatch):
    """The sampled rows are unlabeled, at most the maximum, and those of the fold that predicts them anyway."""
    candidates = as_candidates(np.r_[[0, 1] * 3, np.full(40, -1)])
    splits = list(CandidateKFold(3, random_state=0).split(np.zeros((46, 1)), candidates))
    complete = sample_unlabeled_rows(candidates, splits, np.random.RandomState(0))
    assert np.sort(np.concatenate(complete)).tolist() == list(range(6, 46))
    monkeypatch.setattr(few_labels, "MAX_AGREEMENT_ROWS", 7)
    sample = sample_unlabeled_rows(candidates, splits, np.random.RandomState(0))
    assert sum(map(len, sample)) == 7
    assert all(set(rows.tolist()) <= set(all_rows.tolist()) for rows, all_rows in zip(sample, complete, strict=True))


def test_the_choice_is_among_the_methods_for_few_labels_and_repeats():
    """The methods are those for few labels; repetition, new names or kept predictions change no score."""
    X, labels = draw_clusters()
    comparison = compare(X, labels, "few_labels")
    assert tuple(comparison.estimators) == FEW_LABEL_METHODS
    expected = scores(comparison)
    assert comparison.best_method == max(FEW_LABEL_METHODS, key=lambda name: round(expected[name], 12))
    assert scores(compare(X, labels, "few_labels", refit=False)) == expected
    renamed = np.array([{"ant": 3, "bee": 7, None: -1}[label] for label in labels])
    assert scores(compare(X, renamed, "few_labels", refit=False)) == expected
    kept = compare(X, labels, "few_labels", refit=False, keep_predictions=True)
    assert scores(kept) == expected
    assert len(kept.held_out_rows) == len(X)
    partly = compare(X, labels, "few_labels", refit=False, keep_predictions="labeled")
    assert scores(partly) == expected
    assert len(partly.held_out_rows) == 12


def test_the_scores_are_those_of_the_held_out_predictions():
    """The expected accuracy is that of an explicit computation from the predictions of the folds."""
    X, labels = draw_clusters(seed=3)
    kept = compare(X, labels, "few_labels", refit=False, keep_predictions=True)
    known = np.array([label is not None for label in labels])
    codes = np.array([np.searchsorted(["ant", "bee"], result.predictions.astype(str)) for result in kept.results])
    rates = (codes[:, known] == np.searchsorted(["ant", "bee"], labels[known].astype(str))).mean(axis=1)
    expected = blend_with_agreement(rates, known.sum(), codes[:, ~known], 2)
    np.testing.assert_allclose([result.expected_accuracy for result in kept.results], expected, rtol=1e-12)


def test_one_label_of_each_class_is_enough():
    """With one label of each class the score is the agreement, and the covering rate is missing."""
    X, labels = draw_clusters()
    first = [list(labels).index(name) for name in ("ant", "bee")]
    few = np.full(len(labels), None, dtype=object)
    few[first] = labels[first]
    comparison = compare(X, few, "few_labels")
    assert comparison.n_folds == 1
    assert np.isnan([result.covering_rate for result in comparison.results]).all()
    assert comparison.results[0].expected_accuracy > 0.9
    assert "exp. accuracy" in str(comparison)
    assert comparison.best_estimator.predict(X[first]).tolist() == ["ant", "bee"]


def test_the_default_method_is_not_preferred():
    """With partial rows too, the first method has the highest score."""
    X, labels = draw_clusters()
    sets = [["ant", "bee", "cat"] if label is None else [label, "cat"] if i % 2 else [label] for i, label in
            enumerate(labels)]  # fmt: skip
    comparison = compare(X, sets, "few_labels", refit=False)
    rates = [result.expected_accuracy for result in comparison.results if result.error is None]
    assert rates == sorted(rates, reverse=True)
    assert not comparison.note


def test_sparse_rows_are_not_scaled():
    """Sparse rows reach the methods unchanged; methods that cannot accept them are left out."""
    X, labels = draw_clusters()
    for rows, excluded in ((np.abs(X), {"GaussianEM"}), (X, {"GaussianEM", "MultinomialEM"})):
        comparison = compare(sp.csr_array(rows), labels, "few_labels", refit=False)
        assert set(comparison.estimators) == set(FEW_LABEL_METHODS) - excluded
        assert {len(pipeline) for pipeline in comparison.estimators.values()} == {1}


def test_the_methods_are_default_estimators():
    """Every method for few labels is a default estimator, one of which is the default method."""
    assert set(FEW_LABEL_METHODS) <= set(default_estimators())
    assert LOORidge.__name__ in FEW_LABEL_METHODS
