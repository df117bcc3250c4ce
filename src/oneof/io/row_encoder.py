"""Encoding of a few rows given as mappings, without a table.

A transformer of tables takes about 0.2 ms per column, mostly to select and check the columns. This is negligible for a
table, but not for the row of a request. `RowEncoder` reads the arrays of the fitted transformer once, and returns the
same numbers from plain Python values.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import DataError, InputTypeError
from oneof.io.columns import Column, align_columns
from oneof.io.formats.names import format_names
from oneof.typing import FeatureMatrix, Floats

if TYPE_CHECKING:
    import polars as pl

Cells = Floats | list[str]
"""The cells of one column: numbers with NaN for missing values, or texts."""
Block = Callable[[list[Cells]], FeatureMatrix]

Align = Callable[["pl.DataFrame", Sequence[Column]], "pl.DataFrame"]

_SOURCE = Path("the rows")
_UNUSUAL = object()
_MAX_TOKEN = 40
"""Length up to which a text may be a token of missing values."""


class RowEncoder:
    """Encoder of rows given as mappings from the names of columns to cells.

    Parameters
    ----------
    columns : sequence of Column
        The features of the table.
    transformer : transformer
        The fitted transformer of the table, as `make_encoder` returns it. For any other transformer of tables, or an
        unknown part of it, the rows become a table first.
    align : callable, optional
        ``align(frame, columns)`` returns the cells of a table as the transformer expects them; by default
        `align_columns`. It reads cells whose type is not that of their kind, such as numbers in text.
    """

    def __init__(self, columns: Sequence[Column], transformer: Any, align: Align | None = None) -> None:
        self.columns = list(columns)
        self._transformer = transformer
        self._align = align or (lambda frame, columns: align_columns(frame, columns, _SOURCE))
        self._blocks = _compile(transformer, [column.name for column in columns])
        self._known: list[Collection[str]] = [()] * len(self.columns)
        """Texts of each column that are the values of a category."""
        for _, fitted, selected in getattr(transformer, "transformers_", ()):
            for index, values in zip(_as_list(selected), getattr(fitted, "categories_", ()), strict=False):
                self._known[index] = frozenset(values)
        if self._blocks is not None and not self._agrees():
            self._blocks = None

    def transform(self, rows: Sequence[Mapping[str, Any]]) -> FeatureMatrix:
        """Return the features of rows, as the transformer returns them for a table of these rows.

        Parameters
        ----------
        rows : sequence of mappings
            Each has a cell for every column: a number, a boolean, a text, or None if it is missing. Other keys are
            ignored.

        Raises
        ------
        DataError
            If a column is missing, or a cell cannot be read; the error names the row and the column.
        InputTypeError
            If a row is not a mapping.
        """
        return self._encode(self._read(rows))

    def _read(self, rows: Sequence[Mapping[str, Any]]) -> list[Cells]:
        """Return the cells of each column, in the types of `align_columns`."""
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InputTypeError(f"row {i} must be an object with a value for each column; got {_shorten(row)}.")
            missing = [column.name for column in self.columns if column.name not in row]
            if missing:
                raise DataError(
                    f"missing column{'s' * (len(missing) > 1)} {format_names(missing)}. Use null for a missing value.",
                    row=i,
                )
        return [
            self._read_cells(column, [row[column.name] for row in rows], known)
            for column, known in zip(self.columns, self._known, strict=True)
        ]

    def _read_cells(self, column: Column, values: list[Any], known: Collection[str]) -> Cells:
        """Return the cells of a column; cells that do not show their value are converted as those of a table."""
        read = _READERS.get(column.kind, _read_other)
        cells = [read(value, known) for value in values]
        unusual = [row for row, cell in enumerate(cells) if cell is _UNUSUAL]
        texts = [row for row in unusual if type(values[row]) is str]
        for row, cell in zip(texts, self._convert_texts(column, [values[row] for row in texts]), strict=True):
            cells[row] = cell
        for row in unusual:
            if cells[row] is _UNUSUAL:
                cells[row] = self._convert(column, values[row], row)
        if column.kind in ("category", "text"):
            return ["" if cell is None else str(cell) for cell in cells]
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)

    def _convert_texts(self, column: Column, values: list[str]) -> Sequence[Any]:
        """Return the cells of texts; all are `_UNUSUAL` if one of them is an error."""
        import polars as pl

        if len(values) < 2:
            return [_UNUSUAL] * len(values)
        try:
            frame = self._align(pl.DataFrame({column.name: values}, schema={column.name: pl.String}), [column])
            return list(frame[column.name].to_list())
        except Exception:  # the cells are converted one by one, and the error names the row
            return [_UNUSUAL] * len(values)

    def _convert(self, column: Column, value: Any, row: int) -> Any:
        """Return a cell as `align` converts the cell of a table."""
        import polars as pl

        try:
            cells = pl.Series(column.name, [value.item() if isinstance(value, np.generic) else value])
            return self._align(cells.to_frame(), [column])[column.name][0]
        except DataError as error:
            raise DataError(error.reason, row=row) from None
        except Exception:  # polars raises errors of many types for values without a type of its own
            expected = "text" if column.kind in ("category", "text") else "numbers"
            expected = "finite numbers" if expected == "numbers" and type(value) is int else expected
            raise DataError(
                f"column {column.name!r} must contain {expected}; got {_shorten(value)}.", row=row
            ) from None

    def _encode(self, cells: list[Cells]) -> FeatureMatrix:
        if self._blocks is None:
            return self._transformer.transform(self._to_table(cells))
        blocks = [block(cells) for block in self._blocks]
        if self._transformer.sparse_output_:
            return sp.hstack(blocks).tocsr()
        return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])

    def _to_table(self, cells: list[Cells]) -> "pl.DataFrame":
        return _to_frame([column.name for column in self.columns], cells)

    def _agrees(self) -> bool:
        """Return whether the blocks give the features of the transformer for a missing and a present value each."""
        values = {"number": 1.5, "yes/no": True, "category": "a", "text": "a 1 word"}
        probes: list[dict[str, Any]] = [{column.name: values.get(column.kind) for column in self.columns}]
        probes.append(dict.fromkeys(probes[0]))
        cells = self._read(probes)
        expected, encoded = self._transformer.transform(self._to_table(cells)), self._encode(cells)
        if sp.issparse(expected) != sp.issparse(encoded) or expected.shape != encoded.shape:
            return False
        return bool((expected != encoded).sum() == 0)


def _compile(transformer: Any, names: Sequence[str]) -> list[Block] | None:
    """Return a function for each part of a `ColumnTransformer`, or None for another transformer."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    if not isinstance(transformer, ColumnTransformer):
        return None
    blocks: list[Block] = []
    for name, fitted, selected in transformer.transformers_:
        if isinstance(fitted, str):
            if fitted != "drop":
                return None
        elif name == "numbers":
            blocks.append(_numbers(fitted, selected))
        elif name == "booleans":
            blocks.append(_booleans(fitted, selected))
        elif isinstance(fitted, OneHotEncoder):
            blocks.append(_categories(fitted, selected))
        elif isinstance(selected, int):
            blocks.append(_texts(fitted, selected))
        else:
            blocks.append(_table(fitted, selected, names))
    return blocks


def _numbers(fitted: Any, selected: Sequence[int]) -> Block:
    """Impute by the medians, append the indicators of missing values, and standardize."""
    imputer, scaler = (step for _, step in fitted.steps)
    medians, reported = imputer.statistics_, imputer.indicator_.features_
    mean, scale = scaler.mean_, scaler.scale_

    def encode(cells: list[Cells]) -> Floats:
        values = np.column_stack([cells[index] for index in selected])
        missing = np.isnan(values)
        filled = np.hstack([np.where(missing, medians, values), missing[:, reported].astype(np.float64)])
        return (filled - mean) / scale

    return encode


def _booleans(fitted: Any, selected: Sequence[int]) -> Block:
    def encode(cells: list[Cells]) -> Floats:
        values = np.column_stack([cells[index] for index in selected])
        return np.where(np.isnan(values), fitted.statistics_, values)

    return encode


def _categories(fitted: Any, selected: Sequence[int]) -> Block:
    """Return one feature per value; an unseen value has none."""
    codes = [{value: code for code, value in enumerate(values)} for values in fitted.categories_]
    starts = np.cumsum([0, *map(len, codes)]).tolist()

    def encode(cells: list[Cells]) -> FeatureMatrix:
        n_rows = len(cells[selected[0]])
        entries = [
            (row, start + code_of[cell])
            for index, code_of, start in zip(selected, codes, starts, strict=False)
            for row, cell in enumerate(cells[index])
            if cell in code_of
        ]
        places = ([row for row, _ in entries], [feature for _, feature in entries])
        return sp.csr_matrix((np.ones(len(entries)), places), shape=(n_rows, starts[-1]))

    return encode


def _texts(fitted: Any, selected: int) -> Block:
    return lambda cells: fitted.transform(cells[selected])


def _table(fitted: Any, selected: Sequence[int], names: Sequence[str]) -> Block:
    """Transform a table of the columns of a part."""
    listed = [names[index] for index in selected]
    return lambda cells: fitted.transform(_to_frame(listed, [cells[index] for index in selected]))


def _to_frame(names: Sequence[str], cells: Sequence[Cells]) -> "pl.DataFrame":
    import polars as pl

    return pl.DataFrame(dict(zip(names, cells, strict=True)))


def _as_list(selected: Any) -> list[int]:
    return [selected] if isinstance(selected, int) else list(selected) if isinstance(selected, list) else []


def _read_number(value: Any, _: Collection[str]) -> Any:
    if value is None or type(value) not in (float, int, bool):
        return value if value is None else _UNUSUAL
    try:
        number = float(value)
    except OverflowError:
        return _UNUSUAL
    return _UNUSUAL if np.isinf(number) else number


def _read_category(value: Any, known: Collection[str]) -> Any:
    return value if value is None or (type(value) is str and value in known) else _UNUSUAL


def _read_text(value: Any, _: Collection[str]) -> Any:
    # A short text may be a token of missing values.
    return value if value is None or (type(value) is str and len(value) > _MAX_TOKEN) else _UNUSUAL


def _read_other(value: Any, _: Collection[str]) -> Any:
    return None if value is None else _UNUSUAL


_READERS: dict[str, Callable[[Any, Collection[str]], Any]] = {
    "number": _read_number,
    "yes/no": _read_number,
    "category": _read_category,
    "text": _read_text,
}
"""Readers of cells by kind: the value, None if it is missing, or `_UNUSUAL` if it needs a conversion."""


def _shorten(value: Any) -> str:
    """Return a value for messages."""
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a number of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
