"""Answers about the rows of a table: a file of answers joined to the table by the names of the rows."""

import difflib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.messages import MAX_NAMED, enumerate_items, write_names

if TYPE_CHECKING:
    from oneof.crowd import Answers
    from oneof.io import Table, UnreadableCells
    from oneof.io.answers import AnswerFile, AnswerOptions

MAX_LISTED = 10
"""Maximum number of annotators or columns that an error lists."""


@dataclass(frozen=True)
class TableAnswers:
    """Answers about the rows of a table, which are numbered; their names; and the checked labels, None if not checked.

    The separator is the text between two labels of an answer. The row column is that of the names in the table, empty
    if the rows are numbered. The degrees of certainty have the row, the annotator, the cell and its location.
    """

    answers: "Answers"
    row_names: list[str]
    gold: list[Any] | None
    notes: tuple[str, ...]
    separator: str
    row_column: str = ""
    degrees: list[tuple[int, str, Any, str]] = field(default_factory=list)


@dataclass(frozen=True)
class _JoinedFile:
    """The answers in a file about rows of a table, the names of the rows and their column, and notes on the others."""

    file: "AnswerFile"
    row_names: list[str]
    column: str
    notes: list[str]


def read_answers(
    options: "AnswerOptions",
    table: "Table",
    *,
    separator: str | None,
    classes: tuple[str, ...] | None,
    gold: str | None = None,
    unreadable: "UnreadableCells | None" = None,
    other_uses: frozenset[str] = frozenset(),
) -> TableAnswers:
    """Read the answers about the rows of a table, with the checked labels of a column `gold` of it.

    If the table itself has the answers, its columns `other_uses`, such as that of true labels, are not annotators.
    Defects raise errors of `oneof.errors`. `unreadable` counts the answers that cannot be read and are missing; see
    `oneof.io.read_labels`.
    """
    import numpy as np

    from oneof.crowd.answers import answers_of_file
    from oneof.io import read_checked_labels
    from oneof.io.answers import parse_answers

    joined = _read_joined(options, table, other_uses)
    file, notes = joined.file, joined.notes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse_answers(file, table.cell_format, separator=separator, classes=classes, unreadable=unreadable)
        answers = answers_of_file(file, parsed, index=joined.row_names, select_rows=options.select_rows)
    answers.rows = np.arange(len(joined.row_names))  # the rows of the features
    notes += [*parsed.notes, *(str(warning.message) for warning in caught)]
    notes += [rules_note()] if options.rules == "auto" and answers.are_rules else []
    if repeated := sum(one is not None for one in parsed.labels) - answers.n_answers:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    checked = None
    if gold is not None:
        checked = read_checked_labels(table, gold, answers.classes, separator=parsed.separator)[0]
    degrees = file.degrees(joined.row_names)
    return TableAnswers(answers, joined.row_names, checked, tuple(notes), parsed.separator, joined.column, degrees)


def rules_note() -> str:
    """Return the note that sources are read as rules, with the option of the other reading."""
    from oneof.crowd.annotator_model import RULES

    return f"{RULES}add --rules no."


def join_candidates(options: "AnswerOptions", table: "Table") -> tuple["Table", list[str]]:
    """Return a table with columns of candidates and of their confidences, and notes.

    The file has a line for each candidate of a row, as lists of candidates of a classifier or an aligner do.
    """
    import polars as pl

    from oneof.errors import DataError

    joined = _read_joined(options, table)
    lists: dict[str, list[tuple[Any, str | None]]] = {name: [] for name in joined.row_names}
    for one in joined.file.answers:
        if isinstance(one.cell, list) and len(one.cell) > 1:
            raise DataError(
                f"{one.cell!r} are several candidates, and their line has one confidence. Write a line for each.",
                source=joined.file.locate(one),
            )
        if one.cell:
            cell = one.cell if isinstance(one.cell, str) else one.cell[0]
            lists[str(one.row)].append((cell, None if one.weight is None else str(one.weight)))
    columns = [
        pl.Series(name, [[pair[k] for pair in pairs] or None for pairs in lists.values()], dtype=pl.List(pl.String))
        for k, name in enumerate(options.candidate_columns or ())
    ]
    return replace(table, frame=table.frame.with_columns(columns)), joined.notes


def _read_joined(options: "AnswerOptions", table: "Table", other_uses: frozenset[str] = frozenset()) -> _JoinedFile:
    """Read the answers in a file about rows of a table by annotators that are not excluded."""
    from oneof.errors import DataError, InputError
    from oneof.io.answers import ROW, find_row_column, name_rows, read_answer_archive, read_answer_file, read_objects

    path, suffix = options.path, options.path.suffix.lower()
    n_rows = table.frame.height if table.rows is None else table.rows.shape[0]
    row_names, column = [str(row) for row in range(n_rows)], ""
    if suffix == ".sqlite":
        raise InputError(
            f"{path} stores a labeling session. Write its answers by oneof label {table.path} --export-answers FILE, "
            "and pass that file as --answers."
        )
    if suffix == ".npz":
        file = read_answer_archive(options)
        if len(file.objects.items) > n_rows:
            raise DataError(
                f"{path} has answers about {len(file.objects.items):,} rows; {table.path} has {n_rows:,}. Give the "
                "table that the annotators labeled."
            )
    else:
        objects = read_objects([path])
        if options.row is not None or (table.rows is None and ROW in table.frame.columns):
            column = find_row_column([options.row or ROW], table.frame.columns, Path(table.path), options)
            row_names = name_rows(table.frame, column, str(table.path))
        unused = other_uses if path.resolve() == Path(table.path).resolve() else ()
        file = read_answer_file(options, objects, unused=unused)
    file, notes = _without_excluded(file, options)
    names = set(row_names)
    unknown = [one for one in file.answers if one.cell and str(one.row) not in names]
    known = [one for one in file.answers if str(one.row) in names]
    if unknown:
        first, place = str(unknown[0].row), file.locate(unknown[0])
        if not any(one.cell for one in known):
            raise DataError(
                f"no answer is about a row of {table.path}: the answers name rows such as {first!r}, and the table "
                f"{next(iter(row_names), None)!r}. Give both the same names, or name their column by --row and "
                "--answers-row.",
                source=place,
            )
        notes.append(
            f"answers about rows that {table.path} does not have are omitted: {len(unknown):,}, such as about the row "
            f"{first!r} ({place})."
        )
    return _JoinedFile(replace(file, answers=known), row_names, column, notes)


def _without_excluded(file: "AnswerFile", options: "AnswerOptions") -> "tuple[AnswerFile, list[str]]":
    """Return the answers of annotators that are not excluded, and a note with the number of the others."""
    from oneof.errors import InputError

    if not options.excluded:
        return file, []
    check_have_answers(options.excluded, (one.annotator for one in file.answers), options.path)
    answers = [one for one in file.answers if one.annotator not in options.excluded]
    if not answers:
        raise InputError(f"--exclude-annotator excludes all annotators of {options.path}. Keep at least one.")
    n = sum(bool(one.cell) for one in file.answers) - sum(bool(one.cell) for one in answers)
    names = _enumerate_names(options.excluded)
    note = f"answers that are not used, by --exclude-annotator {names}: {n:,}."
    return replace(file, answers=answers), [note]


def check_have_answers(excluded: Iterable[str], annotators: Iterable[str], source: object) -> None:
    """Raise if an excluded annotator is not among those with answers in the source, and suggest a name."""
    from oneof.errors import InputError

    names = sorted(set(annotators))
    if unknown := [name for name in excluded if name not in names]:
        close = difflib.get_close_matches(unknown[0], names, n=MAX_NAMED)
        raise InputError(
            f"--exclude-annotator {unknown[0]!r} has no answers in {source}; annotators are "
            f"{_enumerate_names(close or names) or 'missing'}."
        )


def _enumerate_names(names: Sequence[str]) -> str:
    """Return names as the option has them."""
    return enumerate_items([write_names([name]) for name in names], MAX_LISTED)
