"""The file of answers of a command, and the names of its columns."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from oneof.cli.answers.row_names import ROW

ITEM = "item"
ANNOTATOR, ANSWER = ("annotator", "worker"), ("answer", "label")
"""Default columns of a file of answers: those of exports of the labeling page are the last ones."""


@dataclass(frozen=True)
class AnswerOptions:
    """The file of the answers, and the names of its columns.

    Attributes
    ----------
    path : Path
        A table with a record for each answer or a column for each annotator, or an export of Label Studio or doccano.
    row : str or None
        The column of the names of the rows, in this file and in the table; in an export, the field of the data. By
        default "row"; if the table has no such column, its rows are numbered from 0. A file without the column may name
        its rows in a column "item", as exports of the labeling page do, or "row".
    answers_row : str or None
        The column or the field of this file, if it has another name than in the table.
    annotator, answer : str or None
        Columns of this file, by default "annotator" or "worker", and "answer" or "label"; without any of them, all
        columns but that of the rows are annotators. An export has no column of annotators, and its `answer` is the tag
        of the choices, by default the only one.
    excluded : tuple of str
        Annotators whose answers are not used.
    rules : {"auto", "yes", "no"}
        Whether the sources are rules; see `select_rows`.
    """

    path: Path
    row: str | None = None
    annotator: str | None = None
    answer: str | None = None
    excluded: tuple[str, ...] = ()
    answers_row: str | None = None
    rules: Literal["auto", "yes", "no"] = "auto"

    @property
    def select_rows(self) -> Literal["auto"] | bool:
        """The argument of `oneof.crowd.Answers`."""
        return "auto" if self.rules == "auto" else self.rules == "yes"

    @property
    def row_columns(self) -> tuple[str, ...]:
        """The names of the column of the rows in this file, the first one that exists is read."""
        return (self.answers_row,) if self.answers_row is not None else (self.row or ROW, ITEM, ROW)
