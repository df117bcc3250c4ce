"""Columns of labels as candidate sets."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import DataError, LabelError
from oneof.tables.reader import Table, find_column
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl

_WHOLE_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})(\.0+)?")
_NOTHING_TOLD = "every row is unlabeled, so there is nothing to learn from."
_EVERY_SET_IS_FULL = (
    "every row is unlabeled, so there is nothing to learn from: a set of all classes counts as no label; "
    "name the classes (--classes) if there are more than the table names."
)
_DECIMAL_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def read_labels(
    table: Table, columns: Sequence[str], *, separator: str = "|", classes: Sequence[str] | None = None
) -> CandidateSets:
    """Read the candidate sets of a table.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        One column, whose cells are text ("a|b"), lists, or whole numbers (-1 or empty: unlabeled); or several columns
        of 0 and 1, whose names are the classes.
    separator : str, default="|"
        What stands between two labels in text.
    classes : sequence of str, optional
        The classes, as written in the table; by default those that occur.

    Returns
    -------
    CandidateSets
        Labels of text stay text, even if they look like numbers, as soon as one of them does not.

    Raises
    ------
    DataError
        If a column is absent, or is of a type that holds no labels.
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is but one class.
    """
    names = [find_column(name, table.frame.columns, table.path) for name in columns]
    if len(set(names)) < len(names):
        raise DataError(f"the label columns name {next(n for n in names if names.count(n) > 1)!r} twice.")
    try:
        if len(names) > 1:
            return _check(read_indicator(table.frame, names, classes))
        return _check(_read_column(table.frame[names[0]], separator, classes))
    except LabelError as error:
        shown = repr(names[0]) if len(names) == 1 else f"{names[0]!r} to {names[-1]!r}"
        raise LabelError(f"labels {shown} of {table.path}: {_for_tables(str(error))}") from None


def read_truth(table: Table, column: str, classes: Labels) -> Labels:
    """Read a column of true labels, which only judge.

    Parameters
    ----------
    table : Table
    column : str
    classes : ndarray of shape (n_classes,)
        Those of the candidate sets.

    Returns
    -------
    ndarray of shape (n_rows,)
        Members of `classes`; None where the truth is not known.

    Raises
    ------
    DataError
        If the column is absent or empty, or holds a label that is not among the classes; the message names the row.
    """
    import polars as pl

    cells = table.frame[find_column(column, table.frame.columns, table.path)]
    known = {_as_written(label): label for label in classes.tolist()}
    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Boolean) and not cells.dtype.is_numeric():
        raise DataError(f"{table.path}: the truth {column!r} holds {_name_type(cells)}, expected one label a row.")
    truth = np.full(len(cells), None, dtype=object)
    for row, cell in enumerate(cells.to_list()):
        written = "" if cell is None else _as_written(cell)
        if written in known:
            truth[row] = known[written]
        elif written not in ("", "nan"):
            raise DataError(
                f"{table.path}, row {row}: the truth {column!r} holds {written!r}, which no candidate set names; "
                "give fit all classes (--classes) if it is one of them, or leave the cell empty if it is unknown."
            )
    missing = np.asarray([label is None for label in truth])
    if missing.all():
        raise DataError(f"{table.path}: the truth {column!r} holds no label at all.")
    return truth if missing.any() else np.asarray(truth.tolist(), dtype=classes.dtype)


def read_indicator(frame: "pl.DataFrame", names: list[str], classes: Sequence[str] | None = None) -> CandidateSets:
    """Read columns of 0 and 1 whose names are the classes."""
    if classes is not None:
        raise DataError("classes cannot be given with several label columns: their names are the classes.")
    columns = []
    for name in names:
        numbers = _strict_numbers(_truth_values(frame[name]))
        if numbers is None:
            raise LabelError(f"column {name!r} does not hold numbers; several label columns hold 0 and 1.")
        columns.append(numbers.to_numpy())
    return CandidateSets.from_indicator(np.column_stack(columns), classes=np.asarray(names))


def _read_column(cells: "pl.Series", separator: str, classes: Sequence[str] | None) -> CandidateSets:
    import polars as pl

    if cells.null_count() == len(cells) or (cells.dtype == pl.String and not (cells.str.strip_chars() != "").any()):
        raise LabelError(_NOTHING_TOLD)
    if isinstance(cells.dtype, pl.List | pl.Array):
        sets = cells.to_list()
        reject_lists_in_lists(cells)
        inner = cells.dtype.inner
        numeric = isinstance(inner, pl.DataType | type) and inner.is_numeric()
        return CandidateSets.from_sets(sets, classes=_typed(classes, numbers=numeric))
    if cells.dtype in (pl.Categorical, pl.Enum):
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        numbers = _whole_numbers(cells, classes)
        if numbers is None:
            reject_sets_of_nothing(cells.to_list(), separator)
            return CandidateSets.from_strings(cells, separator=separator, classes=_typed(classes, numbers=False))
        cells = numbers
    if cells.dtype == pl.Boolean:
        return CandidateSets.from_strings(cells.cast(pl.String), classes=_typed(classes, numbers=False))
    if not cells.dtype.is_numeric():
        raise LabelError(f"the column holds {_name_type(cells)}; labels are text, whole numbers or lists.")
    return _read_numbers(cells, classes)


def _read_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> CandidateSets:
    values = cells.to_numpy() if cells.null_count() == 0 else cells.cast(float).fill_null(float("nan")).to_numpy()
    known = _typed(classes, numbers=True)
    found = CandidateSets.from_labels(values, classes=known)
    if known is None and found.classes.dtype.kind == "f":  # whole numbers with gaps arrive as floats
        return CandidateSets(found.mask, found.classes.astype(np.int64))
    return found


def _whole_numbers(cells: "pl.Series", classes: Sequence[str] | None) -> "pl.Series | None":
    """Return text as numbers if every cell, and every class, is a whole number or empty."""
    import polars as pl

    texts = {text: text.strip() for text in cells.drop_nulls().unique().to_list()}
    named = [*texts.values(), *(classes or [])]
    if all(not text or _WHOLE_NUMBER.fullmatch(text) for text in named):
        numbers = {text: int(float(stripped)) if stripped else None for text, stripped in texts.items()}
        return pl.Series(cells.name, [numbers.get(text) for text in cells.to_list()], dtype=pl.Int64)
    if classes is None and all(not text or _DECIMAL_NUMBER.fullmatch(text) for text in named):
        row, text = next((i, t) for i, t in enumerate(cells.to_list()) if t and not _WHOLE_NUMBER.fullmatch(t.strip()))
        raise LabelError(
            f"row {row} holds {text!r}: continuous values are no labels; name the classes (--classes) if these are."
        )
    return None


def reject_lists_in_lists(cells: "pl.Series") -> None:
    """Raise if the members of sets are lists themselves, which are no labels."""
    import polars as pl

    if isinstance(getattr(cells.dtype, "inner", None), pl.List | pl.Array):
        for row, cell in enumerate(cells.to_list()):
            if cell is not None and any(member is not None for member in cell):
                raise LabelError(f"row {row} holds {cell!r}, lists within a list: give one list of labels a row.")


def reject_sets_of_nothing(texts: Sequence[str | None], separator: str) -> None:
    """Tell a set that is written but empty, such as "[]" or "|", from an empty cell."""
    for row, text in enumerate(texts):
        if text is not None and text.strip() and text.replace(separator, "").strip() in ("", "[]", "{}", "()"):
            raise LabelError(
                f"row {row} has an empty candidate set ({text!r}): name at least one label, or leave the cell empty "
                "if nothing is known."
            )


def _check(candidates: CandidateSets) -> CandidateSets:
    if candidates.shape[1] < 2:
        only = candidates.classes.tolist()
        raise LabelError(
            f"only one class occurs ({only[0]!r}): a classifier needs at least two." if only else _NOTHING_TOLD
        )
    if candidates.is_unlabeled.all():
        raise LabelError(_EVERY_SET_IS_FULL)
    return candidates


def _for_tables(message: str) -> str:
    """Name the option of the command line where the library's message names a parameter of Python."""
    if "holds only -1 and +1" in message:
        return (
            "the column holds only -1 and 1, which may mean two classes, or class 1 and rows without a label: "
            "give the classes -1,1 (--classes=-1,1), or leave the cells of rows without a label empty."
        )
    return message


def _typed(classes: Sequence[str] | None, *, numbers: bool) -> Labels | None:
    if classes is None:
        return None
    if not numbers:
        return np.asarray(list(classes))
    try:
        return np.asarray([int(name) for name in classes])
    except ValueError:
        raise LabelError(f"the labels are numbers, but the classes {', '.join(classes)} are not.") from None


def _as_written(label: Any) -> str:
    """Return a label as text, so that 3, 3.0 and "3" are one label."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()


def _strict_numbers(cells: "pl.Series") -> "pl.Series | None":
    import polars as pl

    try:
        return cells.cast(pl.Float64, strict=True)
    except pl.exceptions.PolarsError:
        return None


def _truth_values(cells: "pl.Series") -> "pl.Series":
    """Return "true" and "false", as CSV files hold booleans, as 1 and 0."""
    import polars as pl

    if cells.dtype != pl.String:
        return cells
    return cells.str.strip_chars().replace({"true": "1", "True": "1", "false": "0", "False": "0"})


def _name_type(cells: "pl.Series") -> str:
    return f"values of type {cells.dtype}"
