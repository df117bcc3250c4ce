"""Fits in the span of the rows equal fits of the weights themselves."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.graph_logistic import PriorTerm, solve, solve_graph_logistic
from oneof.solvers.graph_logistic.coordinates import row_space_basis
from oneof.solvers.graph_logistic.prior import disagreement_matrix
from tests.solvers.graph_logistic.problems import draw_precisions, make_terms, soften

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
    """M-steps that are no more exact than the precisions end where exact ones do."""
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
