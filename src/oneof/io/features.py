"""Features of a table: the choice of its columns.

Reading order: `choose_features` chooses columns by their kinds (`kinds`) and reads their cells, `columns.align_columns`
converts another table to numbers and text, `encoder` builds the transformer of the values.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.errors import DataError, InputError
from oneof.io.columns import Column, match_columns, to_text, unreadable_cell
from oneof.io.kinds import check_kind, infer_kind
from oneof.io.notes.findings import ColumnFinding, Kind, TableFindings
from oneof.io.notes.sentinels import recurring
from oneof.validation import check_squares

if TYPE_CHECKING:
    import polars as pl

    from oneof.io.table import Table


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
    table: "Table", *, exclude: Collection[str], overrides: Overrides | None = None, strict: bool = False
) -> TableFeatures:
    """Choose the features of a table, infer their kinds and read their cells, each column once.

    Parameters
    ----------
    table : Table
    exclude : collection of str
        Columns that must not be features: labels and truth.
    overrides : Overrides, optional
    strict : bool, default=False
        Whether a cell that is not of the kind of its column is an error; by default it is a missing value.

    Returns
    -------
    TableFeatures

    Raises
    ------
    DataError
        See `choose_columns`; if a number is so large that the variance of its column overflows; or if `strict`, and a
        cell cannot be read.
    """
    import polars as pl

    findings, values = _infer_columns(table, exclude, overrides or Overrides())
    columns = _features(findings, table.path, "")
    frame = []
    try:
        for column, found in zip(columns, (found for found in findings if found.kind is not None), strict=True):
            cells = table.frame[column.name]
            if strict and found.unreadable:
                raise unreadable_cell(cells, column.kind, found.unreadable[0][0])
            numbers = values.get(column.name)
            if numbers is not None:
                check_squares(numbers.to_numpy(), f"column {column.name!r}")  # divided by its deviation, it would be 0
            frame.append(to_text(cells, table.cell_format) if numbers is None else numbers.fill_null(float("nan")))
    except DataError as error:
        raise error.at(table.path) from None
    except InputError as error:
        raise DataError(error.reason, source=str(table.path), row=error.row) from None
    return TableFeatures(columns, TableFindings(tuple(findings), table.dialect, table.remarks), pl.DataFrame(frame))


def choose_columns(
    table: "Table", *, exclude: Collection[str], overrides: Overrides | None = None, scope: str = ""
) -> tuple[list[Column], TableFindings]:
    """Choose the features of a table and infer their kinds.

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
        the user, or no feature remains; the error then has the reasons.
    """
    findings, _ = _infer_columns(table, exclude, overrides or Overrides())
    columns = _features(findings, table.path, scope)
    return columns, TableFindings(tuple(findings), table.dialect, table.remarks, scope)


def _infer_columns(
    table: "Table", exclude: Collection[str], overrides: Overrides
) -> tuple[list[ColumnFinding], dict[str, "pl.Series"]]:
    """Return the findings of the columns, and the values of those that are numbers in the table of features."""
    stripped = {name.strip() for name in exclude}  # as `find_column` finds them
    excluded = {name for name in table.frame.columns if name.strip() in stripped}
    dropped = {*excluded, *table.label_columns, *match_columns(overrides.drop, table.names, table.path)}
    forced = _forced_kinds(table, overrides)
    findings, values = [], {}
    for cells in table.frame.iter_columns():
        if cells.name in dropped:
            continue
        kind = forced.get(cells.name)
        try:
            found, numbers = (
                infer_kind(cells, table.cell_format) if kind is None else check_kind(cells, kind, table.cell_format)
            )
        except DataError as error:
            raise error.at(table.path) from None
        findings.append(found)
        if numbers is not None and found.kind is not None:
            values[cells.name] = numbers
    recur = recurring([found.sentinels for found in findings], table.frame.height)
    return [replace(found, sentinels=numbers) for found, numbers in zip(findings, recur, strict=True)], values


def _features(findings: Sequence[ColumnFinding], path: Path, scope: str) -> list[Column]:
    """Return the columns that are features, or raise an error with the reasons if there is none."""
    columns = [Column(found.column, found.kind, found.formats) for found in findings if found.kind is not None]
    if not columns:
        reasons = TableFindings(tuple(findings), scope=scope).reasons_of_exclusion()
        cause = f": {reasons}. " if reasons else f": each column has labels or is dropped{scope}. "
        raise DataError(
            f"no feature column remains{cause}Add a column, or include one by --numeric, --categorical or --text.",
            source=str(path),
        )
    return columns


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
