"""Codings of the classes and their decoding, against the definition."""

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.ecoc import code_performance, decode, draw_codings, row_sides
from tests.estimators.panel import table
from tests.oracles import plecoc as oracle


@pytest.fixture
def labeled():
    """Return candidate sets of 200 rows and 5 classes, none of them full."""
    mask = table(200, K=5)[1]
    return mask[~mask.all(axis=1)]


def draw(mask, code_length=30, min_fraction=0.1, seed=0):
    return draw_codings(mask, code_length, min_fraction, np.random.default_rng(seed))


def test_a_row_takes_the_side_of_its_whole_set(labeled):
    """A set that lies on both sides has none."""
    codes = np.random.default_rng(0).choice([-1, 1], size=(5, 20))
    expected = np.array([oracle.sides(labeled, code) for code in codes.T]).T
    np.testing.assert_array_equal(row_sides(labeled, codes), expected)


@pytest.mark.parametrize("min_fraction", [0.1, 0.5, 0.6])
def test_every_coding_keeps_enough_rows_on_both_sides(labeled, min_fraction):
    """Codings that are kept part the rows, keep the share that is asked for, and put the first class on side +1."""
    codes = draw(labeled, min_fraction=min_fraction)
    assert codes.shape == (5, 30)
    assert set(np.unique(codes)) == {-1, 1}
    assert np.all(codes[0] == 1)
    sides = row_sides(labeled, codes)
    assert np.all((sides > 0).any(axis=0) & (sides < 0).any(axis=0))
    assert np.all((sides != 0).mean(axis=0) >= min_fraction)


def test_a_share_that_is_met_exactly_is_enough():
    """A tenth of 70 rows are 7 rows, although 0.1 * 70 is a little more in floating point."""
    mask = np.array([[True, True, False]] * 70)
    mask[:4, 1] = mask[4:7, 0] = (
        False  # the first two classes have to part for rows on both sides, which 7 rows survive
    )
    assert np.all(draw(mask)[1] == -1)


def test_draws_are_even_and_reproducible():
    """On exact labels all 7 partitions of 4 classes come equally often, and a seed fixes them."""
    mask = np.eye(4, dtype=bool)
    codes = draw(mask, 7000)
    _, counts = np.unique(codes, axis=1, return_counts=True)
    assert len(counts) == 7
    assert np.all(np.abs(counts - 1000) < 150)
    np.testing.assert_array_equal(draw(mask, 7000), codes)
    assert not np.array_equal(draw(mask, 7000, seed=1), codes)


def test_two_classes_have_one_coding():
    """A coding and its negative are one, so that two classes leave a single one, drawn again and again."""
    np.testing.assert_array_equal(draw(np.eye(2, dtype=bool)), [[1] * 30, [-1] * 30])


def test_rows_of_one_side_serve_where_there_are_no_others():
    """With a single set no coding has rows on both sides: then those are taken that have them on one."""
    codes = draw(np.array([[False, True, False]]))
    assert np.all(codes.min(axis=0) == -1)
    sets = np.array([[True, True, False, False]] * 3)
    codes = draw(sets)
    assert np.all(codes[0] == codes[1])
    assert np.all(codes.min(axis=0) == -1)


def test_too_few_rows_are_an_error_that_says_what_can_be_had():
    """Where sets are too large for the share, the message names the largest share that a draw had."""
    mask = np.array([[True, True, True, False]] * 4)
    mask[:2] = np.eye(4, dtype=bool)[:2]  # once these two rows part, no other has its set on one side
    with pytest.raises(
        InputError, match=r"have min_fraction=0\.9 of the 4 .* lower min_fraction \(the best had 0\.5\)"
    ):
        draw(mask, min_fraction=0.9)


def test_performance_and_losses_are_those_of_the_definition(labeled):
    """Both equal the sums written out, also for a class that no row names."""
    mask = np.column_stack([labeled, np.zeros(len(labeled), dtype=bool)])
    random = np.random.default_rng(1)
    codes = random.choice([-1, 1], size=(6, 12))
    margins = random.normal(size=(len(mask), 12))
    H = code_performance(margins, mask, codes)
    np.testing.assert_allclose(H, oracle.performance(margins, mask, codes))
    np.testing.assert_allclose(H[5], 1 / 12)
    np.testing.assert_allclose(decode(margins, codes, H), oracle.losses(margins, codes, H))


def test_permuting_classes_and_codings_together_permutes_losses(labeled):
    """The order of the classes means nothing: taken in another order, with their codes, they lose the same."""
    random = np.random.default_rng(2)
    codes, order = random.choice([-1, 1], size=(5, 12)), [3, 0, 4, 1, 2]
    np.testing.assert_array_equal(row_sides(labeled[:, order], codes[order]), row_sides(labeled, codes))
    margins = random.normal(size=(len(labeled), 12))
    H = code_performance(margins, labeled, codes)
    permuted = code_performance(margins, labeled[:, order], codes[order])
    np.testing.assert_allclose(permuted, H[order])
    np.testing.assert_allclose(decode(margins, codes[order], permuted), decode(margins, codes, H)[:, order])


def test_a_class_on_which_all_codings_fail_is_not_preferred():
    """A row of H without any hit is uniform, where a sum of nothing would be the least loss of all."""
    mask, codes = np.array([[True, False], [False, True]]), np.array([[1, 1], [-1, -1]])
    H = code_performance(np.array([[-1.0, -1.0], [-1.0, -1.0]]), mask, codes)
    np.testing.assert_allclose(H, 0.5)


def test_large_margins_stay_numbers():
    """Exponentials of margins far beyond the range of floating point do not overflow, and keep the order."""
    codes = np.array([[1, 1], [-1, 1], [-1, -1]])
    losses = decode(np.array([[1e300, 1e5], [-1e300, -1e5]]), codes, np.full((3, 2), 0.5))
    assert np.isfinite(losses).all()
    assert losses.argmin(axis=1).tolist() == [0, 2]
