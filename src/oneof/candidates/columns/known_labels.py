"""Columns of true and of checked labels: one class in a cell, read as the cells of the label column."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates.columns.cells import (
    contains_nested_lists,
    parse_whole_number,
    texts_or_lists,
)
from oneof.candidates.columns.wrapped import unwrap_cells
from oneof.candidates.labels import (
    PLACEHOLDERS,
    fold_case,
    label_to_text,
    sort_labels,
    unknown_label,
)
from oneof.candidates.readers.collections import split_text
from oneof.candidates.readers.literals import LISTS, read_list, unwrap
from oneof.candidates.readers.pairs import read_pairs_text
from oneof.candidates.readers.unreadable import raise_together
from oneof.candidates.spellings import Spellings
from oneof.errors import LabelError
from oneof.typing import Labels

if TYPE_CHECKING:
    import polars as pl


def match_true_labels(
    cells: Iterable[Any], classes: Labels, *, folds_case: bool = False
) -> tuple[Labels, dict[int, str]]:
    """Return the class of each cell, None for a missing label, and by row the texts of cells that are not a class."""
    fold = fold_case if folds_case else str
    by_text = {fold(_as_written(label)): label for label in classes.tolist()}
    values = list(cells)
    truth = np.full(len(values), None, dtype=object)
    unknown: dict[int, str] = {}
    has_numbers = classes.dtype.kind in "iuf"
    for row, value in enumerate(values):
        cell = _without_key(row, value)
        text = "" if cell is None else fold(_as_written(cell))
        if has_numbers and text not in by_text and (number := parse_whole_number(text)) is not None:
            text = str(number)
        if text in by_text:
            truth[row] = by_text[text]
        elif text not in ("", "nan"):
            unknown[row] = _as_written(cell)
    return truth, unknown


def _without_key(row: int, cell: Any) -> Any:
    """Return the one label of the text of an object such as '{"label": "finch"}'; other cells are unchanged."""
    if not isinstance(cell, str) or "{" not in cell or unwrap(cell) == cell:
        return cell
    try:
        labels = read_list(row, cell) or [""]
    except LabelError:
        return cell
    return labels[0] if len(labels) == 1 else cell


def match_checked_labels(
    cells: "pl.Series",
    classes: Labels,
    *,
    separator: str = "|",
    has_weights: bool = False,
    folds_case: bool = False,
    missing: Sequence[str] = (),
    adds_classes: bool = False,
) -> tuple[list[Any], list[Any]]:
    """Return the checked label of each cell, None if it has none, and the sorted labels that are not classes.

    A cell is the name of a class, or is read as a cell of the label column, of which it must have one label.

    Parameters
    ----------
    cells : polars.Series
    classes : ndarray of shape (n_classes,)
        The classes of the label column. New labels are of their type, and -1 is missing unless it is one of them.
    separator, folds_case, missing
        Those of the label column; see `read_label_columns`.
    has_weights : bool, default=False
        Whether a cell of the label column may have weights; that of a single label has no effect.
    adds_classes : bool, default=False
        Whether a label that is not a class is a new class rather than an error.

    Raises
    ------
    LabelError
        If the column or a cell cannot be read, or a cell has several labels or an unknown one; the error names the
        first row, and lists further ones.
    """
    cells = unwrap_cells(cells, separator)
    values = texts_or_lists(cells)
    if contains_nested_lists(cells):
        raise LabelError(f"a checked label must be one label; column {cells.name!r} has lists within lists.")
    fold = fold_case if folds_case else str
    by_text = {fold(_as_written(label)): label for label in classes.tolist()}
    labels: list[Any] = []
    read: dict[Any, Any] = {}
    written: dict[Any, list[str]] = {}
    errors: dict[Any, LabelError] = {}
    wrong: dict[int, LabelError] = {}
    for row, value in enumerate(values if isinstance(values, list) else values.to_list()):
        cell = value if value is None or isinstance(value, str) else tuple(value)
        if cell not in read and cell not in errors:
            try:
                text, written[cell] = _single_text(
                    row, cell, by_text, separator, missing, has_weights=has_weights, folds=folds_case
                )
                read[cell] = None if text is None else _match(row, text, by_text, classes, adds_classes=adds_classes)
            except LabelError as error:
                errors[cell] = error
        if cell in errors:
            wrong[row] = errors[cell].at(first_row=row - (errors[cell].row or 0))
        labels.append(cell)
    raise_together(wrong)
    known = set(classes.tolist())
    matched = [read[cell] for cell in labels]
    if folds_case:
        matched = _name_new_classes(matched, [written[cell] for cell in labels], known)
    return matched, sort_labels({label for label in matched if label is not None and label not in known})


def _name_new_classes(matched: list[Any], written: list[list[str]], known: set[Any]) -> list[Any]:
    """Return labels in which those that are not a class have their most frequent spelling in the cells."""
    spellings = Spellings(known)
    for label, members in zip(matched, written, strict=True):
        if label is not None and label not in known:
            for member in members:
                spellings.add(member)
    return [label if label in known else spellings.name(label) for label in matched]


def _single_text(
    row: int,
    cell: str | tuple[Any, ...] | None,
    by_text: Mapping[str, Any],
    separator: str,
    missing: Sequence[str],
    *,
    has_weights: bool,
    folds: bool,
) -> tuple[str | None, list[str]]:
    """Return the one label of a cell as text, None if it has none, and the label as the cell has it, maybe twice."""
    if cell is None:
        return None, []
    members: Sequence[Any]
    if isinstance(cell, tuple):
        members = [label_to_text(member) for member in cell if member is not None]
    elif (fold_case(cell) if folds else cell.strip()) in by_text:
        members = [cell]
    elif has_weights:
        members = [label for label, _ in read_pairs_text(row, cell, separator)[0] or ()]
    else:
        members = (
            read_list(row, cell) if separator == LISTS or unwrap(cell) != cell else split_text(row, cell, separator)[0]
        ) or ()
    texts = [fold_case(member) if folds else member.strip() for member in members]
    kept = dict.fromkeys(text for text in texts if text.lower() not in {"", "nan", *missing} or text in by_text)
    if len(kept) > 1:
        shown = cell if isinstance(cell, str) else [*cell]
        raise LabelError(
            f"{shown!r} has several labels. Give the one that was checked, or leave the cell empty.",
            row=row,
            label=shown,
        )
    label = next(iter(kept), None)
    return label, [member.strip() for member, text in zip(members, texts, strict=True) if text == label]


def _match(row: int, text: str, by_text: Mapping[str, Any], classes: Labels, *, adds_classes: bool) -> Any:
    """Return the class of a text, or its label in the type of the classes; None for -1 among other numbers."""
    if text in by_text:
        return by_text[text]
    has_numbers = classes.dtype.kind in "iuf"
    number = parse_whole_number(text) if has_numbers else None
    if number is not None and str(number) in by_text:
        return by_text[str(number)]
    if number == -1:
        return None
    if adds_classes and has_numbers and number is None:
        raise LabelError(
            f"{text!r} is not a whole number, and all labels are. Correct it, or name all classes (--classes).",
            row=row,
            label=text,
        )
    if adds_classes and text.lower() in PLACEHOLDERS:
        raise LabelError(
            f"{text!r} is not a class. Leave the cells of rows without a checked label empty, or add --missing {text}.",
            row=row,
            label=text,
        )
    if adds_classes and (has_numbers or all(isinstance(label, str) for label in classes.tolist())):
        return number if has_numbers else text
    raise unknown_label(row, text, classes)


def _as_written(label: Any) -> str:
    """Return a label as text, so that the numbers 3 and 3.0 and the text "3" are equal."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label).strip()
