"""Options shared by several commands."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

TableFile: TypeAlias = Annotated[Path, typer.Argument(metavar="TABLE", help=".csv, .tsv, .parquet, .jsonl or .npz.")]
Stream: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help=".csv, .tsv, .parquet, .jsonl or .npz. For online learning also .arrow, .svmlight, gzipped text (.gz), "
        "a folder of files, and - for standard input.",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Online: format of a file without a known extension: csv, tsv, jsonl, svmlight, parquet or arrow.",
    ),
]
_LABELS = (
    "Label column with text such as 'a|b', lists, or whole numbers; a row with an empty cell or -1 is unlabeled. "
    "Alternatively several columns of 0 and 1, separated by commas, whose names are the classes."
)
Labels: TypeAlias = Annotated[list[str], typer.Option("--labels", metavar="COLUMN", help=_LABELS)]
LabelsOrNone: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="COLUMN", help=_LABELS + " Not for svmlight, whose lines begin with the labels."),
]
Separator: TypeAlias = Annotated[str, typer.Option("--separator", help="Text between two labels of a cell.")]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,...",
        help="All classes; by default those in the table. Use = if the first begins with a minus sign: --classes=-1,1.",
    ),
]
Truth: TypeAlias = Annotated[
    str | None,
    typer.Option("--truth", metavar="COLUMN", help="Column of true labels, if known; used for evaluation only."),
]
Drop: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="COLUMN",
        help="Exclude a column, such as an identifier. Repeat the option, or separate names by commas.",
    ),
]
Text: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--text", metavar="COLUMN", help="Read a column as text, whose words become features."),
]
StopWords: TypeAlias = Annotated[
    str,
    typer.Option(
        "--stop-words",
        metavar="LIST",
        help="Words to remove from text columns: english, none, or a file with one word per line.",
    ),
]
Stem: TypeAlias = Annotated[
    str,
    typer.Option(
        "--stem",
        metavar="LANGUAGE",
        help="Reduce the words of text columns to stems: english, german, ..., or none. Stop words are removed first.",
    ),
]
Categorical: TypeAlias = Annotated[
    list[str] | None, typer.Option("--categorical", metavar="COLUMN", help="Read a column as categories.")
]
Numeric: TypeAlias = Annotated[
    list[str] | None, typer.Option("--numeric", metavar="COLUMN", help="Read a column as numbers.")
]
Folds: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--folds",
        min=1,
        help="Number of folds of the cross-validation. 1 is one split that holds out a fifth of the labeled rows, at "
        "most 10,000, and trains on at most 100,000 others. By default 5 for up to 2,000 labeled rows, and 1 for more.",
        show_default=False,
    ),
]
DEFAULT_BUDGET = 10.0
"""Minutes for a comparison of methods."""
Budget: TypeAlias = Annotated[
    float,
    typer.Option(
        "--budget",
        metavar="MINUTES",
        min=0.01,
        help="Time for the comparison of all methods, the cheapest first. Methods whose estimated time exceeds the "
        "rest are left out.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write only JSON to standard output.")]
Debug: TypeAlias = Annotated[
    bool, typer.Option("--debug", envvar="ONEOF_DEBUG", help="Show the traceback of an error.")
]


def split(names: list[str] | None) -> tuple[str, ...]:
    """Return the names of a repeatable option, whose values may contain several names separated by commas."""
    return tuple(name.strip() for entry in names or () for name in entry.split(",") if name.strip())
