"""Findings about a table: its dialect, its names, and the kind, missing tokens and unreadable cells of each column.

A finding is data. `TableFindings.sentences` are the notes of the command line, `TableFindings.to_dict` is their JSON.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from oneof.io.formats.csv.dialect import COMMON, Dialect
from oneof.io.formats.dates import COMPACT_DATE
from oneof.io.formats.names import format_names
from oneof.io.notes.decimal_separators import REMEDY, describe_other_decimal
from oneof.messages import enumerate_items

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
_SPACES = re.compile(r"\s")


@dataclass(frozen=True)
class ColumnFinding:
    """Finding about one column.

    Attributes
    ----------
    column : str
    kind : str or None
        None if the column is not a feature.
    reason : str
        Reason of the exclusion or, if it is not obvious, of the kind of the column; may be empty.
    n_empty : int
        Number of empty cells.
    missing : tuple of (str, int)
        Tokens of missing values, with their numbers.
    n_unreadable : int
        Number of other cells that are not of the kind; they are missing as well.
    unreadable : tuple of (int, str)
        Row and text of the first of these cells.
    formats : tuple of str
        Formats of dates, or the format and the unit of numbers.
    alternative : tuple of str
        Other formats that read the same cells: dates with day and month exchanged, or "," and "." if this character may
        be the decimal separator instead of a separator of groups.
    examples : tuple of (str, str)
        Cells of text that show the format, with their values.
    sentinels : tuple of (str, int)
        Numbers such as -999 that may stand for missing values, with the numbers of their cells.
    n_other_decimal : int
        Number of unreadable cells that are numbers with the other decimal separator.
    is_identifier : bool
        Whether the column is not a feature since it identifies the rows.
    """

    column: str
    kind: Kind | None
    reason: str = ""
    n_empty: int = 0
    missing: tuple[tuple[str, int], ...] = ()
    n_unreadable: int = 0
    unreadable: tuple[tuple[int, str], ...] = ()
    formats: tuple[str, ...] = ()
    alternative: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    sentinels: tuple[tuple[str, int], ...] = ()
    n_other_decimal: int = 0
    is_identifier: bool = False


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
    column 'span' is read as numbers; 3 cells are missing values: '-' (3). To read categories, add --categorical span.
    """

    columns: tuple[ColumnFinding, ...] = ()
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    scope: str = field(default="", repr=False)

    def sentences(self) -> list[str]:
        """Return the notes for a user: detected properties, missing and unreadable cells, and excluded columns."""
        return [
            *dialect_sentences(self.dialect),
            *self.remarks,
            *_sentences_of_missing(self.columns),
            *_sentences_of_unreadable(self.columns),
            *_sentences_of_sentinels(self.columns),
            *_sentences_of_formats([column for column in self.columns if not self._has_decimal_of_file(column)]),
            *_sentences_of_exclusion(self.columns, self.scope),
            *_sentences_of_reasons(self.columns),
        ]

    def _has_decimal_of_file(self, column: ColumnFinding) -> bool:
        """Return whether the format of numbers is that of the file, which has a sentence of its own."""
        return column.kind == "number" and self.dialect is not None and column.formats == (self.dialect.decimal,)

    def reasons_of_exclusion(self) -> str:
        """Return the excluded columns with the reasons, in one clause; the first 5 reasons and names are listed."""
        groups = _grouped((column for column in self.columns if column.kind is None), lambda c: c.reason)
        listed = [f"{_columns_are(_names(group))} excluded since {reason}" for reason, group in groups[:_MAX_LISTED]]
        more = sum(len(group) for _, group in groups[_MAX_LISTED:])
        return "; ".join([*listed, *[f"{more} more are excluded"] * bool(more)]) + self.scope * bool(listed)

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
        columns = enumerate_items(listed, conjunction=False, n_others=len(self.counts) - len(listed))
        total = sum(self.counts.values())
        verb = "cells cannot be read and are" if total > 1 else "cell cannot be read and is"
        pronoun = "them" if total > 1 else "it"
        return [
            f"{total:,} {verb} missing, in column{'s' * (len(self.counts) > 1)} {columns}. Correct {pronoun}, or "
            f"add --strict to refuse {pronoun}."
        ]


def dialect_sentences(dialect: Dialect | None) -> list[str]:
    """Return a sentence that names the properties of a dialect that are not the common ones."""
    differences = [] if dialect is None else dialect.differences(COMMON)
    if not differences:
        return []
    listed = enumerate_items(differences)
    return [f"the file is read with {listed}; to change this, use --delimiter, --decimal and --encoding."]


def _columns_are(names: Sequence[str]) -> str:
    return f"{len(names)} columns ({format_names(names)}) are" if len(names) > 1 else f"column {names[0]!r} is"


def _examples(cells: Iterable[tuple[int, str]], count: int, listed: int) -> str:
    """Return the first cells with different texts, and the number of the other cells."""
    first: dict[str, int] = {}
    for row, text in cells:
        first.setdefault(text, row)
    shown = [f"{text!r} in row {row}" for text, row in list(first.items())[:listed]]
    return enumerate_items(shown, conjunction=False, n_others=count - len(shown))


def _grouped(
    columns: Iterable[ColumnFinding], key: Callable[[ColumnFinding], Any]
) -> list[tuple[Any, list[ColumnFinding]]]:
    groups: dict[Any, list[ColumnFinding]] = {}
    for column in columns:
        groups.setdefault(key(column), []).append(column)
    return list(groups.items())


def _names(columns: Sequence[ColumnFinding]) -> list[str]:
    return [column.column for column in columns]


def _option(option: str, names: Sequence[str]) -> str:
    """Return an option of the command line with the name of a column, or with NAME for one of several."""
    if len(names) > 1:
        return f"{option} NAME"
    name = names[0]
    listed = '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name
    return f"{option} {shlex.quote(listed)}"


def _sentences_of_missing(columns: Sequence[ColumnFinding]) -> list[str]:
    sentences = []
    for kind, group in _grouped((column for column in columns if column.kind and column.missing), lambda c: c.kind):
        counts: Counter[str] = Counter()
        for column in group:
            counts.update(dict(column.missing))
        tokens = [f"{token!r} ({n:,})" for token, n in counts.most_common(_MAX_TOKENS)]
        tokens += [f"{len(counts) - _MAX_TOKENS} other tokens"] * (len(counts) > _MAX_TOKENS)
        n_missing = sum(counts.values())
        cells = f"{n_missing:,} cells are missing values" if n_missing > 1 else "1 cell is a missing value"
        names = _names(group)
        advice = "" if kind in ("text", "category") else f" To read categories, add {_option('--categorical', names)}."
        own = ", which are a category of their own" * (kind == "category")
        sentences.append(
            f"{_columns_are(names)} read as {KINDS[kind]}; {cells}{own}: {enumerate_items(tokens)}.{advice}"
        )
    return sentences


def _sentences_of_unreadable(columns: Sequence[ColumnFinding]) -> list[str]:
    sentences = []
    unreadable = [column for column in columns if column.kind and column.n_unreadable]
    for column in unreadable[:_MAX_LISTED]:
        kind = KINDS[str(column.kind)]
        cells = "other cells are missing values" if column.n_unreadable > 1 else "other cell is a missing value"
        sentences.append(
            f"column {column.column!r} is read as {kind}; {column.n_unreadable:,} {cells}: "
            f"{_examples(column.unreadable, column.n_unreadable, 3)}. {_other_decimal(column)}To refuse such cells, "
            f"add --strict; to read categories, add {_option('--categorical', [column.column])}."
        )
    if len(unreadable) > _MAX_LISTED:
        others = unreadable[_MAX_LISTED:]
        n_cells = sum(column.n_unreadable for column in others)
        sentences.append(
            f"{_columns_are(_names(others))} read with {n_cells:,} other cells missing. To refuse such cells, add "
            "--strict."
        )
    return sentences


def _other_decimal(column: ColumnFinding) -> str:
    """Return a sentence about the unreadable cells with another decimal separator than the other cells."""
    if not column.n_other_decimal:
        return ""
    clause = describe_other_decimal(column.n_other_decimal, column.n_unreadable, column.formats)
    return f"{clause[0].upper()}{clause[1:]}: {REMEDY}. "


def _sentences_of_sentinels(columns: Sequence[ColumnFinding]) -> list[str]:
    """Return a sentence about numbers that may stand for missing values, with the option for them."""
    found = [column for column in columns if column.kind and column.sentinels]
    if not found:
        return []
    counts: Counter[str] = Counter()
    for column in found:
        counts.update(dict(column.sentinels))
    listed = enumerate_items([f"{number} ({n:,})" for number, n in counts.most_common()])
    verb = "are" if len(counts) > 1 else "is"
    names = f"column{'s' * (len(found) > 1)} {format_names(_names(found))}"
    condition = "they stand for missing values" if len(counts) > 1 else "it stands for missing values"
    return [
        f"{listed} {verb} far outside the other numbers of {names}. If {condition}, add --missing={','.join(counts)}."
    ]


def _sentences_of_formats(columns: Sequence[ColumnFinding]) -> list[str]:
    """Return a sentence for each format of dates, numbers, durations and yes/no values, with an example."""
    sentences = []
    shown = [column for column in columns if column.kind == "date" or (column.kind and column.examples)]
    for (kind, formats, alternative), group in _grouped(shown, lambda c: (c.kind, c.formats, c.alternative)):
        names, examples = _names(group), next((column.examples for column in group if column.examples), ())
        if kind == "yes/no" and {text.lower() for text, _ in examples} <= {"true", "false"}:
            continue
        details = {
            "date": f" ({enumerate_items([repr(date_format) for date_format in formats])})" * bool(formats),
            "number": f" in {formats[1]!r}" if len(formats) > 1 else "",
            "duration": " in hours",
        }
        values = enumerate_items([f"{_SPACES.sub(' ', text)!r} is {value}" for text, value in examples])
        if not examples:  # dates of a binary file
            values = "the features are year, month, day of the week, hour and elapsed time"
        sentences.append(
            f"{_columns_are(names)} read as {KINDS[kind]}{details.get(kind, '')}: {values}"
            + (_advice_on_alternative(kind, formats, alternative) if alternative else f". {_advice(group[0], names)}")
        )
    return sentences


def _advice(column: ColumnFinding, names: Sequence[str]) -> str:
    """Return a sentence with the options that change the kind or the format of columns."""
    if column.formats == (COMPACT_DATE,):
        return f"To read numbers, add {_option('--numeric', names)}."
    first = "To"
    if column.kind == "date" and column.examples:
        first = "To read another format, add --date-format; to"
    elif column.kind == "duration" and ":" not in column.examples[0][0]:  # "1.5m" may be a length
        first = f"To read numbers with a unit, add {_option('--numeric', names)}; to"
    return f"{first} read categories, add {_option('--categorical', names)}."


def _advice_on_alternative(kind: Kind, formats: Sequence[str], alternative: Sequence[str]) -> str:
    """Return the end of a sentence about cells that have two meanings, with the option for the other one."""
    if kind == "number":
        return f". If {alternative[0]!r} is the decimal separator, add --decimal {alternative[0]!r}."
    exchanged = next(other for other, known in zip(alternative, formats, strict=True) if other != known)
    first = "day" if exchanged.startswith("%d") else "month"
    return (
        ", but no cell shows the order of day and month. "
        f"If the {first} is first, add --date-format {shlex.quote(exchanged)}."
    )


def _sentences_of_exclusion(columns: Sequence[ColumnFinding], scope: str) -> list[str]:
    sentences = []
    excluded = [column for column in columns if column.kind is None and column.reason]
    for reason, group in _grouped(excluded, lambda c: c.reason):
        names = _names(group)
        if len(names) <= 3:
            sentences += [f"column {name!r} is excluded: {reason}{scope}." for name in names]
        else:
            sentences.append(f"{_columns_are(names)} excluded: {reason}{scope}.")
    return sentences


def _sentences_of_reasons(columns: Sequence[ColumnFinding]) -> list[str]:
    explained = [column for column in columns if column.kind is not None and column.reason]
    return [
        f"{_columns_are(_names(group))} read as {KINDS[kind]}: {reason}."
        for (kind, reason), group in _grouped(explained, lambda c: (c.kind, c.reason))
    ]


def _to_builtin(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_builtin(item) for name, item in value.items()}
    return [_to_builtin(item) for item in value] if isinstance(value, list | tuple) else value
