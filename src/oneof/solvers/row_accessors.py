"""Accessors to the rows of a feature matrix in compiled loops, so that one loop serves dense and CSR matrices.

A loop is written once over `DenseRows` or `SparseRows`; numba picks the accessor by the type. Weights are (K, D) for
both, in the memory order that the accessors read along: C order for dense rows, Fortran order for sparse rows. If D is
one more than the number of features, the last column is the weight of a constant feature 1.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba.extending import overload

from oneof.errors import InputError
from oneof.jit import FASTMATH, compiled
from oneof.typing import FeatureMatrix, Floats

MAX_SPARSE_DENSITY = 0.1
"""Fraction of nonzeros up to which products with CSR rows take at most half of the time of products with dense rows."""


class DenseRows(NamedTuple):
    """A C-ordered (n, d) array."""

    values: Any


class SparseRows(NamedTuple):
    """The arrays of an (n, d) CSR matrix, with d; a single row can be made without such a matrix."""

    data: Any
    indices: Any
    indptr: Any
    n_features: int

    @property
    def shape(self) -> tuple[int, int]:
        """(n, d)."""
        return len(self.indptr) - 1, self.n_features

    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self.data.dtype


class GramRows(NamedTuple):
    """An (n, n) Gram matrix K, for loops that need scores and sums only.

    The scores of all rows, (K A)^T of shape (n_classes, n), represent the weights W = A^T Phi.
    """

    values: Any


def as_row_view(X: FeatureMatrix | SparseRows) -> DenseRows | SparseRows:
    """Return a view of a dense array or a CSR matrix for compiled loops, without a copy if the types allow it.

    All views are read-only, so that a writable and a memory-mapped X share one compiled loop.

    Raises
    ------
    InputError
        If a column index of a CSR matrix is out of range.
    """
    if isinstance(X, SparseRows):
        return X
    if sp.issparse(X):
        index = np.int32 if max(X.shape[1], 1) <= np.iinfo(np.int32).max else np.int64
        arrays = (X.data, X.indices.astype(index, copy=False), X.indptr.astype(np.int64, copy=False))
        if len(X.indices) and not 0 <= X.indices.min() <= X.indices.max() < X.shape[1]:
            raise InputError(
                f"the column indices of a sparse `X` must be from 0 to {X.shape[1] - 1}; got {X.indices.min()} to "
                f"{X.indices.max()}. Rebuild the matrix."
            )
        data, indices, indptr = (read_only(array) for array in arrays)
        return SparseRows(data, indices, indptr, X.shape[1])
    return DenseRows(read_only(np.ascontiguousarray(X)))


def sparse_if_few(X: FeatureMatrix, max_density: float = MAX_SPARSE_DENSITY) -> FeatureMatrix:
    """Return a dense array with few nonzeros as a CSR matrix, with which products are faster, and any other X as is."""
    if sp.issparse(X) or np.count_nonzero(X) > max_density * X.size:
        return X
    return sp.csr_matrix(X)


def memory_order(X: FeatureMatrix | SparseRows) -> Any:
    """Return the memory order of (K, D) weights for these rows: "C" for dense ones, "F" for sparse ones."""
    return "F" if sp.issparse(X) or isinstance(X, SparseRows) else "C"


def read_only(array: Any) -> Any:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def row_scores(rows: Any, i: int, weights: Floats, out: Floats) -> None:
    """Write the K products of row i with the weights to `out`."""
    raise NotImplementedError("only inside compiled loops")


def row_add(rows: Any, i: int, weights: Floats, k: int, step: float) -> None:
    """Add `step` times row i to the weights of class k."""
    raise NotImplementedError("only inside compiled loops")


def row_add_all(rows: Any, i: int, weights: Floats, steps: Floats) -> None:
    """Add `steps[k]` times row i to the weights of each class k."""
    raise NotImplementedError("only inside compiled loops")


def row_square(rows: Any, i: int, constant: bool) -> float:
    """Return the squared norm of row i, with 1 for the constant feature if there is one."""
    raise NotImplementedError("only inside compiled loops")


def row_product(rows: Any, i: int, other_rows: Any, j: int) -> float:
    """Return the inner product of row i with row j of `other_rows`, in float64.

    Both must be dense or both sparse, of the same width; sparse rows must be in canonical format.
    """
    raise NotImplementedError("only inside compiled loops")


@overload(row_scores, jit_options={"fastmath": FASTMATH})
def _row_scores(rows, i, weights, out):  # noqa: ARG001 - numba reads the types only
    return {DenseRows: _dense_scores, SparseRows: _sparse_scores, GramRows: _gram_scores}[rows.instance_class]


@overload(row_add, jit_options={"fastmath": FASTMATH})
def _row_add(rows, i, weights, k, step):  # noqa: ARG001 - numba reads the types only
    return {DenseRows: _dense_add, SparseRows: _sparse_add, GramRows: _gram_add}[rows.instance_class]


@overload(row_add_all, jit_options={"fastmath": FASTMATH})
def _row_add_all(rows, i, weights, steps):  # noqa: ARG001 - numba reads the types only
    return _sparse_add_all if rows.instance_class is SparseRows else _add_all_by_class


@overload(row_square, jit_options={"fastmath": FASTMATH})
def _row_square(rows, i, constant):  # noqa: ARG001 - numba reads the types only
    return {DenseRows: _dense_square, SparseRows: _sparse_square}[rows.instance_class]


@overload(row_product, jit_options={"fastmath": FASTMATH})
def _row_product(rows, i, other_rows, j):  # noqa: ARG001 - numba reads the types only
    return {DenseRows: _dense_product, SparseRows: _sparse_product}[rows.instance_class]


def _dense_scores(rows, i, weights, out):
    x = rows.values[i]
    d = x.shape[0]
    n_classes = weights.shape[0]
    # Five classes at a time: each feature is loaded once for five products. The last five may overlap the previous
    # five, so that every class is summed in the same order and equal weights keep equal scores.
    block = 0
    while n_classes >= 5 and block < n_classes:
        k = min(block, n_classes - 5)
        w0, w1, w2, w3, w4 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3], weights[k + 4]
        s0 = s1 = s2 = s3 = s4 = x.dtype.type(0)
        for j in range(d):
            s0 += x[j] * w0[j]
            s1 += x[j] * w1[j]
            s2 += x[j] * w2[j]
            s3 += x[j] * w3[j]
            s4 += x[j] * w4[j]
        out[k], out[k + 1], out[k + 2], out[k + 3], out[k + 4] = s0, s1, s2, s3, s4
        block += 5
    for k in range(n_classes if n_classes < 5 else 0):
        w = weights[k]
        s = x.dtype.type(0)
        for j in range(d):
            s += x[j] * w[j]
        out[k] = s
    if weights.shape[1] > d:
        for c in range(n_classes):
            out[c] += weights[c, d]


def _sparse_scores(rows, i, weights, out):
    n_classes = weights.shape[0]
    constant = weights.shape[1] > rows.n_features
    for k in range(n_classes):
        out[k] = weights[k, rows.n_features] if constant else 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        x, j = rows.data[p], rows.indices[p]
        for k in range(n_classes):
            out[k] += x * weights[k, j]


def _gram_scores(rows, i, weights, out):  # noqa: ARG001 - the accessors have one signature
    for k in range(weights.shape[0]):
        out[k] = weights[k, i]


def _dense_add(rows, i, weights, k, step):
    x = rows.values[i]
    w = weights[k]
    d = x.shape[0]
    a = w.dtype.type(step)
    for j in range(d):
        w[j] += a * x[j]
    if weights.shape[1] > d:
        w[d] += a


def _sparse_add(rows, i, weights, k, step):
    a = weights.dtype.type(step)
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        weights[k, rows.indices[p]] += a * rows.data[p]
    if weights.shape[1] > rows.n_features:
        weights[k, rows.n_features] += a


def _gram_add(rows, i, weights, k, step):
    x = rows.values[i]
    w = weights[k]
    a = w.dtype.type(step)
    for j in range(x.shape[0]):
        w[j] += a * x[j]


def _add_all_by_class(rows, i, weights, steps):
    for k in range(weights.shape[0]):
        if steps[k] != 0.0:
            row_add(rows, i, weights, k, steps[k])


def _sparse_add_all(rows, i, weights, steps):
    n_classes, n_changed = weights.shape[0], 0
    for k in range(n_classes):
        n_changed += steps[k] != 0.0
    # The weights of a feature lie side by side: one pass over the row for all classes costs as much as one pass for
    # each of about n_classes / 8 of them.
    if 8 * n_changed < n_classes:
        for k in range(n_classes):
            if steps[k] != 0.0:
                row_add(rows, i, weights, k, steps[k])
        return
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        x, j = rows.data[p], rows.indices[p]
        for k in range(n_classes):
            weights[k, j] += x * steps[k]
    if weights.shape[1] > rows.n_features:
        for k in range(n_classes):
            weights[k, rows.n_features] += steps[k]


def _dense_square(rows, i, constant):
    x = rows.values[i]
    total = 1.0 if constant else 0.0
    for j in range(x.shape[0]):
        total += np.float64(x[j]) * np.float64(x[j])
    return total


def _sparse_square(rows, i, constant):
    total = 1.0 if constant else 0.0
    for p in range(rows.indptr[i], rows.indptr[i + 1]):
        total += np.float64(rows.data[p]) * np.float64(rows.data[p])
    return total


def _dense_product(rows, i, other_rows, j):
    x, y = rows.values[i], other_rows.values[j]
    total = 0.0
    for c in range(x.shape[0]):
        total += np.float64(x[c]) * np.float64(y[c])
    return total


def _sparse_product(rows, i, other_rows, j):
    p, end = rows.indptr[i], rows.indptr[i + 1]
    q, stop = other_rows.indptr[j], other_rows.indptr[j + 1]
    total = 0.0
    while p < end and q < stop:
        a, b = rows.indices[p], other_rows.indices[q]
        if a == b:
            total += np.float64(rows.data[p]) * np.float64(other_rows.data[q])
        p += a <= b
        q += b <= a
    return total


def row_squares(rows: Any, constant: bool) -> Floats:
    """Return the squared norms of n dense or sparse rows, with 1 for the constant feature if there is one."""
    squares = np.empty(len(rows.indptr) - 1 if isinstance(rows, SparseRows) else len(rows.values))
    _fill_squares(rows, constant, squares)
    return squares


@compiled
def _fill_squares(rows: Any, constant: bool, squares: Floats) -> None:
    for i in range(squares.shape[0]):
        squares[i] = row_square(rows, i, constant)


@compiled
def total_square(vector: Floats) -> float:
    """Return the sum of squares of a vector, in float64."""
    total = 0.0
    for value in vector:
        total += np.float64(value) * np.float64(value)
    return total


@compiled
def multiply(vector: Floats, factor: float) -> None:
    """Multiply a vector by a number, in place."""
    a = vector.dtype.type(factor)
    for i in range(vector.shape[0]):
        vector[i] *= a


@compiled
def add_multiple(target: Floats, factor: float, vector: Floats) -> None:
    """Add a multiple of one vector to another, in place."""
    a = target.dtype.type(factor)
    for i in range(vector.shape[0]):
        target[i] += a * vector[i]
