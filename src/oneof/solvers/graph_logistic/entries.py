"""Entries of the rows of a matrix inside compiled loops, dense or CSR through three accessors, beside those of rows.py.

The coordinate sweep reads features column by column: its rows are those of the transpose.
"""

from typing import Any

from numba.extending import overload

from oneof.solvers.jit import FASTMATH
from oneof.solvers.row_accessors import DenseRows


def row_range(rows: Any, u: int) -> tuple[int, int]:
    """Return where the stored entries of row u begin and end."""
    raise NotImplementedError("only inside compiled loops")


def entry_column(rows: Any, p: int) -> int:
    """Return the column of the stored entry p."""
    raise NotImplementedError("only inside compiled loops")


def entry_value(rows: Any, u: int, p: int) -> float:
    """Return the stored entry p, of row u."""
    raise NotImplementedError("only inside compiled loops")


@overload(row_range, jit_options={"fastmath": FASTMATH})
def _row_range(rows, u):  # noqa: ARG001 - numba reads the types alone
    return _dense_range if rows.instance_class is DenseRows else _sparse_range


@overload(entry_column, jit_options={"fastmath": FASTMATH})
def _entry_column(rows, p):  # noqa: ARG001 - numba reads the types alone
    return _dense_column if rows.instance_class is DenseRows else _sparse_column


@overload(entry_value, jit_options={"fastmath": FASTMATH})
def _entry_value(rows, u, p):  # noqa: ARG001 - numba reads the types alone
    return _dense_value if rows.instance_class is DenseRows else _sparse_value


def _dense_range(rows, u):  # noqa: ARG001 - the accessors have one signature
    return 0, rows.values.shape[1]


def _sparse_range(rows, u):
    return rows.indptr[u], rows.indptr[u + 1]


def _dense_column(rows, p):  # noqa: ARG001 - the accessors have one signature
    return p


def _sparse_column(rows, p):
    return rows.indices[p]


def _dense_value(rows, u, p):
    return rows.values[u, p]


def _sparse_value(rows, u, p):  # noqa: ARG001 - the accessors have one signature
    return rows.data[p]
