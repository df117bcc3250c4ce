"""Columns of labels of a table: separators, ranked columns, and candidate sets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR, LabelFormat, parse_number, raise_together, read_cells
from oneof.candidates.columns import LabelColumns, read_label_columns
from oneof.candidates.labels import clean, fold_case
from oneof.candidates.separators import detect_separator
from oneof.errors import DataError, LabelError
from oneof.io.columns import find_column
from oneof.io.findings import UnreadableCells
from oneof.io.table import Table

if TYPE_CHECKING:
    import polars as pl

_YES_NO = ("yes", "no", "true", "false")


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
    fold = fold_case if form.folds_case else str
    texts = [None if t is None or form.is_missing_word(t) else fold(t) for t in cells.cast(pl.String).to_list()]
    with _located(table, repr(columns[0])):
        return detect_separator(texts, None if classes is None else [*map(fold, classes)], weighted=weighted)


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
    several = are_class_columns(table, names, numbers, weighted=weighted)
    if len(names) > 1 and not several:
        table, names = _join(table, names, numbers, separator, classes, unreadable), names[:1]

    def count(errors: dict[int, LabelError]) -> None:
        if unreadable is not None:
            unreadable.add_labels(f"{names[0]} to {names[-1]}" if several else names[0], errors)

    form = label_format(table, separator or DEFAULT_SEPARATOR, classes=classes, weighted=weighted, rest=rest)
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
    names: Sequence[str],
    numbers: Sequence[str],
    separator: str | None,
    classes: Sequence[str] | None,
    unreadable: UnreadableCells | None,
) -> Table:
    """Return a table in which the first of several columns of labels, and of their weights, has those of all."""
    import polars as pl

    frame, is_tolerant = table.frame, table.cell_format.label_errors == "unlabeled"
    joined: list[list[tuple[str, str | None]]] = [[] for _ in range(frame.height)]
    wrong: set[int] = set()
    for name, number in zip_longest(names, numbers):
        detected = DEFAULT_SEPARATOR if numbers or separator else find_separator(table, [name], classes=classes)
        cells = read_cells(frame[name].to_list(), label_format(table, separator or detected))
        with _located(table, repr(name)):
            raise_together({} if is_tolerant else cells.errors)
        if cells.errors and unreadable is not None:
            unreadable.add_labels(name, cells.errors)
        weights = [None] * frame.height if number is None else frame[number].cast(pl.String).to_list()
        for row, code in enumerate(cells.code.tolist()):
            joined[row] += [(str(label), weights[row]) for label, _ in cells.pairs[code] or ()]
        wrong.update(cells.errors)
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
