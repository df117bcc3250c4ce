"""Kernels of transformed features, their weighted sums, and city-block distances."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from oneof.kernels import mapped
from oneof.kernels.feature_maps import Standard
from oneof.kernels.mapped import KernelSum, MappedKernel, city_block_distances, iter_kernels, take_rows


def rows(n=30, d=4, seed=0):
    """Return normal rows."""
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("d", [1, 3, 40, 785])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_city_block_distances_equal_scipy(d, dtype, tolerance):
    """The distances equal those of `cdist` relative to their size, in the precision of the rows."""
    X, Y = rows(70, d).astype(dtype), rows(135, d, seed=1).astype(dtype)
    result = city_block_distances(X, Y)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, cdist(X, Y, "cityblock"), rtol=tolerance)
    assert city_block_distances(X[:0], Y).shape == (0, 135)


@pytest.mark.parametrize("d", [1, 3, 40, 785])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_city_block_distances_do_not_depend_on_the_other_rows(d, dtype):
    """The distance of a pair is the same number in every block, in either order, and 0 for equal rows."""
    X, Y = rows(70, d).astype(dtype), rows(135, d, seed=1).astype(dtype)
    result = city_block_distances(X, Y)
    np.testing.assert_array_equal(city_block_distances(X[3:9], Y[:71]), result[3:9, :71])
    np.testing.assert_array_equal(city_block_distances(Y, X).T, result)
    for j in range(len(Y)):
        np.testing.assert_array_equal(city_block_distances(X, Y[j : j + 1])[:, 0], result[:, j])
    np.testing.assert_array_equal(np.diag(city_block_distances(X, X)), 0)


def test_the_laplacian_kernel():
    """The matrix equals the formula and is exactly symmetric, and blocks of it are the same numbers."""
    X = rows()
    standard = Standard.fit(X)
    Z = standard(X)
    kernel = MappedKernel.from_rows(standard, "laplacian", Z, "float64")
    expected = np.exp(-1.5 * np.abs(Z[:, None] - Z[None]).sum(axis=2) / 4)
    np.testing.assert_allclose(kernel.gram(Z), expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.gram(Z[:9], Z), expected[:9], rtol=1e-12)
    np.testing.assert_array_equal(kernel.gram(Z), kernel.gram(Z).T)
    np.testing.assert_array_equal(kernel.gram(Z[:9], Z), kernel.gram(Z)[:9])


@dataclass
class CountedMap:
    """Feature map that counts its calls."""

    factor: float
    n_calls: int = 0

    def __call__(self, X):
        self.n_calls += 1
        return self.factor * X


def kernels():
    """Return two kernels that share a map, and a kernel with its own map."""
    shared, own = CountedMap(1.0), CountedMap(3.0)
    return [
        MappedKernel(shared, "rbf", 4.0),
        MappedKernel(own, "rbf", 2.0),
        MappedKernel(shared, "laplacian", 4.0),
    ]


WEIGHTS = np.array([0.5, 0.2, 0.3])


def test_a_sum_of_kernels_equals_the_weighted_sum():
    """The Gram matrix is the weighted sum of the parts, of all pairs of rows and between two sets of rows."""
    X, parts = rows(), kernels()
    kernel = KernelSum.from_kernels(parts, WEIGHTS)
    mapped_rows = kernel.transform(X)
    expected = sum(w * part.gram(part.feature_map(X)) for w, part in zip(WEIGHTS, parts, strict=True))
    np.testing.assert_allclose(kernel.gram(mapped_rows), expected, rtol=1e-12)
    block = kernel.gram(take_rows(mapped_rows, slice(3, 9)), take_rows(mapped_rows, np.arange(20)))
    np.testing.assert_allclose(block, expected[3:9, :20], rtol=1e-12)


def test_a_shared_map_is_applied_once():
    """Kernels with the same map share the transformed rows, which are computed and stored once."""
    X, parts = rows(), kernels()
    kernel = KernelSum.from_kernels(parts, WEIGHTS)
    mapped_rows = kernel.transform(X)
    assert [part.feature_map.n_calls for part in parts] == [1, 1, 1]
    assert len(mapped_rows) == len(kernel.support_rows(mapped_rows)) == 2
    np.testing.assert_array_equal(mapped_rows[0], X)
    np.testing.assert_array_equal(mapped_rows[1], 3.0 * X)
    kernel.gram(mapped_rows)
    assert [part.feature_map.n_calls for part in parts] == [1, 1, 1]


@pytest.mark.parametrize("kind", ["rbf", "laplacian"])
def test_many_entries_are_evaluated_in_single_precision(kind, monkeypatch):
    """From the limit on, kernels are in float32 and equal those in float64 to 1e-5."""
    X = rows(60, 7)
    ((_, double),) = iter_kernels(kind, "standard", X, np.arange(60))
    monkeypatch.setattr(mapped, "MIN_FLOAT32_ENTRIES", X.size)
    ((_, single),) = iter_kernels(kind, "standard", X, np.arange(60))
    result = single.gram(single.transform(X))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, double.gram(double.transform(X)), rtol=0, atol=1e-5)
    wide = np.hstack([X, np.zeros((60, 5))])[:-1]  # features that are 0 in all rows do not count
    for rows_below in (wide, sp.csr_array(wide)):
        ((_, below),) = iter_kernels("rbf", "l2", rows_below, np.arange(59))
        assert below.gram(below.transform(rows_below)).dtype == np.float64
    ((_, sparse),) = iter_kernels("rbf", "l2", sp.csr_array(X), np.arange(60))
    assert sparse.gram(sparse.transform(sp.csr_array(X))).dtype == np.float32
