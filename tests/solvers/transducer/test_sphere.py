"""Least points of a quadratic on a sphere, and on its circle in a plane, by the conditions that hold of no other."""

import numpy as np
import pytest
import scipy.linalg

from oneof.solvers.transducer.plane import minimize_in_plane
from oneof.solvers.transducer.sphere import SpherePoint, minimize_on_sphere
from tests.oracles import transducer as oracle


def quadratic(d=12, seed=0, spread=100.0):
    """Return a symmetric G and a b."""
    random = np.random.default_rng(seed)
    Q = np.linalg.qr(random.normal(size=(d, d)))[0]
    G = Q @ np.diag(random.random(d) * spread) @ Q.T
    return (G + G.T) / 2, random.normal(size=d) * spread


def optimal(G, b, r, found, tol=1e-12):
    """Assert the conditions that hold of a least point and of no other: length, stationarity, curvature."""
    values = np.linalg.eigvalsh(G)
    scale = np.abs(values).max() * np.sqrt(r) + np.linalg.norm(b)
    assert found.w @ found.w == pytest.approx(r, rel=1e-12)
    np.testing.assert_allclose(G @ found.w - found.multiplier * found.w, b, atol=tol * scale)
    assert found.multiplier <= values[0] + 1e-13 * np.abs(values).max()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
def test_minimizer_meets_the_conditions_of_optimality(seed, r):
    """||w||^2 = r, (G - lam I) w = b, and G - lam I has no negative eigenvalue."""
    G, b = quadratic(seed=seed)
    found = minimize_on_sphere(G, b, r)
    optimal(G, b, r, found)


@pytest.mark.parametrize("seed", range(5))
def test_multiplier_is_the_smallest_eigenvalue_of_the_doubled_matrix(seed):
    """The root of the secular equation is the eigenvalue that the paper names."""
    G, b = quadratic(seed=seed)
    r = float(b @ b) / 1e4
    found = minimize_on_sphere(G, b, r)
    assert found.multiplier == pytest.approx(oracle.multiplier(G, b, r), rel=1e-6)
    np.testing.assert_allclose(found.w, oracle.minimizer(G, b, r), rtol=1e-5, atol=1e-5 * np.sqrt(r))


@pytest.mark.parametrize("seed", range(3))
def test_no_point_of_the_sphere_is_better(seed):
    """Of many random points of the sphere, and many close to the minimizer, none has a lower value."""
    random = np.random.default_rng(seed)
    G, b = quadratic(4, seed=seed)
    r = 3.0
    w = minimize_on_sphere(G, b, r).w
    others = np.vstack([random.normal(size=(3000, 4)), w + 0.1 * random.normal(size=(3000, 4))])
    others *= np.sqrt(r) / np.linalg.norm(others, axis=1, keepdims=True)

    def value(points):
        return np.einsum("ij,jk,ik->i", points, G, points) - 2 * points @ b

    assert value(others).min() >= value(w[None])[0] - 1e-10


@pytest.mark.parametrize("multiplicity", [1, 2])
@pytest.mark.parametrize("rotated", [False, True])
def test_the_hard_case(multiplicity, rotated):
    """Where b has no part along the lowest eigenvectors and too short a solution, these fill its length."""
    d = 6
    values = np.array([1.0] * multiplicity + list(np.arange(2.0, 2.0 + d - multiplicity)))
    b = np.where(np.arange(d) < multiplicity, 0.0, 0.3)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(d, d)))[0] if rotated else np.eye(d)
    G = Q @ np.diag(values) @ Q.T
    found = minimize_on_sphere((G + G.T) / 2, Q @ b, 10.0)
    assert found.multiplier == pytest.approx(1.0)
    optimal(G, Q @ b, 10.0, found)
    # A length that the other eigenvectors can fill makes the case an easy one.
    short = minimize_on_sphere((G + G.T) / 2, Q @ b, 0.01)
    assert short.multiplier < 0
    optimal(G, Q @ b, 0.01, short)


@pytest.mark.parametrize("part", [1e-3, 1e-6, 1e-9, 1e-12])
def test_close_to_the_hard_case(part):
    """However small the part of b along the lowest eigenvector, the point on its side of the sphere is found."""
    G, b = np.diag([1.0, 2.0, 3.0]), np.array([-part, 0.3, 0.3])
    found = minimize_on_sphere(G, b, 10.0)
    optimal(G, b, 10.0, found)
    assert found.w[0] < -3


def optimal_in_plane(g, b, a, r, found, tol=1e-12):
    """Assert that x lies in the plane, and that in a basis of it the conditions of a least point hold."""
    a = a / np.linalg.norm(a)
    assert a @ found.w == pytest.approx(0.0, abs=1e-13 * np.sqrt(r))
    Q = scipy.linalg.null_space(a[None])
    optimal(Q.T @ (g[:, None] * Q), Q.T @ b, r, SpherePoint(Q.T @ found.w, found.multiplier), tol)


@pytest.mark.parametrize("r", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("m", [2, 3, 30])
@pytest.mark.parametrize("n_values", [1, 2, 3, None])
def test_minimizer_in_the_plane_is_that_of_the_sphere_within_it(m, n_values, r):
    """With few different values, or all different, the least point is that of the quadratic in a basis of the plane."""
    random = np.random.default_rng(0)
    g = random.random(m) * 10 if n_values is None else random.integers(1, n_values + 1, m).astype(float)
    b, a = random.normal(size=m), random.random(m) + 0.1
    found = minimize_in_plane(g, b, a, r)
    optimal_in_plane(g, b, a, r, found)
    Q = scipy.linalg.null_space(a[None])
    expected = Q @ minimize_on_sphere(Q.T @ (g[:, None] * Q), Q.T @ b, r).w
    np.testing.assert_allclose(found.w, expected, atol=1e-9 * np.sqrt(r))


@pytest.mark.parametrize("part", [0.0, 1e-14, 1e-12, 1e-6])
@pytest.mark.parametrize("n_tied", [1, 2, 3])
def test_the_hard_case_in_the_plane(n_tied, part):
    """However small the part of b along the least direction of the plane, the point has its length and is least."""
    g = np.concatenate([np.ones(n_tied), np.arange(2.0, 6.0)])
    a = np.random.default_rng(1).random(len(g)) + 0.5
    Q = scipy.linalg.null_space(a[None])
    values, turned = np.linalg.eigh(Q.T @ (g[:, None] * Q))
    b = Q @ turned @ np.where(values < values[0] + 1e-9, part, 0.3)
    for r in (1e-4, 10.0):
        optimal_in_plane(g, b, a, r, minimize_in_plane(g, b, a, r), tol=1e-7)


def test_values_and_normals_of_any_size_in_the_plane():
    """Where the normal is almost that of one coordinate, or values differ by orders, the point is in the plane."""
    for a in ([1e-300, 1.0, 1e300], [1e300, 1.0, 1e-300], [1.0, 1e-12, 1.0]):
        for g in ([0.0, 1.0, 2.0], [1e-9, 1e9, 1.0], [2.0, 2.0, 2.0 + 1e-9]):
            for b in ([1.0, 1.0, 1.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]):
                found = minimize_in_plane(np.array(g), np.array(b), np.array(a), 3.0)
                assert found.w @ found.w == pytest.approx(3.0)
                assert np.array(a) / max(a) @ found.w == pytest.approx(0.0, abs=1e-12)


def test_the_point_does_not_depend_on_units():
    """Powers of two change no digit of the point, also where squares of the numbers would overflow."""
    random = np.random.default_rng(0)
    G, b = random.normal(size=(6, 6)), random.normal(size=6)
    G = G + G.T
    found = minimize_on_sphere(G, b, 4.0)
    for unit in (2.0**-40, 2.0**700, 2.0**1000):
        scaled = minimize_on_sphere(G * unit, b * unit, 4.0)
        np.testing.assert_array_equal(scaled.w, found.w)
        assert scaled.multiplier == found.multiplier * unit
