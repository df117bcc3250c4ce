"""Rows as shown to annotators (table, text or image), and the export of the labeled table."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, InputTypeError, MissingExtraError
from oneof.files import atomic_write
from oneof.io import find_column
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice

if TYPE_CHECKING:
    import polars as pl

SHOWS = ("table", "text", "image")
EXPORTS = (".csv", ".parquet")
_MAX_CELL = 200
"""Maximum number of characters of a table cell."""
IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
}
"""Raster images only, since an SVG can contain scripts."""
_MAX_IMAGE_BYTES = 100 * 2**20
"""Maximum size of an image file."""
_THUMBNAIL_SIDE = 16


@dataclass(frozen=True)
class LabelTable:
    """Rows to be labeled, as shown to annotators.

    Parameters
    ----------
    frame : polars.DataFrame
    label : str
        The label column. It is part of every export and not shown; the table may lack it.
    show : {"table", "text", "image"}, default="table"
    column : str, optional
        The column of texts or of names of image files.
    hidden : tuple of str
        Columns that are not shown, such as true labels.
    separator : str, default="|"
        Text between the labels of a set in a CSV export.

    Raises
    ------
    InputError
        If `show` is unknown or needs a column that the table lacks.
    InputTypeError
        If `frame` is not a polars DataFrame, or a column name is not text.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.labeling import LabelTable
    >>> table = LabelTable.from_rows(np.array([[3.1, 0.2]]), "species")
    >>> table.item(0)
    {'kind': 'table', 'cells': [['x0', '3.1'], ['x1', '0.2']]}
    """

    frame: "pl.DataFrame"
    label: str
    show: str = "table"
    column: str | None = None
    hidden: tuple[str, ...] = ()
    separator: str = "|"

    def __post_init__(self) -> None:
        check_choice("show", self.show, SHOWS)
        if not hasattr(self.frame, "columns") or not hasattr(self.frame, "write_ndjson"):
            raise InputTypeError(f"`frame` must be a polars DataFrame; got {type(self.frame).__name__}.")
        for name in (self.label, *([] if self.column is None else [self.column])):
            if not isinstance(name, str):
                raise InputTypeError(f"column names must be text; got {name!r}.")
        if not isinstance(self.hidden, tuple | list) or not all(isinstance(name, str) for name in self.hidden):
            raise InputTypeError(f"`hidden` must be a tuple of column names; got {self.hidden!r}.")
        if self.show != "table" and self.column is None:
            raise InputError(f"`column` must name a column with show={self.show!r}; got None.")
        if self.column is not None:
            find_column(self.column, self.frame.columns, Path("the table"))

    @classmethod
    def from_rows(cls, rows: FeatureMatrix, label: str) -> "LabelTable":
        """Make a table of columns x0, x1, ... from dense features, or of row indices from sparse features.

        Parameters
        ----------
        rows : ndarray or CSR matrix of shape (n_samples, n_features)
        label : str

        Returns
        -------
        LabelTable
        """
        pl = _polars()
        if isinstance(rows, np.ndarray):
            return cls(pl.DataFrame({f"x{j}": rows[:, j] for j in range(rows.shape[1])}), label)
        return cls(pl.DataFrame({"row": np.arange(rows.shape[0])}), label)

    def item(self, row: int) -> dict[str, Any]:
        """Return the content of a row as JSON types; the page fetches an image by its row index.

        Parameters
        ----------
        row : int

        Returns
        -------
        dict
        """
        if self.column is not None:
            cell = self.frame[self.column][row]
            return {"kind": self.show, "text": "" if cell is None else str(cell)}
        visible = [name for name in self.frame.columns if name != self.label and name not in self.hidden]
        return {"kind": "table", "cells": [[name, _as_text(self.frame[name][row])] for name in visible]}

    def fingerprint(self) -> str:
        """Return a digest of the rows without their labels.

        Returns
        -------
        str
        """
        frame = self.frame.drop(self.label, strict=False)
        return hashlib.sha256(frame.write_ndjson().encode()).hexdigest()

    def with_labels(self, candidates: CandidateSets) -> "pl.DataFrame":
        """Return the table with the candidate sets as a column of lists, null for unlabeled rows.

        With weights it is a column of text such as "finch:1.0|wren:0.5", empty for unlabeled rows.

        Parameters
        ----------
        candidates : CandidateSets

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        if candidates.is_weighted.any():
            return self._with_text(candidates)
        unlabeled = candidates.is_unlabeled
        classes = candidates.classes
        sets = [None if unlabeled[i] else classes[row].tolist() for i, row in enumerate(candidates.mask)]
        inner = pl.Int64 if classes.dtype.kind in "iu" else pl.String
        return self.frame.with_columns(pl.Series(self.label, sets, dtype=pl.List(inner)))

    def export(self, path: Path, candidates: CandidateSets) -> Path:
        """Write the table with the candidate sets atomically, in the form that `oneof fit` reads.

        Parameters
        ----------
        path : Path
            .csv, with sets as text such as "a|b" and empty cells for unlabeled rows, or .parquet, with lists. Weights
            are written as text such as "a:1.0|b:0.5" in both, which `oneof fit --weighted` reads.
        candidates : CandidateSets

        Returns
        -------
        Path
            The path of the file.

        Raises
        ------
        InputError
            If the path has another extension or no folder, or if CSV does not support a column.
        """
        if path.suffix.lower() not in EXPORTS:
            raise InputError(f"cannot write {path}: the file name must end in {' or '.join(EXPORTS)}.")
        if not path.parent.is_dir():
            raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")
        with atomic_write(path) as temporary:
            if path.suffix.lower() == ".parquet":
                _write_parquet(self.with_labels(candidates), temporary)
            else:
                frame = self._with_text(candidates)
                nested = [name for name in frame.columns if frame[name].dtype.is_nested()]
                if nested:
                    raise InputError(f"column {nested[0]!r} has lists, which CSV does not support: export to .parquet.")
                frame.write_csv(temporary)
        return path

    def _with_text(self, candidates: CandidateSets) -> "pl.DataFrame":
        import polars as pl

        return self.frame.with_columns(pl.Series(self.label, candidates.to_strings(separator=self.separator)))


def _write_parquet(frame: "pl.DataFrame", path: Path) -> None:
    """Write through memory, so that a full disk is an OSError; polars raises an error of its own."""
    content = io.BytesIO()
    frame.write_parquet(content)
    path.write_bytes(content.getbuffer())


def row_items(frame: "pl.DataFrame", column: str) -> list[str]:
    """Return the values of a column of unique values."""
    items: list[str | None] = [None] * frame.height
    for value, row in row_index(frame, column).items():
        items[row] = value
    named = [item for item in items if item is not None]
    if len(named) < len(items):
        raise DataError(f"column {column!r} must name every row; row {items.index(None)} is empty.")
    return named


def row_index(frame: "pl.DataFrame", column: str) -> dict[str, int]:
    """Return the row of each value of a column of unique values."""
    index: dict[str, int] = {}
    for row, cell in enumerate(frame[find_column(column, frame.columns, Path("the table"))].to_list()):
        if cell is None:
            continue
        value = str(cell)
        if value in index:
            raise DataError(
                f"column {column!r} must have unique values; got {value!r} in rows {index[value]} and {row}."
            )
        index[value] = row
    return index


def _as_text(cell: Any) -> str:
    """Return a cell as text of limited length."""
    text = "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"


def _polars() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "labeling") from None
    return pl


class ImageFolder:
    """Folder of the images that may be shown.

    Parameters
    ----------
    root : path-like
        Image names are relative to this folder. The files must be inside it, even after following links.

    Raises
    ------
    DataError
        If it is not a folder.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DataError(f"the image folder {root} does not exist. Name a folder (--images).")
        self.root = root.resolve()

    def find(self, name: str) -> Path:
        """Return the path of an image.

        Raises
        ------
        InputError
            If the file is outside the folder, has an unsupported type, does not exist, or is too large.
        """
        try:
            path = (self.root / name).resolve()
            inside = path.is_relative_to(self.root) and path.is_file()
        except (OSError, ValueError):  # invalid file names
            inside = False
        if not inside:
            raise InputError(f"image {name!r} not found in the folder {self.root}.")
        if path.suffix.lower() not in IMAGE_TYPES:
            raise InputError(f"images must be {', '.join(IMAGE_TYPES)}; got {name!r}.")
        if path.stat().st_size > _MAX_IMAGE_BYTES:
            raise InputError(f"images must be at most {_MAX_IMAGE_BYTES // 2**20} MiB; {name!r} is larger.")
        return path

    def features(self, names: Sequence[str | None]) -> Floats:
        """Return the images as features: 16 by 16 pixels with three colors, in [0, 1].

        Parameters
        ----------
        names : sequence of str of length n

        Returns
        -------
        ndarray of shape (n, 768)

        Raises
        ------
        InputError
            If an image does not exist or cannot be read; the message has the row.
        MissingExtraError
            If Pillow is not installed.
        """
        try:
            from PIL import Image
        except ImportError:
            raise MissingExtraError("Pillow", "labeling") from None
        features = np.empty((len(names), 3 * _THUMBNAIL_SIDE**2))
        for row, name in enumerate(names):
            if name is None:
                raise InputError(f"row {row} has no image name. Name an image file, or remove the row.")
            path = self.find(name)
            try:
                with Image.open(path) as image:
                    small = image.convert("RGB").resize((_THUMBNAIL_SIDE, _THUMBNAIL_SIDE), Image.Resampling.BOX)
            except (OSError, ValueError, Image.DecompressionBombError) as error:
                raise InputError(f"row {row}: the image {name!r} cannot be read ({error}).") from None
            features[row] = np.asarray(small, dtype=np.float64).ravel() / 255
        return features
