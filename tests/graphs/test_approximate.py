"""Approximate neighbors: how many are found, and what is promised of the rest."""

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
    """Return wide blobs: within each, features are all noise, so that no neighbor is much nearer than others."""
    return make_blobs(n, d, centers=10, cluster_std=9.0, random_state=seed)[0]


def test_without_the_extra_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'oneof\[graph\]'"):
        NeighborGraph(algorithm="approximate").graph(blobs(20))


@pytest.mark.parametrize("affinity", ["gaussian", "cosine", "binary"])
def test_nearly_all_neighbors_are_found(affinity):
    """At least 95 % of the links of the exact graph are there, with the same weights but for the local widths."""
    pytest.importorskip("faiss")
    X, new = blobs(), blobs(500, seed=0) + 0.1
    rule = {"affinity": affinity, "n_neighbors": 10, "bandwidth": 30.0}
    exact, found = (NeighborGraph(**rule, algorithm=kind).graph(X) for kind in ("exact", "approximate"))
    assert_well_formed(found.affinity)
    for wanted, got in ((exact.affinity, found.affinity), (exact.to_new(new), found.to_new(new))):
        shared = wanted.minimum(got)
        assert shared.nnz > 0.95 * wanted.nnz
        both = shared.tocoo().coords
        np.testing.assert_allclose(got.tocsr()[both], wanted.tocsr()[both], rtol=1e-12)


def test_every_row_has_all_its_links_and_none_to_itself():
    """The missed neighbors are replaced by rows farther away, also where many rows are equal."""
    pytest.importorskip("faiss")
    X = np.concatenate([np.repeat(blobs(100), 40, axis=0), blobs(3000, seed=1)])
    for k in (1, 10, 60):
        W = NeighborGraph("binary", n_neighbors=k, algorithm="approximate").graph(X).affinity
        assert_well_formed(W)
        assert (np.diff(W.indptr) >= k).all()


def test_lonely_cells_are_searched_exactly(monkeypatch):
    """Where the cells that are visited hold too few rows, the others are looked at too."""
    pytest.importorskip("faiss")
    monkeypatch.setattr("oneof.graphs.approximate._FEW_ROWS", 100)  # small cells of few rows show the same
    monkeypatch.setattr("oneof.graphs.approximate._CELLS", 1.0)
    X = np.concatenate([blobs(600) * 1e-3, blobs(60, seed=1) * 1e6])
    graph = NeighborGraph("binary", n_neighbors=300, algorithm="approximate").graph(X)
    exact = NeighborGraph("binary", n_neighbors=300).graph(X)
    searched = []
    monkeypatch.setattr(ApproximateIndex, "_searched", _counted(ApproximateIndex._searched, searched))
    found, wanted = graph.to_new(X[-3:]), exact.to_new(X[-3:])
    assert sum(searched) == 3
    np.testing.assert_array_equal(found.indices, wanted.indices)


def _counted(method, counts):
    def counting(self, points, rows, k):
        counts.append(len(rows))
        return method(self, points, rows, k)

    return counting


def test_it_finds_the_same_every_time_and_after_pickling():
    """For any number of threads, and without the index in the file."""
    faiss = pytest.importorskip("faiss")
    rule, X = NeighborGraph(algorithm="approximate"), blobs()
    first = rule.graph(X)
    n_threads = faiss.omp_get_max_threads()
    try:
        for count in (1, 2):
            faiss.omp_set_num_threads(count)
            again = rule.graph(X)
            assert (again.affinity != first.affinity).nnz == 0
    finally:
        faiss.omp_set_num_threads(n_threads)
    file = pickle.dumps(first)
    assert b"faiss" not in file
    assert (pickle.loads(file).to_new(X[:50]) != first.to_new(X[:50])).nnz == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_features_beyond_single_precision_have_the_same_graph(scale):
    pytest.importorskip("faiss")
    X, rule = blobs(), NeighborGraph(algorithm="approximate")
    graph, other = rule.graph(X), rule.graph(X * scale)
    shared = graph.affinity.minimum(other.affinity)
    assert shared.nnz > 0.99 * graph.affinity.nnz
    assert np.isfinite(other.to_new(X[:5] * scale * 1e3).data).all()


def test_half_of_the_neighbors_are_found_even_in_noise():
    """One Gaussian in 50 features is the hardest case: rows are nearly as far from their nearest as from any other."""
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(10_000, 50))
    exact, found = (
        NeighborGraph("binary", n_neighbors=10, algorithm=kind).graph(X) for kind in ("exact", "approximate")
    )
    shared = exact.affinity.minimum(found.affinity).nnz
    assert 0.5 * exact.affinity.nnz < shared < exact.affinity.nnz


def test_no_exact_index_is_made_unless_it_is_needed():
    """Where the cells visited hold enough rows, nothing asks for the exact index."""
    pytest.importorskip("faiss")
    made = []
    index = ApproximateIndex(blobs(), made.append)
    index.nearest(None, 10)
    index.nearest(blobs(5, seed=1), 10)
    assert not made


@pytest.mark.parametrize("X", [blobs(300), blobs(6000, 5)], ids=["few rows", "few features"])
def test_few_rows_and_few_features_are_searched_exactly(X):
    pytest.importorskip("faiss")
    exact, found = (NeighborGraph(algorithm=kind).graph(X).affinity for kind in ("exact", "approximate"))
    assert (exact != found).nnz == 0


def test_sparse_rows_are_refused():
    with pytest.raises(InputError, match="takes dense rows"):
        NeighborGraph(algorithm="approximate").graph(sp.csr_array(blobs(20)))
