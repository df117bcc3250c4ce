"""Tests of the expected accuracy."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.comparison.criterion import expected_accuracies
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
@pytest.mark.parametrize(("n", "K", "n_methods", "seed"), [(40, 3, 2, 0), (30, 5, 4, 1), (30, 4, 1, 2)])
def test_scores_equal_loops_over_rows_and_classes(n, K, n_methods, seed, weighted):
    """Scores equal the definition, also with unlabeled, exact and weighted rows."""
    _, mask, probabilities, predictions = draw_task(n, K, (0.9, 0.8, 0.6, 0.7, 0.5, 0.3)[:n_methods], seed)
    mask = mask.copy()
    mask[::7] = True
    mask[1::5] = np.eye(K, dtype=bool)[predictions[0][1::5]]
    evidence = mask
    if weighted:
        W = mask * np.random.default_rng(seed).choice([0.1, 0.5, 1.0], mask.shape)
        evidence = CandidateSets.from_weights(np.where(np.arange(n)[:, None] % 3 == 0, mask, W)).evidence
        assert evidence.dtype == float
    scores = oracle.expected_accuracies(
        evidence.tolist(), K, [proba.tolist() for proba in probabilities], [codes.tolist() for codes in predictions]
    )
    np.testing.assert_allclose(expected_accuracies(evidence, probabilities, predictions), scores, atol=1e-3)


def test_small_weights_give_the_scores_of_the_sets():
    """As the weights outside the sets go to 0, the scores go to those of the sets."""
    _, mask, probabilities, predictions = draw_task(n=80)
    limit = expected_accuracies(mask, probabilities, predictions)
    weighted = expected_accuracies(np.maximum(mask, 1e-12), probabilities, predictions)
    np.testing.assert_allclose(weighted, limit, atol=1e-8)


def test_scores_are_at_most_the_covering_rate():
    """The posterior is a distribution within each set, so no score exceeds the covering rate."""
    for seed in range(5):
        _, mask, probabilities, predictions = draw_task(seed=seed)
        covering = [mask[np.arange(len(mask)), codes].mean() for codes in predictions]
        assert (expected_accuracies(mask, probabilities, predictions) <= np.array(covering) + 1e-12).all()


def test_on_exact_labels_the_score_is_the_accuracy():
    """Without partial rows the score of each method is its accuracy over the labeled rows."""
    truth, mask, probabilities, predictions = draw_task(fraction=0.0)
    mask = mask.copy()
    mask[:20] = True
    scores = expected_accuracies(mask, probabilities, predictions)
    accuracies = [(codes[20:] == truth[20:]).mean() for codes in predictions]
    np.testing.assert_allclose(scores, accuracies, rtol=1e-12)


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
    scores = expected_accuracies(mask, probabilities, predictions)
    np.testing.assert_allclose(permuted, scores, rtol=1e-9)


def test_scores_do_not_depend_on_unlabeled_rows_or_the_confidence_of_a_method():
    """Full sets do not count, and squared probabilities of a method are calibrated to the same values."""
    _, mask, probabilities, predictions = draw_task()
    scores = expected_accuracies(mask, probabilities, predictions)
    more = expected_accuracies(
        np.concatenate([mask, np.ones_like(mask)]),
        [np.concatenate([proba, proba]) for proba in probabilities],
        [np.concatenate([codes, codes]) for codes in predictions],
    )
    np.testing.assert_allclose(more, scores, rtol=1e-12)
    squared = [probabilities[0] ** 2, *probabilities[1:]]
    again = expected_accuracies(mask, squared, predictions)
    np.testing.assert_allclose(again, scores, rtol=1e-9)


def test_scores_rank_methods_of_independent_errors_by_accuracy():
    """With confusable distractors the scores have the order of the accuracies."""
    truth, mask, probabilities, predictions = draw_task(n=3000)
    scores = expected_accuracies(mask, probabilities, predictions)
    accuracies = np.array([(codes == truth).mean() for codes in predictions])
    assert (np.argsort(scores) == np.argsort(accuracies)).all()


def test_a_frequent_distractor_does_not_earn_a_high_score():
    """If class 0 is in 95 % of the sets, the covering rate prefers its constant prediction; the score does not."""
    rng = np.random.default_rng(0)
    n, K = 600, 5
    truth = rng.integers(0, K, n)
    mask = np.eye(K, dtype=bool)[truth]
    mask[:, 0] |= rng.random(n) < 0.95
    probabilities, predictions = draw_methods(truth, K, (0.8, 0.75))
    constant = np.zeros(n, dtype=int)
    scores = expected_accuracies(mask, [np.eye(K)[constant], *probabilities], [constant, *predictions])
    covering = [mask[np.arange(n), codes].mean() for codes in (constant, *predictions)]
    assert np.argmax(covering) == 0
    assert np.argmin(scores) == 0
    assert scores[0] < 0.5


def test_extreme_input_gives_finite_scores():
    """One row, probabilities of 0 and 1, predictions of other labels, and only unlabeled rows."""
    mask = np.array([[True, True, False]])
    assert 0.5 < expected_accuracies(mask, [np.array([[1.0, 0.0, 0.0]])], [np.array([0])])[0] <= 1.0
    assert expected_accuracies(mask, [np.array([[0.0, 0.0, 1.0]])], [np.array([-1])])[0] == 0.0
    assert expected_accuracies(mask, [np.zeros((1, 3))], [np.array([1])])[0] == pytest.approx(0.5)
    assert np.isnan(expected_accuracies(np.ones((2, 3), bool), [np.ones((2, 3))], [np.zeros(2, int)])[0])
