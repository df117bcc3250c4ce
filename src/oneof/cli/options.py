"""Options shared by several commands, their checks, and lists of names; `option_groups` has groups of options."""

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer


def value(name: str, metavar: str, help_: str, **more: Any) -> Any:
    """Return the declaration of an option with a value."""
    return typer.Option(name, metavar=metavar, help=help_, **more)


def flag(name: str, help_: str) -> Any:
    """Return the declaration of an option without a value."""
    return typer.Option(name, help=help_)


_TABLES = ".csv, .tsv or .jsonl (each also with .gz), .parquet, .xlsx, .ods or .npz"
TableFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TABLE", help=f"{_TABLES}; or - for standard input, with --format.")
]
Stream: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        help=f"{_TABLES}; or - for standard input, with --format. Online also .arrow, .svmlight or a folder of files.",
    ),
]
_LABELS = (
    "Column of labels: text such as 'a|b', lists or whole numbers; empty or -1 is unlabeled. Or several columns "
    "with commas between: 0 and 1 of each class, or ranked labels."
)
Labels: TypeAlias = Annotated[list[str], value("--labels", "COLUMN", _LABELS)]
LabelsOrNone: TypeAlias = Annotated[list[str] | None, value("--labels", "COLUMN", _LABELS)]
Weights: TypeAlias = Annotated[
    str | None,
    value(
        "--weights",
        "COLUMN",
        "Column of the weights: '0.7|0.3' or lists; or one for each label column. With --answers, of the confidences.",
    ),
]
NoiseRate: TypeAlias = Annotated[
    str | None,
    value(
        "--noise-rate",
        "RATE|auto",
        "Correct labels that exclude the true one, in this fraction of the rows; auto estimates it.",
    ),
]
Truth: TypeAlias = Annotated[
    str | None,
    value("--truth", "COLUMN", "Column of true labels, for evaluation and calibration."),
]
Groups: TypeAlias = Annotated[
    str | None,
    value("--groups", "COLUMN", "Column of groups, such as patients: rates are of new groups."),
]
Row: TypeAlias = Annotated[
    str | None,
    value("--row", "COLUMN", "Names of the rows in both tables; by default row, or numbers."),
]
Annotator: TypeAlias = Annotated[
    str | None,
    value("--annotator", "COLUMN", "Column of the annotators; by default annotator or worker."),
]
Answer: TypeAlias = Annotated[
    str | None,
    value("--answer", "COLUMN", "Labels, by default answer or label; or a question of an export."),
]
ExcludeAnnotator: TypeAlias = Annotated[
    list[str] | None,
    value("--exclude-annotator", "NAME", "Do not use the answers of an annotator in this run."),
]
Rules: TypeAlias = Annotated[
    Literal["auto", "yes", "no"],
    value(
        "--rules",
        "auto|yes|no",
        "Whether annotators are rules, which choose their rows. Default auto: it is detected.",
        show_default=False,
    ),
]
AnswersRow: TypeAlias = Annotated[
    str | None,
    value("--answers-row", "COLUMN", "Column of the names of the rows in the answers, if not --row."),
]
Negation: TypeAlias = Annotated[
    str | None,
    value("--not", "TEXT", "Text before a label that the row does not have, such as '!'."),
]
ClassWeight: TypeAlias = Annotated[
    str,
    value(
        "--class-weight",
        "balanced|none",
        "balanced: all classes have the same weight in a fit, the rare ones too. Not for all methods.",
        show_default=False,
    ),
]
Folds: TypeAlias = Annotated[
    int | None,
    value(
        "--folds",
        "N",
        "Folds of the cross-validation; 1 holds out a fifth. Default 5, or 1 for more than 2,000 labeled rows.",
        min=1,
        show_default=False,
    ),
]
DEFAULT_BUDGET = 10.0
"""Minutes for a comparison of methods."""
Budget: TypeAlias = Annotated[
    float,
    value("--budget", "MINUTES", "Time for a comparison of methods. Default 10.", min=0.01, show_default=False),
]
Seed: TypeAlias = Annotated[int, value("--seed", "N", "Random seed. Default 0.", min=0, show_default=False)]
Json: TypeAlias = Annotated[bool, flag("--json", "Write only JSON to standard output.")]
Debug: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--debug", envvar="ONEOF_DEBUG", help="Show the traceback of an error. Also ONEOF_DEBUG=1.", show_envvar=False
    ),
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
