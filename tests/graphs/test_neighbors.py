"""Neighbor index: definition, dense and sparse rows, pickled state, and the search by cells."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

from oneof.errors import InputError
from oneof.graphs import NeighborGraph, cells, neighbors
from oneof.graphs.cells import CellIndex
from oneof.graphs.neighbors import NeighborIndex
from tests.graphs.test_graph import assert_well_formed

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@FORMS
@pytest.mark.parametrize("k", [1, 5, 100])
def test_no_row_is_its_own_neighbor(form, k):
    """With any number of duplicates, the neighbors of a row are distinct other rows, as many as there are."""
    X = np.repeat(np.arange(4.0)[:, None] + 1, 8, axis=0)
    distances, near = NeighborIndex(form(X)).nearest(k).reshape_by_row(32)
    assert near.shape == distances.shape == (32, min(k, 31))
    assert not (near == np.arange(32)[:, None]).any()
    assert all(len(set(row)) == len(row) for row in near.tolist())


@FORMS
@pytest.mark.parametrize("other", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_queries_may_have_another_form(form, other):
    """Dense queries find CSR neighbors and the reverse, the nearest first, at the distances of the definition."""
    X, T = np.random.default_rng(0).normal(size=(2, 30, 3))
    distances, near = NeighborIndex(form(X)).nearest(4, other(T)).reshape_by_row(30)
    expected = np.linalg.norm(T[:, None] - X, axis=2)
    np.testing.assert_array_equal(near, expected.argsort(axis=1)[:, :4])
    np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :4], rtol=1e-12)


@FORMS
@pytest.mark.parametrize("size", [1e-305, 1.0, 1e300])
def test_points_are_rows_in_the_unit_of_distances(form, size):
    """The distances between points equal the edge values."""
    X, T = np.random.default_rng(0).normal(size=(2, 30, 3)) * size
    index = NeighborIndex(form(X))
    distances, near = index.nearest(4, T).reshape_by_row(30)
    indexed, queries = (p.toarray() if sp.issparse(p) else p for p in (index.points(), index.points(T)))
    np.testing.assert_allclose(np.linalg.norm(queries[:, None] - indexed[near], axis=2), distances, rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(indexed, index.unit), X, rtol=1e-12)


def test_a_single_row_and_no_rows_have_no_neighbors():
    """Without other rows the result is empty."""
    index = NeighborIndex(np.ones((1, 2)))
    assert index.nearest(3).reshape_by_row(1)[1].shape == (1, 0)
    assert index.nearest(3, np.ones((0, 2))).reshape_by_row(0)[1].shape == (0, 0)


@FORMS
def test_distances_that_overflow_raise(form):
    """Queries far too large compared with the indexed rows raise."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="Scale the features"):
        NeighborIndex(form(X)).nearest(2, form(X * 1e200))


def test_pickles_do_not_contain_the_index():
    """The index is omitted from a pickle and built again for any content of the pickle."""
    index = NeighborIndex(np.random.default_rng(0).normal(size=(200, 3)))
    before = index.nearest(5)
    assert set(index.__getstate__()) == {"rows", "cosine", "approximate", "unit"}
    loaded = pickle.loads(pickle.dumps(index))
    forged = NeighborIndex.__new__(NeighborIndex)
    forged.__setstate__({**index.__getstate__(), "_cache": "forged"})
    for again in (loaded, forged):
        np.testing.assert_array_equal(again.nearest(5).target, before.target)


@pytest.mark.parametrize("among", [True, False], ids=["indexed rows", "queries"])
def test_neighbors_in_clusters_far_apart_are_exact(among):
    """Only one of two clusters can contain the origin; the neighbors in the other are exact, too."""
    cluster, new = np.split(np.round(np.random.default_rng(0).normal(size=(50, 8)) * 2**6) / 2**6, [40])
    far = np.eye(1, 8) * 2.0**36
    both, queries = np.vstack([cluster, cluster + far]), np.vstack([new, new + far])
    distances, _ = (
        NeighborIndex(both).nearest(5, None if among else queries).reshape_by_row(len(both if among else queries))
    )
    near, away = np.split(distances, 2)
    np.testing.assert_array_equal(away, near)
    expected = np.linalg.norm((cluster if among else new)[:, None] - cluster, axis=2)
    np.testing.assert_allclose(near, np.sort(expected, axis=1)[:, among : 5 + among], rtol=1e-12)


# -- Neighbors by cells: equality with all pairs, recall, reproducibility, fallback to the exact search ---------------


def blobs(n=4000, d=50, seed=0):
    """Return wide blobs: the features of each are isotropic noise, so that no neighbor is much nearer than others."""
    return make_blobs(n, d, centers=10, cluster_std=9.0, random_state=seed)[0]


def all_pairs(X, k, queries=None):
    """Return the k nearest rows of each query by all pairs; by default of each row, without the row itself."""
    near = np.linalg.norm((X if queries is None else queries)[:, None] - X, axis=2)
    if queries is None:
        np.fill_diagonal(near, np.inf)
    return near.argsort(axis=1, kind="stable")[:, :k]


DATA = {
    "isotropic noise": lambda rng: rng.normal(size=(900, 8)),
    "tight clusters far apart": lambda rng: (
        rng.normal(size=(900, 8)) * 1e-4 + 1e3 * rng.normal(size=(9, 8)).repeat(100, 0)
    ),
    "far from the origin": lambda rng: rng.normal(size=(900, 8)) + 1e6,
    "an outlier": lambda rng: np.vstack([rng.normal(size=(899, 8)), np.full((1, 8), 1e9)]),
    "single precision": lambda rng: rng.normal(size=(900, 8)).astype(np.float32),
    "near a line": lambda rng: rng.normal(size=(900, 1)) @ rng.normal(size=(1, 8)) + 1e-3 * rng.normal(size=(900, 8)),
}


@pytest.mark.parametrize("rows_per_cell", [30, 300])
@pytest.mark.parametrize("data", DATA)
def test_the_exact_search_finds_the_neighbors_of_all_pairs(data, rows_per_cell, monkeypatch):
    """Rows and queries have the neighbors of all pairs in double precision, the nearest first."""
    monkeypatch.setattr(cells, "ROWS_PER_CELL", rows_per_cell)
    X, new = np.split(DATA[data](np.random.default_rng(0)), [800])
    monkeypatch.setattr(neighbors, "MIN_ROWS", 0)
    index = NeighborIndex(X)
    wide = X.astype(np.float64)
    for k in (1, 7, 150):
        for queries, expected in ((None, all_pairs(wide, k)), (new, all_pairs(wide, k, new.astype(np.float64)))):
            found = index.nearest(k, queries).reshape_by_row(len(expected))[1]
            np.testing.assert_array_equal(found, expected)


def test_ties_have_the_distances_of_all_pairs(monkeypatch):
    """On a lattice with duplicates, more rows tie than are retained, and the distances are those of all pairs."""
    monkeypatch.setattr(cells, "ROWS_PER_CELL", 50)
    monkeypatch.setattr(neighbors, "MIN_ROWS", 0)
    X = np.random.default_rng(0).integers(0, 2, size=(1500, 7)).astype(np.float64)
    for k in (1, 20):
        near = NeighborIndex(X).nearest(k).reshape_by_row(len(X))[1]
        assert not (near == np.arange(len(X))[:, None]).any()
        assert all(len(set(row)) == k for row in near.tolist())
        distances = np.linalg.norm(X[:, None] - X[near], axis=2)
        expected = np.linalg.norm(X[:, None] - X[all_pairs(X, k)], axis=2)
        np.testing.assert_allclose(np.sort(distances, axis=1), expected, rtol=1e-12)


@pytest.mark.parametrize("n_queries", [5, 2000])
def test_neighbors_do_not_depend_on_earlier_searches(n_queries):
    """A new index has the same neighbors as one that was used before."""
    X = blobs()
    used, queries = NeighborIndex(X), blobs(n_queries, seed=1)
    used.nearest(10)
    np.testing.assert_array_equal(used.nearest(10, queries).target, NeighborIndex(X).nearest(10, queries).target)


@pytest.mark.parametrize("affinity", ["gaussian", "cosine", "binary"])
def test_nearly_all_neighbors_are_found(affinity):
    """The graph has at least 95 % of the edges of the exact graph, with the same weights except local bandwidths."""
    X, new = np.split(blobs(4500), [4000])
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
    X = np.concatenate([np.repeat(blobs(100), 40, axis=0), blobs(3000, seed=1)])
    for k in (1, 10, 60):
        W = NeighborGraph("binary", n_neighbors=k, algorithm="approximate").graph(X).affinity
        assert_well_formed(W)
        assert (np.diff(W.indptr) >= k).all()


def test_rows_in_far_clusters_have_neighbors_of_their_own(monkeypatch):
    """If all neighbors are in the cell of the row, no other cell is searched."""
    monkeypatch.setattr(cells, "ROWS_PER_CELL", 100)
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 8)), 100, axis=0) * 1e3 + blobs(1000, 8)
    searched, index, exact = [], CellIndex(X, approximate=True), all_pairs(X, 5, X)
    collect = cells._collect
    monkeypatch.setattr(cells, "_collect", lambda *args: searched.append(len(args[4])) or collect(*args))
    index._fraction(5)
    searched.clear()
    found = index.nearest(X, 5)
    assert sum(searched) < 2 * len(X)
    assert sum(np.intersect1d(a, b).size for a, b in zip(exact, found, strict=True)) > 0.95 * exact.size


@pytest.mark.parametrize("algorithm", ["exact", "approximate"])
def test_results_are_reproducible_after_pickling(algorithm, monkeypatch):
    """The neighbors are the same for any number of threads, and the file does not contain the index."""
    builder, X = NeighborGraph(algorithm=algorithm), blobs()
    first = builder.graph(X)
    for count in (1, 2, 3):
        monkeypatch.setattr("oneof.parallel.n_available_threads", lambda count=count: count)
        assert (builder.graph(X).affinity != first.affinity).nnz == 0
    file = pickle.dumps(first)
    assert b"CellIndex" not in file
    assert (pickle.loads(file).transform(X[:50]) != first.transform(X[:50])).nnz == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_features_beyond_single_precision_have_the_same_graph(scale):
    """Features out of the range of single precision have nearly all edges, and finite weights of new rows."""
    X, builder = blobs(), NeighborGraph(algorithm="approximate")
    graph, scaled = builder.graph(X), builder.graph(X * scale)
    shared = graph.affinity.minimum(scaled.affinity)
    assert shared.nnz > 0.99 * graph.affinity.nnz
    assert np.isfinite(scaled.transform(X[:5] * scale * 1e3).data).all()


@pytest.mark.parametrize("n_neighbors", [1, 10, pytest.param(100, marks=pytest.mark.long)])
def test_nearly_all_neighbors_are_found_even_in_noise(n_neighbors):
    """One Gaussian in 50 features is the hardest case: the nearest neighbors are nearly as far as all other rows."""
    X = np.random.default_rng(0).normal(size=(10_000, 50))
    exact, solution = (
        NeighborIndex(X, approximate=approximate).nearest(n_neighbors).reshape_by_row(len(X))[1]
        for approximate in (False, True)
    )
    found = [np.intersect1d(a, b).size for a, b in zip(exact, solution, strict=True)]
    assert 0.95 * exact.size < sum(found) < exact.size


@pytest.mark.parametrize("X", [blobs(300), blobs(6000, 5)], ids=["few rows", "few features"])
def test_few_rows_and_few_features_are_searched_exactly(X):
    """The approximate search of few rows, or of few features, has the exact graph."""
    exact, solution = (NeighborGraph(algorithm=kind).graph(X).affinity for kind in ("exact", "approximate"))
    assert (exact != solution).nnz == 0


def test_sparse_rows_raise():
    """The approximate search of sparse rows is an error."""
    with pytest.raises(InputError, match="requires dense rows"):
        NeighborGraph(algorithm="approximate").graph(sp.csr_array(blobs(20)))
