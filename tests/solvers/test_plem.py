"""Tests of the PLEM solver: objective, derivatives and stationary point."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from oneof.likelihoods import log_likelihoods, masked_softmax, softmax
from oneof.solvers.plem import PLEMProblem, solve_plem, trust_region
from oneof.solvers.plem.row_hessians import multiply_hessians
from tests.estimators.panel import table
from tests.oracles import plem as oracle
from tests.weights import draw_weights, informative

both = pytest.mark.parametrize("entropy_weight", [0.0, 0.5])
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
evidences = pytest.mark.parametrize("evidence_of", [np.asarray, draw_weights], ids=["sets", "weights"])


def problem(X, mask, weight, entropy_weight, fit_intercept):
    return PLEMProblem.from_evidence(X, mask, 0.7, entropy_weight, weight, fit_intercept=fit_intercept)


def solved(X, mask, **options):
    return solve_plem(X, mask, **{"lam": 1.0, "sample_weight": np.ones(len(mask)), **options})


@both
@intercepts
@evidences
def test_objective_and_gradient(entropy_weight, fit_intercept, evidence_of):
    """The objective equals the oracle, and the gradient its numerical derivative, for dense and sparse rows."""
    X, mask = table(40)
    mask = evidence_of(mask)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], size=40)
    rng = np.random.default_rng(1)
    for rows in (X, sp.csr_array(X)):
        p = problem(rows, mask, weight, entropy_weight, fit_intercept)

        def value(flat, p=p):
            W = flat.reshape(p.shape)
            scores = p.matvec(W)
            return p.objective(W, p.evaluate(scores))

        for _ in range(5):
            W = rng.normal(size=p.shape)
            b = W[:, -1] if fit_intercept else np.zeros(len(W))
            expected = oracle.objective(W[:, : X.shape[1]], b, X, mask, 0.7, entropy_weight, weight)
            assert -0.7 * value(W.ravel()) == pytest.approx(expected, rel=1e-12)
            numerical = approx_fprime(W.ravel(), value, 1e-7).reshape(p.shape)
            gradient = p.gradient(W, p.evaluate(p.matvec(W)))
            np.testing.assert_allclose(gradient, numerical, rtol=1e-4, atol=1e-4 * np.abs(gradient).max())


@both
@intercepts
@evidences
def test_the_hessian_product_is_the_derivative_of_the_gradient(entropy_weight, fit_intercept, evidence_of):
    """The Hessian product is the numerical derivative of the gradient along any direction."""
    X, mask = table(40)
    mask = evidence_of(mask)
    p = problem(X, mask, np.ones(40), entropy_weight, fit_intercept)
    W, v = np.random.default_rng(2).normal(size=(2, *p.shape))
    ahead, behind = (W + sign * 1e-6 * v for sign in (1, -1))
    numerical = (
        p.gradient(ahead, p.evaluate(p.matvec(ahead))) - p.gradient(behind, p.evaluate(p.matvec(behind)))
    ) / 2e-6
    product = p.hvp(v, p.evaluate(p.matvec(W)))
    np.testing.assert_allclose(product, numerical, rtol=1e-5, atol=1e-5 * np.abs(product).max())


@both
@intercepts
@pytest.mark.parametrize("lam", [1e-4, 1.0, 1e3])
@pytest.mark.parametrize("scale", [1.0, np.array([1e4, 1.0, 1e-3, 10.0])], ids=["even", "ill-scaled"])
@pytest.mark.parametrize("offset", [0.0, 100.0], ids=["centered", "far off"])
def test_the_solution_is_stationary(lam, entropy_weight, fit_intercept, scale, offset):
    """The gradient at the solution is 0 to rounding, relative to the size of its terms."""
    X, mask = table(80)
    X = (X + offset) * scale
    solution = solved(X, mask, lam=lam, entropy_weight=entropy_weight, fit_intercept=fit_intercept)
    assert solution.converged
    p = PLEMProblem.from_evidence(X, mask, lam, entropy_weight, np.ones(80), fit_intercept=fit_intercept)
    terms = np.abs(p.penalized(solution.weights)) + p.rmatvec(np.broadcast_to(p.cost, p.evidence.shape), np.abs(p.X))
    assert np.all(np.abs(solution.gradient) <= 1e-6 * terms)


@both
@intercepts
@evidences
def test_the_objective_never_decreases(entropy_weight, fit_intercept, evidence_of):
    """Each step increases the objective, from its value at W = 0 to that of the oracle at the end."""
    X, mask = table(200, K=6, seed=3)
    mask = evidence_of(mask)
    solution = solved(X, mask, lam=0.01, entropy_weight=entropy_weight, fit_intercept=fit_intercept)
    W, b = solution.weights[:, :4], solution.weights[:, 4] if fit_intercept else np.zeros(6)
    for path, weights, intercept in zip(solution.objective_path[[0, -1]], (0 * W, W), (0 * b, b), strict=True):
        assert path == pytest.approx(
            oracle.objective(weights, intercept, X, mask, 0.01, entropy_weight, np.ones(200)), rel=1e-10
        )
    assert np.all(np.diff(solution.objective_path) >= -1e-13 * np.abs(solution.objective_path[1:]))


@intercepts
@evidences
def test_the_solution_is_a_fixed_point_of_em(fit_intercept, evidence_of):
    """An iteration of the published EM algorithm does not change the solution."""
    X, mask = table(80, K=4, seed=1)
    mask = evidence_of(mask)
    solution = solved(X, mask, lam=0.5, fit_intercept=fit_intercept)
    W, b = solution.weights[:, :4], solution.weights[:, 4] if fit_intercept else np.zeros(4)
    labeled = informative(mask)
    next_W, next_b = oracle.em_round(W, b, X[labeled], mask[labeled], 0.5, fit_intercept=fit_intercept)
    np.testing.assert_allclose(next_W, W, rtol=1e-4, atol=1e-4 * np.abs(W).max())
    np.testing.assert_allclose(next_b - next_b.mean(), b, rtol=1e-4, atol=1e-4 * np.abs(W).max())


@intercepts
def test_weights_sum_to_zero_over_the_classes(fit_intercept):
    """A constant added to all classes changes no probability, so penalized weights sum to 0 over the classes."""
    X, mask = table(80)
    weights = solved(X, mask, fit_intercept=fit_intercept).weights
    np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-10)


@both
def test_evidence_multiplies(entropy_weight):
    """The weights v_ik w_ik have the likelihood of two rows' evidence for one label: log sum_k v_ik w_ik p_ik."""
    X, mask = table(60, K=4)
    v, w = draw_weights(mask), np.random.default_rng(1).uniform(0.1, 1.0, size=mask.shape)
    both = v * w / (v * w).max(axis=1, keepdims=True)
    W = np.random.default_rng(2).normal(size=(4, 4))
    joint = softmax(X @ W.T) * v * w
    q = joint / joint.sum(axis=1, keepdims=True)
    entropies = -np.where(q > 0, q * np.log(np.where(q > 0, q, 1.0)), 0.0).sum(axis=1)
    factors = np.log((v * w).max(axis=1))
    expected = (np.log(joint.sum(axis=1)) - factors - entropy_weight * entropies).sum() - 0.35 * (W**2).sum()
    p = problem(X, both, np.ones(60), entropy_weight, fit_intercept=False)
    scores = p.matvec(W)
    assert -0.7 * p.objective(W, p.evaluate(scores)) == pytest.approx(expected, rel=1e-12)


@both
def test_weights_of_zero_and_one_are_sets_and_tiny_weights_nearly(entropy_weight):
    """Weights in {0, 1} give the solution of the sets, and so do weights of 1e-12 outside them."""
    X, mask = table(80, K=4)
    expected = solved(X, mask, entropy_weight=entropy_weight).weights
    for outside in (0.0, 1e-300, 1e-12):
        weights = solved(X, np.where(mask, 1.0, outside), entropy_weight=entropy_weight).weights
        np.testing.assert_allclose(weights, expected, rtol=1e-9, atol=1e-9)


def test_an_optimum_at_infinity_converges():
    """The intercept of a class in no set has no finite optimum; the solver stops, with probability 0 for the class."""
    X, mask = table(80)
    mask[mask.all(axis=1)] = [True, False, False]
    mask = np.column_stack([mask, np.zeros(80, dtype=bool)])
    solution = solved(X, mask, fit_intercept=True)
    assert solution.converged
    scores = X @ solution.weights[:, :4].T + solution.weights[:, 4]
    assert softmax(scores)[:, 3].max() < 1e-5


def exact(n=80, K=3):
    """Return rows of clusters and a mask of exact labels."""
    X, mask = table(n, K=K)
    return X, np.eye(K, dtype=bool)[mask.argmax(axis=1)]


def test_all_preconditioners_reach_the_same_minimum(monkeypatch):
    """With exact labels, blocks, a common block and its diagonal lead to the same, unique minimum."""
    X, mask = exact()
    used = []
    precondition = PLEMProblem.preconditioner
    monkeypatch.setattr(
        PLEMProblem, "preconditioner", lambda self, at, kind: used.append(kind) or precondition(self, at, kind)
    )
    monkeypatch.setattr(trust_region.TrustRegion, "_block_cost", lambda *_: 1.0)
    blocks = solved(X, mask, lam=1e-3, fit_intercept=True)
    assert blocks.n_iter > 2
    assert used[-1] == "blocks"
    monkeypatch.setattr(trust_region, "MAX_BLOCK_ENTRIES", 25)
    common = solved(X, mask, lam=1e-3, fit_intercept=True)
    assert used[-1] == "common"
    monkeypatch.setattr(trust_region, "MAX_BLOCK_ENTRIES", 0)
    diagonal = solved(X, mask, lam=1e-3, fit_intercept=True)
    assert used[-1] == "diagonal"
    for other in (common, diagonal):
        np.testing.assert_allclose(other.weights, blocks.weights, rtol=1e-8, atol=1e-10)


@both
@intercepts
@pytest.mark.parametrize("kind", ["diagonal", "common", "blocks"])
def test_preconditioners_are_positive_definite(kind, entropy_weight, fit_intercept):
    """M^-1 is symmetric, and positive definite on weights whose sum over the classes is 0."""
    X, mask = table(80, K=4)
    p = problem(X, mask, np.ones(80), entropy_weight, fit_intercept)
    W = np.random.default_rng(0).normal(size=p.shape)
    inverse = p.preconditioner(p.evaluate(p.matvec(W)), kind)
    centering = np.eye(4) - 0.25
    columns = [inverse.solve(centering @ unit.reshape(p.shape)).ravel() for unit in np.eye(W.size)]
    matrix = np.array(columns) @ np.kron(centering, np.eye(p.shape[1]))
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12)
    eigenvalues = np.linalg.eigvalsh(matrix)
    assert np.all(eigenvalues[: p.shape[1]] > -1e-12)  # the weights that are equal in all classes
    assert np.all(eigenvalues[p.shape[1] :] > 1e-6)


@evidences
def test_curvatures_are_the_diagonals_of_the_hessians(evidence_of):
    """With a feature for each row, the Hessian consists of those of the rows; the curvatures are their diagonals."""
    mask = evidence_of(table(40)[1])
    mask = mask[informative(mask)]
    n, K = mask.shape
    p = problem(np.eye(n), mask, np.ones(n), 0.0, fit_intercept=False)
    at = p.evaluate(p.matvec(np.random.default_rng(0).normal(size=p.shape)))
    diagonals = [p.hvp(np.tile(unit[:, None], (1, n)), at)[k] - 1.0 for k, unit in enumerate(np.eye(K))]
    np.testing.assert_allclose(p.curvatures(at).T, np.abs(diagonals), rtol=1e-9, atol=1e-12)


@intercepts
@pytest.mark.parametrize("exact_labels", [False, True], ids=["sets", "exact"])
def test_rows_of_few_nonzero_numbers_are_converted(fit_intercept, exact_labels):
    """Dense rows of few nonzero numbers, which are converted, and CSR rows have the solution of dense products."""
    rng = np.random.default_rng(0)
    mask = exact()[1] if exact_labels else table(80)[1]
    X = np.where(rng.random((80, 60)) < 0.03, rng.normal(size=(80, 60)), 0.0)
    options = {"lam": 0.1, "fit_intercept": fit_intercept}
    converted, sparse = solved(X, mask, **options), solved(sp.csr_array(X), mask, **options)
    np.testing.assert_array_equal(converted.weights, sparse.weights)
    dense = PLEMProblem.from_evidence(
        X + 1e-300, mask, 0.1, 0.0, np.ones(80), fit_intercept=fit_intercept
    )  # no number is 0
    gradient = dense.gradient(converted.weights, dense.evaluate(dense.matvec(converted.weights)))
    assert not sp.issparse(dense.X)
    assert np.abs(gradient).max() < 1e-7


@evidences
def test_single_and_double_precision_reach_the_same_point(monkeypatch, evidence_of):
    """Steps that are computed in single precision do not limit the accuracy."""
    X, mask = table(200, K=4)
    mask = evidence_of(mask)
    single = solved(X, mask, fit_intercept=True)
    always_double = property(lambda _: False, lambda *_: None)
    monkeypatch.setattr(trust_region.TrustRegion, "is_single", always_double, raising=False)
    double = solved(X, mask, fit_intercept=True)
    np.testing.assert_allclose(single.weights, double.weights, rtol=1e-7, atol=1e-9)


def test_numbers_beyond_single_precision_are_fitted():
    """Features whose squares overflow single precision are fitted by steps in double precision."""
    X, mask = table(80)
    large, small = solved(X * 1e30, mask, lam=1e60), solved(X, mask)
    assert large.converged
    np.testing.assert_allclose(large.weights * 1e30, small.weights, rtol=1e-6, atol=1e-9)


@evidences
def test_a_set_of_vanishing_probability_is_evaluated(evidence_of):
    """Losses and q are exact if the scores of a set are far below the others."""
    mask = evidence_of(np.array([[True, True, False], [True, False, False], [False, True, True]]))
    p = problem(np.eye(3), mask, np.ones(3), 0.0, fit_intercept=False)
    scores = np.array([[-900.0, -901.0, 900.0], [-2000.0, 5.0, 0.0], [800.0, -3.0, -4.0]])
    at = p.evaluate(scores)
    np.testing.assert_allclose(at.losses, -log_likelihoods(scores, mask), rtol=1e-12)
    np.testing.assert_allclose(at.inside, masked_softmax(scores, mask), rtol=1e-12)


def test_a_warm_start_at_the_solution_stops_at_once():
    """A start at the solution takes no step."""
    X, mask = table(80)
    cold = solved(X, mask)
    warm = solved(X, mask, initial=cold.weights)
    assert warm.n_iter <= 1
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-9, atol=1e-12)


def test_uninformative_rows_do_not_change_the_start():
    """If the gradient at W = 0 is 0, W = 0 is the solution."""
    X, mask = np.zeros((4, 2)), np.array([[True, True, False], [False, True, True]] * 2)
    solution = solved(X, mask)
    assert solution.converged
    np.testing.assert_array_equal(solution.weights, 0)


def test_max_iter_is_respected():
    """If `max_iter` is too small, the solution is not converged and has `max_iter` steps."""
    X, mask = table(80, K=5)
    solution = solved(X, mask, lam=1e-3, max_iter=12)
    assert not solution.converged
    assert solution.n_iter == 12


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_row_hessians_and_their_positive_parts(layout, dtype):
    """Products equal those of the written-out matrices, and the positive part has no negative eigenvalue."""
    n, K = 1100, 4
    rng = np.random.default_rng(0)
    p, v = rng.dirichlet(np.ones(K), size=n), rng.uniform(size=(n, K))
    q = v * p
    outside = 1.0 - q.sum(axis=1)
    q /= q.sum(axis=1, keepdims=True)
    hessian = [np.einsum("ik,kl->ikl", a, np.eye(K)) - a[:, :, None] * a[:, None] for a in (p, q)]
    step = rng.normal(size=(n, K))
    for added in (np.zeros(n), outside):
        matrices = hessian[0] - (1.0 - added)[:, None, None] * hessian[1]
        product = np.array(step, dtype, order=layout)
        r, inside = (np.array(a, dtype, order=layout) for a in (p - q, q))
        multiply_hessians(r, inside, added.astype(dtype), product)
        assert_allclose(product, np.einsum("ikl,il->ik", matrices, step), atol=50 * np.finfo(dtype).eps)
    assert np.linalg.eigvalsh(matrices).min() >= -1e-14
    assert np.linalg.eigvalsh(hessian[0] - hessian[1]).min() < -0.01
