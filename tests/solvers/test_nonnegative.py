"""Non-negative least squares: its conditions of optimality, and scipy's residuals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from oneof.solvers.nnls import nonnegative_least_squares


def solve(A, x):
    """Return the weights of many problems: rows A (n, k, d), targets x (n, d)."""
    return nonnegative_least_squares(A @ A.transpose(0, 2, 1), np.einsum("nkd,nd->nk", A, x), (x**2).sum(axis=1))


def check_optimal(A, x, w, tolerance=1e-9):
    """Assert the Karush-Kuhn-Tucker conditions, each product weighed against the sizes of what is multiplied."""
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    rest = x - np.einsum("nk,nkd->nd", w, A)
    sizes = np.linalg.norm(A, axis=2)
    reach = np.linalg.norm(x, axis=1) + (w * sizes).sum(axis=1)
    products = np.einsum("nkd,nd->nk", A, rest)
    allowed = tolerance * sizes * reach[:, None] + 1e-300
    assert (products <= allowed).all()
    assert (np.abs(products[w > 0]) <= allowed[w > 0]).all()


def check_residuals(A, x, w, tolerance=1e-9):
    """Assert that no sum of squares is above that of scipy's weights, relative to the target.

    It is summed anew for both: for dependent rows scipy (1.17) can return weights and the residual of others.
    """
    theirs = np.array([nnls(rows.T, target)[0] for rows, target in zip(A, x, strict=True)])
    ours, theirs = (((x - np.einsum("nk,nkd->nd", v, A)) ** 2).sum(axis=1) for v in (w, theirs))
    assert (ours <= theirs + tolerance * (x**2).sum(axis=1)).all()


def draw(seed, n=50):
    """Return problems of a random shape and kind, singular Gram matrices among them."""
    random = np.random.default_rng(seed)
    k, d = random.integers(1, 13), random.integers(1, 9)
    A, x = random.normal(size=(n, k, d)), random.normal(size=(n, d))
    kind = seed % 6
    if kind == 1:  # neighbors indeed: rows around their target
        A = x[:, None, :] + 0.3 * A
    elif kind == 2:  # repeated and zero rows
        A[:, k // 2 :] = A[:, : k - k // 2]
        A[:, 0] = 0.0
    elif kind == 3:  # a cone that holds the target
        x = np.einsum("nk,nkd->nd", random.random((n, k)), A)
    elif kind == 4:  # far from the origin, so nearly dependent
        A, x = 0.1 * A + 10.0, 0.1 * x + 10.0
    elif kind == 5:  # features of very different sizes
        scales = 10.0 ** random.integers(-2, 3, d)
        A, x = A * scales, x * scales
    return A, x


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_random_problems_are_solved(seed):
    """Weights meet the conditions of optimality and scipy's residual, however the rows depend on each other."""
    A, x = draw(seed)
    w = solve(A, x)
    check_optimal(A, x, w, 1e-8)
    check_residuals(A, x, w)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_whole_numbers_with_many_ties_are_solved(seed):
    """Small whole numbers, where rows repeat, vanish, oppose each other and tie, end at the optimum all the same."""
    random = np.random.default_rng(seed)
    k, d = random.integers(1, 11), random.integers(1, 5)
    A = random.integers(-2, 3, size=(100, k, d)).astype(float)
    x = random.integers(-2, 3, size=(100, d)).astype(float)
    w = solve(A, x)
    check_optimal(A, x, w)
    check_residuals(A, x, w)


def test_the_minimizer_is_scipys_where_it_is_unique():
    """For independent rows there is one minimizer, and it is found."""
    random = np.random.default_rng(0)
    A, x = random.normal(size=(200, 6, 9)), random.normal(size=(200, 9))
    np.testing.assert_allclose(solve(A, x), [nnls(a.T, t)[0] for a, t in zip(A, x, strict=True)], atol=1e-10)


@pytest.mark.parametrize("d", [2, 4, 20])
def test_the_order_of_rows_is_immaterial(d):
    """Also where many weights are optimal, the same rows get the same weights in any order."""
    random = np.random.default_rng(d)
    A, x = random.normal(size=(500, 10, d)) + 0.5, random.normal(size=(500, d)) + 0.5
    order = random.permutation(10)
    np.testing.assert_allclose(solve(A[:, order], x), solve(A, x)[:, order], atol=1e-8)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_no_more_weights_than_the_rank(seed):
    """Rows with a weight are independent."""
    A, x = draw(seed)
    for rows, weights in zip(A, solve(A, x), strict=True):
        used = rows[weights > 0]
        assert len(used) <= rows.shape[1]
        assert np.linalg.matrix_rank(used, tol=1e-9 * np.abs(rows).max()) == len(used)


def test_rounding_is_no_weight():
    """A target at right angles to its rows, but for rounding, gets no weight at all."""
    random = np.random.default_rng(0)
    Q = np.linalg.qr(random.normal(size=(100, 12, 12)))[0].transpose(0, 2, 1)
    assert not solve(Q[:, :8], Q[:, 8]).any()
    products = np.einsum("nkd,nd->nk", Q[:, :8], Q[:, 8])
    assert products.any()


@pytest.mark.parametrize("size", [1e-140, 1e-30, 1.0, 1e30, 1e140])
def test_weights_know_no_scale(size):
    """Scaling rows and target alike changes no weight; scaling the target alone scales the weights."""
    A, x = draw(1)
    expected = solve(A, x)
    np.testing.assert_allclose(solve(A * size, x * size), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solve(A, x * 1e-3), expected * 1e-3, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5])
def test_nearly_equal_rows_end_and_stay_finite(noise):
    """Rows that rounding can hardly tell apart cost digits of the residual, but neither an end nor a number."""
    random = np.random.default_rng(0)
    A = random.normal(size=(200, 1, 5)) + noise * random.normal(size=(200, 15, 5))
    x = A[:, 0] + noise * random.normal(size=(200, 5)) + np.where(np.arange(200) % 2, 0.5, 0.0)[:, None]
    w = solve(A, x)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    check_residuals(A, x, w, tolerance=1e-7)


@pytest.mark.parametrize("shape", [(0, 3, 2), (4, 0, 2), (0, 0, 2)])
def test_nothing_to_solve(shape):
    """No problems, or problems without rows, have no weights."""
    assert solve(np.ones(shape), np.ones((shape[0], 2))).shape == shape[:2]
