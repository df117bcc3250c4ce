"""Indicators: 0/1 matrices as candidate sets, dense, sparse, or a DataFrame whose columns are the classes."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.labels import USE_FROM_WEIGHTS, as_classes, check_no_mapping, pack_classes
from oneof.errors import LabelError
from oneof.typing import Labels, Mask
from oneof.validation import as_array


def read_indicator(Y: Any, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a 0/1 matrix."""
    check_no_mapping(Y)
    if is_table(Y):
        Y, names = read_table(Y, "an indicator must contain 0 and 1 only")
        classes = pack_classes(names) if classes is None else classes
    mask = _sparse_to_mask(Y) if sp.issparse(Y) else _dense_to_mask(as_array(Y, "the indicator"))
    classes = np.arange(mask.shape[1]) if classes is None else as_classes(classes)
    if len(classes) != mask.shape[1]:
        raise LabelError(
            f"the indicator must have one column per class; got {mask.shape[1]} columns, {len(classes)} classes."
        )
    check_nonempty_rows(mask)
    return mask, classes


def is_frame(y: Any) -> bool:
    """Return whether `y` is a table with named columns (pandas, polars, Arrow)."""
    return hasattr(y, "columns") and hasattr(y, "shape") and len(y.shape) == 2 and hasattr(y, "to_numpy")


def is_arrow_table(y: Any) -> bool:
    """Return whether `y` is an Arrow table."""
    return hasattr(y, "column_names") and hasattr(y, "to_pydict")


def is_table(y: Any) -> bool:
    """Return whether `y` is a table with named columns, also an Arrow table."""
    return is_arrow_table(y) or is_frame(y)


def read_table(Y: Any, requirement: str) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """Return the cells of a table of numbers, missing ones as NaN, and the names of its columns."""
    if is_arrow_table(Y):
        columns = [np.array([*cells, None], dtype=object)[:-1] for cells in Y.to_pydict().values()]
        cells = np.stack(columns, axis=1) if columns else np.empty((0, 0))
        return _objects_to_floats(cells, requirement), list(Y.column_names)
    cells = Y.to_numpy()
    # In nullable columns, pandas' NA and None become NaN.
    return _objects_to_floats(cells, requirement) if cells.dtype.kind == "O" else cells, list(Y.columns)


def check_nonempty_rows(mask: Mask) -> None:
    """Raise if a row has no candidate; the error names the first such row."""
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise LabelError(
            f"the candidate set is empty (rows with an empty set: {len(empty)}). Give every row at least one "
            "candidate, or mark it as unlabeled (all classes, None, an empty cell).",
            row=int(empty[0]),
            cause="empty set",
        )


def _dense_to_mask(Y: np.ndarray[Any, Any]) -> Mask:
    if Y.ndim != 2:
        raise LabelError(f"an indicator must be a 2-D array with one column per class; got shape {Y.shape}.")
    if Y.dtype.kind == "b":
        return Y.copy()
    if Y.dtype.kind not in "iuf":
        raise LabelError(f"an indicator must contain 0 and 1 only; got values of type {Y.dtype}.")
    mask = Y == 1
    wrong = ~(mask | (Y == 0))
    if wrong.any():
        unlabeled = np.isnan(Y).all(axis=1) if Y.dtype.kind == "f" else np.zeros(len(Y), dtype=bool)
        wrong[unlabeled] = False
        mask[unlabeled] = True
        rows, columns = np.nonzero(wrong)
        if len(rows):
            raise _not_binary(Y[rows[0], columns[0]].item(), rows[0], columns[0])
    return np.asarray(mask)


def _sparse_to_mask(Y: Any) -> Mask:
    coo = sp.coo_array(Y)
    wrong = np.flatnonzero((coo.data != 0) & (coo.data != 1))
    if len(wrong):
        raise _not_binary(coo.data[wrong[0]].item(), coo.row[wrong[0]], coo.col[wrong[0]])
    mask = np.zeros(coo.shape, dtype=bool)
    ones = coo.data != 0
    mask[coo.row[ones], coo.col[ones]] = True
    return mask


def _not_binary(value: Any, row: Any, column: Any) -> LabelError:
    """Return the error for a value other than 0 and 1, which may be a weight."""
    question = f" {USE_FROM_WEIGHTS}" if np.isfinite(value) and value > 0 else ""
    return LabelError(
        f"an indicator must contain 0 and 1 only; got {value!r}.{question}", row=int(row), column=int(column)
    )


def _objects_to_floats(Y: np.ndarray[Any, Any], requirement: str) -> np.ndarray[Any, Any]:
    try:
        numbers = [[np.nan if v is None or type(v).__name__ == "NAType" else v for v in row] for row in Y]
        return np.array(numbers, float).reshape(Y.shape)
    except (TypeError, ValueError):
        raise LabelError(f"{requirement}; a column of this table contains other values.") from None
