"""Matrices and tables with a column for each class: 0 and 1, or weights."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.candidates.cells import as_pairs
from oneof.candidates.encoding import WeightOptions, WeightTable, check_nonempty_rows, encode_weights, to_likelihoods
from oneof.candidates.labels import (
    USE_FROM_WEIGHTS,
    as_classes,
    check_no_mapping,
    format_classes,
    is_collection,
    is_missing,
    list_rows,
)
from oneof.errors import InputError, LabelError
from oneof.typing import Floats, Labels, Mask
from oneof.validation import unmask

_BINARY = "an indicator must contain 0 and 1 only"
_NUMBERS = "weights must be numbers"


def is_frame(y: Any) -> bool:
    """Return whether `y` is a table with named columns (pandas, polars)."""
    return hasattr(y, "columns") and hasattr(y, "shape") and len(y.shape) == 2 and hasattr(y, "to_numpy")


def is_arrow_table(y: Any) -> bool:
    """Return whether `y` is an Arrow table."""
    return hasattr(y, "column_names") and hasattr(y, "to_pydict")


def read_indicator(Y: Any, classes: Any = None) -> tuple[Mask, Labels]:
    """Return the mask and the classes of a 0/1 matrix; a row of NaN or masked entries is unlabeled."""
    check_no_mapping(Y)
    if sp.issparse(Y):
        entries, names = sp.coo_array(Y), None
        _check_binary(entries.data, lambda i: (entries.row[i], entries.col[i]))
        mask = np.zeros(entries.shape, dtype=bool)
        mask[entries.row[entries.data != 0], entries.col[entries.data != 0]] = True
        unlabeled = np.zeros(len(mask), dtype=bool)
    else:
        values, names = _as_numbers(Y, _BINARY)
        if values.ndim != 2:
            raise LabelError(f"an indicator must be a 2-D array with one column per class; got shape {values.shape}.")
        unlabeled = np.isnan(values).all(axis=1) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
        values = np.where(unlabeled[:, None], 1, values) if unlabeled.any() else values
        _check_binary(values.ravel(), lambda i: divmod(i, values.shape[1]))
        mask = values.astype(bool)
    unlabeled |= mask.all(axis=1) & (mask.shape[1] > 1)  # also if there are more classes than columns
    mask, known = _place_columns(mask, names, classes, "the indicator")
    mask[unlabeled] = True
    check_nonempty_rows(mask)
    return mask, known


def _check_binary(values: np.ndarray[Any, Any], place: Callable[[int], tuple[Any, Any]]) -> None:
    """Raise unless all values are 0 and 1; the error names the row and the column of the first other one."""
    wrong = np.flatnonzero((values != 0) & (values != 1)) if values.dtype.kind != "b" else np.zeros(0, dtype=int)
    if len(wrong):
        value, (row, column) = values[wrong[0]].item(), place(wrong[0])
        remedy = f" {USE_FROM_WEIGHTS}" if np.isfinite(value) and value > 0 else ""
        raise LabelError(f"{_BINARY}; got {value!r}.{remedy}", row=int(row), column=int(column))


def read_weights(W: Any, classes: Any, options: WeightOptions) -> tuple[Floats, Labels]:
    """Return the likelihoods and the classes of a matrix, a table, or rows of labels with weights."""
    if not (is_frame(W) or is_arrow_table(W) or sp.issparse(W) or (isinstance(W, np.ndarray) and W.ndim != 1)):
        if hasattr(W, "__array__") and not hasattr(W, "to_numpy") and not isinstance(W, np.ndarray):
            W = np.asarray(W)  # an array of another library
        else:
            W = list_rows(W)
            if _are_ranked_lists(W):
                return encode_weights([*map(_read_row, range(len(W)), W)], classes, options)
    table = _read_matrix(W, classes, options.rest)
    return to_likelihoods(table, options), table.classes


def _read_row(row: int, pairs: Any) -> Any:
    try:
        return as_pairs(pairs)
    except LabelError as error:
        raise LabelError(error.reason, row=row, label=error.label) from None


def _are_ranked_lists(rows: list[Any]) -> bool:
    """Return whether rows are mappings, lists of pairs or None, judged by the first row that is not empty."""
    for i, row in enumerate(rows):
        if isinstance(row, str):
            raise LabelError(
                f"{row!r} is text. Use CandidateSets.from_strings(y, weighted=True) for weights in text.",
                row=i,
                label=row,
            )
        if isinstance(row, Mapping):
            return True
        if not is_missing(row):
            if not is_collection(row) or (isinstance(row, np.ndarray) and row.dtype != object):
                return False
            if len(row):
                return isinstance(next(iter(row)), list | tuple | Mapping | np.ndarray)
    return bool(rows)


def _read_matrix(W: Any, classes: Any, rest: bool | str) -> WeightTable:
    """Read an array or a table; only tables and masked arrays may have rows of missing numbers."""
    may_be_empty = is_frame(W) or is_arrow_table(W) or unmask(W) is not W
    values, names = _as_numbers(W.toarray() if sp.issparse(W) else W, _NUMBERS)
    if values.ndim != 2:
        raise LabelError(f"`W` must be a 2-D array with one column per class; got shape {values.shape}.")
    with np.errstate(over="ignore"):
        weights = values.astype(np.float64)
    is_set = np.asarray(np.isnan(weights).all(axis=1) & may_be_empty)
    weights[is_set] = 1.0
    wrong = np.argwhere(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise LabelError(
            f"a weight must be a finite number of at least 0; got {weights[row, column].item()!r}. "
            "Give an unlabeled row the same weight for all classes.",
            row=row,
            column=column,
        )
    rest_mass: Floats = np.zeros(len(weights))
    if isinstance(rest, str):
        listed = names if names is not None else [] if classes is None else as_classes(classes).tolist()
        if rest not in listed or len(listed) != weights.shape[1]:
            raise InputError(f"`rest` must be the name of a column; got {rest!r}.")
        if names is not None and classes is not None and rest in as_classes(classes).tolist():
            raise InputError(f"`rest` must not be one of the classes; got {rest!r}.")
        column = listed.index(rest)
        rest_mass, weights = weights[:, column], np.delete(weights, column, axis=1)
        others = [name for name in listed if name != rest]
        names, classes = (others, classes) if names is not None else (None, others)
    weights, known = _place_columns(weights, names, classes, "`W`")
    weights[is_set] = 1.0
    return WeightTable(known, weights, weights > 0, rest_mass, is_set, np.zeros(len(weights), dtype=bool))


def _as_numbers(M: Any, requirement: str) -> tuple[np.ndarray[Any, Any], list[Any] | None]:
    """Return numbers of a matrix, missing ones as NaN, and the names of the columns of a table."""
    names = None
    if is_arrow_table(M):
        names, cells = list(M.column_names), M.to_pydict().values()
        columns = [np.array([*column, None], dtype=object)[:-1] for column in cells]
        M = np.stack(columns, axis=1) if columns else np.empty((0, 0))
    elif is_frame(M):
        names, M = list(M.columns), M.to_numpy()
    try:
        array = np.asarray(unmask(M))
    except (ValueError, TypeError):
        raise _unequal_rows(M) from None
    if array.dtype.kind == "O" and array.ndim == 2:
        numbers = [[np.nan if is_missing(value) else value for value in row] for row in array]
        try:
            array = np.array(numbers, float).reshape(array.shape)
        except (TypeError, ValueError):
            raise LabelError(f"{requirement}; got values of another type.") from None
    if array.dtype.kind not in "biuf":
        raise LabelError(f"{requirement}; got values of type {array.dtype}.")
    return array, names


def _unequal_rows(M: Any) -> LabelError:
    """Return the error for the first row that differs in its form or length from the first one."""
    requirement = "rows of equal length, one number for each class; or mappings or (label, weight) pairs"
    lengths = [len(row) if hasattr(row, "__len__") else None for row in M]
    different = [i for i, length in enumerate(lengths) if length != lengths[0]]
    if not different:
        return LabelError(f"a matrix must have {requirement}; got lists within the rows.")
    i = different[0]
    got = f"{M[i]!r}" if lengths[i] is None else f"{lengths[i]} values"
    return LabelError(f"a matrix must have {requirement}; got {got}, but row 0 has {lengths[0]}.", row=i)


def _place_columns(
    values: np.ndarray[Any, Any], names: list[Any] | None, classes: Any, name: str
) -> tuple[np.ndarray[Any, Any], Labels]:
    """Return the columns in the order of the classes, and the classes.

    Columns of a table are matched by name. The names are the classes if none are given, and 0, 1, ... without names, as
    those of a table without a header, which are the numbers of its columns.
    """
    known = None if classes is None else as_classes(classes)
    is_named = names is not None and names != [*range(values.shape[1])]
    if names is not None and (known is None or is_named or set(names) & set(known.tolist())):
        own = as_classes(names)
        known = own if known is None else known
        column = {label: k for k, label in enumerate(known.tolist())}
        if unknown := [label for label in own.tolist() if label not in column]:
            listed = format_classes([repr(label) for label in column])
            raise LabelError(
                f"column {unknown[0]!r} of {name} is not one of the classes {listed}.",
                label=unknown[0],
                cause="unknown label",
            )
        placed = np.zeros((len(values), len(known)), dtype=values.dtype)
        placed[:, [column[label] for label in own.tolist()]] = values
        return placed, known
    known = np.arange(values.shape[1]) if known is None else known
    if len(known) != values.shape[1]:
        raise LabelError(f"{name} must have one column per class; got {values.shape[1]} columns, {len(known)} classes.")
    return values, known
