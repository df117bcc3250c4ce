"""Neighbor index: definition, dense and sparse rows, pickled state."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs.neighbors import NeighborIndex

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
