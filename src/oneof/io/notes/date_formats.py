"""Finding about dates in another format than in training."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oneof.io.findings import Finding, UnreadableCells, describe
from oneof.io.formats.dates import name_date_formats

if TYPE_CHECKING:
    from oneof.io.columns import Column


def describe_dates(columns: "Sequence[Column]", unreadable: UnreadableCells) -> list[str]:
    """Return a note about the columns of dates with unreadable cells that have digits: they may have another format."""
    return describe(
        Finding("other dates", column.name, detail=name_date_formats(column.formats))
        for column in columns
        if column.kind == "date"
        and any(any(map(str.isdigit, text)) for _, text in unreadable.examples.get(column.name, ()))
    )
