"""Self-training under each distractor model, compared with an oracle, and its invariants."""

from itertools import pairwise

import numpy as np
import pytest

from oneof.solvers.loo_ridge.distractors import CandidateGroups, confusion_rates
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.solve import SelfTraining
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of

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


def test_cooccurring_model_balances_the_groups():
    """Group sums are closer to uniform under the cooccurring model than under the uniform one."""
    X, truth = blobs(120, 4, spread=1.0)
    mask = sets_of(truth, "cooccurring", n_distractors=1)
    sets = CandidateGroups.from_evidence(mask)
    distance = {}
    for name, distractors in (("uniform", "uniform"), ("cooccurring", "cooccurring")):
        P = labels(X, mask, distractors)
        sums = sets.group_sums(sets.values(P))
        distance[name] = np.abs(sums - (np.bincount(sets.group)[sets.group] / sets.sizes)[sets.rows]).sum()
    assert distance["cooccurring"] < distance["uniform"]


def test_confusion_rates_are_recovered():
    """With known labels, the estimated rates equal the rates of the draw up to sampling error."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 6000)
    rates = np.where(np.eye(5) > 0, 1.0, rng.choice([0.05, 0.6], size=(5, 5)))
    mask = rng.random((6000, 5)) < rates[truth]
    partial = mask.sum(axis=1) > 1
    result = confusion_rates(np.eye(5)[truth[partial]], mask[partial])
    observed = np.array([mask[partial & (truth == k)].mean(axis=0) for k in range(5)])
    off_diagonal = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(result[off_diagonal], observed[off_diagonal], atol=0.01)


def test_uniform_distractors_need_no_correction():
    """With uniform distractors the rates of all pairs are nearly equal, and so are the labels of both models."""
    X, truth = blobs(400, 6, d=5, spread=2.0)
    mask = sets_of(truth, "uniform", n_distractors=2)
    result = confusion_rates(np.eye(6)[truth], mask)[~np.eye(6, dtype=bool)]
    assert result.max() - result.min() < 0.1
    assert np.abs(labels(X, mask, "confusable") - labels(X, mask, "uniform")).mean() < 0.02


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
