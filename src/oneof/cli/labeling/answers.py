"""Answers of `oneof label` from files: imports, known labels of gold rows, and the progress of the annotators.

`--import` reads the files that `oneof fit --answers` reads.
"""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from oneof.cli.answers.files import check_have_answers, read_answers
from oneof.cli.labeling.options import AnnotatorGroup
from oneof.cli.output import terminal
from oneof.cli.tables.inputs import naming_the_option
from oneof.errors import DataError
from oneof.io import Table, UnreadableCells, describe, find_column, read_checked_labels, read_table, select_column
from oneof.io.answers import ITEM, ROW, name_rows
from oneof.labeling import LabelingSession
from oneof.labeling.annotators import AnnotatorProgress
from oneof.labeling.answers.importing import read_degrees
from oneof.messages import MAX_NAMED, enumerate_items, write_names
from oneof.typing import Labels


def import_files(
    group: AnnotatorGroup, table: Table, session: LabelingSession, separator: str | None, answers_file: Path
) -> tuple[int, list[str]]:
    """Import the answers of all files, or none after an error; return the number of new ones, and notes.

    The classes are those of the session; the tokens of missing labels, and whether labels are read in one spelling,
    are those of the table. An excluded annotator must have an answer in the file of the session, or in these files.
    """
    paths, unreadable, n_new = list(group.imports or ()), UnreadableCells(), 0
    classes = tuple(map(str, session.classes.tolist()))
    with naming_the_option(table.cell_format):
        files = [
            read_answers(group.answer_options(path), table, separator=separator, classes=classes, unreadable=unreadable)
            for path in paths
        ]
    degrees = [read_degrees(given.records, given.row_names) for given in files]
    if excluded := group.exclude_annotator:  # the log may be long
        annotators = {entry.annotator for entry in session.answers.log()}
        annotators.update(str(name) for given in files for name in given.answers.annotators.tolist())
        check_have_answers(excluded, annotators, " or ".join(map(str, [answers_file, *paths])))
    for path, given, of_file in zip(paths, files, degrees, strict=True):
        match = given.row_column or None
        n_new += session.import_answers(given.answers, degrees=of_file, match=match, source=str(path))
    sentences = [sentence for given in files for sentence in given.notes]
    return n_new, [*sentences, *describe(unreadable.findings("unreadable labels"))]


def row_column(table: Table, row: str | None) -> str | None:
    """Return the column of the names of the rows in an export of answers; None if they are numbered.

    It is the column by which `read_answers` joins the export to the table.
    """
    return ROW if row is None and ROW in table.frame.columns else row


def read_gold(group: AnnotatorGroup, table: Table, classes: Labels, separator: str) -> dict[int, str] | None:
    """Return the known labels of --gold by row; None without the option."""
    if group.gold is None:
        return None
    column = group.gold
    if not group.gold_column():
        file, column = Path(group.gold), "label"
        frame = read_table(file, as_text=("*",)).frame
        named = [*([] if group.row is None else [group.row]), ITEM, ROW]
        items = map(str, frame[select_column(None, named, frame.columns, file)].to_list())
        known = dict(zip(items, frame[find_column(column, frame.columns, file)].to_list(), strict=True))
        names = name_rows(table.frame, group.row, str(table.path))
        if unknown := known.keys() - {*names}:
            raise DataError(f"{file}: item {min(unknown)!r} is not in the table. Name the column of the rows by --row.")
        table = replace(table, frame=pl.DataFrame({column: pl.Series([known.get(name) for name in names])}))
    labels, _ = read_checked_labels(table, column, classes, separator=separator)
    return {row: str(label) for row, label in enumerate(labels) if label is not None}


def note_chance(session: LabelingSession) -> list[str]:
    """Return a note on the annotators whose answers are no better than chance."""
    names = [one.name for one in session.annotator_estimates() if one.is_chance]
    if not names:
        return []
    option = f"--exclude-annotator {shlex.quote(write_names(names))}"
    return [
        f"the answers of {enumerate_items(names, MAX_NAMED)} are no better than chance. {option} leaves them out; the "
        "file of the session keeps them."
    ]


def print_annotators(progress: Sequence[AnnotatorProgress]) -> None:
    """Print a table of the progress of each annotator."""
    rows = []
    for one in progress:
        gold = "" if one.gold.rate is None else f"{one.gold.rate:.0%} ({one.gold.low:.0%} to {one.gold.high:.0%})"
        since = "" if one.seconds_since_last is None else terminal.format_duration(one.seconds_since_last)
        rate = "" if one.rate is None else f"{one.rate:.0f}"
        counts = (one.n_answers, one.n_sets, one.n_unknown, one.n_skipped)
        rows.append((one.name, *map(str, counts), rate, since, gold))
    columns = ("annotator", "answers", "sets", "don't know", "skipped", "per hour", "last answer", "gold rows")
    terminal.print_table("Progress of the annotators", columns, rows)
