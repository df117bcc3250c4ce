"""Laws of all methods that spread labels over a graph, Markov walks, and Poisson learning."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.diffusion import markov_walk
from oneof.solvers.diffusion.label_propagation import solve_harmonic, solve_local_global_consistency
from oneof.solvers.diffusion.markov_walk import solve_markov_walk
from oneof.solvers.diffusion.poisson import solve_poisson, solve_poisson_cuts
from oneof.solvers.transducer import solve_transduction
from tests.oracles import diffusion as oracle
from tests.oracles import poisson
from tests.solvers.diffusion.problems import blocks, chain, graph, grid, problem
from tests.weights import draw_weights

# -- No order, no unit, and components without labels -----------------------------------------------------------------


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


# -- Markov walks: the definition, the likelihood of EM, unreachable rows ---------------------------------------------


@pytest.fixture(params=["dense", "matrix-free"])
def either_way(request, monkeypatch):
    """Store the labeled columns of P^t, or compute the walks in every pass."""
    monkeypatch.setattr(markov_walk, "_dense_is_faster", lambda *_: request.param == "dense")
    monkeypatch.setattr(markov_walk, "BLOCK_COLUMNS", 5)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("kind", ["exact", "partial", "weights"])
@pytest.mark.parametrize("n_steps", [1, 3, 8])
def test_posteriors_are_those_of_the_definition(kind, n_steps):
    """Start posteriors, likelihoods and predictions equal EM on the dense power of P, iteration for iteration."""
    W, mask = problem("exact" if kind == "exact" else "partial")
    mask = np.maximum(draw_weights(mask), 0.01 * mask) if kind == "weights" else mask
    Q = oracle.start_probabilities(W.toarray(), n_steps, 0.7)
    solution = solve_markov_walk(W, mask, n_steps=n_steps, self_weight=0.7, max_iter=12, tol=0.0)
    assert solution.n_iter == 12
    theta, trace = oracle.walk_em(Q, mask, 12)
    np.testing.assert_allclose(solution.start_posteriors, theta, atol=1e-10)
    np.testing.assert_allclose(solution.log_likelihood, trace, rtol=1e-10)
    p = Q.T @ theta
    p *= np.where(((mask > 0).sum(axis=1) == 1)[:, None], 1.0, mask)
    np.testing.assert_allclose(solution.distributions, p / p.sum(axis=1, keepdims=True), atol=1e-10)


@pytest.mark.parametrize("kind", ["exact", "partial"])
def test_the_likelihood_never_decreases_and_converges_to_a_maximum(kind):
    """EM increases it in every iteration, and at the end no class of a start node has a larger gradient."""
    W, mask = problem(kind)
    solution = solve_markov_walk(W, mask, n_steps=3, tol=1e-12, max_iter=20_000)
    assert solution.converged
    assert (np.diff(solution.log_likelihood) >= -1e-10).all()
    # Concave in theta on simplices: at the maximum each partial derivative is at most the mean of its node.
    Q = oracle.start_probabilities(W.toarray(), 3)
    labeled = ~mask.all(axis=1)
    inside = np.where(mask, Q.T @ solution.start_posteriors, 0.0).sum(axis=1)
    gradient = Q[:, labeled] @ (mask[labeled] / inside[labeled, None])
    mean = (solution.start_posteriors * gradient).sum(axis=1, keepdims=True)
    assert (gradient - mean).max() < 1e-3 * gradient.max()


@pytest.fixture
def n_stored(monkeypatch):
    """Return a list that records the number of columns whenever they are stored."""
    counts, columns = [], markov_walk._WalkOperator.columns

    def record(operator, labeled, *, dense):
        counts.extend([len(labeled)] * dense)
        return columns(operator, labeled, dense=False)

    monkeypatch.setattr(markov_walk._WalkOperator, "columns", record)
    return counts


@pytest.mark.parametrize("n_steps", [1, 8, 1000])
@pytest.mark.parametrize("k", [6, 59])
def test_columns_of_every_row_are_never_stored(n_stored, n_steps, k):
    """If all rows are labeled, the columns would be an n x n array: every pass is matrix-free, on full graphs too."""
    _, mask = problem("partial")
    mask[mask.all(axis=1), 0] = False
    W = graph(np.random.default_rng(0).normal(size=(60, 2)), k)
    assert np.isfinite(solve_markov_walk(W, mask, n_steps=n_steps).distributions).all()
    assert n_stored == []


def test_columns_of_few_rows_are_stored_once_within_the_memory_limit(n_stored, monkeypatch):
    """The columns of a few labeled rows are stored, and no other columns, unless they exceed the memory limit."""
    W, mask = problem()
    n_labeled = int((~mask.all(axis=1)).sum())
    solve_markov_walk(W, mask)
    assert n_stored == [n_labeled]
    monkeypatch.setattr(markov_walk, "MAX_COLUMN_BYTES", 8 * 60 * n_labeled - 1)
    solve_markov_walk(W, mask)
    assert n_stored == [n_labeled]


def test_rows_beyond_two_walks_of_a_label_are_unreachable():
    """On a chain, t steps lead from a start to the label and t others to a row: more distant rows are uniform."""
    n, t, W = 60, 5, chain(60)
    mask = np.ones((n, 2), dtype=bool)
    mask[0], mask[-1] = [True, False], [False, True]
    solution = solve_markov_walk(W, mask, n_steps=t)
    np.testing.assert_array_equal(solution.unreachable, np.arange(2 * t + 1, n - 2 * t - 1))
    np.testing.assert_allclose(solution.distributions[solution.unreachable], 0.5)


# -- Poisson learning: the equation, its sweeps, components, sets, and cuts of given sizes ----------------------------


@pytest.mark.parametrize("weights", [False, True])
def test_rows_of_several_candidates_are_sources_of_their_weights(weights):
    """Label vectors may be distributions; the labels of such rows are among the candidates."""
    W, mask = problem("partial")
    evidence = draw_weights(mask) if weights else mask
    constant = (evidence == 1).all(axis=1)
    y = evidence[~constant] / evidence[~constant].sum(axis=1, keepdims=True)
    solution = solve_poisson(W, evidence, **TIGHT)
    expected = poisson.scores(W.toarray(), np.flatnonzero(~constant), y)
    np.testing.assert_allclose(solution.scores, expected, atol=1e-8 * np.abs(expected).max())
    several = ~constant & (mask.sum(axis=1) > 1)
    for distributions in (solution.distributions, solve_poisson_cuts(W, evidence, "labels").distributions):
        np.testing.assert_allclose(distributions.sum(axis=1), 1)
        assert not distributions[several][~mask[several]].any()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_first", [15, 30, 50])
def test_cuts_are_those_of_algorithm_2(seed, n_first):
    """With two classes, the rows of the first are the `n_first` rows that prefer it most."""
    W, mask = problem(n=60, K=2, seed=seed)
    labeled = np.flatnonzero(mask.sum(axis=1) == 1)
    expected = poisson.cuts_of_two(W.toarray(), labeled, mask[labeled].astype(float), n_first)
    unlabeled = np.array([n_first, 60 - n_first]) - mask[labeled].sum(axis=0)
    labels = solve_poisson_cuts(W, mask, unlabeled, **TIGHT).distributions.argmax(axis=1)
    np.testing.assert_array_equal(labels, expected)


def test_cuts_of_several_classes_have_the_given_sizes():
    """The sizes are exact up to half a row: those of the labels, and those of the prior in the unlabeled rows."""
    W, mask = problem(n=120, K=4, fraction=0.1)
    sizes = np.array([60, 30, 20, 10])
    unlabeled = sizes - mask[mask.sum(axis=1) == 1].sum(axis=0)
    labels = solve_poisson_cuts(W, mask, unlabeled / unlabeled.sum()).distributions.argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(labels), sizes)


def test_cuts_prefer_the_candidates_of_large_weights():
    """Of two equal rows between two clusters, each gets the candidate of its larger weight."""
    W = sp.csr_array(np.ones((6, 6)) - np.eye(6))
    evidence = np.array([[1, 0], [0, 1], [1, 1], [1, 1], [1, 0.2], [0.2, 1]])
    labels = solve_poisson_cuts(W, evidence, "labels").distributions.argmax(axis=1)
    assert labels[[4, 5]].tolist() == [0, 1]
