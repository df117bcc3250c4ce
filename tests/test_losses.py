"""Properties of the losses of scores on candidate sets, which other tests use as oracles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.losses import ambiguous_zero_one, average_prediction_hinge, best_outside, max_prediction_hinge

LOSSES = (ambiguous_zero_one, average_prediction_hinge, max_prediction_hinge)
seeds = st.integers(0, 2**32 - 1)


def draw(seed):
    """Return scores on a coarse grid, so that ties occur, and candidate sets, some of them full."""
    rng = np.random.default_rng(seed)
    n, K = rng.integers(1, 12), rng.integers(2, 6)
    scores = rng.integers(-6, 7, (n, K)) / 4.0
    mask = rng.random((n, K)) < rng.choice([0.2, 0.5, 0.9])
    mask[np.arange(n), rng.integers(0, K, n)] = True
    return scores, mask


def literal(loss, s, S):
    """Compute the formulas for one row with Python numbers."""
    outside = [k for k in range(len(s)) if k not in S]
    if loss is ambiguous_zero_one:
        return float(max(range(len(s)), key=lambda k: (s[k], -k)) not in S)
    if not outside:
        return 0.0
    inside = [s[k] for k in S]
    level = sum(inside) / len(inside) if loss is average_prediction_hinge else max(inside)
    return max(0.0, 1.0 - level + max(s[k] for k in outside))


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
@settings(deadline=None)
def test_each_loss_is_its_formula(loss, seed):
    """Every loss equals its formula, computed row by row."""
    scores, mask = draw(seed)
    expected = [literal(loss, s.tolist(), np.flatnonzero(m).tolist()) for s, m in zip(scores, mask)]
    np.testing.assert_allclose(loss(scores, mask), expected, rtol=0, atol=1e-12)


@given(seed=seeds)
@settings(deadline=None)
def test_the_hinges_bound_the_ambiguous_loss(seed):
    """0 <= L_A <= MPH <= APH on every row: both hinges are surrogates, and the mean of a set is at most its maximum."""
    scores, mask = draw(seed)
    zero_one, average, largest = (loss(scores, mask) for loss in LOSSES)
    assert (zero_one >= 0).all()
    assert (largest >= zero_one).all()
    assert (average >= largest - 1e-12).all()


@given(seed=seeds)
@settings(deadline=None)
def test_on_exact_labels_the_hinges_agree(seed):
    """On exact labels the mean and the maximum over the set are equal."""
    scores, mask = draw(seed)
    exact = np.zeros_like(mask)
    exact[np.arange(len(mask)), mask.argmax(axis=1)] = True
    np.testing.assert_array_equal(average_prediction_hinge(scores, exact), max_prediction_hinge(scores, exact))


@pytest.mark.parametrize("loss", LOSSES)
def test_unlabeled_rows_have_no_loss(loss):
    """The losses of an unlabeled row are 0."""
    scores = np.array([[5.0, -3.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_array_equal(loss(scores, np.ones((2, 3), dtype=bool)), [0.0, 0.0])
    np.testing.assert_array_equal(best_outside(scores, np.ones((2, 3), dtype=bool)), [-np.inf, -np.inf])


@given(seed=seeds)
@settings(deadline=None)
def test_the_average_hinge_is_convex_in_the_scores(seed):
    """The average prediction hinge of a mixture of scores is at most the mixture of the losses."""
    scores, mask = draw(seed)
    rng = np.random.default_rng(seed + 1)
    other, weight = rng.normal(size=scores.shape), rng.random()
    mixed = average_prediction_hinge(weight * scores + (1 - weight) * other, mask)
    bound = weight * average_prediction_hinge(scores, mask) + (1 - weight) * average_prediction_hinge(other, mask)
    assert (mixed <= bound + 1e-12).all()


def test_the_max_hinge_is_not_convex():
    """The max prediction hinge is higher between two scorings with different best candidates than at both."""
    mask = np.array([[True, True, False]])
    a, b = np.array([[2.0, -2.0, 0.0]]), np.array([[-2.0, 2.0, 0.0]])
    assert max_prediction_hinge((a + b) / 2, mask) > max(max_prediction_hinge(a, mask), max_prediction_hinge(b, mask))


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
@settings(deadline=None)
def test_adding_a_constant_to_all_scores_changes_nothing(loss, seed):
    """The losses depend only on differences of scores."""
    scores, mask = draw(seed)
    np.testing.assert_allclose(loss(scores + 2.0, mask), loss(scores, mask), rtol=0, atol=1e-12)
