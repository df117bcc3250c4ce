"""Tests of the smoothed max prediction hinge and of the compiled hinge."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oneof.solvers.plsvm.annealing import SmoothedHinge
from oneof.solvers.plsvm.level_sums import SummedLevels
from oneof.solvers.plsvm.problem import best_scores
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
    value, hinge = SmoothedHinge(mask)(single, T, gradient)
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
    levels = SummedLevels.from_evidence(weights)
    single = np.asfortranarray(scores, dtype=np.float32)
    gradient = np.empty(levels.mask.shape, dtype=np.float32, order="F")
    hinge = SmoothedHinge(levels.mask, levels)
    value, hard = hinge(single, T, gradient)
    sets = [(i, mass, candidates) for i, row in enumerate(weights) for mass, candidates in level_sets(row)]
    expected = np.zeros_like(scores)
    losses = np.zeros((2, len(scores)))
    for i, mass, candidates in sets:
        mask = np.isin(np.arange(scores.shape[1]), candidates)[None]
        one = np.empty((1, scores.shape[1]), dtype=np.float32, order="F")
        losses[:, i] += mass * np.array(SmoothedHinge(mask)(np.asfortranarray(single[[i]]), T, one))
        expected[i] += mass * one[0]
    np.testing.assert_allclose(hinge.sum_by_row(gradient), expected, atol=1e-5)
    assert (value, hard) == pytest.approx(tuple(losses.mean(axis=1)), rel=1e-5)


@pytest.mark.parametrize("order", "CF")
def test_sums_over_the_sets_of_a_row(order):
    """The sums of values over the sets of each row equal those of a loop, in both memory orders."""
    levels = SummedLevels.from_evidence(graded(draw()[1]))
    values = np.asarray(np.random.default_rng(0).normal(size=levels.mask.shape), order=order)
    expected = np.zeros((300, values.shape[1]))
    np.add.at(expected, levels.row, values)
    np.testing.assert_allclose(levels.sum_by_row(values), expected, rtol=1e-12, atol=1e-14)


def test_it_converges_to_the_hinge():
    """The smoothed hinge is within T log K of the hinge."""
    scores, mask = draw()
    single = np.asfortranarray(scores, dtype=np.float32)
    for T in (0.3, 0.03, 0.003):
        value, hinge = SmoothedHinge(mask)(single, T, np.empty_like(single))
        assert abs(value - hinge) <= T * np.log(mask.shape[1]) + 1e-5


def test_best_scores_are_those_of_the_losses():
    """The compiled loop finds the best scores in and outside the sets, and the first of equal candidates."""
    scores, mask = draw()
    scores = np.round(scores)
    for layout in (np.asfortranarray, np.ascontiguousarray):
        best = best_scores(layout(scores), mask)
        np.testing.assert_array_equal(best.inside, np.where(mask, scores, -np.inf).max(axis=1))
        np.testing.assert_array_equal(best.chosen, np.where(mask, scores, -np.inf).argmax(axis=1))
        np.testing.assert_array_equal(best.outside, best_outside(scores, mask))
