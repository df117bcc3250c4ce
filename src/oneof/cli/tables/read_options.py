"""Options of commands for reading a table: its labels, answers, features and file, as one record."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import typer

from oneof.cli.options import NAMES, check_unused, flag, option, read_names
from oneof.cli.output import terminal

if TYPE_CHECKING:
    from oneof.io import Overrides, TableOptions
    from oneof.io.answers import AnswerOptions


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
class WordGroup:
    """Options of the words of texts."""

    TITLE: ClassVar[str] = FeatureGroup.TITLE

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


@dataclass(frozen=True)
class TableReadOptions(FileGroup, FeatureGroup, LabelGroup):
    """Options of `oneof label` for reading a table."""

    def read_options(self, groups: str | None) -> "ReadOptions":
        """Return the options of a table with a column of groups."""
        return ReadOptions(**{one.name: getattr(self, one.name) for one in fields(self)} | {"groups": groups})


@dataclass(frozen=True)
class LabelWeightGroup:
    """Further options of labels, of all commands but `oneof label`."""

    TITLE: ClassVar[str] = LabelGroup.TITLE

    weight_column: str | None = option(
        "COLUMN",
        "Column of the weights: '0.7|0.3' or lists; or one for each label column. With --answers, of the confidences.",
        name="--weights",
    )
    truth: str | None = option("COLUMN", "Column of true labels, for evaluation and calibration.")


@dataclass(frozen=True)
class AnswerGroup(JoinGroup):
    """Options of the answers of annotators."""

    TITLE: ClassVar[str] = JoinGroup.TITLE

    answers_file: Path | None = option(
        "FILE",
        "Estimate labels from answers: a line for each, or a column of each annotator; or an export of Label Studio, "
        "doccano, Argilla or Prodigy.",
        name="--answers",
    )
    rules: Literal["auto", "yes", "no"] = option(
        "auto|yes|no", "Whether annotators are rules, which choose their rows. auto: it is detected.", "auto"
    )
    gold: str | None = option("COLUMN", "Column of TABLE with checked labels, in place of the others.")


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
    def answers(self) -> "AnswerOptions | None":
        """The file of answers; None without one."""
        from oneof.io.answers import AnswerOptions

        if self.answers_file is None:
            return None
        columns = (self.row, self.annotator, self.answer, self.exclude_annotator, self.answers_row)
        others = frozenset(filter(None, (self.truth, self.gold, self.groups)))
        return AnswerOptions(self.answers_file, *columns, self.rules, self.negation, self.weight_column, others)

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
        from oneof.errors import InputError

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
            unused = ("labels", "weighted", "online", *(() if self.weight_column else ("noise_rate", "class_weight")))
            check_unused(context, unused, f"cannot be combined with --answers{remedy}")
            if self.weight_column:
                reason = "cannot be combined with --weights, which read candidates: remove one"
                check_unused(context, ("negation",), reason)
        _ = self.table, self.overrides
        return self
