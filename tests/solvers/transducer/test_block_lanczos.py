"""Block Lanczos: equality with the dense solver, restarts, and invariant subspaces."""

import numpy as np
import pytest

from oneof.solvers.transducer import transduction
from oneof.solvers.transducer.block_lanczos import BLOCK_SIZE, block_lanczos
from oneof.solvers.transducer.transduction import smallest_eigenvectors
from tests.solvers.transducer.problems import graph


@pytest.mark.parametrize("n_vectors", [1, 5, 30])
def test_eigenpairs_are_those_of_the_dense_solver(n_vectors):
    """Values, residuals and orthogonality are exact to the tolerance, with restarts, and for repeated values."""
    rng = np.random.default_rng(0)
    values = np.sort(rng.random(600))
    values[3] = values[4]
    Q = np.linalg.qr(rng.normal(size=(600, 600)))[0]
    A = Q * values @ Q.T
    found, vectors = block_lanczos(lambda B: A @ B, rng.normal(size=(600, BLOCK_SIZE)), n_vectors)
    np.testing.assert_allclose(found, values[:n_vectors], atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_vectors), atol=1e-12)
    assert np.linalg.norm(A @ vectors - vectors * found, axis=0).max() <= 1e-10


def test_an_invariant_subspace_is_reported():
    """If products add no direction to the basis, nothing is returned."""
    assert block_lanczos(lambda B: 2.0 * B, np.random.default_rng(0).normal(size=(300, BLOCK_SIZE)), 20) is None


def test_eigenvectors_in_blocks_are_those_of_the_dense_solver(monkeypatch):
    """For a graph of several components, both solvers have the same eigenvectors up to signs."""
    W = graph(400, density=0.05, n_components=2)
    dense = smallest_eigenvectors(W, 10)
    monkeypatch.setattr(transduction, "MAX_DENSE_ROWS", 0)
    monkeypatch.setattr(transduction, "MIN_BLOCK_ROWS", 0)
    monkeypatch.setattr(transduction, "eigsh", None)  # not called
    blocks = smallest_eigenvectors(W, 10)
    np.testing.assert_allclose(blocks.values, dense.values, atol=1e-10)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->j", blocks.vectors, dense.vectors)), 1, atol=1e-9)
