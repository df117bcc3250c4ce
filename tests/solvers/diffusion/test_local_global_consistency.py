"""Local and global consistency: the closed form, its fixed point, rows far from all labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_local_global_consistency
from tests.oracles import diffusion as oracle
from tests.solvers.diffusion.problems import problem
from tests.weights import evidences

TIGHT = {"tol": 1e-13, "max_iter": 20_000}


@pytest.mark.parametrize("alpha", [0.3, 0.95])
@pytest.mark.parametrize("seed", range(3))
@evidences
def test_rows_of_several_candidates_converge_to_the_fixed_point_of_plain_sweeps(seed, alpha, evidence_of):
    """Many sweeps converge to the same F: weights multiply the labels of the neighbors, and not the mass of a row."""
    W, mask = problem("partial", n=30, K=4, seed=seed)
    evidence = evidence_of(mask)
    solution = solve_local_global_consistency(W, evidence, alpha=alpha, **TIGHT)
    assert solution.converged
    F = oracle.sweep_consistency(W.toarray(), evidence, alpha, 1500)
    np.testing.assert_allclose(solution.distributions * solution.mass[:, None], F, rtol=0, atol=1e-10)
    np.testing.assert_allclose(solution.distributions, F / F.sum(axis=1, keepdims=True), atol=1e-8)
    assert not solution.distributions[~mask & (mask.sum(axis=1) > 1)[:, None]].any()


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.99])
def test_rows_far_from_the_labels_have_accurate_distributions(alpha):
    """On a strip of 1,500 rows with labels at one end, each mass, however small, is that of a sweep."""
    line = sp.diags_array([np.ones(749), np.ones(749)], offsets=[-1, 1])
    W = sp.kron(line, sp.eye_array(2)) + sp.kron(sp.eye_array(750), sp.csr_array([[0.0, 0.1], [0.1, 0.0]]))
    mask = np.ones((1500, 2), dtype=bool)
    mask[:2] = np.eye(2, dtype=bool)
    solution = solve_local_global_consistency(sp.csr_array(W), mask, alpha=alpha, tol=1e-10)
    assert solution.converged
    assert np.isfinite(solution.distributions).all()
    F, root = solution.distributions * solution.mass[:, None], np.sqrt(W.sum(axis=1))[:, None]
    reached = (F > 1e-250) & mask.all(axis=1)[:, None]
    np.testing.assert_allclose((alpha * (W @ (F / root)) / root)[reached], F[reached], rtol=1e-6)


def test_rows_whose_mass_underflows_are_unreachable():
    """At alpha = .5 on a chain, the mass of a label underflows after about 500 edges."""
    n = 1500
    W = sp.csr_array(sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))
    mask = np.ones((n, 2), dtype=bool)
    mask[0] = [True, False]
    solution = solve_local_global_consistency(W, mask, alpha=0.5, max_iter=10_000)
    first = solution.unreachable[0]
    assert 400 < first < 700
    np.testing.assert_array_equal(solution.unreachable, np.arange(first, n))
    np.testing.assert_array_equal(solution.distributions[first:], 0.5)
    np.testing.assert_allclose(solution.distributions[:first], np.tile([1.0, 0.0], (first, 1)), atol=1e-12)
