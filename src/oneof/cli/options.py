"""Options of commands: records whose fields are options, and the parameters of typer that are made from them.

A command takes its options as frozen dataclasses, which it passes on unchanged. `option` and `flag` declare a field as
an option of the field's name, and `expand` turns the fields into the parameters of a command, and their values into the
records. The options for reading a table are those of `oneof.cli.tables.read_options`.
"""

import csv
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_origin

import typer

from oneof.cli.output import terminal
from oneof.errors import InputError

if TYPE_CHECKING:
    from oneof.persistence.prediction_sets import CoverageOptions

NAMES = tuple[str, ...]
"""Type of the options whose values are names separated by commas; see `read_names`."""
DEFAULT_BUDGET = 10.0
"""Minutes for a comparison of methods."""
TYPED = "oneof.typed"
"""Key of the line that was typed, in `Context.meta`."""

_TABLES = ".csv, .tsv or .jsonl (each also with .gz), .parquet, .xlsx, .ods or .npz"
_STANDARD_INPUT = "or - for standard input, with --format."
TableFile: TypeAlias = Annotated[Path, typer.Argument(metavar="TABLE", help=f"{_TABLES}; {_STANDARD_INPUT}")]
Stream: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help=f"{_TABLES}; {_STANDARD_INPUT} Online also .arrow, .svmlight or a folder of files."
    ),
]
ModelFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file written by oneof fit (model.skops).")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write only JSON to standard output.")]
_DEBUG = Annotated[
    bool,
    typer.Option(
        "--debug", envvar="ONEOF_DEBUG", help="Show the traceback of an error. Also ONEOF_DEBUG=1.", show_envvar=False
    ),
]


def option(metavar: str, text: str, default: Any = None, *, name: str | None = None, **more: Any) -> Any:
    """Declare a field of a record as an option with a value; its name is that of the field by default."""
    return field(default=default, metadata={"name": name, "metavar": metavar, "help": text, **more})


def flag(text: str, *, default: bool | None = False, name: str | None = None) -> Any:
    """Declare a field of a record as an option without a value."""
    return field(default=default, metadata={"name": name, "help": text})


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer, with the options of its records as parameters of its own, and with --debug.

    A parameter whose type is a record (a dataclass) is replaced by the options of the record. The returned function
    collects their values in the record again, and converts errors to exit codes.
    """
    signature = inspect.signature(command)
    records: dict[str, Any] = {
        one.name: one.annotation for one in signature.parameters.values() if is_dataclass(one.annotation)
    }
    parameters: list[inspect.Parameter] = []
    for parameter in signature.parameters.values():
        record = records.get(parameter.name)
        parameters += [parameter] if record is None else [_declare(record, one) for one in option_fields(record)]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters.append(inspect.Parameter("debug", keyword, default=False, annotation=_DEBUG))

    @functools.wraps(command)
    def run(*args: Any, debug: bool, **values: Any) -> None:
        with terminal.handle_errors(debug=debug):
            for name, record in records.items():
                values[name] = record(**{one.name: _read(one, values.pop(one.name)) for one in option_fields(record)})
            command(*args, **values)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def option_fields(record: Any) -> list[Any]:
    """Return the fields of a record, or of its class, that are options."""
    return [one for one in fields(record) if "help" in one.metadata]


def option_name(one: Any) -> str:
    """Return the option of a field as on the command line, such as "--truth"."""
    return one.metadata["name"] or f"--{one.name.replace('_', '-')}"


def to_dict(*records: Any) -> dict[str, Any]:
    """Return the options of records that differ from their defaults, by name, in the types of JSON."""
    options = {
        one.name: (one.default, getattr(record, one.name)) for record in records for one in option_fields(record)
    }
    given = {name: value for name, (default, value) in options.items() if value != default}
    return {
        name: list(value) if isinstance(value, list | tuple) else str(value) if isinstance(value, Path) else value
        for name, value in given.items()
    }


def _declare(record: Any, one: Any) -> inspect.Parameter:
    """Return the parameter of an option, which is listed under the title of the class that declares it."""
    declared = next(base for base in record.__mro__ if one.name in inspect.get_annotations(base))
    more = {name: setting for name, setting in one.metadata.items() if name != "name"}
    typed = typer.Option(option_name(one), rich_help_panel=getattr(declared, "TITLE", None), **more)
    kind, default = (list[str] | None, None) if _is_names(one) else (one.type, one.default)
    if _choices(one):
        kind = str | None  # the choices are checked by `_read`, whose error is one sentence
    return inspect.Parameter(
        one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typed]
    )


def _is_names(one: Any) -> bool:
    return one.type in (NAMES, NAMES | None)


def _choices(one: Any) -> tuple[str, ...]:
    """Return the values of an option whose type is a Literal, or one or None."""
    return next((get_args(kind) for kind in (one.type, *get_args(one.type)) if get_origin(kind) is Literal), ())


def _read(one: Any, value: Any) -> Any:
    """Return the value of an option for its record."""
    if value is None or value == one.default:
        return one.default
    if choices := _choices(one):
        if value.strip().lower() not in choices:
            raise InputError(f"{option_name(one)} must be {', '.join(choices[:-1])} or {choices[-1]}; got {value!r}.")
        return value.strip().lower()
    return read_names(option_name(one), value) if _is_names(one) else value


def read_names(option: str, entries: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of an option, whose values may contain several names separated by commas, as in a line of CSV.

    A name with a comma is in double quotes: ``--drop '"size, m",id'``.
    """
    names: list[str] = []
    for entry in entries or ():
        try:
            [cells] = csv.reader([entry], skipinitialspace=True, strict=True) if entry.strip() else [[]]
        except (csv.Error, ValueError):  # an open quotation mark, or a line break outside of quotation marks
            raise InputError(
                f"{option} must be names separated by commas; got {entry!r}. Put a name with a comma or a line break "
                f"in double quotes, and write a double quote in it twice: {option} '\"size, m\",id'."
            ) from None
        names += [cell.strip() for cell in cells if cell.strip()]
    return tuple(names)


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option was given on the command line, by the name of its parameter."""
    return getattr(context.get_parameter_source(name), "name", None) == "COMMANDLINE"


def check_unused(context: typer.Context, names: Iterable[str], reason: str) -> None:
    """Raise if one of these options was given on the command line."""
    for name in names:
        if is_given(context, name):
            declared = next(parameter.opts[0] for parameter in context.command.params if parameter.name == name)
            raise InputError(f"{declared} {reason}.")


@dataclass(frozen=True)
class CompareOptions:
    """Options of a comparison of methods."""

    TITLE: ClassVar[str] = "Model"

    method: str = option(
        "NAME",
        "auto (LOORidge; best for compare), best (compare all), or a name: CLPL or LOORidge:distractors=cooccurring.",
        "auto",
    )
    class_weight: Literal["balanced", "none"] = option(
        "balanced|none",
        "balanced: rare classes have the same weight as others. Not for all methods.",
        "none",
    )
    folds: int | None = option(
        "N",
        "Folds of the cross-validation; 1 holds out a fifth. By default 5, or 1 for more than 2,000 labeled rows.",
        min=1,
    )
    budget: float = option("MINUTES", "Time for a comparison of methods.", DEFAULT_BUDGET, min=0.01)
    seed: int = option("N", "Random seed.", 0, min=0)

    @property
    def weights_of_classes(self) -> str | None:
        """The weights of the classes: "balanced" or None."""
        return None if self.class_weight == "none" else self.class_weight


@dataclass(frozen=True)
class FitOptions(CompareOptions):
    """Options of a fit; auto is the default method."""

    TITLE: ClassVar[str] = "Model"

    out: Path | None = option("DIR", "Output folder; by default TABLE-oneof.")
    noise_rate: str | None = option(
        "RATE|auto", "Correct labels that exclude the true one, in this fraction of the rows; auto estimates it."
    )
    calibrate: bool = flag("Scale probabilities, by 50 or more true or checked labels.")

    def folder(self, table: Path) -> Path:
        """Return the output folder of a table."""
        from oneof.io import stem_of

        return self.out or Path(f"{stem_of(table)}-oneof")

    @property
    def rate(self) -> float | None:
        """The given noise rate; None if it is estimated, or no label is corrected."""
        from oneof.solvers.noise import MAX_RATE

        if self.noise_rate is None or self.noise_rate.strip().lower() == "auto":
            return None
        try:
            rate = float(self.noise_rate)
        except ValueError:
            rate = float("nan")
        if not 0 <= rate <= MAX_RATE:
            raise InputError(f"--noise-rate must be auto, or a number from 0 to {MAX_RATE}; got {self.noise_rate!r}.")
        return rate

    @property
    def limit(self) -> float | None:
        """Minutes for the comparison of methods; None for one method."""
        return self.budget if self.method.lower() == "best" else None


@dataclass(frozen=True)
class CoverageGroup:
    """Options of prediction sets."""

    TITLE: ClassVar[str] = "Prediction sets"

    coverage: float | None = option(
        "PROBABILITY",
        "Add to each prediction a set of classes that contains the true label with this probability, such as 0.9. In a "
        "table these are the columns `set`, which `fit --labels set` reads, and `set_size`.",
    )
    set_method: Literal["lac", "aps"] = option(
        "lac|aps", "lac excludes improbable classes, aps adds the most probable classes up to a total.", "lac"
    )
    calibration: Literal["conservative", "sampled", "optimistic"] = option(
        "conservative|sampled|optimistic",
        "Use of the training rows with several candidates. conservative: the worst, which keeps the guarantee; "
        "sampled: all of them, by their probabilities; optimistic: the best one.",
        "conservative",
    )
    class_conditional: bool = flag("Cover each class with the probability, and not only the classes on average.")

    def set_options(self) -> "CoverageOptions | None":
        """Return the options of the sets, None without a coverage; invalid ones are errors."""
        from oneof.persistence.prediction_sets import CoverageOptions

        if self.coverage is None:
            if any(getattr(self, one.name) != one.default for one in fields(CoverageGroup)):
                raise InputError("--set-method, --calibration and --class-conditional need --coverage: add it.")
            return None
        if not 0 < self.coverage < 1:
            raise InputError(f"--coverage must be above 0 and below 1, such as 0.9; got {self.coverage:g}.")
        return CoverageOptions(self.coverage, self.set_method, self.calibration, self.class_conditional)


@dataclass(frozen=True)
class OnlineOptions:
    """Options of online learning."""

    TITLE: ClassVar[str] = "Data larger than memory"

    online: bool = flag("Learn in batches, from data of any size.")
    epochs: int = option("N", "Passes over the data.", 1, min=1)
    batch_rows: int = option("N", "Maximum number of rows in memory.", 10_000, min=1)
    hash_bits: int = option("BITS", "Hash words and categories to 2^BITS features.", 18, min=1, max=30)

    def check(self, context: typer.Context) -> None:
        """Raise if options were given that have no effect."""
        if self.online:
            reason = "cannot be combined with --online, which has no held-out predictions"
            check_unused(context, ("noise_rate", "class_weight", "calibrate"), reason)
            reason = "cannot be combined with --online: write checked labels into the label column"
            check_unused(context, ("gold",), reason)
            reason = "cannot be combined with --online, which reads the rows in order"
            check_unused(context, ("folds", "groups", "budget", "seed", "sheet"), reason)
            return
        names = ("epochs", "batch_rows", "hash_bits", "checkpoint_rows", "resume")
        check_unused(context, names, "needs --online: add it")
        if str(context.params.get("method")).lower() != "best":
            check_unused(context, ("budget",), "needs --method best: add it")


@dataclass(frozen=True)
class OnlineFitOptions(OnlineOptions):
    """Options of online learning, with those of checkpoints."""

    TITLE: ClassVar[str] = OnlineOptions.TITLE

    checkpoint_rows: int | None = option("N", "Save a checkpoint after N rows too, not only each minute.", min=1)
    resume: bool | None = flag(
        "Continue a stopped run from its checkpoint, or start again.", default=None, name="--resume/--restart"
    )
