"""Tests of the expected accuracy."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.comparison.criterion import MAX_ODDS_RATIO, expected_accuracies
from oneof.datasets import make_partial_labels
from tests.oracles import criterion as oracle


def draw_methods(truth, K, accuracies, seed=0):
    """Return probabilities and predictions of methods with independent errors of the given rates."""
    rng = np.random.default_rng(seed)
    probabilities = []
    for accuracy in accuracies:
        target = np.where(rng.random(len(truth)) < accuracy, truth, (truth + rng.integers(1, K, len(truth))) % K)
        proba = rng.dirichlet(np.full(K, 2.0), size=len(truth))
        proba[np.arange(len(truth)), target] += 1.0
        probabilities.append(proba / proba.sum(axis=1, keepdims=True))
    return probabilities, [proba.argmax(axis=1) for proba in probabilities]


def draw_task(n=200, K=5, accuracies=(0.9, 0.8, 0.6, 0.7, 0.5, 0.3), seed=0, **options):
    """Return truth, sets, probabilities and predictions; the default sets have a confusable partner and noise."""
    truth = np.random.default_rng(seed).integers(0, K, n)
    options = options or {"distractors": "confusable", "epsilon": 0.7}
    mask = make_partial_labels(truth, classes=np.arange(K), random_state=seed, **options).mask
    return truth, mask, *draw_methods(truth, K, accuracies, seed)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "K", "n_methods", "seed"), [(40, 3, 2, 0), (60, 5, 6, 1), (30, 4, 1, 2)])
def test_scores_equal_loops_over_rows_and_classes(n, K, n_methods, seed, weighted):
    """Scores, the posterior and the odds ratio equal the definition, also with unlabeled, exact and weighted rows."""
    _, mask, probabilities, predictions = draw_task(n, K, (0.9, 0.8, 0.6, 0.7, 0.5, 0.3)[:n_methods], seed)
    mask = mask.copy()
    mask[::7] = True
    mask[1::5] = np.eye(K, dtype=bool)[predictions[0][1::5]]
    evidence = mask
    if weighted:
        W = mask * np.random.default_rng(seed).choice([0.1, 0.5, 1.0], mask.shape)
        evidence = CandidateSets.from_weights(np.where(np.arange(n)[:, None] % 3 == 0, mask, W)).evidence
        assert evidence.dtype == float
    scores, posterior, odds_ratio = oracle.expected_accuracies(
        evidence.tolist(), K, [proba.tolist() for proba in probabilities], [codes.tolist() for codes in predictions]
    )
    selection = expected_accuracies(evidence, probabilities, predictions)
    np.testing.assert_allclose(selection.expected_accuracy, scores, rtol=1e-9)
    np.testing.assert_allclose(selection.posterior, posterior, rtol=1e-8, atol=1e-12)
    assert selection.odds_ratio == pytest.approx(odds_ratio, rel=1e-6)


def test_small_weights_give_the_scores_of_the_sets():
    """As the weights outside the sets go to 0, scores, posterior and odds ratio go to those of the sets."""
    _, mask, probabilities, predictions = draw_task(n=80)
    limit = expected_accuracies(mask, probabilities, predictions)
    weighted = expected_accuracies(np.maximum(mask, 1e-12), probabilities, predictions)
    np.testing.assert_allclose(weighted.expected_accuracy, limit.expected_accuracy, atol=1e-8)
    np.testing.assert_allclose(weighted.posterior, limit.posterior, atol=1e-8)
    assert weighted.odds_ratio == pytest.approx(limit.odds_ratio)
    np.testing.assert_array_equal(weighted.is_tied, limit.is_tied)


def test_scores_are_at_most_the_covering_rate():
    """The posterior is a distribution within each set, so no score exceeds the covering rate."""
    for seed in range(5):
        _, mask, probabilities, predictions = draw_task(seed=seed)
        selection = expected_accuracies(mask, probabilities, predictions)
        covering = [mask[np.arange(len(mask)), codes].mean() for codes in predictions]
        assert (selection.expected_accuracy <= np.array(covering) + 1e-12).all()
        assert (selection.posterior[~mask] == 0).all()
        np.testing.assert_allclose(selection.posterior.sum(axis=1), 1.0)


def test_on_exact_labels_the_score_is_the_accuracy():
    """Without partial rows the score of each method is its accuracy over the labeled rows, and the odds ratio is 1."""
    truth, mask, probabilities, predictions = draw_task(fraction=0.0)
    mask = mask.copy()
    mask[:20] = True
    selection = expected_accuracies(mask, probabilities, predictions)
    accuracies = [(codes[20:] == truth[20:]).mean() for codes in predictions]
    np.testing.assert_allclose(selection.expected_accuracy, accuracies, rtol=1e-12)
    assert selection.odds_ratio == 1.0
    assert not selection.is_tied.any()


def test_two_classes_give_the_accuracy_on_exact_rows():
    """With two classes every informative row is exact."""
    truth, mask, probabilities, predictions = draw_task(K=2, accuracies=(0.9, 0.6), fraction=0.0)
    selection = expected_accuracies(mask, probabilities, predictions)
    np.testing.assert_allclose(selection.expected_accuracy, [(codes == truth).mean() for codes in predictions])


def test_scores_do_not_depend_on_the_names_of_the_classes_or_the_order_of_rows():
    """A permutation of classes and rows changes no score."""
    _, mask, probabilities, predictions = draw_task()
    rng = np.random.default_rng(1)
    classes, rows = rng.permutation(mask.shape[1]), rng.permutation(len(mask))
    inverse = np.argsort(classes)
    permuted = expected_accuracies(
        mask[rows][:, classes],
        [proba[rows][:, classes] for proba in probabilities],
        [inverse[codes[rows]] for codes in predictions],
    )
    selection = expected_accuracies(mask, probabilities, predictions)
    np.testing.assert_allclose(permuted.expected_accuracy, selection.expected_accuracy, rtol=1e-9)
    assert permuted.odds_ratio == pytest.approx(selection.odds_ratio, rel=1e-9)


def test_scores_permute_with_the_methods():
    """Methods of different scores may be given in any order."""
    _, mask, probabilities, predictions = draw_task()
    selection = expected_accuracies(mask, probabilities, predictions)
    backwards = expected_accuracies(mask, probabilities[::-1], predictions[::-1])
    np.testing.assert_allclose(backwards.expected_accuracy[::-1], selection.expected_accuracy, rtol=1e-9)


def test_scores_do_not_depend_on_unlabeled_rows_or_the_confidence_of_a_method():
    """Full sets do not count, and squared probabilities of a method are calibrated to the same values."""
    _, mask, probabilities, predictions = draw_task()
    selection = expected_accuracies(mask, probabilities, predictions)
    more = expected_accuracies(
        np.concatenate([mask, np.ones_like(mask)]),
        [np.concatenate([proba, proba]) for proba in probabilities],
        [np.concatenate([codes, codes]) for codes in predictions],
    )
    np.testing.assert_allclose(more.expected_accuracy, selection.expected_accuracy, rtol=1e-12)
    squared = [probabilities[0] ** 2, *probabilities[1:]]
    again = expected_accuracies(mask, squared, predictions)
    np.testing.assert_allclose(again.expected_accuracy, selection.expected_accuracy, rtol=1e-9)


def test_scores_rank_methods_of_independent_errors_by_accuracy():
    """With confusable distractors the scores have the order of the accuracies."""
    truth, mask, probabilities, predictions = draw_task(n=3000)
    selection = expected_accuracies(mask, probabilities, predictions)
    accuracies = np.array([(codes == truth).mean() for codes in predictions])
    assert (np.argsort(selection.expected_accuracy) == np.argsort(accuracies)).all()


def test_a_frequent_distractor_does_not_earn_a_high_score():
    """If class 0 is in 95 % of the sets, the covering rate prefers its constant prediction; the score does not."""
    rng = np.random.default_rng(0)
    n, K = 600, 5
    truth = rng.integers(0, K, n)
    mask = np.eye(K, dtype=bool)[truth]
    mask[:, 0] |= rng.random(n) < 0.95
    probabilities, predictions = draw_methods(truth, K, (0.8, 0.75))
    constant = np.zeros(n, dtype=int)
    selection = expected_accuracies(mask, [np.eye(K)[constant], *probabilities], [constant, *predictions])
    covering = [mask[np.arange(n), codes].mean() for codes in (constant, *predictions)]
    assert np.argmax(covering) == 0
    assert np.argmin(selection.expected_accuracy) == 0
    assert selection.expected_accuracy[0] < 0.5


def test_the_odds_ratio_is_one_for_distractors_of_the_label_alone_and_large_for_predicted_ones():
    """It is near 1 for uniform, confusable and cooccurring distractors, but not for lists of a classifier."""
    for options in (
        {"distractors": "uniform", "n_distractors": 2},
        {"distractors": "confusable", "epsilon": 0.8},
        {"distractors": "cooccurring", "n_distractors": 2},
    ):
        _, mask, probabilities, predictions = draw_task(n=1500, accuracies=(0.9, 0.85, 0.8), **options)
        assert 0.5 < expected_accuracies(mask, probabilities, predictions).odds_ratio < 2.0
    _, _, probabilities, predictions = draw_task(n=1500, K=10, accuracies=(0.9, 0.85, 0.8))
    listed = probabilities[0] >= np.sort(probabilities[0], axis=1)[:, [-2]]
    noise = [np.random.default_rng(seed).normal(scale=0.003, size=listed.shape) for seed in (0, 1)]
    noisy = [np.maximum(probabilities[0] + term, 0) for term in noise]
    assert expected_accuracies(listed, noisy, [proba.argmax(axis=1) for proba in noisy]).odds_ratio > MAX_ODDS_RATIO


def test_methods_within_one_standard_error_of_the_best_are_tied():
    """The paired differences of the rows decide; the best method is tied with itself, and a poor one is not."""
    _, mask, probabilities, predictions = draw_task(accuracies=(0.9, 0.885, 0.3))
    selection = expected_accuracies(mask, probabilities, predictions)
    values = np.stack([selection.posterior[np.arange(len(mask)), codes] for codes in predictions])
    gaps = values[selection.expected_accuracy.argmax()] - values
    assert selection.odds_ratio < MAX_ODDS_RATIO
    np.testing.assert_array_equal(selection.is_tied, gaps.mean(axis=1) <= gaps.std(axis=1) / np.sqrt(len(mask)))
    assert selection.is_tied[selection.expected_accuracy.argmax()]
    assert not selection.is_tied[2]


def test_all_methods_are_tied_if_distractors_are_predicted():
    """With lists of a classifier as sets the scores do not separate methods."""
    _, _, probabilities, predictions = draw_task(n=1500, K=10, accuracies=(0.9, 0.3))
    listed = probabilities[0] >= np.sort(probabilities[0], axis=1)[:, [-2]]
    selection = expected_accuracies(listed, [probabilities[0], probabilities[0]], [predictions[0], predictions[1]])
    assert selection.odds_ratio > MAX_ODDS_RATIO
    assert selection.is_tied.all()


def test_extreme_input_gives_finite_scores():
    """One row, probabilities of 0 and 1, predictions of other labels, and only unlabeled rows."""
    mask = np.array([[True, True, False]])
    selection = expected_accuracies(mask, [np.array([[1.0, 0.0, 0.0]])], [np.array([0])])
    assert 0.5 < selection.expected_accuracy[0] <= 1.0
    assert np.isfinite(selection.odds_ratio)
    assert expected_accuracies(mask, [np.array([[0.0, 0.0, 1.0]])], [np.array([-1])]).expected_accuracy[0] == 0.0
    assert expected_accuracies(mask, [np.zeros((1, 3))], [np.array([1])]).expected_accuracy[0] == pytest.approx(0.5)
    assert np.isnan(expected_accuracies(np.ones((2, 3), bool), [np.ones((2, 3))], [np.zeros(2, int)]).expected_accuracy)
