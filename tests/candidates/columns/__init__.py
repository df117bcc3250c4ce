"""Readers of label columns whose options are keywords."""

from collections.abc import Iterable, Sequence
from typing import Any

from oneof.candidates import CandidateSets, columns
from oneof.candidates.cells import LabelFormat
from oneof.candidates.columns import LabelColumns, LabelCounts


def _columns(names: Sequence[str], options: dict[str, Any]) -> LabelColumns:
    of_columns = {name: options.pop(name) for name in ("weights", "kind", "prior") if name in options}
    return LabelColumns(names, LabelFormat(**options), **of_columns)


def read_label_columns(frame: Any, names: Sequence[str], *, on_unreadable: Any = None, **options: Any) -> CandidateSets:
    """Read the label columns of a table."""
    return columns.read_label_columns(frame, _columns(names, options), on_unreadable)


def label_reader(
    names: Sequence[str], separator: str = "|", classes: Any = None, *, on_unreadable: Any = None, **options: Any
) -> columns.LabelReader:
    """Return the reader of the batches of a stream."""
    given = {"separator": separator, "classes": classes, **options}
    return columns.LabelReader(_columns(names, given), on_unreadable)


def stream_classes(batches: Iterable[Any], *, on_unreadable: Any = None, **options: Any) -> list[str]:
    """Return the classes of a column "y" of a stream."""
    reader = label_reader(["y"], on_unreadable=on_unreadable, **options)
    counts = sum(map(reader.count, batches), LabelCounts())
    form = {name: value for name, value in options.items() if name not in ("weights", "kind", "prior")}
    return [*counts.classes(LabelFormat(**form))]
