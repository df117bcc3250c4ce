"""Laws of all methods that spread labels over a graph: no order, no unit, and components without labels."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.markov_walk import solve_markov_walk
from oneof.solvers.diffusion.poisson import solve_poisson
from oneof.solvers.transducer import solve_transduction
from tests.solvers.diffusion.problems import blocks, graph, problem

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


@pytest.mark.parametrize("solve", [solve_local_global_consistency, solve_poisson, solve_transduction])
@pytest.mark.parametrize("size", [1e-280, 1e-3, 1e280])
@KINDS
def test_weights_have_no_unit(solve, size, kind):
    """Scaling all weights changes nothing."""
    W, mask = problem(kind)
    scaled, expected = (solve(one, mask, **OPTIONS[solve]).distributions for one in (size * W, W))
    np.testing.assert_allclose(scaled, expected, atol=1e-8)
