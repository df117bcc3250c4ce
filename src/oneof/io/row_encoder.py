"""Encoding of a few rows given as mappings, without a table.

A transformer of tables takes about 0.2 ms per column, mostly to select and check the columns. This is negligible for a
table, but not for the row of a request. `RowEncoder` reads the arrays of the fitted transformer once, and returns the
same numbers from plain Python values.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.errors import DataError, InputTypeError
from oneof.io.columns import Column, align_columns, misspelled_column, suggest_columns, to_values
from oneof.io.encoder_blocks import Cells, compile_blocks, to_frame
from oneof.io.formats.cells import (
    NUMBER_FORMATS,
    CellFormat,
    NumberFormat,
    missing_numbers,
    read_numbers,
    strip_missing_numbers,
    strip_text,
)
from oneof.io.formats.names import format_names
from oneof.io.notes.findings import KINDS, Kind
from oneof.io.notes.new_categories import known_categories
from oneof.messages import shorten
from oneof.typing import FeatureMatrix

if TYPE_CHECKING:
    import polars as pl

_SOURCE = Path("the rows")
_UNUSUAL = object()
"""A cell that needs a conversion."""
_UNREADABLE = object()
"""A cell that is not of the kind of its column."""
_MAX_TOKEN_LENGTH = 40
"""Length up to which a text may be a token of missing values."""
_MAX_CONVERTED = 10_000
_MAX_PROBES = 100
"""Maximum number of categories of a column that are compared when the encoder is made."""
_UNSEEN = "\x00 unseen"


class UnreadableCell(NamedTuple):
    """A cell that is not of the kind of its column."""

    row: int
    column: str
    value: Any

    @property
    def text(self) -> str:
        """The value as text, of 60 characters at most."""
        return shorten(self.value) if type(self.value) is str else _shorten(self.value)


class RowEncoder:
    """Encoder of rows given as mappings from the names of columns to cells.

    Parameters
    ----------
    columns : sequence of Column
        The features of the table.
    transformer : transformer
        The fitted transformer of the table, as `make_encoder` returns it. For any other transformer of tables, or an
        unknown part of it, the rows become a table first.
    cell_format : CellFormat, optional
        The form of the cells of text; by default there are no further tokens of missing values.
    """

    def __init__(self, columns: Sequence[Column], transformer: Any, cell_format: CellFormat | None = None) -> None:
        self._cell_format = cell_format or CellFormat()
        self._missing = frozenset(missing_numbers(self._cell_format))
        # A column without a format was read as numbers with the decimal separator of the table of training.
        default = {"number": (self._cell_format.decimal,)}
        self.columns = [column._replace(formats=column.formats or default.get(column.kind, ())) for column in columns]
        self._transformer = transformer
        self._converted: dict[tuple[Kind, tuple[str, ...], str], Any] = {}
        """Cells of short texts by kind, formats and text, since dates and words recur in many requests."""
        self._blocks = compile_blocks(transformer, [column.name for column in columns])
        self._known = known_categories(transformer, len(self.columns))
        self._categories = [frozenset(values) for values in self._known]
        if self._blocks is not None and not self._agrees():
            self._blocks = None

    def transform(
        self,
        rows: Sequence[Mapping[str, Any]],
        unreadable: list[UnreadableCell] | None = None,
        absent: list[tuple[int, str]] | None = None,
    ) -> FeatureMatrix:
        """Return the features of rows, as the transformer returns them for a table of these rows.

        Parameters
        ----------
        rows : sequence of mappings
            Each has a cell for every column: a number, a boolean, a text, or None if it is missing. Other keys are
            ignored. The texts of a column are read as the cells of a table.
        unreadable : list of UnreadableCell, optional
            Receives the cells that are not of the kind of their column, which become missing values. Without it they
            are errors.
        absent : list of (int, str), optional
            Receives the rows and the columns that they lack, which become missing values. Without it they are errors,
            as is a row without any column, or with a key that is the name of a column in another spelling.

        Raises
        ------
        DataError
            If a column is missing and `absent` does not receive it, a cell is a list or an object, or a cell cannot be
            read and `unreadable` is None; the error names the row and the column.
        InputTypeError
            If a row is not a mapping.
        """
        return self.encode(self.read(rows, unreadable, absent))

    def read(
        self,
        rows: Sequence[Mapping[str, Any]],
        unreadable: list[UnreadableCell] | None = None,
        absent: list[tuple[int, str]] | None = None,
    ) -> list[Cells]:
        """Return the cells of each column, in the types of `align_columns`; see `transform`."""
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InputTypeError(f"row {i} must be an object with a value for each column; got {_shorten(row)}.")
            missing = [column.name for column in self.columns if column.name not in row]
            if missing:
                self._check_missing(i, row, missing, may_be_absent=absent is not None)
                if absent is not None:
                    absent += [(i, name) for name in missing]
        table: list[list[Any]] = []
        texts: dict[tuple[Kind, tuple[str, ...]], list[tuple[int, int, str]]] = {}
        for j, column in enumerate(self.columns):
            read, known = _READERS.get(column.kind, _read_other), self._categories[j]
            values: list[Any] = [row.get(column.name) for row in rows]
            cells = [read(value, known) for value in values]
            if self._missing and column.kind in ("number", "yes/no"):
                cells = [None if cell in self._missing else cell for cell in cells]
            table.append(cells)
            for i, cell in enumerate(cells):
                if cell is not _UNUSUAL:
                    continue
                if type(values[i]) is str and _is_unicode(values[i]):
                    texts.setdefault((column.kind, column.formats), []).append((j, i, values[i]))
                else:
                    cells[i] = self._convert(column, values[i], i)
        for group in texts.values():
            self._convert_texts(group, table)
        for column, cells in zip(self.columns, table, strict=True):
            for i, cell in enumerate(cells):
                if cell is _UNREADABLE:
                    cells[i] = None
                    found = UnreadableCell(i, column.name, rows[i][column.name])
                    if unreadable is None:
                        raise _unreadable_error(column, found.value, i)
                    unreadable.append(found)
        return [
            ["" if cell is None else str(cell) for cell in cells]
            if column.kind in ("category", "text")
            else np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
            for column, cells in zip(self.columns, table, strict=True)
        ]

    def _check_missing(self, i: int, row: Mapping[str, Any], missing: list[str], *, may_be_absent: bool) -> None:
        """Raise unless the missing columns of a row may be missing values."""
        others = {str(name) for name in row} - {column.name for column in self.columns}
        similar = None
        if may_be_absent and len(missing) < len(self.columns):
            similar = misspelled_column(missing, others)
            if similar is None:
                return
        if similar is None:
            advice = f"Use null for a missing value.{suggest_columns(missing, sorted(filter(_is_unicode, others)))}"
        else:
            advice = f"Rename {_shorten(similar[1])} to {similar[0]!r}, or use null for a missing value."
        raise DataError(f"missing column{'s' * (len(missing) > 1)} {format_names(missing)}. {advice}", row=i)

    def _convert_texts(self, group: Sequence[tuple[int, int, str]], table: list[list[Any]]) -> None:
        """Write the cells of texts into `table`; a group has column, row and text of columns of one kind and form.

        The calls of polars take much longer than the work of each cell, so the texts of all columns are read at once.
        """
        column = self.columns[group[0][0]]
        if column.kind == "number":
            self._convert_numbers(group, table)
            return
        key = (column.kind, column.formats)
        new = [text for _, _, text in group if (*key, text) not in self._converted]
        values = dict(zip(new, self._read_texts(column, new) if new else [], strict=True))
        for j, i, text in group:
            table[j][i] = values[text] if text in values else self._converted[(*key, text)]
        for text, value in values.items():
            if len(text) <= _MAX_TOKEN_LENGTH and len(self._converted) < _MAX_CONVERTED:
                self._converted[(*key, text)] = value

    def _convert_numbers(self, group: Sequence[tuple[int, int, str]], table: list[list[Any]]) -> None:
        """Write the cells of numbers: in the format of training if it reads a column, or in the column's own format."""
        import polars as pl

        column = self.columns[group[0][0]]
        text = pl.Series([text for _, _, text in group], dtype=pl.String)
        text = strip_missing_numbers(strip_text(text, self._cell_format))
        has_other_format = (text.is_not_null() & read_numbers(text, *_number_formats(column)).is_null()).to_list()
        others = {j for (j, _, _), is_other in zip(group, has_other_format, strict=True) if is_other}
        trained = [cell for cell in group if cell[0] not in others]
        for cells in (trained, *([cell for cell in group if cell[0] == j] for j in sorted(others))):
            values = self._read_texts(self.columns[cells[0][0]], [text for _, _, text in cells]) if cells else []
            for (j, i, _), value in zip(cells, values, strict=True):
                table[j][i] = value

    def _read_texts(self, column: Column, texts: Sequence[str]) -> list[Any]:
        """Return the cells of texts of a column, as those of a table."""
        import polars as pl

        return self._read_series(column, pl.Series(column.name, texts, dtype=pl.String))

    def _read_series(self, column: Column, cells: "pl.Series") -> list[Any]:
        if column.kind in ("category", "text"):
            aligned = align_columns(cells.to_frame(), [column], _SOURCE, cell_format=self._cell_format)
            return list(aligned[column.name].to_list())
        # A table shows its decimal separator; rows have that of the column in training.
        cell_format = self._cell_format
        if column.kind == "number":
            cell_format = replace(cell_format, decimal=_number_formats(column)[0][-1])
        values, is_unreadable = to_values(cells, column, cell_format)
        return [
            _UNREADABLE if bad else value for value, bad in zip(values.to_list(), is_unreadable.to_list(), strict=True)
        ]

    def _convert(self, column: Column, value: Any, row: int) -> Any:
        """Return a cell that is not a text in Unicode."""
        import polars as pl

        is_text = column.kind in ("category", "text")
        value = value.item() if isinstance(value, np.generic) else value
        try:
            if type(value) is int and is_text:  # polars has no integers above 2^64
                return str(value)
            return self._read_series(column, pl.Series(column.name, [value]))[0]
        except DataError as error:
            raise DataError(error.reason, row=row) from None
        except Exception:  # polars raises errors of many types for values without a type of its own
            if type(value) in (int, str) and not is_text:
                return _UNREADABLE
            expected = "text" if is_text else KINDS[column.kind]
            raise DataError(
                f"column {column.name!r} must contain {expected}; got {_shorten(value)}.", row=row
            ) from None

    def encode(self, cells: list[Cells]) -> FeatureMatrix:
        """Return the features of the cells of each column, as `read` returns them."""
        if self._blocks is None:
            return self._transformer.transform(self._to_table(cells))
        blocks = [block(cells) for block in self._blocks]
        if self._transformer.sparse_output_:
            return sp.hstack(blocks).tocsr()
        return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])

    def _to_table(self, cells: list[Cells]) -> "pl.DataFrame":
        return to_frame([column.name for column in self.columns], cells)

    def _agrees(self) -> bool:
        """Return whether the blocks give the features of the transformer for rows of each kind of cell."""
        cells = self._probes()
        expected, encoded = self._transformer.transform(self._to_table(cells)), self.encode(cells)
        if sp.issparse(expected) != sp.issparse(encoded) or expected.shape != encoded.shape:
            return False
        return bool((expected != encoded).sum() == 0)

    def _probes(self) -> list[Cells]:
        """Return rows with known categories, an unseen one, numbers, dates, durations and words, and missing values.

        All categories occur, or `_MAX_PROBES` of them that include the first and the last. The numbers of all columns
        and rows differ. The values of the second row are missing, those of the last row with an unseen category too.
        """
        n_rows = 3 + min(_MAX_PROBES, max(map(len, self._known), default=0))
        words = {
            selected: list(fitted.vocabulary_)
            for _, fitted, selected in self._transformer.transformers_
            if isinstance(selected, int) and getattr(fitted, "vocabulary_", None)
        }
        cells: list[Cells] = []
        for j, column in enumerate(self.columns):
            if column.kind == "category":
                known = self._known[j] or [_UNSEEN]
                places = np.linspace(0, len(known) - 1, n_rows - 2).round().astype(int)
                values = [str(known[place]) for place in places]
                cells.append([values[0], "", *values[1:], _UNSEEN])
            elif column.kind == "text":
                present = words.get(j, ["word"])
                cells.append(["a 1 word", "", *(str(present[row % len(present)]) for row in range(n_rows - 2))])
            else:
                numbers = np.arange(n_rows, dtype=np.float64) * len(self.columns) + j
                # Dates are days since 1970-01-01: these are of 2019 and later, with a time of the day.
                numbers = numbers % 2.0 if column.kind == "yes/no" else 18_000.25 + 0.75 * numbers
                numbers[[1, -1]] = np.nan
                cells.append(numbers)
        return cells


def _read_number(value: Any, _: Collection[str]) -> Any:
    if value is None or type(value) not in (float, int, bool):
        return value if value is None else _UNUSUAL
    try:
        number = float(value)
    except OverflowError:
        return _UNUSUAL
    return _UNUSUAL if np.isinf(number) else number


def _read_yes_no(value: Any, _: Collection[str]) -> Any:
    return value if value is None or (type(value) in (float, int, bool) and value in (0, 1)) else _UNUSUAL


def _read_category(value: Any, known: Collection[str]) -> Any:
    return value if value is None or (type(value) is str and value in known) else _UNUSUAL


def _read_text(value: Any, _: Collection[str]) -> Any:
    # A short text may be a token of missing values.
    is_long = type(value) is str and len(value) > _MAX_TOKEN_LENGTH and _is_unicode(value)
    return value if value is None or is_long else _UNUSUAL


def _read_other(value: Any, _: Collection[str]) -> Any:
    return None if value is None else _UNUSUAL


_READERS: dict[str, Callable[[Any, Collection[str]], Any]] = {
    "number": _read_number,
    "yes/no": _read_yes_no,
    "category": _read_category,
    "text": _read_text,
}
"""Readers of cells by kind: the value, None if it is missing, or `_UNUSUAL` if it needs a conversion."""


def _number_formats(column: Column) -> tuple[NumberFormat, str]:
    """Return the format and the unit of the numbers of a column in training."""
    number_format, unit = (*column.formats, "", "")[:2]
    return (number_format if number_format in NUMBER_FORMATS else ".", unit)


def _is_unicode(text: str) -> bool:
    """Return whether a text has a form in UTF-8; half a surrogate pair, which JSON can contain, has none."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable_error(column: Column, value: Any, row: int) -> DataError:
    """Return the error for a cell that is not of the kind of its column."""
    is_number = type(value) in (int, float)
    expected = "finite numbers" if column.kind == "number" and is_number else KINDS[column.kind]
    return DataError(
        f"column {column.name!r} must contain {expected}; got {_shorten(value)}. Correct the cell, or use null for a "
        "missing value.",
        row=row,
    )


def _shorten(value: Any) -> str:
    """Return the representation of a value in ASCII, for messages."""
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a number of type {type(value).__name__}"
    return shorten(text)
