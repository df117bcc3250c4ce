"""Findings about a table: one record for all of them, and one table of their sentences.

A finding is data. `SENTENCES` has a sentence for each kind of finding, in the order of the cost of missing it: leaks
and wrong labels first, detected formats last. `describe` writes one sentence for all findings of a kind. A new kind
must prevent a wrong model or a loss of data.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from oneof.io.formats.dialect import COMMON, Dialect
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
_MAX_LISTED, _MAX_EXAMPLES = 5, 8
_BY_COLUMNS, _BY_COUNT = re.compile(r"<([^|]*)\|([^>]*)>"), re.compile(r"\[([^|]*)\|([^]]*)\]")

SENTENCES = {
    "class leak": "{columns} reveal<s|> the labels, and <is a feature|are features>: the rates are those of rows with "
    "known values. If <it is|they are> unknown for new rows, add {drop}; with --truth {name}, true labels are used for "
    "evaluation only.",
    "set leak": "{columns} nearly identif<ies|y> the candidate sets: rows of equal values predict {detail} of the sets "
    "of several candidates. This can raise the covering rate without the accuracy: compare with {drop}.",
    "groups": "{columns} may name groups of rows. The rates are those of new rows of the same groups, and are too high "
    "for new groups: add --groups {first} to estimate these.",
    "further groups": "{columns} may name groups of rows as well. A model that learns these names is worse on new "
    "ones: add {drop}, or name the coarsest column by --groups.",
    "copies": "{count} rows have the features of another row, and the rates are too high for rows without copies. To "
    "hold out copies together, {detail}.",
    "unreadable labels": "{count} [row is|rows are] unlabeled, since the labels in {places} cannot be read.{detail}",
    "file option": "{detail}",
    "joined classes": "{examples} [is|are each] read as one class: {detail}.",
    "missing class": "{source}{examples} [is read as a class|are read as classes]: leave the cells of unlabeled rows "
    "empty, or add {missing}.",
    "suspicious class": "{source}{classes} may be <an error|errors>. Correct the label<|s>, or add {missing}, so that "
    "the rows are unlabeled.",
    "spellings": "{detail}",
    "single rows": "{count} of {detail} classes, such as {example}, are in one row only and cannot be learned. Check "
    "that --labels names the column of labels. If they are comments rather than labels, name the classes (--classes), "
    "and add --unreadable-labels unlabeled: these rows are then unlabeled.",
    "exact posteriors": "{count} of {detail} labeled rows are exact, because the weights of all other classes are 0. "
    "If these are rounded probabilities, some labels are wrong: write more digits, or add --noise-rate auto to fit.",
    "labels": "{detail}",
    "answers": "{detail}",
    "file": "{detail}",
    "unreadable": "{count} cell[|s] cannot be read and [is|are] missing, in {places}. Correct [it|them], add --strict "
    "to refuse [it|them], or --categorical {name} to read categories.",
    "unreadable new": "{count} cell[|s] cannot be read and [is|are] missing, in {places}. Correct [it|them], or add "
    "--strict to refuse [it|them].",
    "date order": "no cell shows the order of day and month in {columns}, where {shown}: {detail}.",
    "digit groups": "{shown} in {columns}: if {detail} is the decimal separator, add --decimal {detail}.",
    "other dates": "the dates of {columns} are read as in training: {detail}. If the table has another format, such as "
    "the month before the day, its other dates may be read wrongly. Write all dates as in training.",
    "new category": "{count} cell[ has a category|s have categories] without an example in training, in {places}. The "
    "prediction does not use [it|them]. Correct the spelling, or fit the model to rows with [this category|these].",
    "absent": "{columns} <is|are> absent from all rows of {detail}, and <is|are> read as missing values. Add <it|them> "
    "if the values are known.",
    "kind": "{details}.",
    "missing": "{count} cell[|s] of {columns} [is|are] missing: {examples}. If [it is a value|they are values], add "
    "--categorical {name}.",
    "excluded": "{details}.",
    "dialect": "the file is read with {detail}; to change this, use --delimiter, --decimal, --encoding and --quote.",
    "format": "{details}. To change this, add --numeric {name}, --categorical {name} or --date-format.",
}
"""Kinds of findings with their sentences, the most important ones first.

A sentence with {detail} is about the findings with this detail only. Of "<a|b>", b is for several columns, and of
"[a|b]" for a count above 1.
"""


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
        Number of cells, rows or classes; of an excluded column, 0 unless it identifies the rows.
    rows : tuple of int
        The first of these rows, counted from 0; empty if they are unknown.
    examples : tuple of str
        The texts of these rows, or of classes, tokens or values.
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
    >>> missing = [Finding("missing", name, 3, examples=("-",)) for name in ("span", "mass")]
    >>> print(*describe(missing))
    6 cells of columns 'span' and 'mass' are missing: '-'. If they are values, add --categorical NAME.
    """
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in _sorted(findings):
        key = finding.detail if "{detail}" in SENTENCES[finding.kind] else ""
        groups.setdefault((finding.kind, key), []).append(finding)
    written = [_write(SENTENCES[kind], found) for (kind, _), found in groups.items()]
    if limit is None or len(written) <= limit:
        return written
    return [*written[: limit - 1], f"{len(written) - limit + 1} further notes: `oneof inspect --json`."]


def notes(kind: str, sentences: Iterable[str]) -> list[Finding]:
    """Return findings of a kind whose sentences are written elsewhere."""
    return [Finding(kind, detail=sentence) for sentence in sentences]


def describe_columns(names: Sequence[str]) -> str:
    """Return the names of columns after the word."""
    return f"column{'s' * (len(names) > 1)} {enumerate_items([*map(repr, names)], _MAX_LISTED)}"


def describe_details(found: Iterable[Finding]) -> str:
    """Return the details with their columns, such as the reasons of excluded columns, in one clause."""
    groups: dict[str, list[str]] = {}
    for finding in found:
        groups.setdefault(finding.detail, []).append(finding.column)
    listed = [
        f"{describe_columns(names)} {'are' if len(names) > 1 else 'is'} {detail}" for detail, names in groups.items()
    ]
    return "; ".join(listed[:_MAX_LISTED]) + f"; and {len(listed) - _MAX_LISTED} more" * (len(listed) > _MAX_LISTED)


def drop_option(names: Sequence[str]) -> str:
    """Return the option that excludes columns."""
    return f"--drop {shlex.quote(write_names(names))}"


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    order = list(SENTENCES)
    return sorted(findings, key=lambda finding: order.index(finding.kind))


def _write(sentence: str, found: Sequence[Finding]) -> str:
    """Return the sentence about findings of a kind."""
    names = list(dict.fromkeys(finding.column for finding in found))
    examples = list(dict.fromkeys(text for finding in found for text in finding.examples))
    count, missing = sum(finding.count for finding in found), shlex.quote(write_names(examples))
    several = max(len(names), len(found))
    places = [_place(finding, 3 if several < 3 else 1) for finding in found]
    classes = [f"{finding.examples[0]!r} ({finding.detail})" for finding in found if finding.examples]
    rows = [f" ({'first in ' * (count > 1)}row {row})" for row in found[0].rows[:1]]
    sentence = _BY_COLUMNS.sub(r"\1" if several == 1 else r"\2", sentence)
    return _BY_COUNT.sub(r"\1" if count == 1 else r"\2", sentence).format(
        columns=describe_columns(names),
        count=f"{count:,}",
        detail=found[0].detail,
        details=describe_details(found) if "{details}" in sentence else "",
        name=shlex.quote(write_names(names)) if len(names) == 1 else "NAME",
        first=shlex.quote(write_names(names[:1])),
        drop=drop_option(names),
        source=f"in {names[0]}, " * bool(names[0]),
        places=f"column{'s' * (len(found) > 1)} {enumerate_items(places, _MAX_LISTED, conjunction=False)}",
        examples=enumerate_items([*map(repr, examples)], _MAX_EXAMPLES) + "".join(rows),
        shown=examples[0] if examples else "",
        example=repr(shorten(examples[0])) if examples else "",
        classes=enumerate_items(classes, _MAX_LISTED),
        missing=f"--missing={missing}" if missing.startswith("-") else f"--missing {missing}",
    )


def _place(finding: Finding, n_texts: int) -> str:
    """Return a column with the first cells of different texts, and the number of the others."""
    first: dict[str, int] = {}
    for text, row in zip(finding.examples, finding.rows, strict=False):
        first.setdefault(text, row)
    texts = [f"{shorten(text)!r} in row {row}" for text, row in first.items()][:n_texts]
    kind = f", read as {KINDS[finding.detail]}" if finding.detail in KINDS else ""
    return (
        f"{finding.column!r}{kind} ({enumerate_items(texts, conjunction=False, n_others=finding.count - len(texts))})"
    )


@dataclass(frozen=True)
class TableFindings:
    """Findings about a table.

    Attributes
    ----------
    columns : tuple of Finding
        The findings about the features, and about the columns that are not features.
    dialect : Dialect or None
        None for formats that are not delimited text.
    remarks : tuple of str
        Sentences about the file as a whole, such as names of columns that were changed.
    others : tuple of Finding
        Findings about the labels.

    Examples
    --------
    >>> from oneof.io import Finding, TableFindings
    >>> finding = Finding("missing", "span", 3, examples=("-",))
    >>> print(*TableFindings((finding,)).sentences())
    3 cells of column 'span' are missing: '-'. If they are values, add --categorical span.
    """

    columns: tuple[Finding, ...] = ()
    dialect: Dialect | None = None
    remarks: tuple[str, ...] = ()
    others: tuple[Finding, ...] = ()

    def findings(self) -> list[Finding]:
        """Return all findings, the most important ones first."""
        # A remark with an option is about rows or names that may be read wrongly; another one, about a harmless change.
        of_reader = [Finding("file option" if "--" in text else "file", detail=text) for text in self.remarks]
        return _sorted([*self.others, *dialect_findings(self.dialect), *of_reader, *self.columns])

    def sentences(self, limit: int | None = MAX_NOTES) -> list[str]:
        """Return the notes for a user; see `describe`."""
        return describe(self.findings(), limit)

    @property
    def identifiers(self) -> list[str]:
        """Columns that are not features since they identify the rows."""
        return [one.column for one in self.columns if one.kind == "excluded" and one.count]

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all findings in the types of JSON."""
        return [finding.to_dict() for finding in self.findings()]


def dialect_findings(dialect: Dialect | None) -> list[Finding]:
    """Return a finding that names the properties of a dialect that are not the common ones."""
    differences = [] if dialect is None else dialect.differences(COMMON)
    return notes("dialect", [enumerate_items(differences)] * bool(differences))


@dataclass
class UnreadableCells:
    """Cells that are not of the kind of their column and are read as missing values, as a finding for each column.

    Attributes
    ----------
    found : dict of str to Finding
        The number of cells, and the rows and texts of the first ones, by column.
    """

    found: dict[str, Finding] = field(default_factory=dict)

    def add(self, column: str, cells: Iterable[tuple[int, str]], count: int, *, first_row: int = 0) -> None:
        """Add the first cells of a column, whose rows are counted from `first_row`, and the number of all, if any."""
        if not count:
            return
        known = self.found.get(column, Finding("unreadable new", column))
        listed = [*zip(known.rows, known.examples, strict=True), *((row + first_row, text) for row, text in cells)]
        rows, texts = zip(*listed[:MAX_CELLS], strict=True)
        self.found[column] = replace(known, count=known.count + count, rows=rows, examples=texts)

    def add_labels(self, column: str, errors: Mapping[int, Any], *, first_row: int = 0) -> None:
        """Add the rows of some errors, which have the labels that cannot be read, of a column of labels."""
        first = [(row, str(errors[row].label)) for row in sorted(errors)[:MAX_CELLS]]
        self.add(column, first, len(errors), first_row=first_row)

    def merge(self, other: "UnreadableCells") -> "UnreadableCells":
        """Return the cells of both, those of `other` last."""
        merged = UnreadableCells(dict(self.found))
        for name, finding in other.found.items():
            merged.add(name, zip(finding.rows, finding.examples, strict=True), finding.count)
        return merged

    def findings(self, kind: str = "unreadable new", detail: str = "") -> list[Finding]:
        """Return a finding for each column, those with the most cells first."""
        ordered = sorted(self.found.values(), key=lambda finding: -finding.count)
        return [replace(finding, kind=kind, detail=detail) for finding in ordered]

    def sentences(self) -> list[str]:
        """Return a sentence about the cells of all columns, if there are any."""
        return describe(self.findings())

    def to_dict(self) -> dict[str, Any]:
        """Return the counts and the first cells in the types of JSON."""
        return {
            name: {"count": finding.count, "cells": [*map(list, zip(finding.rows, finding.examples, strict=True))]}
            for name, finding in self.found.items()
        }
