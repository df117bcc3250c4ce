"""Tests of the weights of a linear opinion pool."""

import numpy as np
import pytest
from scipy.optimize import minimize

from oneof.solvers.opinion_pool import pool_weights


def likelihoods(n=200, m=4, seed=0):
    """Return likelihoods of members of different quality."""
    rng = np.random.default_rng(seed)
    return rng.beta(np.linspace(1.0, 2.5, m), 1.5, size=(n, m)) + 1e-3


def objective(weights, L):
    """Return the mean log likelihood."""
    return float(np.log(L @ weights).mean())


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_maximize_the_likelihood(seed):
    """No constrained optimizer of scipy finds a larger likelihood, and its weights are the same."""
    L = likelihoods(seed=seed)
    m = L.shape[1]
    sums_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    found = minimize(
        lambda w: -objective(w, L), np.full(m, 1 / m), method="SLSQP", bounds=[(0, 1)] * m, constraints=sums_to_one,
        options={"ftol": 1e-14},
    )  # fmt: skip
    weights = pool_weights(L)
    assert objective(weights, L) >= -found.fun - 1e-6
    np.testing.assert_allclose(weights, found.x, atol=2e-2)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1.0)


def test_copies_share_a_weight_and_factors_of_rows_have_no_effect():
    """Copies of a member have its weight together; a member that is worse in every row has the weight 0."""
    L = likelihoods()
    copied = pool_weights(np.column_stack([L, L[:, -1]]), max_iter=100_000)
    alone = pool_weights(L, max_iter=100_000)
    np.testing.assert_allclose([*copied[:3], copied[3:].sum()], alone, atol=1e-5)
    assert copied[3] == pytest.approx(copied[4])
    factors = np.random.default_rng(2).uniform(0.1, 10.0, len(L))
    np.testing.assert_allclose(pool_weights(L * factors[:, None]), pool_weights(L), rtol=1e-9)
    np.testing.assert_allclose(pool_weights(np.column_stack([L[:, 0], L[:, 0] / 2])), [1.0, 0.0], atol=1e-6)
