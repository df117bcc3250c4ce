"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

TableFile: TypeAlias = Annotated[Path, typer.Argument(metavar="TABLE", help=".csv, .tsv, .parquet, .jsonl or .npz.")]
Stream: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help=".csv, .tsv, .parquet, .jsonl or .npz. Online also .arrow and .svmlight, .gz behind text, a folder of "
        "files, and - for standard input.",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Online: csv, tsv, jsonl, svmlight, parquet or arrow, where the name of the file does not say it.",
    ),
]
_LABELS = (
    "The column of labels: text such as 'a|b', lists, or whole numbers; empty or -1 is unlabeled. "
    "Or several columns of 0 and 1, separated by commas: their names are the classes."
)
Labels: TypeAlias = Annotated[list[str], typer.Option("--labels", metavar="COLUMN", help=_LABELS)]
LabelsOrNone: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="COLUMN", help=_LABELS + " Not for svmlight, whose lines begin with them."),
]
Separator: TypeAlias = Annotated[str, typer.Option("--separator", help="What stands between two labels in text.")]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option("--classes", metavar="A,B,...", help="All classes; by default those that occur. As in --classes=-1,1"),
]
Truth: TypeAlias = Annotated[
    str | None,
    typer.Option("--truth", metavar="COLUMN", help="The true labels, where known: they judge, and teach nothing."),
]
Drop: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COLUMN", help="Leave out a column, as an identifier. Repeat it, or use commas."),
]
Text: TypeAlias = Annotated[
    list[str] | None, typer.Option("--text", metavar="COLUMN", help="Read a column as text: its words are features.")
]
StopWords: TypeAlias = Annotated[
    str,
    typer.Option(
        "--stop-words",
        metavar="LIST",
        help="Words of text columns to leave out: english, none, or a file with one word a line.",
    ),
]
Stem: TypeAlias = Annotated[
    str,
    typer.Option(
        "--stem",
        metavar="LANGUAGE",
        help="Cut the words of text columns to their stems: english, german, ..., or none. The stop words go first.",
    ),
]
Categorical: TypeAlias = Annotated[
    list[str] | None, typer.Option("--categorical", metavar="COLUMN", help="Read the values of a column as categories.")
]
Numeric: TypeAlias = Annotated[
    list[str] | None, typer.Option("--numeric", metavar="COLUMN", help="Read a column as numbers.")
]
Folds: TypeAlias = Annotated[int, typer.Option("--folds", min=2, help="Parts of the cross-validation.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="For folds and for the order of rows.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, and nothing else, to standard output.")]
Debug: TypeAlias = Annotated[
    bool, typer.Option("--debug", envvar="ONEOF_DEBUG", help="Show where in the program an error arose.")
]


def split(names: list[str] | None) -> tuple[str, ...]:
    """Return the columns that a repeated option, with commas or without, names."""
    return tuple(name.strip() for entry in names or () for name in entry.split(",") if name.strip())
