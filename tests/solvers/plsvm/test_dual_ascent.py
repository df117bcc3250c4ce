"""Tests of the dual ascent and its face steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oneof.solvers.plsvm.dual_ascent import ascend, restrict_duals
from oneof.solvers.plsvm.face_newton import face_step
from oneof.solvers.plsvm.problem import best_scores
from oneof.solvers.plsvm.row_duals import (
    block_duals,
    clip_to_bounds,
    number_faces,
    row_duals,
    split_block,
)
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


def test_candidates_have_no_dual_variables():
    """Classes with a gain of -inf, such as candidates, have dual variables of 0."""
    alphas = np.empty(3)
    assert row_duals(np.array([-np.inf, 0.5, -np.inf]), 2.0, 1.0, alphas) == pytest.approx(0.125)
    assert alphas[[0, 2]].tolist() == [0, 0]


def draw_block(seed):
    """Return the nested sets of a block with the first class in all of them, and their masses."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(3, 7))
    weights = rng.choice([1.0, 0.7, 0.4, 0.2], K)
    weights[0], weights[-1] = 1.0, 0.1
    sizes = np.unique(weights)[::-1]
    return rng, weights >= sizes[:-1, None], sizes[:-1] - sizes[1:]


@pytest.mark.parametrize("seed", range(40))
def test_the_subproblem_of_a_block_is_solved_exactly(seed):
    """The dual variables of nested sets have the sums that maximization over one set after the other converges to."""
    rng, mask, mass = draw_block(seed)
    c, gains = float(rng.choice([0.1, 1.0, 5.0])), np.where(mask[0], -np.inf, rng.normal(size=mask.shape[1]) + 0.5)
    alphas = np.empty(mask.shape[1])
    block_duals(gains, c, mask, mass, 0, len(mask), alphas)
    finite = np.where(mask[0], 0.0, gains)
    np.testing.assert_allclose(alphas, oracle.block_duals(finite.tolist(), c, mask, mass), atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_a_block_is_split_into_feasible_variables_of_its_sets(seed):
    """Clipped variables split into variables of the sets, of sums at most the masses; feasible ones are not clipped."""
    rng, mask, mass = draw_block(seed)
    alphas = rng.normal(size=mask.shape[1])
    clip_to_bounds(alphas, mask, mass, 0, len(mask))
    again = alphas.copy()
    clip_to_bounds(again, mask, mass, 0, len(mask))
    np.testing.assert_allclose(again, alphas, atol=1e-15)
    coefficients = np.empty(mask.shape)
    split_block(alphas, mask, mass, np.zeros(len(mask), dtype=np.int64), 0, len(mask), coefficients)
    np.testing.assert_allclose(coefficients.sum(axis=1), 0.0, atol=1e-15)
    outside = np.where(mask, 0.0, -coefficients)
    assert (outside >= 0).all()
    assert (outside.sum(axis=1) <= mass + 1e-15).all()
    np.testing.assert_allclose(outside.sum(axis=0), alphas, atol=1e-15)


def test_faces_follow_the_innermost_active_bound():
    """Variables within one active bound share a face, and a bound takes away one degree of freedom."""
    mask = np.array([[True, False, False, False, False], [True, True, True, False, False]])
    mass, faces = np.array([0.4, 0.6]), np.empty(5, dtype=np.int64)
    for alphas, expected, n_free in (
        ([0.0, 0.1, 0.3, 0.2, 0.0], [0, 2, 2, 1, 0], 2),
        ([0.0, 0.1, 0.2, 0.2, 0.5], [0, 3, 3, 3, 3], 3),
        ([0.0, 0.1, 0.3, 0.2, 0.4], [0, 2, 2, 3, 3], 2),
        ([0.0, 0.4, 0.0, 0.6, 0.0], [0, 2, 0, 3, 0], 0),
    ):
        assert number_faces(np.array(alphas), mask, mass, 0, 2, faces) == n_free
        assert faces.tolist() == expected


def dual_value(p, coefficients):
    weights = p.space.rmatvec(p.of_rows(coefficients)) / p.scale
    return np.maximum(coefficients, 0).sum() / p.space.n_rows - p.penalty(weights)


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_ascent_closes_the_gap(space, is_weighted):
    """The gap closes; the dual variables are feasible and give the weights; no other weights are better."""
    p = problem(space, is_weighted=is_weighted)
    chosen = best_scores(p.of_sets(p.space.matvec(random_weights(p))), p.mask).chosen
    coefficients = restrict_duals(np.zeros(p.mask.shape), p.mask, p.mass, chosen)
    rng = np.random.default_rng(0)
    for _ in range(30):
        solution = ascend(p, chosen, coefficients, tol=1e-10, value=0.0, rng=rng)
    assert 0 <= solution.gap + 1e-12 <= 1e-9 * solution.primal + 2e-12
    assert solution.dual == pytest.approx(dual_value(p, coefficients), rel=1e-12)
    taus = coefficients[np.arange(len(chosen)), chosen]
    assert (taus <= p.mass + 1e-12).all()
    outside = np.where(p.mask, 0.0, coefficients)
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
    chosen = p.mask.argmax(axis=1)
    coefficients = restrict_duals(np.full(p.mask.shape, -0.2), p.mask, p.mass, chosen)
    solution = ascend(p, chosen, coefficients, tol=1e-6, value=0.0, rng=np.random.default_rng(0))
    assert (np.where(p.mask, 0.0, -coefficients).sum(axis=1) <= p.mass + 1e-12).all()
    np.testing.assert_allclose(coefficients.sum(axis=1), 0.0, atol=1e-12)
    assert solution.gap <= 1e-6 * solution.primal


@weighted
@pytest.mark.parametrize("space", SPACES)
def test_a_face_step_raises_the_dual(space, is_weighted):
    """A step over the free variables increases the dual, up to rounding, and stays feasible.

    From some starts a step is declined; the rounding of the ascent decides which starts these are.
    """
    p = problem(space, lam=1e-3, is_weighted=is_weighted)
    chosen = best_scores(p.of_sets(p.space.matvec(random_weights(p))), p.mask).chosen
    gains = []
    for seed in range(6):
        coefficients = restrict_duals(np.zeros(p.mask.shape), p.mask, p.mass, chosen)
        ascend(p, chosen, coefficients, tol=0.3, value=0.0, rng=np.random.default_rng(seed))
        coefficients /= 2  # feasible, and below the maximum, which the ascent may have reached
        start = dual_value(p, coefficients)
        for _ in range(5):
            before = dual_value(p, coefficients)
            weights = p.space.rmatvec(p.of_rows(coefficients)) / p.scale
            increased = face_step(p, chosen, coefficients, p.space.matvec(weights))
            after = dual_value(p, coefficients)
            # Near the maximum a step may gain less than the last digit of the value.
            assert after >= before - 2 * np.spacing(abs(before)) if increased else after == before
            taus = coefficients[np.arange(len(chosen)), chosen]
            assert (taus <= p.mass + 1e-12).all()
            assert (np.where(p.mask, 0.0, coefficients) <= 1e-15).all()
        gains.append(dual_value(p, coefficients) / start - 1)
    assert max(gains) > 1e-6
