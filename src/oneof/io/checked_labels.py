"""Checked labels of some rows of a table, which replace the labels of these rows."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.candidates.columns import match_true_labels
from oneof.candidates.known_labels import use_known_labels
from oneof.candidates.readers.collections import separators_of
from oneof.errors import DataError, LabelError
from oneof.io.columns import find_column
from oneof.io.label_columns import list_labels
from oneof.io.table import Table
from oneof.typing import Mask
from oneof.wording import enumerate_items

if TYPE_CHECKING:
    import polars as pl

_MAX_LISTED = 3


class CheckedLabels(NamedTuple):
    """Candidate sets with the checked labels, the mask of their rows, and notes."""

    candidates: CandidateSets
    is_checked: Mask
    notes: tuple[str, ...]


def use_checked_labels(
    table: Table, column: str, candidates: CandidateSets, *, separator: str = "|", adds_classes: bool = True
) -> CheckedLabels:
    """Return candidate sets in which the rows with a checked label have this label alone.

    Parameters
    ----------
    table : Table
    column : str
        One label in a cell; empty cells are not checked.
    candidates : CandidateSets
        The labels of the table.
    separator : str, default="|"
        The text between two labels, which a cell of one label does not contain.
    adds_classes : bool, default=True
        Whether a checked label that is not a class is added to the classes; otherwise it is an error.

    Returns
    -------
    CheckedLabels

    Raises
    ------
    DataError
        If the column does not exist or has no label, or a cell is not one label; the error names the row.
    """
    cells = table.frame[find_column(column, table.frame.columns, table.path)]
    labels = _read_cells(cells, table, candidates, separators_of(separator) if adds_classes else None)
    if all(label is None for label in labels):
        raise DataError(f"column {column!r} of checked labels is empty. Remove --gold.", source=str(table.path))
    checked = use_known_labels(candidates, labels)
    n_checked = int(checked.is_known.sum())
    verb = "row has" if n_checked == 1 else "rows have"
    notes = [f"{n_checked:,} {verb} a checked label ({column}), used in place of the labels of the row."]
    if len(checked.outside):
        n_outside, row = len(checked.outside), int(checked.outside[0])
        subject = "1 checked label is" if n_outside == 1 else f"{n_outside:,} checked labels are"
        first = "in" if n_outside == 1 else "first in"
        notes.append(f"{subject} not among the labels of their row, {first} row {row}; the checked label is used.")
    if checked.new_classes:
        listed = enumerate_items([*map(repr, checked.new_classes)], _MAX_LISTED)
        verb = "are classes" if len(checked.new_classes) > 1 else "is a class"
        notes.append(f"{listed} {verb} of checked labels only.")
    return CheckedLabels(checked.candidates, checked.is_known, tuple(notes))


def _read_cells(
    cells: "pl.Series", table: Table, candidates: CandidateSets, separators: Sequence[str] | None
) -> list[Any]:
    """Return the label of each cell in the type of the classes, None if it is empty; no new ones without separators."""
    if cells.dtype.is_nested() or (cells.dtype.is_float() and not (cells.drop_nulls() % 1 == 0).all()):
        raise DataError(
            f"column {cells.name!r} of checked labels must have one label per row; got values of type {cells.dtype}.",
            source=str(table.path),
        )
    missing = {"", "nan", *(token.strip().lower() for token in table.cell_format.missing)}
    texts = [None if str(text).strip().lower() in missing else text for text in list_labels(cells, table.cell_format)]
    labels, error = match_true_labels(texts, candidates.classes)
    if error is None:
        return labels.tolist()
    if separators is None:
        raise _not_a_label(cells.name, table, error, "which is not a class. Correct it, or name all classes")
    numbers = candidates.classes.dtype.kind in "iu"
    for row, text in enumerate(texts):
        if text is None or labels[row] is not None or (numbers and str(text).strip() == "-1"):
            continue
        written = str(text).strip()
        if any(sign in written for sign in separators):
            raise _not_a_label(cells.name, table, LabelError("", row=row, label=text), "which is a set. Name one label")
        try:
            labels[row] = int(float(written)) if numbers else written
        except ValueError:
            cause = "while all labels are numbers. Correct it, or name all classes (--classes)"
            raise _not_a_label(cells.name, table, LabelError("", row=row, label=text), cause) from None
    return labels.tolist()


def _not_a_label(column: str, table: Table, error: LabelError, cause: str) -> DataError:
    return DataError(
        f"column {column!r} of checked labels contains {error.label!r}, {cause}." + error.reason,
        source=str(table.path),
        row=error.row,
    )
