"""The rounds: against the literal recipe, and what they must keep."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import (
    CandidateGroups,
    ClassMass,
    CommonDistractors,
    Correction,
    ExactRidge,
    solve_loo_ridge,
)
from oneof.solvers.loo_ridge.distractors import fitted_exponent
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of

ZIPF = 1.0 / np.arange(1, 7) / (1.0 / np.arange(1, 7)).sum()


def solved(X, mask, distractors=None, **options):
    """Run the rounds."""
    ridge = ExactRidge.of(gram_of(X), 0.05)
    return solve_loo_ridge(ridge, CandidateGroups.of(mask), distractors or CommonDistractors(), **options)


@pytest.mark.parametrize("kind", ["uniform", "cooccurring"])
@pytest.mark.parametrize("exponent", [None, 0.0, 1.0])
def test_rounds_are_those_of_the_recipe(kind, exponent):
    """Labels, left-out scores and tau are those of the recipe, written out row by row."""
    X, truth = blobs(50, 5)
    mask = sets_of(truth, kind, extra=2)
    mask[::6] = np.eye(5, dtype=bool)[truth[::6]]
    found = solved(X, mask, CommonDistractors(exponent, warm_up=3), n_rounds=8)
    P, F, tau = oracle.rounds(gram_of(X), mask, 0.05, 8, 3, exponent)
    np.testing.assert_allclose(found.shares, P, rtol=0, atol=1e-8)
    np.testing.assert_allclose(found.scores, F, rtol=0, atol=1e-8)
    assert found.exponent == pytest.approx(tau, abs=1e-8)


def test_labels_keep_to_the_sets():
    """Shares lie in the sets and sum to 1, and an exact row has its label throughout."""
    X, truth = blobs(80, 5)
    mask = sets_of(truth, extra=2)
    mask[::5] = np.eye(5, dtype=bool)[truth[::5]]
    for n_rounds in (1, 2, 25):
        shares = solved(X, mask, n_rounds=n_rounds).shares
        assert np.all(shares[~mask] == 0)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        np.testing.assert_array_equal(shares[::5], mask[::5])


def test_exact_rows_need_no_round():
    """Exact labels are fitted as they are."""
    X, truth = blobs(40)
    mask = np.eye(4, dtype=bool)[truth]
    found = solved(X, mask)
    assert len(found.changes) == len(found.exponents) == 0
    assert found.exponent == 0
    np.testing.assert_array_equal(found.shares, mask)


@pytest.mark.parametrize("seed", range(3))
def test_the_exponent_tells_scenes_from_even_distractors(seed):
    """Of classes of very different sizes, even distractors leave tau near 0, scenes bring it near 1."""
    X, truth = blobs(600, 6, d=5, seed=seed, frequencies=ZIPF, spread=3.0)
    even = solved(X, sets_of(truth, "uniform", extra=2, seed=seed))
    scenes = solved(X, sets_of(truth, "cooccurring", extra=2, seed=seed))
    assert even.exponent < 0.25
    assert scenes.exponent > 0.5


def test_the_exponent_of_true_labels_is_that_of_the_distractors():
    """With labels known and distractors drawn as m^tau, the slope is tau but for chance."""
    random = np.random.default_rng(0)
    truth = random.choice(6, 4000, p=ZIPF)
    labels = np.eye(6)[truth]
    for tau in (0.0, 0.5, 1.0):
        mask = (random.random((4000, 6)) < 0.5 * (ZIPF / ZIPF[0]) ** tau) | (labels > 0)
        assert fitted_exponent(labels, CandidateGroups.of(mask)) == pytest.approx(tau, abs=0.1)


def test_classes_of_one_size_have_no_slope():
    """Where all classes are equally frequent tau is 0, and where there are no false candidates too."""
    mask = np.roll(np.eye(4, dtype=bool), 1, axis=1) | np.eye(4, dtype=bool)
    assert fitted_exponent(np.eye(4), CandidateGroups.of(mask)) == 0
    assert fitted_exponent(np.eye(4), CandidateGroups.of(np.eye(4, dtype=bool))) == 0


def test_the_order_of_rows_and_classes_is_immaterial():
    """Permuted rows and classes have permuted labels."""
    X, truth = blobs(60, 5)
    mask = sets_of(truth, "cooccurring", extra=2)
    plain = solved(X, mask)
    rows, classes = np.random.default_rng(1).permutation(60), np.array([3, 1, 4, 0, 2])
    permuted = solved(X[rows], mask[rows][:, classes])
    np.testing.assert_allclose(permuted.shares, plain.shares[rows][:, classes], rtol=0, atol=1e-9)
    assert permuted.exponent == pytest.approx(plain.exponent, abs=1e-9)
    assert permuted.cover == plain.cover


def test_groups_are_rows_of_one_set():
    """Sums over a group are those over the rows whose set is the same."""
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 1, 0], [1, 0, 0]], dtype=bool)
    sets = CandidateGroups.of(mask)
    shares = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(sets.sums(shares)[[0, 2]], np.tile(shares[0] + shares[2], (2, 1)))
    np.testing.assert_array_equal(sets.sums(shares)[[1, 3]], shares[[1, 3]])
    np.testing.assert_allclose(sets.equal_shares[0], [1, 1, 0])


def test_the_distractors_can_be_exchanged():
    """Another account of how false candidates arise takes its place whole."""

    class First:
        def correction(self, claims, *_):
            return Correction(np.where(np.arange(claims.shape[1]) == 0, 1e12, 1.0), np.ones(claims.shape[1]), 0.0)

    X, truth = blobs(40)
    mask = sets_of(truth)
    mask[:, 0] |= ~mask[:, 0] & (truth != 0) & (mask.sum(axis=1) < 3)
    shares = solved(X, mask, First(), n_rounds=3).shares
    assert np.all(shares[mask[:, 0], 0] > 0.99)


def test_unlabelled_rows_keep_to_the_class_frequencies():
    """Rows without a label that join get labels, of which each class has about its part of the others."""
    X, truth = blobs(400, 4, d=5, frequencies=[0.6, 0.2, 0.1, 0.1], spread=1.0)
    mask = np.eye(4, dtype=bool)[truth]
    mask[100:] = True
    wanted = mask[:100].mean(axis=0)
    kept = solved(X, mask, ClassMass(CommonDistractors())).shares
    free = solved(X, mask).shares
    np.testing.assert_array_equal(kept[:100], mask[:100])
    far = np.abs(free[100:].mean(axis=0) - wanted).max()
    assert np.abs(kept[100:].mean(axis=0) - wanted).max() < 0.5 * far
