"""Rows as shown to annotators (table, text, image or audio), and the export of the labeled table."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.candidates.cells import separators_of
from oneof.errors import InputError, InputTypeError
from oneof.files import atomic_write
from oneof.io import find_column
from oneof.lazy import import_extra
from oneof.typing import Evidence, FeatureMatrix, Mask
from oneof.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from oneof.io import Table

SHOWS = ("table", "text", "image", "audio")
EXPORTS = (".csv", ".parquet")
_HASHED_ROWS = 10_000
_MAX_CELL = 20_000
"""Maximum number of characters of a table cell."""


@dataclass(frozen=True)
class LabelTable:
    """Rows to be labeled, as shown to annotators.

    Parameters
    ----------
    frame : polars.DataFrame
    label : str
        The label column. It is part of every export and not shown; the table may lack it.
    show : {"table", "text", "image", "audio"}, default="table"
    column : str, optional
        The column of texts or of names of image or audio files.
    hidden : tuple of str
        Columns that are not shown, such as true labels.
    separator : str, default="|"
        Text between the labels of a set in a CSV export.
    pinned : tuple of str
        Columns that are shown first, and remain visible while the others are scrolled.
    original : callable, optional
        Returns the table with its cells as in the file, as text. By default `frame` is exported.

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
    pinned: tuple[str, ...] = ()
    original: "Callable[[], Table] | None" = None

    def __post_init__(self) -> None:
        check_choice("show", self.show, SHOWS)
        if not hasattr(self.frame, "columns") or not hasattr(self.frame, "write_ndjson"):
            raise InputTypeError(f"`frame` must be a polars DataFrame; got {type(self.frame).__name__}.")
        for name in (self.label, *([] if self.column is None else [self.column])):
            if not isinstance(name, str):
                raise InputTypeError(f"column names must be text; got {name!r}.")
        for name, names in (("hidden", self.hidden), ("pinned", self.pinned)):
            if not isinstance(names, tuple | list) or not all(isinstance(column, str) for column in names):
                raise InputTypeError(f"`{name}` must be a tuple of column names; got {names!r}.")
        for column in self.pinned:
            find_column(column, self.frame.columns, Path("the table"))
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
        pl = import_extra("polars", "labeling")
        if isinstance(rows, np.ndarray):
            return cls(pl.DataFrame({f"x{j}": rows[:, j] for j in range(rows.shape[1])}), label)
        return cls(pl.DataFrame({"row": np.arange(rows.shape[0])}), label)

    def item(self, row: int) -> dict[str, Any]:
        """Return the content of a row as JSON types; the page fetches an image or audio file by its row index.

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
        pinned = [name for name in self.pinned if name in visible]
        shown = [*pinned, *(name for name in visible if name not in pinned)]
        item = {"kind": "table", "cells": [[name, _as_text(self.frame[name][row])] for name in shown]}
        return item | {"n_pinned": len(pinned)} if pinned else item

    def fingerprint(self) -> str:
        """Return a digest of the rows without their labels.

        Returns
        -------
        str
        """
        digest = hashlib.sha256()
        for part in self.frame.drop(self.label, strict=False).iter_slices(_HASHED_ROWS):
            digest.update(part.write_ndjson().encode())  # in parts, since it takes three times the memory of the table
        return digest.hexdigest()

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
            return self._with_text(candidates, self.frame)
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
            .csv, with sets as text such as "a|b" and empty cells for unlabeled rows, and with all other cells and the
            delimiter as in the file of the table, or .parquet, with lists. Weights
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
        check_export(path)
        if path.suffix.lower() == ".csv":
            frame, delimiter = self.as_in_file()
            write_frame(self._with_text(candidates, frame), path, delimiter)
        else:
            write_frame(self.with_labels(candidates), path)
        return path

    def as_in_file(self) -> "tuple[pl.DataFrame, str]":
        """Return the table with its cells as in its file, and the delimiter of CSV.

        A decimal comma would otherwise be written in some columns and not in others.

        Returns
        -------
        frame : polars.DataFrame
        delimiter : str
        """
        if self.original is None:
            return self.frame, ","
        original = self.original()
        return original.frame, (original.dialect and original.dialect.delimiter) or ","

    def _with_text(self, candidates: CandidateSets, frame: "pl.DataFrame") -> "pl.DataFrame":
        import polars as pl

        return frame.with_columns(pl.Series(self.label, candidates.to_strings(separator=self.separator)))


def check_export(path: Path, suffixes: "Sequence[str]" = EXPORTS) -> None:
    """Raise unless a table can be exported to this path."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"cannot write {path}: the file name must end in {' or '.join(suffixes)}.")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist.")


def write_frame(frame: "pl.DataFrame", path: Path, delimiter: str = ",") -> None:
    """Write a table atomically, as .csv with a delimiter, .jsonl or .parquet."""
    content = io.BytesIO()  # a full disk is then an OSError; polars raises an error of its own
    if path.suffix.lower() == ".parquet":
        frame.write_parquet(content)
    elif path.suffix.lower() == ".jsonl":
        frame.write_ndjson(content)
    else:
        if nested := [name for name in frame.columns if frame[name].dtype.is_nested()]:
            raise InputError(f"column {nested[0]!r} has lists, which CSV does not support: export to .parquet.")
        frame.write_csv(content, separator=delimiter)
    with atomic_write(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def _as_text(cell: Any) -> str:
    """Return a cell as text of limited length."""
    text = "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= _MAX_CELL else text[: _MAX_CELL - 1] + "…"


def is_changed(before: Evidence, after: Evidence) -> Mask:
    """Return for each row whether its candidate sets differ; the weights of the candidates are ignored."""
    changed: Mask = ((before > 0) != (after > 0)).any(axis=1)
    return changed


def export_changes(table: LabelTable, path: Path, candidates: CandidateSets, start: Evidence) -> Path:
    """Write the table with the labels of changed rows; all other cells are written as in the file of the table.

    Parameters
    ----------
    table : LabelTable
    path : Path
        .csv, with the delimiter of the file of the table if it is delimited text, or .parquet.
    candidates : CandidateSets
        The labels after the answers.
    start : ndarray of shape (n_samples, n_classes)
        Evidence of the labels of the table.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        If the path has another extension or no folder, or if CSV does not support a column.
    """
    check_export(path)
    rows = np.flatnonzero(is_changed(start, candidates.evidence))
    frame, delimiter = table.as_in_file() if path.suffix.lower() == ".csv" else (table.frame, ",")
    write_frame(change_labels(frame, table.label, candidates, rows.tolist(), table.separator), path, delimiter)
    return path


def change_labels(
    frame: "pl.DataFrame", label: str, candidates: CandidateSets, rows: "Sequence[int]", separator: str
) -> "pl.DataFrame":
    """Return a table with other labels in some rows; all other cells, and the type of the column if possible, are kept.

    Parameters
    ----------
    frame : polars.DataFrame
    label : str
        A table without this column gets it, as text.
    candidates : CandidateSets
        The new labels of all rows.
    rows : sequence of int
        The rows to be changed.
    separator : str
        Text between the labels of a set in a column of text.

    Returns
    -------
    polars.DataFrame
        A column of numbers becomes text if a changed row has several labels.
    """
    import polars as pl

    if label not in frame.columns:
        frame = frame.with_columns(pl.lit(None, dtype=pl.String).alias(label))
    if not len(rows):
        return frame
    cells, changed = frame[label], candidates[list(rows)]
    if isinstance(cells.dtype, pl.List) and not changed.is_weighted.any():
        new = pl.Series([changed.classes[line].tolist() for line in changed.mask]).cast(cells.dtype)
    else:
        texts = changed.to_strings(separator=separator)
        single = bool(changed.is_exact.all())
        dtype = cells.dtype if single and not cells.dtype.is_nested() else pl.String
        if cells.dtype.is_nested():  # lists cannot have weights
            written = separators_of(separator)[0]
            cells = pl.Series([None if cell is None else written.join(map(str, cell)) for cell in cells.to_list()])
        new, cells = pl.Series(texts, dtype=pl.String).cast(dtype), cells.cast(dtype)
    # Without `scatter`, which does not support lists.
    index = np.arange(frame.height)
    index[list(rows)] = frame.height + np.arange(len(rows))
    return frame.with_columns(pl.concat([cells, new.rename(label)]).gather(index).alias(label))
