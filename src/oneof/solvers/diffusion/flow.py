"""What flows between rows, from the differences of their levels: levels that hardly differ lose no digit by it."""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.jit import compiled
from oneof.typing import Floats

NOISE = 8 * float(np.finfo(np.float64).eps)
"""Of a row's diagonal, what it may have more than its links by rounding."""


def slack_of(matrix: sp.csr_array) -> Floats:
    """Return by how much each diagonal entry exceeds the links of its row, (n,); 0 where that may be rounding."""
    slack = np.asarray(matrix.sum(axis=1))
    slack[np.abs(slack) <= NOISE * matrix.diagonal()] = 0.0
    return slack


def residual(matrix: sp.csr_array, slack: Floats, x: Floats, right: Floats) -> Floats:
    """Return b_i - s_i x_i - sum_j w_ij (x_i - x_j), which is B - M X, (n, K)."""
    left = right - slack[:, None] * x
    _outflow(matrix.indptr, matrix.indices, matrix.data, x, left)
    return left


@compiled
def _outflow(indptr, indices, data, x, left):
    """Take sum_j w_ij (x_i - x_j) from each row; the weights are the negative entries of the matrix."""
    for i in range(len(x)):
        for at in range(indptr[i], indptr[i + 1]):
            j = indices[at]
            if j != i:
                for k in range(x.shape[1]):
                    left[i, k] += data[at] * (x[i, k] - x[j, k])
