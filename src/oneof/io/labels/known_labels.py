"""Known labels of some rows of a table: true labels, for evaluation only, and checked ones, which replace sets."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oneof.candidates.cells import DEFAULT_SEPARATOR, literal_kind, raise_together
from oneof.candidates.columns import match_checked_labels, match_true_labels
from oneof.candidates.labels import PLACEHOLDERS, fold_case, parse_whole_number
from oneof.candidates.separators import joining_sign
from oneof.candidates.sets import CheckedCandidates
from oneof.errors import DataError, LabelError
from oneof.io.labels.label_columns import label_column
from oneof.io.table import Table
from oneof.messages import enumerate_items
from oneof.typing import Labels

_MAX_LISTED = 3
_REMEDY = "Correct it, or name all classes (--classes)."


def read_truth(
    table: Table, column: str, classes: Labels, *, separator: str = DEFAULT_SEPARATOR, allows_new: bool = False
) -> Labels:
    """Return a column of true labels, which are used for evaluation only.

    Parameters
    ----------
    table : Table
    column : str
    classes : ndarray of shape (n_classes,)
        The classes of the candidate sets.
    separator : str, default="|"
        The text between two labels in the column of labels: a cell is read as one of them, which has one label.
    allows_new : bool, default=False
        Whether the column may have new labels, at most as many as labels that are classes; see `check_new_labels`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Members of `classes`; None if the true label is missing; a new label as its text, or as a number if it and the
        classes are numbers.

    Raises
    ------
    DataError
        If the column does not exist, has no label, or has a label that is not a class; the error names the row.
    """
    cells, source = label_column(table, column), str(table.path)
    form = table.cell_format
    truth, unknown = match_true_labels(
        cells.to_list(), classes, separator=separator, folds_case=form.folds_labels, missing=form.missing
    )
    is_known = np.array([label is not None for label in truth])
    try:
        check_new_labels(unknown, classes.tolist(), n_known=int(is_known.sum()), allows_new=allows_new)
    except LabelError as error:
        raise DataError(
            f"the truth column {column!r} contains {error.label!r}, which is not a class of the "
            f"{'model' if allows_new else 'candidate sets'}. {error.reason}",
            source=source,
            row=error.row,
        ) from None
    for row, text in unknown.items():
        number = parse_whole_number(text) if classes.dtype.kind in "iu" else None
        truth[row] = text if number is None else number
    if not is_known.any():
        raise DataError(f"the truth column {column!r} has no labels.", source=source)
    return np.asarray(truth.tolist(), dtype=classes.dtype) if is_known.all() else truth


def check_new_labels(
    unknown: Mapping[int, str], classes: Sequence[Any], *, n_known: int | None = None, allows_new: bool = True
) -> None:
    """Raise if a true label that is not a class is probably an error.

    Any is without `allows_new`. Otherwise it is an error if it is a class in another case, several ones, or "n/a"; or
    if most labels of the table are new, and all are or more different ones than classes: another column.

    Parameters
    ----------
    unknown : dict of int to str
        The labels that are not a class by row.
    classes : sequence
    n_known : int, optional
        The number of labels that are classes; None if it is not known yet.
    allows_new : bool

    Raises
    ------
    LabelError
        With the row, the label and the remedy; it lists the other rows.
    """
    names = {str(label) for label in classes}
    folded = {fold_case(name) for name in names}
    is_most = n_known is not None and len(unknown) > n_known
    is_other_column = is_most and (n_known == 0 or len(set(unknown.values())) > len(names))

    def remedy(text: str) -> str:
        if fold_case(text) in folded:
            return "It is a class in another spelling: write it alike, or fit with --fold-case."
        if not allows_new:
            return "If it is a class, name all classes (--classes)."
        if text.lower() in PLACEHOLDERS:
            return f"If it is a token of missing values, add --missing={text}."
        if joining_sign(text, names) is not None or literal_kind(text) == "list":
            return "It has several classes: name one."
        return "Most labels of the column are new: name the column of true labels." * is_other_column

    empty = "If the true label is unknown, leave the cell empty."
    raise_together(
        {
            row: LabelError(f"{reason} {empty}", row=row, label=text, cause="unknown label")
            for row, text in unknown.items()
            if (reason := remedy(text))
        }
    )


def new_label_note(counts: Mapping[Any, int], n_true: int) -> str:
    """Return a note on the true labels of a new table that are not classes, with their numbers."""
    listed, n_new = enumerate_items([*map(repr, counts)], _MAX_LISTED), sum(counts.values())
    are = "is not a class" if n_new == 1 else "are not classes"
    return (
        f"{n_new:,} of {n_true:,} true labels {are} of the model ({listed}); the prediction of such a row counts as "
        "wrong."
    )


def read_checked_labels(
    table: Table, column: str, classes: Labels, *, remedy: str = _REMEDY, **options: Any
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each row, None if it has none, and the sorted labels that are not classes.

    Parameters
    ----------
    table : Table
    column : str
        Cells as those of the labels of the table, but of one label each; empty cells are not checked.
    classes : ndarray of shape (n_classes,)
        The classes of the labels.
    remedy : str
        The remedy for a label that is not a class.
    **options
        `separator`, `has_weights` and `adds_classes` of `oneof.candidates.columns.match_checked_labels`.

    Raises
    ------
    DataError
        If the column does not exist or has no label.
    LabelError
        If a cell is not one label; the error names the row.
    """
    cells = label_column(table, column)
    try:
        form = table.cell_format
        labels, new_classes = match_checked_labels(
            cells, classes, folds_case=form.folds_labels, missing=form.missing, **options
        )
    except LabelError as error:
        located = error.at(f"checked labels {cells.name!r} of {table.path}")
        raise (located.because(f"{error.reason} {remedy}") if error.cause == "unknown label" else located) from None
    if all(label is None for label in labels):
        raise DataError(f"column {column!r} of checked labels is empty. Remove --gold.", source=str(table.path))
    return labels, new_classes


def describe_checked_labels(column: str, checked: CheckedCandidates, new_classes: Sequence[Any]) -> list[str]:
    """Return notes on the number of checked labels, on those outside of their sets, and on their further classes."""
    n_checked, n_outside = int(checked.is_checked.sum()), len(checked.outside)
    verb = "row has" if n_checked == 1 else "rows have"
    notes = [f"{n_checked:,} {verb} a checked label ({column}), used in place of the labels of the row."]
    if n_outside:
        subject = "1 checked label is" if n_outside == 1 else f"{n_outside:,} checked labels are"
        row = int(checked.outside[0])
        notes.append(f"{subject} not among the labels of their row, first in row {row}; the checked label is used.")
    if new_classes:
        verb = "are classes" if len(new_classes) > 1 else "is a class"
        notes.append(f"{enumerate_items([*map(repr, new_classes)], _MAX_LISTED)} {verb} of checked labels only.")
    return notes
