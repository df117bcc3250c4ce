"""Import of answers into a labeling session: `--import` reads the files that `oneof fit --answers` reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oneof.cli.answers.files import TableAnswers, check_have_answers, note_spellings, read_answers

if TYPE_CHECKING:
    from oneof.io import Table
    from oneof.io.answers import AnswerOptions
    from oneof.labeling import LabelingSession


@dataclass(frozen=True)
class ImportedFile:
    """The answers of a file of --import, which a session has not stored yet.

    Attributes
    ----------
    path : Path
    given : TableAnswers
    degrees : dict of (int, str) to str
        The degrees of certainty by row and annotator.
    notes : tuple of str
    """

    path: Path
    given: TableAnswers
    degrees: dict[tuple[int, str], str]
    notes: tuple[str, ...]

    @property
    def annotators(self) -> list[str]:
        """The names of the annotators."""
        return list(map(str, self.given.answers.annotators.tolist()))


def read_import(
    options: "AnswerOptions", table: "Table", session: "LabelingSession", separator: str | None
) -> ImportedFile:
    """Read the answers of a file, whose classes are those of a session.

    Defects raise errors of `oneof.errors`. The tokens of missing labels, and whether labels are read in one spelling,
    are those of the table.
    """
    from oneof.cli.tables.inputs import naming_the_option
    from oneof.io import UnreadableCells, describe

    classes = tuple(map(str, session.classes.tolist()))
    unreadable = UnreadableCells()
    with naming_the_option():
        given = read_answers(options, table, separator=separator, classes=classes, unreadable=unreadable)
    notes = (*given.notes, *describe(unreadable.findings("unreadable labels")))
    return ImportedFile(options.path, given, _read_degrees(given), notes)


def import_answers(file: ImportedFile, session: "LabelingSession") -> tuple[int, tuple[str, ...]]:
    """Import the answers of a file, and return the number of new ones and notes."""
    imported = file.annotators
    present = {name for row in session.answers.current_answers().values() for name in row} - {*imported}
    # The notes of the file are on spellings within the file.
    spellings = [note for name in sorted(present) for note in note_spellings([name, *_same_names(name, imported)])]
    n_new = session.import_answers(
        file.given.answers, degrees=file.degrees, match=file.given.row_column or None, source=str(file.path)
    )
    return n_new, (*file.notes, *spellings)


def check_excluded_annotators(
    excluded: Sequence[str], session: "LabelingSession", files: Sequence[ImportedFile], path: Path
) -> None:
    """Raise if an excluded annotator has no answer in the file of a session, nor in the files to import."""
    if not excluded:  # the log may be long
        return
    annotators = {entry.annotator for entry in session.answers.log()}
    sources = [str(path), *(str(file.path) for file in files)]
    check_have_answers(excluded, annotators.union(*(file.annotators for file in files)), " or ".join(sources))


def _same_names(name: str, names: list[str]) -> list[str]:
    """Return the names that differ from a name only in spelling."""
    from oneof.candidates.columns import fold_case

    return [other for other in names if fold_case(other) == fold_case(name)]


def row_column(table: "Table", row: str | None) -> str | None:
    """Return the column of the names of the rows in an export of answers; None if they are numbered.

    It is the column by which `read_answers` joins the export to the table.
    """
    from oneof.io.answers import ROW

    return ROW if row is None and ROW in table.frame.columns else row


def _read_degrees(given: TableAnswers) -> dict[tuple[int, str], str]:
    """Return the degrees of certainty by row and annotator; empty without a column of them."""
    from oneof.errors import DataError
    from oneof.labeling.answers.importing import read_degree

    stated: dict[tuple[int, str], str | None] = {}
    for row, annotator, cell, location in given.degrees:
        degree = read_degree(cell, location)
        if stated.setdefault((row, annotator), degree) != degree:
            raise DataError(f"{location}: the degree must be that of the other lines of the row and annotator.")
    return {pair: degree for pair, degree in stated.items() if degree is not None}
