"""Features of a table: the choice of columns and the inference of their kinds.

Reading order: `choose_columns` infers the kinds and returns them with findings, `columns.align_columns` converts this
or another table to numbers and text. `cells` reads single cells, `encoder` builds the transformer of the values.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.errors import DataError
from oneof.io.columns import Column, list_cells, match_columns, to_values, unreadable_cell
from oneof.io.findings import ColumnFinding, Kind, TableFindings
from oneof.io.formats.cells import (
    CellFormat,
    count_tokens,
    detect_date_formats,
    detect_number_format,
    is_ambiguous_date,
    is_yes_no,
    read_dates,
    read_durations,
    read_numbers,
    strip_missing_numbers,
    strip_text,
)

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.table import Table

_MIN_READ = 0.9
"""Share of the cells, apart from tokens of missing values, that must be numbers, dates or durations."""
_MIN_READ_IF_NAMED = 0.5
"""The same if the user names the kind."""
_SAMPLE_ROWS = 1_000
"""Number of cells that show whether a column of text may have another kind."""
_MAX_CATEGORIES = 50
_MIN_MEAN_WORDS = 3.0
"""Mean number of words from which a column with more than `_FEW_CATEGORIES` distinct values is text."""
_FEW_CATEGORIES = 12
_MIN_INDEX_ROWS = 20
_MIN_UNIQUE = 0.95
"""Share of distinct values from which single words are identifiers."""
_IDENTIFIER = re.compile(r"(^|[\W_])(?i:id|key|index|uuid)$|[a-z](Id|ID|Key|Index)$")
_LEADING_ZERO = r"^0\d+$"
_INCLUDE = "(add --numeric, --categorical or --text to include it)"


@dataclass(frozen=True)
class Overrides:
    """Kinds of columns set by the user, which take precedence over the inferred kinds.

    Attributes
    ----------
    numbers, categories, texts, drop : tuple of str
        Names of columns, or patterns such as "q*" (see `fnmatch`).
    """

    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()


def choose_columns(
    table: "Table", *, exclude: Collection[str], overrides: Overrides | None = None, scope: str = ""
) -> tuple[list[Column], TableFindings]:
    """Choose the features of a table and infer their kinds.

    Text is read as numbers, yes/no, dates or durations if nine of ten cells can be, apart from tokens of missing values
    such as "-". Other text with few distinct values, and codes with leading zeros, are categories; the rest is text.
    These columns are excluded:

    * columns without a value or with a single value
    * nested values
    * whole numbers that count the rows, or differ in each row of a column that is named like an identifier
    * text with a different word in (nearly) each row, which only identifies a row

    Parameters
    ----------
    table : Table
    exclude : collection of str
        Columns that must not be features: labels and truth.
    overrides : Overrides, optional
    scope : str
        Clause for messages if the table is not the full data set.

    Returns
    -------
    columns : list of Column
        In the order of the table.
    findings : TableFindings
        One for each column that is neither excluded by the user nor has labels.

    Raises
    ------
    DataError
        If a column in `overrides` does not exist or has two kinds, most cells of a column are not of the kind named by
        the user, or no feature remains.
    """
    overrides = overrides or Overrides()
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    excluded = {name for name in table.frame.columns if name.strip() in stripped}
    dropped = {*excluded, *table.label_columns, *match_columns(overrides.drop, table.names, table.path)}
    forced = _forced_kinds(table, overrides)
    findings = []
    for cells in table.frame.iter_columns():
        if cells.name not in dropped:
            kind = forced.get(cells.name)
            findings.append(
                _infer_kind(cells, table.cell_format)
                if kind is None
                else _check_kind(cells, kind, table.cell_format, table.path)
            )
    columns = [Column(found.column, found.kind, found.formats) for found in findings if found.kind is not None]
    if not columns:
        raise DataError(
            f"no feature column remains: every column is excluded or has labels{scope}. Add a column, or include one "
            "by --numeric, --categorical or --text.",
            source=str(table.path),
        )
    return columns, TableFindings(tuple(findings), table.dialect, table.remarks, scope)


def _forced_kinds(table: "Table", overrides: Overrides) -> dict[str, Kind]:
    forced: dict[str, Kind] = {}
    exact: set[str] = set()
    kinds: list[tuple[tuple[str, ...], Kind]] = [
        (overrides.numbers, "number"),
        (overrides.categories, "category"),
        (overrides.texts, "text"),
    ]
    for patterns, kind in kinds:
        for pattern in patterns:
            for name in match_columns([pattern], table.names, table.path):
                is_exact = name == pattern
                if forced.get(name, kind) != kind and is_exact == (name in exact):
                    raise DataError(f"column {name!r} must have one kind; got {forced[name]} and {kind}.")
                if is_exact or name not in exact:  # a name takes precedence over a pattern
                    forced[name] = kind
                if is_exact:
                    exact.add(name)
    return forced


def _check_kind(cells: "pl.Series", kind: Kind, cell_format: CellFormat, path: Path) -> ColumnFinding:
    """Return the finding about a column whose kind is named by the user."""
    if kind != "number":
        return ColumnFinding(cells.name, kind)
    try:
        column = _with_number_format(cells, cell_format)
        values, unreadable = to_values(cells, column, cell_format)
        n_values, n_unreadable = len(values) - values.null_count(), int(unreadable.sum())
        if n_unreadable and n_values < _MIN_READ_IF_NAMED * (n_values + n_unreadable):
            raise unreadable_cell(cells, kind, int(unreadable.arg_true()[0]))
    except DataError as error:
        raise error.at(path) from None
    return _finding(cells, column, values, unreadable)


def _infer_kind(cells: "pl.Series", cell_format: CellFormat) -> ColumnFinding:
    """Return the kind of a column, or None and the reason why it is excluded."""
    import polars as pl

    name = cells.name
    is_text = cells.dtype in (pl.String, pl.Categorical, pl.Enum)
    if is_text:
        return _infer_kind_of_text(cells, cell_format)
    present = cells.drop_nulls()
    if cells.dtype.is_float():
        present = present.drop_nans()
    if len(present) == 0:
        return ColumnFinding(name, None, "it has no values")
    kind: Kind | None = None
    if cells.dtype in (pl.Date, pl.Datetime):
        kind = "date"
    elif cells.dtype in (pl.Time, pl.Duration):
        kind = "duration"
    elif cells.dtype == pl.Boolean:
        kind = "yes/no"
    elif cells.dtype.is_numeric():
        kind = "number"
    if kind is None:
        return ColumnFinding(name, None, f"values of type {cells.dtype} are not supported as features")
    if not _varies(cells):
        return _constant(name)
    if cells.dtype.is_integer() and _is_row_index(cells):
        return ColumnFinding(name, None, "it counts the rows (add --numeric to include it)")
    if cells.dtype.is_integer() and _is_identifier(cells):
        reason = "it has a different number in each row, and a name of an identifier (add --numeric to include it)"
        return ColumnFinding(name, None, reason)
    column = Column(name, kind)
    return _finding(cells, column, *to_values(cells, column, cell_format))


def _infer_kind_of_text(cells: "pl.Series", cell_format: CellFormat) -> ColumnFinding:
    text = strip_text(cells, cell_format)
    present = strip_missing_numbers(text).drop_nulls()
    if not len(present):
        if text.null_count() < len(text) and _varies(text):  # tokens only, such as "+" and "-"
            return _text_finding(cells, text)
        counts = count_tokens(cells, cells.is_not_null())
        listed = ", ".join(repr(token) for token, _ in counts[:3])
        return ColumnFinding(cells.name, None, "it has no values" + f" besides {listed}" * bool(listed))
    if _is_code(present):
        finding = _text_finding(cells, text)
        if finding.kind is None:
            return finding
        reason = "some of the codes have leading zeros (--numeric reads numbers)"
        return replace(finding, kind="category", reason=reason)
    column = _infer_column(cells.name, present, cell_format)
    if column is None:
        return _text_finding(cells, text)
    values, unreadable = to_values(cells, column, cell_format)
    if len(values) - values.null_count() < _MIN_READ * len(present):
        return _text_finding(cells, text)
    return _finding(cells, column, values, unreadable, present) if _varies(values) else _constant(cells.name)


def _infer_column(name: str, present: "pl.Series", cell_format: CellFormat) -> Column | None:
    """Return the kind that most of the first cells of text have, and its formats; None for words."""
    sample = present.head(_SAMPLE_ROWS)
    enough = _MIN_READ * len(sample)

    def n_read(values: "pl.Series") -> int:
        return len(values) - values.null_count()

    number_format = detect_number_format(sample, cell_format.decimal)
    if n_read(read_numbers(sample, number_format)) >= enough:
        return _number_column(name, present, cell_format)
    if is_yes_no(present):
        return Column(name, "yes/no")
    formats = detect_date_formats(present, cell_format)
    if formats and n_read(read_dates(sample, formats)) >= enough:
        return Column(name, "date", formats)
    if n_read(read_durations(sample)) >= enough:
        return Column(name, "duration")
    return None


def _with_number_format(cells: "pl.Series", cell_format: CellFormat) -> Column:
    """Return a column of numbers with the format that its text has."""
    import polars as pl

    if cells.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return Column(cells.name, "number")
    return _number_column(cells.name, strip_missing_numbers(strip_text(cells, cell_format)), cell_format)


def _number_column(name: str, text: "pl.Series", cell_format: CellFormat) -> Column:
    number_format = detect_number_format(text, cell_format.decimal)
    return Column(name, "number", () if number_format == "." else (number_format,))


def _finding(
    cells: "pl.Series", column: Column, values: "pl.Series", unreadable: "pl.Series", present: "pl.Series | None" = None
) -> ColumnFinding:
    """Return the finding about a column of values, some of which are missing or cannot be read."""
    missing = count_tokens(cells, values.is_null() & ~unreadable) if values.null_count() else ()
    n_unreadable = int(unreadable.sum())
    return ColumnFinding(
        cells.name,
        column.kind,
        n_empty=values.null_count() - n_unreadable - sum(n for _, n in missing),
        missing=missing,
        n_unreadable=n_unreadable,
        unreadable=tuple(list_cells(cells, unreadable)),
        formats=column.formats,
        ambiguous=column.kind == "date" and present is not None and is_ambiguous_date(column.formats, present),
    )


def _text_finding(cells: "pl.Series", text: "pl.Series") -> ColumnFinding:
    """Return the finding about a column of words: categories, texts or identifiers."""
    missing = count_tokens(cells, text.is_null())
    n_empty = text.null_count() - sum(n for _, n in missing)
    if not _varies(text):
        return _constant(cells.name)
    present = text.drop_nulls()
    distinct = present.n_unique()
    mean_words = float(present.str.count_matches(r"\w+").mean())  # type: ignore[arg-type]  # a column of counts
    kind: Kind = "text"
    if (distinct <= _FEW_CATEGORIES and distinct < len(present)) or (
        distinct <= min(_MAX_CATEGORIES, len(cells) // 2) and mean_words < _MIN_MEAN_WORDS
    ):
        kind = "category"
    elif distinct >= _MIN_UNIQUE * len(present) and not present.str.contains(r"\s").any():
        reason = (
            "it has a different word in each row, such as a name or an identifier (add --text or --categorical to "
            "include it)"
        )
        return ColumnFinding(cells.name, None, reason, n_empty, missing)
    return ColumnFinding(cells.name, kind, "", n_empty, missing)


def _constant(name: str) -> ColumnFinding:
    return ColumnFinding(name, None, f"it has one value {_INCLUDE}")


def _is_code(present: "pl.Series") -> bool:
    """Return whether the cells are codes of digits, some of which have leading zeros."""
    if not present.str.contains(_LEADING_ZERO).any():
        return False
    return float(present.str.contains(r"^\d+$").mean()) >= _MIN_READ  # type: ignore[arg-type]  # booleans


def _varies(cells: "pl.Series") -> bool:
    """Return whether there are two different values, or a value and a missing one."""
    if cells.null_count():
        return cells.null_count() < len(cells)
    return len(cells) > 0 and bool((cells != cells[0]).any())


def _is_row_index(cells: "pl.Series") -> bool:
    if cells.null_count() or len(cells) < _MIN_INDEX_ROWS:
        return False
    steps = cells.cast(float).diff().drop_nulls()
    return bool((steps == 1).all())


def _is_identifier(cells: "pl.Series") -> bool:
    is_named = bool(_IDENTIFIER.search(cells.name.strip())) and len(cells) >= _MIN_INDEX_ROWS
    return is_named and cells.n_unique() == len(cells)
