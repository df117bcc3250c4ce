"""Tests of the smoothed max prediction hinge and of the compiled hinge."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oneof.solvers.plsvm.cccp import SmoothedHinge
from oneof.solvers.stacked_sets import StackedSets
from tests.oracles.losses import max_prediction_hinge


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
