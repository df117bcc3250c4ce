"""Checked labels of some rows of a table, which replace the labels of these rows."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from oneof.candidates import CandidateSets
from oneof.candidates.checked_labels import insert_checked_labels
from oneof.candidates.columns import label_to_text, match_checked_labels
from oneof.errors import DataError, LabelError
from oneof.io.label_columns import label_frame
from oneof.io.table import Table
from oneof.typing import Labels, Mask
from oneof.wording import enumerate_items

_MAX_LISTED = 3


class CheckedLabels(NamedTuple):
    """Candidate sets with the checked labels, the mask of their rows, and notes."""

    candidates: CandidateSets
    is_checked: Mask
    notes: tuple[str, ...]


def read_checked_labels(
    table: Table,
    column: str,
    classes: Labels,
    *,
    separator: str = "|",
    has_weights: bool = False,
    adds_classes: bool = False,
    remedy: str = "Correct it, or name all classes (--classes).",
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each row, None if it has none, and the sorted labels that are not classes.

    Parameters
    ----------
    table : Table
    column : str
        Cells as those of the labels of the table, but of one label each; empty cells are not checked.
    classes : ndarray of shape (n_classes,)
        The classes of the labels.
    separator, has_weights, adds_classes
        See `oneof.candidates.columns.match_checked_labels`.
    remedy : str
        The remedy for a label that is not a class.

    Raises
    ------
    DataError
        If the column does not exist or has no label.
    LabelError
        If a cell is not one label; the error names the row.
    """
    cells = label_frame(table, [column]).to_series()
    try:
        labels, new_classes = match_checked_labels(
            cells,
            classes,
            separator=separator,
            has_weights=has_weights,
            folds_case=table.cell_format.folds_labels,
            missing=[token.strip().lower() for token in table.cell_format.missing],
            adds_classes=adds_classes,
        )
    except LabelError as error:
        located = error.at(f"checked labels {cells.name!r} of {table.path}")
        raise (located.because(f"{error.reason} {remedy}") if error.cause == "unknown label" else located) from None
    if all(label is None for label in labels):
        raise DataError(f"column {column!r} of checked labels is empty. Remove --gold.", source=str(table.path))
    return labels, new_classes


def use_checked_labels(
    table: Table,
    column: str,
    candidates: CandidateSets,
    read_again: Callable[[Sequence[str]], CandidateSets] | None = None,
    *,
    separator: str = "|",
    has_weights: bool = False,
    remedy: str = "Correct it, or name all classes (--classes).",
) -> CheckedLabels:
    """Return candidate sets in which the rows with a checked label have this label alone.

    Parameters
    ----------
    table : Table
    column : str
        The column of the checked labels; see `read_checked_labels`.
    candidates : CandidateSets
        The labels of the table.
    read_again : callable, optional
        ``read_again(classes)`` returns the labels of the table with these names of classes. It is called if a checked
        label is not a class, since a row of all labels that occur is then no longer unlabeled. Without it, such a
        label is an error.
    separator, has_weights, remedy
        See `read_checked_labels`.

    Returns
    -------
    CheckedLabels

    Raises
    ------
    DataError
        If the column does not exist or has no label.
    LabelError
        If a cell is not one label; the error names the row.
    """
    labels, new_classes = read_checked_labels(
        table,
        column,
        candidates.classes,
        separator=separator,
        has_weights=has_weights,
        adds_classes=read_again is not None,
        remedy=remedy,
    )
    if new_classes and read_again is not None:
        names = sorted([*candidates.classes.tolist(), *new_classes])
        candidates = read_again([label if isinstance(label, str) else label_to_text(label) for label in names])
    checked = insert_checked_labels(candidates, labels)
    n_checked = int(checked.is_checked.sum())
    verb = "row has" if n_checked == 1 else "rows have"
    notes = [f"{n_checked:,} {verb} a checked label ({column}), used in place of the labels of the row."]
    if len(checked.outside):
        n_outside, row = len(checked.outside), int(checked.outside[0])
        subject = "1 checked label is" if n_outside == 1 else f"{n_outside:,} checked labels are"
        first = "in" if n_outside == 1 else "first in"
        notes.append(f"{subject} not among the labels of their row, {first} row {row}; the checked label is used.")
    if new_classes:
        listed = enumerate_items([*map(repr, new_classes)], _MAX_LISTED)
        verb = "are classes" if len(new_classes) > 1 else "is a class"
        notes.append(f"{listed} {verb} of checked labels only.")
    return CheckedLabels(checked.candidates, checked.is_checked, tuple(notes))
