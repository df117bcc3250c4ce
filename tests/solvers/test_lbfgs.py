"""Tests of preconditioned L-BFGS: the recursion, the descent, products in single precision."""

import numpy as np
import pytest

from oneof.solvers import lbfgs
from oneof.solvers.lbfgs import InverseHessian
from oneof.solvers.plem import solve_plem
from tests.estimators.panel import table


def two_loops(gradient, pairs, solve):
    """Return -H g by algorithm 7.4 of Nocedal and Wright, with M^-1 times gamma as the initial matrix."""
    q, steps = gradient.copy(), []
    for s, y in reversed(pairs):
        a = (s * q).sum() / (s * y).sum()
        q -= a * y
        steps.append(a)
    r = solve(q)
    if pairs:
        s, y = pairs[-1]
        r = r * ((s * y).sum() / (y * solve(y)).sum())
    for (s, y), a in zip(pairs, reversed(steps), strict=True):
        r += (a - (y * r).sum() / (s * y).sum()) * s
    return -r


@pytest.mark.parametrize("order", ["C", "F"])
def test_directions_equal_those_of_the_two_loop_recursion(order):
    """With a full, an overflowing and a moved memory, directions are those of the textbook."""
    rng = np.random.default_rng(0)
    root, M = rng.normal(size=(2, 12, 12))
    hessian, inverse = root @ root.T + np.eye(12), np.linalg.inv(M @ M.T + np.eye(12))

    def solve(right):
        return np.asarray((inverse @ right.ravel()).reshape(right.shape), order=order)

    gradient = np.asarray(rng.normal(size=(3, 4)), order=order)
    state, pairs = InverseHessian(solve, gradient), []
    for step_number in range(2 * lbfgs.MEMORY + 3):
        np.testing.assert_allclose(state.direction(), two_loops(gradient, pairs, solve), rtol=1e-8, atol=1e-10)
        s = np.asarray(rng.normal(size=(3, 4)), order=order)
        if step_number % 5 == 4:  # the same weights with a slightly different gradient
            gradient = gradient + 1e-3 * np.asarray(rng.normal(size=(3, 4)), order=order)
            state.move(gradient)
            continue
        y = np.asarray((hessian @ s.ravel()).reshape(3, 4), order=order)
        gradient = gradient + y
        state.update(s, gradient)
        pairs = [*pairs, (s, y)][-lbfgs.MEMORY :]


def test_a_pair_of_negative_curvature_is_left_out():
    """A step along which the gradient decreases does not change H, which remains positive definite."""
    state = InverseHessian(lambda right: right.copy(), np.ones((1, 2)))
    state.update(np.array([[1.0, 0.0]]), np.array([[0.5, 1.0]]))
    np.testing.assert_array_equal(state.direction(), [[-0.5, -1.0]])


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("offset", [1e3, 1e5, 3e6, 1e8])
def test_features_far_from_the_origin_use_double_precision(offset, fit_intercept):
    """Features whose differences single precision cannot represent are fitted, with a path of its errors."""
    X, mask = table(80)
    mask = np.eye(3, dtype=bool)[mask.argmax(axis=1)]
    near = solve_plem(X, mask, lam=1e-3, sample_weight=np.ones(80), fit_intercept=True)
    far = solve_plem(X + offset, mask, lam=1e-3, sample_weight=np.ones(80), fit_intercept=fit_intercept)
    assert np.all(np.diff(far.objective_path) <= lbfgs.SINGLE_TOL * far.objective_path[0])
    if fit_intercept and offset <= 1e5:  # the intercept takes the offset up
        np.testing.assert_allclose(far.weights[:, :4], near.weights[:, :4], rtol=1e-3, atol=1e-4)


def test_an_overflow_of_single_precision_is_none_of_double_precision():
    """A penalty beyond the range of single precision is fitted by products in double precision."""
    X, mask = table(80)
    for lam, weight in ((1e-40, 1.0), (1.0, 1e40)):
        assert solve_plem(X, mask, lam=lam, sample_weight=np.full(80, weight)).converged
