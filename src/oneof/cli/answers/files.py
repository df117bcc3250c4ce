"""Answers about the rows of a table: a file of answers joined to the table by the names of the rows."""

import difflib
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

    from oneof.crowd.annotator_model import RULES_NOTE
    from oneof.crowd.answers import answers_of_file
    from oneof.io import read_checked_labels
    from oneof.io.answers import parse_answers

    file, row_names, column = _read_file(options, table, other_uses)
    file, notes = _select(file, options, row_names, table)
    parsed = parse_answers(file, table.cell_format, separator=separator, classes=classes, unreadable=unreadable)
    answers = answers_of_file(
        file,
        parsed.records,
        parsed.labels,
        classes=parsed.classes,
        index=row_names,
        select_rows=options.select_rows,
    )
    answers.rows = np.arange(len(row_names))  # the rows of the features
    notes += parsed.notes
    notes += [RULES_NOTE] if options.rules == "auto" and answers.are_rules else []
    if repeated := len(parsed.records) - answers.n_answers:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    checked = None
    if gold is not None:
        checked = read_checked_labels(table, gold, answers.classes, separator=parsed.separator)[0]
    return TableAnswers(answers, row_names, checked, tuple(notes), parsed.separator, column, file.degrees(row_names))


def join_candidates(options: "AnswerOptions", table: "Table") -> tuple["Table", list[str]]:
    """Return a table with columns of candidates and of their confidences, and notes.

    The file has a line for each candidate of a row, as lists of candidates of a classifier or an aligner do.
    """
    import polars as pl

    file, row_names, _ = _read_file(options, table, frozenset())
    file, notes = _select(file, options, row_names, table)
    cells: dict[str, tuple[list[Any], list[Any]]] = {name: ([], []) for name in row_names}
    for one in file.answers:
        if one.cell:
            labels, weights = cells[str(one.row)]
            labels.append(one.cell)
            weights.append(None if one.weight is None else str(one.weight))
    columns = zip(options.candidate_columns or (), zip(*cells.values(), strict=True), strict=True)
    lists = [pl.Series(name, [cell or None for cell in column], dtype=pl.List(pl.String)) for name, column in columns]
    return replace(table, frame=table.frame.with_columns(lists)), notes


def _read_file(
    options: "AnswerOptions", table: "Table", other_uses: frozenset[str]
) -> "tuple[AnswerFile, list[str], str]":
    """Return the answers in a file, and the names of the rows of the table and their column, empty if numbered."""
    from oneof.errors import DataError, InputError
    from oneof.io.answers import ROW, find_row_column, name_rows, read_answer_archive, read_answer_file, read_objects

    path, suffix = options.path, options.path.suffix.lower()
    n_rows = table.frame.height if table.rows is None else table.rows.shape[0]
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
        return file, [str(row) for row in range(n_rows)], ""
    objects = read_objects([path])
    column = None
    if options.row is not None or (table.rows is None and ROW in table.frame.columns):
        column = find_row_column([options.row or ROW], table.frame.columns, Path(table.path), options)
    row_names = (
        [str(row) for row in range(n_rows)] if column is None else name_rows(table.frame, column, str(table.path))
    )
    unused = other_uses if path.resolve() == Path(table.path).resolve() else ()
    return read_answer_file(options, objects, unused=unused), row_names, column or ""


def _select(
    file: "AnswerFile", options: "AnswerOptions", row_names: Sequence[str], table: "Table"
) -> "tuple[AnswerFile, list[str]]":
    """Return the answers about rows of the table by annotators that are not excluded, with notes about the others."""
    from oneof.errors import DataError, InputError

    answers, notes, names = file.answers, [], set(row_names)
    if options.excluded:
        check_have_answers(options.excluded, (one.annotator for one in answers), options.path)
        answers = [one for one in answers if one.annotator not in options.excluded]
        if not answers:
            raise InputError(f"--exclude-annotator excludes all annotators of {options.path}. Keep at least one.")
        n = sum(bool(one.cell) for one in file.answers) - sum(bool(one.cell) for one in answers)
        notes = [f"answers that are not used, by --exclude-annotator {_enumerate_names(options.excluded)}: {n:,}."]
    known = [one for one in answers if str(one.row) in names]
    if unknown := [one for one in answers if one.cell and str(one.row) not in names]:
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
    return replace(file, answers=known), notes


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
