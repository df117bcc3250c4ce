"""Non-negative least squares: optimality conditions, and comparison with SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from oneof.solvers.neighbors import nonnegative_least_squares


def solve(A, x):
    """Return the weights of n problems: rows A (n, k, d), targets x (n, d)."""
    return nonnegative_least_squares(A @ A.transpose(0, 2, 1), np.einsum("nkd,nd->nk", A, x), (x**2).sum(axis=1))


def check_optimal(A, x, w, tolerance=1e-9):
    """Assert the Karush-Kuhn-Tucker conditions, with each product relative to the norms of its factors."""
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    residual = x - np.einsum("nk,nkd->nd", w, A)
    sizes = np.linalg.norm(A, axis=2)
    reach = np.linalg.norm(x, axis=1) + (w * sizes).sum(axis=1)
    products = np.einsum("nkd,nd->nk", A, residual)
    allowed = tolerance * sizes * reach[:, None] + 1e-300
    assert (products <= allowed).all()
    assert (np.abs(products[w > 0]) <= allowed[w > 0]).all()


def check_residuals(A, x, w, tolerance=1e-9):
    """Assert that no sum of squares exceeds that of SciPy's weights, relative to the target.

    Both are recomputed: for dependent rows SciPy (1.17) may return a residual that does not belong to its weights.
    """
    reference = np.array([nnls(rows.T, target)[0] for rows, target in zip(A, x, strict=True)])
    result, reference = (((x - np.einsum("nk,nkd->nd", v, A)) ** 2).sum(axis=1) for v in (w, reference))
    assert (result <= reference + tolerance * (x**2).sum(axis=1)).all()


def draw(seed, n=50):
    """Return problems of a random shape and kind, including singular Gram matrices."""
    rng = np.random.default_rng(seed)
    k, d = rng.integers(1, 13), rng.integers(1, 9)
    A, x = rng.normal(size=(n, k, d)), rng.normal(size=(n, d))
    kind = seed % 7
    if kind == 1:  # rows around their target
        A = x[:, None, :] + 0.3 * A
    elif kind == 2:  # repeated and zero rows
        A[:, k // 2 :] = A[:, : k - k // 2]
        A[:, 0] = 0.0
    elif kind == 3:  # targets in the cone of the rows
        x = np.einsum("nk,nkd->nd", rng.random((n, k)), A)
    elif kind == 4:  # far from the origin: nearly dependent
        A, x = 0.1 * A + 10.0, 0.1 * x + 10.0
    elif kind == 5:  # features of very different sizes
        scales = 10.0 ** rng.integers(-2, 3, d)
        A, x = A * scales, x * scales
    elif kind == 6:  # small integers, with repeated, zero and opposite rows and ties
        A, x = rng.integers(-2, 3, A.shape).astype(float), rng.integers(-2, 3, x.shape).astype(float)
    return A, x


@given(st.integers(0, 10**6))
@settings(max_examples=210, deadline=None)
def test_random_problems_are_solved(seed):
    """Weights satisfy the optimality conditions and reach SciPy's residual, also for dependent rows.

    Features of very different sizes make one problem in 60,000 nearly dependent; the largest loss of 500,000 is 8e-7.
    """
    A, x = draw(seed)
    w = solve(A, x)
    check_optimal(A, x, w, 1e-9 if seed % 7 == 6 else 1e-8)
    check_residuals(A, x, w, tolerance=1e-6 if seed % 7 == 5 else 1e-9)


@pytest.mark.parametrize("d", [2, 4, 20])
def test_the_order_of_rows_does_not_matter(d):
    """The weights do not depend on the order of the rows, even if many weights are optimal."""
    rng = np.random.default_rng(d)
    A, x = rng.normal(size=(500, 10, d)) + 0.5, rng.normal(size=(500, d)) + 0.5
    order = rng.permutation(10)
    np.testing.assert_allclose(solve(A[:, order], x), solve(A, x)[:, order], atol=1e-8)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_number_of_weights_is_at_most_the_rank(seed):
    """Rows with a positive weight are independent."""
    A, x = draw(seed)
    for rows, weights in zip(A, solve(A, x), strict=True):
        used = rows[weights > 0]
        assert len(used) <= rows.shape[1]
        assert np.linalg.matrix_rank(used, tol=1e-9 * np.abs(rows).max()) == len(used)


def test_rounding_does_not_create_weights():
    """A target that is orthogonal to its rows up to rounding has zero weights."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(100, 12, 12)))[0].transpose(0, 2, 1)
    assert not solve(Q[:, :8], Q[:, 8]).any()
    products = np.einsum("nkd,nd->nk", Q[:, :8], Q[:, 8])
    assert products.any()


@pytest.mark.parametrize("size", [1e-140, 1e-30, 1.0, 1e30, 1e140])
def test_weights_are_scale_equivariant(size):
    """Scaling rows and target does not change the weights; scaling only the target scales the weights."""
    A, x = draw(1)
    expected = solve(A, x)
    np.testing.assert_allclose(solve(A * size, x * size), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(solve(A, x * 1e-3), expected * 1e-3, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-5])
def test_nearly_equal_rows_converge_to_finite_weights(noise):
    """Rows that differ by rounding cost digits of the residual, but the solver stops with finite weights."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(200, 1, 5)) + noise * rng.normal(size=(200, 15, 5))
    x = A[:, 0] + noise * rng.normal(size=(200, 5)) + np.where(np.arange(200) % 2, 0.5, 0.0)[:, None]
    w = solve(A, x)
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    check_residuals(A, x, w, tolerance=1e-7)


@pytest.mark.parametrize("shape", [(0, 3, 2), (4, 0, 2), (0, 0, 2)])
def test_empty_problems(shape):
    """Zero problems, and problems without rows, have empty weights."""
    assert solve(np.ones(shape), np.ones((shape[0], 2))).shape == shape[:2]
