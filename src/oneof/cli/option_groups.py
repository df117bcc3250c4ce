"""Groups of options of several commands, which a command takes as one argument each.

`oneof.cli.expand` replaces a parameter of a command whose type is a group by the options of the group.
`ReadGroup` has those for reading a table, and returns them as one record.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    read_names,
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

    separator: Annotated[
        str | None,
        typer.Option(
            "--separator",
            metavar="TEXT",
            help="Text between two labels of a cell, or several with spaces between them, such as '| ;'; '[]' for "
            "lists of JSON or Python. By default '|', or ';', ',', ' / ' or '[]' if it plainly separates labels.",
        ),
    ] = None
    classes: Annotated[
        str | None,
        typer.Option(
            "--classes",
            metavar="A,B,...",
            help="All classes; by default those in the table. A class with a comma is in double quotes. Use = if the "
            "first begins with a minus sign: --classes=-1,1.",
        ),
    ] = None
    fold_case: Annotated[
        bool,
        typer.Option(
            "--fold-case",
            help="Read labels that differ only in case, spaces, underscores or hyphens as one class, named by its most "
            "frequent spelling: 'Sea Eagle' and 'sea_eagle'. Weights that a row has for them are merged.",
        ),
    ] = False
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted",
            help="The labels have weights: text such as 'finch:0.7|wren:0.3', JSON objects, lists of pairs or of "
            "records with the keys label and probability, or several label columns of numbers. Cells without numbers "
            "are sets; [] and {} are unlabeled.",
        ),
    ] = False
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="likelihood|posterior",
            help="Meaning of the weights. posterior: probabilities of the classes, such as the output of a classifier "
            "or a language model; they are divided by their mean over the rows. likelihood: probabilities of the "
            "evidence if the class is true, such as shares of votes or the accuracy of a rule. By default likelihood, "
            "with a note.",
        ),
    ] = None
    unreadable_labels: Annotated[
        str | None,
        typer.Option(
            "--unreadable-labels",
            metavar="error|unlabeled",
            help="Rows whose labels cannot be read, such as broken JSON or a weight below 0: stop with an error, or "
            "read them as unlabeled rows, with a note. A label that is not in --classes cannot be read.",
        ),
    ] = None
    rest: Annotated[
        str | None,
        typer.Option(
            "--rest",
            metavar="auto|NAME",
            help="Spread a rest over the classes that a row does not list. auto: the difference of the sum of the "
            "weights from 1. Otherwise the name of a label such as 'other', with its weight. By default unlisted "
            "classes are ruled out.",
        ),
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
        for option, value in (("--kind", self.kind), ("--rest", self.rest)):
            if value is not None and not weighted:
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

    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop",
            metavar="COLUMN",
            help="Exclude a column, such as an identifier. Repeat the option, or separate names by commas; a name with "
            "a comma is in double quotes: '\"size, m\"'. A name may be a pattern such as 'q*'. The options below "
            "accept the same.",
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option("--text", metavar="COLUMN", help="Read a column as text, whose words become features."),
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", metavar="COLUMN", help="Read a column as categories.")
    ] = None
    numeric: Annotated[
        list[str] | None, typer.Option("--numeric", metavar="COLUMN", help="Read a column as numbers.")
    ] = None
    date_format: Annotated[
        list[str] | None,
        typer.Option(
            "--date-format",
            metavar="FORMAT",
            help="Format of dates that is tried first, such as '%d/%m/%Y'. Others are detected. Repeat the option for "
            "several.",
        ),
    ] = None
    stop_words: Annotated[
        str,
        typer.Option(
            "--stop-words",
            metavar="LIST",
            help="Words to remove from text columns: english, none, or a file with one word per line.",
        ),
    ] = "none"
    stem: Annotated[
        str,
        typer.Option(
            "--stem",
            metavar="LANGUAGE",
            help="Reduce the words of text columns to stems: english, german, ..., or none. Stop words are removed "
            "first.",
        ),
    ] = "none"


@dataclass(frozen=True)
class FileGroup:
    """Options of the file of a table."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help="Format of standard input, or of a file without a known extension: csv, tsv, jsonl, parquet, excel or "
            "npz; online csv, tsv, jsonl, svmlight, parquet or arrow.",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", metavar="NAME", help="Sheet of a spreadsheet; by default the first one."),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            "--delimiter",
            metavar="CHARACTER",
            help="Delimiter of the cells of CSV: a character, or comma, semicolon, tab or pipe. By default it is "
            "detected.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(
            "--decimal",
            metavar=".|,",
            help="Decimal separator of columns of numbers in CSV that do not show it, such as 1,234. By default it is "
            "detected.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Encoding of CSV, such as utf-8, latin-1 or utf-16. By default it is detected.",
        ),
    ] = None
    quote: Annotated[
        str | None,
        typer.Option(
            "--quote",
            metavar="MARK",
            help="Quotation mark around cells of CSV: double, single or none, if marks are ordinary characters. By "
            "default it is detected.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="TOKENS",
            help="Further tokens of missing values, such as '-,x'; a token with a comma is in double quotes. NA, n.a., "
            "NaN, null, ? and similar ones are known, and in columns of numbers or dates also -, ., None and unknown.",
        ),
    ] = None
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse cells that are not of the kind of their column, such as a word among numbers. By default they "
            "are missing values, and a note counts and names them.",
        ),
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

    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="Answers of annotators, from which labels are estimated: a table with a line for each, or a column "
            "for each annotator, where 'a|b' is a set; or an export of Label Studio, doccano, Argilla or Prodigy. With "
            "--weights COLUMN, a line for each candidate and its confidence.",
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
        typer.Option(
            "--gold",
            metavar="COLUMN",
            help="Column of TABLE with checked labels of some rows, which are used in training in place of the labels "
            "or answers of these rows.",
        ),
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

    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="Name of a method, best, or auto. auto is LOORidge, which ignores unlabeled rows. best compares all "
            "methods except slow ones such as PLGP, and fits the best one. A name may have parameters: "
            "LOORidge:distractors=cooccurring, or MaxPegasos:n_epochs=50,lam=0.001.",
        ),
    ] = "auto"
    out: Annotated[Path | None, typer.Option("--out", metavar="DIR", help="Output folder; by default TABLE-oneof.")] = (
        None
    )
    noise_rate: options.NoiseRate = None
    class_weight: options.ClassWeight = "none"
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Scale the probabilities of the model by a temperature that fits the held-out rows with a true "
            "(--truth) or checked label (--gold), if this lowers their log loss by cross-validation. At least 50 "
            "labeled rows with such a label are needed. Predicted labels do not change.",
        ),
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

    coverage: Annotated[
        float | None,
        typer.Option(
            "--coverage",
            metavar="PROBABILITY",
            help="Add to each prediction a set of classes that contains the true label with this probability, such as "
            "0.9. In a table these are the columns `set`, which `fit --labels set` reads, and `set_size`.",
        ),
    ] = None
    set_method: Annotated[
        str,
        typer.Option(
            "--set-method",
            metavar="lac|aps",
            help="Prediction sets: lac excludes improbable classes, aps adds the most probable classes up to a total.",
        ),
    ] = "lac"
    calibration: Annotated[
        str,
        typer.Option(
            "--calibration",
            metavar="conservative|sampled|optimistic",
            help="Prediction sets: use of the training rows with several candidates. conservative: the worst, which "
            "keeps the guarantee; sampled: all of them, by their probabilities; optimistic: the best one.",
        ),
    ] = "conservative"
    class_conditional: Annotated[
        bool,
        typer.Option(
            "--class-conditional",
            help="Prediction sets: cover each class with the probability, and not only the classes on average.",
        ),
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

    online: Annotated[
        bool, typer.Option("--online", help="Learn in batches from data that may be larger than memory.")
    ] = False
    epochs: Annotated[
        int, typer.Option("--epochs", metavar="N", min=1, help="Online: number of passes over the data.")
    ] = 1
    batch_rows: Annotated[
        int, typer.Option("--batch-rows", metavar="N", min=1, help="Online: maximum number of rows in memory.")
    ] = 10_000
    hash_bits: Annotated[
        int,
        typer.Option(
            "--hash-bits",
            metavar="BITS",
            min=1,
            max=30,
            help="Online: hash words and categories to 2^BITS feature columns.",
        ),
    ] = 18

    def check(self, context: typer.Context, *only_online: str) -> None:
        """Raise if options were given that have no effect; `only_online` names further options of online learning."""
        if self.online:
            reason = "cannot be combined with --online, which has no held-out predictions"
            check_unused(context, ("noise_rate", "class_weight", "calibrate"), reason)
            reason = "cannot be combined with --online: write checked labels into the label column"
            check_unused(context, ("gold",), reason)
            reason = "cannot be combined with --online, which reads the rows in order"
            check_unused(context, ("folds", "groups", "budget", "seed", "sheet"), reason)
            return
        check_unused(context, ("epochs", "batch_rows", "hash_bits", *only_online), "needs --online: add it")
        if str(context.params.get("method")).lower() != "best":
            check_unused(context, ("budget",), "needs --method best: add it")


@dataclass(frozen=True, kw_only=True)
class ReadGroup:
    """Options for reading a table, of all commands that have labels."""

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
