"""NumPy archives in the form of the project's data sets, as tables.

Features are the columns x0, x1, ...; `y` (an index into `classes`, -1 unknown) and `candidates` (packed bits) become
columns of labels; raw text becomes the column `text`.
"""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.archives import read_arrays
from oneof.errors import DataError

if TYPE_CHECKING:
    import polars as pl


def read(path: Path) -> tuple["pl.DataFrame", tuple[str, ...]]:
    """Return the table, and the names of its columns of labels."""
    import polars as pl

    try:
        parts = read_arrays(path, _PARTS.__contains__)
    except DataError as error:
        raise DataError(
            f"{path} is damaged, or no archive of plain NumPy arrays (pickles are never opened): {error}."
        ) from None
    frame = _features(path, parts)
    labels: list[pl.Series] = []
    classes = _classes(path, parts["classes"]) if "classes" in parts else None
    if "y" in parts:
        y = _one_a_row(path, "y", parts["y"], frame.height)
        labels.append(pl.Series("y", _name(path, y, classes)))
    if "candidates" in parts:
        labels.append(pl.Series("candidates", _sets(path, parts["candidates"], classes, frame.height)))
    return frame.hstack(labels), tuple(column.name for column in labels)


_PARTS = ("X", "X_shape", "y", "candidates", "classes", "text", "text_offsets")


def _features(path: Path, parts: dict[str, Any]) -> "pl.DataFrame":
    import polars as pl

    if "text" in parts and "text_offsets" in parts:
        return pl.DataFrame({"text": _texts(path, parts["text"], parts["text_offsets"])})
    if "X" not in parts and "X_shape" in parts:
        raise DataError(f"{path} holds a sparse matrix, which is no table: use oneof.datasets.load and Python for it.")
    if "X" not in parts or parts["X"].ndim != 2:
        raise DataError(f"{path} holds no array X of shape (rows, features).")
    X = parts["X"]
    if X.dtype.kind not in "biuf":
        raise DataError(f"{path}: X holds values of type {X.dtype}, expected numbers.")
    return pl.DataFrame({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])})


def _texts(path: Path, whole: Any, cuts: Any) -> list[str]:
    if whole.dtype != np.uint8 or whole.ndim != 1:
        raise DataError(f"{path}: text has shape {whole.shape} and type {whole.dtype}, expected the bytes of all rows.")
    sound = cuts.ndim == 1 and cuts.dtype.kind in "iu" and len(cuts) > 0
    ends = cuts.tolist() if sound else []
    if not sound or ends[0] != 0 or ends[-1] != len(whole) or any(a > b for a, b in itertools.pairwise(ends)):
        raise DataError(f"{path}: text_offsets does not cut the {len(whole)} bytes of text into rows.")
    content, texts = whole.tobytes(), []
    for row, (start, end) in enumerate(itertools.pairwise(ends)):
        try:
            texts.append(content[start:end].decode())
        except UnicodeDecodeError:
            raise DataError(f"{path}: the text of row {row} is not UTF-8: save it as UTF-8.") from None
    return texts


def _classes(path: Path, classes: Any) -> list[Any]:
    if classes.ndim != 1 or classes.dtype.kind not in "biufU":
        raise DataError(f"{path}: classes has shape {classes.shape} and type {classes.dtype}, expected names.")
    return list(classes.tolist())


def _one_a_row(path: Path, name: str, values: Any, n_rows: int) -> Any:
    if values.ndim < 1 or len(values) != n_rows:
        raise DataError(f"{path}: {name} has shape {values.shape}, but there are {n_rows} rows.")
    return values


def _name(path: Path, y: Any, classes: list[Any] | None) -> list[Any]:
    if classes is None:
        return list(y.tolist())
    if y.ndim != 1 or y.dtype.kind not in "iu" or (len(y) and not -1 <= y.min() <= y.max() < len(classes)):
        raise DataError(f"{path}: y should hold indices into the {len(classes)} classes, or -1.")
    return [classes[code] if code >= 0 else None for code in y.tolist()]


def _sets(path: Path, packed: Any, classes: list[Any] | None, n_rows: int) -> list[list[Any] | None]:
    if classes is None:
        raise DataError(f"{path}: candidates cannot be read without the array classes.")
    packed, n_classes = _one_a_row(path, "candidates", packed, n_rows), len(classes)
    if packed.dtype == np.uint8 and packed.ndim == 2 and packed.shape[1] == -(-n_classes // 8) != n_classes:
        mask = np.unpackbits(packed, axis=1, count=n_classes).astype(bool)
    elif packed.ndim == 2 and packed.shape[1] == n_classes:
        mask = packed.astype(bool)
    else:
        raise DataError(
            f"{path}: candidates has shape {packed.shape}; expected bits packed by np.packbits(mask, axis=1)."
        )
    return [None if row.all() else [classes[k] for k in np.flatnonzero(row)] for row in mask]
