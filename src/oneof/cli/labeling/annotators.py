"""Options of several annotators of `oneof label`: number of answers, gold rows, and the table of their progress."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oneof.cli.options import Annotator, Answer, AnswersRow, ExcludeAnnotator, Negation, Row, read_names
from oneof.cli.output import terminal
from oneof.messages import MAX_NAMED, write_names

if TYPE_CHECKING:
    from oneof.io import Table
    from oneof.io.answers import AnswerOptions
    from oneof.labeling import LabelingSession
    from oneof.labeling.annotators import AnnotatorProgress
    from oneof.typing import Labels


@dataclass(frozen=True)
class AnnotatorGroup:
    """Options of several annotators."""

    max_annotations: Annotated[
        int | None,
        typer.Option(
            "--max-annotations",
            metavar="N",
            min=1,
            help="Maximum number of annotators of a row: it gets more than --annotations-per-item as long as their "
            "answers exclude each other, or its label has a probability below 0.9.",
        ),
    ] = None
    double_annotated: Annotated[
        float | None,
        typer.Option(
            "--double-annotated",
            metavar="FRACTION",
            min=0,
            max=1,
            help="Fraction of the rows, drawn at random, with one more answer; by default 0.2 with --max-annotations, "
            "otherwise 0.",
        ),
    ] = None
    gold: Annotated[
        str | None,
        typer.Option(
            "--gold",
            metavar="COLUMN|FILE",
            help="Known labels of some rows, which measure the accuracy of each annotator: a column, which is not "
            "shown, or a file with a column of the rows, as for --import, and the column label. --audit does not "
            "propose these rows.",
        ),
    ] = None
    gold_interval: Annotated[
        int, typer.Option("--gold-interval", metavar="N", min=1, help="One of this many questions is a row of --gold.")
    ] = 20
    progress: Annotated[bool, typer.Option("--progress", help="Print the progress of each annotator, and exit.")] = (
        False
    )
    answers_row: AnswersRow = None
    exclude_annotator: ExcludeAnnotator = None
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

    def is_column(self) -> bool:
        """Return whether --gold is a column of the table."""
        return self.gold is not None and not Path(self.gold).is_file()


def read_gold(options: AnnotatorGroup, table: "Table", classes: "Labels", separator: str) -> dict[int, str] | None:
    """Return the known labels of --gold by row; None without the option."""
    import polars as pl

    from oneof.errors import DataError
    from oneof.io import find_column, read_checked_labels, read_table, select_column
    from oneof.io.answers import ITEM, ROW, name_rows

    if options.gold is None:
        return None
    column = options.gold
    if not options.is_column():
        file, column = Path(options.gold), "label"
        frame = read_table(file, as_text=("*",)).frame
        named = [*([] if options.row is None else [options.row]), ITEM, ROW]
        items = map(str, frame[select_column(None, named, frame.columns, file)].to_list())
        known = dict(zip(items, frame[find_column(column, frame.columns, file)].to_list(), strict=True))
        names = name_rows(table.frame, options.row, str(table.path))
        if unknown := known.keys() - {*names}:
            raise DataError(f"{file}: item {min(unknown)!r} is not in the table. Name the column of the rows by --row.")
        table = replace(table, frame=pl.DataFrame({column: pl.Series([known.get(name) for name in names])}))
    labels, _ = read_checked_labels(table, column, classes, separator=separator)
    return {row: str(label) for row, label in enumerate(labels) if label is not None}


def note_chance(session: "LabelingSession") -> list[str]:
    """Return a note on the annotators whose answers are no better than chance."""
    from oneof.messages import enumerate_items

    names = [one.name for one in session.annotator_estimates() if one.is_chance]
    if not names:
        return []
    option = f"--exclude-annotator {shlex.quote(write_names(names))}"
    return [
        f"the answers of {enumerate_items(names, MAX_NAMED)} are no better than chance. {option} leaves them out; the "
        "file of the session keeps them."
    ]


def print_annotators(progress: "Sequence[AnnotatorProgress]", summary: dict[str, Any] | None) -> None:
    """Print a table of the progress of each annotator, or JSON with a summary of the session."""
    if summary is not None:
        terminal.print_json(summary | {"progress": [one.to_dict() for one in progress]})
        return
    rows = []
    for one in progress:
        gold = "" if one.gold.rate is None else f"{one.gold.rate:.0%} ({one.gold.low:.0%} to {one.gold.high:.0%})"
        since = "" if one.seconds_since_last is None else terminal.format_duration(one.seconds_since_last)
        rate = "" if one.rate is None else f"{one.rate:.0f}"
        counts = (one.n_answers, one.n_sets, one.n_unknown, one.n_skipped)
        rows.append((one.name, *map(str, counts), rate, since, gold))
    columns = ("annotator", "answers", "sets", "don't know", "skipped", "per hour", "last answer", "gold rows")
    terminal.print_table("Progress of the annotators", columns, rows)
