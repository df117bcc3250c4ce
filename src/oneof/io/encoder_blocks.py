"""Parts of a fitted transformer of tables as functions of the cells of a few rows.

Each function has the arrays of the transformer, and returns the same numbers without its checks of tables.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from oneof.typing import FeatureMatrix, Floats

if TYPE_CHECKING:
    import polars as pl

Cells = Floats | list[str]
"""The cells of one column: numbers with NaN for missing values, or texts."""
Block = Callable[[list[Cells]], FeatureMatrix]


def compile_blocks(transformer: Any, names: Sequence[str]) -> list[Block] | None:
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
    return lambda cells: fitted.transform(to_frame(listed, [cells[index] for index in selected]))


def to_frame(names: Sequence[str], cells: Sequence[Cells]) -> "pl.DataFrame":
    """Return columns of cells as a table."""
    import polars as pl

    return pl.DataFrame(dict(zip(names, cells, strict=True)))
