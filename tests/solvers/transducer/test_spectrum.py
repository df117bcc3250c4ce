"""Eigenvectors of a graph and its components, without a dense basis for the components."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers import transducer
from oneof.solvers.transducer import Spectrum, graph_components, smallest_eigenvectors, solve_transduction
from tests.solvers.transducer.problems import graph


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("n_components", [1, 3])
def test_eigenvectors_are_those_of_the_laplacian(monkeypatch, n_components, dense):
    """Columns are orthonormal eigenvectors with the lowest eigenvalues except the first, orthogonal to D^1/2 1."""
    monkeypatch.setattr(transducer, "MAX_DENSE_ROWS", 500 if dense else 0)
    W = graph(200, density=0.05, n_components=n_components)
    solution = smallest_eigenvectors(W, 20)
    root = np.sqrt(W.sum(axis=1))
    L = np.eye(200) - W.toarray() / root[:, None] / root
    V = solution.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-10)
    np.testing.assert_allclose(root @ V, 0, atol=1e-9)
    np.testing.assert_allclose(L @ V, V * solution.values, atol=1e-9)
    np.testing.assert_allclose(solution.values, np.linalg.eigvalsh(L)[1:21], atol=1e-10)
    assert (solution.values[: n_components - 1] < 1e-12).all()
    assert solution.values[n_components - 1] > 1e-3


def test_lanczos_is_reproducible_and_agrees_with_the_dense_solver(monkeypatch):
    """The same graph gives the same eigenvectors to the last bit; up to signs, both solvers agree."""
    W = graph(300, density=0.05)
    dense = smallest_eigenvectors(W, 10)
    monkeypatch.setattr(transducer, "MAX_DENSE_ROWS", 0)
    first, second = smallest_eigenvectors(W, 10), smallest_eigenvectors(W, 10)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    overlap = np.abs(np.einsum("ij,ij->j", first.vectors, dense.vectors))
    np.testing.assert_allclose(overlap, 1, atol=1e-9)


@pytest.mark.parametrize("n_vectors", [1, 7])
def test_more_components_than_eigenvectors_are_all_used(n_vectors):
    """All eigenvectors with eigenvalue 0 count, and the scores do not depend on the basis of their space."""
    W = graph(40, n_components=8)
    solution = smallest_eigenvectors(W, n_vectors)
    assert len(solution) == 8
    root = np.sqrt(W.sum(axis=1))
    indicators = np.eye(8)[np.arange(40) % 8] * root[:, None]
    basis = scipy.linalg.null_space(np.vstack([root, scipy.linalg.null_space(indicators.T).T]))
    dense = Spectrum(basis, np.zeros(7))
    rng = np.random.default_rng(0)
    for weights in (np.where(rng.random(40) < 0.7, rng.random(40), 0.0), (np.arange(40) < 16) * 1.0):
        shift = weights * rng.normal(size=40)
        np.testing.assert_allclose(solution.scores(weights, shift), dense.scores(weights, shift), atol=1e-8)


def test_thousands_of_components_need_no_dense_basis():
    """In a graph of 60,000 pairs, each with a label, both rows of a pair get its label."""
    n = 120_000
    rng = np.random.default_rng(0)
    W = sp.csr_array(sp.diags_array([np.where(np.arange(n - 1) % 2, 0.0, 1 + rng.random(n - 1))], offsets=[1]))
    W = sp.csr_array(W + W.T)
    W.eliminate_zeros()
    label = rng.integers(0, 3, n // 2)
    mask = np.ones((n, 3), dtype=bool)
    mask[::2] = np.eye(3, dtype=bool)[label]
    solution = solve_transduction(W, mask)
    np.testing.assert_array_equal(solution.distributions.argmax(axis=1), np.repeat(label, 2))


def test_components_are_accurate_for_weights_of_any_size():
    """Indicators have length 1 and no overlap for extremely small and extremely large weights."""
    W = sp.csr_array(sp.block_diag([graph(6) * 1e-300, graph(5), graph(4) * 1e300], format="csr"))
    solution = graph_components(W)
    np.testing.assert_allclose((solution.indicators.T @ solution.indicators).toarray(), np.eye(3), atol=1e-14)
    assert (solution.constant >= 0).all()
    weights = (np.arange(15) % 3 == 0) * 1.0
    assert np.isfinite(solution.scores(weights, weights * (1.0 - np.arange(15) % 2))).all()


def test_eigenvectors_that_exceed_the_memory_raise():
    """For a large graph, a third of all eigenvectors or more would take dense arrays of n x n."""
    ring = sp.diags_array([1.0], offsets=[1], shape=(10**6, 10**6))
    with pytest.raises(InputError, match=r"500000 eigenvectors of a graph of 1000000 rows .*. Lower n_eigenvectors"):
        smallest_eigenvectors(sp.csr_array(ring + ring.T), 500_000)


def test_equal_eigenvalues_have_the_lowest_of_their_ranks():
    """Ranks are 1, 2, 3, ... if eigenvalues differ, and shared if the basis of their space is arbitrary."""
    vectors = np.zeros((9, 6))
    assert Spectrum(vectors, np.arange(6.0)).ranks().tolist() == [1, 2, 3, 4, 5, 6]
    assert Spectrum(vectors, np.array([0, 0, 0.2, 0.5, 0.5 + 1e-12, 0.7])).ranks().tolist() == [1, 1, 3, 4, 4, 6]
