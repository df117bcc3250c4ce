"""Tests of the selection of the weight of unlabeled rows."""

import numpy as np
import pytest

from oneof.solvers.generative.em import one_standard_error_rule, select_weight

WEIGHTS = [0.0, 0.1, 1.0]


def test_ties_go_to_the_smaller_weight():
    """If weights cover the same rows, or none, the smallest is selected."""
    for covered in (np.ones((3, 8), dtype=bool), np.zeros((3, 8), dtype=bool)):
        assert one_standard_error_rule(covered, np.ones(8), WEIGHTS).weight == 0.0


@pytest.mark.parametrize(("won", "lost", "expected"), [(1, 0, 0.0), (2, 0, 1.0), (3, 1, 0.0), (5, 1, 1.0), (9, 7, 0.0)])
def test_a_larger_weight_must_win_by_a_standard_error(won, lost, expected):
    """The rows won minus the rows lost must exceed the root of their sum."""
    small = np.array([False] * won + [True] * lost + [True] * 10)
    large = np.array([True] * won + [False] * lost + [True] * 10)
    assert one_standard_error_rule(np.array([small, large]), np.ones(len(small)), [0.0, 1.0]).weight == expected
    halves = one_standard_error_rule(
        np.array([small, large]).repeat(2, axis=1), np.full(2 * len(small), 0.5), [0.0, 1.0]
    )
    np.testing.assert_allclose(halves.covering_rates, [small.mean(), large.mean()])


def test_a_weight_of_two_is_the_row_twice():
    """The selection is the same for a weighted and a repeated row."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        covered = rng.random((3, 12)) < [[0.4], [0.5], [0.7]]
        w = rng.integers(1, 4, 12)
        once, repeated = (
            one_standard_error_rule(covered, w, WEIGHTS),
            one_standard_error_rule(covered.repeat(w, axis=1), np.ones(w.sum()), WEIGHTS),
        )
        assert once.weight == repeated.weight
        np.testing.assert_allclose(once.covering_rates, repeated.covering_rates)


@pytest.mark.parametrize("outside", [None, 0.0, 0.25], ids=["sets", "weights of 0 and 1", "weights"])
def test_each_labeled_row_is_held_out_once_and_counts_by_the_weight_of_its_prediction(outside):
    """Training weights are 0 only for the fold, and never for unlabeled rows; rates are those of held-out rows."""
    mask = np.ones((20, 3), dtype=bool)
    mask[:12] = np.eye(3, dtype=bool)[np.arange(12) % 3]
    mask[9:12, 0] = True
    evidence = mask if outside is None else np.where(mask, 1.0, outside)
    held_out = []

    def scores(weight, training):
        if weight == 0:
            held_out.append(np.flatnonzero(training == 0))
        return np.eye(3)[np.arange(20) % 3] if weight == 1 else np.tile([1.0, 0.0, 0.0], (20, 1))

    solution = select_weight(scores, evidence, np.ones(20), weights=[0.0, 1.0], n_folds=4)
    np.testing.assert_array_equal(np.sort(np.concatenate(held_out)), np.arange(12))
    assert [len(rows) for rows in held_out] == [3, 3, 3, 3]
    np.testing.assert_allclose(solution.covering_rates, [evidence[:12, 0].mean(), 1.0])
    assert solution.weight == 1.0


@pytest.mark.parametrize("labeled", [1, 6])
def test_without_a_choice_the_smallest_weight_is_selected(labeled):
    """One labeled row cannot be held out, and without unlabeled rows nothing depends on their weight."""
    mask = np.ones((6, 2), dtype=bool)
    mask[:labeled, 0] = False
    solution = select_weight(lambda *_: pytest.fail("must not be called"), mask, np.ones(6), weights=WEIGHTS, n_folds=5)
    assert solution.weight == 0.0
    assert np.isnan(solution.covering_rates).all()
