"""Conjugate gradients: solutions, norms, boundaries and directions of negative curvature."""

import numpy as np
import pytest

from oneof.solvers.linear import conjugate_gradients

N, K = 12, 3


def system(*, smallest=0.5):
    """Return a symmetric matrix with eigenvalues up to 20, a positive preconditioner, and a block of right sides."""
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((N, N)))[0]
    H = (rotation * np.linspace(smallest, 20.0, N)) @ rotation.T
    M = np.diag(rng.uniform(0.5, 2.0, N)) + 0.1
    return H, M, rng.standard_normal((N, K))


@pytest.mark.parametrize("preconditioned", [False, True])
def test_solutions_equal_those_of_a_factorization(preconditioned):
    """One and several right sides, with and without a preconditioner, have the direct solution."""
    H, M, b = system()
    precondition = (lambda r: np.linalg.solve(M, r)) if preconditioned else None
    for right in (b, b[:, 0]):
        result = conjugate_gradients(lambda p: H @ p, right, precondition, tol=1e-12, max_iter=200)
        assert result.end == "converged"
        np.testing.assert_allclose(result.solution, np.linalg.solve(H, right), rtol=1e-9, atol=1e-11)
        x = result.solution
        expected = np.sum(x * (M @ x if preconditioned else x)) ** 0.5
        assert result.norm == pytest.approx(expected, rel=1e-8)


def test_the_residual_meets_the_tolerance():
    """The preconditioned norm of the residual is at most tol times that of the right side, also of a function."""
    H, M, b = system()
    size = np.sum(b * np.linalg.solve(M, b)) ** 0.5
    for tol, rtol in ((0.1, 0.1), (lambda norm: 0.02 * norm / size, 0.02)):
        result = conjugate_gradients(lambda p: H @ p, b, lambda r: np.linalg.solve(M, r), tol=tol, max_iter=99)
        residual = b - H @ result.solution
        assert np.sum(residual * np.linalg.solve(M, residual)) ** 0.5 <= rtol * size
        assert result.n_products < N


def test_a_small_region_ends_at_its_boundary():
    """The step within a region has its radius, and a higher value of the quadratic model than steepest descent."""
    H, _, b = system()
    radius = 0.5 * np.linalg.norm(np.linalg.solve(H, b))
    result = conjugate_gradients(lambda p: H @ p, b, tol=1e-8, max_iter=99, radius=radius)

    def model(x):
        return np.sum(b * x) - 0.5 * np.sum(x * (H @ x))

    assert result.end == "boundary"
    assert np.linalg.norm(result.solution) == pytest.approx(radius)
    assert result.norm == radius
    length = min(np.sum(b * b) / np.sum(b * (H @ b)), radius / np.linalg.norm(b))
    assert model(result.solution) >= model(length * b)


@pytest.mark.parametrize("radius", [np.inf, 3.0])
def test_negative_curvature_ends_the_iterations(radius):
    """The last direction has a curvature of at most 0, or the step ended at the boundary before."""
    H, _, b = system(smallest=-5.0)
    result = conjugate_gradients(lambda p: H @ p, b, tol=1e-10, max_iter=99, radius=radius)
    assert np.linalg.norm(result.solution) == pytest.approx(result.norm)
    if radius < np.inf:
        assert result.norm == radius
    else:
        assert result.end == "curvature"
        assert np.sum(result.direction * (H @ result.direction)) <= 0


def test_directions_below_a_minimum_curvature_end_the_iterations():
    """With a large minimum the first direction is flat, and the step is that of steepest descent."""
    H, _, b = system()
    result = conjugate_gradients(lambda p: H @ p, b, tol=1e-10, max_iter=99, min_curvature=1e9)
    assert (result.end, result.n_products) == ("curvature", 1)
    np.testing.assert_allclose(result.solution, b)


def test_limits():
    """A right side of 0 needs no product, and the number of products is limited."""
    H, _, b = system()
    result = conjugate_gradients(lambda p: H @ p, 0.0 * b, tol=1e-8, max_iter=99)
    assert (result.n_products, result.end, np.abs(result.solution).max()) == (0, "converged", 0.0)
    result = conjugate_gradients(lambda p: H @ p, b, tol=1e-12, max_iter=2)
    assert (result.n_products, result.end) == (2, "max_iter")


def test_a_right_side_that_is_not_finite_does_not_converge():
    """NaN satisfies no tolerance."""
    result = conjugate_gradients(lambda p: p, np.array([1.0, np.nan]), tol=1e-3, max_iter=5)
    assert result.end != "converged"
