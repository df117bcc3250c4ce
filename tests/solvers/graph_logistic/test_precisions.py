"""How the precisions set themselves: by the evidence, by EM, and what happens where that cannot be."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.solvers.graph_logistic import Term, solve_graph_logistic
from oneof.solvers.graph_logistic.openings import Openings
from oneof.solvers.graph_logistic.precisions import Evidence, Hyper
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.spaces import space_of
from tests.oracles import graph_logistic as oracle
from tests.solvers.graph_logistic.problems import problem, soften, some_precisions, terms_of

priors = pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ard", "graph+ridge per class"])


@priors
@pytest.mark.parametrize(("m", "d"), [(60, 5), (8, 12)])
def test_the_evidence_and_its_slopes(prior, m, d):
    """At any precisions, evidence and slopes are those of brute force, but for the constant of open directions."""
    X, mask, A, ridge = problem(m, d, 3)
    terms = tuple(terms_of(prior, A, ridge))
    precisions = some_precisions(terms, 2)
    W = solve_graph_logistic(X, mask, terms, precision="fixed", precisions=precisions, tol=1e-9).weights
    likelihood = Likelihood.of(X, mask, None)
    own = Prior(terms, 2, Openings.of(terms, likelihood.features, likelihood.row_weight))
    hyper = Hyper.of(terms, likelihood, 0.0, 0.0)
    found = Evidence.of(likelihood, space_of(own, precisions, likelihood), precisions, W, hyper)
    assert found.value == pytest.approx(oracle.evidence(X, mask, W, terms, precisions), abs=1e-5)
    slopes = [
        hyper.slopes(term, precisions[term.name], found.learned[term.name], term.quadratic(W)).ravel() for term in terms
    ]
    if prior != "graph+ard":  # the constant column has a precision of 0 there, whose logarithm is not differentiated
        np.testing.assert_allclose(
            np.concatenate(slopes), oracle.evidence_slopes(X, mask, W, terms, precisions), atol=1e-3
        )


@pytest.mark.parametrize("prior", ["graph", "ridge", "graph+ridge", "graph+ridge per class"])
@pytest.mark.parametrize("sets", [False, True])
def test_the_evidence_is_stationary_at_the_end(prior, sets):
    """Gradient and precision equations hold; a precision at the end of its range would go beyond."""
    X, mask, A, ridge = problem(100, 5, 3)
    terms = terms_of(prior, A, ridge)
    told = soften(mask) if sets else mask
    found = solve_graph_logistic(X, told, terms)
    assert found.converged
    assert not found.collapsed
    Lambda = oracle.precision_matrix(terms, found.precisions, 2)
    slope = oracle.gradient(X, told, found.weights).ravel() - Lambda @ found.weights.ravel()
    assert np.abs(slope).max() <= 1e-5
    if sets:
        return
    hyper = Hyper.of(tuple(terms), Likelihood.of(X, mask, None), 0.0, 0.0)
    slopes = oracle.evidence_slopes(X, mask, found.weights, terms, found.precisions)
    ends = np.concatenate([np.full(found.precisions[t.name].size, hyper.lowest[t.name]) for t in terms])
    inside = np.concatenate([found.precisions[t.name].ravel() for t in terms]) > ends * 1.001
    assert inside.any()
    np.testing.assert_allclose(slopes[inside], 0, atol=1e-3)
    assert np.all(slopes[~inside] <= 1e-3)


def test_relevant_weights_are_told_from_others():
    """Precisions per weight rise to the end where a feature says nothing, and stay low where it does."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 10))
    mask = np.eye(2, dtype=bool)[(2 * X[:, 0] - 2 * X[:, 1] + random.logistic(size=200) < 0).astype(int)]
    found = solve_graph_logistic(X, mask, [Term("ard", np.eye(10), per_weight=True)])
    assert found.precisions["ard"].shape == (10,)
    assert found.precisions["ard"][:2].max() < 2 < np.median(found.precisions["ard"][2:])


@priors
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("hyper", [(0.0, 0.0), (0.5, 0.5)])
def test_f_never_falls_under_em(prior, sets, hyper):
    """EM raises F in every round, and where it does not collapse F is that of METHODS."""
    X, mask, A, ridge = problem(60, 5, 3)
    mask = soften(mask) if sets else mask
    terms = terms_of(prior, A, ridge)
    found = solve_graph_logistic(X, mask, terms, precision="em", alpha=hyper[0], beta=hyper[1], max_iter=1000)
    assert np.all(np.diff(found.objective) >= -1e-8 * np.abs(found.objective[1:]) - 1e-9)
    if hyper[1] > 0:
        assert found.converged
        assert not found.collapsed
        expected = oracle.integrated(X, mask, found.weights, terms, *hyper)
        assert found.objective[-1] == pytest.approx(expected, abs=1e-5)
        for term in terms:
            equation = (2 * hyper[0] + term.counts(2)) / (2 * hyper[1] + term.quadratic(found.weights))
            held = found.precisions[term.name] > 0
            np.testing.assert_allclose(found.precisions[term.name][held], equation[held], rtol=1e-5)


def test_em_collapses_where_labels_are_few_and_the_evidence_does_not():
    """With alpha = beta = 0 EM runs to w = 0 at few labels, which is said; the evidence finds weights there."""
    X, mask, A, ridge = problem(30, 10, 2, seed=4)
    for prior in ("graph", "ridge", "graph+ridge", "graph+ard"):
        terms = terms_of(prior, A, ridge)
        found = solve_graph_logistic(X, mask, terms, precision="em")
        assert found.collapsed
        np.testing.assert_array_equal(found.weights[:, :-1], 0)
        share = mask.mean(axis=0)  # the intercept alone is left
        np.testing.assert_allclose(oracle.probabilities(X, found.weights)[0], share, atol=1e-4)
        assert np.isfinite(found.objective).all()
        kept = solve_graph_logistic(X, mask, terms)
        assert not kept.collapsed
        assert np.abs(kept.weights[:, :-1]).max() > 0.05


def test_em_without_collapse_satisfies_its_equations():
    """With many labels, few features and one term EM ends away from 0, where lambda = d (K-1) / w^T A w."""
    X, mask, _, ridge = problem(600, 2, 2, n=700)
    found = solve_graph_logistic(X, mask, [Term("ridge", ridge)], precision="em")
    assert found.converged
    assert not found.collapsed
    assert found.precisions["ridge"] == pytest.approx(2 / (found.weights[:, :-1] ** 2).sum(), rel=1e-5)


def test_agreement_of_copies_is_capped():
    """Two views that are copies agree without end: the precision stops at its largest and all stays finite."""
    X, mask, _, _ = problem(60, 4, 2)
    zero = np.zeros_like(X)
    both = np.vstack([np.hstack([X, zero]), np.hstack([zero, X])])
    difference = np.hstack([X, -X])
    terms = [
        Term("ridge 0", np.diag(np.r_[np.ones(4), np.zeros(6)])),
        Term("ridge 1", np.diag(np.r_[np.zeros(5), np.ones(4), 0.0])),
        Term("agreement", difference.T @ difference, largest=100.0),
    ]
    for precision in ("evidence", "em"):
        found = solve_graph_logistic(both, np.vstack([mask, mask]), terms, precision=precision)
        assert found.precisions["agreement"] <= 100.0
        np.testing.assert_allclose(found.weights[:, :5], found.weights[:, 5:], atol=1e-3)


@pytest.mark.parametrize("precision", ["evidence", "em"])
def test_degenerate_input(precision):
    """No labeled rows, one, a class without rows, a constant column in no term: all finite, and 0 where unseen."""
    X, mask, A, ridge = problem(20, 5, 3)
    terms = terms_of("graph+ridge", A, ridge)
    for rows in (slice(0, 0), slice(0, 1), slice(0, 20)):
        own = mask[rows].copy()
        own[own[:, 2]] = [True, False, False]
        found = solve_graph_logistic(X[rows], own, terms, precision=precision)
        assert np.isfinite(found.weights).all()
        assert all(np.isfinite(value).all() for value in found.precisions.values())
    assert not solve_graph_logistic(X[:0], mask[:0], terms, precision=precision).weights.any()
    wide = np.hstack([X, np.zeros((20, 1))])
    padded = [Term("ridge", sp.csr_array(np.diag(np.append(ridge.diagonal(), 0.0))))]
    found = solve_graph_logistic(wide, mask, padded, precision=precision)
    assert not found.weights[:, -1].any()


def test_other_msteps_reach_the_same_precisions():
    """The precisions that the evidence sets do not depend on the M-step."""
    X, mask, A, ridge = problem(40, 3, 3)
    terms = terms_of("ridge", A, ridge)
    found = [solve_graph_logistic(X, mask, terms, solver=solver) for solver in ("newton", "block", "sequential")]
    for other in found[1:]:
        np.testing.assert_allclose(other.precisions["ridge"], found[0].precisions["ridge"], rtol=1e-4)
        np.testing.assert_allclose(other.weights, found[0].weights, atol=1e-4)


@pytest.mark.parametrize("max_iter", [1, 2, 3, 5, 8])
def test_weights_belong_to_the_precisions_wherever_the_rounds_end(max_iter):
    """Cut short at any round, the weights are the mode at the precisions beside them."""
    X, mask, A, ridge = problem(60, 8, 3)
    terms = terms_of("graph+ridge", A, ridge)
    found = solve_graph_logistic(X, mask, terms, max_iter=max_iter)
    assert found.n_iter <= max_iter
    slope = oracle.gradient(X, mask, found.weights).ravel()
    slope -= oracle.precision_matrix(terms, found.precisions, 2) @ found.weights.ravel()
    assert np.abs(slope).max() <= 1e-4
