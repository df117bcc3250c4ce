"""Encoding of a few rows given as mappings, without a table.

A transformer of tables takes about 0.2 ms per column, mostly to select and check the columns. This is negligible for a
table, but not for the row of a request. `RowEncoder` reads the arrays of the fitted transformer once, and returns the
same numbers from plain Python values.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from oneof.errors import DataError, InputTypeError
from oneof.io.features import Column, align_columns, format_names
from oneof.typing import FeatureMatrix, Floats

if TYPE_CHECKING:
    import polars as pl

Cells = Floats | list[str]
"""The cells of one column: numbers with NaN for missing values, or texts."""
Block = Callable[[list[Cells]], FeatureMatrix]

_SOURCE = Path("the rows")


class RowEncoder:
    """Encoder of rows given as mappings from the names of columns to cells.

    Parameters
    ----------
    columns : sequence of Column
        The features of the table.
    transformer : transformer
        The fitted transformer of the table, as `make_encoder` returns it. For any other transformer of tables, the rows
        become a table first.
    """

    def __init__(self, columns: Sequence[Column], transformer: Any) -> None:
        self.columns = list(columns)
        self._transformer = transformer
        self._blocks = _compile(transformer)
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
        return [_read_cells(column, [row[column.name] for row in rows]) for column in self.columns]

    def _encode(self, cells: list[Cells]) -> FeatureMatrix:
        if self._blocks is None:
            return self._transformer.transform(self._to_table(cells))
        blocks = [block(cells) for block in self._blocks]
        if self._transformer.sparse_output_:
            return sp.hstack(blocks).tocsr()
        return np.hstack([block.toarray() if sp.issparse(block) else block for block in blocks])

    def _to_table(self, cells: list[Cells]) -> "pl.DataFrame":
        import polars as pl

        return pl.DataFrame({column.name: cells_ for column, cells_ in zip(self.columns, cells, strict=True)})

    def _agrees(self) -> bool:
        """Return whether the blocks give the features of the transformer for a missing and a present value each."""
        values = {"number": 1.5, "yes/no": True}
        probes: list[dict[str, Any]] = [{column.name: values.get(column.kind, "a 1 word") for column in self.columns}]
        probes.append(dict.fromkeys(probes[0]))
        cells = self._read(probes)
        expected, encoded = self._transformer.transform(self._to_table(cells)), self._encode(cells)
        if sp.issparse(expected) != sp.issparse(encoded) or expected.shape != encoded.shape:
            return False
        return bool((expected != encoded).sum() == 0)


def _compile(transformer: Any) -> list[Block] | None:
    """Return a function for each part of a `ColumnTransformer`, or None if a part is unknown."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    if not isinstance(transformer, ColumnTransformer):
        return None
    blocks: list[Block] = []
    for name, fitted, selected in transformer.transformers_:
        if name == "remainder" and isinstance(fitted, str) and fitted == "drop":
            continue
        if name == "numbers":
            blocks.append(_numbers(fitted, selected))
        elif name == "booleans":
            blocks.append(_booleans(fitted, selected))
        elif isinstance(fitted, OneHotEncoder):
            blocks.append(_categories(fitted, selected))
        elif isinstance(selected, int) and hasattr(fitted, "vocabulary_"):
            blocks.append(_texts(fitted, selected))
        else:
            return None
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


def _read_cells(column: Column, values: list[Any]) -> Cells:
    """Return the cells of a column in the type of its kind; unusual cells are converted as those of a table."""
    if column.kind in ("number", "yes/no"):
        return np.array([_number(column, value, row) for row, value in enumerate(values)], dtype=np.float64)
    return [_text(column, value, row) for row, value in enumerate(values)]


def _number(column: Column, value: Any, row: int) -> float:
    if value is None:
        return np.nan
    if type(value) in (float, int, bool):
        try:
            number = float(value)
        except OverflowError:
            number = np.inf
        if not np.isinf(number):
            return number
        raise DataError(f"column {column.name!r} must contain finite numbers; got {_shorten(value)}.", row=row)
    return float(_convert(column, value, row))


def _text(column: Column, value: Any, row: int) -> str:
    if value is None:
        return ""
    return value if type(value) is str else str(_convert(column, value, row))


def _convert(column: Column, value: Any, row: int) -> Any:
    """Return a cell as `align_columns` converts the cell of a table."""
    import polars as pl

    try:
        cells = pl.Series(column.name, [value.item() if isinstance(value, np.generic) else value])
        return align_columns(cells.to_frame(), [column], _SOURCE)[column.name][0]
    except DataError as error:
        raise DataError(error.reason, row=row) from None
    except Exception:  # polars raises errors of many types for values without a type of its own
        expected = "numbers" if column.kind in ("number", "yes/no") else "text"
        raise DataError(f"column {column.name!r} must contain {expected}; got {_shorten(value)}.", row=row) from None


def _shorten(value: Any) -> str:
    """Return a value for messages."""
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a number of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."
