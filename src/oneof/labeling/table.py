"""The rows that are labeled, as a table: what is shown of a row, and the file that the answers are exported to."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import DataError, InputError, InputTypeError, MissingExtraError
from oneof.files import atomic_write
from oneof.io import find_column
from oneof.typing import FeatureMatrix
from oneof.validation import check_choice

if TYPE_CHECKING:
    import polars as pl

SHOWS = ("table", "text", "image")
EXPORTS = (".csv", ".parquet")
_LONGEST_CELL = 200
"""Characters of a cell that are shown where the row is shown as a table, or beside another row."""


@dataclass(frozen=True)
class LabelTable:
    """The rows to be labeled.

    Parameters
    ----------
    frame : polars.DataFrame
    label : str
        The column of labels: exports hold it, whether or not the table does; it is not shown.
    show : {"table", "text", "image"}, default="table"
    column : str, optional
        Of texts, or of the names of image files.
    hidden : tuple of str
        Columns that are not shown, as the truth.
    separator : str, default="|"
        What stands between the labels of a set where it is exported as text.

    Raises
    ------
    InputError
        If `show` is not known or needs a column that is not there.
    InputTypeError
        If there is no polars DataFrame, or the name of a column is no text.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.labeling import LabelTable
    >>> table = LabelTable.of_rows(np.array([[3.1, 0.2]]), "species")
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
            raise InputTypeError(f"the table is a {type(self.frame).__name__}: give a polars DataFrame.")
        for name in (self.label, *([] if self.column is None else [self.column])):
            if not isinstance(name, str):
                raise InputTypeError(f"{name!r} is no name of a column: give text.")
        if not isinstance(self.hidden, tuple | list) or not all(isinstance(name, str) for name in self.hidden):
            raise InputTypeError(f"`hidden` must be a tuple of names of columns; got {self.hidden!r}.")
        if self.show != "table" and self.column is None:
            raise InputError(f"show={self.show!r} needs the name of a column.")
        if self.column is not None:
            find_column(self.column, self.frame.columns, Path("the table"))

    @classmethod
    def of_rows(cls, rows: FeatureMatrix, label: str) -> "LabelTable":
        """Return rows of numbers as a table of columns x0, x1, ...; of sparse rows only their numbers.

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
        """Return what is shown of a row, in the types of JSON; an image is fetched by the row's number.

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
        shown = [name for name in self.frame.columns if name != self.label and name not in self.hidden]
        return {"kind": "table", "cells": [[name, _as_text(self.frame[name][row])] for name in shown]}

    def fingerprint(self) -> str:
        """Return a digest of the rows without their labels.

        Returns
        -------
        str
        """
        kept = self.frame.drop(self.label, strict=False)
        return hashlib.sha256(kept.write_ndjson().encode()).hexdigest()

    def with_labels(self, candidates: CandidateSets) -> "pl.DataFrame":
        """Return the table with the candidate sets as a column of lists, null where nothing is known.

        Parameters
        ----------
        candidates : CandidateSets

        Returns
        -------
        polars.DataFrame
        """
        import polars as pl

        silent = candidates.is_unlabeled
        classes = candidates.classes
        sets = [None if silent[i] else classes[row].tolist() for i, row in enumerate(candidates.mask)]
        inner = pl.Int64 if classes.dtype.kind in "iu" else pl.String
        return self.frame.with_columns(pl.Series(self.label, sets, dtype=pl.List(inner)))

    def export(self, path: Path, candidates: CandidateSets) -> Path:
        """Write the table with the candidate sets, in the form that `oneof fit` reads; the file is replaced at once.

        Parameters
        ----------
        path : Path
            .csv, where a set is text such as "a|b" and empty where nothing is known, or .parquet, with lists.
        candidates : CandidateSets

        Returns
        -------
        Path
            What was written.

        Raises
        ------
        InputError
            If the path ends otherwise, its folder is not there, or CSV cannot hold a column.
        """
        if path.suffix.lower() not in EXPORTS:
            raise InputError(f"{path} cannot be written: give a file that ends in {' or '.join(EXPORTS)}.")
        if not path.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {path.parent}.")
        import polars as pl

        with atomic_write(path) as temporary:
            if path.suffix.lower() == ".parquet":
                _write_parquet(self.with_labels(candidates), temporary)
            else:
                written = pl.Series(self.label, candidates.to_strings(separator=self.separator))
                frame = self.frame.with_columns(written)
                nested = [name for name in frame.columns if frame[name].dtype.is_nested()]
                if nested:
                    raise InputError(f"column {nested[0]!r} holds lists, which CSV cannot: export to .parquet.")
                frame.write_csv(temporary)
        return path


def _write_parquet(frame: "pl.DataFrame", path: Path) -> None:
    """Write by way of memory: polars tells of a full disk by an error of its own, of damaged content."""
    content = io.BytesIO()
    frame.write_parquet(content)
    path.write_bytes(content.getbuffer())


def rows_by(frame: "pl.DataFrame", column: str) -> dict[str, int]:
    """Return the row of each value of a column that tells rows apart."""
    found: dict[str, int] = {}
    for row, cell in enumerate(frame[find_column(column, frame.columns, Path("the table"))].to_list()):
        if cell is None:
            continue
        value = str(cell)
        if value in found:
            raise DataError(
                f"column {column!r} holds {value!r} in rows {found[value]} and {row}: it tells no rows apart."
            )
        found[value] = row
    return found


def _as_text(cell: Any) -> str:
    text = "" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= _LONGEST_CELL else text[: _LONGEST_CELL - 1] + "…"


def _polars() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "web") from None
    return pl
