"""Options of commands: records whose fields are options, and the parameters of typer that are made from them.

A command takes its options as frozen dataclasses, which it passes on unchanged. `option` and `flag` declare a field as
an option of the field's name, and `expand` turns the fields into the parameters of a command, and their values into the
records. The records are those of reading a table (`ReadOptions`), of fits, of predictions, and of `oneof label`,
whose `StoredSettings` are stored in the file of answers, so that a resumed session has them again.
"""

import csv
import functools
import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias, get_args, get_origin

import typer

from oneof.cli import terminal
from oneof.errors import InputError
from oneof.messages import write_names

if TYPE_CHECKING:
    from oneof.io import Overrides, TableOptions, TextOptions
    from oneof.io.answers import AnswerOptions
    from oneof.persistence.prediction_sets import CoverageOptions

NAMES = tuple[str, ...]
"""Type of the options whose values are names separated by commas; see `read_names`."""
TYPED = "oneof.typed"
"""Key of the line that was typed, in `Context.meta`."""

_OF_ONE_RUN = frozenset({"labels", "classes", "name", "port", "browser", "session_file", "exclude_annotator"})
_OF_IMPORTS = frozenset({"imports", "answers_row", "negation", "annotator", "answer"})
"""Options that are not stored; the file of answers has the classes."""
_FILES = ("gold", "images")
"""Options whose value may be a file or a folder, which is stored with its whole path."""

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


def options_to_dict(*records: Any) -> dict[str, Any]:
    """Return the options of records that differ from their defaults, by name, in the types of JSON."""
    options = {
        one.name: (one.default, getattr(record, one.name)) for record in records for one in option_fields(record)
    }
    return {name: terminal.to_builtin(value) for name, (default, value) in options.items() if value != default}


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
class WeightArguments:
    """Options of weighted labels, as arguments of `oneof.io.read_labels` and of `oneof.stream.StreamOptions`."""

    weighted: bool = False
    weights: str | None = None
    kind: str = "likelihood"
    rest: bool | str = False


@dataclass(frozen=True)
class LabelGroup:
    """Options of the labels of a table."""

    TITLE: ClassVar[str] = "Labels"

    labels: NAMES = option(
        "COLUMN",
        "Column of labels: text such as 'a|b', lists or whole numbers; empty or -1 is unlabeled. Or several columns "
        "with commas between: 0 and 1 of each class, or ranked labels.",
        (),
    )
    groups: str | None = option("COLUMN", "Column of groups, such as patients: rates are of new groups.")
    separator: str | None = option(
        "TEXT", "Text between two labels, or several: '| ;'. [] is a list of JSON. By default it is detected."
    )
    classes: NAMES | None = option("A,B,...", "All classes; by default those in the table.")
    fold_case: bool = flag("Read 'Sea Eagle' and 'sea_eagle' as one class.")
    weighted: bool = flag("Labels have weights: 'finch:0.7|wren:0.3', JSON, lists of pairs, or columns of numbers.")
    kind: Literal["likelihood", "posterior"] | None = option(
        "likelihood|posterior",
        "posterior: probabilities of the classes, as of a classifier; likelihood: of the evidence given the class, as "
        "shares of votes.",
    )
    rest: str | None = option(
        "auto|NAME", "Spread a rest over unlisted classes: auto, up to a sum of 1, or the weight of a label."
    )
    unreadable_labels: Literal["error", "unlabeled"] | None = option(
        "MODE", "error, or unlabeled: rows with defective labels have none."
    )


@dataclass(frozen=True)
class FeatureGroup:
    """Options of the features of a table."""

    TITLE: ClassVar[str] = "Features"

    drop: NAMES = option(
        "COLUMN",
        "Exclude columns: names or patterns such as 'q*', with commas between; '\"size, m\"' is one name. The next "
        "three options accept the same.",
        (),
    )
    text: NAMES = option("COLUMN", "Read columns as text, whose words become features.", ())
    categorical: NAMES = option("COLUMN", "Read columns as categories.", ())
    numeric: NAMES = option("COLUMN", "Read columns as numbers.", ())
    date_format: list[str] | None = option("FORMAT", "Format of dates to try first, such as '%d/%m/%Y'.")


@dataclass(frozen=True)
class WordGroup(FeatureGroup):
    """Options of features, with those of the words of texts."""

    stop_words: str = option("LIST", "Words to remove from text: english, none, or a file.", "none")
    stem: str = option("LANGUAGE", "Stem the words of text: english, german, ..., or none.", "none")


@dataclass(frozen=True)
class FileGroup:
    """Options of the file of a table."""

    TITLE: ClassVar[str] = "File, whose form is detected otherwise"

    format: str | None = option("NAME", "csv, tsv, jsonl, parquet, excel or npz; online also svmlight or arrow.")
    sheet: str | None = option("NAME", "Sheet of a spreadsheet; by default the first one.")
    delimiter: str | None = option("CHARACTER", "Delimiter of CSV: a character, or comma, semicolon, tab, pipe.")
    decimal: str | None = option(".|,", "Decimal separator of numbers such as 1,234 in CSV.")
    encoding: str | None = option("NAME", "Encoding of CSV, such as utf-8 or latin-1.")
    quote: str | None = option("MARK", "Quotation mark of CSV: double, single or none.")
    missing: NAMES = option("TOKENS", "Tokens of missing values besides NA, NaN, null, ? ...: '-,x'.", ())
    strict: bool = flag("Refuse cells that are not of the kind of their column.")

    @cached_property
    def table(self) -> "TableOptions":
        """The options of the file; those of dates and labels have their defaults."""
        from oneof.io import CellFormat, TableOptions, make_dialect

        dialect = make_dialect(self.encoding, self.delimiter, self.decimal, self.quote)
        return TableOptions(dialect, CellFormat(missing=self.missing), self.strict, self.format, self.sheet)


@dataclass(frozen=True)
class JoinGroup:
    """Options by which a file of answers is joined to a table."""

    TITLE: ClassVar[str] = "Answers of annotators"

    row: str | None = option("COLUMN", "Names of the rows in both tables; by default row, or numbers.")
    annotator: str | None = option("COLUMN", "Column of the annotators; by default annotator or worker.")
    answer: str | None = option("COLUMN", "Labels, by default answer or label; or a question of an export.")
    answers_row: str | None = option("COLUMN", "Column of the names of the rows in the answers, if not --row.")
    exclude_annotator: NAMES = option("NAME", "Do not use the answers of an annotator in this run.", ())
    negation: str | None = option("TEXT", "Text before a label that the row does not have, such as '!'.", name="--not")

    def answer_options(self, path: Path, **more: Any) -> "AnswerOptions":
        """Return the options by which a file of answers is read."""
        from oneof.io.answers import AnswerOptions

        columns = (self.row, self.annotator, self.answer)
        return AnswerOptions(path, *columns, answers_row=self.answers_row, negation=self.negation, **more)


@dataclass(frozen=True)
class TableReadOptions(FileGroup, FeatureGroup, LabelGroup):
    """Options of `oneof label` for reading a table."""


@dataclass(frozen=True)
class LabelWeightGroup(LabelGroup):
    """Options of labels, with those of all commands but `oneof label`."""

    weight_column: str | None = option(
        "COLUMN",
        "Column of the weights: '0.7|0.3' or lists; or one for each label column. With --answers, of the confidences.",
        name="--weights",
    )
    truth: str | None = option("COLUMN", "Column of true labels, for evaluation and calibration.")
    gold: str | None = option("COLUMN", "Column of TABLE with checked labels, in place of the others.")


@dataclass(frozen=True)
class AnswerGroup(JoinGroup):
    """Options of the answers of annotators."""

    answers_file: Path | None = option(
        "FILE",
        "Estimate labels from answers: a line for each, or a column of each annotator; or an export of Label Studio, "
        "doccano, Argilla or Prodigy.",
        name="--answers",
    )
    rules: Literal["auto", "yes", "no"] = option(
        "auto|yes|no", "Whether annotators are rules, which choose their rows. auto: it is detected.", "auto"
    )


@dataclass(frozen=True)
class ReadOptions(AnswerGroup, WordGroup, LabelWeightGroup, TableReadOptions):
    """Options for reading a table, of all commands that have labels."""

    lists_unreadable: bool = False
    """Whether rows whose labels cannot be read are only listed, by a command that does not use their labels."""

    @cached_property
    def table(self) -> "TableOptions":
        """The options of the file, with those of dates and labels."""
        is_unlabeled = self.lists_unreadable or self.unreadable_labels == "unlabeled"
        cells = replace(
            super().table.cell_format,
            dates=tuple(self.date_format or ()),
            folds_labels=self.fold_case,
            label_errors="unlabeled" if is_unlabeled else "raise",
        )
        return replace(super().table, cell_format=cells)

    @cached_property
    def overrides(self) -> "Overrides":
        """The kinds of columns."""
        from oneof.io import Overrides

        return Overrides(numbers=self.numeric, categories=self.categorical, texts=self.text, drop=self.drop)

    @cached_property
    def text_options(self) -> "TextOptions":
        """Stop words and stems of the text columns."""
        from oneof.io import read_text_options

        return read_text_options(self.stop_words, self.stem)

    @cached_property
    def answers(self) -> "AnswerOptions | None":
        """The file of answers; None without one."""
        if self.answers_file is None:
            return None
        others = frozenset(filter(None, (self.truth, self.gold, self.groups)))
        more = {"excluded": self.exclude_annotator, "rules": self.rules, "weight": self.weight_column}
        return self.answer_options(self.answers_file, other_uses=others, **more)

    def input_files(self, table: Path) -> list[Path]:
        """Return the files that are read: the table, and that of the answers."""
        return [table, *([] if self.answers_file is None else [self.answers_file])]

    @property
    def weights(self) -> WeightArguments:
        """The options of weighted labels."""
        rest = True if self.rest == "auto" else self.rest or False
        weighted = self.weighted or self.weight_column is not None
        return WeightArguments(weighted, self.weight_column, self.kind or "likelihood", rest)

    @property
    def text_columns(self) -> set[str]:
        """Columns read as text: labels, weights, true and checked labels, groups, and names of rows in answers."""
        from oneof.io.answers import ROW

        names = [*self.weight_columns, self.truth, self.gold, self.groups]
        names += [] if self.answers is None else [self.answers.row or ROW, *(self.answers.candidate_columns or ())]
        return {*self.labels, *(name for name in names if name is not None)}

    @property
    def weight_columns(self) -> tuple[str, ...]:
        """Columns of weights: one, or one for each of several label columns."""
        if self.weight_column is None:
            return ()
        return read_names("--weights", [self.weight_column]) if len(self.labels) > 1 else (self.weight_column,)

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Columns of labels of the table; with answers, that of the checked labels."""
        if self.answers is not None and self.answers.candidate_columns is not None:
            return self.answers.candidate_columns[:1]
        return self.labels if self.answers is None or self.gold is None else (self.gold,)

    def with_candidate_columns(self) -> "ReadOptions":
        """Return the options of a table that has the candidates and confidences of a file of answers as columns."""
        if self.answers is None or self.answers.candidate_columns is None:
            return self
        label, weight = self.answers.candidate_columns
        drop = self.drop if self.row is None else (*self.drop, self.row)
        return replace(self, labels=(label,), weighted=True, weight_column=weight, answers_file=None, drop=drop)

    def check_weights(self) -> None:
        """Raise if options of weights have no effect, and print a note if the kind of weights is not given."""
        for name, text in (("--kind", self.kind), ("--rest", self.rest)):
            if text is not None and not self.weights.weighted:
                raise InputError(f"{name} needs weighted labels: add --weighted, or --weights COLUMN.")
        if self.weights.weighted and self.kind is None:
            terminal.print_note(
                "the weights are read as likelihoods. If they are probabilities of the classes, such as the output of "
                "a classifier or a language model, add --kind posterior; otherwise add --kind likelihood."
            )

    def checked(self, context: typer.Context) -> "ReadOptions":
        """Return the options of a command line, after checks of their combinations and their values."""
        self.check_weights()
        if self.answers_file is None:
            names = ("row", "annotator", "answer", "answers_row", "rules", "exclude_annotator", "negation")
            check_unused(context, names, "needs --answers: add it")
        else:
            remedy = ": name checked labels by --gold" * bool(self.labels)
            others = " and --weights" * bool(self.weight_column)
            more = ("negation",) if self.weight_column else ("noise_rate", "class_weight")
            reason = f"cannot be combined with --answers{others}{remedy}"
            check_unused(context, ("labels", "weighted", "online", *more), reason)
        _ = self.table, self.overrides
        return self


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
    budget: float = option("MINUTES", "Time for a comparison of methods.", 10.0, min=0.01)
    seed: int = option("N", "Random seed.", 0, min=0)

    @property
    def weights_of_classes(self) -> str | None:
        """The weights of the classes: "balanced" or None."""
        return None if self.class_weight == "none" else self.class_weight


@dataclass(frozen=True)
class FitOptions(CompareOptions):
    """Options of a fit; auto is the default method."""

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

    checkpoint_rows: int | None = option("N", "Save a checkpoint after N rows too, not only each minute.", min=1)
    resume: bool | None = flag(
        "Continue a stopped run from its checkpoint, or start again.", default=None, name="--resume/--restart"
    )


@dataclass(frozen=True)
class OutputGroup:
    """Options of the file of predictions."""

    TITLE: ClassVar[str] = "Predictions"

    out: str | None = option("FILE", "CSV file to write, or - for standard output; by default TABLE-predictions.csv.")
    truth: str | None = option("COLUMN", "Column of true labels, for evaluation.")
    keep: NAMES = option(
        "COLUMN",
        "Copy a column of the table to the predictions, such as the name of a file. Repeat the option, or separate "
        "names by commas. Columns that identify the rows are copied without the option, unless they were dropped by "
        "`fit`.",
        (),
    )
    as_labels: bool = flag(
        "Add the column `labels` with the probabilities as text, such as 'finch:0.7|wren:0.3', which `fit --labels "
        "labels --weighted --kind posterior` reads."
    )


@dataclass(frozen=True)
class PredictOptions(FileGroup, CoverageGroup, OutputGroup):
    """Options of predictions.

    Cells that are not of the kind of their column, and features that no object of JSON lines has, are missing values,
    with a note, unless they are refused by `strict`.
    """


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

    def gold_column(self) -> list[str]:
        """Return the column of --gold; an empty list if it is a file."""
        return [] if self.gold is None or Path(self.gold).is_file() else [self.gold]

    def numbers(self) -> tuple[int, int | None]:
        """Return the numbers of --annotations-per-item: required and maximum."""
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


def stored_fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record that are stored, by name."""
    return {one.name: one for one in option_fields(record) if one.name not in _OF_ONE_RUN | _OF_IMPORTS}


@dataclass(frozen=True)
class StoredSettings:
    """Settings of a run of `oneof label`, which are stored in the file of answers.

    An option is stored if it is given on the command line. A later run without the option has the stored value; a run
    with the option replaces it. Options of a single run, such as --export, and the labels are not stored.

    Attributes
    ----------
    fields : dict of str to Field
        The options that are stored.
    given : dict of str to JSON value
        Options of the command line, by parameter.
    stored : dict of str to JSON value
        Options of earlier runs.
    """

    fields: dict[str, Any]
    given: dict[str, Any]
    stored: dict[str, Any]

    @classmethod
    def read(cls, context: typer.Context, records: Sequence[Any], path: Path) -> "StoredSettings":
        """Return the options of a command line, and the valid ones in a file of answers."""
        from oneof.labeling.answers.database import stored_settings

        known = {name: one for record in records for name, one in stored_fields(record).items()}
        values = {name: getattr(record, name) for record in records for name in stored_fields(record)}
        given = {name: to_json(name, value) for name, value in values.items() if is_given(context, name)}
        found = stored_settings(path)  # a later version may have stored others
        return cls(known, given, {name: found[name] for name in known if _is_valid(known[name], found.get(name))})

    def apply(self, record: Any) -> Any:
        """Return a record of options with the stored values in place of those that are not given."""
        used = self.resumed.keys() & stored_fields(record)
        return replace(record, **{name: _from_json(self.fields[name], self.stored[name]) for name in used})

    @property
    def resumed(self) -> dict[str, Any]:
        """Stored options that are not given on the command line."""
        return {name: value for name, value in self.stored.items() if name not in self.given}

    def notes(self, path: Path) -> list[str]:
        """Return a sentence about the stored options that are used, if there are any."""
        if not self.resumed:
            return []
        words = shlex.join(word for name, value in self.resumed.items() for word in as_words(self.fields[name], value))
        return [
            f"{path} has settings of an earlier run, which are used: {words}. A value on the command line replaces a "
            "setting."
        ]

    def store(self, path: Path) -> None:
        """Store the settings in an existing file of answers, if they have changed."""
        from oneof.labeling.answers.database import store_settings

        merged = self.stored | self.given
        if merged != self.stored:
            store_settings(path, merged)


def as_words(one: Any, value: Any) -> list[str]:
    """Return a stored option, by its field, as words of a command line."""
    name, _, off = option_name(one).partition("/")
    if isinstance(value, bool):
        return [name if value else off or name.replace("--", "--no-", 1)]
    if one.type in (NAMES, NAMES | None):
        return [name, write_names(value)]
    if isinstance(value, list):
        return [name, *value] if one.name == "show" else [word for entry in value for word in (name, entry)]
    return [name, str(value)]


def to_json(name: str, value: Any) -> Any:
    """Return the value of an option in the types of JSON."""
    if name in _FILES and Path(value).exists():
        return str(Path(value).absolute())
    return terminal.to_builtin(value)


def _from_json(one: Any, value: Any) -> Any:
    """Return the value of an option from the types of JSON."""
    if isinstance(value, list) and one.type != list[str] | None:
        return tuple(value)
    return Path(value) if one.name == "images" else value


def _is_valid(one: Any, value: Any) -> bool:
    """Return whether a stored value has the type of its option."""
    if one.type in (NAMES, NAMES | None, list[str] | None) or one.name == "show":
        is_text = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
        return is_text and (one.name != "show" or len(value) == 2)
    return isinstance(value, bool if one.type is bool else str)
