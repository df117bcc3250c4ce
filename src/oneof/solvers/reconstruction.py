"""Rows rebuilt from their neighbors: min_{w >= 0} ||x - sum_j w_j x_j||^2 over the nearest rows x_j of each x.

The k x k Gram matrices are summed in float64 straight from the rows, dense or CSR, so that no gathered copy of the
neighbors is made; they stand in memory for one part of the rows at a time.
"""

from collections.abc import Iterator

import numpy as np

from oneof.errors import InputError
from oneof.solvers.jit import compiled
from oneof.solvers.neighbor_votes import count_votes
from oneof.solvers.nnls import nonnegative_least_squares
from oneof.solvers.row_accessors import DenseRows, SparseRows, as_row_view, row_product, row_square
from oneof.typing import FeatureMatrix, Floats, Ints

LARGEST_PART = 2**22
"""Most numbers in the Gram matrices that stand in memory at once (32 MB)."""
_LARGEST_SQUARE = 1e300


def reconstruction_weights(rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints) -> Floats:
    """Return the weights with which neighbors rebuild each target.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (m, d)
        CSR rows are in canonical format.
    targets : ndarray or CSR matrix of shape (n, d)
        Of the same form as `rows`.
    neighbors : ndarray of shape (n, k)
        Row numbers of `rows`.

    Returns
    -------
    ndarray of shape (n, k)
        At least 0, see `nonnegative_least_squares`.

    Raises
    ------
    InputError
        If products of rows overflow.
    """
    weights = np.zeros(neighbors.shape)
    for part, gram, cross, square in _problems(rows, targets, neighbors):
        weights[part] = nonnegative_least_squares(gram, cross, square)
    return weights


def reconstruction_errors(
    rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints, labels: Ints, n_classes: int
) -> Floats:
    """Return how much of each target every class leaves unexplained: ||x - sum_{j: label_j = k} w_j x_j||^2 / ||x||^2.

    All neighbors are weighed together; then each class has to do with its own. A class without neighbors leaves 1; a
    target of 0 leaves every class 0.

    Parameters
    ----------
    rows, targets, neighbors
        As for `reconstruction_weights`.
    labels : ndarray of shape (m,)
        The class of each row.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        At least 0.
    """
    explained, squares = np.zeros(neighbors.shape), np.zeros(len(neighbors))
    for part, gram, cross, square in _problems(rows, targets, neighbors):
        weights = nonnegative_least_squares(gram, cross, square)
        label = labels[neighbors[part]]
        fellows = gram * (label[:, :, None] == label[:, None, :])
        # ||x - sum w_j x_j||^2 = ||x||^2 - sum_j w_j (2 x_j . x - x_j . sum_l w_l x_l), over the rows j, l of one class
        explained[part] = weights * (2.0 * cross - (fellows @ weights[:, :, None])[:, :, 0])
        squares[part] = square
    by_class = count_votes(neighbors, explained, np.eye(n_classes, dtype=bool)[labels])
    errors = np.maximum(squares[:, None] - by_class, 0.0)
    return np.divide(errors, squares[:, None], out=np.zeros_like(errors), where=squares[:, None] > 0)


def _problems(
    rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints
) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
    """Yield, part by part of the targets, G (c, k, k), the products with the target (c, k), and ||x||^2 (c,)."""
    n, k = neighbors.shape
    m, d = rows.shape
    # Compiled loops do not look where they read.
    if targets.shape != (n, d) or (neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < m):
        raise InputError(
            f"neighbors of shape {neighbors.shape} and targets of shape {targets.shape} do not fit {m} rows of {d} "
            "features: name k rows for each target."
        )
    length = max(1, LARGEST_PART // max(k * k, 1))
    view = as_row_view(rows)
    for start in range(0, n, length):
        part = slice(start, min(start + length, n))
        size = part.stop - start
        gram, cross, square = np.empty((size, k, k)), np.empty((size, k)), np.empty(size)
        _multiply(view, as_row_view(targets[part]), neighbors[part], gram, cross, square)
        largest = max(square.max(), gram.diagonal(axis1=1, axis2=2).max(initial=0.0))
        if not largest < _LARGEST_SQUARE:
            raise InputError("products of rows overflow: scale the features, for example with StandardScaler.")
        yield part, gram, cross, square


@compiled
def _multiply(
    rows: DenseRows | SparseRows,
    targets: DenseRows | SparseRows,
    neighbors: Ints,
    gram: Floats,
    cross: Floats,
    square: Floats,
) -> None:
    n, k = neighbors.shape
    for i in range(n):
        square[i] = row_square(targets, i, False)
        for a in range(k):
            row = neighbors[i, a]
            cross[i, a] = row_product(targets, i, rows, row)
            for b in range(a + 1):
                gram[i, a, b] = gram[i, b, a] = row_product(rows, row, rows, neighbors[i, b])
