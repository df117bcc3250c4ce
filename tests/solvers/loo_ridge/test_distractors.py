"""Self-training under each distractor model with sets and weights: its invariants and groups of sets."""

from itertools import pairwise

import numpy as np
import pytest

from oneof.solvers.loo_ridge.distractors import (
    DISTRACTOR_MODELS,
    CandidateGroups,
    IterationState,
    next_labels,
)
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.solve import SelfTraining
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of, small_problem, weights_of

MODELS = ("uniform", "cooccurring", "confusable")


def self_train(X, mask, distractors, max_iter=25, tol=0.0):
    """Return the result of self-training."""
    ridge = ExactRidge.from_gram(gram_of(X), 0.05)
    return SelfTraining(0.05, max_iter, tol, distractors).run(ridge, CandidateGroups.from_evidence(mask))


def labels(X, mask, distractors, max_iter=25):
    """Return the labels after self-training."""
    return self_train(X, mask, distractors, max_iter).label_distributions


@pytest.mark.parametrize("distractors", MODELS)
def test_iterations_end_at_a_small_change(distractors):
    """The last change, and no other one, is at most the tolerance; without a tolerance all iterations are made."""
    X, truth = blobs(80, 5)
    mask = sets_of(truth, n_distractors=2)
    full = self_train(X, mask, distractors)
    assert len(full.changes) == 25
    for tol in (0.5, 0.05, float(full.changes[11])):
        result = self_train(X, mask, distractors, tol=tol)
        assert result.changes[-1] <= tol
        assert np.all(result.changes[:-1] > tol)
        np.testing.assert_array_equal(result.changes, full.changes[: len(result.changes)])
        same = self_train(X, mask, distractors, max_iter=len(result.changes))
        np.testing.assert_array_equal(result.label_distributions, same.label_distributions)


def test_changes_are_the_moved_fraction_of_label_mass():
    """The change of an iteration is the mean over the rows of half the sum of absolute differences."""
    X, truth = blobs(80, 5)
    mask = sets_of(truth, n_distractors=2)
    result = self_train(X, mask, "uniform", max_iter=4)
    P = [mask / mask.sum(axis=1, keepdims=True)]
    P += [labels(X, mask, "uniform", max_iter=n) for n in range(1, 5)]
    expected = [np.abs(after - before).sum(axis=1).mean() / 2 for before, after in pairwise(P)]
    np.testing.assert_allclose(result.changes, expected)


def test_selected_rows_have_their_own_groups():
    """The groups of selected rows equal the groups of their sets, for indices and masks."""
    _, truth = blobs(50, 5)
    mask = sets_of(truth, n_distractors=2)
    sets = CandidateGroups.from_evidence(mask)
    rows = np.arange(3, 40, 2)
    for selected in (sets.select(rows), sets.select(np.isin(np.arange(50), rows))):
        np.testing.assert_array_equal(selected.mask, mask[rows])
        same = (mask[rows][:, None] == mask[rows]).all(axis=2)
        np.testing.assert_array_equal(selected.group[:, None] == selected.group, same)


def test_unlabeled_rows_have_the_class_frequencies_of_labeled_rows():
    """With class mass normalization, classes have about the same fraction among unlabeled as among labeled rows."""
    X, truth = blobs(400, 4, d=5, frequencies=[0.6, 0.2, 0.1, 0.1], spread=1.0)
    mask = np.eye(4, dtype=bool)[truth]
    mask[100:] = True
    frequencies = mask[:100].mean(axis=0)
    normalized = labels(X, mask, "uniform")
    ridge, unconstrained = ExactRidge.from_gram(gram_of(X), 0.05), mask / mask.sum(axis=1, keepdims=True)
    for _ in range(25):
        unconstrained = mask * np.maximum(ridge.predict_loo(unconstrained), 1e-6) ** 2
        unconstrained /= unconstrained.sum(axis=1, keepdims=True)
    np.testing.assert_array_equal(normalized[:100], mask[:100])
    distance = np.abs(unconstrained[100:].mean(axis=0) - frequencies).max()
    assert np.abs(normalized[100:].mean(axis=0) - frequencies).max() < 0.5 * distance


every_model = pytest.mark.parametrize("model", MODELS)


def test_the_groups_of_rows_with_weights():
    """Rows with the identical support are a group; those of all classes are another one than unlabeled rows."""
    weights = np.array([[1, 0.5, 0], [0.2, 1, 0], [1, 1, 0], [1, 1, 1], [1, 0.5, 0.5], [0.1, 1, 1], [1, 0, 0]])
    sets = CandidateGroups.from_evidence(weights)
    same = sets.group[:, None] == sets.group
    expected = np.zeros((7, 7), dtype=bool)
    for group in ([0, 1, 2], [3], [4, 5], [6]):
        expected[np.ix_(group, group)] = True
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_array_equal(sets.unlabeled, np.arange(7) == 3)
    np.testing.assert_array_equal(sets.full, np.isin(np.arange(7), [3, 4, 5]))
    np.testing.assert_array_equal(sets.partial, np.arange(7) < 3)
    np.testing.assert_array_equal(sets.to_dense(sets.weights), weights)
    np.testing.assert_allclose(
        sets.to_dense(sets.normalize(sets.weights)), weights / weights.sum(axis=1, keepdims=True)
    )
    part = sets.select(np.array([0, 4, 6]))
    np.testing.assert_array_equal(part.to_dense(part.weights), weights[[0, 4, 6]])
    assert sets.select(np.array([2, 3, 6])).evidence.dtype == bool


@every_model
def test_a_softened_set_is_treated_like_the_set(model):
    """With small weights outside the sets most labels are those of the sets, and the groups are the same."""
    X, truth = blobs(80, 5, spread=4.0)
    mask = sets_of(truth, "cooccurring")
    softened = np.where(mask, 1.0, 1e-5)
    hard, soft = (labels(X, each, model, max_iter=7) for each in (mask, softened))
    assert np.abs(soft - hard).sum(axis=1).mean() / 2 < 0.05
    sets, main = CandidateGroups.from_evidence(mask), CandidateGroups.from_evidence(softened).main
    np.testing.assert_array_equal(main.mask, sets.mask)
    np.testing.assert_array_equal(main.group, sets.group)
    assert main.evidence.dtype == bool


@every_model
def test_classes_of_small_weights_have_the_mass_of_their_predictions(model):
    """The distractor model divides only the mass of the main candidates."""
    mask = small_problem("cooccurring")[1]
    weights = np.maximum(weights_of(mask), 0.05)
    sets = CandidateGroups.from_evidence(weights)
    rng = np.random.default_rng(0)
    F, P = rng.random(weights.shape) + 0.1, rng.dirichlet(np.ones(5), len(weights))
    state = IterationState(sets.values(F), sets.values(P), sets, 9)
    result = sets.to_dense(next_labels(model, state))
    is_main = weights >= 0.1
    uniform = weights * F / (weights * F).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result[~is_main], uniform[~is_main], rtol=1e-12)
    main = CandidateGroups.from_evidence(np.where(is_main, weights, 0.0))
    inside = main.normalize(main.values(P))
    expected = main.to_dense(main.normalize(DISTRACTOR_MODELS[model](IterationState(main.values(F), inside, main, 9))))
    expected *= np.where(is_main, uniform, 0.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(result[is_main], expected[is_main], rtol=1e-12)
    np.testing.assert_allclose(result.sum(axis=1), 1, rtol=1e-12)
