"""Features of a table: the kinds of its columns, and their choice.

Reading order: `choose_features` infers the kind of each column by the readers of `kinds` and reads its cells,
`columns.align_columns` converts another table to numbers and text, `encoder` transforms the values.
"""

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from oneof.candidates.columns import name_type
from oneof.errors import DataError, InputError
from oneof.io.columns import match_columns
from oneof.io.findings import KINDS, Finding, Kind, TableFindings
from oneof.io.formats.cells import (
    CODE,
    GROUPS,
    CellFormat,
    count_other_decimals,
    count_tokens,
    read_numbers,
    sample_cells,
    strip_missing_numbers,
    strip_text,
)
from oneof.io.formats.dates import COMPACT_DATE, days_to_text, detect_date_formats, is_compact_range, read_dates
from oneof.io.kinds import (
    MIN_SHARE,
    READERS,
    SAMPLE_ROWS,
    Column,
    Reader,
    as_text,
    is_text,
    list_cells,
    to_values,
    unreadable_cell,
)
from oneof.messages import enumerate_items
from oneof.validation import check_squares

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.table import Table

_MIN_READ_IF_NAMED = 0.5
"""Share of the cells that must be numbers if the user says so, or if the others are at most `_MAX_WORDS` words."""
_MAX_WORDS = 2
_MIN_DISTINCT_READ = 5
"""Number of distinct values from which one or two words among them are missing values."""
_MAX_CATEGORIES = 50
_MIN_MEAN_WORDS = 3.0
"""Mean number of words from which a column with more than `_FEW_CATEGORIES` distinct values is text."""
_FEW_CATEGORIES = 12
_MIN_INDEX_ROWS = 20
_MIN_UNIQUE = 0.95
"""Share of distinct values from which single words are identifiers."""
_IDENTIFIER = re.compile(r"(^|[\W_])(?i:id|key|index|uuid)$|[a-z](Id|ID|Key|Index)$")
_SPACE = re.compile(r"\s")
_CONSTANT = "one value (add --numeric, --categorical or --text to include)"
_IDENTIFIES = "a different word in each row, such as a name or an identifier (add --text or --categorical to include)"


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


@dataclass(frozen=True)
class _Read:
    """A feature with its values and a mask of its unreadable cells; see `to_values`."""

    column: Column
    values: "pl.Series"
    unreadable: "pl.Series"
    reason: str = ""


@dataclass(frozen=True)
class TableFeatures:
    """Features of a table.

    Attributes
    ----------
    columns : list of Column
        In the order of the table.
    findings : TableFindings
        One for each column that is neither excluded by the user nor has labels.
    frame : polars.DataFrame
        The cells of `columns` as `oneof.io.align_columns` returns them.
    """

    columns: list[Column]
    findings: TableFindings
    frame: "pl.DataFrame"


def choose_features(
    table: "Table",
    *,
    exclude: Collection[str],
    overrides: Overrides | None = None,
    strict: bool = False,
    scope: str = "",
) -> TableFeatures:
    """Choose the features of a table, infer their kinds and read their cells, each column once.

    Text is read as numbers, yes/no, dates or durations if nine of ten cells can be, apart from tokens of missing values
    such as "-"; or if half of them can be, and the others are one or two words without digits, such as "refused". Whole
    numbers are dates if all are like 20210314. Other text with few distinct values, and codes with leading zeros, are
    categories; the rest is text. These columns are excluded:

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
    strict : bool, default=False
        Whether a cell that is not of the kind of its column is an error; by default it is a missing value.
    scope : str
        Clause for messages if the table is not the full data set.

    Returns
    -------
    TableFeatures

    Raises
    ------
    DataError
        If a column in `overrides` does not exist or has two kinds, most cells of a column are not of the kind named by
        the user, or no feature remains; the error then has the reasons. If a number is so large that the variance of
        its column overflows; or if `strict`, and a cell cannot be read.
    """
    import polars as pl

    overrides = overrides or Overrides()
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    excluded = {name for name in table.frame.columns if name.strip() in stripped}
    dropped = {*excluded, *table.label_columns, *match_columns(overrides.drop, table.names, table.path)}
    forced = _forced_kinds(table, overrides)
    found: list[Finding] = []
    columns: list[Column] = []
    values: list[pl.Series] = []
    try:
        for cells in table.frame.drop(dropped, strict=False).iter_columns():
            read = _infer(cells, forced.get(cells.name), table.cell_format)
            if isinstance(read, Finding):
                found.append(replace(read, detail=f"{read.detail}{scope}"))
                continue
            if strict and read.unreadable.any():
                row = int(read.unreadable.arg_true()[0])
                raise unreadable_cell(cells, read.column._replace(formats=()), row)
            if read.column.kind not in ("category", "text"):
                # divided by its deviation, it would be 0
                check_squares(read.values.to_numpy(), f"column {cells.name!r}")
            found += _describe(cells, read, table)
            columns.append(read.column)
            is_text = read.values.dtype == pl.String
            values.append(read.values if is_text else read.values.fill_null(float("nan")))
    except InputError as error:
        raise DataError(error.reason, source=str(table.path), row=error.row) from None
    findings = TableFindings(tuple(found), table.dialect, table.remarks)
    if not columns:
        reasons = findings.reasons_of_exclusion()
        cause = f": {reasons}. " if reasons else f": each column has labels or is dropped{scope}. "
        raise DataError(
            f"no feature column remains{cause}Add a column, or include one by --numeric, --categorical or --text.",
            source=str(table.path),
        )
    return TableFeatures(columns, findings, pl.DataFrame(values))


def choose_columns(
    table: "Table", *, exclude: Collection[str], overrides: Overrides | None = None, scope: str = ""
) -> tuple[list[Column], TableFindings]:
    """Return the features of a table and the findings about its columns; see `choose_features`."""
    features = choose_features(table, exclude=exclude, overrides=overrides, scope=scope)
    return features.columns, features.findings


def _infer(cells: "pl.Series", kind: Kind | None, cell_format: CellFormat) -> _Read | Finding:
    """Return a column with the kind that the user names or the inferred one, or the reason why it is excluded."""
    if kind is not None:
        return _check_named(cells, kind, cell_format)
    return (_infer_text if is_text(cells) else _infer_values)(cells, cell_format)


def _read(cells: "pl.Series", column: Column, cell_format: CellFormat) -> _Read:
    return _Read(column, *to_values(cells, column, cell_format))


def _check_named(cells: "pl.Series", kind: Kind, cell_format: CellFormat) -> _Read:
    """Return a column whose kind the user names, or raise if most of its cells are not of the kind."""
    column = Column(cells.name, kind)
    if kind == "number" and is_text(cells):
        present = strip_missing_numbers(strip_text(cells, cell_format)).drop_nulls()
        formats = [reader.detect(present, cell_format) for reader in READERS if reader.kind == "number"]
        column = Column(cells.name, kind, formats[-1] or formats[0] or ())  # a unit takes precedence
    read = _read(cells, column, cell_format)
    n_unreadable = int(read.unreadable.sum())
    n_values = len(cells) - read.values.null_count()
    if n_unreadable and n_values < _MIN_READ_IF_NAMED * (n_values + n_unreadable):
        raise unreadable_cell(cells, Column(cells.name, kind), int(read.unreadable.arg_true()[0]))
    return read


def _infer_values(cells: "pl.Series", cell_format: CellFormat) -> _Read | Finding:
    """Return the kind of a column that has a type other than text, or the reason why it is excluded."""
    import polars as pl

    name, dtype = cells.name, cells.dtype
    if cells.null_count() == len(cells):
        return _exclude(name, "no values")
    kinds: dict[Any, Kind] = {pl.Date: "date", pl.Datetime: "date", pl.Time: "duration", pl.Duration: "duration"}
    kind = "number" if dtype.is_numeric() else (kinds | {pl.Boolean: "yes/no"}).get(dtype.base_type())
    if kind is None:
        return _exclude(name, f"its values have the type {name_type(dtype)}: write a column for each number or text")
    read = _read(cells, Column(name, kind), cell_format)
    if not _varies(read.values):
        return _without_values(cells) if read.values.null_count() else _exclude(name, _CONSTANT)
    if kind == "number" and not read.unreadable.any() and (formats := _compact_formats(read.values, cell_format)):
        return _read(cells, Column(name, "date", formats), cell_format)
    if dtype.is_integer() and len(cells) >= _MIN_INDEX_ROWS and not cells.null_count():
        if bool((cells.cast(float).diff().drop_nulls() == 1).all()):
            return _exclude(name, "a count of the rows (add --numeric to include)", n_values=len(cells))
        if _IDENTIFIER.search(name.strip()) and cells.n_unique() == len(cells):
            reason = "a different number in each row, and a name of an identifier (add --numeric to include)"
            return _exclude(name, reason, n_values=len(cells))
    return read


def _infer_text(cells: "pl.Series", cell_format: CellFormat) -> _Read | Finding:
    """Return the kind of a column of text: that of the first reader that reads enough cells, or else words."""
    text = strip_text(cells, cell_format)
    stripped = strip_missing_numbers(text)
    present = stripped.drop_nulls()
    if not len(present):  # tokens such as "+" and "-" may be categories
        return _infer_words(cells, text, cell_format) if _varies(text) else _without_values(cells)
    is_named_date = cell_format.dates and _share_read(read_dates(present, cell_format.dates)) >= MIN_SHARE
    if not is_named_date and _has_codes(present):
        return _infer_words(cells, text, cell_format, is_code=True)
    reader = _find_reader(present, cell_format, only_dates=bool(is_named_date))
    if reader is None:
        return _infer_words(cells, text, cell_format)
    column = Column(cells.name, reader.kind, reader.detect(present, cell_format) or ())
    read = _read(cells, column, cell_format)
    share = 1 - int(read.unreadable.sum()) / len(present)
    is_enough = share >= reader.min_share
    if is_enough or (share >= _MIN_READ_IF_NAMED and _are_words(stripped.filter(read.unreadable), read.values)):
        if not _varies(read.values):
            return _exclude(cells.name, _CONSTANT)
        formats = _compact_formats(read.values, cell_format) if column == Column(cells.name, "number") else ()
        return _read(cells, Column(cells.name, "date", formats), cell_format) if formats else read
    found = _infer_words(cells, text, cell_format)
    if share < _MIN_READ_IF_NAMED:
        return found
    mixed = _describe_mixed(cells, read, len(present))
    return replace(found, detail=f"excluded: {mixed}") if isinstance(found, Finding) else replace(found, reason=mixed)


def _has_codes(present: "pl.Series") -> bool:
    """Return whether the cells are codes of digits, some of which have leading zeros."""
    if not present.str.contains(CODE).any():
        return False
    return float(present.str.contains(r"^\d+$").mean()) >= MIN_SHARE  # type: ignore[arg-type]  # booleans


def _find_reader(present: "pl.Series", cell_format: CellFormat, *, only_dates: bool) -> Reader | None:
    """Return the first reader that reads enough cells of a sample, or the one that reads the most of at least half."""
    sample = sample_cells(present, SAMPLE_ROWS)
    has_digits = sample.str.contains(r"\d").any()
    shares: list[tuple[float, Reader]] = []
    for reader in READERS:
        if (only_dates and reader.kind != "date") or not (has_digits or reader.kind == "yes/no"):
            continue
        formats = reader.detect(sample, cell_format)
        if formats is None:
            continue
        share = _share_read(reader.read(sample, formats))
        if share >= reader.min_share:
            return reader
        shares.append((share, reader))
    enough = [found for found in shares if found[0] >= _MIN_READ_IF_NAMED]
    return max(enough, key=lambda found: found[0])[1] if enough else None


def _compact_formats(numbers: "pl.Series", cell_format: CellFormat) -> tuple[str, ...]:
    """Return the formats of numbers that are all dates, such as 20210314 or in the formats of the user."""
    import polars as pl

    present = numbers.drop_nulls()
    if not (present % 1 == 0).all():
        return ()
    text = present.cast(pl.Int64, strict=False).cast(pl.String)
    for formats in ((COMPACT_DATE,) * is_compact_range(present), cell_format.dates):
        if formats and not read_dates(text, formats).null_count():
            return formats
    return ()


def _infer_words(
    cells: "pl.Series", text: "pl.Series", cell_format: CellFormat, *, is_code: bool = False
) -> _Read | Finding:
    """Return a column of words as categories or texts, or exclude it as an identifier or a constant."""
    if not _varies(text.str.to_lowercase()):
        return _exclude(cells.name, _CONSTANT)
    present = text.drop_nulls()
    distinct = present.n_unique()
    mean_words = float(present.str.count_matches(r"\w+").mean())  # type: ignore[arg-type]  # a column of counts
    is_few = (distinct <= _FEW_CATEGORIES and distinct < len(present)) or (
        distinct <= min(_MAX_CATEGORIES, len(cells) // 2) and mean_words < _MIN_MEAN_WORDS
    )
    if not is_few and distinct >= _MIN_UNIQUE * len(present) and not present.str.contains(r"\s").any():
        return _exclude(cells.name, _IDENTIFIES, n_values=len(cells))
    read = _read(cells, Column(cells.name, "category" if is_few or is_code else "text"), cell_format)
    return replace(read, reason="some of the codes have leading zeros (--numeric reads numbers)" if is_code else "")


def _exclude(name: str, reason: str, *, n_values: int = 0) -> Finding:
    """Return the finding about an excluded column; it has the number of its values if they identify the rows."""
    return Finding("excluded", name, n_values, detail=f"excluded: {reason}")


def _without_values(cells: "pl.Series") -> Finding:
    tokens = [repr(token) for token, _ in count_tokens(cells, cells.is_not_null())]
    return _exclude(cells.name, "no values" + f" besides {', '.join(tokens[:3])}" * bool(tokens))


def _share_read(values: "pl.Series") -> float:
    return 1 - values.null_count() / len(values) if len(values) else 0.0


def _varies(cells: "pl.Series") -> bool:
    """Return whether there are two different values, or a value and a missing one."""
    if cells.null_count():
        return cells.null_count() < len(cells)
    return len(cells) > 0 and bool((cells != cells[0]).any())


def _are_words(others: "pl.Series", values: "pl.Series") -> bool:
    """Return whether the cells that are not values are one or two words such as "refused", which has no value.

    A text with digits, such as "<5" and "3+", has a value. Of few distinct values, categories lose nothing.
    """
    words = others.str.to_lowercase().unique()
    is_few = len(words) <= _MAX_WORDS and not words.str.contains(r"\d").any()
    return is_few and values.drop_nulls().n_unique() >= _MIN_DISTINCT_READ


def _describe_mixed(cells: "pl.Series", read: _Read, n_present: int) -> str:
    """Return the reason of a column of text of which at least half is of another kind."""
    [(row, cell), *_], n_others = list_cells(cells, read.unreadable), int(read.unreadable.sum())
    unit = f" in {read.column.formats[1]!r}" if read.column.kind == "number" and read.column.formats[1:] else ""
    is_not = f"{'are' if n_others > 1 else 'is'} not {KINDS[read.column.kind]}{unit}"
    remedies = {
        "number": "write one decimal separator in all cells, or read the others as missing values by --numeric",
        "date": "--missing adds tokens of missing values, --date-format formats",
    }
    return (
        f"{n_others:,} of {n_present:,} cells {is_not}, such as {cell!r} in row {row} "
        f"({remedies.get(read.column.kind, '--missing adds tokens of missing values')})"
    )


def _describe(cells: "pl.Series", read: _Read, table: "Table") -> list[Finding]:
    """Return the findings about a feature."""
    (name, kind, formats), values, unreadable = read.column, read.values, read.unreadable
    is_words, found = kind in ("category", "text"), []
    if n_unreadable := int(unreadable.sum()):
        rows, texts = zip(*list_cells(cells, unreadable), strict=True)
        found.append(Finding("unreadable", name, n_unreadable, rows, texts, kind))
        other = count_other_decimals(cells.filter(unreadable), formats) if kind == "number" and is_text(cells) else 0
        marks = ("point", "comma") if formats and formats[0][-1] == "," else ("comma", "point")
        detail = f"{marks[0]}, and other cells a decimal {marks[1]}"
        found += [Finding("decimal sign", name, other, detail=detail)] * bool(other)
    is_empty = values == "" if is_words else values.is_null() & ~unreadable
    if tokens := count_tokens(cells, is_empty) if is_empty.any() else ():  # of categories they are a category
        missing, counts = zip(*tokens, strict=True)
        found.append(Finding("missing category" if is_words else "missing", name, sum(counts), examples=missing))
    if read.reason:
        found.append(Finding("kind", name, detail=f"read as {KINDS[kind]}: {read.reason}"))
    has_format = is_text(cells) or (kind == "date" and cells.dtype.is_numeric())
    is_format_of_file = kind == "number" and formats in ((), (table.dialect and table.dialect.decimal,))
    if has_format and not (is_words or is_format_of_file):
        found += _show_format(cells, read.column, values, table.cell_format)
    return found


def _show_format(cells: "pl.Series", column: Column, values: "pl.Series", cell_format: CellFormat) -> list[Finding]:
    """Return the finding about the format of cells with a cell that shows it, or about others that read the cells."""
    name, kind, formats = column
    text, is_read = strip_text(as_text(cells), CellFormat()), values.is_not_null()
    if kind == "yes/no":
        rows = [(values == value).fill_null(value=False).arg_true().head(1).to_list() for value in (0.0, 1.0)]
        shown = [(str(text[row]), f"{values[row]:g}") for first in rows for row in first]
        is_usual = {cell.lower() for cell, _ in shown} <= {"true", "false"}
        return [] if is_usual else [Finding("format", name, detail=f"read as {KINDS[kind]} ({_enumerate(shown)})")]
    details, others, group = {"duration": "in hours"}, is_read, ""
    alternative: tuple[str, ...] = ()
    if kind == "number":
        details["number"] = f"in {formats[1]!r}" if len(formats) > 1 else ""
        group = formats[0][0] if formats and len(formats[0]) == 2 else ""
        others = text.str.contains(GROUPS[group] if group else r"[^\d+-]")
    elif kind == "date":
        details["date"] = enumerate_items([*map(repr, formats)])
        alternative = detect_date_formats(text.filter(is_read), cell_format)[1]
        others = values != read_dates(text, alternative or formats[:1])
        others = others if alternative else read_dates(text, formats[:1]).is_not_null()
    others = is_read & others.fill_null(value=False)
    row = int((others if others.any() else is_read).arg_true()[0])
    value = float(values[row])
    written = days_to_text(value) if kind == "date" else f"{value:.{12 if kind == 'number' else 4}g}"
    example = _enumerate([(str(text[row]), written)])
    if group in (",", ".") and (read_numbers(text, group, *formats[1:]).is_null() == ~is_read).all():  # type: ignore[arg-type]
        return [Finding("digit groups", name, examples=(example,), detail=repr(group))]
    if alternative:
        other = next(new for new, known in zip(alternative, formats, strict=True) if new != known)
        first = "day" if other.startswith("%d") else "month"
        advice = f"if the {first} is first, add --date-format {shlex.quote(other)}"
        return [Finding("date order", name, examples=(example,), detail=advice)]
    return [Finding("format", name, detail=f"read as {f'{KINDS[kind]} {details[kind]}'.strip()} ({example})")]


def _enumerate(cells: Collection[tuple[str, str]]) -> str:
    """Return cells with their values."""
    return enumerate_items([f"{_SPACE.sub(' ', text)!r} is {value}" for text, value in cells])


def _forced_kinds(table: "Table", overrides: Overrides) -> dict[str, Kind]:
    """Return the kinds of the columns that the user names; a name takes precedence over a pattern."""
    kinds: list[tuple[tuple[str, ...], Kind]] = [
        (overrides.numbers, "number"),
        (overrides.categories, "category"),
        (overrides.texts, "text"),
    ]
    by_pattern: dict[str, Kind] = {}
    by_name: dict[str, Kind] = {}
    for pattern, kind in ((pattern, kind) for patterns, kind in kinds for pattern in patterns):
        for name in match_columns([pattern], table.names, table.path):
            known = by_name if name == pattern else by_pattern
            if known.setdefault(name, kind) != kind:
                raise DataError(f"column {name!r} must have one kind; got {known[name]} and {kind}.")
    return by_pattern | by_name
