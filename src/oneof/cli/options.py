"""Options shared by several commands, their checks, and lists of names; `option_groups` has groups of options."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

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
_LABELS = (
    "Label column with text such as 'a|b', lists, or whole numbers; a row with an empty cell or -1 is unlabeled. "
    "Alternatively several columns, separated by commas: of 0 and 1, whose names are the classes; or of a primary "
    "label and further ones. A name with a comma is in double quotes: '\"size, m\"'."
)
Labels: TypeAlias = Annotated[list[str], typer.Option("--labels", metavar="COLUMN", help=_LABELS)]
LabelsOrNone: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="COLUMN", help=_LABELS + " Not for svmlight, whose lines begin with the labels."),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--weights",
        metavar="COLUMN",
        help="Column of the weights of the labels, in their order: text such as '0.7|0.3', or lists; or one column for "
        "each of several label columns: --labels label1,label2 --weights prob1,prob2. With --answers, column of the "
        "confidences of its lines. Implies --weighted.",
    ),
]
NoiseRate: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--noise-rate",
        metavar="RATE|auto",
        help="Fit labels that may exclude the true one: in this fraction of the rows, or auto to estimate it. Rows "
        "whose labels are probably wrong get weights for the labels proposed instead. If no labels are suspected, "
        "the fit is the same as without this option.",
    ),
]
Truth: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--truth",
        metavar="COLUMN",
        help="Column of true labels, if known; used for evaluation, and by fit to calibrate prediction sets.",
    ),
]
Groups: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Column of groups, such as patients or recordings. All rows of a group are in one fold, so that the rates "
        "are those of new groups. The column is not a feature.",
    ),
]
Row: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--row",
        metavar="COLUMN",
        help="Answers: column of the names of the rows, in both tables, or field of an export; by default row, or the "
        "number of the row.",
    ),
]
Annotator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--annotator", metavar="COLUMN", help="Answers: column of the annotators; by default annotator or worker."
    ),
]
Answer: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--answer",
        metavar="COLUMN",
        help="Answers: column of the labels, by default answer or label; or question of an export, such as a tag "
        "of Label Studio, by default the only one.",
    ),
]
ExcludeAnnotator: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--exclude-annotator",
        metavar="NAME",
        help="Annotator whose answers are not used in this run. The file of the answers keeps them.",
    ),
]
Rules: TypeAlias = Annotated[
    Literal["auto", "yes", "no"],
    typer.Option(
        "--rules",
        metavar="auto|yes|no",
        help="Whether the sources of the answers are rules, which choose their rows, such as labeling functions; by "
        "default if most of them, or several that agree with others, give one label only.",
    ),
]
AnswersRow: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--answers-row",
        metavar="COLUMN",
        help="Column of the names of the rows in the file of the answers, or field of an export; by default that "
        "of --row.",
    ),
]
Negation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--not",
        metavar="TEXT",
        help="Answers: text before a label that the row does not have. With --not '!', the answer '!finch' is all "
        "classes but finch.",
    ),
]
ClassWeight: TypeAlias = Annotated[
    str,
    typer.Option(
        "--class-weight",
        metavar="balanced|none",
        help="balanced: rows of rare classes have larger weights in a fit, so that all classes have equal sums. Some "
        "methods have no weights: name another one, such as CLPL or PLEM, or compare those that have.",
    ),
]
Folds: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--folds",
        metavar="N",
        min=1,
        help="Number of folds of the cross-validation. 1 is one split that holds out a fifth of the labeled rows, at "
        "most 10,000, and trains on at most 100,000 others. By default 5 for up to 2,000 labeled rows, and 1 for more; "
        "with --groups, at most the number of groups.",
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
        help="Time for the comparison of all methods, the cheapest first. Methods for which it does not suffice are "
        "left out.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Random seed.")]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write only JSON to standard output.")]
Debug: TypeAlias = Annotated[
    bool, typer.Option("--debug", envvar="ONEOF_DEBUG", help="Show the traceback of an error.")
]


TYPED = "oneof.typed"
"""Key of the line that was typed, in `Context.meta`."""


def typed_command(context: typer.Context) -> str:
    """Return the command that was typed."""
    return str(context.meta[TYPED])


def read_names(option: str, entries: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of an option, whose values may contain several names separated by commas, as in a line of CSV.

    A name with a comma is in double quotes: ``--drop '"size, m",id'``.
    """
    names: list[str] = []
    for entry in entries or ():
        try:
            [cells] = csv.reader([entry], skipinitialspace=True, strict=True) if entry.strip() else [[]]
        except (csv.Error, ValueError):  # an open quotation mark, or a line break outside of quotation marks
            from oneof.errors import InputError

            raise InputError(
                f"{option} must be names separated by commas; got {entry!r}. Put a name with a comma or a line break "
                f"in double quotes, and write a double quote in it twice: {option} '\"size, m\",id'."
            ) from None
        names += [cell.strip() for cell in cells if cell.strip()]
    return tuple(names)


def read_class_weight(text: str) -> str | None:
    """Return "balanced" or None."""
    from oneof.errors import InputError

    if text.strip().lower() not in ("balanced", "none"):
        raise InputError(f"--class-weight must be balanced or none; got {text!r}.")
    return "balanced" if text.strip().lower() == "balanced" else None


def read_noise_rate(text: str | None) -> float | str | None:
    """Return the number, "auto", or None."""
    from oneof.errors import InputError
    from oneof.solvers.noise import MAX_RATE

    if text is None or text.strip().lower() == "auto":
        return text and "auto"
    try:
        rate = float(text)
    except ValueError:
        rate = float("nan")
    if not 0 <= rate <= MAX_RATE:
        raise InputError(f"--noise-rate must be auto, or a number from 0 to {MAX_RATE}; got {text!r}.")
    return rate


def check_unused(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Raise if one of these options was given on the command line."""
    from oneof.errors import InputError

    for name in names:
        if getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE":
            option = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            raise InputError(f"{option} {reason}.")
