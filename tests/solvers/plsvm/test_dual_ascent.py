"""Tests of the dual ascent and its face steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.solvers.plsvm.dual_ascent import ascend, face_step, restrict_duals, row_duals
from oneof.solvers.plsvm.problem import best_scores
from tests.estimators.panel import table
from tests.oracles import plsvm as oracle
from tests.solvers.plsvm.problems import SPACES, problem, random_weights, weighted


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5), st.floats(0.01, 10), st.sampled_from([1.0, 0.3, 1e-3]))
def test_the_subproblem_of_a_set_is_solved_exactly(gains, c, mass):
    """The closed form of a set's dual variables is optimal over all supports."""
    alphas = np.empty(len(gains))
    tau = row_duals(np.array(gains), c, mass, alphas)
    assert tau == pytest.approx(alphas.sum(), abs=1e-12)
    np.testing.assert_allclose(alphas, oracle.row_duals(gains, c, mass), atol=1e-6 / c)


def dual_value(p, coefficients):
    weights = p.weights(coefficients)
    return np.maximum(coefficients, 0).sum() / p.space.n_rows - p.penalty(weights)


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_ascent_closes_the_gap(space, is_weighted):
    """The gap closes; the dual variables are feasible and give the weights; no other weights are better."""
    p = problem(space, is_weighted=is_weighted)
    chosen = best_scores(p.sets.take(p.space.matvec(random_weights(p))), p.sets.mask).chosen
    coefficients = restrict_duals(np.zeros(p.sets.mask.shape), p.sets.mask, p.sets.mass, chosen)
    rng = np.random.default_rng(0)
    for _ in range(30):
        solution = ascend(p, chosen, coefficients, tol=1e-10, value=0.0, rng=rng)
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * solution.primal + 2e-12
    assert solution.dual == pytest.approx(dual_value(p, coefficients), rel=1e-12)
    taus = coefficients[np.arange(len(chosen)), chosen]
    assert (taus <= p.sets.mass + 1e-12).all()
    outside = np.where(p.sets.mask, 0.0, coefficients)
    assert (outside <= 0).all()
    np.testing.assert_allclose(taus, -outside.sum(axis=1), atol=1e-12)
    assert p.majorant(solution.weights, solution.scores, chosen) == pytest.approx(solution.primal, rel=1e-12)
    for seed in range(5):
        perturbed = solution.weights + 1e-3 * random_weights(p, seed)
        assert p.majorant(perturbed, p.space.matvec(perturbed), chosen) >= solution.dual


@weighted
def test_rows_of_zeros_have_feasible_duals(is_weighted):
    """A row of zeros has the loss 1 and one dual variable of 1, for any start; with weights, one for each level set."""
    X, mask = table(30, K=5)
    X[::2] = 0.0
    p = problem(X=X, mask=mask, is_weighted=is_weighted)
    chosen = p.sets.mask.argmax(axis=1)
    coefficients = restrict_duals(np.full(p.sets.mask.shape, -0.2), p.sets.mask, p.sets.mass, chosen)
    solution = ascend(p, chosen, coefficients, tol=1e-6, value=0.0, rng=np.random.default_rng(0))
    assert (np.where(p.sets.mask, 0.0, -coefficients).sum(axis=1) <= p.sets.mass + 1e-12).all()
    np.testing.assert_allclose(coefficients.sum(axis=1), 0.0, atol=1e-12)
    assert solution.gap <= 1e-6 * solution.primal


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_a_face_step_raises_the_dual(space, is_weighted):
    """A step over the free variables increases the dual, up to rounding, and stays feasible.

    From some starts a step is declined; the rounding of the ascent decides which starts these are.
    """
    p = problem(space, lam=1e-3, is_weighted=is_weighted)
    chosen = best_scores(p.sets.take(p.space.matvec(random_weights(p))), p.sets.mask).chosen
    gains = []
    for seed in range(6):
        coefficients = restrict_duals(np.zeros(p.sets.mask.shape), p.sets.mask, p.sets.mass, chosen)
        ascend(p, chosen, coefficients, tol=0.3, value=0.0, rng=np.random.default_rng(seed))
        coefficients /= 2  # feasible, and below the maximum, which the ascent may have reached
        start = dual_value(p, coefficients)
        for _ in range(5):
            before = dual_value(p, coefficients)
            weights = p.weights(coefficients)
            increased = face_step(p, chosen, coefficients, p.space.matvec(weights))
            after = dual_value(p, coefficients)
            # Near the maximum a step may gain less than the last digit of the value.
            assert after >= before - 2 * np.spacing(abs(before)) if increased else after == before
            taus = coefficients[np.arange(len(chosen)), chosen]
            assert (taus <= p.sets.mass + 1e-12).all()
            assert (np.where(p.sets.mask, 0.0, coefficients) <= 1e-15).all()
        gains.append(dual_value(p, coefficients) / start - 1)
    assert max(gains) > 1e-6
