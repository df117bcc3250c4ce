"""The choice of the weight of unlabeled rows."""

import numpy as np
import pytest

from oneof.solvers.generative.em import one_standard_error_rule, select_weight

WEIGHTS = [0.0, 0.1, 1.0]


def test_ties_go_to_the_smaller_weight():
    """Where weights cover alike, or nothing, the smallest is taken."""
    for covered in (np.ones((3, 8), dtype=bool), np.zeros((3, 8), dtype=bool)):
        assert one_standard_error_rule(covered, np.ones(8), WEIGHTS).weight == 0.0


@pytest.mark.parametrize(("won", "lost", "expected"), [(1, 0, 0.0), (2, 0, 1.0), (3, 1, 0.0), (5, 1, 1.0), (9, 7, 0.0)])
def test_a_larger_weight_must_win_by_a_standard_error(won, lost, expected):
    """Rows won less rows lost must exceed the root of rows won or lost."""
    small = np.array([False] * won + [True] * lost + [True] * 10)
    large = np.array([True] * won + [False] * lost + [True] * 10)
    assert one_standard_error_rule(np.array([small, large]), np.ones(len(small)), [0.0, 1.0]).weight == expected
    halves = one_standard_error_rule(
        np.array([small, large]).repeat(2, axis=1), np.full(2 * len(small), 0.5), [0.0, 1.0]
    )
    np.testing.assert_allclose(halves.covering_rates, [small.mean(), large.mean()])


def test_a_weight_of_two_is_the_row_twice():
    """The choice does not tell a weighted row from a repeated one."""
    random = np.random.default_rng(0)
    for _ in range(20):
        covered = random.random((3, 12)) < [[0.4], [0.5], [0.7]]
        w = random.integers(1, 4, 12)
        once, repeated = (
            one_standard_error_rule(covered, w, WEIGHTS),
            one_standard_error_rule(covered.repeat(w, axis=1), np.ones(w.sum()), WEIGHTS),
        )
        assert once.weight == repeated.weight
        np.testing.assert_allclose(once.covering_rates, repeated.covering_rates)


def test_unlabeled_rows_are_never_held_out_and_each_labeled_row_is_once():
    """Training weights are 0 for the fold alone; what is scored is the set of the rows held out."""
    mask = np.ones((20, 3), dtype=bool)
    mask[:12] = np.eye(3, dtype=bool)[np.arange(12) % 3]
    mask[9:12, 0] = True
    held = []

    def scores(weight, training):
        if weight == 0:
            held.append(np.flatnonzero(training == 0))
        return np.eye(3)[np.arange(20) % 3] if weight == 1 else np.tile([1.0, 0.0, 0.0], (20, 1))

    found = select_weight(scores, mask, np.ones(20), weights=[0.0, 1.0], n_folds=4)
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(12))
    assert [len(rows) for rows in held] == [3, 3, 3, 3]
    np.testing.assert_allclose(found.covering_rates, [mask[:12, 0].mean(), 1.0])
    assert found.weight == 1.0


@pytest.mark.parametrize("labeled", [1, 6])
def test_without_a_choice_the_smallest_weight_is_taken(labeled):
    """One labeled row cannot be held out, and without unlabeled rows nothing depends on their weight."""
    mask = np.ones((6, 2), dtype=bool)
    mask[:labeled, 0] = False
    found = select_weight(lambda *_: pytest.fail("nothing to fit"), mask, np.ones(6), weights=WEIGHTS, n_folds=5)
    assert found.weight == 0.0
    assert np.isnan(found.covering_rates).all()
