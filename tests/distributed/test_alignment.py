"""Unaligned arrays from other processes are aligned before they are used."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.distributed.reduction import AlignedCall, aligned


def unaligned(a):
    """Return a copy that starts at an odd byte."""
    buffer = np.empty(a.nbytes + 1, dtype=np.uint8)
    out = buffer[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    assert not out.flags.aligned
    return out


@dataclass(frozen=True)
class Record:
    X: object
    name: str


def test_products_equal_those_of_aligned_arrays():
    """Arrays in dataclasses and tuples are aligned; aligned arrays are not copied."""
    X, W = np.random.default_rng(0).normal(size=(50, 5)), np.random.default_rng(1).normal(size=(50, 3))

    def product(record, arrays):
        return arrays[0].T @ record.X

    result = AlignedCall(product)(Record(unaligned(X), "x"), (unaligned(W), 1))
    np.testing.assert_array_equal(result, product(Record(X, "x"), (W, 1)))
    record = Record(X, "x")
    assert aligned(record) is record
    assert aligned(X) is X


def test_sparse_rows():
    """The three arrays of a CSR matrix are aligned, and the matrix is equal."""
    X = sp.random_array((20, 7), density=0.3, format="csr", random_state=0)
    arrays = [unaligned(array) for array in (X.data, X.indices, X.indptr)]
    moved = X.copy()
    moved.data, moved.indices, moved.indptr = arrays
    result = aligned(moved)
    assert all(array.flags.aligned for array in (result.data, result.indices, result.indptr))
    np.testing.assert_array_equal(result.toarray(), X.toarray())
    assert aligned(X) is X
