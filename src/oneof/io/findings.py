"""Findings about a table: its dialect, its names, and the kind, missing tokens and unreadable cells of each column.

A finding is data. `TableFindings.sentences` are the notes of the command line, `TableFindings.to_dict` is their JSON.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from oneof.io.formats.dialect import COMMON, Dialect
from oneof.io.formats.names import format_names
from oneof.wording import enumerate_items

Kind = Literal["number", "yes/no", "category", "text", "date", "duration"]

KINDS = {
    "number": "numbers",
    "yes/no": "yes/no values",
    "category": "categories",
    "text": "text",
    "date": "dates",
    "duration": "durations or times",
}
"""Kinds of columns with their names in messages."""

MAX_CELLS = 10
"""Maximum number of cells of a column that are listed with their rows."""
_MAX_LISTED = 5
_MAX_TOKENS = 8


@dataclass(frozen=True)
class ColumnFinding:
    """Finding about one column.

    Attributes
    ----------
    column : str
    kind : str or None
        None if the column is not a feature.
    reason : str
        Why the column is excluded, or has its kind if that is not obvious; may be empty.
    n_empty : int
        Number of empty cells.
    missing : tuple of (str, int)
        Tokens of missing values, with their numbers.
    n_unreadable : int
        Number of other cells that are not of the kind; they are missing as well.
    unreadable : tuple of (int, str)
        Row and text of the first of these cells.
    formats : tuple of str
        Formats of dates, or the format of numbers.
    ambiguous : bool
        Whether day and month of the dates can be exchanged.
    """

    column: str
    kind: Kind | None
    reason: str = ""
    n_empty: int = 0
    missing: tuple[tuple[str, int], ...] = ()
    n_unreadable: int = 0
    unreadable: tuple[tuple[int, str], ...] = ()
    formats: tuple[str, ...] = ()
    ambiguous: bool = False


@dataclass(frozen=True)
class TableFindings:
    """Findings about a table.

    Attributes
    ----------
    columns : tuple of ColumnFinding
    dialect : Dialect or None
        None for formats that are not delimited text.
    remarks : tuple of str
        Sentences about the file as a whole, such as names of columns that were changed.
    scope : str
        Clause for messages if the findings are about a part of the table.

    Examples
    --------
    >>> from oneof.io import ColumnFinding, TableFindings
    >>> finding = ColumnFinding("span", "number", missing=(("-", 3),))
    >>> print(*TableFindings((finding,)).sentences())
    column 'span' is read as numbers; its cells '-' (3) are missing. --text or --categorical reads text.
    """

    columns: tuple[ColumnFinding, ...] = ()
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    scope: str = field(default="", repr=False)

    def sentences(self) -> list[str]:
        """Return the notes for a user: what was detected, is missing, cannot be read, or is excluded."""
        return [
            *dialect_sentences(self.dialect),
            *self.remarks,
            *_sentences_of_missing(self.columns),
            *_sentences_of_unreadable(self.columns),
            *_sentences_of_formats(self.columns),
            *_sentences_of_reasons(self.columns, self.scope),
        ]

    def without_unreadable(self) -> "TableFindings":
        """Return the findings without the cells that cannot be read, for a table of which they are a part."""
        return replace(self, columns=tuple(replace(column, n_unreadable=0, unreadable=()) for column in self.columns))

    def to_dict(self) -> dict[str, Any]:
        """Return the findings in the types of JSON."""
        return {
            "dialect": None if self.dialect is None else asdict(self.dialect),
            "remarks": list(self.remarks),
            "columns": [_to_builtin(asdict(column)) for column in self.columns],
        }


class UnreadableCells:
    """Counter of cells that are not of the kind of their column and are read as missing values.

    Attributes
    ----------
    counts : Counter of str
        The number of cells by column.
    examples : dict
        Rows, counted from 0, and texts of the first cells by column.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, list[tuple[int, str]]] = {}

    def add(self, column: str, cells: Sequence[tuple[int, str]], count: int, *, first_row: int = 0) -> None:
        """Add the first cells of a column, whose rows are counted from `first_row`, and the number of all cells."""
        self.counts[column] += count
        examples = self.examples.setdefault(column, [])
        examples += [(row + first_row, text) for row, text in cells[: MAX_CELLS - len(examples)]]

    def merge(self, other: "UnreadableCells") -> "UnreadableCells":
        """Return the cells of both, those of `other` last."""
        merged = UnreadableCells()
        for part in (self, other):
            for name, count in part.counts.items():
                merged.add(name, part.examples[name], count)
        return merged

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the first cells in the types of JSON."""
        return {name: {"count": n, "cells": list(map(list, self.examples[name]))} for name, n in self.counts.items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "UnreadableCells":
        """Return the cells from the result of `to_dict`."""
        cells = cls()
        for name, entry in content.items():
            cells.add(name, [(int(row), str(text)) for row, text in entry["cells"]], int(entry["count"]))
        return cells

    def sentences(self) -> list[str]:
        """Return a sentence about the cells of all columns, if there are any."""
        if not self.counts:
            return []
        listed = [
            f"{name!r} ({_examples(self.examples[name], n, 1)})" for name, n in self.counts.most_common(_MAX_LISTED)
        ]
        more = len(self.counts) - len(listed)
        total = sum(self.counts.values())
        verb = "cells cannot be read and are" if total > 1 else "cell cannot be read and is"
        return [
            f"{total:,} {verb} missing, in column{'s' * (len(self.counts) > 1)} {', '.join(listed)}"
            + f" and {more} more" * bool(more)
            + ". Correct them, or add --strict to refuse them."
        ]


def dialect_sentences(dialect: Dialect | None) -> list[str]:
    """Return a sentence that names the properties of a dialect that are not the common ones."""
    differences = [] if dialect is None else dialect.differences(COMMON)
    if not differences:
        return []
    return [f"the file is read with {enumerate_items(differences)}; --delimiter, --decimal and --encoding set others."]


def _columns_are(names: Sequence[str]) -> str:
    return f"{len(names)} columns ({format_names(names)}) are" if len(names) > 1 else f"column {names[0]!r} is"


def _examples(cells: Iterable[tuple[int, str]], count: int, listed: int) -> str:
    shown = [f"{text!r} in row {row}" for row, text in list(cells)[:listed]]
    return ", ".join(shown) + (f" and {count - len(shown):,} more" * (count > len(shown)))


def _grouped(
    columns: Iterable[ColumnFinding], key: Callable[[ColumnFinding], Any]
) -> list[tuple[Any, list[ColumnFinding]]]:
    groups: dict[Any, list[ColumnFinding]] = {}
    for column in columns:
        groups.setdefault(key(column), []).append(column)
    return list(groups.items())


def _sentences_of_missing(columns: Sequence[ColumnFinding]) -> list[str]:
    sentences = []
    for kind, group in _grouped((column for column in columns if column.kind and column.missing), lambda c: c.kind):
        counts: Counter[str] = Counter()
        for column in group:
            counts.update(dict(column.missing))
        tokens = [f"{token!r} ({n:,})" for token, n in counts.most_common(_MAX_TOKENS)]
        tokens += [f"{len(counts) - _MAX_TOKENS} other tokens"] * (len(counts) > _MAX_TOKENS)
        several = len(group) > 1
        advice = "" if kind in ("text", "category") else " --text or --categorical reads text."
        sentences.append(
            f"{_columns_are([column.column for column in group])} read as {KINDS[kind]}; "
            f"{'their' if several else 'its'} cells {enumerate_items(tokens)} are missing.{advice}"
        )
    return sentences


def _sentences_of_unreadable(columns: Sequence[ColumnFinding]) -> list[str]:
    sentences = []
    unreadable = [column for column in columns if column.kind and column.n_unreadable]
    for column in unreadable[:_MAX_LISTED]:
        cells = "other cells are" if column.n_unreadable > 1 else "other cell is"
        sentences.append(
            f"column {column.column!r} is read as {KINDS[str(column.kind)]}; {column.n_unreadable:,} {cells} missing: "
            f"{_examples(column.unreadable, column.n_unreadable, 3)}. If these are values, add --text or --categorical."
        )
    if len(unreadable) > _MAX_LISTED:
        others = unreadable[_MAX_LISTED:]
        n_cells = sum(column.n_unreadable for column in others)
        names = [column.column for column in others]
        sentences.append(f"{_columns_are(names)} read with {n_cells:,} other cells missing.")
    return sentences


def _sentences_of_formats(columns: Sequence[ColumnFinding]) -> list[str]:
    sentences = []
    dates = [column for column in columns if column.kind == "date"]
    for formats, group in _grouped(dates, lambda c: c.formats):
        names = [column.column for column in group]
        listed = f" ({enumerate_items([repr(date_format) for date_format in formats])})" if formats else ""
        sentences.append(
            f"{_columns_are(names)} read as dates{listed}: year, month, day of the week, hour and elapsed time."
        )
        ambiguous = [column.column for column in group if column.ambiguous]
        if ambiguous:
            first = "day" if any(date_format.startswith("%d") for date_format in formats) else "month"
            sentences.append(
                f"{_columns_are(ambiguous)} read with the {first} first; --date-format sets another order."
            )
    numbers = [column for column in columns if column.kind == "number" and column.formats]
    for formats, group in _grouped(numbers, lambda c: c.formats):
        words = {",": "1234,5", ",.": "1,234.5", ".,": "1.234,5"}
        sentences.append(
            f"{_columns_are([column.column for column in group])} read as numbers such as {words[formats[0]]}."
        )
    return sentences


def _sentences_of_reasons(columns: Sequence[ColumnFinding], scope: str) -> list[str]:
    sentences = []
    excluded = [column for column in columns if column.kind is None and column.reason]
    for reason, group in _grouped(excluded, lambda c: c.reason):
        names = [column.column for column in group]
        if len(names) <= 3:
            sentences += [f"column {name!r} is excluded: {reason}{scope}." for name in names]
        else:
            sentences.append(f"{_columns_are(names)} excluded: {reason}{scope}.")
    explained = [column for column in columns if column.kind is not None and column.reason]
    for (kind, reason), group in _grouped(explained, lambda c: (c.kind, c.reason)):
        sentences.append(f"{_columns_are([c.column for c in group])} read as {KINDS[kind]}: {reason}.")
    return sentences


def _to_builtin(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_builtin(item) for name, item in value.items()}
    return [_to_builtin(item) for item in value] if isinstance(value, list | tuple) else value
