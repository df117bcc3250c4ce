"""Options of `oneof label`, apart from those for reading the table: the page, the session, and several annotators."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from oneof.cli.options import NAMES, flag, option
from oneof.cli.tables.read_options import JoinGroup

if TYPE_CHECKING:
    from oneof.io.answers import AnswerOptions


@dataclass(frozen=True)
class PageGroup:
    """Options of the page."""

    TITLE: ClassVar[str] = "Page"

    show: tuple[str, str] | None = option(
        "KIND COLUMN", "Show one column, as text, image or audio; by default all columns."
    )
    images: Path | None = option("DIR", "Folder of the images or sounds; by default that of the table.")
    hide: NAMES = option("COLUMN", "Exclude a column, such as true labels, from the page and the features.", ())
    pin: NAMES = option("COLUMN", "Show a column first, and keep it visible.", ())
    name: str = option("NAME", "Name of the annotator, which the page can change.", "me")
    port: int = option("PORT", "Port of the page; 0 selects a free one.", 0, min=0, max=65535)
    browser: bool = flag("Whether to open the page in a browser.", default=True, name="--browser/--no-browser")


@dataclass(frozen=True)
class SessionGroup:
    """Options of the session: its file, the model, and the selection of rows."""

    TITLE: ClassVar[str] = "Session"

    session_file: Path | None = option(
        "FILE", "File of the answers; by default TABLE-answers.sqlite.", name="--session"
    )
    method: str = option("NAME", "Name of a method, or auto: GraphLogisticRegression.", "auto")
    audit: bool = flag(
        "Review the rows that oneof audit suspects.",
        name="--audit/--no-audit",
    )

    def answers_file(self, table: Path) -> Path:
        """Return the file of the answers to the rows of a table."""
        from oneof.io import stem_of

        return self.session_file or Path(f"{stem_of(table)}-answers.sqlite")


@dataclass(frozen=True)
class AnnotatorGroup(JoinGroup):
    """Options of several annotators, and of their answers in files."""

    TITLE: ClassVar[str] = "Several annotators"

    annotations_per_item: str = option(
        "N|N..MAX",
        "Annotators of each row. With 1..3, a row gets up to 3 if their answers exclude each other, or its label has a "
        "probability below 0.9; a fifth of the rows get 2.",
        "1",
    )
    combination: Literal["votes", "model"] = option(
        "votes|model", "Combination: votes, or model: weights by their estimated accuracies.", "votes"
    )
    gold: str | None = option(
        "COLUMN|FILE",
        "Known labels, which measure each annotator in one of 20 questions: a column, which is not shown, or a file "
        "with a column of the rows and the column label.",
    )
    imports: list[Path] | None = option(
        "FILE",
        "Import answers, as oneof fit --answers reads them.",
        name="--import",
    )

    def answer_options(self, path: Path) -> "AnswerOptions":
        """Return the options by which a file of --import is read, as a file of --answers of `oneof fit`."""
        from oneof.io.answers import AnswerOptions

        columns = (self.row, self.annotator, self.answer)
        return AnswerOptions(path, *columns, answers_row=self.answers_row, negation=self.negation)

    def gold_column(self) -> list[str]:
        """Return the column of --gold; an empty list if it is a file."""
        return [] if self.gold is None or Path(self.gold).is_file() else [self.gold]

    def numbers(self) -> tuple[int, int | None]:
        """Return the numbers of --annotations-per-item: required and maximum."""
        from oneof.errors import InputError

        match = re.fullmatch(r"([1-9]\d{0,5})(?:\.\.([1-9]\d{0,5}))?", self.annotations_per_item.strip())
        if match is None:
            raise InputError(
                f"--annotations-per-item must be a number, or two such as 1..3; got {self.annotations_per_item!r}."
            )
        return int(match[1]), None if match[2] is None else int(match[2])


@dataclass(frozen=True)
class ExportGroup:
    """Options of runs that write files or print the progress, and exit."""

    TITLE: ClassVar[str] = "Export, without the page"

    export: Path | None = option("FILE", "Write the table with its labels (.csv or .parquet), and exit.")
    export_answers: Path | None = option(
        "FILE",
        "Write the answers of all annotators (.csv, .jsonl or .parquet), which fit --answers reads, and exit.",
    )
    progress: bool = flag("Print the progress of each annotator, and exit.")

    @property
    def exits(self) -> bool:
        """Whether the run has no page."""
        return self != ExportGroup()


@dataclass(frozen=True)
class LabelOptions:
    """Options of a session and its page."""

    page: PageGroup = PageGroup()
    session: SessionGroup = SessionGroup()
    annotators: AnnotatorGroup = AnnotatorGroup()
