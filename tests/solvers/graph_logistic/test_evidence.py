"""Precisions by the evidence and by EM, and degenerate problems."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import PriorTerm, solve_graph_logistic
from oneof.solvers.graph_logistic.coordinates import choose_coordinates
from oneof.solvers.graph_logistic.evidence import GammaHyperprior, laplace_evidence
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import Prior
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import draw_precisions, make_problem, make_terms, soften

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
