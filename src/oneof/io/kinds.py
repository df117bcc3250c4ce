"""Inference of the kind of one column: numbers, yes/no, dates, durations, categories or text.

`infer_kind` returns a finding and the values of a column, `check_kind` those of a column whose kind the user names.
`cells` and `dates` in `oneof.io.formats` read the cells of each kind.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from oneof.candidates.columns import name_type
from oneof.io.columns import Column, list_cells, to_text, to_values, unreadable_cell
from oneof.io.formats.cells import (
    GROUPS,
    CellFormat,
    count_tokens,
    detect_number_format,
    detect_unit,
    is_yes_no,
    is_yes_no_word,
    read_numbers,
    sample_cells,
    strip_missing_numbers,
    strip_text,
)
from oneof.io.formats.dates import (
    COMPACT_DATE,
    ambiguous_formats,
    days_to_text,
    detect_date_formats,
    has_compact_dates,
    read_dates,
    read_durations,
)
from oneof.io.notes.decimal_separators import REMEDY, count_other_decimal, describe_other_decimal
from oneof.io.notes.findings import KINDS, ColumnFinding, Kind
from oneof.io.notes.sentinels import find_sentinels

if TYPE_CHECKING:
    import polars as pl

_MIN_READ = 0.9
"""Share of the cells, apart from tokens of missing values, that must be numbers, dates or durations."""
_MIN_READ_IF_NAMED = 0.5
"""The same if the user names the kind, or if the other cells are at most `_MAX_WORDS` different words."""
_MAX_WORDS = 2
_MIN_DISTINCT_READ = 5
"""Number of distinct values from which one or two words among them are missing values."""
_MIN_YES_NO = 0.8
"""Share of yes and no from which categories have a note about the other cells."""
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
_LEADING_ZERO = r"^[+-]?0\d+$"
_INCLUDE = "(add --numeric, --categorical or --text to include it)"

Inferred = tuple[ColumnFinding, "pl.Series | None"]
"""The finding about a column, and its values if the features are numbers."""


def _is_text(cells: "pl.Series") -> bool:
    import polars as pl

    return cells.dtype in (pl.String, pl.Categorical, pl.Enum)


def check_kind(cells: "pl.Series", kind: Kind, cell_format: CellFormat) -> Inferred:
    """Return the finding about a column whose kind is named by the user."""
    if kind != "number":
        return _named_text_finding(cells, kind, cell_format), None
    text = strip_missing_numbers(strip_text(cells, cell_format)) if _is_text(cells) else None
    column = Column(cells.name, "number") if text is None else _number_column(cells.name, text, cell_format)
    values, unreadable = to_values(cells, column, cell_format)
    n_values, n_unreadable = len(values) - values.null_count(), int(unreadable.sum())
    if n_unreadable and n_values < _MIN_READ_IF_NAMED * (n_values + n_unreadable):
        raise unreadable_cell(cells, kind, int(unreadable.arg_true()[0]))
    return _finding(cells, column, values, unreadable, cell_format, text), values


def infer_kind(cells: "pl.Series", cell_format: CellFormat) -> Inferred:
    """Return the kind of a column, or None and the reason why it is excluded."""
    import polars as pl

    name = cells.name
    if _is_text(cells):
        return _infer_kind_of_text(cells, cell_format)
    if cells.null_count() == len(cells):
        return ColumnFinding(name, None, "it has no values"), None
    kind: Kind | None = None
    if cells.dtype in (pl.Date, pl.Datetime):
        kind = "date"
    elif cells.dtype in (pl.Time, pl.Duration):
        kind = "duration"
    elif cells.dtype == pl.Boolean:
        kind = "yes/no"
    elif cells.dtype.is_numeric():
        kind = "number"
    inner = getattr(cells.dtype, "inner", None)
    if isinstance(inner, pl.DataType) and inner.is_numeric():
        reason = "its cells are lists of numbers, which are features if they have one length, but not with --online"
        return ColumnFinding(name, None, f"{reason}: write a column for each number"), None
    if kind is None:
        return ColumnFinding(name, None, f"values of type {name_type(cells.dtype)} are not supported as features"), None
    column = Column(name, kind)
    values, unreadable = to_values(cells, column, cell_format)
    if values.null_count() == len(values):
        return _without_values(cells), None
    if not _varies(values):
        return _constant(name), None
    if kind == "number" and not unreadable.any():
        column = _dates_of_numbers(column, values, cell_format)
        if column.kind == "date":
            values, unreadable = to_values(cells, column, cell_format)
            return _finding(
                cells, column, values, unreadable, cell_format, cells.cast(pl.Int64).cast(pl.String)
            ), values
    if cells.dtype.is_integer() and _is_row_index(cells):
        return ColumnFinding(name, None, "it counts the rows (add --numeric to include it)", is_identifier=True), None
    if cells.dtype.is_integer() and _is_identifier(cells):
        reason = "it has a different number in each row, and a name of an identifier (add --numeric to include it)"
        return ColumnFinding(name, None, reason, is_identifier=True), None
    return _finding(cells, column, values, unreadable, cell_format), values


def _infer_kind_of_text(cells: "pl.Series", cell_format: CellFormat) -> Inferred:
    text = strip_text(cells, cell_format)
    stripped = strip_missing_numbers(text)
    present = stripped.drop_nulls()
    if not len(present):
        if text.null_count() < len(text) and _varies(text):  # tokens only, such as "+" and "-"
            return _text_finding(cells, text), None
        return _without_values(cells), None
    is_named_date = bool(cell_format.dates) and _share_read(read_dates(present, cell_format.dates)) >= _MIN_READ
    if _is_code(present) and not is_named_date:
        finding = _text_finding(cells, text)
        if finding.kind is None:
            return finding, None
        reason = "some of the codes have leading zeros (--numeric reads numbers)"
        return replace(finding, kind="category", reason=reason), None
    column = (
        Column(cells.name, "date", detect_date_formats(present, cell_format))
        if is_named_date
        else _infer_column(cells.name, present, cell_format)
    )
    if column is None:
        return _with_other_words(_text_finding(cells, text), cells, stripped), None
    values, unreadable = to_values(cells, column, cell_format)
    if column == Column(cells.name, "number"):
        column = _dates_of_numbers(column, values, cell_format)
        if column.kind == "date":
            values, unreadable = to_values(cells, column, cell_format)
            return _finding(cells, column, values, unreadable, cell_format, stripped), values
    share = 1 - int(unreadable.sum()) / len(present)
    if share >= _MIN_READ or (share >= _MIN_READ_IF_NAMED and _are_words(stripped.filter(unreadable), values)):
        if not _varies(values):
            return _constant(cells.name), None
        return _finding(cells, column, values, unreadable, cell_format, stripped), values
    finding = _text_finding(cells, text)
    if share >= _MIN_READ_IF_NAMED:
        finding = replace(finding, reason=_mixed(cells, column, unreadable, len(present), finding.kind))
    return finding, None


def _with_other_words(finding: ColumnFinding, cells: "pl.Series", stripped: "pl.Series") -> ColumnFinding:
    """Return the finding about categories with a reason if most cells are yes or no."""
    present = stripped.drop_nulls()
    is_word = is_yes_no_word(stripped)
    words = stripped.filter(is_word)
    if finding.kind != "category" or len(words) < _MIN_YES_NO * len(present) or words.str.to_lowercase().n_unique() < 2:
        return finding
    unreadable = stripped.is_not_null() & ~is_word
    reason = _mixed(cells, Column(cells.name, "yes/no"), unreadable, len(present), finding.kind)
    return replace(finding, reason=reason)


def _infer_column(name: str, present: "pl.Series", cell_format: CellFormat) -> Column | None:
    """Return the kind of nine of ten cells of a sample of text, or else the kind of most cells; None for words."""
    sample = sample_cells(present, _SAMPLE_ROWS)
    if not cell_format.dates and not sample.str.contains(r"\d").any():  # no number, date or duration
        return Column(name, "yes/no") if is_yes_no(present) else None
    candidates: list[tuple[float, Column]] = []
    for unit in ("", detect_unit(sample)):
        values = read_numbers(sample, detect_number_format(sample, cell_format.decimal, unit), unit)
        candidates.append((_share_read(values), Column(name, "number", (unit,))))
    if candidates[0][0] < _MIN_READ:
        if is_yes_no(present):
            return Column(name, "yes/no")
        formats = detect_date_formats(present, cell_format)
        candidates.insert(1, (_share_read(read_dates(sample, formats)), Column(name, "date", formats)))
        candidates.insert(2, (_share_read(read_durations(sample)), Column(name, "duration")))
    enough = [column for share, column in candidates if share >= _MIN_READ]
    share, column = max(candidates, key=lambda candidate: candidate[0])
    column = enough[0] if enough else column
    if share < _MIN_READ_IF_NAMED:
        return None
    return _number_column(name, present, cell_format) if column.kind == "number" else column


def _share_read(values: "pl.Series") -> float:
    return 1 - values.null_count() / len(values) if len(values) else 0.0


def _number_column(name: str, text: "pl.Series", cell_format: CellFormat) -> Column:
    """Return a column of numbers with the format and the unit of its text."""
    sample = sample_cells(text.drop_nulls(), _SAMPLE_ROWS)
    unit = detect_unit(sample)
    number_format = detect_number_format(text, cell_format.decimal, unit)
    if unit:
        return Column(name, "number", (number_format, unit))
    return Column(name, "number", () if number_format == "." else (number_format,))


def _dates_of_numbers(column: Column, values: "pl.Series", cell_format: CellFormat) -> Column:
    """Return a column of dates if the numbers are dates such as 20210314, or all are in a format of the user."""
    import polars as pl

    if has_compact_dates(values):
        return Column(column.name, "date", (COMPACT_DATE,))
    present = values.drop_nulls()
    if not cell_format.dates or not (present % 1 == 0).all():
        return column
    days = read_dates(present.cast(pl.Int64, strict=False).cast(pl.String), cell_format.dates)
    return column if days.null_count() else Column(column.name, "date", cell_format.dates)


def _are_words(others: "pl.Series", values: "pl.Series") -> bool:
    """Return whether the cells that are not values are one or two words such as "refused", which has no value.

    A text with digits, such as "<5" and "3+", has a value. Of few distinct values, categories lose nothing.
    """
    words = others.str.to_lowercase().unique()
    is_few = len(words) <= _MAX_WORDS and not words.str.contains(r"\d").any()
    return is_few and values.drop_nulls().n_unique() >= _MIN_DISTINCT_READ


def _mixed(cells: "pl.Series", column: Column, unreadable: "pl.Series", n_present: int, kind: Kind | None) -> str:
    """Return the reason of a column of text of which at least half is of another kind."""
    row, cell = list_cells(cells, unreadable)[0]
    unit = f" in {column.formats[1]!r}" if column.kind == "number" and len(column.formats) > 1 else ""
    remedies = {
        "number": "--numeric reads numbers, and the other cells as missing values",
        "date": "--date-format adds a format, --missing a token of missing values",
    }
    remedy = remedies.get(column.kind, "--missing adds tokens of missing values")
    remedy += "; --categorical or --text includes the column" * (kind is None)
    n_others = int(unreadable.sum())
    verb = "are" if n_others > 1 else "is"
    others = f"{n_others:,} of {n_present:,} cells {verb} not {KINDS[column.kind]}{unit}, such as {cell!r} in row {row}"
    if column.kind == "number" and (n_decimal := count_other_decimal(cells.filter(unreadable), column.formats)):
        others += f"; {describe_other_decimal(n_decimal, n_others, column.formats)}"
        remedy = f"{REMEDY}; {remedy}"
    return f"{others} ({remedy})"


def _finding(
    cells: "pl.Series",
    column: Column,
    values: "pl.Series",
    unreadable: "pl.Series",
    cell_format: CellFormat,
    text: "pl.Series | None" = None,
) -> ColumnFinding:
    """Return the finding about a column of values, some of which are missing or cannot be read.

    Parameters
    ----------
    cells : polars.Series
    column : Column
    values, unreadable : polars.Series
        See `to_values`.
    cell_format : CellFormat
    text : polars.Series, optional
        The cells if they are text, without tokens of missing values.
    """
    missing = count_tokens(cells, values.is_null() & ~unreadable) if values.null_count() else ()
    n_unreadable = int(unreadable.sum())
    alternative: tuple[str, ...] = ()
    if text is not None and column.kind == "date":
        alternative = ambiguous_formats(text, column.formats, cell_format)
    elif text is not None and column.kind == "number" and column.formats[:1] in ((",.",), (".,",)):
        group = column.formats[0][0]
        numbers = read_numbers(text, group, *column.formats[1:])  # type: ignore[arg-type]  # a comma or a point
        alternative = (group,) if (numbers.is_null() == values.is_null()).all() else ()
    return ColumnFinding(
        cells.name,
        column.kind,
        n_empty=values.null_count() - n_unreadable - sum(n for _, n in missing),
        missing=missing,
        n_unreadable=n_unreadable,
        unreadable=tuple(list_cells(cells, unreadable)),
        formats=column.formats,
        alternative=alternative,
        examples=() if text is None else _examples(column, text, values, alternative),
        sentinels=find_sentinels(values) if column.kind == "number" else (),
        n_other_decimal=count_other_decimal(cells.filter(unreadable), column.formats) if column.kind == "number" else 0,
    )


def _examples(
    column: Column, text: "pl.Series", values: "pl.Series", alternative: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """Return one cell that shows the format of the column, or one for yes and one for no, with their values."""
    is_read = values.is_not_null()
    if column.kind == "yes/no":
        rows = [(values == value).fill_null(value=False).arg_true().head(1).to_list() for value in (0.0, 1.0)]
        return tuple((str(text[row]), f"{values[row]:g}") for first in rows for row in first)
    shown = is_read
    if column.kind == "number":
        if not column.formats:
            return ()
        group = column.formats[0][0] if len(column.formats[0]) == 2 else ""
        shown = is_read & text.str.contains(GROUPS[group] if group else r"[^\d+-]")
    elif alternative:
        shown = is_read & (values != read_dates(text, alternative)).fill_null(value=False)
    elif column.kind == "date":
        shown = is_read & read_dates(text, column.formats[:1]).is_not_null()
    row = int((shown if shown.any() else is_read).arg_true()[0])
    value = float(values[row])
    written = days_to_text(value) if column.kind == "date" else f"{value:.{12 if column.kind == 'number' else 4}g}"
    return ((str(text[row]), written),)


def _named_text_finding(cells: "pl.Series", kind: Kind, cell_format: CellFormat) -> ColumnFinding:
    """Return the finding about a column that the user names as categories or text."""
    if cells.dtype.is_nested():
        return ColumnFinding(cells.name, kind)
    missing = count_tokens(cells, to_text(cells, cell_format) == "")
    n_empty = int((to_text(cells, cell_format) == "").sum()) - sum(n for _, n in missing)
    return ColumnFinding(cells.name, kind, n_empty=n_empty, missing=missing)


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
        return ColumnFinding(cells.name, None, reason, n_empty, missing, is_identifier=True)
    return ColumnFinding(cells.name, kind, "", n_empty, missing)


def _without_values(cells: "pl.Series") -> ColumnFinding:
    tokens = [repr(token) for token, _ in count_tokens(cells, cells.is_not_null())]
    listed = ", ".join(tokens[:3]) + ", ..." * (len(tokens) > 3)
    return ColumnFinding(cells.name, None, "it has no values" + f" besides {listed}" * bool(listed))


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
