"""Rows whose labels cannot be read and that are unlabeled: their count, and the note about them."""

from collections.abc import Mapping
from typing import Any

from oneof.io.notes.findings import MAX_CELLS, UnreadableCells
from oneof.messages import enumerate_items, shorten

_MAX_LISTED = 5
"""Number of rows of a note."""


def add_unreadable_labels(
    cells: UnreadableCells, column: str, errors: Mapping[int, Any], *, first_row: int = 0
) -> None:
    """Count the rows of some errors, which have the labels that cannot be read, in a column of labels."""
    first = [(row, str(errors[row].label)) for row in sorted(errors)[:MAX_CELLS]]
    cells.add(column, first, len(errors), first_row=first_row)


def describe_unreadable_labels(cells: UnreadableCells, *, is_refused: bool = False) -> list[str]:
    """Return a note on rows that are unlabeled since their labels cannot be read, if there are any.

    With `is_refused`, other commands stop at them, and the note names the option for them.
    """
    notes = []
    for column, count in cells.counts.items():
        shown = [f"row {row} ({shorten(text)!r})" for row, text in cells.examples[column][:_MAX_LISTED]]
        rows = enumerate_items(shown, conjunction=False, n_others=count - len(shown))
        number = "1 row is" if count == 1 else f"{count:,} rows are"
        remedy = (
            " Other commands stop at such a row: correct it, or add --unreadable-labels unlabeled."
            if is_refused
            else ""
        )
        notes.append(f"{number} unlabeled, since the labels in {column!r} cannot be read: {rows}.{remedy}")
    return notes
