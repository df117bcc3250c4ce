"""Factors, inverses and products: the same laws for NumPy arrays and for tensors."""

import numpy as np
import pytest

from oneof.arrays import as_numpy
from oneof.solvers.loo_ridge import linear_algebra
from tests.tensors import DEVICES, tensors_on


@pytest.fixture(params=["numpy", *DEVICES])
def read(request):
    """Return a function that copies a NumPy array into an array of the namespace: NumPy, or tensors on each device."""
    if request.param == "numpy":
        yield np.array
        return
    with tensors_on(request.param) as tensor:
        yield lambda values: tensor(values, copy=True)


def positive_definite(n=30, seed=0):
    """Return a well-conditioned symmetric matrix."""
    root = np.random.default_rng(seed).normal(size=(n, n))
    return root @ root.T + n * np.eye(n)


def test_the_factor_and_the_inverse(read):
    """L L^T is the matrix, of which only the upper triangle is read, and its inverse is symmetric."""
    matrix = positive_definite()
    unread = np.triu(matrix) + np.tril(np.full_like(matrix, 1e6), -1)
    factor = linear_algebra.cholesky_factor(read(unread - 2.0 * np.eye(30)), 2.0)
    lower = as_numpy(factor).copy()
    np.testing.assert_array_equal(lower, np.tril(lower))
    np.testing.assert_allclose(lower @ lower.T, matrix, rtol=0, atol=1e-11)
    inverse = as_numpy(linear_algebra.inverse_of_factor(factor))
    assert inverse.flags.c_contiguous
    np.testing.assert_allclose(inverse @ matrix, np.eye(30), rtol=0, atol=1e-12)


def test_the_factor_is_computed_in_place(read):
    """The factor is stored in the memory of the matrix, which is the largest array of an exact fit."""
    matrix = read(positive_definite())
    factor = linear_algebra.cholesky_factor(matrix, 0.0)
    if isinstance(matrix, np.ndarray):
        assert np.shares_memory(factor, matrix)
    else:
        assert factor.data_ptr() == matrix.data_ptr()


def test_an_indefinite_matrix_has_no_factor(read):
    """The result is None, without an error of the library."""
    assert linear_algebra.cholesky_factor(read(-np.eye(3)), 0.5) is None


def test_triangular_solves(read):
    """Products with the factor give back the right-hand sides, which are NumPy arrays of labels, or rows."""
    factor = linear_algebra.cholesky_factor(read(positive_definite()), 0.0)
    lower, values = as_numpy(factor).copy(), np.random.default_rng(1).normal(size=(30, 4))
    solution = linear_algebra.solve_labels((factor, factor), values)
    np.testing.assert_allclose(lower @ lower @ solution, values, rtol=0, atol=1e-12)
    solution = linear_algebra.solve_labels((factor,), values, transposed=True)
    np.testing.assert_allclose(lower.T @ solution, values, rtol=0, atol=1e-12)
    rows = as_numpy(linear_algebra.solve_rows(factor, read(np.ascontiguousarray(values.T))))
    np.testing.assert_allclose(rows @ lower.T, values.T, rtol=0, atol=1e-12)
    rows = as_numpy(linear_algebra.solve_rows(factor, read(np.ascontiguousarray(values.T)), transposed=True))
    np.testing.assert_allclose(rows @ lower, values.T, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_products_are_in_double_precision(read, dtype, tolerance, monkeypatch):
    """Products of matrices in each precision are float64, and labels are NumPy arrays."""
    monkeypatch.setattr(linear_algebra, "SQUARE_BLOCK_ROWS", 7)
    rng = np.random.default_rng(2)
    rows, values = rng.normal(size=(40, 5)).astype(dtype), rng.normal(size=(5, 3))
    result = linear_algebra.product(read(rows), values)
    lengths, square = linear_algebra.squared_lengths(read(rows)), as_numpy(linear_algebra.square(read(rows)))
    assert result.dtype == lengths.dtype == square.dtype == np.float64
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(result, exact @ values, rtol=0, atol=tolerance)
    np.testing.assert_allclose(square, exact.T @ exact, rtol=0, atol=tolerance)
    np.testing.assert_allclose(lengths, (exact**2).sum(axis=1), rtol=0, atol=tolerance)
