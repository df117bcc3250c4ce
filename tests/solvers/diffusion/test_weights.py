"""Diffusion with weights of the classes: fixed points of plain sweeps, and the limits of the weights."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import balance_mass, problem, weighted

TIGHT = {"tol": 1e-13, "max_iter": 20_000}


@pytest.mark.parametrize("options", [{}, {"label_penalty": 0.5}, {"label_penalty": 0.5, "ridge": 0.1}, {"ridge": 0.2}])
@pytest.mark.parametrize("seed", range(2))
def test_harmonic_functions_are_the_fixed_point_of_plain_sweeps(seed, options):
    """In each sweep the mean of the neighbors of a row is multiplied by its weights."""
    W, mask = problem("partial", n=30, K=4, seed=seed)
    weights = weighted(mask, seed)
    renamed = {"c": options.get("label_penalty"), "ridge": options.get("ridge", 0.0)}
    solution = solve_harmonic(W, weights, **options, **TIGHT)
    assert solution.converged
    expected = oracle.sweep_harmonic(W.toarray(), weights, 3000, **renamed)
    np.testing.assert_allclose(solution.distributions, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.3, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_consistency_is_the_fixed_point_of_plain_sweeps(seed, alpha):
    """The weights multiply the labels of the neighbors, and the mass of a row does not depend on them."""
    W, mask = problem("partial", n=30, K=4, seed=seed)
    weights = weighted(mask, seed)
    solution = solve_local_global_consistency(W, weights, alpha=alpha, **TIGHT)
    assert solution.converged
    F = oracle.sweep_consistency(W.toarray(), weights, alpha, 1500)
    np.testing.assert_allclose(solution.distributions * solution.mass[:, None], F, rtol=0, atol=1e-10)


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


def test_weighted_rows_are_not_scaled_by_class_mass_normalization():
    """Weighted rows count with their distributions, and only unlabeled rows are scaled."""
    W, mask = problem("partial", n=40)
    weights = weighted(mask)
    solution = solve_harmonic(W, weights)
    balanced = balance_mass(solution.distributions, weights)
    unlabeled = (weights == 1).all(axis=1)
    np.testing.assert_array_equal(balanced[~unlabeled], solution.distributions[~unlabeled])
    exact = (weights > 0).sum(axis=1) == 1
    q = 1.0 + np.where(exact[:, None], weights, solution.distributions)[~unlabeled].sum(axis=0)
    scaled = solution.distributions[unlabeled] * q / solution.distributions[unlabeled].sum(axis=0)
    np.testing.assert_allclose(balanced[unlabeled], scaled / scaled.sum(axis=1, keepdims=True), rtol=1e-10)
