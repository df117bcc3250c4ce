"""CLPL and PLEM: objectives of linear scores, their derivatives, minima and stationary points."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import approx_fprime

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax
from oneof.solvers import lbfgs
from oneof.solvers.clpl import CLPLProblem, ascend, minimize, solve_clpl
from oneof.solvers.plem import PLEMProblem, solve_plem
from tests.estimators.panel import table
from tests.oracles import clpl, plem
from tests.oracles.levels import stacked
from tests.weights import draw_weights, evidences

# -- Objectives and gradients of both ---------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["CLPL", 0.0, 0.5], ids=["CLPL", "PLEM", "PLEM with entropies"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@evidences
def test_objective_and_gradient(loss, fit_intercept, evidence_of):
    """The objective equals the oracle, and the gradient its numerical derivative, for dense and sparse rows."""
    X, mask = table(40)
    mask, rng = evidence_of(mask), np.random.default_rng(1)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=40)
    for rows in (X, sp.csr_array(X)):
        if loss == "CLPL":
            p = CLPLProblem.from_evidence(rows, mask, 0.7, weight, fit_intercept=fit_intercept)
        else:
            p = PLEMProblem.from_evidence(rows, mask, 0.7, loss, weight, fit_intercept=fit_intercept)

        def value(flat, p=p):
            W = flat.reshape(p.shape)
            return p.point(W, p.matvec(W)).value

        for _ in range(5):
            W = rng.normal(size=p.shape)
            V, b = W[:, : X.shape[1]], W[:, -1] if fit_intercept else np.zeros(len(W))
            if loss == "CLPL":
                expected = clpl.objective(V, b, X, mask, 0.7, weight)
            else:
                expected = -plem.objective(V, b, X, mask, 0.7, loss, weight) / 0.7
            assert value(W.ravel()) == pytest.approx(expected, rel=1e-12)
            numerical = approx_fprime(W.ravel(), value, 1e-7).reshape(p.shape)
            gradient = p.gradient(p.point(W, p.matvec(W)))
            np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4 * np.abs(gradient).max())


# -- CLPL -------------------------------------------------------------------------------------------------------------


weighted = pytest.mark.parametrize("is_weighted", [False, True], ids=["sets", "weights"])


def clpl_problem(seed=0, *, is_weighted=False, **options):
    X, mask = table(40, seed=seed)
    mask = draw_weights(mask) if is_weighted else mask
    weight = np.random.default_rng(seed).choice([0.0, 0.5, 2.0], size=40)
    return X, mask, weight, CLPLProblem.from_evidence(X, mask, 0.7, weight, **{"fit_intercept": True, **options})


@weighted
def test_curvature_is_the_derivative_of_the_gradient(is_weighted):
    """Away from kinks, the Hessian product is the numerical derivative of the gradient along a direction."""
    _, _, _, p = clpl_problem(is_weighted=is_weighted)
    rng = np.random.default_rng(2)
    W, v = rng.normal(size=(2, *p.shape))
    bent = p.hvp(p.loss_curvatures(p.matvec(W)), v)
    ahead, behind = (W + sign * 1e-6 * v for sign in (1, -1))
    slopes = [p.gradient(p.point(V, p.matvec(V))) for V in (ahead, behind)]
    numerical = (slopes[0] - slopes[1]) / 2e-6
    np.testing.assert_allclose(bent, numerical, rtol=1e-5, atol=1e-5 * np.abs(bent).max())


@pytest.mark.parametrize("case", ["dense", "intercept", "dual ascent"])
def test_weights_are_rows_for_each_level_set(case):
    """The minimum for weights is that of the level sets as rows, with their masses as sample weights."""
    rng = np.random.default_rng(3)
    X, mask = table(80)
    weights, weight = draw_weights(mask), rng.choice([0.5, 1.0, 2.0], size=80)
    if case == "dual ascent":
        X = sp.random_array((80, 20_000), density=0.003, rng=rng).tocsr()
    options = {"C": 0.3, "fit_intercept": case == "intercept"}
    solution = solve_clpl(X, weights, sample_weight=weight, **options)
    rows, masses, sets = stacked(weights)
    expected = solve_clpl(X[rows], sets, sample_weight=weight[rows] * masses, **options)
    assert solution.converged
    assert solution.objective == pytest.approx(expected.objective, rel=1e-12)
    np.testing.assert_allclose(solution.weights, expected.weights, atol=1e-7 * np.abs(expected.weights).max())


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1.0, np.array([1e4, 1.0, 1e-3, 10.0])], ids=["even", "ill-scaled"])
def test_the_gradient_vanishes_at_the_minimum(C, fit_intercept, scale):
    """Optimality: the gradient is 0 to rounding, relative to the size of its terms."""
    X, mask = table(80)
    X = X * scale
    options = {"sample_weight": np.ones(80), "fit_intercept": fit_intercept, "max_iter": 500, "tol": 1e-9}
    solution = solve_clpl(X, mask, C=C, **options)
    assert solution.converged
    p = CLPLProblem.from_evidence(X, mask, C, np.ones(80), fit_intercept=fit_intercept)
    slopes = np.abs(p.point(solution.weights, p.matvec(solution.weights)).by_score)
    terms = np.abs(solution.weights) + p.rmatvec(slopes, np.abs(p.X))
    assert np.all(np.abs(solution.gradient) <= 1e-6 * terms + 1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_dual_ascent_bounds_the_distance_from_the_minimum(C):
    """The gap is at least f - min f for any `tol`; if the ascent converges, it reaches the minimum."""
    X, mask = table(80)
    p = CLPLProblem.from_evidence(X, mask, C, np.random.default_rng(0).choice([0.5, 2.0], size=80), fit_intercept=False)
    least = minimize(p, max_iter=1000, tol=1e-10).objective
    for tol in (1e-1, 1e-4, 1e-15):
        weights, gap = ascend(p, tol=tol, rng=np.random.default_rng(0))
        value = p.objective(weights, p.matvec(weights))
        assert value - least <= gap * value + 1e-12 * value
        assert value >= least * (1.0 - 1e-12)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_sparse_rows_of_many_features_have_the_minimum_of_newton_steps(C, fit_intercept):
    """The result equals that of Newton steps if dual ascent reaches the minimum, stops early or is not used."""
    rng = np.random.default_rng(3)
    X = sp.random_array((200, 3000), density=0.01, format="csr", rng=rng)
    X = sp.vstack([X, sp.csr_array((1, 3000))]).tocsr()  # including a row of zeros
    mask = rng.random((201, 4)) < 0.3
    mask[np.arange(201), rng.integers(4, size=201)] = True
    weight = rng.choice([0.0, 1.0, 3.0], size=201)
    solution = solve_clpl(X, mask, C=C, sample_weight=weight, fit_intercept=fit_intercept)
    p = CLPLProblem.from_evidence(X, mask, C, weight, fit_intercept=fit_intercept)
    assert p.block_cost == np.inf
    alone = minimize(p, max_iter=1000, tol=1e-8)
    assert solution.converged
    assert solution.objective == pytest.approx(alone.objective, rel=1e-12)
    np.testing.assert_allclose(solution.weights, alone.weights, atol=1e-6 * np.abs(alone.weights).max())
    assert fit_intercept or solution.n_iter == 1


def test_dense_rows_with_few_nonzeros_are_solved_as_sparse_rows():
    """Dense rows with few nonzeros have the same minimum as CSR rows, and become CSR rows in the solver."""
    rng = np.random.default_rng(0)
    X = sp.random_array((100, 60), density=0.05, rng=rng).tocsr()
    mask = rng.random((100, 4)) < 0.4
    mask[np.arange(100), rng.integers(4, size=100)] = True
    assert sp.issparse(CLPLProblem.from_evidence(X.toarray(), mask, 1.0, np.ones(100), fit_intercept=False).X)
    dense, sparse = (solve_clpl(rows, mask, C=1.0, sample_weight=np.ones(100)) for rows in (X.toarray(), X))
    np.testing.assert_allclose(dense.weights, sparse.weights, rtol=1e-10, atol=1e-12)


# -- PLEM -------------------------------------------------------------------------------------------------------------


both = pytest.mark.parametrize("entropy_weight", [0.0, 0.5])
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])


def plem_problem(X, mask, weight, entropy_weight, fit_intercept):
    return PLEMProblem.from_evidence(X, mask, 0.7, entropy_weight, weight, fit_intercept=fit_intercept)


def solved(X, mask, **options):
    return solve_plem(X, mask, **{"lam": 1.0, "sample_weight": np.ones(len(mask)), **options})


@both
@intercepts
@pytest.mark.parametrize("lam", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1.0, np.array([1e4, 1.0, 1e-3, 10.0])], ids=["even", "ill-scaled"])
@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centered", "far off"])
def test_the_solution_is_stationary(lam, entropy_weight, fit_intercept, scale, offset):
    """The gradient at the solution is 0 to rounding, relative to the size of its terms."""
    X, mask = table(80)
    X = (X + offset) * scale
    solution = solved(X, mask, lam=lam, entropy_weight=entropy_weight, fit_intercept=fit_intercept, tol=1e-9)
    assert solution.converged
    p = PLEMProblem.from_evidence(X, mask, lam, entropy_weight, np.ones(80), fit_intercept=fit_intercept)
    terms = np.abs(p.penalized(solution.weights)) + p.rmatvec(np.broadcast_to(p.cost, p.evidence.shape), np.abs(p.X))
    assert np.all(np.abs(solution.gradient) <= 1e-6 * terms)


@both
@intercepts
@evidences
def test_the_objective_never_decreases(entropy_weight, fit_intercept, evidence_of):
    """F never increases by more than the rounding of single precision, from its value at W = 0 to the oracle's."""
    X, mask = table(200, K=6, seed=3)
    mask = evidence_of(mask)
    solution = solved(X, mask, lam=0.01, entropy_weight=entropy_weight, fit_intercept=fit_intercept)
    W, b = solution.weights[:, :4], solution.weights[:, 4] if fit_intercept else np.zeros(6)
    for path, weights, intercept in zip(solution.objective_path[[0, -1]], (0 * W, W), (0 * b, b), strict=True):
        assert -0.01 * path == pytest.approx(
            plem.objective(weights, intercept, X, mask, 0.01, entropy_weight, np.ones(200)), rel=1e-10
        )
    assert np.all(np.diff(solution.objective_path) <= 1e-6 * solution.objective_path[1:])


@pytest.mark.parametrize("is_member", [False, True], ids=["in no set", "in every set"])
def test_an_optimum_at_infinity_converges(is_member):
    """The intercept of a class in no set, or in every one, has no finite optimum; the solver stops near its limit."""
    X, mask = table(80)
    mask[mask.all(axis=1)] = [True, False, False]
    solution = solved(X, np.column_stack([mask, np.full(80, is_member)]), fit_intercept=True)
    assert solution.converged
    p = softmax(X @ solution.weights[:, :4].T + solution.weights[:, 4])[:, 3]
    assert p.min() > 1 - 1e-5 if is_member else p.max() < 1e-5


def exact(n=80, K=3):
    """Return rows of clusters and a mask of exact labels."""
    X, mask = table(n, K=K)
    return X, np.eye(K, dtype=bool)[mask.argmax(axis=1)]


@intercepts
@pytest.mark.parametrize("exact_labels", [False, True], ids=["sets", "exact"])
def test_rows_of_few_nonzero_numbers_are_converted(fit_intercept, exact_labels):
    """Dense rows of few nonzero numbers, which are converted, and CSR rows have the solution of dense products."""
    rng = np.random.default_rng(0)
    mask = exact()[1] if exact_labels else table(80)[1]
    X = np.where(rng.random((80, 60)) < 0.03, rng.normal(size=(80, 60)), 0.0)
    options = {"lam": 0.1, "fit_intercept": fit_intercept, "tol": 1e-9}
    converted, sparse = solved(X, mask, **options), solved(sp.csr_array(X), mask, **options)
    np.testing.assert_array_equal(converted.weights, sparse.weights)
    dense = PLEMProblem.from_evidence(
        X + 1e-300, mask, 0.1, 0.0, np.ones(80), fit_intercept=fit_intercept
    )  # no number is 0
    gradient = dense.gradient(dense.point(converted.weights, dense.matvec(converted.weights)))
    assert not sp.issparse(dense.X)
    assert np.abs(gradient).max() < 1e-7


def test_numbers_beyond_single_precision_are_fitted():
    """Features whose squares overflow single precision are fitted by steps in double precision."""
    X, mask = table(80)
    large, small = solved(X * 1e30, mask, lam=1e60, tol=1e-9), solved(X, mask, tol=1e-9)
    assert large.converged
    np.testing.assert_allclose(large.weights * 1e30, small.weights, rtol=1e-6, atol=1e-9)


@evidences
def test_a_set_of_vanishing_probability_is_evaluated(evidence_of):
    """Losses and q are exact if the scores of a set are far below the others."""
    mask = evidence_of(np.array([[True, True, False], [True, False, False], [False, True, True]]))
    p = plem_problem(np.eye(3), mask, np.ones(3), 0.0, fit_intercept=False)
    scores = np.array([[-900.0, -901.0, 900.0], [-2000.0, 5.0, 0.0], [800.0, -3.0, -4.0]])
    at = p.point(np.zeros((3, 3)), scores)
    assert 0.7 * at.value == pytest.approx(-log_likelihoods(scores, mask).sum(), rel=1e-12)
    np.testing.assert_allclose(0.7 * at.by_score, softmax(scores) - masked_softmax(scores, mask), atol=1e-14)


def test_a_warm_start_at_the_solution_stops_at_once():
    """A start at the solution takes no step."""
    X, mask = table(80)
    cold = solved(X, mask)
    warm = solved(X, mask, initial=cold.weights)
    assert warm.n_iter <= 1
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-9, atol=1e-12)


@intercepts
def test_blocks_are_those_of_the_hessian(monkeypatch, fit_intercept):
    """With exact labels M is the block diagonal of the Hessian, between projections on weights whose sum is 0."""
    monkeypatch.setattr(lbfgs, "MIN_CURVATURE", 0.0)
    X, mask = exact()
    p = plem_problem(X, mask, np.ones(80), 0.0, fit_intercept)
    W = np.random.default_rng(0).normal(size=p.shape)
    solve, K = p.preconditioner(p.point(W, p.matvec(W)), "blocks"), 3
    centering = np.kron(np.eye(K) - 1.0 / K, np.eye(p.shape[1]))
    units = np.eye(W.size).reshape(-1, *p.shape)
    inverse = np.array([solve((centering @ unit.ravel()).reshape(p.shape)).ravel() for unit in units])
    gradients = [p.gradient(p.point(W + d, p.matvec(W + d))) for d in np.concatenate([1e-5 * units, -1e-5 * units])]
    hessian = (np.array(gradients[: W.size]) - gradients[W.size :]).reshape(W.size, -1) / 2e-5
    same = np.kron(np.eye(K, dtype=bool), np.ones(2 * p.shape[1:], dtype=bool))
    expected = centering @ np.linalg.inv(np.where(same, hessian, 0.0)) @ centering
    np.testing.assert_allclose(inverse, expected, atol=1e-4 * np.abs(expected).max())


def test_the_default_tolerance_is_that_of_the_weights():
    """With the default tolerance of 1e-6 the weights have a relative error of at most 1e-5."""
    X, mask = exact(200, K=4)
    exactly = solved(X, mask, lam=0.01, fit_intercept=True, tol=1e-10).weights
    error = np.linalg.norm(solved(X, mask, lam=0.01, fit_intercept=True).weights - exactly)
    assert error <= 1e-5 * np.linalg.norm(exactly)


@evidences
def test_precision_and_preconditioner_do_not_change_the_solution(monkeypatch, evidence_of):
    """Products in single precision and blocks change the number of iterations, not the stationary point."""
    X, mask = table(200, K=4)
    mask = evidence_of(mask)
    expected = solved(X, mask, fit_intercept=True, tol=1e-9)
    for name, value in (("MAX_SINGLE", 0.0), ("MAX_BLOCK_ENTRIES", 0)):
        with monkeypatch.context() as patch:
            patch.setattr(lbfgs, name, value)
            other = solved(X, mask, fit_intercept=True, tol=1e-9)
        assert other.converged
        np.testing.assert_allclose(other.weights, expected.weights, rtol=1e-6, atol=1e-8)
