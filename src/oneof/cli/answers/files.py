"""Answers about the rows of a table: a file of answers joined to the table by the names of the rows."""

import difflib
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneof.crowd import Answers
from oneof.crowd.annotator_model import RULES
from oneof.crowd.answers import answers_of_file
from oneof.errors import DataError, InputError
from oneof.io import Table, UnreadableCells, read_checked_labels
from oneof.io.answers import (
    ROW,
    Answer,
    AnswerFile,
    AnswerOptions,
    find_row_column,
    name_rows,
    parse_answers,
    read_answer_file,
)
from oneof.messages import MAX_NAMED, enumerate_items, write_names

MAX_LISTED = 10
"""Maximum number of annotators or columns that an error lists."""


@dataclass(frozen=True)
class TableAnswers:
    """Answers about the rows of a table, which are numbered.

    Attributes
    ----------
    answers : Answers
    row_names : list of str
    gold : list or None
        The checked label of each row, None if it has none; None without a column of checked labels.
    notes : tuple of str
    separator : str
        The text between two labels of an answer.
    row_column : str
        The column of the names of the rows in the table, empty if they are numbered.
    records : list of Answer
        The answers as they are in the file.
    columns : frozenset of str
        The columns of the table with the answers, if it is itself the file of answers; they are not features.
    """

    answers: Answers
    row_names: list[str]
    gold: list[Any] | None
    notes: tuple[str, ...]
    separator: str
    row_column: str
    records: list[Answer]
    columns: frozenset[str] = frozenset()


def read_answers(
    options: AnswerOptions,
    table: Table,
    *,
    separator: str | None,
    classes: tuple[str, ...] | None,
    gold: str | None = None,
    unreadable: UnreadableCells | None = None,
) -> TableAnswers:
    """Read the answers about the rows of a table, with the checked labels of a column `gold` of it.

    Defects raise errors of `oneof.errors`. `unreadable` counts the answers that cannot be read and are missing; see
    `oneof.io.read_labels`.
    """
    file, row_names, column = _read_joined(options, table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse_answers(file, table.cell_format, separator=separator, classes=classes, unreadable=unreadable)
        answers = answers_of_file(parsed, index=row_names, select_rows=options.select_rows)
    answers.rows = np.arange(len(row_names))  # the rows of the features
    notes = [*parsed.notes, *(str(warning.message) for warning in caught)]
    notes += [rules_note()] if options.rules == "auto" and answers.are_rules else []
    if repeated := int((parsed.code >= 0).sum()) - answers.n_answers:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    checked = None
    if gold is not None:
        checked = read_checked_labels(table, gold, answers.classes, separator=parsed.separator)[0]
    is_in_table = options.path.resolve() == Path(table.path).resolve()
    columns = frozenset(one.column for one in file.answers if is_in_table and one.column is not None)
    return TableAnswers(
        answers, row_names, checked, tuple(notes), parsed.separator, column or "", file.answers, columns
    )


def rules_note() -> str:
    """Return the note that sources are read as rules, with the option of the other reading."""
    return f"{RULES}add --rules no."


def join_candidates(options: AnswerOptions, table: Table) -> tuple[Table, list[str]]:
    """Return a table with columns of candidates and of their confidences, and notes.

    The file has a line for each candidate of a row, as lists of candidates of a classifier or an aligner do.
    """
    file, row_names, _ = _read_joined(options, table)
    lists: dict[str, list[tuple[str, str | None]]] = {name: [] for name in row_names}
    for one in file.answers:
        cells = [one.cell] if isinstance(one.cell, str) else one.cell or []
        if len(cells) > 1:
            raise DataError(
                f"{one.cell!r} are several candidates, and their line has one confidence. Write a line for each.",
                source=one.place,
            )
        lists[str(one.row)] += [(cell, None if one.weight is None else str(one.weight)) for cell in cells if cell]
    columns = [
        pl.Series(name, [[pair[k] for pair in pairs] or None for pairs in lists.values()], dtype=pl.List(pl.String))
        for k, name in enumerate(options.candidate_columns or ())
    ]
    return replace(table, frame=table.frame.with_columns(columns)), [*file.notes]


def _read_joined(options: AnswerOptions, table: Table) -> tuple[AnswerFile, list[str], str | None]:
    """Return the answers about rows of a table, the names of its rows, and the column that has them.

    The file is without the answers of excluded annotators, and has notes on all answers that are not used.
    """
    path, column = options.path, None
    is_archive = path.suffix.lower() == ".npz"  # whose rows are those of the table in order
    if path.suffix.lower() == ".sqlite":
        raise InputError(
            f"{path} stores a labeling session. Write its answers by oneof label {table.path} --export-answers FILE, "
            "and pass that file as --answers."
        )
    if not is_archive and (options.row or (table.rows is None and ROW in table.frame.columns)):
        column = find_row_column([options.row or ROW], table.frame.columns, options, Path(table.path))
    row_names = name_rows(table.frame, column, str(table.path))
    if column is None and table.rows is not None:
        row_names = [str(row) for row in range(table.rows.shape[0])]
    file, names, notes = read_answer_file(options), set(row_names), []
    answers = [one for one in file.answers if one.annotator not in options.excluded]
    if options.excluded:
        check_have_answers(options.excluded, (one.annotator for one in file.answers), path)
        if not answers:
            raise InputError(f"--exclude-annotator excludes all annotators of {path}. Keep at least one.")
        n = sum(bool(one.cell) for one in file.answers) - sum(bool(one.cell) for one in answers)
        excluded = _enumerate_names(options.excluded)
        notes.append(f"answers that are not used, by --exclude-annotator {excluded}: {n:,}.")
    known = [one for one in answers if str(one.row) in names]
    if unknown := [one for one in answers if one.cell and str(one.row) not in names]:
        first = unknown[0]
        if is_archive or not any(one.cell for one in known):
            raise DataError(
                f"the answers name rows such as {str(first.row)!r}, which {table.path} does not have; it has rows "
                f"such as {next(iter(row_names), None)!r}. Give both the same names, or name their column by --row and "
                "--answers-row.",
                source=first.place,
            )
        notes.append(
            f"answers about rows that {table.path} does not have are omitted: {len(unknown):,}, such as about the row "
            f"{str(first.row)!r} ({first.place})."
        )
    return replace(file, answers=known, notes=(*notes, *file.notes)), row_names, column


def check_have_answers(excluded: Iterable[str], annotators: Iterable[str], source: object) -> None:
    """Raise if an excluded annotator is not among those with answers in the source, and suggest a name."""
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
