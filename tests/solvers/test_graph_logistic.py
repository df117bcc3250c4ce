"""Graph-prior logistic regression: precisions, M-steps, the Laplace posterior, and fits in the span of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import kneighbors_graph

from oneof.errors import InputError
from oneof.solvers.graph_logistic import LogisticPosterior, PriorTerm, newton, solve, solve_graph_logistic
from oneof.solvers.graph_logistic import posterior as posterior_module
from oneof.solvers.graph_logistic.bohning import STEPS
from oneof.solvers.graph_logistic.coordinates import choose_coordinates, row_space_basis
from oneof.solvers.graph_logistic.evidence import GammaHyperprior, laplace_evidence
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.posterior import leave_one_out_scores, predictive_gain
from oneof.solvers.graph_logistic.prior import Prior, disagreement_matrix
from tests.estimators.panel import table
from tests.oracles import graph_logistic as oracle
from tests.weights import draw_weights, evidences, informative


def make_problem(m=60, d=6, K=3, seed=0, n=150):
    """Return m labeled instances (the last column constant), exact labels as a mask, A and the matrix of the ridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X @ rng.normal(size=(d, K)) + rng.gumbel(size=(n, K))).argmax(axis=1)
    y[:K] = np.arange(K)
    X = np.hstack([X, np.ones((n, 1))])
    affinity = sp.csr_array(kneighbors_graph(X[:, :-1], 5))
    laplacian = sp.csgraph.laplacian(sp.csr_array(affinity.maximum(affinity.T)))
    A = X.T @ (laplacian @ X)
    A = (A + A.T) / 2
    A[-1], A[:, -1] = 0.0, 0.0
    ridge = sp.csr_array(np.diag(np.append(np.ones(d), 0.0)))
    return X[:m], np.eye(K, dtype=bool)[y[:m]], A, ridge


def make_terms(prior, A, ridge):
    """Return the terms of a named prior."""
    matrices = {"graph": A, "ridge": ridge, "ard": ridge}
    return [PriorTerm(name, matrices[name], per_weight=name == "ard") for name in prior.split("+")]


def draw_precisions(terms, seed=0):
    """Return random precisions of the right shapes."""
    rng = np.random.default_rng(seed)
    precisions = {}
    for term in terms:
        shape = term.diagonal.shape if term.per_weight else ()
        value = rng.uniform(0.3, 3.0, size=shape) * (0.01 if term.name == "graph" else 1.0)
        precisions[term.name] = np.where(term.diagonal > 0, value, 0.0) if term.per_weight else np.asarray(value)
    return precisions


def soften(mask, seed=0):
    """Widen some exact labels to candidate sets, one of them full."""
    widened = mask.copy()
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(mask))[: len(mask) // 3]
    widened[rows, rng.integers(mask.shape[1], size=len(rows))] = True
    widened[rows[0]] = True
    return widened


def make_posterior(X, W, terms, precisions, weight=None, evidence=None):
    """Return the Laplace posterior at W; by default every row has an exact label."""
    exact = np.eye(len(W) + 1, dtype=bool)[np.zeros(X.shape[0], dtype=int)]
    likelihood = CandidateLikelihood.from_evidence(X, exact if evidence is None else evidence, weight)
    prior = Prior.from_terms(tuple(terms), likelihood)
    coordinates = choose_coordinates(prior, prior.from_names(precisions), likelihood)
    return LogisticPosterior.at_mode(likelihood, coordinates, W)


# -- Precisions by the evidence and by EM, and degenerate problems ----------------------------------------------------


priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard"])


@priors
@pytest.mark.parametrize(("m", "d"), [(60, 5), (8, 12)])
def test_the_evidence_and_its_gradient(prior, m, d):
    """At any precisions, evidence and gradient equal brute force, up to the constant of unpenalized directions."""
    X, mask, A, ridge = make_problem(m, d, 3)
    terms = tuple(make_terms(prior, A, ridge))
    precisions = draw_precisions(terms)
    W = solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, tol=1e-9).weights
    likelihood = CandidateLikelihood.from_evidence(X, mask, None)
    hyperprior = GammaHyperprior.from_likelihood(terms, likelihood, 0.0, 0.0)
    own = Prior.from_terms(terms, likelihood)
    coordinates = choose_coordinates(own, own.from_names(precisions), likelihood)
    value, counts = laplace_evidence(likelihood, coordinates, W, hyperprior)
    assert value == pytest.approx(oracle.evidence(X, mask, W, terms, precisions), abs=1e-5)
    gradient = hyperprior.gradient(coordinates.precisions, counts, own.quadratics(W))
    if prior != "graph+ard":  # the constant column has a precision of 0 there, whose logarithm is not differentiable
        np.testing.assert_allclose(gradient, oracle.evidence_gradient(X, mask, W, terms, precisions), atol=1e-3)


@pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge"])
@pytest.mark.parametrize("sets", [False, True])
def test_the_evidence_is_stationary_at_the_solution(prior, sets):
    """The gradient and the equations of the precisions vanish, or a precision is at the end of its range."""
    X, mask, A, ridge = make_problem(100, 5, 3)
    terms = make_terms(prior, A, ridge)
    candidates = soften(mask) if sets else mask
    solution = solve_graph_logistic(X, candidates, terms)
    assert solution.converged
    assert not solution.degenerate
    Lambda = oracle.precision_matrix(terms, solution.precisions, 2)
    gradient = oracle.gradient(X, candidates, solution.weights).ravel() - Lambda @ solution.weights.ravel()
    assert np.abs(gradient).max() <= 1e-5
    if sets:
        return
    hyperprior = GammaHyperprior.from_likelihood(
        tuple(terms), CandidateLikelihood.from_evidence(X, mask, None), 0.0, 0.0
    )
    gradient = oracle.evidence_gradient(X, mask, solution.weights, terms, solution.precisions)
    inside = np.array(list(solution.precisions.values())) > hyperprior.lower * 1.001
    assert inside.any()
    np.testing.assert_allclose(gradient[inside], 0, atol=1e-3)
    assert np.all(gradient[~inside] <= 1e-3)


@priors
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("hyper", [(0.0, 0.0), (0.5, 0.5)])
def test_f_never_decreases_under_em(prior, sets, hyper):
    """EM increases F in every iteration; a solution that is not degenerate has the documented F."""
    X, mask, A, ridge = make_problem(60, 5, 3)
    mask = soften(mask) if sets else mask
    terms = make_terms(prior, A, ridge)
    solution = solve_graph_logistic(X, mask, terms, precision="em", alpha=hyper[0], beta=hyper[1], max_iter=1000)
    path = solution.objective_path
    assert np.all(np.diff(path) >= -1e-8 * np.abs(path[1:]) - 1e-9)
    if hyper[1] > 0:
        assert solution.converged
        assert not solution.degenerate
        expected = oracle.integrated(X, mask, solution.weights, terms, *hyper)
        assert path[-1] == pytest.approx(expected, abs=1e-5)
        own = Prior.from_terms(tuple(terms), CandidateLikelihood.from_evidence(X, mask, None))
        equation = (2 * hyper[0] + own.counts()) / (2 * hyper[1] + own.quadratics(solution.weights))
        np.testing.assert_allclose(own.from_names(solution.precisions), equation, rtol=1e-5)


def test_em_degenerates_with_few_labels_and_the_evidence_does_not():
    """With alpha = beta = 0 and few labels EM ends at w = 0, which is reported; the evidence gives nonzero weights."""
    X, mask, A, ridge = make_problem(30, 10, 2, seed=4)
    for prior in ("graph", "ridge", "graph+ridge", "graph+ard"):
        terms = make_terms(prior, A, ridge)
        solution = solve_graph_logistic(X, mask, terms, precision="em")
        assert solution.degenerate
        np.testing.assert_array_equal(solution.weights[:, :-1], 0)
        frequencies = mask.mean(axis=0)  # only the intercept remains
        np.testing.assert_allclose(oracle.probabilities(X, solution.weights)[0], frequencies, atol=1e-4)
        assert np.isfinite(solution.objective_path).all()
        by_evidence = solve_graph_logistic(X, mask, terms)
        assert not by_evidence.degenerate
        assert np.abs(by_evidence.weights[:, :-1]).max() > 0.05


def test_the_coregularization_of_copies_is_bounded():
    """The precision of two equal views reaches its upper bound, and their weights are equal."""
    X, mask, _, _ = make_problem(60, 4, 2)
    zero = np.zeros_like(X)
    both = np.vstack([np.hstack([X, zero]), np.hstack([zero, X])])
    difference = np.hstack([X, -X])
    terms = [
        PriorTerm("ridge 0", np.diag(np.r_[np.ones(4), np.zeros(6)])),
        PriorTerm("ridge 1", np.diag(np.r_[np.zeros(5), np.ones(4), 0.0])),
        PriorTerm("coregularization", difference.T @ difference),
    ]
    masks = np.vstack([mask, mask])
    likelihood = CandidateLikelihood.from_evidence(both, masks, None)
    upper = GammaHyperprior.from_likelihood(tuple(terms), likelihood, 0.0, 0.0).upper[2]
    for precision in ("evidence", "em"):
        solution = solve_graph_logistic(both, masks, terms, precision=precision)
        assert solution.precisions["coregularization"] == pytest.approx(upper)
        np.testing.assert_allclose(solution.weights[:, :5], solution.weights[:, 5:], atol=1e-3)


@pytest.mark.parametrize("precision", ["evidence", "em"])
def test_degenerate_input(precision):
    """With no rows, one, an empty class or a constant column, results are finite, and 0 in unobserved directions."""
    X, mask, A, ridge = make_problem(20, 5, 3)
    terms = make_terms("graph+ridge", A, ridge)
    for rows in (slice(0, 0), slice(0, 1), slice(0, 20)):
        row_mask = mask[rows].copy()
        row_mask[row_mask[:, 2]] = [True, False, False]
        solution = solve_graph_logistic(X[rows], row_mask, terms, precision=precision)
        assert np.isfinite(solution.weights).all()
        assert all(np.isfinite(value).all() for value in solution.precisions.values())
    assert not solve_graph_logistic(X[:0], mask[:0], terms, precision=precision).weights.any()
    wide = np.hstack([X, np.zeros((20, 1))])
    padded = [PriorTerm("ridge", sp.csr_array(np.diag(np.append(ridge.diagonal(), 0.0))))]
    solution = solve_graph_logistic(wide, mask, padded, precision=precision)
    assert not solution.weights[:, -1].any()


def test_bounds_of_the_precisions_have_logarithms():
    """The range of the precisions is positive and finite if the curvature of the labeled rows underflows."""
    X, mask, A, ridge = make_problem(20, 5, 3)
    for scale in (1e-150, 1e150):
        terms = tuple(PriorTerm(term.name, term.matrix * scale) for term in make_terms("graph+ridge", A, ridge))
        likelihood = CandidateLikelihood.from_evidence(X / scale, mask, None)
        hyperprior = GammaHyperprior.from_likelihood(terms, likelihood, 0.0, 0.0)
        assert np.isfinite(np.log([hyperprior.lower, hyperprior.upper])).all()


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 8])
def test_weights_match_the_precisions_at_any_max_iter(max_iter):
    """After any number of iterations the weights are the mode at the returned precisions."""
    X, mask, A, ridge = make_problem(60, 8, 3)
    terms = make_terms("graph+ridge", A, ridge)
    solution = solve_graph_logistic(X, mask, terms, max_iter=max_iter)
    assert solution.n_iter <= max_iter
    gradient = oracle.gradient(X, mask, solution.weights).ravel()
    gradient -= oracle.precision_matrix(terms, solution.precisions, 2) @ solution.weights.ravel()
    assert np.abs(gradient).max() <= 1e-4


# -- The three M-steps ------------------------------------------------------------------------------------------------


MSTEPS = ("newton", "block", "sequential")
msteps = pytest.mark.parametrize("solver", MSTEPS)


def solve_fixed(X, mask, terms, precisions, **options):
    return solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, **options)


def penalized(X, mask, W, terms, precisions):
    w = W.ravel()
    return oracle.likelihood(X, mask, W) - 0.5 * w @ oracle.precision_matrix(terms, precisions, len(W)) @ w


@msteps
@priors
@pytest.mark.parametrize(("m", "d", "K"), [(60, 6, 3), (60, 4, 2), (9, 15, 4)])
def test_the_optimum_is_that_of_scipy(solver, prior, m, d, K):
    """Each M-step converges to the optimum of scipy, on dense and on sparse rows."""
    X, mask, A, ridge = make_problem(m, d, K)
    terms = make_terms(prior, A, ridge)
    precisions = draw_precisions(terms)
    Lambda = oracle.precision_matrix(terms, precisions, K - 1)
    expected = oracle.mode(X, mask, Lambda, np.zeros((K - 1, d + 1)))
    for rows in (X, sp.csr_array(X)):
        weights = solve_fixed(rows, mask, terms, precisions, solver=solver).weights
        np.testing.assert_allclose(weights, expected, rtol=0, atol=1e-6 * max(1.0, np.abs(expected).max()))
        gradient = oracle.gradient(X, mask, weights).ravel() - Lambda @ weights.ravel()
        assert np.abs(gradient).max() <= 1e-5


@msteps
@evidences
def test_candidate_sets_converge_to_a_stationary_point(solver, evidence_of):
    """With candidate sets the gradient of the penalized likelihood vanishes, and full sets have no effect."""
    X, mask, A, ridge = make_problem(80, 5, 4, seed=3)
    sets, terms = evidence_of(soften(mask)), make_terms("graph+ridge", A, ridge)
    precisions = draw_precisions(terms)
    weights = solve_fixed(X, sets, terms, precisions, solver=solver).weights
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    assert np.abs(oracle.gradient(X, sets, weights).ravel() - Lambda @ weights.ravel()).max() <= 1e-5
    labeled = informative(sets)
    selected = solve_fixed(X[labeled], sets[labeled], terms, precisions, solver=solver).weights
    np.testing.assert_array_equal(selected, weights)


@pytest.mark.parametrize("solver", list(STEPS))
@pytest.mark.parametrize("kind", ["exact", "sets", "weights"])
def test_each_step_of_the_bound_increases_the_objective(solver, kind):
    """A step of the bound, in one block or one sweep, never decreases the penalized likelihood, from any start."""
    X, mask, A, ridge = make_problem(50, 5, 4, seed=1)
    mask = {"exact": mask, "sets": soften(mask), "weights": draw_weights(soften(mask))}[kind]
    terms = make_terms("graph+ridge", A, ridge)
    precisions = draw_precisions(terms)
    likelihood = CandidateLikelihood.from_evidence(X, mask, None)
    prior = Prior.from_terms(tuple(terms), likelihood)
    step = STEPS[solver](likelihood, prior, prior.matrix(prior.from_names(precisions)))
    W = np.random.default_rng(2).normal(size=(3, 6)) * 3
    values = [penalized(X, mask, W, terms, precisions)]
    for _ in range(60):
        W = step(W)
        values.append(penalized(X, mask, W, terms, precisions))
    assert np.all(np.diff(values) >= -1e-10)
    assert values[-1] > values[0]


@evidences
def test_derivatives_are_those_of_the_likelihood(evidence_of):
    """Value and gradient equal the oracle; the Hessian product and the curvatures are derivatives of the gradient."""
    X, mask, _, _ = make_problem(40, 5, 4, seed=3)
    sets, rng = evidence_of(soften(mask)), np.random.default_rng(0)
    likelihood = CandidateLikelihood.from_evidence(X, sets, None)
    W = rng.normal(size=(3, 6))
    scores = likelihood.features @ W.T
    at, direction = likelihood.evaluate(scores), rng.normal(size=scores.shape)
    assert at.log_likelihood == pytest.approx(oracle.likelihood(X, sets, W), rel=1e-12)
    gradient = likelihood.features.T @ likelihood.gradient(at)
    np.testing.assert_allclose(gradient.T, oracle.gradient(X, sets, W), atol=1e-12)
    ahead, behind = (likelihood.gradient(likelihood.evaluate(scores + step * direction)) for step in (1e-6, -1e-6))
    hvp = likelihood.hvp(at, direction)
    np.testing.assert_allclose(hvp, (behind - ahead) / 2e-6, atol=1e-8)
    curvatures = likelihood.curvatures(at, convex=False)
    np.testing.assert_allclose(np.einsum("ick,ik->ic", curvatures, direction), hvp, atol=1e-12)


def test_conjugate_gradients_and_factorized_steps_agree(monkeypatch):
    """Both kinds of Newton steps reach the same optimum, in coordinates of weights and of rows."""
    for m, d in ((60, 6), (8, 20)):
        X, mask, A, ridge = make_problem(m, d, 4)
        for prior in ("graph+ridge", "graph+ard"):
            terms = make_terms(prior, A, ridge)
            precisions = draw_precisions(terms)
            monkeypatch.setattr(newton, "MAX_FACTORIZED", 10_000)
            expected = solve_fixed(X, mask, terms, precisions).weights
            monkeypatch.setattr(newton, "MAX_FACTORIZED", 0)
            np.testing.assert_allclose(solve_fixed(X, mask, terms, precisions).weights, expected, rtol=1e-6, atol=1e-7)


@msteps
def test_separable_rows_and_a_class_without_rows_have_a_finite_optimum(solver, monkeypatch):
    """With separable classes or an empty class the weights are finite and fit the labels; bounds converge slowly."""
    monkeypatch.setattr(solve, "MAX_STEPS", {"newton": 200, "block": 500, "sequential": 500})
    X, mask, _, ridge = make_problem(12, 3, 3)
    mask = np.eye(3, dtype=bool)[(X[:, 0] > 0).astype(int)]
    solution = solve_fixed(X, mask, [PriorTerm("ridge", ridge)], {"ridge": np.array(1e-2)}, solver=solver)
    assert solution.converged == (solver == "newton")
    weights = solution.weights
    assert np.isfinite(weights).all()
    assert np.array_equal(oracle.probabilities(X, weights).argmax(axis=1), mask.argmax(axis=1))
    assert oracle.probabilities(X, weights)[:, 2].max() < 1e-2


# -- The Laplace posterior --------------------------------------------------------------------------------------------


def covariances(H, left, right, n_vectors):
    """Return (I kron l)^T H^+ (I kron r) of all pairs."""
    D = left.shape[1]
    inverse = np.linalg.pinv(H, rcond=1e-11, hermitian=True).reshape(n_vectors, D, n_vectors, D)
    return np.einsum("tr,crks,us->tuck", left, inverse, right)


def make_posterior_problem(m, prior, K=4, d=9):
    X, _, A, ridge = make_problem(m, d, K)
    terms = make_terms(prior, A, ridge)
    W = np.random.default_rng(1).normal(size=(K - 1, d + 1)) * 0.3
    return X, W, terms, draw_precisions(terms), np.random.default_rng(2).normal(size=(7, d + 1))


@pytest.mark.parametrize("m", [40, 6])
@priors
def test_covariance_and_determinant(m, prior):
    """Covariances and determinant equal those of the dense H, for more and for fewer rows than weights."""
    X, W, terms, precisions, new = make_posterior_problem(m, prior)
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    H = Lambda + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    for rows, instances in ((X, new), (sp.csr_array(X), sp.csr_array(new))):
        posterior = make_posterior(rows, W, terms, precisions)
        assert (posterior.coordinates.basis is None) == (m > 10)
        pairs, other = posterior.covariance(instances), posterior.covariance(instances[:3], instances[3:6])
        np.testing.assert_allclose(pairs, np.einsum("ttck->tck", expected), atol=1e-6 * expected.max())
        np.testing.assert_allclose(other, expected[[0, 1, 2], [3, 4, 5]], atol=1e-6 * expected.max())
        cross = posterior.cross_covariance(instances, instances)
        np.testing.assert_allclose(cross, expected, atol=1e-6 * expected.max())
        log_ratio = posterior.log_determinant - posterior.coordinates.log_prior
        assert log_ratio == pytest.approx(oracle.log_determinant(H) - oracle.log_determinant(Lambda), abs=1e-5)


@pytest.mark.parametrize("m", [40, 2])
def test_unobserved_directions_are_excluded(m):
    """In a common null space of prior and rows, inverse and determinant are those of the other directions."""
    X, W, terms, precisions, new = make_posterior_problem(m, "graph")
    directions = np.linalg.qr(np.random.default_rng(3).normal(size=(10, 4)))[0]
    across = np.eye(10) - directions @ directions.T
    terms = [PriorTerm("graph", across @ terms[0].matrix @ across)]
    Lambda = oracle.precision_matrix(terms, precisions, 3)
    H = Lambda + oracle.data_hessian(X, W)
    expected = covariances(H, new, new, 3)
    posterior = make_posterior(X, W, terms, precisions)
    np.testing.assert_allclose(posterior.cross_covariance(new, new), expected, atol=1e-5 * np.abs(expected).max())
    log_ratio = posterior.log_determinant - posterior.coordinates.log_prior
    assert log_ratio == pytest.approx(oracle.log_determinant(H) - oracle.log_determinant(Lambda), abs=1e-5)


def test_large_problems_use_the_block_of_each_class(monkeypatch):
    """Above the size limit the covariance is the inverse of each class's block of H, and 0 between classes."""
    monkeypatch.setattr(posterior_module, "MAX_COORDINATES", 0)
    X, W, terms, precisions, new = make_posterior_problem(40, "graph+ridge")
    H = oracle.precision_matrix(terms, precisions, 3) + oracle.data_hessian(X, W)
    covariance = make_posterior(X, W, terms, precisions).covariance(new)
    for c in range(3):
        block_inverse = np.linalg.inv(H[c * 10 : c * 10 + 10, c * 10 : c * 10 + 10])
        np.testing.assert_allclose(covariance[:, c, c], np.einsum("tr,rs,ts->t", new, block_inverse, new), rtol=1e-6)
    assert not covariance[:, ~np.eye(3, dtype=bool)].any()


def test_curvature_of_candidate_sets():
    """The curvature is 0 for a full set, diag p - p p^T for an exact label, and in between for other sets."""
    X, mask, _, _ = make_problem(30, 5, 4)
    sets = soften(mask)
    likelihood = CandidateLikelihood.from_evidence(X, sets, None)
    at = likelihood.evaluate(np.random.default_rng(0).normal(size=(len(likelihood.evidence), 3)))
    exact = CandidateLikelihood.from_evidence(X, mask, None)
    curvature = likelihood.curvatures(at, convex=True)
    p = at.proba[:, :-1]
    expected = np.eye(3) * p[:, None, :] - p[:, :, None] * p[:, None, :]
    single = likelihood.evidence.sum(axis=1) == 1
    np.testing.assert_allclose(curvature[single], expected[single], atol=1e-12)
    assert np.linalg.eigvalsh(curvature).min() >= -1e-12
    assert len(likelihood.evidence) < len(exact.evidence)
    terms, precisions, W = [PriorTerm("r", np.eye(6))], {"r": np.array(1.0)}, np.zeros((3, 6))
    partial, labeled = (make_posterior(X, W, terms, precisions, evidence=evidence) for evidence in (sets, mask))
    assert partial.log_determinant < labeled.log_determinant


@evidences
def test_leave_one_out_scores_are_close_to_those_of_a_fit_without_the_row(evidence_of):
    """One Newton step approximates the fit without the row ten times better than the fit with it."""
    X, mask = table(60)
    mask = evidence_of(mask)
    weight = np.ones(len(X))
    weight[:5] = 2.0
    labeled = informative(mask)
    X, mask, weight = X[labeled], mask[labeled], weight[labeled]
    terms, precisions = [PriorTerm("ridge", np.eye(4))], {"ridge": np.array(1.0)}
    W = solve_fixed(X, mask, terms, precisions, sample_weight=weight, tol=1e-10).weights
    posterior = make_posterior(X, W, terms, precisions, weight, mask)
    scores = leave_one_out_scores(posterior, X, mask, weight)
    exact = np.empty_like(scores)
    for i in range(len(X)):
        reduced = weight.copy()
        reduced[i] -= 1.0
        exact[i] = X[i] @ solve_fixed(X, mask, terms, precisions, sample_weight=reduced, tol=1e-10).weights.T
    assert np.abs(scores - exact).mean() < 0.1 * np.abs(X @ W.T - exact).mean()


def test_predictive_gain_is_relative_to_class_frequencies():
    """Random scores have no gain, however large; correct ones have a gain of up to the entropy of the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    mask = np.eye(3, dtype=bool)[y]
    correct = 40.0 * (mask[:, :2] * 1.0 - mask[:, 2:])
    assert predictive_gain(5.0 * rng.normal(size=(300, 2)), mask, np.ones(300)) < 0.02
    assert predictive_gain(correct, mask, np.ones(300)) == pytest.approx(np.log(3), abs=1e-3)


# -- Fits in the span of the rows -------------------------------------------------------------------------------------


D, N, M = 70, 24, 15


def wide_problem(sparse=False):
    """Return N instances of D features and a constant, M of which are labeled, and the matrices of the prior."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(N, D)) * (rng.random((N, D)) < (0.4 if sparse else 1.0))
    labels = np.eye(3, dtype=bool)[(rows @ rng.normal(size=(D, 3))).argmax(axis=1)[:M]]
    ridge = sp.csr_array(np.diag(np.append(np.ones(D), 0.0)))
    edges = np.triu(rng.random((N, N)) < 0.2, 1)
    A = rows.T @ sp.csgraph.laplacian((edges | edges.T).astype(float)) @ rows
    A = np.pad((A + A.T) / 2, ((0, 1), (0, 1)))
    span = np.column_stack([rows, np.ones(N)])
    return (sp.csr_array(span), labels, sp.csr_array(A), ridge) if sparse else (span, labels, A, ridge)


def assert_equal_fits(with_span, without):
    """Check weights, precisions and evidence."""
    assert with_span.converged
    assert without.converged
    np.testing.assert_allclose(with_span.weights, without.weights, atol=1e-5 * np.abs(without.weights).max())
    for name, value in without.precisions.items():
        np.testing.assert_allclose(with_span.precisions[name], value, rtol=1e-3)
    assert with_span.objective_path[-1] == pytest.approx(without.objective_path[-1], abs=1e-6)


def wide_case(prior, sparse, sets):
    """Return the instances of all rows, the evidence of M of them, and the terms of a prior, which have a basis."""
    span, labels, A, ridge = wide_problem(sparse)
    terms = make_terms(prior, A, ridge)
    assert row_space_basis(tuple(terms), span).shape == (D + 1, N + 1)
    return span, soften(labels) if sets else labels, terms


sparse_or_dense = pytest.mark.parametrize("sparse", [False, True])
labels_or_sets = pytest.mark.parametrize("sets", [False, True])


@sparse_or_dense
@labels_or_sets
@pytest.mark.parametrize("precision", ["fixed", "evidence"])
def test_precisions_weights_and_objective_are_those_of_the_full_problem(sparse, sets, precision):
    """Precisions, weights and objective are those of the full problem, for given and for estimated precisions."""
    span, evidence, terms = wide_case("graph+ridge", sparse, sets)
    fixed = {"precision": "fixed", "precisions": draw_precisions(terms), "tol": 1e-10}
    options = fixed if precision == "fixed" else {}
    full = solve_graph_logistic(span[:M], evidence, terms, **options)
    assert_equal_fits(solve_graph_logistic(span[:M], evidence, terms, span=span, **options), full)


@labels_or_sets
def test_rough_first_steps_have_the_same_result(monkeypatch, sets):
    """M-steps with a tolerance that follows the change of the precisions give the result of exact M-steps."""
    span, evidence, terms = wide_case("graph+ridge", sparse=False, sets=sets)
    rough = solve_graph_logistic(span[:M], evidence, terms, span=span)
    monkeypatch.setattr(solve, "INITIAL_MSTEP_TOL", 1e-8)
    assert_equal_fits(rough, solve_graph_logistic(span[:M], evidence, terms, span=span))


def test_dependent_rows_have_the_same_solution():
    """Rows that repeat others, and a row of zeros, are in the span without an effect on the fit."""
    span, evidence, terms = wide_case("graph+ridge", sparse=False, sets=False)
    more = np.vstack([span[:4], np.zeros((1, D + 1)), span])
    full = solve_graph_logistic(span[:M], evidence, terms)
    assert_equal_fits(solve_graph_logistic(span[:M], evidence, terms, span=more), full)


def test_a_strong_graph_has_a_solution():
    """The rotated graph is diagonal, so that a ridge of a fraction of its rounding errors has a finite solution."""
    span, labels, A, ridge = wide_problem()
    terms = make_terms("graph+ridge", A, ridge)
    strong = {"graph": np.array(1e6), "ridge": np.array(1e-10)}
    solution = solve_graph_logistic(span[:M], labels, terms, span=span, precision="fixed", precisions=strong)
    assert solution.converged
    assert np.isfinite(solution.weights).all()
    assert row_space_basis(tuple(terms), np.zeros_like(span)) is None


def test_views_have_separate_bases():
    """Two views with a ridge each and a common term of disagreement have the solution of the full problem."""
    span, labels, _, _ = wide_problem()
    half = D // 2
    left, right = np.zeros(D + 1), np.zeros(D + 1)
    left[:half], right[half:D] = 1.0, 1.0
    disagreement = disagreement_matrix(span[M:] * left, span[M:] * right, np.ones(N - M))
    terms = [
        PriorTerm("ridge 0", sp.csr_array(np.diag(left))),
        PriorTerm("ridge 1", sp.csr_array(np.diag(right))),
        PriorTerm("coregularization", disagreement),
    ]
    precisions = {"ridge 0": np.array(0.5), "ridge 1": np.array(2.0), "coregularization": np.array(0.1)}
    rows, own = np.vstack([span[:8], span[M:]]), labels[:8]
    assert row_space_basis(tuple(terms), rows).shape == (D + 1, 2 * len(rows) + 1)
    options = {"precision": "fixed", "precisions": precisions, "tol": 1e-10}
    full = solve_graph_logistic(rows[:8], own, terms, **options)
    assert_equal_fits(solve_graph_logistic(rows[:8], own, terms, span=rows, **options), full)


def test_an_indefinite_prior_is_an_error():
    """If the ridge vanishes in rounding errors of the graph's term, the error says so and gives a remedy."""
    span, labels, terms = wide_case("graph+ridge", sparse=False, sets=False)
    tiny_ridge = {"graph": np.asarray(1.0), "ridge": np.asarray(1e-30)}
    with pytest.raises(InputError, match=r"prior precision is not positive definite. Set `alpha` and `beta` above 0"):
        solve_graph_logistic(span[:M], labels, terms, precision="fixed", precisions=tiny_ridge)
