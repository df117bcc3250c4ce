"""Note about dates in another format than in training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oneof.io.formats.dates import name_date_formats
from oneof.io.notes.findings import UnreadableCells

if TYPE_CHECKING:
    from oneof.io.columns import Column


def describe_dates(columns: "Sequence[Column]", unreadable: UnreadableCells) -> list[str]:
    """Return a note about each column of dates with unreadable cells that have digits: they may have another format."""
    return [
        f"the dates of column {column.name!r} are read as in training: {name_date_formats(column.formats)}. If the "
        "table has another format, such as the month before the day, its other dates may be read wrongly. Write all in "
        "one of these formats."
        for column in columns
        if column.kind == "date"
        and any(any(map(str.isdigit, text)) for _, text in unreadable.examples.get(column.name, ()))
    ]
