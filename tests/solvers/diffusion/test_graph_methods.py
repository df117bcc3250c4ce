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
def test_components_do_not_affect_each_other(solve):
    """Components and single rows that no label reaches are uniform and reported; others have their own labels only."""
    unlabeled = (graph(np.random.default_rng(3).normal(size=(7, 2))), np.ones((7, 3), dtype=bool))
    one_label = (graph(np.random.default_rng(2).normal(size=(8, 2))), np.ones((8, 3), dtype=bool))
    one_label[1][3] = [False, True, False]
    single = (sp.csr_array((1, 1)), np.ones((1, 3), dtype=bool))
    # Eigenvectors are those of all components, and so is the number of iterations of EM.
    joint = (solve_transduction, solve_markov_walk)
    labeled = [problem()] if solve in joint else [problem(), problem(seed=1), one_label]
    solution = solve(*blocks(unlabeled, single, *labeled), **OPTIONS[solve])
    np.testing.assert_array_equal(solution.unreachable, range(8))
    np.testing.assert_allclose(solution.distributions[:8], 1 / 3)
    alone = [solve(*part, **OPTIONS[solve]).distributions for part in labeled]
    np.testing.assert_allclose(solution.distributions[8:], np.concatenate(alone), atol=1e-9)
    if len(labeled) > 1:
        np.testing.assert_allclose(alone[-1], np.tile([0.0, 1.0, 0.0], (8, 1)), atol=1e-12)


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


def closed_form(solve, W, mask, alpha=0.99):
    """Return the exact distributions of harmonic functions, F of local and global consistency, or Poisson scores."""
    labeled = mask.sum(axis=1) == 1
    if solve is solve_harmonic:
        return oracle.harmonic(W, labeled, mask)
    if solve is solve_poisson:
        return poisson.scores(W, np.flatnonzero(labeled), mask[labeled].astype(float))
    return oracle.consistency(W, np.where(labeled[:, None], mask, 0.0), alpha)


@pytest.mark.parametrize(
    ("solve", "n", "options"),
    [
        (solve_harmonic, 60, {}),
        *((solve_local_global_consistency, 60, {"alpha": alpha}) for alpha in (0.1, 0.9, 0.99)),
        *((solve_poisson, n, {"tol": 1e-12, "max_iter": 20_000}) for n in (60, 700)),
    ],
)
@pytest.mark.parametrize("seed", range(4))
def test_exact_labels_have_the_closed_form(solve, n, options, seed):
    """F_U is L_UU^-1 W_UL Y_L; F is (1 - alpha) (I - alpha S)^-1 Y; L u is the labels minus their mean."""
    W, mask = problem(n=n, seed=seed, fraction=0.2 if n == 60 else 12 / n)
    solution = solve(W, mask, **options)
    F = closed_form(solve, W.toarray(), mask, options.get("alpha"))
    assert solution.converged
    assert not len(solution.unreachable)
    if solve is solve_poisson:
        np.testing.assert_allclose(solution.scores, F, atol=1e-6 * np.abs(F).max())
        np.testing.assert_allclose(solution.scores.sum(axis=1), 0, atol=1e-9 * np.abs(F).max())
        np.testing.assert_array_equal(solution.distributions.argmax(axis=1), F.argmax(axis=1))
        return
    np.testing.assert_allclose(solution.distributions, F / F.sum(axis=1, keepdims=True), atol=1e-10)
    if solve is solve_local_global_consistency:
        np.testing.assert_allclose(solution.mass, F.sum(axis=1), rtol=1e-8)


@pytest.mark.parametrize("solve", [solve_harmonic, solve_local_global_consistency, solve_poisson])
def test_conjugate_gradients_reach_the_direct_solution(solve):
    """On a graph large enough for iterations, the result is that of a factorization, to the tolerance."""
    W, mask = grid(40), np.ones((1600, 4), dtype=bool)
    mask[[0, 39, 1560, 1599]] = np.eye(4, dtype=bool)
    expected = closed_form(solve, W.toarray(), mask)
    name = "scores" if solve is solve_poisson else "distributions"
    expected = expected if solve is solve_poisson else expected / expected.sum(axis=1, keepdims=True)
    loose, tight = (solve(W, mask, tol=tol) for tol in (1e-4, 1e-12))
    assert loose.converged
    assert loose.n_iter < tight.n_iter
    np.testing.assert_allclose(getattr(tight, name), expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
    assert np.abs(getattr(loose, name) - expected).max() < 1e-3 * np.abs(expected).mean()
    assert not solve(W, mask, max_iter=3).converged
