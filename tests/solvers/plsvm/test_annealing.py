"""Tests of the smoothed max prediction hinge and of the compiled hinge."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oneof.solvers.plsvm.cccp import SmoothedHinge
from oneof.solvers.plsvm.problem import best_scores
from oneof.solvers.stacked_sets import StackedSets
from tests.oracles.levels import level_sets
from tests.oracles.losses import best_outside, max_prediction_hinge
from tests.solvers.plsvm.problems import graded


def draw(n=300, K=7, seed=0, spread=3.0):
    rng = np.random.default_rng(seed)
    mask = rng.random((n, K)) < 0.4
    mask[np.arange(n), rng.integers(0, K, n)] = True
    mask[mask.all(axis=1), 0] = False
    return rng.normal(size=(n, K)) * spread, mask


def smoothed(scores, mask, T):
    """Return T log(sum_in e^(s/T) + sum_out e^((1+s)/T)) - T log sum_in e^(s/T), by the definition."""
    all_of_them = logsumexp((scores + ~mask) / T, axis=1)
    return T * (all_of_them - logsumexp(np.where(mask, scores / T, -np.inf), axis=1))


@pytest.mark.parametrize("T", [1.0, 0.1, 0.01])
@pytest.mark.parametrize("n", [1, 255, 256, 600])
def test_value_and_gradient(T, n):
    """Value and gradient equal the formula to single precision; the gradient is a feasible dual solution."""
    scores, mask = draw(n)
    single = np.asfortranarray(scores, dtype=np.float32)
    gradient = np.empty_like(single)
    value, hinge = SmoothedHinge(StackedSets.from_evidence(mask))(single, T, gradient)
    assert value == pytest.approx(smoothed(scores, mask, T).mean(), rel=1e-5)
    assert hinge == pytest.approx(max_prediction_hinge(scores, mask).mean(), rel=1e-6)
    step = 1e-5 * T
    for k in range(mask.shape[1]):
        shift = np.zeros_like(scores)
        shift[:, k] = step
        numerical = (smoothed(scores + shift, mask, T) - smoothed(scores - shift, mask, T)) / (2 * step)
        np.testing.assert_allclose(gradient[:, k], numerical, atol=2e-3 if T < 0.1 else 2e-4)
    assert (gradient[~mask] >= 0).all()
    assert (gradient[mask] <= 0).all()
    tau = np.where(mask, 0.0, gradient).sum(axis=1)
    assert (tau <= 1 + 1e-5).all()
    np.testing.assert_allclose(gradient.sum(axis=1), 0, atol=1e-5)


def test_weights_are_sums_over_level_sets():
    """Values and gradients of weighted rows are the sums of those of the level sets, times their masses."""
    T, scores = 0.1, draw()[0]
    weights = graded(draw()[1])
    sets = StackedSets.from_evidence(weights)
    single = np.asfortranarray(scores, dtype=np.float32)
    gradient = np.empty(sets.mask.shape, dtype=np.float32, order="F")
    value, hard = SmoothedHinge(sets)(single, T, gradient)
    expected = np.zeros_like(scores)
    losses = np.zeros((2, len(scores)))
    for i, row in enumerate(weights):
        for mass, candidates in level_sets(row):
            mask = np.isin(np.arange(scores.shape[1]), candidates)[None]
            one = np.empty((1, scores.shape[1]), dtype=np.float32, order="F")
            hinge = SmoothedHinge(StackedSets.from_evidence(mask))
            losses[:, i] += mass * np.array(hinge(np.asfortranarray(single[[i]]), T, one))
            expected[i] += mass * one[0]
    np.testing.assert_allclose(sets.sum_by_row(gradient), expected, atol=1e-5)
    assert (value, hard) == pytest.approx(tuple(losses.mean(axis=1)), rel=1e-5)


def test_best_scores_are_those_of_the_losses():
    """The compiled loop finds the best scores in and outside the sets, and the first of equal candidates."""
    scores, mask = draw()
    scores = np.round(scores)
    for layout in (np.asfortranarray, np.ascontiguousarray):
        best = best_scores(layout(scores), mask)
        np.testing.assert_array_equal(best.inside, np.where(mask, scores, -np.inf).max(axis=1))
        np.testing.assert_array_equal(best.chosen, np.where(mask, scores, -np.inf).argmax(axis=1))
        np.testing.assert_array_equal(best.outside, best_outside(scores, mask))
        np.testing.assert_array_equal(best.rival, np.where(mask, -np.inf, scores).argmax(axis=1))
