"""Minimizers of quadratics on a sphere, also in a plane, by their optimality conditions."""

import numpy as np
import pytest
import scipy.linalg

from oneof.solvers.transducer import SpherePoint, minimize_on_constrained_sphere, minimize_on_sphere
from tests.oracles import transducer as oracle


def quadratic(d=12, seed=0, spread=100.0):
    """Return a symmetric G and a b."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    G = Q @ np.diag(rng.random(d) * spread) @ Q.T
    return (G + G.T) / 2, rng.normal(size=d) * spread


def optimal(G, b, r, solution, tol=1e-12):
    """Assert the necessary and sufficient conditions of a minimizer: length, stationarity, curvature."""
    values = np.linalg.eigvalsh(G)
    scale = np.abs(values).max() * np.sqrt(r) + np.linalg.norm(b)
    assert solution.w @ solution.w == pytest.approx(r, rel=1e-12)
    np.testing.assert_allclose(G @ solution.w - solution.multiplier * solution.w, b, atol=tol * scale)
    assert solution.multiplier <= values[0] + 1e-13 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
def test_minimizer_meets_the_conditions_of_optimality(seed, r):
    """||w||^2 = r, (G - lam I) w = b, and G - lam I has no negative eigenvalue."""
    G, b = quadratic(seed=seed)
    solution = minimize_on_sphere(G, b, r)
    optimal(G, b, r, solution)


@pytest.mark.parametrize("seed", range(5))
def test_multiplier_is_the_smallest_eigenvalue_of_the_doubled_matrix(seed):
    """The root of the secular equation is the eigenvalue given in the paper."""
    G, b = quadratic(seed=seed)
    r = float(b @ b) / 1e4
    solution = minimize_on_sphere(G, b, r)
    assert solution.multiplier == pytest.approx(oracle.multiplier(G, b, r), rel=1e-6)
    np.testing.assert_allclose(solution.w, oracle.minimizer(G, b, r), rtol=1e-5, atol=1e-5 * np.sqrt(r))


@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("rotated", [False, True])
def test_the_hard_case(multiplicity, rotated):
    """If b has no component along the lowest eigenvectors and the solution is too short, these add the length."""
    d = 6
    values = np.array([1.0] * multiplicity + list(np.arange(2.0, 2.0 + d - multiplicity)))
    b = np.where(np.arange(d) < multiplicity, 0.0, 0.3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0] if rotated else np.eye(d)
    G = Q @ np.diag(values) @ Q.T
    solution = minimize_on_sphere((G + G.T) / 2, Q @ b, 10.0)
    assert solution.multiplier == pytest.approx(1.0)
    optimal(G, Q @ b, 10.0, solution)
    # A length that the other eigenvectors suffice for is not a hard case.
    short = minimize_on_sphere((G + G.T) / 2, Q @ b, 0.01)
    assert short.multiplier < 0
    optimal(G, Q @ b, 0.01, short)


@pytest.mark.parametrize("component", [1e-3, 1e-6, 1e-9, 1e-12])
def test_close_to_the_hard_case(component):
    """However small the component of b along the lowest eigenvector, the minimizer is on its side of the sphere."""
    G, b = np.diag([1.0, 2.0, 3.0]), np.array([-component, 0.3, 0.3])
    solution = minimize_on_sphere(G, b, 10.0)
    optimal(G, b, 10.0, solution)
    assert solution.w[0] < -3


def optimal_in_plane(g, b, a, r, solution, tol=1e-12):
    """Assert that x is in the plane, and satisfies the optimality conditions in a basis of it."""
    a = a / np.linalg.norm(a)
    assert a @ solution.w == pytest.approx(0.0, abs=1e-13 * np.sqrt(r))
    Q = scipy.linalg.null_space(a[None])
    optimal(Q.T @ (g[:, None] * Q), Q.T @ b, r, SpherePoint(Q.T @ solution.w, solution.multiplier), tol)


@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("m", [2, 3, 30])
@pytest.mark.parametrize("n_values", [1, 2, 3, None])
def test_minimizer_in_the_plane_is_that_of_the_sphere_within_it(m, n_values, r):
    """With few different values, or all different, it equals the minimizer in a basis of the plane."""
    rng = np.random.default_rng(0)
    g = rng.random(m) * 10 if n_values is None else rng.integers(1, n_values + 1, m).astype(float)
    b, a = rng.normal(size=m), rng.random(m) + 0.1
    solution = minimize_on_constrained_sphere(g, b, a, r)
    optimal_in_plane(g, b, a, r, solution)
    Q = scipy.linalg.null_space(a[None])
    expected = Q @ minimize_on_sphere(Q.T @ (g[:, None] * Q), Q.T @ b, r).w
    np.testing.assert_allclose(solution.w, expected, atol=1e-9 * np.sqrt(r))


@pytest.mark.parametrize("component", [0.0, 1e-14, 1e-12, 1e-6])
@pytest.mark.parametrize("n_tied", [1, 2, 3])
def test_the_hard_case_in_the_plane(n_tied, component):
    """However small the component of b along the lowest direction of the plane, the conditions hold."""
    g = np.concatenate([np.ones(n_tied), np.arange(2.0, 6.0)])
    a = np.random.default_rng(1).random(len(g)) + 0.5
    Q = scipy.linalg.null_space(a[None])
    values, rotation = np.linalg.eigh(Q.T @ (g[:, None] * Q))
    b = Q @ rotation @ np.where(values < values[0] + 1e-9, component, 0.3)
    for r in (1e-4, 10.0):
        optimal_in_plane(g, b, a, r, minimize_on_constrained_sphere(g, b, a, r), tol=1e-7)


def test_values_and_normals_of_any_size_in_the_plane():
    """If the normal is almost along one coordinate, or values differ by orders, the point is in the plane."""
    for a in ([1e-300, 1.0, 1e300], [1e300, 1.0, 1e-300], [1.0, 1e-12, 1.0]):
        for g in ([0.0, 1.0, 2.0], [1e-9, 1e9, 1.0], [2.0, 2.0, 2.0 + 1e-9]):
            for b in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
                solution = minimize_on_constrained_sphere(np.array(g), np.array(b), np.array(a), 3.0)
                assert solution.w @ solution.w == pytest.approx(3.0)
                assert np.array(a) / max(a) @ solution.w == pytest.approx(0.0, abs=1e-12)


def test_the_point_does_not_depend_on_units():
    """Powers of two change no digit of the point, even if squares of the numbers would overflow."""
    rng = np.random.default_rng(0)
    G, b = rng.normal(size=(6, 6)), rng.normal(size=6)
    G = G + G.T
    solution = minimize_on_sphere(G, b, 4.0)
    for unit in (2.0**-40, 2.0**700, 2.0**1000):
        scaled = minimize_on_sphere(G * unit, b * unit, 4.0)
        np.testing.assert_array_equal(scaled.w, solution.w)
        assert scaled.multiplier == solution.multiplier * unit
