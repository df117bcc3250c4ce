"""Diffusion with weights of the classes: fixed points of plain sweeps, and the limits of the weights."""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import problem

TIGHT = {"tol": 1e-13, "max_iter": 20_000}


def test_a_row_of_nearly_equal_weights_is_nearly_unlabeled():
    """For harmonic functions the result is continuous at equal weights."""
    W, mask = problem("exact")
    near = mask.astype(float)
    near[np.flatnonzero(mask.all(axis=1))[::2], 0] = 1 - 1e-9
    solution = solve_harmonic(W, near, **TIGHT)
    assert solution.converged
    expected = solve_harmonic(W, mask, **TIGHT).distributions
    np.testing.assert_allclose(solution.distributions, expected, rtol=0, atol=1e-6)


def test_a_weak_component_converges_with_weights():
    """Two rows that are connected strongly to each other and weakly to labels converge to the fixed point of sweeps."""
    W = np.zeros((4, 4))
    for i, j, weight in ((0, 1, 1e-2), (1, 2, 1.0), (2, 3, 2e-2)):
        W[i, j] = W[j, i] = weight
    weights = np.array([[1, 0, 0], [0.9, 1, 0.8], [1, 0.95, 0.7], [0, 1.0, 0]])
    solution = solve_harmonic(sp.csr_array(W), weights, tol=1e-11)
    assert solution.converged
    assert solution.n_iter < 2000
    np.testing.assert_allclose(solution.distributions, oracle.sweep_harmonic(W, weights, 6000), rtol=0, atol=1e-8)
