"""Reconstruction of rows from their neighbors by non-negative least squares, and propagation of labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from oneof.errors import InputError
from oneof.graphs.neighbors import NeighborIndex
from oneof.likelihoods import normalize_within_sets, uniform_within_sets
from oneof.solvers import neighbors as neighbors_module
from oneof.solvers.neighbors import nonnegative_least_squares, propagate, reconstruction_matrix, reconstruction_weights
from tests.estimators.panel import table
from tests.oracles import ipal as oracle

# -- Non-negative least squares ---------------------------------------------------------------------------------------


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


# -- Reconstruction and propagation -----------------------------------------------------------------------------------


FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def problem(n=40, m=30, d=8, k=5, seed=0):
    """Return rows, targets, neighbors and labels, with some zero features."""
    random = np.random.default_rng(seed)
    X, T = random.normal(size=(m, d)), random.normal(size=(n, d))
    X[random.random(X.shape) < 0.4] = 0.0
    T[random.random(T.shape) < 0.4] = 0.0
    near = np.array([oracle.nearest(X, t, k)[0] for t in T])
    return X, T, near, random.integers(0, 3, m)


@FORMS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_entries", [1, 100, 2**22])
def test_weights_equal_the_oracle(max_entries, dtype, form, monkeypatch):
    """The weights minimize the residual for dense and CSR rows, in one block or many."""
    monkeypatch.setattr(neighbors_module, "MAX_GRAM_ENTRIES", max_entries)
    X, T, near, _ = problem()
    X, T = X.astype(dtype), T.astype(dtype)
    expected = [oracle.reconstruct(X, t, neighbors) for t, neighbors in zip(T.astype(float), near, strict=True)]
    np.testing.assert_allclose(reconstruction_weights(form(X), form(T), near), expected, atol=1e-9)


def test_overflowing_products_are_rejected():
    """Products of rows far from the origin may overflow even if their distances do not."""
    with pytest.raises(InputError, match="Scale the features"):
        reconstruction_weights(np.full((3, 2), 1e160), np.full((3, 2), 1e160), np.array([[1], [0], [0]]))


@pytest.mark.parametrize("near", [[[0], [2]], [[-1], [0]], [[0], [1], [0]]])
def test_invalid_neighbor_indices_are_rejected(near):
    """Indices are checked before the compiled loops, which do not check bounds."""
    with pytest.raises(InputError, match="`neighbors` must have indices of 2 rows"):
        reconstruction_weights(np.eye(2), np.eye(2), np.array(near))


def problem_with_sets(n=80, d=8, seed=0):
    """Return the reconstruction matrix of the labeled rows, and their sets."""
    X, mask = table(n, d, seed=seed)
    labeled = ~mask.all(axis=1)
    return reconstruction_matrix(NeighborIndex(X[labeled]), 6), mask[labeled]


def test_without_neighbors_the_labels_are_uniform():
    """For alpha = 0, in the limit alpha -> 0, and for rows with zero weights, F is F_0."""
    weights, mask = problem_with_sets()
    uniform = uniform_within_sets(mask)
    np.testing.assert_allclose(propagate(weights, mask, alpha=0.0).label_distributions, uniform, atol=1e-15)
    assert np.abs(propagate(weights, mask, alpha=1e-9).label_distributions - uniform).max() < 1e-8
    zero = sp.csr_array(weights.shape)
    for alpha in (0.5, 1.0):
        np.testing.assert_allclose(propagate(zero, mask, alpha=alpha).label_distributions, uniform, atol=1e-15)


@pytest.mark.parametrize("alpha", [0.3, 0.95, 1.0])
def test_the_result_is_a_fixed_point(alpha):
    """After convergence another iteration changes no entry by more than the tolerance; rows sum to 1."""
    weights, mask = problem_with_sets()
    result = propagate(weights, mask, alpha=alpha, max_iter=10_000, tol=1e-10)
    assert result.n_iter < 10_000
    assert result.change <= 1e-10
    F = result.label_distributions
    again = normalize_within_sets(alpha * (weights @ F) + (1 - alpha) * uniform_within_sets(mask), mask)
    np.testing.assert_allclose(again, F, atol=1e-10)
    np.testing.assert_allclose(F.sum(axis=1), 1)
    assert not F[~mask].any()


def test_a_warm_start_continues_the_iterations():
    """A warm start gives the same result as a single run, and stops at once after convergence."""
    weights, mask = problem_with_sets()
    first = propagate(weights, mask, alpha=0.95, max_iter=7)
    full = propagate(weights, mask, alpha=0.95, max_iter=20)
    rest = propagate(weights, mask, alpha=0.95, max_iter=13, initial=first.label_distributions)
    np.testing.assert_array_equal(rest.label_distributions, full.label_distributions)
    end = propagate(weights, mask, alpha=0.95, max_iter=10_000, tol=1e-9).label_distributions
    assert propagate(weights, mask, alpha=0.95, tol=1e-9, initial=end).n_iter == 1
