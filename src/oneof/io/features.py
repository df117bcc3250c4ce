"""Features of a table: the kinds of its columns, their choice, and their cells as numbers and text.

One ordered table of readers, `READERS`, serves training tables, new rows and streams. A reader detects the formats of
the cells of a column and returns their values. `choose_features` tries the readers in order on each column of training;
`align_columns` reads the cells of another table with the kinds and the formats of training. `encoder` transforms the
values.
"""

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from oneof.candidates.columns import name_type
from oneof.errors import DataError, InputError
from oneof.io.columns import match_all, match_columns, suggest_columns
from oneof.io.findings import (
    KINDS,
    MAX_CELLS,
    Finding,
    Kind,
    TableFindings,
    UnreadableCells,
    describe,
    describe_columns,
    describe_details,
)
from oneof.io.formats import cells as forms
from oneof.io.formats.cells import CellFormat, strip_missing_numbers, strip_text
from oneof.io.formats.dialect import Dialect
from oneof.io.table import Table
from oneof.messages import enumerate_items
from oneof.validation import check_squares

if TYPE_CHECKING:
    import polars as pl


SAMPLE_ROWS = 1_000
"""Number of cells that show the kind and the unit of a column of text."""
MIN_SHARE = 0.9
"""Share of the cells, apart from tokens of missing values, that a reader must read."""
_MAX_EXACT = 2.0**53
"""Largest float up to which all whole numbers are floats."""
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
_COUNTS = "a count of the rows (add --numeric to include)"
_NUMBERS_ROWS = "a different number in each row, and a name of an identifier (add --numeric to include)"
_IDENTIFIES = "a different word in each row, such as a name or an identifier (add --text or --categorical to include)"
_HAS_CODES = "some of the codes have leading zeros (--numeric reads numbers)"
_MIN_UNREADABLE = 10
"""Minimum number of unreadable cells for an error, if no cell of the column can be read."""
_MAX_JOINED = 100
"""Number of rows up to which columns of one kind are read at once."""


class Column(NamedTuple):
    """A feature: the name and the kind of a column, and the formats of its cells of text.

    The formats of dates are those of `strptime`. Numbers such as "1234,5", "1,234.5" and "1.234,5" have the format ",",
    ",." and ".,", which is followed by the unit if there is one: "1.234,5 EUR" has the formats ".," and "EUR".
    """

    name: str
    kind: Kind
    formats: tuple[str, ...] = ()


class Reader(NamedTuple):
    """Reader of the cells of one kind.

    Attributes
    ----------
    detect : callable
        Returns the formats of cells of text, or None if they are not of the kind.
    read : callable
        Returns the values of cells of text in given formats, null for cells that cannot be read.
    remedy : str
        An option, or a correction, that makes more cells readable.
    min_share : float
        Share of the cells, apart from tokens of missing values, that the reader must read.
    """

    detect: "Callable[[pl.Series, CellFormat], tuple[str, ...] | None]"
    read: "Callable[[pl.Series, Sequence[str], CellFormat], pl.Series]"
    remedy: str = "--missing adds tokens of missing values"
    min_share: float = MIN_SHARE


def _detect_numbers(text: "pl.Series", cell_format: CellFormat) -> tuple[str, ...]:
    unit = forms.detect_unit(forms.sample_cells(text, SAMPLE_ROWS))
    number_format = forms.detect_number_format(text, cell_format.decimal, unit)
    return (number_format, unit) if unit else () if number_format == "." else (number_format,)


def format_of_training(formats: Sequence[str], cell_format: CellFormat) -> tuple[Any, str]:
    """Return the number format of training, None if it does not apply to a table, and the unit.

    It applies if its decimal separator is that of the table, or if the table has the separator of the table of
    training, from which some of its columns differ.
    """
    known, unit = (*formats, "")[:2] if formats else (cell_format.trained_decimal or ".", "")
    applies = known in forms.NUMBER_FORMATS and cell_format.decimal in (known[-1], cell_format.trained_decimal)
    return known if applies else None, unit


def _read_numbers(text: "pl.Series", formats: Sequence[str], cell_format: CellFormat) -> "pl.Series":
    """Return numbers in the format of training, or in the format of this table if that does not read all cells."""
    known, unit = format_of_training(formats, cell_format)
    values = text if known is None else forms.read_numbers(text, known, unit)
    if known is not None and values.null_count() == text.null_count():
        return values
    return forms.read_numbers(text, forms.detect_number_format(text, cell_format.decimal, unit), unit)


def _read_dates(text: "pl.Series", formats: Sequence[str], _: CellFormat) -> "pl.Series":
    values = forms.read_dates(text, formats)
    if values.null_count() > text.null_count():  # another table may have unambiguous formats of its own
        values = values.zip_with(values.is_not_null(), forms.read_dates(text, forms.UNAMBIGUOUS_DATES))
    return values


READERS: dict[Kind, Reader] = {
    "yes/no": Reader(
        lambda text, _: forms.detect_yes_no(text), lambda text, *_: forms.read_yes_no(text), min_share=1.0
    ),
    "date": Reader(
        lambda text, cell_format: forms.detect_date_formats(text, cell_format) or None,
        _read_dates,
        "--missing adds tokens of missing values, --date-format formats",
    ),
    "duration": Reader(lambda *_: (), lambda text, *_: forms.read_durations(text)),
    "number": Reader(
        _detect_numbers,
        _read_numbers,
        "write all of them with one decimal separator and unit, or read the others as missing values by --numeric",
    ),
}
"""Readers of text in their order: the first one that reads enough cells applies. All other text is words."""


def is_text(cells: "pl.Series") -> bool:
    """Return whether a column has cells of text, as all files of text have."""
    import polars as pl

    return cells.dtype in (pl.String, pl.Categorical, pl.Enum)


def native_kind(cells: "pl.Series") -> Kind | None:
    """Return the kind of a column that has a type of its own, as in binary files; None for text and lists."""
    import polars as pl

    kinds: dict[Any, Kind] = {pl.Date: "date", pl.Datetime: "date", pl.Time: "duration", pl.Duration: "duration"}
    kinds |= {pl.Boolean: "yes/no", pl.Null: "number"}
    return "number" if cells.dtype.is_numeric() else kinds.get(cells.dtype.base_type())


def to_values(cells: "pl.Series", column: Column, cell_format: CellFormat) -> tuple["pl.Series", "pl.Series"]:
    """Return the values of cells, and a mask of the cells that are not of the kind of the column.

    Values are floats, null if missing: dates are days since 1970-01-01, durations are hours, yes and no are 1 and 0.
    Categories and texts are text, empty if missing; "Red" and "red" are one category.
    """
    import polars as pl

    kind, native, unreadable = column.kind, native_kind(cells), pl.Series([False]).new_from_index(0, len(cells))
    is_words, is_time = kind in ("category", "text"), kind in ("date", "duration")
    has_kind = native == kind or (is_words and cells.dtype != pl.Duration)  # polars does not write durations as text
    if not is_text(cells) and (native is None or (native in ("date", "duration") and not has_kind)):
        raise DataError(f"column {cells.name!r} must contain {KINDS[kind]}; got values of type {cells.dtype}.")
    tokens = _read_tokens(kind, cell_format)
    if is_words:
        if native == "number" and tokens:
            cells = cells.set(cells.cast(pl.Float64, strict=False).is_in(tokens).fill_null(value=False), None)
        text = (strip_text(cells, cell_format) if is_text(cells) else as_text(cells)).fill_null("")
        return text.str.to_lowercase() if kind == "category" else text, unreadable
    if is_time and native == kind:
        values = forms.dates_to_days(cells) if kind == "date" else forms.to_hours(cells)
    elif is_text(cells) or is_time:
        text = _strip(cells, cell_format)
        values = READERS[kind].read(text, column.formats, cell_format)
        unreadable = text.is_not_null() & values.is_null()
    else:
        numbers = cells.cast(pl.Float64, strict=False).fill_nan(None)
        is_value = numbers.is_in([0.0, 1.0, *tokens]) if kind == "yes/no" else numbers.is_finite()
        unreadable = ~is_value.fill_null(value=True)
        values = numbers.set(unreadable, None)
    return values.set(values.is_in(tokens).fill_null(value=False), None) if tokens else values, unreadable


def _read_tokens(kind: Kind, cell_format: CellFormat) -> list[float]:
    """Return the values of the user's tokens of missing values: 999 is missing as 999.0, and 9999-12-31 as a date."""
    import polars as pl

    if not cell_format.missing:
        return []
    text = pl.Series(cell_format.missing, dtype=pl.String).str.strip_chars()
    if kind not in ("date", "duration"):
        return forms.read_numbers(text).drop_nulls().to_list()
    return READERS[kind].read(text, forms.UNAMBIGUOUS_DATES, cell_format).drop_nulls().to_list()


def _strip(cells: "pl.Series", cell_format: CellFormat) -> "pl.Series":
    """Return cells as text without surrounding spaces, in which the tokens of missing numbers are null."""
    return strip_missing_numbers(strip_text(as_text(cells), cell_format))


def as_text(cells: "pl.Series") -> "pl.Series":
    """Return cells as text, in which 3.0 is 3 as an integer is, whatever the other cells of the column are."""
    import polars as pl

    if not cells.dtype.is_float():
        return cells.cast(pl.String)
    cells = cells.fill_nan(None)
    is_whole = ((cells % 1 == 0) & (cells.abs() <= _MAX_EXACT)).fill_null(value=False)
    whole = cells.set(~is_whole, None).cast(pl.Int64).cast(pl.String)
    return whole.zip_with(is_whole, cells.cast(pl.String))


def unreadable_cell(cells: "pl.Series", column: Column, row: int) -> DataError:
    """Return the error for a cell that is not of the kind of its column."""
    cell, content = cells[row], KINDS[column.kind]
    got, remedy = repr(cell), "Correct the cell, leave it empty, or name the token of missing values by --missing."
    if column.kind == "number" and str(cell).strip().lower().lstrip("+-") in ("inf", "infinity"):
        got, content, remedy = str(cell).strip(), "finite numbers", "Use a finite number, or leave the cell empty."
    elif column.kind == "date" and column.formats:
        content = f"dates as in training, {forms.name_date_formats(column.formats)}"
    return DataError(f"column {cells.name!r} must contain {content}; got {got}. {remedy}", row=row)


def list_cells(cells: "pl.Series", mask: "pl.Series") -> list[tuple[int, str]]:
    """Return rows and texts of the first cells in a mask."""
    return [(int(row), str(cells[int(row)])) for row in mask.arg_true().head(MAX_CELLS).to_list()]


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


@dataclass
class BatchSpec:
    """Columns to read. The features may be set after the first batch; they then apply to all further batches.

    Attributes
    ----------
    labels : tuple of str
        Columns of labels; none for svmlight files, in which each line begins with its labels.
    features : tuple of Column, optional
        By default all columns, with types inferred from the cells of the batch.
    as_text : collection of str
        Columns of text even if the cells look like numbers; used only if the types are inferred.
    labels_required : bool
        Whether a missing column of labels is an error.
    separator : str
        The text between two labels.
    n_columns : int
        The number of columns of the rows of svmlight files.
    dialect : Dialect
        The known properties of delimited text; the others are detected.
    cell_format : CellFormat
        The known tokens of missing values and formats of dates.
    """

    labels: tuple[str, ...] = ()
    features: tuple[Column, ...] | None = None
    as_text: Collection[str] = ()
    labels_required: bool = True
    separator: str = "|"
    n_columns: int = 2**18
    dialect: Dialect = Dialect()  # noqa: RUF009 - frozen
    cell_format: CellFormat = CellFormat()  # noqa: RUF009 - frozen

    @property
    def names(self) -> list[str] | None:
        """The columns to read; None for all."""
        return None if self.features is None else [*self.labels, *(column.name for column in self.features)]


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


@dataclass(frozen=True)
class _Read:
    """A feature with its values and a mask of its unreadable cells; see `to_values`."""

    column: Column
    values: "pl.Series"
    unreadable: "pl.Series"
    reason: str = ""


class _ExcludedError(Exception):
    """Reason why a column is not a feature, with the number of its values if they identify the rows."""

    def __init__(self, reason: str, n_values: int = 0) -> None:
        self.reason = reason
        self.n_values = n_values


def choose_features(
    table: Table,
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
    dropped = {*match_all(exclude, table.frame.columns), *table.label_columns}
    dropped |= {*match_columns(overrides.drop, table.names, table.path)}
    named = _named_kinds(table, overrides)
    found: list[Finding] = []
    columns: list[Column] = []
    values: list[pl.Series] = []
    try:
        for cells in table.frame.drop(dropped, strict=False).iter_columns():
            try:
                read = _infer(cells, named.get(cells.name), table.cell_format)
            except _ExcludedError as error:
                found.append(Finding("excluded", cells.name, error.n_values, detail=f"excluded: {error.reason}{scope}"))
                continue
            if strict and read.unreadable.any():
                row = int(read.unreadable.arg_true()[0])
                raise unreadable_cell(cells, read.column._replace(formats=()), row)
            is_words = read.values.dtype == pl.String
            if not is_words:  # divided by its deviation, it would be 0
                check_squares(read.values.to_numpy(), f"column {cells.name!r}")
            found += _describe(cells, read, table)
            columns.append(read.column)
            values.append(read.values if is_words else read.values.fill_null(float("nan")))
    except InputError as error:
        raise DataError(error.reason, source=str(table.path), row=error.row) from None
    findings = TableFindings(tuple(found), table.dialect, table.remarks)
    if not columns:
        reasons = describe_details(finding for finding in found if finding.kind == "excluded")
        cause = f": {reasons}. " if reasons else f": each column has labels or is dropped{scope}. "
        raise DataError(
            f"no feature column remains{cause}Add a column, or include one by --numeric, --categorical or --text.",
            source=str(table.path),
        )
    return TableFeatures(columns, findings, pl.DataFrame(values))


def choose_columns(
    table: Table, *, exclude: Collection[str], overrides: Overrides | None = None, scope: str = ""
) -> tuple[list[Column], TableFindings]:
    """Return the features of a table and the findings about its columns; see `choose_features`."""
    features = choose_features(table, exclude=exclude, overrides=overrides, scope=scope)
    return features.columns, features.findings


def _named_kinds(table: Table, overrides: Overrides) -> dict[str, Kind]:
    """Return the kinds of the columns that the user names; a name takes precedence over a pattern."""
    kinds: tuple[Kind, ...] = ("number", "category", "text")
    found: dict[bool, dict[str, Kind]] = {False: {}, True: {}}
    for kind, patterns in zip(kinds, (overrides.numbers, overrides.categories, overrides.texts), strict=True):
        for pattern in patterns:
            for name in match_columns([pattern], table.names, table.path):
                known = found[name == pattern].setdefault(name, kind)
                if known != kind:
                    raise DataError(f"column {name!r} must have one kind; got {known} and {kind}.")
    return found[False] | found[True]


def _infer(cells: "pl.Series", kind: Kind | None, cell_format: CellFormat) -> _Read:
    """Return a column with the kind that the user names or the inferred one, or raise if it is excluded."""
    if kind is not None:
        return _check_named(cells, kind, cell_format)
    return (_infer_text if is_text(cells) else _infer_values)(cells, cell_format)


def _read(cells: "pl.Series", column: Column, cell_format: CellFormat) -> _Read:
    return _Read(column, *to_values(cells, column, cell_format))


def _check_named(cells: "pl.Series", kind: Kind, cell_format: CellFormat) -> _Read:
    """Return a column whose kind the user names, or raise if most of its cells are not of the kind."""
    has_format = kind == "number" and is_text(cells)
    formats = _detect_numbers(_strip(cells, cell_format).drop_nulls(), cell_format) if has_format else ()
    read = _read(cells, Column(cells.name, kind, formats), cell_format)
    n_unreadable = int(read.unreadable.sum())
    n_values = len(cells) - read.values.null_count()
    if n_unreadable and n_values < _MIN_READ_IF_NAMED * (n_values + n_unreadable):
        raise unreadable_cell(cells, Column(cells.name, kind), int(read.unreadable.arg_true()[0]))
    return read


def _infer_values(cells: "pl.Series", cell_format: CellFormat) -> _Read:
    """Return a column that has a type other than text, or raise if it is excluded."""
    name, kind = cells.name, native_kind(cells)
    if cells.null_count() == len(cells):
        raise _ExcludedError("no values")
    if kind is None:
        reason = f"its values have the type {name_type(cells.dtype)}: write a column for each number or text"
        raise _ExcludedError(reason)
    read = _read(cells, Column(name, kind), cell_format)
    _check_varies(read.values)
    read = _as_dates(cells, read, cell_format)
    is_index = read.column.kind == "number" and cells.dtype.is_integer() and not cells.null_count()
    if is_index and len(cells) >= _MIN_INDEX_ROWS:
        if bool((cells.cast(float).diff().drop_nulls() == 1).all()):
            raise _ExcludedError(_COUNTS, len(cells))
        if _IDENTIFIER.search(name.strip()) and cells.n_unique() == len(cells):
            raise _ExcludedError(_NUMBERS_ROWS, len(cells))
    return read


def _infer_text(cells: "pl.Series", cell_format: CellFormat) -> _Read:
    """Return a column of text as the first reader that reads enough cells reads it, or as words."""
    text = _strip(cells, cell_format)
    present = text.drop_nulls()
    is_date = bool(cell_format.dates) and _mean(forms.read_dates(present, cell_format.dates).is_not_null()) >= MIN_SHARE
    is_code = not is_date and bool(present.str.contains(forms.CODE).any())
    is_code = is_code and _mean(present.str.contains(r"^\d+$")) >= MIN_SHARE
    kind = "date" if is_date else None if is_code else _find_kind(present, cell_format)
    if kind is None:
        return _infer_words(cells, cell_format, is_code=is_code)
    column = Column(cells.name, kind, READERS[kind].detect(present, cell_format) or ())
    read = _read(cells, column, cell_format)
    n_unreadable = int(read.unreadable.sum())
    share = 1 - n_unreadable / len(present)
    has_half = share >= _MIN_READ_IF_NAMED
    if share >= READERS[kind].min_share or (has_half and _are_words(text.filter(read.unreadable), read.values)):
        _check_varies(read.values)
        return _as_dates(cells, read, cell_format)
    unit = f" in {column.formats[1]!r}" * (kind == "number") if column.formats[1:] else ""
    row, cell = list_cells(cells, read.unreadable)[0]
    mixed = (
        f"{n_unreadable:,} of {len(present):,} cells {'are' if n_unreadable > 1 else 'is'} not {KINDS[kind]}{unit}, "
        f"such as {cell!r} in row {row} ({READERS[kind].remedy})"
    )
    return _infer_words(cells, cell_format, reason=mixed * has_half)


def _find_kind(present: "pl.Series", cell_format: CellFormat) -> Kind | None:
    """Return the first kind whose reader reads enough cells of a sample, or that of the most of at least half."""
    sample, shares = forms.sample_cells(present, SAMPLE_ROWS), dict[Kind, float]()
    has_digits = sample.str.contains(r"\d").any()
    for kind, reader in READERS.items():
        formats = reader.detect(sample, cell_format) if has_digits or kind == "yes/no" else None
        shares[kind] = 0.0 if formats is None else _mean(reader.read(sample, formats, cell_format).is_not_null())
        if shares[kind] >= reader.min_share:
            return kind
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _MIN_READ_IF_NAMED else None


def _as_dates(cells: "pl.Series", read: _Read, cell_format: CellFormat) -> _Read:
    """Return a column of numbers as dates if all are, such as 20210314 or in a format of the user."""
    import polars as pl

    present = read.values.drop_nulls()
    if read.column != Column(cells.name, "number") or not (present % 1 == 0).all():
        return read
    text = present.cast(pl.Int64, strict=False).cast(pl.String)
    for formats in ((forms.COMPACT_DATE,) * forms.is_compact_range(present), cell_format.dates):
        if formats and not forms.read_dates(text, formats).null_count():
            return _read(cells, Column(cells.name, "date", formats), cell_format)
    return read


def _infer_words(cells: "pl.Series", cell_format: CellFormat, *, is_code: bool = False, reason: str = "") -> _Read:
    """Return a column of words as categories or texts, or raise if it is an identifier or a constant.

    `reason` says why the cells are not read as another kind. Tokens such as "+" and "-" may be categories.
    """
    text = strip_text(cells, cell_format)
    _check_varies(text.str.to_lowercase())
    present = text.drop_nulls()
    distinct = present.n_unique()
    is_few = (distinct <= _FEW_CATEGORIES and distinct < len(present)) or (
        distinct <= min(_MAX_CATEGORIES, len(cells) // 2) and _mean(present.str.count_matches(r"\w+")) < _MIN_MEAN_WORDS
    )
    if not is_few and distinct >= _MIN_UNIQUE * len(present) and not present.str.contains(r"\s").any():
        raise _ExcludedError(reason or _IDENTIFIES, len(cells))
    read = _read(cells, Column(cells.name, "category" if is_few or is_code else "text"), cell_format)
    return replace(read, reason=_HAS_CODES if is_code else reason)


def _mean(cells: "pl.Series") -> float:
    return float(cells.mean() or 0.0)  # type: ignore[arg-type]  # numbers or booleans


def _check_varies(values: "pl.Series") -> None:
    """Raise unless there are two different values, or a value and a missing one."""
    if values.null_count() == len(values):
        raise _ExcludedError("no values")
    if not values.null_count() and not (values != values[0]).any():
        raise _ExcludedError(_CONSTANT)


def _are_words(others: "pl.Series", values: "pl.Series") -> bool:
    """Return whether the cells that are not values are one or two words such as "refused", which has no value.

    A text with digits, such as "<5" and "3+", has a value. Of few distinct values, categories lose nothing.
    """
    words = others.str.to_lowercase().unique()
    is_few = len(words) <= _MAX_WORDS and not words.str.contains(r"\d").any()
    return is_few and values.drop_nulls().n_unique() >= _MIN_DISTINCT_READ


def _describe(cells: "pl.Series", read: _Read, table: Table) -> list[Finding]:
    """Return the findings about a feature."""
    (name, kind, formats), values, unreadable = read.column, read.values, read.unreadable
    counted = UnreadableCells()
    counted.add(name, list_cells(cells, unreadable), int(unreadable.sum()))
    found = counted.findings("unreadable", kind)
    # Words have no missing cells: these are a category.
    is_empty = values.is_null() & ~unreadable
    if tokens := forms.count_tokens(cells, is_empty) if is_empty.any() else ():
        missing, counts = zip(*tokens, strict=True)
        found.append(Finding("missing", name, sum(counts), examples=missing))
    if read.reason:
        found.append(Finding("kind", name, detail=f"read as {KINDS[kind]}: {read.reason}"))
    has_format = kind not in ("category", "text") and (is_text(cells) or (kind == "date" and cells.dtype.is_numeric()))
    is_format_of_file = kind == "number" and formats in ((), (table.dialect and table.dialect.decimal,))
    if has_format and not is_format_of_file:
        found += _show_format(cells, read, table.cell_format)
    return found


def _show_format(cells: "pl.Series", read: _Read, cell_format: CellFormat) -> list[Finding]:
    """Return the finding about the format of cells with a cell that shows it, or about others that read the cells."""
    (name, kind, formats), values = read.column, read.values
    text, is_read = strip_text(as_text(cells), CellFormat()), values.is_not_null()

    def show(shown: "pl.Series") -> str:
        row = int((is_read & shown.fill_null(value=False)).arg_max() or 0)
        value = f"{values[row]:{'.4g' if kind == 'duration' else '.12g'}}"
        value = forms.days_to_text(float(values[row])) if kind == "date" else value
        return f"{_SPACE.sub(' ', str(text[row]))!r} is {value}"

    shown, detail, finding = [is_read], "", "format"
    if kind == "yes/no":
        shown = [values == value for value in (0.0, 1.0) if (values == value).any()]
    elif kind == "number":
        shown, detail = [text.str.contains(r"[^\d+-]")], "".join(f" in {unit!r}" for unit in formats[1:])
        group = formats[0][:-1]
        if group in (",", ".") and (forms.read_numbers(text, group, *formats[1:]).is_null() == ~is_read).all():  # type: ignore[arg-type]
            finding, detail = "digit groups", repr(group)
    elif kind == "date":
        detail, other = " " + enumerate_items([*map(repr, formats)]), _other_order(text, formats, cell_format)
        if other:
            first = "day" if other.startswith("%d") else "month"
            finding, detail = "date order", f"if the {first} is first, add --date-format {shlex.quote(other)}"
    else:
        detail = " in hours"
    examples = [show(mask) for mask in shown]
    if finding != "format":
        return [Finding(finding, name, examples=tuple(examples), detail=detail)]
    if kind == "yes/no" and {one.split("'")[1].lower() for one in examples} <= {"true", "false"}:
        return []
    return [Finding("format", name, detail=f"read as {KINDS[kind]}{detail} ({enumerate_items(examples)})")]


def _other_order(text: "pl.Series", formats: Sequence[str], cell_format: CellFormat) -> str:
    """Return a format of dates with the other order of day and month, if that reads as many cells; else ""."""
    swapped = forms.swap_day_and_month(formats)
    changed = [new for new, known in zip(swapped, formats, strict=True) if new != known]
    if not changed or set(formats) & {*cell_format.dates}:
        return ""
    return changed[0] if len({forms.read_dates(text, each).null_count() for each in (formats, swapped)}) == 1 else ""


def align_columns(
    frame: "pl.DataFrame",
    columns: Sequence[Column],
    path: Path,
    *,
    cell_format: CellFormat | None = None,
    unreadable: UnreadableCells | None = None,
    first_row: int = 0,
) -> "pl.DataFrame":
    """Return the features with the types that the encoder expects: categories and texts as text, all others as floats.

    Dates are days since 1970-01-01, and durations are hours.

    Parameters
    ----------
    frame : polars.DataFrame
    columns : sequence of Column
        The features; other columns of `frame` are ignored.
    path : Path
        For messages.
    cell_format : CellFormat, optional
        The form of the cells of the table.
    unreadable : UnreadableCells, optional
        Counts cells that are not of the kind of their column, which become missing values. Without it they are errors.
        A column at the beginning of a file that has no cell of the kind is an error in either case.
    first_row : int
        The row of the file at which the frame begins.

    Raises
    ------
    DataError
        If a column is missing, or a cell is not of the kind of its column, such as a finite number; the error names row
        and column.
    """
    names = [column.name for column in columns]
    if missing := [name for name in names if name not in frame.columns]:
        similar = suggest_columns(missing, [name for name in frame.columns if name not in names])
        raise DataError(
            f"missing {describe_columns(missing)}, which the model was trained on.{similar}", source=str(path)
        )
    try:
        aligned, masks = read_columns(frame, columns, cell_format or CellFormat())
        for column in columns:
            if column.name not in masks:
                continue
            cells, mask = frame[column.name], masks[column.name]
            count = int(mask.sum())
            has_value = not aligned[column.name].is_nan().all()
            if unreadable is None or not (first_row or has_value or count < _MIN_UNREADABLE):
                raise unreadable_cell(cells, column, int(mask.arg_true()[0]))
            unreadable.add(column.name, list_cells(cells, mask), count, first_row=first_row)
    except DataError as error:
        raise error.at(path) from None
    return aligned


def _is_in_format_of_training(cells: "pl.Series", column: Column, cell_format: CellFormat) -> bool:
    known, unit = format_of_training(column.formats, cell_format)
    text = _strip(cells, cell_format)
    return known is not None and forms.read_numbers(text, known, unit).null_count() == text.null_count()


def read_columns(
    frame: "pl.DataFrame", columns: Sequence[Column], cell_format: CellFormat
) -> "tuple[pl.DataFrame, dict[str, pl.Series]]":
    """Return the features of a table, and a mask of the unreadable cells of each column that has any.

    A call of polars takes longer than the work of a few cells. Therefore short columns of the same kind, format and
    type are read as one column, if the format of training reads all of their cells.
    """
    import polars as pl

    groups: dict[Any, list[Column]] = {}
    for column in columns:
        alike = frame[column.name].dtype if frame.height <= _MAX_JOINED else column.name
        groups.setdefault((column[1:], alike), []).append(column)
    pending, read, masks = [*groups.values()], {}, {}
    while pending:
        group = pending.pop()
        cells = pl.concat([frame[column.name] for column in group])
        is_numbers = group[0].kind == "number" and is_text(cells)
        if len(group) > 1 and is_numbers and not _is_in_format_of_training(cells, group[0], cell_format):
            pending += [[column] for column in group]
            continue
        values, unreadable = to_values(cells, group[0], cell_format)
        values = values if values.dtype == pl.String else values.fill_null(float("nan"))
        for i, (name, *_) in enumerate(group):
            read[name] = values.slice(i * frame.height, frame.height).alias(name)
            if unreadable.any() and (mask := unreadable.slice(i * frame.height, frame.height)).any():
                masks[name] = mask
    return pl.DataFrame([read[column.name] for column in columns]), masks


def describe_dates(columns: Sequence[Column], unreadable: UnreadableCells) -> list[str]:
    """Return a note about the columns of dates with unreadable cells that have digits: they may have another format."""
    return describe(
        Finding("other dates", column.name, detail=forms.name_date_formats(column.formats))
        for column in columns
        if column.kind == "date"
        and column.name in unreadable.found
        and any(any(map(str.isdigit, text)) for text in unreadable.found[column.name].examples)
    )


def describe_cells(columns: Sequence[Column], cell_format: CellFormat) -> dict[str, Any]:
    """Return the properties of cells that a saved model needs for another table, in the types of JSON.

    A saved model has them in its summary, as "cells"; `saved_columns` reads them.
    """
    return {
        "missing": list(cell_format.missing),
        "decimal": cell_format.decimal,
        "folds_labels": cell_format.folds_labels,
        "label_errors": cell_format.label_errors,
        "formats": {column.name: list(column.formats) for column in columns if column.formats},
    }


def saved_columns(columns: Sequence[Sequence[Any]], summary: Mapping[str, Any]) -> tuple[list[Column], CellFormat]:
    """Return the columns of a saved model with their formats, and the form of the cells of a table.

    Parameters
    ----------
    columns : sequence of (name, kind)
    summary : dict
        See `oneof.persistence.SavedModel`; a model of an earlier version has no formats.
    """
    given = summary.get("cells")
    cells: dict[str, Any] = given if isinstance(given, dict) else {}
    formats = cells["formats"] if isinstance(cells.get("formats"), dict) else {}
    tokens = cells["missing"] if isinstance(cells.get("missing"), list | tuple) else ()
    decimal = "," if cells.get("decimal") == "," else "."
    return [Column(name, kind, tuple(map(str, formats.get(name, ())))) for name, kind in columns], CellFormat(
        decimal,
        tuple(map(str, tokens)),
        folds_labels=cells.get("folds_labels") is True,
        label_errors="unlabeled" if cells.get("label_errors") == "unlabeled" else "raise",
        trained_decimal=decimal,
    )
