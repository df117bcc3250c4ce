"""Options shared by several commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from oneof.cli.inputs import TableOptions, WeightArguments

_TABLES = ".csv, .tsv or .jsonl (each also with .gz), .parquet, .xlsx, .ods or .npz"
TableFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TABLE", help=f"{_TABLES}; or - for standard input, with --format.")
]
Stream: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help=f"{_TABLES}; or - for standard input, with --format. Online: text (also with .gz), .parquet, .arrow, "
        ".svmlight, a folder of files, or standard input.",
    ),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of standard input, or of a file without a known extension: csv, tsv, jsonl, parquet, excel or "
        "npz; online csv, tsv, jsonl, svmlight, parquet or arrow.",
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    typer.Option("--sheet", metavar="NAME", help="Sheet of a spreadsheet; by default the first one."),
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
Weighted: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--weighted",
        help="The labels have weights: text such as 'finch:0.7|wren:0.3', JSON objects, or several label "
        "columns of numbers. Cells without numbers are sets.",
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="Column of the weights of the labels, in their order: text such as '0.7|0.3', or lists. Implies "
        "--weighted.",
    ),
]
WeightKind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="likelihood|posterior",
        help="Meaning of the weights. posterior: probabilities of the classes, such as the output of a classifier or a "
        "language model; they are divided by their mean over the rows. likelihood: probabilities of the evidence if "
        "the class is true, such as shares of votes or the accuracy of a rule. By default likelihood, with a note.",
    ),
]
Rest: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--rest",
        metavar="auto|NAME",
        help="Spread a rest over the classes that a row does not list. auto: the difference of the sum of the weights "
        "from 1. Otherwise the name of a label such as 'other', with its weight. By default unlisted classes are ruled "
        "out.",
    ),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="TEXT",
        help="Text between two labels of a cell. By default '|', or ';', ',' or ' / ' if it plainly separates labels.",
    ),
]
Delimiter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="Delimiter of the cells of CSV: a character, or comma, semicolon, tab or pipe. By default it is detected.",
    ),
]
Decimal: TypeAlias = Annotated[
    str | None,
    typer.Option("--decimal", metavar=".|,", help="Decimal separator of numbers in CSV. By default it is detected."),
]
Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of CSV, such as utf-8, latin-1 or utf-16. By default it is detected.",
    ),
]
Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--missing",
        metavar="TOKENS",
        help="Further tokens of missing values, such as '-,x'. NA, n.a., NaN, null, ? and similar ones are known, and "
        "in columns of numbers or dates also -, ., None and unknown.",
    ),
]
DateFormat: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--date-format",
        metavar="FORMAT",
        help="Format of dates that is tried first, such as '%d/%m/%Y'. Others are detected. Repeat the option for "
        "several.",
    ),
]
Strict: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--strict",
        help="Refuse cells that are not of the kind of their column, such as a word among numbers. By default they are "
        "missing values, and a note counts and names them.",
    ),
]
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
        help="Exclude a column, such as an identifier. Repeat the option, or separate names by commas. A name may be a "
        "pattern such as 'q*', here and in the options below.",
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


def read_weight_options(
    *, weighted: bool, weights: str | None, kind: str | None, rest: str | None
) -> "WeightArguments":
    """Return the options of weighted labels as arguments of `oneof.io.read_labels`."""
    from oneof.cli import terminal
    from oneof.cli.inputs import WeightArguments
    from oneof.errors import InputError

    weighted = weighted or weights is not None
    for option, value in (("--kind", kind), ("--rest", rest)):
        if value is not None and not weighted:
            raise InputError(f"{option} needs weighted labels: add --weighted, or --weights COLUMN.")
    if kind not in (None, "likelihood", "posterior"):
        raise InputError(f"--kind must be likelihood or posterior; got {kind!r}.")
    if weighted and kind is None:
        terminal.print_note(
            "the weights are read as likelihoods. If they are probabilities of the classes, such as the output of a "
            "classifier or a language model, add --kind posterior; otherwise add --kind likelihood."
        )
    return WeightArguments(weighted, weights, kind or "likelihood", True if rest == "auto" else rest or False)


def read_table_options(
    *,
    delimiter: str | None,
    decimal: str | None,
    encoding: str | None,
    missing: list[str] | None,
    date_format: list[str] | None,
    strict: bool,
) -> "TableOptions":
    """Return the options of the form of a table."""
    from oneof.cli.inputs import TableOptions
    from oneof.io import CellFormat, make_dialect

    dialect = make_dialect(encoding, delimiter, decimal)
    return TableOptions(dialect, CellFormat(missing=split(missing), dates=tuple(date_format or ())), strict)


def split(names: list[str] | None) -> tuple[str, ...]:
    """Return the names of a repeatable option, whose values may contain several names separated by commas."""
    return tuple(name.strip() for entry in names or () for name in entry.split(",") if name.strip())
