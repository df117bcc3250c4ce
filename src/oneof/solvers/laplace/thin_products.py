"""Products of a large matrix with a few columns, which take nearly all of the time of the search for the mode.

OpenBLAS copies the large matrix into an order of its own first, which takes longer than the product with ten columns.
The loops here read each number once from memory, eight rows at a time, and add them to sums that stay in the caches.
"""

import numpy as np
from array_api_compat import is_numpy_array

from oneof.jit import compiled
from oneof.parallel import n_available_threads, parallel_map
from oneof.typing import Array

MIN_SIZE = 3_000_000
"""Minimum size of the matrix; smaller ones stay in the caches."""
MAX_COLUMNS = 16
"""Maximum number of columns. With more of them, BLAS uses its copy of the matrix often enough."""


def transposed_product(matrix: Array, V: Array) -> Array:
    """Return M^T v for a matrix of shape (n, m) and v of shape (n, K)."""
    if not is_thin(matrix, V):
        return matrix.mT @ V
    (n, m), n_columns = matrix.shape, V.shape[1]
    whole, n_padded = n - n % 8, n_columns + n_columns % 2
    columns = np.zeros((n_padded, whole), dtype=matrix.dtype)
    columns[:n_columns] = V[:whole].T
    sums = np.zeros((n_padded, m), dtype=matrix.dtype)
    ends = np.linspace(0, m, n_available_threads() + 1).astype(int)

    def add(start: int, end: int) -> None:
        add_eight_rows(matrix[:whole, start:end], columns, sums[:, start:end])

    if len(ends) == 2:
        add(0, m)
    else:
        parallel_map(lambda i: add(ends[i], ends[i + 1]), range(len(ends) - 1))
    product = np.ascontiguousarray(sums[:n_columns].T)
    if whole < n:
        product += matrix[whole:].T @ V[whole:]
    return product


def is_thin(matrix: Array, V: Array) -> bool:
    """Return whether the loops of this module take less time than BLAS."""
    return (
        is_numpy_array(matrix)
        and matrix.dtype == V.dtype
        and matrix.dtype in (np.float32, np.float64)
        and matrix.size >= MIN_SIZE
        and V.shape[1] <= MAX_COLUMNS
        and matrix.flags.c_contiguous
    )


@compiled
def add_eight_rows(matrix: Array, columns: Array, sums: Array) -> None:
    """Add M^T v to the sums, (K, m), for v^T of shape (K, n), where n is a multiple of 8 and K is even."""
    for i in range(0, matrix.shape[0], 8):
        r0, r1, r2, r3 = matrix[i], matrix[i + 1], matrix[i + 2], matrix[i + 3]
        r4, r5, r6, r7 = matrix[i + 4], matrix[i + 5], matrix[i + 6], matrix[i + 7]
        for k in range(0, columns.shape[0], 2):
            v, w, p, q = columns[k], columns[k + 1], sums[k], sums[k + 1]
            v0, v1, v2, v3, v4, v5, v6, v7 = v[i], v[i + 1], v[i + 2], v[i + 3], v[i + 4], v[i + 5], v[i + 6], v[i + 7]
            w0, w1, w2, w3, w4, w5, w6, w7 = w[i], w[i + 1], w[i + 2], w[i + 3], w[i + 4], w[i + 5], w[i + 6], w[i + 7]
            for j in range(matrix.shape[1]):
                x0, x1, x2, x3 = r0[j], r1[j], r2[j], r3[j]
                x4, x5, x6, x7 = r4[j], r5[j], r6[j], r7[j]
                p[j] += v0 * x0 + v1 * x1 + v2 * x2 + v3 * x3 + v4 * x4 + v5 * x5 + v6 * x6 + v7 * x7
                q[j] += w0 * x0 + w1 * x1 + w2 * x2 + w3 * x3 + w4 * x4 + w5 * x5 + w6 * x6 + w7 * x7
