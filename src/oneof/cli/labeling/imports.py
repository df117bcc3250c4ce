"""Import of answers into a labeling session: `--import` reads the files that `oneof fit --answers` reads."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from oneof.cli.answers.files import TableAnswers, check_have_answers, read_answers

if TYPE_CHECKING:
    from oneof.io import Table
    from oneof.io.answers import AnswerOptions
    from oneof.labeling import LabelingSession


class ImportedFile(NamedTuple):
    """The answers of a file of --import, and the degrees of certainty by row and annotator, before they are stored."""

    path: Path
    given: TableAnswers
    degrees: dict[tuple[int, str], str]
    notes: tuple[str, ...]


def read_import(
    options: "AnswerOptions", table: "Table", session: "LabelingSession", separator: str | None
) -> ImportedFile:
    """Read the answers of a file, whose classes are those of a session.

    Defects raise errors of `oneof.errors`. The tokens of missing labels, and whether labels are read in one spelling,
    are those of the table.
    """
    from oneof.cli.tables.inputs import naming_the_option
    from oneof.io import UnreadableCells, describe
    from oneof.labeling.answers.importing import read_degrees

    classes = tuple(map(str, session.classes.tolist()))
    unreadable = UnreadableCells()
    with naming_the_option(table.cell_format):
        given = read_answers(options, table, separator=separator, classes=classes, unreadable=unreadable)
    notes = (*given.notes, *describe(unreadable.findings("unreadable labels")))
    return ImportedFile(options.path, given, read_degrees(given.degrees), notes)


def import_answers(file: ImportedFile, session: "LabelingSession") -> int:
    """Import the answers of a file, and return the number of new ones."""
    given = file.given
    return session.import_answers(
        given.answers, degrees=file.degrees, match=given.row_column or None, source=str(file.path)
    )


def check_excluded_annotators(
    excluded: Sequence[str], session: "LabelingSession", files: Sequence[ImportedFile], path: Path
) -> None:
    """Raise if an excluded annotator has no answer in the file of a session, nor in the files to import."""
    if not excluded:  # the log may be long
        return
    annotators = {entry.annotator for entry in session.answers.log()}
    sources = [str(path), *(str(file.path) for file in files)]
    check_have_answers(
        excluded,
        annotators.union(*(map(str, file.given.answers.annotators.tolist()) for file in files)),
        " or ".join(sources),
    )


def row_column(table: "Table", row: str | None) -> str | None:
    """Return the column of the names of the rows in an export of answers; None if they are numbered.

    It is the column by which `read_answers` joins the export to the table.
    """
    from oneof.io.answers import ROW

    return ROW if row is None and ROW in table.frame.columns else row
