"""Neighbors of rows: who they are, in any form, and what of them goes into files."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs.neighbors import Neighborhood

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@FORMS
@pytest.mark.parametrize("k", [1, 5, 100])
def test_no_row_is_its_own_neighbor(form, k):
    """Among any number of duplicates, a row has neighbors other than itself, each once, and as many as there are."""
    X = np.repeat(np.arange(4.0)[:, None] + 1, 8, axis=0)
    distances, near = Neighborhood(form(X)).nearest(k).by_row(32)
    assert near.shape == distances.shape == (32, min(k, 31))
    assert not (near == np.arange(32)[:, None]).any()
    assert all(len(set(row)) == len(row) for row in near.tolist())


@FORMS
@pytest.mark.parametrize("other", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_other_rows_may_come_in_the_other_form(form, other):
    """Dense rows find CSR neighbors and the reverse, the nearest first, at the distances of the definition."""
    X, T = np.random.default_rng(0).normal(size=(2, 30, 3))
    distances, near = Neighborhood(form(X)).nearest(4, other(T)).by_row(30)
    wanted = np.linalg.norm(T[:, None] - X, axis=2)
    np.testing.assert_array_equal(near, wanted.argsort(axis=1)[:, :4])
    np.testing.assert_allclose(distances, np.sort(wanted, axis=1)[:, :4], rtol=1e-12)


@FORMS
@pytest.mark.parametrize("size", [1e-305, 1.0, 1e300])
def test_points_are_rows_in_the_unit_of_distances(form, size):
    """Points of these rows and of others are as far apart as their links say."""
    X, T = np.random.default_rng(0).normal(size=(2, 30, 3)) * size
    known = Neighborhood(form(X))
    distances, near = known.nearest(4, T).by_row(30)
    here, there = (p.toarray() if sp.issparse(p) else p for p in (known.points(), known.points(T)))
    np.testing.assert_allclose(np.linalg.norm(there[:, None] - here[near], axis=2), distances, rtol=1e-12)
    np.testing.assert_allclose(np.ldexp(here, known.unit), X, rtol=1e-12)


def test_a_lonely_row_and_no_rows_have_no_neighbors():
    """Where there is nobody to ask, the answer is empty."""
    known = Neighborhood(np.ones((1, 2)))
    assert known.nearest(3).by_row(1)[1].shape == (1, 0)
    assert known.nearest(3, np.ones((0, 2))).by_row(0)[1].shape == (0, 0)


@FORMS
def test_distances_that_overflow_are_said(form):
    """Rows far too large beside those among which neighbors are sought are refused."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    with pytest.raises(InputError, match="scale the features"):
        Neighborhood(form(X)).nearest(2, form(X * 1e200))


def test_files_hold_no_index():
    """The index is left out of a pickle and built again, whatever the pickle says of it."""
    known = Neighborhood(np.random.default_rng(0).normal(size=(200, 3)))
    before = known.nearest(5)
    assert set(known.__getstate__()) == {"rows", "cosine", "approximate", "unit"}
    loaded = pickle.loads(pickle.dumps(known))
    forged = Neighborhood.__new__(Neighborhood)
    forged.__setstate__({**known.__getstate__(), "_prepared": "forged"})
    for again in (loaded, forged):
        np.testing.assert_array_equal(again.nearest(5).target, before.target)


@pytest.mark.parametrize("among", [True, False], ids=["of these rows", "of others"])
def test_neighbors_within_clouds_far_apart_are_the_nearest(among):
    """Only one of two clouds can be where the origin is, and in the other too neighbors are those of the first."""
    cloud, new = np.split(np.round(np.random.default_rng(0).normal(size=(50, 8)) * 2**6) / 2**6, [40])
    far = np.eye(1, 8) * 2.0**36
    both, asked = np.vstack([cloud, cloud + far]), np.vstack([new, new + far])
    distances, _ = Neighborhood(both).nearest(5, None if among else asked).by_row(len(both if among else asked))
    near, away = np.split(distances, 2)
    np.testing.assert_array_equal(away, near)
    wanted = np.linalg.norm((cloud if among else new)[:, None] - cloud, axis=2)
    np.testing.assert_allclose(near, np.sort(wanted, axis=1)[:, among : 5 + among], rtol=1e-12)
