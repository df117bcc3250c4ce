"""What another process sent is multiplied as what was made here."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.distributed.reduction import AlignedCall, aligned


def crooked(a):
    """Return a copy that begins at an odd byte."""
    room = np.empty(a.nbytes + 1, dtype=np.uint8)
    out = room[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert not out.flags.aligned
    return out


@dataclass(frozen=True)
class Held:
    X: object
    name: str


def test_products_are_those_of_arrays_made_here():
    """In dataclasses and tuples too, arrays begin where their numbers may; nothing else is copied."""
    X, W = np.random.default_rng(0).normal(size=(50, 5)), np.random.default_rng(1).normal(size=(50, 3))

    def gather(held, parts):
        return parts[0].T @ held.X

    found = AlignedCall(gather)(Held(crooked(X), "x"), (crooked(W), 1))
    np.testing.assert_array_equal(found, gather(Held(X, "x"), (W, 1)))
    held = Held(X, "x")
    assert aligned(held) is held
    assert aligned(X) is X


def test_sparse_rows():
    """Their three arrays begin where they may; the matrix is the same."""
    X = sp.random_array((20, 7), density=0.3, format="csr", random_state=0)
    parts = [crooked(part) for part in (X.data, X.indices, X.indptr)]
    moved = X.copy()
    moved.data, moved.indices, moved.indptr = parts
    found = aligned(moved)
    assert all(part.flags.aligned for part in (found.data, found.indices, found.indptr))
    np.testing.assert_array_equal(found.toarray(), X.toarray())
    assert aligned(X) is X
