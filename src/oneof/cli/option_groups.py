"""Groups of options of several commands, which a command takes as one argument each.

`oneof.cli.expand` replaces a parameter of a command whose type is a group by the options of the group.
`ReadGroup` has those for reading a table, and returns them as one record.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from oneof.cli import options
from oneof.cli.options import (
    Annotator,
    Answer,
    AnswersRow,
    ExcludeAnnotator,
    Negation,
    Row,
    Rules,
    check_unused,
    flag,
    read_names,
    value,
)
from oneof.cli.output import terminal

if TYPE_CHECKING:
    from oneof.cli.prediction.sets import SetOptions
    from oneof.cli.tables.read_options import ReadOptions, WeightArguments
    from oneof.io import TableOptions
    from oneof.io.answers import AnswerOptions


@dataclass(frozen=True)
class LabelGroup:
    """Options of the labels of a table."""

    TITLE: ClassVar[str] = "Labels"

    separator: Annotated[
        str | None,
        value(
            "--separator",
            "TEXT",
            "Text between two labels, or several: '| ;'. [] is a list of JSON. By default it is detected.",
        ),
    ] = None
    classes: Annotated[str | None, value("--classes", "A,B,...", "All classes; by default those in the table.")] = None
    fold_case: Annotated[bool, flag("--fold-case", "Read 'Sea Eagle' and 'sea_eagle' as one class.")] = False
    weighted: Annotated[
        bool,
        flag("--weighted", "Labels have weights: 'finch:0.7|wren:0.3', JSON, lists of pairs, or columns of numbers."),
    ] = False
    kind: Annotated[
        str | None,
        value(
            "--kind",
            "likelihood|posterior",
            "posterior: probabilities of the classes, as of a classifier; likelihood: of the evidence given the "
            "class, as shares of votes.",
        ),
    ] = None
    rest: Annotated[
        str | None,
        value(
            "--rest",
            "auto|NAME",
            "Spread a rest over unlisted classes: auto, up to a sum of 1, or the weight of a label.",
        ),
    ] = None
    unreadable_labels: Annotated[
        str | None,
        value("--unreadable-labels", "MODE", "error, or unlabeled: rows with defective labels have none."),
    ] = None

    def label_errors(self, default: str = "error") -> str:
        """Return the treatment of unreadable labels: "raise" or "unlabeled"."""
        from oneof.errors import InputError

        value = (self.unreadable_labels or default).strip().lower()
        if value not in ("error", "unlabeled"):
            raise InputError(f"--unreadable-labels must be error or unlabeled; got {self.unreadable_labels!r}.")
        return "raise" if value == "error" else "unlabeled"

    def weight_arguments(self, weights: str | None = None) -> "WeightArguments":
        """Return the options of weighted labels as arguments of `oneof.io.read_labels`."""
        from oneof.cli.tables.read_options import WeightArguments
        from oneof.errors import InputError

        weighted = self.weighted or weights is not None
        for option, text in (("--kind", self.kind), ("--rest", self.rest)):
            if text is not None and not weighted:
                raise InputError(f"{option} needs weighted labels: add --weighted, or --weights COLUMN.")
        if self.kind not in (None, "likelihood", "posterior"):
            raise InputError(f"--kind must be likelihood or posterior; got {self.kind!r}.")
        if weighted and self.kind is None:
            terminal.print_note(
                "the weights are read as likelihoods. If they are probabilities of the classes, such as the output of "
                "a classifier or a language model, add --kind posterior; otherwise add --kind likelihood."
            )
        rest = True if self.rest == "auto" else self.rest or False
        return WeightArguments(weighted, weights, self.kind or "likelihood", rest)


@dataclass(frozen=True)
class FeatureGroup:
    """Options of the features of a table."""

    TITLE: ClassVar[str] = "Features"

    drop: Annotated[
        list[str] | None,
        value(
            "--drop",
            "COLUMN",
            "Exclude columns: names or patterns such as 'q*', with commas between; '\"size, m\"' is one name. The "
            "next three options accept the same.",
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        value("--text", "COLUMN", "Read columns as text, whose words become features."),
    ] = None
    categorical: Annotated[list[str] | None, value("--categorical", "COLUMN", "Read columns as categories.")] = None
    numeric: Annotated[list[str] | None, value("--numeric", "COLUMN", "Read columns as numbers.")] = None
    date_format: Annotated[
        list[str] | None,
        value("--date-format", "FORMAT", "Format of dates to try first, such as '%d/%m/%Y'."),
    ] = None
    stop_words: Annotated[
        str,
        value(
            "--stop-words",
            "LIST",
            "Words to remove from text: english, none, or a file. Default none.",
            show_default=False,
        ),
    ] = "none"
    stem: Annotated[
        str,
        value(
            "--stem",
            "LANGUAGE",
            "Stem the words of text: english, german, ..., or none. Default none.",
            show_default=False,
        ),
    ] = "none"


@dataclass(frozen=True)
class FileGroup:
    """Options of the file of a table."""

    TITLE: ClassVar[str] = "File, whose form is detected otherwise"

    format: Annotated[
        str | None,
        value("--format", "NAME", "csv, tsv, jsonl, parquet, excel or npz; online also svmlight or arrow."),
    ] = None
    sheet: Annotated[str | None, value("--sheet", "NAME", "Sheet of a spreadsheet; by default the first one.")] = None
    delimiter: Annotated[
        str | None,
        value("--delimiter", "CHARACTER", "Delimiter of CSV: a character, or comma, semicolon, tab, pipe."),
    ] = None
    decimal: Annotated[str | None, value("--decimal", ".|,", "Decimal separator of numbers such as 1,234 in CSV.")] = (
        None
    )
    encoding: Annotated[str | None, value("--encoding", "NAME", "Encoding of CSV, such as utf-8 or latin-1.")] = None
    quote: Annotated[str | None, value("--quote", "MARK", "Quotation mark of CSV: double, single or none.")] = None
    missing: Annotated[
        list[str] | None,
        value("--missing", "TOKENS", "Tokens of missing values besides NA, NaN, null, ? ...: '-,x'."),
    ] = None
    strict: Annotated[
        bool,
        flag("--strict", "Refuse cells that are not of the kind of their column."),
    ] = False

    def table_options(
        self, date_format: list[str] | None = None, *, folds_labels: bool = False, label_errors: str = "raise"
    ) -> "TableOptions":
        """Return the options of the file, with formats of dates that are tried first, and those of labels."""
        from oneof.io import CellFormat, TableOptions, make_dialect

        return TableOptions(
            dialect=make_dialect(self.encoding, self.delimiter, self.decimal, self.quote),
            cell_format=CellFormat(
                missing=read_names("--missing", self.missing),
                dates=tuple(date_format or ()),
                folds_labels=folds_labels,
                label_errors=label_errors,
            ),
            strict=self.strict,
            format=self.format,
            sheet=self.sheet,
        )


@dataclass(frozen=True)
class AnswerGroup:
    """Options of the answers of annotators."""

    TITLE: ClassVar[str] = "Answers of annotators"

    answers: Annotated[
        Path | None,
        value(
            "--answers",
            "FILE",
            "Estimate labels from answers: a line for each, or a column of each annotator; or an export of Label "
            "Studio, doccano, Argilla or Prodigy.",
        ),
    ] = None
    row: Row = None
    annotator: Annotator = None
    answer: Answer = None
    answers_row: AnswersRow = None
    rules: Rules = "auto"
    exclude_annotator: ExcludeAnnotator = None
    negation: Negation = None
    gold: Annotated[
        str | None,
        value("--gold", "COLUMN", "Column of TABLE with checked labels, in place of the others."),
    ] = None

    def answer_options(self, context: typer.Context) -> "AnswerOptions | None":
        """Return the options of the answers, None without a file of answers; combinations are checked."""
        from oneof.io.answers import AnswerOptions

        if self.answers is None:
            names = ("row", "annotator", "answer", "answers_row", "rules", "exclude_annotator", "negation")
            check_unused(context, names, "needs --answers: add it")
            return None
        remedy = ": name checked labels by --gold" * bool(context.params.get("labels"))
        weight = context.params.get("weights")
        unused = ("labels", "weighted", "online", *(() if weight else ("noise_rate", "class_weight")))
        check_unused(context, unused, f"cannot be combined with --answers{remedy}")
        if weight:
            check_unused(context, ("negation",), "cannot be combined with --weights, which read candidates: remove one")
        excluded = read_names("--exclude-annotator", self.exclude_annotator)
        return AnswerOptions(
            self.answers,
            self.row,
            self.annotator,
            self.answer,
            excluded,
            self.answers_row,
            self.rules,
            negation=self.negation,
            weight=weight,
        )


@dataclass(frozen=True)
class FitOptions:
    """Options of a fit."""

    TITLE: ClassVar[str] = "Model"

    method: Annotated[
        str,
        value(
            "--method",
            "NAME",
            "auto (LOORidge), best (compare all), or a name, such as CLPL, or with parameters "
            "LOORidge:distractors=cooccurring.",
            show_default=False,
        ),
    ] = "auto"
    out: Annotated[Path | None, value("--out", "DIR", "Output folder; by default TABLE-oneof.")] = None
    noise_rate: options.NoiseRate = None
    class_weight: options.ClassWeight = "none"
    calibrate: Annotated[
        bool,
        flag("--calibrate", "Scale probabilities, by 50 or more true or checked labels."),
    ] = False
    folds: options.Folds = None
    budget: options.Budget = options.DEFAULT_BUDGET
    seed: options.Seed = 0

    def folder(self, table: Path) -> Path:
        """Return the output folder of a table."""
        from oneof.io import stem_of

        return self.out or Path(f"{stem_of(table)}-oneof")

    @property
    def rate(self) -> float | str | None:
        """The noise rate: a number, "auto", or None."""
        return options.read_noise_rate(self.noise_rate)

    @property
    def weights_of_classes(self) -> str | None:
        """The weights of the classes: "balanced" or None."""
        return options.read_class_weight(self.class_weight)

    @property
    def limit(self) -> float | None:
        """Minutes for the comparison of methods; None for one method."""
        return self.budget if self.method.lower() == "best" else None


@dataclass(frozen=True)
class CoverageGroup:
    """Options of prediction sets."""

    TITLE: ClassVar[str] = "Prediction sets"

    coverage: Annotated[
        float | None,
        value(
            "--coverage",
            "PROBABILITY",
            "Add to each prediction a set of classes that contains the true label with this probability, such as "
            "0.9. In a table these are the columns `set`, which `fit --labels set` reads, and `set_size`.",
        ),
    ] = None
    set_method: Annotated[
        str,
        value(
            "--set-method",
            "lac|aps",
            "lac excludes improbable classes, aps adds the most probable classes up to a total.",
        ),
    ] = "lac"
    calibration: Annotated[
        str,
        value(
            "--calibration",
            "conservative|sampled|optimistic",
            "Use of the training rows with several candidates. conservative: the worst, which keeps the guarantee; "
            "sampled: all of them, by their probabilities; optimistic: the best one.",
        ),
    ] = "conservative"
    class_conditional: Annotated[
        bool,
        flag("--class-conditional", "Cover each class with the probability, and not only the classes on average."),
    ] = False

    def set_options(self) -> "SetOptions | None":
        """Return the options of the sets, None without a coverage; invalid ones are errors."""
        from oneof.cli.prediction.sets import SetOptions
        from oneof.errors import InputError

        if self.coverage is not None:
            return SetOptions(self.coverage, self.set_method, self.calibration, self.class_conditional)
        if self != CoverageGroup():
            raise InputError("--set-method, --calibration and --class-conditional need --coverage: add it.")
        return None


@dataclass(frozen=True)
class OnlineGroup:
    """Options of online learning, without those of checkpoints."""

    TITLE: ClassVar[str] = "Data larger than memory"

    online: Annotated[bool, flag("--online", "Learn in batches, from data of any size.")] = False
    epochs: Annotated[int, value("--epochs", "N", "Passes over the data. Default 1.", min=1, show_default=False)] = 1
    batch_rows: Annotated[
        int,
        value("--batch-rows", "N", "Maximum number of rows in memory. Default 10,000.", min=1, show_default=False),
    ] = 10_000
    hash_bits: Annotated[
        int,
        value(
            "--hash-bits",
            "BITS",
            "Hash words and categories to 2^BITS features. Default 18.",
            min=1,
            max=30,
            show_default=False,
        ),
    ] = 18

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
class OnlineFitGroup(OnlineGroup):
    """Options of online learning."""

    checkpoint_rows: Annotated[
        int | None,
        value("--checkpoint-rows", "N", "Save a checkpoint after N rows too, not only each minute.", min=1),
    ] = None
    resume: Annotated[
        bool | None,
        flag("--resume/--restart", "Continue a stopped run from its checkpoint, or start again."),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ReadGroup:
    """Options for reading a table, of all commands that have labels."""

    TITLE: ClassVar[str] = "Labels"

    labels: options.LabelsOrNone = None
    truth: options.Truth = None
    groups: options.Groups = None
    label: LabelGroup
    weights: options.Weights = None
    answer: AnswerGroup
    feature: FeatureGroup
    file: FileGroup

    def options(self, context: typer.Context, *, is_inspection: bool = False) -> "ReadOptions":
        """Return the options of a command as one record; invalid ones are errors. See `read_options`."""
        return self.read_options(self.answer.answer_options(context), is_inspection=is_inspection)

    def read_options(self, answers: "AnswerOptions | None" = None, *, is_inspection: bool = False) -> "ReadOptions":
        """Return the options with those of a file of answers.

        An inspection lists labels that cannot be read, unless they are refused by the option.
        """
        from oneof.cli.tables.read_options import ReadOptions
        from oneof.io import Overrides

        label, feature = self.label, self.feature
        named = read_names("--classes", None if label.classes is None else [label.classes])
        return ReadOptions(
            labels=read_names("--labels", self.labels),
            truth=self.truth,
            groups=self.groups,
            gold=self.answer.gold,
            separator=label.separator,
            classes=None if label.classes is None else named,
            overrides=Overrides(
                numbers=read_names("--numeric", feature.numeric),
                categories=read_names("--categorical", feature.categorical),
                texts=read_names("--text", feature.text),
                drop=read_names("--drop", feature.drop),
            ),
            stop_words=feature.stop_words,
            stem=feature.stem,
            weights=label.weight_arguments(self.weights),
            answers=answers,
            table=self.file.table_options(
                feature.date_format,
                folds_labels=label.fold_case,
                label_errors=label.label_errors("unlabeled" if is_inspection else "error"),
            ),
            lists_unreadable=is_inspection and label.unreadable_labels is None,
        )
