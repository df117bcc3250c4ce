"""Approximate neighbors: recall, reproducibility, fallback to the exact search."""

import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from oneof.errors import InputError, MissingExtraError
from oneof.graphs import NeighborGraph
from oneof.graphs.approximate import ApproximateIndex
from tests.graphs.test_graph import assert_well_formed


def blobs(n=4000, d=50, seed=0):
    """Return wide blobs: the features of each are isotropic noise, so that no neighbor is much nearer than others."""
    return make_blobs(n, d, centers=10, cluster_std=9.0, random_state=seed)[0]


def test_without_the_extra_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'oneof\[graph\]'"):
        NeighborGraph(algorithm="approximate").graph(blobs(20))


@pytest.mark.parametrize("affinity", ["gaussian", "cosine", "binary"])
def test_nearly_all_neighbors_are_found(affinity):
    """The graph has at least 95 % of the edges of the exact graph, with the same weights except local bandwidths."""
    pytest.importorskip("faiss")
    X, new = blobs(), blobs(500, seed=0) + 0.1
    options = {"affinity": affinity, "n_neighbors": 10, "bandwidth": 30.0}
    exact, solution = (NeighborGraph(**options, algorithm=kind).graph(X) for kind in ("exact", "approximate"))
    assert_well_formed(solution.affinity)
    for expected, got in ((exact.affinity, solution.affinity), (exact.transform(new), solution.transform(new))):
        shared = expected.minimum(got)
        assert shared.nnz > 0.95 * expected.nnz
        both = shared.tocoo().coords
        np.testing.assert_allclose(got.tocsr()[both], expected.tocsr()[both], rtol=1e-12)


def test_every_row_has_all_its_edges_and_none_to_itself():
    """Missed neighbors are replaced by rows farther away, even if many rows are equal."""
    pytest.importorskip("faiss")
    X = np.concatenate([np.repeat(blobs(100), 40, axis=0), blobs(3000, seed=1)])
    for k in (1, 10, 60):
        W = NeighborGraph("binary", n_neighbors=k, algorithm="approximate").graph(X).affinity
        assert_well_formed(W)
        assert (np.diff(W.indptr) >= k).all()


def test_queries_with_small_cells_are_searched_exactly(monkeypatch):
    """If the probed cells contain too few rows, all rows are searched."""
    pytest.importorskip("faiss")
    monkeypatch.setattr("oneof.graphs.approximate._MIN_ROWS", 100)  # so that a small data set has small cells
    monkeypatch.setattr("oneof.graphs.approximate._CELLS_PER_ROOT", 1.0)
    X = np.concatenate([blobs(600) * 1e-3, blobs(60, seed=1) * 1e6])
    graph = NeighborGraph("binary", n_neighbors=300, algorithm="approximate").graph(X)
    exact = NeighborGraph("binary", n_neighbors=300).graph(X)
    counts = []
    monkeypatch.setattr(ApproximateIndex, "_search_exactly", _counted(ApproximateIndex._search_exactly, counts))
    solution, expected = graph.transform(X[-3:]), exact.transform(X[-3:])
    assert sum(counts) == 3
    np.testing.assert_array_equal(solution.indices, expected.indices)


def _counted(method, counts):
    def counting(self, points, rows, k):
        counts.append(len(rows))
        return method(self, points, rows, k)

    return counting


def test_results_are_reproducible_after_pickling():
    """The neighbors are the same for any number of threads, and the file does not contain the index."""
    faiss = pytest.importorskip("faiss")
    builder, X = NeighborGraph(algorithm="approximate"), blobs()
    first = builder.graph(X)
    n_threads = faiss.omp_get_max_threads()
    try:
        for count in (1, 2):
            faiss.omp_set_num_threads(count)
            again = builder.graph(X)
            assert (again.affinity != first.affinity).nnz == 0
    finally:
        faiss.omp_set_num_threads(n_threads)
    file = pickle.dumps(first)
    assert b"faiss" not in file
    assert (pickle.loads(file).transform(X[:50]) != first.transform(X[:50])).nnz == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_features_beyond_single_precision_have_the_same_graph(scale):
    pytest.importorskip("faiss")
    X, builder = blobs(), NeighborGraph(algorithm="approximate")
    graph, scaled = builder.graph(X), builder.graph(X * scale)
    shared = graph.affinity.minimum(scaled.affinity)
    assert shared.nnz > 0.99 * graph.affinity.nnz
    assert np.isfinite(scaled.transform(X[:5] * scale * 1e3).data).all()


def test_half_of_the_neighbors_are_found_even_in_noise():
    """One Gaussian in 50 features is the hardest case: the nearest neighbors are nearly as far as all other rows."""
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(10_000, 50))
    exact, solution = (
        NeighborGraph("binary", n_neighbors=10, algorithm=kind).graph(X) for kind in ("exact", "approximate")
    )
    shared = exact.affinity.minimum(solution.affinity).nnz
    assert 0.5 * exact.affinity.nnz < shared < exact.affinity.nnz


def test_the_exact_index_is_built_only_if_needed():
    """If the probed cells contain enough rows, the exact index is not built."""
    pytest.importorskip("faiss")
    built = []
    index = ApproximateIndex(blobs(), built.append)
    index.nearest(None, 10)
    index.nearest(blobs(5, seed=1), 10)
    assert not built


@pytest.mark.parametrize("X", [blobs(300), blobs(6000, 5)], ids=["few rows", "few features"])
def test_few_rows_and_few_features_are_searched_exactly(X):
    pytest.importorskip("faiss")
    exact, solution = (NeighborGraph(algorithm=kind).graph(X).affinity for kind in ("exact", "approximate"))
    assert (exact != solution).nnz == 0


def test_sparse_rows_raise():
    with pytest.raises(InputError, match="requires dense rows"):
        NeighborGraph(algorithm="approximate").graph(sp.csr_array(blobs(20)))
