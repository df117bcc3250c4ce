"""Laws of all methods that spread labels over a graph: no order, no unit, and components without labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.markov_walk import solve_markov_walk
from oneof.solvers.diffusion.poisson import solve_poisson
from oneof.solvers.transducer import solve_transduction
from tests.oracles import diffusion as oracle
from tests.oracles import poisson
from tests.solvers.diffusion.problems import blocks, graph, grid, problem

TIGHT = {"tol": 1e-13, "max_iter": 20_000}
OPTIONS = {
    solve_harmonic: TIGHT,
    solve_local_global_consistency: TIGHT,
    solve_poisson: TIGHT,
    solve_markov_walk: {},
    solve_transduction: {},
}
SOLVERS = pytest.mark.parametrize("solve", list(OPTIONS), ids=lambda solve: solve.__name__)
KINDS = pytest.mark.parametrize("kind", ["exact", "partial"])


@SOLVERS
def test_components_without_a_label_are_uniform_and_reported(solve):
    """Components and single rows that no label reaches are uniform, reported, and do not change other rows."""
    first, unlabeled = problem(), (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    W, mask = blocks(unlabeled, first, (sp.csr_array((1, 1)), np.ones((1, 3), dtype=bool)))
    solution = solve(W, mask, **OPTIONS[solve])
    np.testing.assert_array_equal(solution.unreachable, [*range(7), 67])
    np.testing.assert_allclose(solution.distributions[solution.unreachable], 1 / 3)
    np.testing.assert_allclose(solution.distributions[7:67], solve(*first, **OPTIONS[solve]).distributions, atol=1e-9)


@pytest.mark.parametrize("solve", [solve_harmonic, solve_local_global_consistency, solve_poisson, solve_transduction])
@pytest.mark.parametrize("size", [1e-280, 1e-3, 1e280])
@KINDS
def test_weights_have_no_unit(solve, size, kind):
    """Scaling all weights, and the penalty and ridge of harmonic functions, changes nothing."""
    W, mask = problem(kind)
    scaled, expected = (
        solve(
            unit * W,
            mask,
            **OPTIONS[solve],
            **({"label_penalty": 2.0 * unit, "ridge": 0.1 * unit} if solve is solve_harmonic else {}),
        ).distributions
        for unit in (size, 1.0)
    )
    np.testing.assert_allclose(scaled, expected, atol=1e-8)


def closed_form(solve, W, mask):
    """Return the exact distributions of the harmonic function or of local and global consistency, or Poisson scores."""
    labeled = mask.sum(axis=1) == 1
    if solve is solve_harmonic:
        return oracle.harmonic(W, labeled, mask)
    if solve is solve_poisson:
        return poisson.scores(W, np.flatnonzero(labeled), mask[labeled].astype(float))
    F = oracle.consistency(W, np.where(labeled[:, None], mask, 0.0), 0.99)
    return F / F.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("solve", [solve_harmonic, solve_local_global_consistency, solve_poisson])
def test_conjugate_gradients_reach_the_direct_solution(solve):
    """On a graph large enough for iterations, the result is that of a factorization, to the tolerance."""
    W, mask = grid(40), np.ones((1600, 4), dtype=bool)
    mask[[0, 39, 1560, 1599]] = np.eye(4, dtype=bool)
    expected = closed_form(solve, W.toarray(), mask)
    name = "scores" if solve is solve_poisson else "distributions"
    loose, tight = (solve(W, mask, tol=tol) for tol in (1e-4, 1e-12))
    assert loose.converged
    assert loose.n_iter < tight.n_iter
    np.testing.assert_allclose(getattr(tight, name), expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert np.abs(getattr(loose, name) - expected).max() < 1e-3 * np.abs(expected).mean()
    assert not solve(W, mask, max_iter=3).converged
