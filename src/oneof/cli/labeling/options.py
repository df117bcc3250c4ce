"""Options of `oneof label`, apart from those for reading the table: the page, the session, and several annotators."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from oneof.cli.options import Annotator, Answer, AnswersRow, ExcludeAnnotator, Negation, Row, read_names

if TYPE_CHECKING:
    from oneof.io.answers import AnswerOptions


@dataclass(frozen=True)
class PageGroup:
    """Options of the page."""

    TITLE: ClassVar[str] = "Page"

    show: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--show",
            metavar="text|image|audio COLUMN",
            help="Show one column, as text, image or audio; by default all columns.",
        ),
    ] = None
    images: Annotated[
        Path | None,
        typer.Option(
            "--images", metavar="DIR", help="Folder of the images or audio files; by default the folder of the table."
        ),
    ] = None
    hide: Annotated[
        list[str] | None,
        typer.Option(
            "--hide",
            metavar="COLUMN",
            help="Exclude a column from the page and from the features, such as true labels.",
        ),
    ] = None
    pin: Annotated[
        list[str] | None,
        typer.Option(
            "--pin", metavar="COLUMN", help="Show a column first, and keep it visible while the others are scrolled."
        ),
    ] = None
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the annotator; the page can change it.")
    ] = "me"
    port: Annotated[
        int, typer.Option("--port", metavar="PORT", min=0, max=65535, help="Port of the page; 0 selects a free one.")
    ] = 0
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the page in a browser.")] = (
        True
    )


@dataclass(frozen=True)
class SessionGroup:
    """Options of the session: its file, the model, and the selection of rows."""

    TITLE: ClassVar[str] = "Session"

    session_file: Annotated[
        Path | None,
        typer.Option(
            "--session",
            metavar="FILE",
            help="File that stores the answers of the session; by default TABLE-answers.sqlite.",
        ),
    ] = None
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Name of a method, or auto: GraphLogisticRegression.")
    ] = "auto"
    strategy: Annotated[
        str,
        typer.Option(
            "--strategy", metavar="NAME", help="Query strategy: mutual_information, entropy, margin, random, or auto."
        ),
    ] = "auto"
    audit: Annotated[
        bool,
        typer.Option("--audit/--no-audit", help="Review the rows whose labels are probably wrong; see oneof audit."),
    ] = False
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="COLUMN",
            help="--audit: column of groups, such as patients or recordings. A row is predicted without the rows of "
            "its group, as by oneof audit. The column is shown, and is not a feature.",
        ),
    ] = None

    def answers_file(self, table: Path) -> Path:
        """Return the file of the answers to the rows of a table."""
        from oneof.io import stem_of

        return self.session_file or Path(f"{stem_of(table)}-answers.sqlite")


@dataclass(frozen=True)
class AnnotatorGroup:
    """Options of several annotators, and of their answers in files."""

    TITLE: ClassVar[str] = "Several annotators"

    annotations_per_item: Annotated[
        str,
        typer.Option(
            "--annotations-per-item",
            metavar="N|N..MAX",
            help="Number of annotators who label each row. With 1..3, a row gets up to 3 as long as their answers "
            "exclude each other, or its label has a probability below 0.9; a fifth of the rows get 2 in any case.",
        ),
    ] = "1"
    combination: Annotated[
        str,
        typer.Option(
            "--combination",
            metavar="votes|model",
            help="Combination of several annotators: votes, or model: weights by their estimated accuracies.",
        ),
    ] = "votes"
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold",
            metavar="COLUMN|FILE",
            help="Known labels of some rows, which measure the accuracy of each annotator in one of 20 questions: a "
            "column, which is not shown, or a file with a column of the rows, as for --import, and the column label. "
            "--audit does not propose these rows.",
        ),
    ] = None
    exclude_annotator: ExcludeAnnotator = None
    imports: Annotated[
        list[Path] | None,
        typer.Option(
            "--import",
            metavar="FILE",
            help="Import answers, as oneof fit --answers reads them: a table with a line for each, or a column for "
            "each annotator; .json of Label Studio, or .zip of doccano.",
        ),
    ] = None
    answers_row: AnswersRow = None
    negation: Negation = None
    row: Row = None
    annotator: Annotator = None
    answer: Answer = None

    def answer_options(self, path: Path) -> "AnswerOptions":
        """Return the options by which a file of --import is read, as a file of --answers of `oneof fit`."""
        from oneof.io.answers import AnswerOptions

        columns = (self.row, self.annotator, self.answer)
        return AnswerOptions(path, *columns, answers_row=self.answers_row, negation=self.negation)

    def excluded(self) -> tuple[str, ...]:
        """Return the annotators of --exclude-annotator."""
        return read_names("--exclude-annotator", self.exclude_annotator)

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

    export: Annotated[
        Path | None,
        typer.Option("--export", metavar="FILE", help="Write the table with its labels (.csv or .parquet), and exit."),
    ] = None
    export_answers: Annotated[
        Path | None,
        typer.Option(
            "--export-answers",
            metavar="FILE",
            help="Write the answers of all annotators, one per line (.csv, .jsonl or .parquet), and exit; fit, compare "
            "and audit read them as --answers.",
        ),
    ] = None
    progress: Annotated[bool, typer.Option("--progress", help="Print the progress of each annotator, and exit.")] = (
        False
    )

    @property
    def exits(self) -> bool:
        """Whether the run has no page."""
        return self != ExportGroup()

    def files(self) -> dict[str, Path]:
        """Return the files to be written, by the names of the options."""
        named = {"export": self.export, "export_answers": self.export_answers}
        return {name: path for name, path in named.items() if path is not None}


@dataclass(frozen=True)
class LabelOptions:
    """Options of a session and its page."""

    page: PageGroup = PageGroup()
    session: SessionGroup = SessionGroup()
    annotators: AnnotatorGroup = AnnotatorGroup()
