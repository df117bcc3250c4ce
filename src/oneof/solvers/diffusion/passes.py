"""The passes of conjugate gradients over blocks of columns, each through memory once.

NumPy takes eight passes where these take three, and SciPy's product with a block does not vectorise: an iteration here
takes a third of the time.
"""

import numpy as np

from oneof.solvers.compiled import compiled


@compiled
def multiply(indptr, indices, data, p, q):
    """Set q to A p, and return the inner products of the columns of p and q."""
    n, n_columns = p.shape
    bend = np.zeros(n_columns)
    for i in range(n):
        row = q[i]
        row[:] = 0.0
        for at in range(indptr[i], indptr[i + 1]):
            weight, other = data[at], p[indices[at]]
            for k in range(n_columns):
                row[k] += weight * other[k]
        for k in range(n_columns):
            bend[k] += p[i, k] * row[k]
    return bend


@compiled
def advance(x, r, p, q, step):
    """Add step p to x and take step q from r; return the squares of the columns of r."""
    n, n_columns = x.shape
    square = np.zeros(n_columns)
    for i in range(n):
        for k in range(n_columns):
            x[i, k] += step[k] * p[i, k]
            r[i, k] -= step[k] * q[i, k]
            square[k] += r[i, k] * r[i, k]
    return square


@compiled
def turn(p, r, ratio):
    """Set p to r + ratio p."""
    n, n_columns = p.shape
    for i in range(n):
        for k in range(n_columns):
            p[i, k] = r[i, k] + ratio[k] * p[i, k]


@compiled
def movement(x, seen, size):
    """Return how far an entry has moved, at most, relative to the size of its row, and remember where they are.

    Without sizes, of shape (0, 1), a row's is what it sums to. One that nothing has reached yet has all its way before
    it once it moves.
    """
    n, n_columns = x.shape
    most = 0.0
    for i in range(n):
        moved, total = 0.0, 0.0
        for k in range(n_columns):
            moved = max(moved, abs(x[i, k] - seen[i, k]))
            total += x[i, k]
            seen[i, k] = x[i, k]
        if len(size):
            total = size[i, 0]
        if moved > 0.0:
            most = max(most, moved / total if total > 0.0 else 1.0)
    return most
