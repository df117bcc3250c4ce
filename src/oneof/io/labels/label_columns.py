"""Columns of labels of a table: separators, ranked columns, candidate sets, and known labels of some rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.cells import (
    DEFAULT_SEPARATOR,
    LabelFormat,
    literal_kind,
    parse_number,
    raise_together,
    read_cells,
)
from oneof.candidates.columns import LabelColumns, match_checked_labels, match_true_labels, read_label_columns
from oneof.candidates.labels import PLACEHOLDERS, clean, fold_case, parse_whole_number
from oneof.candidates.separators import detect_separator, joining_sign
from oneof.candidates.sets import CheckedCandidates
from oneof.errors import DataError, LabelError
from oneof.io.columns import find_column
from oneof.io.findings import UnreadableCells
from oneof.io.table import Table
from oneof.messages import enumerate_items
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl

_YES_NO = ("yes", "no", "true", "false")
_MAX_LISTED = 3
_REMEDY = "Correct it, or name all classes (--classes)."


def find_separator(
    table: Table, columns: Sequence[str], *, classes: Sequence[str] | None = None, weighted: bool = False
) -> str:
    """Return the text between two labels of the cells of a column, "|" if no other occurs; see `detect_separator`.

    Raises
    ------
    LabelError
        If a cell may be a set of labels or one class.
    """
    import polars as pl

    cells = label_column(table, columns[0]) if len(columns) == 1 else None
    if cells is None or cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return DEFAULT_SEPARATOR
    form = label_format(table)
    texts = [None if text is None or form.is_missing_word(text) else text for text in cells.cast(pl.String).to_list()]
    with _located(table, repr(columns[0])):
        return detect_separator(texts, classes, weighted=weighted, folds_case=form.folds_case)


def label_format(table: Table, separator: str = DEFAULT_SEPARATOR, **options: Any) -> LabelFormat:
    """Return the form of the labels of a table, with the missing words and the spellings of its cell format."""
    cell_format = table.cell_format
    return LabelFormat(separator, folds_case=cell_format.folds_labels, missing=cell_format.missing, **options)


def label_column(table: Table, name: str) -> "pl.Series":
    """Return a column of labels."""
    return table.frame[find_column(name, table.frame.columns, table.path)]


def are_class_columns(
    table: Table, columns: Sequence[str], weights: Sequence[str] = (), *, weighted: bool = False
) -> bool:
    """Return whether several columns are classes: they are weighted, a cell is a number or yes or no, or none is text.

    With other columns of weights, they have labels.
    """
    import polars as pl

    if len(columns) < 2 or weights or weighted:
        return len(columns) > 1 and not weights
    frame = table.frame.select({find_column(name, table.frame.columns, table.path) for name in columns})
    texts = {clean(text) for cells in frame if cells.dtype == pl.String for text in cells.unique().drop_nulls()}
    has_numbers = any(dtype.is_numeric() or dtype == pl.Boolean for dtype in frame.dtypes)
    return has_numbers or not texts or any(parse_number(t) is not None or t.lower() in _YES_NO for t in texts)


def check_indicator(table: Table, columns: Sequence[str]) -> None:
    """Raise if several label columns of a stream are labels, which only tables join."""
    if not are_class_columns(table, columns):
        raise DataError(
            f"--online reads one column of labels, or a column of 0 and 1 for each class; {', '.join(columns)} are "
            "columns of labels. Join them in one column, such as 'finch|wren'.",
            source=str(table.path),
        )


def read_labels(
    table: Table,
    columns: Sequence[str],
    *,
    separator: str | None = DEFAULT_SEPARATOR,
    classes: Sequence[str] | None = None,
    weighted: bool = False,
    weights: str | Sequence[str] | None = None,
    kind: str = "likelihood",
    rest: bool | str = False,
    unreadable: UnreadableCells | None = None,
) -> CandidateSets:
    """Return the candidate sets of a table.

    Rows whose labels cannot be read are an error, or unlabeled, by the `label_errors` of the table's cell format.

    Parameters
    ----------
    table : Table
    columns : sequence of str
        One column, whose cells are text ("a|b"), lists, or whole numbers (-1 or empty: unlabeled); several such columns
        whose labels are joined, such as a primary label and further ones; or several columns of 0 and 1, whose names
        are the classes.
    separator : str, default="|"
        The text between two labels; "[]" for lists written as text. None detects that of each of several columns.
    classes : sequence of str, optional
        The classes, as written in the table; by default those that occur.
    weighted : bool, default=False
        The labels have weights: one column of text ("finch:0.7|wren:0.3") or of mappings from labels to weights, or
        several columns of numbers, whose names are the classes. Cells without numbers are sets.
    weights : str or sequence of str, optional
        The column of the weights of each label column, in the order of its labels: text ("0.7|0.3"), lists or numbers.
    kind, rest
        See `CandidateSets.from_weights`.
    unreadable : UnreadableCells, optional
        Counts the rows that are unlabeled since their labels cannot be read.

    Returns
    -------
    CandidateSets
        Labels are numbers only if the text of every cell is a whole number.

    Raises
    ------
    DataError
        If a column does not exist or is named twice, or the numbers of columns of labels and weights differ.
    LabelError
        If a cell cannot be read, a set is empty, all rows are unlabeled, or there is only one class.
    """
    given = [weights] if isinstance(weights, str) else [*(weights or ())]
    names, numbers = ([find_column(n, table.frame.columns, table.path) for n in part] for part in (columns, given))
    if wrong := [name for name in numbers if name in names]:
        raise DataError(f"the column of weights must not be a label column; got {wrong[0]!r}.")
    if repeated := [name for name in names if names.count(name) > 1]:
        raise DataError(f"the label columns must be named once; got {repeated[0]!r} twice.")
    if numbers and len(names) != len(numbers):
        raise DataError(
            f"--labels and --weights must name as many columns; got {len(names)} and {len(numbers)}.",
            source=str(table.path),
        )
    found = UnreadableCells() if unreadable is None else unreadable
    several = are_class_columns(table, names, numbers, weighted=weighted)
    if len(names) > 1 and not several:
        is_detected = separator is None and not numbers
        separators = [find_separator(table, [n], classes=classes) if is_detected else separator for n in names]
        table, names = _join(table, names, numbers, separators, found, are_open=classes is None), names[:1]
    form = label_format(table, separator or DEFAULT_SEPARATOR, classes=classes, weighted=weighted, rest=rest)
    count = partial(found.add_labels, f"{names[0]} to {names[-1]}" if several else names[0])
    with _located(table, f"{names[0]!r} to {names[-1]!r}" if several else repr(names[0])):
        labels = LabelColumns(names, form, next(iter(numbers), None), kind)
        return read_label_columns(table.frame, labels, count if table.cell_format.label_errors == "unlabeled" else None)


@contextmanager
def _located(table: Table, columns: str) -> Iterator[None]:
    """Name the columns, and the remedy, in an error about their labels."""
    try:
        yield
    except LabelError as error:
        remedied = name_remedy(error, folds_case=table.cell_format.folds_labels)
        raise remedied.at(f"labels {columns} of {table.path}") from None


def _join(
    table: Table,
    names: list[str],
    numbers: list[str],
    separators: Sequence[str | None],
    found: UnreadableCells,
    *,
    are_open: bool,
) -> Table:
    """Return a table in which the first of several columns of labels, and of their weights, has those of all.

    If the classes are open (not given), they are at least three: two of them in filled columns exclude nothing.
    """
    import polars as pl

    frame, is_tolerant = table.frame, table.cell_format.label_errors == "unlabeled"
    joined: list[list[tuple[str, str | None]]] = [[] for _ in range(frame.height)]
    wrong: set[int] = set()
    for name, number, separator in zip_longest(names, numbers, separators):
        cells = read_cells(frame[name].to_list(), label_format(table, separator or DEFAULT_SEPARATOR))
        if not is_tolerant:
            with _located(table, repr(name)):
                raise_together(cells.errors)
        found.add_labels(name, cells.errors)
        weights = [None] * frame.height if number is None else frame[number].cast(pl.String).to_list()
        for row, code in enumerate(cells.code.tolist()):
            joined[row] += [(str(label), weights[row]) for label, _ in cells.pairs[code] or ()]
        wrong.update(cells.errors)
    labels = sorted({label for pairs in joined for label, _ in pairs})
    if are_open and len(labels) < 3 and not numbers and all(len(pairs) >= len(names) for pairs in joined):
        raise LabelError(
            f"the columns have the labels {' and '.join(map(repr, labels))} alone, and no empty cell. Write 1 and 0 in "
            "columns of classes; --answers reads answers of annotators.",
            source=f"labels {names[0]!r} to {names[-1]!r} of {table.path}",
        )
    joined = [[] if row in wrong else pairs if numbers else [*dict.fromkeys(pairs)] for row, pairs in enumerate(joined)]
    merged = [
        pl.Series(name, [[pair[k] for pair in pairs] or None for pairs in joined], dtype=pl.List(pl.String))
        for k, name in enumerate((names[0], *numbers[:1]))
    ]
    return replace(table, frame=frame.with_columns(merged))


def name_remedy(error: LabelError, *, folds_case: bool) -> LabelError:
    """Return an error with the options for labels that are not classes, if it is about one."""
    if error.cause != "unknown label":
        return error
    other_cases = "." if folds_case else ", and --fold-case reads other cases."
    return error.because(f"{error.reason} --missing leaves out labels that are not classes{other_cases}")


# -- known labels: true ones, for evaluation only, and checked ones, which replace sets --------------------------------


def read_truth(
    table: Table,
    column: str,
    classes: Labels,
    *,
    separator: str = DEFAULT_SEPARATOR,
    allows_new: bool = False,
    is_batch: bool = False,
) -> Labels:
    """Return a column of true labels, which are used for evaluation only.

    Parameters
    ----------
    table : Table
    column : str
    classes : ndarray of shape (n_classes,)
        The classes of the candidate sets.
    separator : str, default="|"
        The text between two labels in the column of labels: a cell is read as one of them, which has one label.
    allows_new : bool, default=False
        Whether the column may have new labels, at most as many as labels that are classes; see `check_new_labels`.
    is_batch : bool, default=False
        Whether the rows are a part of a table, in which labels may be missing, and more of them new.

    Returns
    -------
    ndarray of shape (n_rows,)
        Members of `classes`; None if the true label is missing; a new label as its text, or as a number if it and the
        classes are numbers.

    Raises
    ------
    DataError
        If the column does not exist, has no label, or has a label that is not a class; the error names the row.
    """
    cells, source, form = label_column(table, column), str(table.path), table.cell_format
    options = {"separator": separator, "folds_case": form.folds_labels, "missing": form.missing}
    truth, unknown = match_true_labels(cells.to_list(), classes, **options)
    is_known = np.array([label is not None for label in truth])
    try:
        n_known = None if is_batch else int(is_known.sum())
        check_new_labels(unknown, classes.tolist(), n_known=n_known, allows_new=allows_new)
    except LabelError as error:
        owner = "model" if allows_new else "candidate sets"
        reason = f"the truth column {column!r} contains {error.label!r}, which is not a class of the {owner}."
        raise DataError(f"{reason} {error.reason}", source=source, row=error.row) from None
    for row, text in unknown.items():
        number = parse_whole_number(text) if classes.dtype.kind in "iu" else None
        truth[row] = text if number is None else number
    if not (is_batch or is_known.any()):
        raise DataError(f"the truth column {column!r} has no labels.", source=source)
    return np.asarray(truth.tolist(), dtype=classes.dtype) if is_known.all() else truth


def check_new_labels(
    unknown: Mapping[int, str], classes: Sequence[Any], *, n_known: int | None = None, allows_new: bool = True
) -> None:
    """Raise if a true label that is not a class is probably an error.

    Any is without `allows_new`. Otherwise it is an error if it is a class in another case, several ones, or "n/a"; or
    if most labels of the table are new, and all are or more different ones than classes: another column.

    Parameters
    ----------
    unknown : dict of int to str
        The labels that are not a class by row.
    classes : sequence
    n_known : int, optional
        The number of labels that are classes; None if it is not known yet.
    allows_new : bool

    Raises
    ------
    LabelError
        With the row, the label and the remedy; it lists the other rows.
    """
    names = {str(label) for label in classes}
    folded = {fold_case(name) for name in names}
    labels = {*unknown.values(), *names}
    signs = {name: joining_sign(name, labels) for name in names} if unknown and not allows_new else {}
    parts = {part.strip(): sign for name, sign in signs.items() if sign for part in name.split(sign)}
    is_most = n_known is not None and len(unknown) > n_known
    is_other_column = is_most and (n_known == 0 or len(set(unknown.values())) > len(names))

    def remedy(text: str) -> str:
        if fold_case(text) in folded:
            return "It is a class in another spelling: write it alike, or fit with --fold-case."
        if not allows_new:
            separator = f", or add --separator {parts[text]!r} if a class has several labels" if text in parts else ""
            return f"If it is a class, name all classes (--classes){separator}."
        if text.lower() in PLACEHOLDERS:
            return f"If it is a token of missing values, add --missing={text}."
        if joining_sign(text, names) is not None or literal_kind(text) == "list":
            return "It has several classes: name one."
        return "Most labels of the column are new: name the column of true labels." * is_other_column

    empty = "If the true label is unknown, leave the cell empty."
    raise_together(
        {
            row: LabelError(f"{reason} {empty}", row=row, label=text, cause="unknown label")
            for row, text in unknown.items()
            if (reason := remedy(text))
        }
    )


def new_label_note(counts: Mapping[Any, int], n_true: int) -> str:
    """Return a note on the true labels of a new table that are not classes, with their numbers."""
    listed, n_new = enumerate_items([*map(repr, counts)], _MAX_LISTED), sum(counts.values())
    are = "is not a class" if n_new == 1 else "are not classes"
    return (
        f"{n_new:,} of {n_true:,} true labels {are} of the model ({listed}); the prediction of such a row counts as "
        "wrong."
    )


def read_checked_labels(
    table: Table, column: str, classes: Labels, *, remedy: str = _REMEDY, **options: Any
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each row, None if it has none, and the sorted labels that are not classes.

    Parameters
    ----------
    table : Table
    column : str
        Cells as those of the labels of the table, but of one label each; empty cells are not checked.
    classes : ndarray of shape (n_classes,)
        The classes of the labels.
    remedy : str
        The remedy for a label that is not a class.
    **options
        `separator`, `has_weights` and `adds_classes` of `oneof.candidates.columns.match_checked_labels`.

    Raises
    ------
    DataError
        If the column does not exist or has no label.
    LabelError
        If a cell is not one label; the error names the row.
    """
    cells, form = label_column(table, column), table.cell_format
    options |= {"folds_case": form.folds_labels, "missing": form.missing}
    try:
        labels, new_classes = match_checked_labels(cells, classes, **options)
    except LabelError as error:
        located = error.at(f"checked labels {cells.name!r} of {table.path}")
        raise (located.because(f"{error.reason} {remedy}") if error.cause == "unknown label" else located) from None
    if all(label is None for label in labels):
        raise DataError(f"column {column!r} of checked labels is empty. Remove --gold.", source=str(table.path))
    return labels, new_classes


def describe_checked_labels(column: str, checked: CheckedCandidates, new_classes: Sequence[Any]) -> list[str]:
    """Return notes on the number of checked labels, on those outside of their sets, and on their further classes."""
    n_checked, n_outside = int(checked.is_checked.sum()), len(checked.outside)
    verb = "row has" if n_checked == 1 else "rows have"
    notes = [f"{n_checked:,} {verb} a checked label ({column}), used in place of the labels of the row."]
    if n_outside:
        subject = "1 checked label is" if n_outside == 1 else f"{n_outside:,} checked labels are"
        row = int(checked.outside[0])
        notes.append(f"{subject} not among the labels of their row, first in row {row}; the checked label is used.")
    if new_classes:
        verb = "are classes" if len(new_classes) > 1 else "is a class"
        notes.append(f"{enumerate_items([*map(repr, new_classes)], _MAX_LISTED)} {verb} of checked labels only.")
    return notes
