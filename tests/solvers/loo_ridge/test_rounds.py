"""The rounds of each account of the distractors: against the literal recipe, and what they must keep."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import (
    CandidateGroups,
    ClassMass,
    ConfusedDistractors,
    EvenDistractors,
    ExactRidge,
    SceneDistractors,
    run_rounds,
)
from oneof.solvers.loo_ridge.confusion import confusion_rates
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


class SquaredClaims:
    """An account that any other object may give, too."""

    def corrected(self, now):
        """Return what it makes of a round."""
        return now.claims**2


ACCOUNTS = (EvenDistractors(), SceneDistractors(), SceneDistractors(1), ConfusedDistractors())


def labels(X, mask, distractors, max_iter=25):
    """Run the rounds."""
    ridge = ExactRidge.of(gram_of(X), 0.05)
    return run_rounds(ridge, CandidateGroups.of(mask), distractors, max_iter=max_iter).shares


@pytest.mark.parametrize("kind", ["uniform", "cooccurring", "confusable"])
def test_rounds_are_those_of_the_recipe(kind):
    """Labels after a few rounds are those of the recipe, written out row by row and class by class."""
    X, truth = blobs(40, 5)
    mask = sets_of(truth, kind, extra=2)
    mask[::6] = np.eye(5, dtype=bool)[truth[::6]]
    gram = gram_of(X)
    expected = {
        EvenDistractors(): oracle.even_rounds(gram, mask, 0.05, 7),
        SceneDistractors(): oracle.scene_rounds(gram, mask, 0.05, 7, 2),
        SceneDistractors(1): oracle.scene_rounds(gram, mask, 0.05, 7, 1),
        ConfusedDistractors(): oracle.confused_rounds(gram, mask, 0.05, 7),
    }
    for distractors, shares in expected.items():
        np.testing.assert_allclose(labels(X, mask, distractors, max_iter=7), shares, rtol=0, atol=1e-8)


@pytest.mark.parametrize("distractors", ACCOUNTS)
def test_labels_keep_to_the_sets(distractors):
    """Shares lie in the sets and sum to 1, and an exact row has its label throughout."""
    X, truth = blobs(80, 5)
    mask = sets_of(truth, extra=2)
    mask[::5] = np.eye(5, dtype=bool)[truth[::5]]
    for max_iter in (1, 2, 25):
        shares = labels(X, mask, distractors, max_iter=max_iter)
        assert np.all(shares[~mask] == 0)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares[::5], mask[::5])


@pytest.mark.parametrize("distractors", ACCOUNTS)
def test_the_order_of_rows_and_classes_is_immaterial(distractors):
    """Permuted rows and classes have permuted labels."""
    X, truth = blobs(60, 5)
    mask = sets_of(truth, "cooccurring", extra=2)
    rows, classes = np.random.default_rng(1).permutation(60), np.array([3, 1, 4, 0, 2])
    found = labels(X, mask, distractors)
    permuted = labels(X[rows], mask[rows][:, classes], distractors)
    np.testing.assert_allclose(permuted, found[rows][:, classes], rtol=0, atol=1e-8)


def test_exact_rows_need_no_round():
    """Exact labels are fitted as they are."""
    X, truth = blobs(40)
    mask = np.eye(4, dtype=bool)[truth]
    found = run_rounds(ExactRidge.of(gram_of(X), 0.05), CandidateGroups.of(mask), EvenDistractors(), max_iter=25)
    assert len(found.changes) == 0
    np.testing.assert_array_equal(found.shares, mask)


def test_groups_are_rows_of_one_set():
    """Sums over a group are those over the rows whose set is the same."""
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool)
    sets = CandidateGroups.of(mask)
    shares = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(sets.sums(shares)[[0, 2]], np.tile(shares[0] + shares[2], (2, 1)))
    np.testing.assert_array_equal(sets.sums(shares)[[1, 3]], shares[[1, 3]])
    np.testing.assert_allclose(sets.equal_shares[0], [1, 1, 0])
    np.testing.assert_array_equal(sets.distinct[sets.group], mask)
    np.testing.assert_array_equal(sets.row_counts, [2, 1, 2, 1])


def test_scenes_move_groups_towards_equal_shares():
    """The labels of each group are nearer equal shares after the scene's loop than after the even one."""
    X, truth = blobs(120, 4, spread=1.0)
    mask = sets_of(truth, "cooccurring", extra=1)
    sets = CandidateGroups.of(mask)
    far = {}
    for name, distractors in (("even", EvenDistractors()), ("scene", SceneDistractors(1))):
        shares = labels(X, mask, distractors)
        far[name] = np.abs(sets.sums(shares) - sets.equal_shares).sum()
    assert far["scene"] < far["even"]


def test_rates_of_annotators_who_confuse_pairs_are_found():
    """With labels known, rates are those that the distractors were drawn with, but for chance."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 5, 6000)
    rates = np.where(np.eye(5) > 0, 1.0, random.choice([0.05, 0.6], size=(5, 5)))
    mask = random.random((6000, 5)) < rates[truth]
    some = mask.sum(axis=1) > 1
    found = confusion_rates(np.eye(5)[truth[some]], mask[some])
    seen = np.array([mask[some & (truth == k)].mean(axis=0) for k in range(5)])
    others = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(found[others], seen[others], atol=0.01)


def test_even_distractors_leave_nothing_to_correct():
    """Under even noise the rates of all pairs are shrunk to one, and the loop is the even one but for little."""
    X, truth = blobs(400, 6, d=5, spread=2.0)
    mask = sets_of(truth, "uniform", extra=2)
    found = confusion_rates(np.eye(6)[truth], mask)[~np.eye(6, dtype=bool)]
    assert found.max() - found.min() < 0.1
    assert np.abs(labels(X, mask, ConfusedDistractors()) - labels(X, mask, EvenDistractors())).mean() < 0.02


def test_unlabeled_rows_keep_to_the_class_frequencies():
    """Rows without a label that join get labels, of which each class has about its part of the others."""
    X, truth = blobs(400, 4, d=5, frequencies=[0.6, 0.2, 0.1, 0.1], spread=1.0)
    mask = np.eye(4, dtype=bool)[truth]
    mask[100:] = True
    wanted = mask[:100].mean(axis=0)
    kept = labels(X, mask, ClassMass(EvenDistractors()))
    free = labels(X, mask, SquaredClaims())
    np.testing.assert_array_equal(kept[:100], mask[:100])
    far = np.abs(free[100:].mean(axis=0) - wanted).max()
    assert np.abs(kept[100:].mean(axis=0) - wanted).max() < 0.5 * far
