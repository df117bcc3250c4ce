"""Findings about a table: one record for all of them, and one table of their sentences.

A finding is data. `SENTENCES` has a function for each kind of finding, in the order of the cost of missing it: wrong
labels and leaks first, detected formats last. `describe` writes one sentence for all findings of a kind. A new kind
needs an entry of `SENTENCES`, and must prevent a wrong model or a loss of data.
"""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from oneof.io.formats.csv.dialect import COMMON, Dialect
from oneof.io.formats.names import format_names
from oneof.messages import enumerate_items, shorten, write_names

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
MAX_NOTES = 10
"""Maximum number of sentences of `describe`."""
_MAX_LISTED = 5
_MAX_TOKENS = 8
_SPACES = re.compile(r"\s")


@dataclass(frozen=True)
class Finding:
    """Finding about a table, of one column or of its labels.

    Attributes
    ----------
    kind : str
        A key of `SENTENCES`.
    column : str
        Empty if the finding is not about one column.
    count : int
        Number of cells, rows or classes.
    rows : tuple of int
        The first of these rows, counted from 0; empty if they are unknown.
    examples : tuple of str
        The texts of these rows, or of cells, classes or tokens.
    detail : str
        A reason, a format or a remedy. Of the kinds that another part of the program describes, it is the sentence.
    """

    kind: str
    column: str = ""
    count: int = 0
    rows: tuple[int, ...] = ()
    examples: tuple[str, ...] = ()
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the finding in the types of JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Finding":
        """Return the finding from the result of `to_dict`."""
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in content.items()}
        return cls(**values)


def describe(findings: Iterable[Finding], limit: int | None = MAX_NOTES) -> list[str]:
    """Return the sentences of findings for a user, the most important ones first.

    With more than `limit` of them, the last sentence counts the others; None returns all.

    Examples
    --------
    >>> from oneof.io import Finding, describe
    >>> missing = [Finding("missing", name, 3, examples=("-",), detail="number") for name in ("span", "mass")]
    >>> print(*describe(missing))
    6 cells of columns 'span', 'mass' are missing values: '-'. If they are values, add --categorical NAME.
    """
    groups: dict[str, list[Finding]] = {kind: [] for kind in SENTENCES}
    for finding in findings:
        groups[finding.kind].append(finding)
    sentences = [sentence for kind, group in groups.items() if group for sentence in SENTENCES[kind](group)]
    if limit is None or len(sentences) <= limit:
        return sentences
    return [*sentences[: limit - 1], f"{len(sentences) - limit + 1} further notes: `oneof inspect --json`."]


def notes(kind: str, sentences: Iterable[str]) -> list[Finding]:
    """Return findings of a kind whose sentences are written elsewhere."""
    return [Finding(kind, detail=sentence) for sentence in sentences]


def _written(found: Sequence[Finding]) -> list[str]:
    return [finding.detail for finding in found]


def _class_leaks(found: Sequence[Finding]) -> list[str]:
    names = _names(found)
    has, verb, use = ("have", "determine", "are features") if len(names) > 1 else ("has", "determines", "is a feature")
    cause = f"{has} class names" if all(finding.detail == "class names" for finding in found) else f"{verb} the label"
    truth = "COLUMN" if len(names) > 1 else shlex.quote(names[0])
    return [
        f"{describe_columns(names)} {cause}, and {use}: the rates are those of rows with known values. If "
        f"{'these are' if len(names) > 1 else 'this is'} unknown for new rows, add "
        f"{drop_option(names)}; true labels are used for evaluation only with --truth {truth}."
    ]


def _set_leaks(found: Sequence[Finding]) -> list[str]:
    names = _names(found)
    return [
        f"{describe_columns(names)} nearly identif{'y' if len(names) > 1 else 'ies'} the candidate sets: rows of equal "
        f"values predict {found[0].detail} of the sets of several candidates. This can raise the covering rate without "
        f"the accuracy: compare with {drop_option(names)}."
    ]


def _unreadable_labels(found: Sequence[Finding]) -> list[str]:
    sentences = []
    for finding in found:
        shown = [f"row {row} ({shorten(text)!r})" for row, text in zip(finding.rows, finding.examples, strict=True)]
        rows = enumerate_items(
            shown[:_MAX_LISTED], conjunction=False, n_others=finding.count - len(shown[:_MAX_LISTED])
        )
        number = "1 row is" if finding.count == 1 else f"{finding.count:,} rows are"
        sentences.append(
            f"{number} unlabeled, since the labels in {finding.column!r} cannot be read: {rows}.{finding.detail}"
        )
    return sentences


def _joined_classes(found: Sequence[Finding]) -> list[str]:
    sentences = []
    for finding in found:
        verb = "are each read as one class" if finding.count > 1 else "is read as one class"
        sentences.append(f"{_listed_classes(finding)} {verb}: {finding.detail}.")
    return sentences


def _missing_classes(found: Sequence[Finding]) -> list[str]:
    [finding] = found
    verb = "are read as classes" if finding.count > 1 else "is read as a class"
    place = f"in {finding.column}, " * bool(finding.column)
    return [
        f"{place}{_listed_classes(finding)} {verb}: leave the cells of unlabeled rows empty, or add "
        f"{_missing_option(finding.examples)}."
    ]


def _suspicious_classes(found: Sequence[Finding]) -> list[str]:
    names = [finding.examples[0] for finding in found]
    listed = enumerate_items([f"{finding.examples[0]!r} ({finding.detail})" for finding in found], _MAX_LISTED)
    place = f" in {found[0].column}" * bool(found[0].column)
    verb, pronoun, label = ("class may be an error", "it is", "a label")
    if len(found) > 1:
        verb, pronoun, label = ("classes may be errors", "they are", "labels")
    return [
        f"{len(found):,} {verb}: {listed}. If {pronoun} misspelled, correct the labels{place}; if {pronoun} not "
        f"{label}, add {_missing_option(names[:_MAX_LISTED])}, so that the rows are unlabeled."
    ]


def _unreadable(found: Sequence[Finding]) -> list[str]:
    listed = []
    for finding in found[:_MAX_LISTED]:
        kind = f", read as {KINDS[finding.detail]}" * bool(finding.detail) if finding.detail in KINDS else ""
        first = dict(zip(reversed(finding.examples), reversed(finding.rows), strict=True))
        texts = list(dict.fromkeys(finding.examples))[: 3 if len(found) < 3 else 1]
        cells = [f"{text!r} in row {first[text]}" for text in texts]
        shown = enumerate_items(cells, conjunction=False, n_others=finding.count - len(cells))
        listed.append(f"{finding.column!r}{kind} ({shown})")
    total = sum(finding.count for finding in found)
    verb, pronoun = ("cells cannot be read and are", "them") if total > 1 else ("cell cannot be read and is", "it")
    columns = enumerate_items(listed, conjunction=False, n_others=len(found) - len(listed))
    names = [finding.column for finding in found if finding.detail]
    advice = f", or {_option('--categorical', names)} to read categories" if names else ""
    return [
        f"{total:,} {verb} missing, in column{'s' * (len(found) > 1)} {columns}. Correct {pronoun}, or add --strict to "
        f"refuse {pronoun}{advice}."
    ]


def _decimal_signs(found: Sequence[Finding]) -> list[str]:
    clauses = []
    for other, group in _grouped(found, lambda finding: finding.detail):
        n_cells = sum(finding.count for finding in group)
        cells = "1 cell" if n_cells == 1 else f"{n_cells:,} cells"
        mark = {"point": "comma", "comma": "point"}[other]
        has = "has" if n_cells == 1 else "have"
        clauses.append(
            f"{cells} of {describe_columns(_names(group))} {has} a decimal {other}, and other cells a decimal {mark}"
        )
    return [f"{'; '.join(clauses)}: write one decimal separator in all cells."]


def _date_orders(found: Sequence[Finding]) -> list[str]:
    clauses = []
    for date_format, group in _grouped(found, lambda finding: finding.detail):
        first = "day" if date_format.startswith("%d") else "month"
        text, value = group[0].examples[:2]
        clauses.append(
            f"in {describe_columns(_names(group))}, where {text!r} is {value}: if the {first} is first, add "
            f"--date-format {shlex.quote(date_format)}"
        )
    return [f"no cell shows the order of day and month {'; '.join(clauses)}."]


def _digit_groups(found: Sequence[Finding]) -> list[str]:
    clauses = []
    for group_sign, group in _grouped(found, lambda finding: finding.detail):
        text, value = group[0].examples[:2]
        clauses.append(
            f"{text!r} is {value} in {describe_columns(_names(group))}: if {group_sign!r} is the decimal separator, "
            f"add --decimal {group_sign!r}"
        )
    return [f"{'; '.join(clauses)}."]


def _kinds(found: Sequence[Finding]) -> list[str]:
    groups = _grouped(found, lambda finding: (finding.examples, finding.detail))
    clauses = [
        f"{_columns_are(_names(group))} read as {KINDS[kind]}: {reason}"
        for ((kind,), reason), group in groups[:_MAX_LISTED]
    ]
    others = f"; {len(groups) - _MAX_LISTED} more columns have such cells" * (len(groups) > _MAX_LISTED)
    return [f"{'; '.join(clauses)}{others}."]


def _missing(found: Sequence[Finding]) -> list[str]:
    found = [finding for finding in found if finding.detail not in ("category", "text")]  # these lose nothing
    if not found:
        return []
    tokens = list(dict.fromkeys(token for finding in found for token in finding.examples))
    total, names = sum(finding.count for finding in found), _names(found)
    cells, pronoun = ("cells {} are missing values", "they are values")
    if total == 1:
        cells, pronoun = "cell {} is a missing value", "it is a value"
    listed = enumerate_items([*map(repr, tokens)], _MAX_TOKENS)
    return [
        f"{total:,} {cells.format(f'of {describe_columns(names)}')}: {listed}. If {pronoun}, add "
        f"{_option('--categorical', names)}."
    ]


def _excluded(found: Sequence[Finding]) -> list[str]:
    return [f"{reasons_of_exclusion(found)}."]


def reasons_of_exclusion(found: Iterable[Finding]) -> str:
    """Return the excluded columns with the reasons, in one clause; the first 5 reasons and names are listed."""
    groups = _grouped((finding for finding in found if finding.kind == "excluded"), lambda finding: finding.detail)
    listed = [f"{_columns_are(_names(group))} excluded since {reason}" for reason, group in groups[:_MAX_LISTED]]
    more = sum(len(group) for _, group in groups[_MAX_LISTED:])
    return "; ".join([*listed, *[f"{more} more are excluded"] * bool(more)])


def _formats(found: Sequence[Finding]) -> list[str]:
    names = _names(found)
    clauses = [f"{finding.column!r} as {finding.detail}" for finding in found[:_MAX_LISTED]]
    columns = f"columns are read in a format: {enumerate_items(clauses, n_others=len(found) - len(clauses))}"
    if len(found) == 1:
        columns = f"column {names[0]!r} is read as {found[0].detail}"
    date = ", or --date-format" * any(finding.detail.startswith("dates") for finding in found)
    return [f"{columns}. To change it, add {_option('--numeric', names)}, {_option('--categorical', names)}{date}."]


def _other_dates(found: Sequence[Finding]) -> list[str]:
    listed = [f"those of column {finding.column!r} as {finding.detail}" for finding in found[:_MAX_LISTED]]
    return [
        f"dates are read as in training, {enumerate_items(listed, n_others=len(found) - len(listed))}. If the table "
        "has another format, such as the month before the day, its other dates may be read wrongly. Write all in one "
        "of these formats."
    ]


def _dialects(found: Sequence[Finding]) -> list[str]:
    return [f"the file is read with {found[0].detail}; to change this, use --delimiter, --decimal and --encoding."]


SENTENCES: dict[str, Callable[[Sequence[Finding]], list[str]]] = {
    "class leak": _class_leaks,
    "set leak": _set_leaks,
    "groups": _written,
    "unreadable labels": _unreadable_labels,
    "joined classes": _joined_classes,
    "missing class": _missing_classes,
    "suspicious class": _suspicious_classes,
    "spellings": _written,
    "single rows": _written,
    "labels": _written,
    "answers": _written,
    "file": _written,
    "unreadable": _unreadable,
    "decimal sign": _decimal_signs,
    "date order": _date_orders,
    "digit groups": _digit_groups,
    "other dates": _other_dates,
    "kind": _kinds,
    "missing": _missing,
    "excluded": _excluded,
    "dialect": _dialects,
    "format": _formats,
}
"""Kinds of findings with the functions that write their sentences, the most important ones first."""


def _names(found: Sequence[Finding]) -> list[str]:
    return [finding.column for finding in found]


def drop_option(names: Sequence[str]) -> str:
    """Return the option that excludes columns."""
    return f"--drop {shlex.quote(write_names(names))}"


def describe_columns(names: Sequence[str]) -> str:
    """Return the names of columns after the word."""
    return f"column{'s' * (len(names) > 1)} {enumerate_items([*map(repr, names)], _MAX_LISTED)}"


def _columns_are(names: Sequence[str]) -> str:
    return f"{len(names)} columns ({format_names(names)}) are" if len(names) > 1 else f"column {names[0]!r} is"


def _listed_classes(finding: Finding) -> str:
    """Return classes and, if it is known, the row of the first one."""
    place = f" ({'first in ' * (finding.count > 1)}row {finding.rows[0]})" if finding.rows else ""
    shown = list(map(repr, finding.examples[:_MAX_LISTED]))
    return enumerate_items(shown, n_others=finding.count - len(shown)) + place


def _missing_option(names: Sequence[str]) -> str:
    value = shlex.quote(write_names(names))
    return f"--missing={value}" if value.startswith("-") else f"--missing {value}"


def _grouped(found: Iterable[Finding], key: Callable[[Finding], Any]) -> list[tuple[Any, list[Finding]]]:
    groups: dict[Any, list[Finding]] = {}
    for finding in found:
        groups.setdefault(key(finding), []).append(finding)
    return list(groups.items())


def _option(option: str, names: Sequence[str]) -> str:
    """Return an option of the command line with the name of a column, or with NAME for one of several."""
    return f"{option} NAME" if len(names) > 1 else f"{option} {shlex.quote(write_names(names))}"


def _split(cells: Iterable[tuple[int, str]]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the rows and the texts of cells."""
    listed = list(cells)
    return tuple(row for row, _ in listed), tuple(text for _, text in listed)


@dataclass(frozen=True)
class ColumnFinding:
    """Properties of one column.

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

    def findings(self, scope: str = "") -> list[Finding]:
        """Return the findings of the column, with a clause for the reason of an exclusion."""
        name, kind = self.column, self.kind
        if kind is None:
            return [Finding("excluded", name, detail=self.reason + scope)] * bool(self.reason)
        found = []
        if self.n_unreadable:
            found.append(Finding("unreadable", name, self.n_unreadable, *_split(self.unreadable), kind))
        if self.n_other_decimal:
            other = "point" if self.formats and self.formats[0][-1] == "," else "comma"
            found.append(Finding("decimal sign", name, self.n_other_decimal, detail=other))
        if self.missing:
            tokens = tuple(token for token, _ in self.missing)
            found.append(Finding("missing", name, sum(n for _, n in self.missing), examples=tokens, detail=kind))
        if self.reason:
            found.append(Finding("kind", name, examples=(kind,), detail=self.reason))
        if self.alternative:
            other = next(new for new, known in zip(self.alternative, (*self.formats, ""), strict=False) if new != known)
            found.append(
                Finding(
                    "date order" if kind == "date" else "digit groups", name, examples=self.examples[0], detail=other
                )
            )
        elif kind == "date" or self.examples:
            found += self._format()
        return found

    def _format(self) -> list[Finding]:
        """Return the finding of a detected format, with the values of some cells; none for "true" and "false"."""
        if self.kind == "yes/no" and {text.lower() for text, _ in self.examples} <= {"true", "false"}:
            return []
        form = KINDS[str(self.kind)]
        if self.kind == "date" and self.formats:
            form += f" {enumerate_items([*map(repr, self.formats)])}"
        elif self.kind == "number" and len(self.formats) > 1:
            form += f" in {self.formats[1]!r}"
        elif self.kind == "duration":
            form += " in hours"
        shown = enumerate_items([f"{_SPACES.sub(' ', text)!r} is {value}" for text, value in self.examples])
        return [Finding("format", self.column, detail=form + f" ({shown})" * bool(shown))]


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
    others : tuple of Finding
        Findings about the labels.

    Examples
    --------
    >>> from oneof.io import ColumnFinding, TableFindings
    >>> finding = ColumnFinding("span", "number", missing=(("-", 3),))
    >>> print(*TableFindings((finding,)).sentences())
    3 cells of column 'span' are missing values: '-'. If they are values, add --categorical span.
    """

    columns: tuple[ColumnFinding, ...] = ()
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    scope: str = ""
    others: tuple[Finding, ...] = ()

    def findings(self) -> list[Finding]:
        """Return all findings."""
        of_file = self.dialect.decimal if self.dialect is not None else ""
        of_columns = [
            finding
            for column in self.columns
            for finding in column.findings(self.scope)
            if finding.kind != "format" or column.kind != "number" or column.formats != (of_file,)
        ]
        return [*self.others, *dialect_findings(self.dialect), *notes("file", self.remarks), *of_columns]

    def sentences(self, limit: int | None = MAX_NOTES) -> list[str]:
        """Return the notes for a user; see `describe`."""
        return describe(self.findings(), limit)

    def reasons_of_exclusion(self) -> str:
        """Return the excluded columns with the reasons, in one clause."""
        return reasons_of_exclusion(self.findings())

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all findings in the types of JSON."""
        order = list(SENTENCES)
        return [finding.to_dict() for finding in sorted(self.findings(), key=lambda found: order.index(found.kind))]


def dialect_findings(dialect: Dialect | None) -> list[Finding]:
    """Return a finding that names the properties of a dialect that are not the common ones."""
    differences = [] if dialect is None else dialect.differences(COMMON)
    return [Finding("dialect", detail=enumerate_items(differences))] * bool(differences)


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

    def add_labels(self, column: str, errors: Mapping[int, Any], *, first_row: int = 0) -> None:
        """Add the rows of some errors, which have the labels that cannot be read, of a column of labels."""
        first = [(row, str(errors[row].label)) for row in sorted(errors)[:MAX_CELLS]]
        self.add(column, first, len(errors), first_row=first_row)

    def merge(self, other: "UnreadableCells") -> "UnreadableCells":
        """Return the cells of both, those of `other` last."""
        merged = UnreadableCells()
        for part in (self, other):
            for name, count in part.counts.items():
                merged.add(name, part.examples[name], count)
        return merged

    def findings(self, kind: str = "unreadable", detail: str = "") -> list[Finding]:
        """Return a finding for each column."""
        return [Finding(kind, name, n, *_split(self.examples[name]), detail) for name, n in self.counts.most_common()]

    def sentences(self) -> list[str]:
        """Return a sentence about the cells of all columns, if there are any."""
        return describe(self.findings())

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
