"""The eigenvectors of a graph and its parts: what they are, and that no dense basis is made of them."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.transducer import spectrum as spectra
from oneof.solvers.transducer import transduce
from oneof.solvers.transducer.parts import parts
from oneof.solvers.transducer.spectrum import Spectrum, smoothest
from tests.solvers.transducer.problems import graph


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("parts", [1, 3])
def test_eigenvectors_are_those_of_the_laplacian(monkeypatch, parts, dense):
    """Columns are orthonormal eigenvectors of the lowest eigenvalues but one, and orthogonal to D^1/2 1."""
    monkeypatch.setattr(spectra, "DENSE_ROWS", 500 if dense else 0)
    W = graph(200, share=0.05, parts=parts)
    found = smoothest(W, 20)
    root = np.sqrt(W.sum(axis=1))
    L = np.eye(200) - W.toarray() / root[:, None] / root
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-10)
    np.testing.assert_allclose(root @ V, 0, atol=1e-9)
    np.testing.assert_allclose(L @ V, V * found.values, atol=1e-9)
    np.testing.assert_allclose(found.values, np.linalg.eigvalsh(L)[1:21], atol=1e-10)
    assert (found.values[: parts - 1] < 1e-12).all()
    assert found.values[parts - 1] > 1e-3


def test_lanczos_is_reproducible_and_finds_what_the_dense_solver_finds(monkeypatch):
    """The same graph gives the same eigenvectors to the last bit; but for signs, both ways give the same."""
    W = graph(300, share=0.05)
    dense = smoothest(W, 10)
    monkeypatch.setattr(spectra, "DENSE_ROWS", 0)
    first, second = smoothest(W, 10), smoothest(W, 10)
    np.testing.assert_array_equal(first.vectors, second.vectors)
    overlap = np.abs(np.einsum("ij,ij->j", first.vectors, dense.vectors))
    np.testing.assert_allclose(overlap, 1, atol=1e-9)


def test_there_are_no_more_eigenvectors_than_rows():
    """Asked for more, all but the constant one are given."""
    assert smoothest(graph(10), 80).vectors.shape == (10, 9)
    assert smoothest(sp.csr_array([[0.0, 1.0], [1.0, 0.0]]), 80).values.tolist() == [pytest.approx(2.0)]


@pytest.mark.parametrize("n_vectors", [1, 7])
def test_more_parts_than_eigenvectors_are_taken_whole(n_vectors):
    """Of eigenvectors of eigenvalue 0 all count, and the scores are those that any basis of their space gives."""
    W = graph(40, parts=8)
    found = smoothest(W, n_vectors)
    assert len(found) == 8
    root = np.sqrt(W.sum(axis=1))
    indicators = np.eye(8)[np.arange(40) % 8] * root[:, None]
    flat = scipy.linalg.null_space(np.vstack([root, scipy.linalg.null_space(indicators.T).T]))
    dense = Spectrum(flat, np.zeros(7))
    random = np.random.default_rng(0)
    for weights in (np.where(random.random(40) < 0.7, random.random(40), 0.0), (np.arange(40) < 16) * 1.0):
        pull = weights * random.normal(size=40)
        np.testing.assert_allclose(found.scores(weights, pull), dense.scores(weights, pull), atol=1e-8)


def test_thousands_of_parts_take_no_dense_basis():
    """A graph of 60,000 pairs, each with a label, takes the label of each pair for both of its rows."""
    n = 120_000
    random = np.random.default_rng(0)
    W = sp.csr_array(sp.diags_array([np.where(np.arange(n - 1) % 2, 0.0, 1 + random.random(n - 1))], offsets=[1]))
    W = sp.csr_array(W + W.T)
    W.eliminate_zeros()
    label = random.integers(0, 3, n // 2)
    mask = np.ones((n, 3), dtype=bool)
    mask[::2] = np.eye(3, dtype=bool)[label]
    found = transduce(W, mask)
    np.testing.assert_array_equal(found.distributions.argmax(axis=1), np.repeat(label, 2))


def test_parts_are_right_for_weights_of_any_size():
    """Indicators have length 1 and no overlap, where one part has the least weights that there are, one the largest."""
    W = sp.csr_array(sp.block_diag([graph(6) * 1e-300, graph(5), graph(4) * 1e300], format="csr"))
    found = parts(W)
    np.testing.assert_allclose((found.indicators.T @ found.indicators).toarray(), np.eye(3), atol=1e-14)
    assert (found.constant >= 0).all()
    weights = (np.arange(15) % 3 == 0) * 1.0
    assert np.isfinite(found.scores(weights, weights * (1.0 - np.arange(15) % 2))).all()


def test_eigenvectors_beyond_memory_are_refused():
    """Of a large graph, a third of all eigenvectors or more would take dense arrays of n x n, and is refused."""
    ring = sp.diags_array([1.0], offsets=[1], shape=(10**6, 10**6))
    with pytest.raises(InputError, match=r"500000 eigenvectors of a graph of 1000000 rows .*: lower n_eigenvectors"):
        smoothest(sp.csr_array(ring + ring.T), 500_000)


def test_equal_eigenvalues_have_the_lowest_of_their_ranks():
    """Ranks are 1, 2, 3, ... where eigenvalues differ, and shared where the basis of their space is arbitrary."""
    vectors = np.zeros((9, 6))
    assert Spectrum(vectors, np.arange(6.0)).ranks().tolist() == [1, 2, 3, 4, 5, 6]
    assert Spectrum(vectors, np.array([0, 0, 0.2, 0.5, 0.5 + 1e-12, 0.7])).ranks().tolist() == [1, 1, 3, 4, 4, 6]
