"""Codings of the classes and their decoding, compared with an oracle."""

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.ecoc import code_targets, decode, draw_codings, fit_code_weights
from tests.estimators.panel import table
from tests.weights import evidences


@pytest.fixture
def labeled():
    """Return candidate sets of 200 rows and 5 classes, without unlabeled rows."""
    mask = table(200, K=5)[1]
    return mask[~mask.all(axis=1)]


def draw(mask, code_length=30, min_fraction=0.1, seed=0):
    return draw_codings(mask, code_length, min_fraction, np.random.default_rng(seed))


@evidences
@pytest.mark.parametrize("min_fraction", [0.1, 0.5, 0.6])
def test_every_coding_has_enough_rows_on_both_sides(labeled, min_fraction, evidence_of):
    """Selected codings have rows on both sides, the requested fraction of their mass, and the first class on side 1."""
    evidence = evidence_of(labeled)
    codes = draw(evidence, min_fraction=min_fraction)
    assert codes.shape == (5, 30)
    assert set(np.unique(codes)) == {-1, 1}
    assert np.all(codes[0] == 1)
    targets = code_targets(evidence, codes)
    assert np.all((targets > 0).any(axis=0) & (targets < 0).any(axis=0))
    assert np.all(np.abs(targets).sum(axis=0) >= min_fraction * (1 - evidence.min(axis=1)).sum() - 1e-9)
    with pytest.raises(InputError, match="Lower min_fraction"):
        draw(evidence, min_fraction=0.99)


def test_an_exactly_met_fraction_suffices():
    """A tenth of 70 rows is 7 rows, although 0.1 * 70 is slightly larger in floating point."""
    mask = np.array([[True, True, False]] * 70)
    mask[:4, 1] = mask[4:7, 0] = (
        False  # rows on both sides require a separation of the first two classes, which leaves 7 rows
    )
    assert np.all(draw(mask)[1] == -1)


def test_draws_are_uniform_and_reproducible():
    """With exact labels all 7 partitions of 4 classes have equal frequencies, and a seed fixes them."""
    mask = np.eye(4, dtype=bool)
    codes = draw(mask, 7000)
    _, counts = np.unique(codes, axis=1, return_counts=True)
    assert len(counts) == 7
    assert np.all(np.abs(counts - 1000) < 150)
    np.testing.assert_array_equal(draw(mask, 7000), codes)
    assert not np.array_equal(draw(mask, 7000, seed=1), codes)


def test_two_classes_have_one_coding():
    """A coding and its negative are equivalent, so that two classes have a single coding."""
    np.testing.assert_array_equal(draw(np.eye(2, dtype=bool)), [[1] * 30, [-1] * 30])


def test_one_sided_codings_are_used_if_there_are_no_others():
    """With a single distinct set no coding has rows on both sides, and one-sided codings are selected."""
    codes = draw(np.array([[False, True, False]]))
    assert np.all(codes.min(axis=0) == -1)
    sets = np.array([[True, True, False, False]] * 3)
    codes = draw(sets)
    assert np.all(codes[0] == codes[1])
    assert np.all(codes.min(axis=0) == -1)


def test_the_error_for_too_few_rows_has_the_largest_fraction():
    """If sets are too large for the fraction, the error has the largest fraction of a draw."""
    mask = np.array([[True, True, True, False]] * 4)
    mask[:2] = np.eye(4, dtype=bool)[:2]  # if these two rows are separated, no other row has its set on one side
    with pytest.raises(
        InputError, match=r"use at least min_fraction=0\.9 of the 4 .* Lower min_fraction \(the best coding uses 0\.5\)"
    ):
        draw(mask, min_fraction=0.9)


def test_permuting_classes_and_codings_together_permutes_losses(labeled):
    """The losses do not depend on the order of the classes and their codes."""
    rng = np.random.default_rng(2)
    codes, order = rng.choice([-1, 1], size=(5, 12)), [3, 0, 4, 1, 2]
    np.testing.assert_array_equal(code_targets(labeled[:, order], codes[order]), code_targets(labeled, codes))
    margins = rng.normal(size=(len(labeled), 12))
    H = fit_code_weights(margins, labeled, codes)
    permuted = fit_code_weights(margins, labeled[:, order], codes[order])
    np.testing.assert_allclose(permuted, H[order])
    np.testing.assert_allclose(decode(margins, codes[order], permuted), decode(margins, codes, H)[:, order])


def test_a_class_on_which_all_codings_fail_is_not_preferred():
    """A row of H without hits is uniform, since an empty sum would be the smallest loss."""
    mask, codes = np.array([[True, False], [False, True]]), np.array([[1, 1], [-1, -1]])
    H = fit_code_weights(np.array([[-1.0, -1.0], [-1.0, -1.0]]), mask, codes)
    np.testing.assert_allclose(H, 0.5)


def test_large_margins_are_clipped():
    """Exponentials of very large margins do not overflow, and keep the order."""
    codes = np.array([[1, 1], [-1, 1], [-1, -1]])
    losses = decode(np.array([[1e300, 1e5], [-1e300, -1e5]]), codes, np.full((3, 2), 0.5))
    assert np.isfinite(losses).all()
    assert losses.argmin(axis=1).tolist() == [0, 2]
