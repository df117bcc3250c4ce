"""Rows as neighbours: who they are, in any form, and what of them goes into files."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.solvers.neighbours import NeighbourRows

FORMS = pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@FORMS
@pytest.mark.parametrize("k", [1, 5, 100])
def test_no_row_is_its_own_neighbour(form, k):
    """Among any number of duplicates, a row has neighbours other than itself, each once, and as many as there are."""
    X = np.repeat(np.arange(4.0)[:, None] + 1, 8, axis=0)
    distances, near = NeighbourRows(form(X)).nearest(None, k)
    assert near.shape == distances.shape == (32, min(k, 31))
    assert not (near == np.arange(32)[:, None]).any()
    assert all(len(set(row)) == len(row) for row in near.tolist())


@FORMS
@pytest.mark.parametrize("other", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_other_rows_may_come_in_the_other_form(form, other):
    """Dense rows find CSR neighbours and the reverse, by trees and without."""
    X, T = np.random.default_rng(0).normal(size=(2, 30, 3))
    known = NeighbourRows(form(X))
    _, near = known.nearest(known.alike(other(T)), 4)
    np.testing.assert_array_equal(near, np.linalg.norm(T[:, None] - X, axis=2).argsort(axis=1)[:, :4])


def test_a_lonely_row_and_no_rows_have_no_neighbours():
    """Where there is nobody to ask, the answer is empty."""
    known = NeighbourRows(np.ones((1, 2)))
    assert known.nearest(None, 3)[1].shape == (1, 0)
    assert known.nearest(np.ones((0, 2)), 3)[1].shape == (0, 1)


@FORMS
def test_distances_that_overflow_are_said(form):
    """Rows too large for distances are refused, as neighbours and as those who look for them."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for call in (lambda: NeighbourRows(form(X * 1e160)), lambda: NeighbourRows(form(X)).nearest(form(X * 1e160), 2)):
        with pytest.raises(InputError, match="scale the features"):
            call()


def test_files_hold_the_rows_alone():
    """The index is left out of a pickle and built again, whatever the pickle says of it."""
    known = NeighbourRows(np.random.default_rng(0).normal(size=(200, 3)))
    assert set(known.__getstate__()) == {"rows"}
    loaded = pickle.loads(pickle.dumps(known))
    forged = NeighbourRows.__new__(NeighbourRows)
    forged.__setstate__({"rows": known.rows, "_index": "forged"})
    for again in (loaded, forged):
        np.testing.assert_array_equal(again.nearest(None, 5)[1], known.nearest(None, 5)[1])
