"""NumPy archives in the form of the project's data sets, as tables.

Features are the columns x0, x1, ...; `y` (an index into `classes`, -1 unknown) and `candidates` (packed bits) become
columns of labels; raw text becomes the column `text`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.errors import DataError
from oneof.files import read_arrays, unpack_classes, unpack_masks, unpack_texts

if TYPE_CHECKING:
    import polars as pl

_PARTS = ("X", "X_shape", "y", "candidates", "classes", "text", "text_offsets")


def read(path: Path) -> tuple["pl.DataFrame", tuple[str, ...]]:
    """Return the table, and the names of its columns of labels."""
    try:
        parts = read_arrays(path, _PARTS.__contains__)
    except DataError as error:
        raise DataError(
            f"{path} is damaged, or no archive of plain NumPy arrays (pickles are never opened): {error}."
        ) from None
    try:
        return _as_table(parts)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _as_table(parts: dict[str, Any]) -> tuple["pl.DataFrame", tuple[str, ...]]:
    import polars as pl

    frame = _features(parts)
    labels: list[pl.Series] = []
    classes = unpack_classes(parts["classes"]).tolist() if "classes" in parts else None
    if "y" in parts:
        labels.append(pl.Series("y", _name(parts["y"], classes, frame.height)))
    if "candidates" in parts:
        if classes is None:
            raise DataError("candidates cannot be read without the array classes.")
        mask = unpack_masks(parts["candidates"], frame.height, len(classes))
        sets = [None if row.all() else [classes[k] for k in np.flatnonzero(row)] for row in mask]
        labels.append(pl.Series("candidates", sets))
    return frame.hstack(labels), tuple(column.name for column in labels)


def _features(parts: dict[str, Any]) -> "pl.DataFrame":
    import polars as pl

    if "text" in parts and "text_offsets" in parts:
        return pl.DataFrame({"text": unpack_texts(parts["text"], parts["text_offsets"])})
    if "X" not in parts and "X_shape" in parts:
        raise DataError("it holds a sparse matrix, which is no table: use oneof.datasets.load and Python for it.")
    if "X" not in parts or parts["X"].ndim != 2:
        raise DataError("it holds no array X of shape (rows, features).")
    X = parts["X"]
    if X.dtype.kind not in "biuf":
        raise DataError(f"X holds values of type {X.dtype}, expected numbers.")
    return pl.DataFrame({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


def _name(y: Any, classes: list[Any] | None, n_rows: int) -> list[Any]:
    if y.ndim < 1 or len(y) != n_rows:
        raise DataError(f"y has shape {y.shape}, but there are {n_rows} rows.")
    if classes is None:
        return list(y.tolist())
    if y.ndim != 1 or y.dtype.kind not in "iu" or (len(y) and not -1 <= y.min() <= y.max() < len(classes)):
        raise DataError(f"y should hold indices into the {len(classes)} classes, or -1.")
    return [classes[code] if code >= 0 else None for code in y.tolist()]
