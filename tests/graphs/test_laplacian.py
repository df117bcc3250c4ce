"""Laplacians: null vectors, bounds of the eigenvalues, vertices without edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs import NeighborGraph, check_affinity, laplacian
from tests.graphs.test_graph import rows
from tests.oracles import graphs as oracle

KINDS = ["plain", "random_walk", "symmetric"]


@pytest.mark.parametrize("kind", KINDS)
def test_laplacians_are_those_of_the_definition(kind):
    """The Laplacians equal those of dense arrays."""
    W = NeighborGraph().graph(rows()).affinity
    L = laplacian(W, kind)
    assert isinstance(L, sp.csr_array)
    np.testing.assert_allclose(L.toarray(), oracle.laplacian(W.toarray(), kind), atol=1e-15)
    if kind != "random_walk":
        assert (L != L.T).nnz == 0


def test_null_vectors_and_eigenvalues():
    """Every component has one null vector; eigenvalues are at least 0, and at most 2 if L is normalized."""
    X = np.concatenate([rows(20), rows(30, seed=1) + 100.0])
    W = NeighborGraph(n_neighbors=6).graph(X).affinity
    degrees, indicators = W.sum(axis=1), np.repeat(np.eye(2), (20, 30), axis=0)
    for kind, null in (("plain", 1.0), ("random_walk", 1.0), ("symmetric", np.sqrt(degrees))):
        np.testing.assert_allclose(laplacian(W, kind) @ (indicators.T * null).T, 0.0, atol=1e-13)
    for kind, top in (("plain", 2 * degrees.max()), ("symmetric", 2.0)):
        values = np.linalg.eigvalsh(laplacian(W, kind).toarray())
        assert (np.abs(values) < 1e-12).sum() == 2
        assert values.min() > -1e-12
        assert values.max() < top + 1e-12
    similar = np.sort(np.linalg.eigvals(laplacian(W, "random_walk").toarray()).real)
    np.testing.assert_allclose(similar, np.linalg.eigvalsh(laplacian(W, "symmetric").toarray()), atol=1e-10)


def test_two_colors_reach_the_bound():
    """Between two colors of vertices the largest normalized eigenvalue is 2."""
    W = sp.csr_array(np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((3, 3))))
    assert np.linalg.eigvalsh(laplacian(W, "symmetric").toarray()).max() == pytest.approx(2.0)


@pytest.mark.parametrize("kind", KINDS)
def test_vertices_without_edges_are_rows_of_zeros(kind):
    """Vertices without edges have rows of zeros."""
    W = np.zeros((5, 5))
    W[0, 3] = W[3, 0] = 2.0
    L = laplacian(check_affinity(W), kind)
    assert np.isfinite(L.data).all()
    assert not L.toarray()[[1, 2, 4]].any()
    assert L.nnz == 4
    assert laplacian(sp.csr_array((3, 3)), kind).nnz == 0


@pytest.mark.parametrize("scale", [1e-320, 1e-150, 1e150, 1e300])
def test_normalized_laplacians_have_no_scale(scale):
    """A factor of all weights does not change the normalized Laplacians."""
    W = (NeighborGraph("binary").graph(rows()).affinity).astype(float)
    for kind in ("random_walk", "symmetric"):
        np.testing.assert_allclose(laplacian(W * scale, kind).toarray(), laplacian(W, kind).toarray(), rtol=1e-3)


def test_invalid_kinds_are_named():
    """An unknown kind is an error with the name of the parameter."""
    with pytest.raises(InputError, match=r"`kind` must be .*signless"):
        laplacian(sp.csr_array((3, 3)), "signless")


def test_affinities_are_checked():
    """Invalid affinities raise; dense arrays and other formats are accepted."""
    W = np.array([[0.0, 2.0], [2.0, 0.0]])
    for form in (W, W.tolist(), sp.coo_array(W)):
        np.testing.assert_array_equal(laplacian(form).toarray(), [[2, -2], [-2, 2]])
    with pytest.raises(InputError, match="at least 0"):
        laplacian(-W, "symmetric")
    with pytest.raises(InputError, match="symmetric"):
        laplacian(np.triu(W))
