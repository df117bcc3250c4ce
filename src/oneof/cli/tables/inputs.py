"""Reading of a training table as candidate sets, true labels and features."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR, LISTS
from oneof.cli.answers.files import TableAnswers, join_candidates, read_answers
from oneof.cli.tables.groups import count_groups, find_groups, read_groups
from oneof.cli.tables.leaks import find_leaks
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import InputError, LabelError, OneofError
from oneof.io import (
    CellFormat,
    Finding,
    Overrides,
    Table,
    TableFindings,
    TextOptions,
    UnreadableCells,
    check_no_weights,
    check_texts,
    choose_features,
    find_separator,
    join_label_columns,
    label_findings,
    notes,
    read_labels,
    read_text_options,
    read_truth,
    use_checked_labels,
)
from oneof.io.features import TableFeatures

if TYPE_CHECKING:
    import polars as pl

    from oneof.typing import Mask

REFUSED = " Other commands stop at such a row: correct it, or add --unreadable-labels unlabeled."
"""The remedy for labels that cannot be read, in a note of `oneof inspect`."""
UNREADABLE_OPTION = "--unreadable-labels unlabeled reads such rows as unlabeled rows."


@dataclass(frozen=True, kw_only=True)
class TableLabels:
    """Labels of a table.

    Attributes
    ----------
    candidates : CandidateSets
    label_findings : tuple of Finding
    separator : str
        The text between two labels.
    answers : TableAnswers or None
        The answers of annotators, from which the candidate sets were estimated.
    is_checked : ndarray of bool, or None
        The rows with a checked label, which replaces their labels; None without a column of checked labels.
    label_column : str or None
        The column of the labels and of their weights; None with several columns, or with answers.
    read_again : callable or None
        Returns the sets of one label column with the given names of classes.
    read_as_written : callable or None
        Returns the weights in the table, without rest and not divided by their mean, in which a row that names no class
        is unlabeled, or None if they cannot be read; None if the candidates have them.
    is_posterior, has_rest : bool
        Whether the weights were divided by class frequencies, and whether a rest was spread.
    unreadable_labels : UnreadableCells
        The rows that are unlabeled since their labels, or answers, cannot be read.
    """

    candidates: CandidateSets
    label_findings: tuple[Finding, ...] = ()
    separator: str = DEFAULT_SEPARATOR
    answers: TableAnswers | None = None
    is_checked: "Mask | None" = None
    label_column: str | None = None
    read_again: Callable[[Sequence[str]], CandidateSets] | None = None
    read_as_written: Callable[[], CandidateSets | None] | None = None
    is_posterior: bool = False
    has_rest: bool = False
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)


@dataclass(frozen=True)
class PreparedFeatures(TableFeatures):
    """Features of a table with the options of its texts; the frame may be the rows of a sparse matrix.

    Attributes
    ----------
    text_options : TextOptions
        Stop words and stems of the text columns.
    """

    text_options: TextOptions = TextOptions()  # noqa: RUF009 - frozen


@dataclass(frozen=True, kw_only=True)
class PreparedTable(PreparedFeatures, TableLabels):
    """Training table with its candidate sets and features; its findings are about its labels, too.

    Attributes
    ----------
    table : Table
    truth : ndarray or None
    groups : list of str or None
        The group of each row, which folds keep together.
    """

    table: Table
    truth: Any = None
    groups: list[str] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the file, its columns and its labels."""
        return tuple(self.findings.sentences())

    @property
    def leaks(self) -> list[str]:
        """Features that reveal the labels: the rates are those of rows in which they are known."""
        return [finding.column for finding in self.findings.others if finding.kind == "class leak"]

    @property
    def set_columns(self) -> list[str]:
        """Features that nearly identify the candidate sets, such as the name of a recording."""
        return [finding.column for finding in self.findings.others if finding.kind == "set leak"]

    @property
    def n_groups(self) -> int | None:
        """Number of groups that have labeled rows; None without groups."""
        return count_groups(self.groups, self.candidates)

    @property
    def identifiers(self) -> list[str]:
        """Columns that are not features since they identify the rows."""
        return [found.column for found in self.findings.columns if found.kind == "excluded" and found.count]

    @property
    def answer_rows(self) -> list[str]:
        """The column of the table that names the rows in the file of answers, if there is one."""
        return [] if self.answers is None or not self.answers.row_column else [self.answers.row_column]


def insert_identifiers(result: "pl.DataFrame", table: "pl.DataFrame", identifiers: Collection[str]) -> "pl.DataFrame":
    """Return a table of results with columns that identify the rows after its column `row`.

    A column is left out if the table does not have it, if the results have a column of its name, or if it is nested.
    """
    names = [name for name in identifiers if name in table.columns]
    names = [name for name in names if name not in result.columns and not table[name].dtype.is_nested()]
    if not names:
        return result
    return result.select("row", *(table[name].gather(result["row"]) for name in names), *result.columns[1:])


def prepare(path: Path, read_options: ReadOptions) -> PreparedTable:
    """Read a table from a file with its labels and features; defects raise errors of `oneof.errors`."""
    if not read_options.labels and read_options.answers is None:
        raise InputError(
            f"--labels must name the label column of {path}; got none. Add --labels COLUMN, or --answers FILE."
        )
    read_text_options(read_options.stop_words, read_options.stem)  # defects are errors before the file is read
    return prepare_rows(read_rows(path, read_options), read_options)


def prepare_rows(table: Table, read_options: ReadOptions) -> PreparedTable:
    """Return the rows of a file with their labels and features."""
    found: list[Finding] = []
    if read_options.answers is not None and read_options.answers.weight is not None:
        table, sentences = join_candidates(read_options.answers, table)
        read_options, found = read_options.with_candidate_columns(), notes("answers", sentences)
    labels = (read_sets if read_options.answers is None else _read_answers)(table, read_options)
    labels = _use_gold(table, read_options, labels)
    truth = None
    if read_options.truth is not None:
        truth = read_truth(table, read_options.truth, labels.candidates.classes, separator=labels.separator)
    groups = read_groups(table, read_options)
    features = prepare_features(table, read_options)
    found += labels.label_findings
    if table.rows is None:
        found += find_leaks(features.frame, features.columns, labels.candidates)
        found += find_groups(table.frame, read_options.text_columns, table.dropped, given=read_options.groups)
    findings = {"findings": replace(features.findings, others=tuple(found))}
    return PreparedTable(**vars(labels) | vars(features) | findings, table=table, truth=truth, groups=groups)


def read_sets(table: Table, read_options: ReadOptions) -> TableLabels:
    """Read the label columns of a table."""
    labels, weighting, weight_columns = read_options.labels, read_options.weights, read_options.weight_columns
    unreadable, label_table, classes = UnreadableCells(), table, read_options.classes
    is_one_column = len(labels) == 1 and weighting.weights is None
    separator, sentences = resolve_separator(table, read_options)
    if len(labels) > 1 and (weight_columns or not weighting.weighted):
        given = read_options.separator
        label_table = join_label_columns(
            table, labels, weight_columns, classes=classes, separator=given, unreadable=unreadable
        )
        labels = labels if label_table is table else labels[:1]
        weighting = replace(weighting, weights=next(iter(weight_columns), None))
    options: dict[str, Any] = {"separator": separator, **asdict(weighting)}
    read = partial(read_labels, label_table, labels, **options)
    with (
        naming_the_option(table.cell_format, lists_unreadable=read_options.lists_unreadable),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        candidates = read(classes=classes, unreadable=unreadable)
    if classes is None and not weighting.weighted:
        check_no_weights(candidates.classes.tolist(), table.path)
    is_posterior, has_rest = (weighting.weighted and bool(on) for on in (weighting.kind == "posterior", weighting.rest))
    read_as_written = None
    if is_posterior or has_rest:
        tolerant = replace(label_table, cell_format=replace(table.cell_format, label_errors="unlabeled"))
        rest = (weighting.rest,) if isinstance(weighting.rest, str) else ()
        read_as_written = cache(lambda: _read_written(tolerant, labels, options, classes, rest))
    sentences += tuple(dict.fromkeys(str(warning.message) for warning in caught))
    found = unreadable.findings("unreadable labels", REFUSED * read_options.lists_unreadable)
    found += label_findings(candidates, separator, source=str(table.path), kind=weighting.kind)
    return TableLabels(
        candidates=candidates,
        label_findings=(*found, *notes("labels", sentences)),
        separator=separator,
        label_column=labels[0] if is_one_column else None,
        read_again=(lambda classes: read(classes=classes)) if len(labels) == 1 else None,
        read_as_written=read_as_written,
        is_posterior=is_posterior,
        has_rest=has_rest,
        unreadable_labels=unreadable,
    )


def _read_answers(table: Table, read_options: ReadOptions) -> TableLabels:
    """Read the answers of annotators, and return the likelihood of the answers to each row."""
    from oneof.crowd import AnnotatorModel

    assert read_options.answers is not None
    unreadable, classes, separator = UnreadableCells(), read_options.classes, read_options.separator
    with naming_the_option(table.cell_format, lists_unreadable=read_options.lists_unreadable):
        given = read_answers(
            read_options.answers,
            table,
            separator=separator,
            classes=classes,
            gold=read_options.gold,
            unreadable=unreadable,
        )
    candidates = AnnotatorModel().fit(given.answers, given.gold).candidates_
    if classes is None:
        check_no_weights(candidates.classes.tolist(), table.path, are_answers=True)
    found = unreadable.findings("unreadable labels", REFUSED * read_options.lists_unreadable)
    found += notes("answers", given.notes)
    return TableLabels(
        candidates=candidates,
        label_findings=tuple(found),
        separator=given.separator,
        answers=given,
        unreadable_labels=unreadable,
    )


@contextmanager
def naming_the_option(cell_format: CellFormat, *, lists_unreadable: bool = False) -> Iterator[None]:
    """Add the option for labels that cannot be read to an error about them, unless it is set.

    A command that only lists such labels has the option although it is not set.
    """
    try:
        yield
    except LabelError as error:
        if not error.rows or (cell_format.label_errors == "unlabeled" and not lists_unreadable):
            raise
        raise error.because(f"{error.reason} {UNREADABLE_OPTION}") from None


def read_rows(path: Path, read_options: ReadOptions) -> Table:
    """Read the file of a table."""
    text_columns, overrides = read_options.text_columns, read_options.overrides
    as_text = {*overrides.texts, *overrides.categories} - text_columns
    return read_options.table.read(path, as_text=as_text, labels=text_columns, drop=overrides.drop)


def prepare_features(table: Table, read_options: ReadOptions, hidden: Collection[str] = ()) -> PreparedFeatures:
    """Return the features of a table: its columns but labels, truth and `hidden`, or the rows of a sparse matrix."""
    overrides, words = read_options.overrides, (read_options.stop_words, read_options.stem)
    if table.rows is not None:
        if overrides != Overrides() or any(value.lower() != "none" for value in words):
            raise InputError(
                f"{table.path} has a sparse matrix, which has no columns: remove --numeric, --categorical, --text, "
                "--drop, --stop-words and --stem."
            )
        return PreparedFeatures([], TableFindings(remarks=table.remarks), table.rows)
    exclude, text_options = {*read_options.text_columns, *hidden}, read_text_options(*words)
    chosen = choose_features(table, exclude=exclude, overrides=overrides, strict=read_options.table.strict)
    check_texts(chosen.frame, chosen.columns, text_options, table.path)
    return PreparedFeatures(**vars(chosen), text_options=text_options)


def resolve_separator(table: Table, read_options: ReadOptions) -> tuple[str, tuple[str, ...]]:
    """Return the text between two labels, given or detected, and a note if it was detected."""
    if read_options.separator is not None:
        return read_options.separator, ()
    weighted = read_options.weights.weighted
    separator = find_separator(table, read_options.labels, classes=read_options.classes, weighted=weighted)
    if separator == LISTS:
        return separator, (f"the cells of column {read_options.labels[0]!r} are read as lists of labels.",)
    note = f"labels are separated by {separator!r}; --separator sets another text."
    return separator, (note,) * (separator != DEFAULT_SEPARATOR)


def _read_written(
    table: Table, labels: Sequence[str], options: dict[str, Any], classes: Sequence[str] | None, rest: Sequence[str]
) -> CandidateSets | None:
    """Return the weights of a table without a rest, whose label is a class then; None if no row has other weights.

    Rows that cannot be read, such as those whose only weight is the rest, are unlabeled.
    """
    names = None if classes is None else [*classes, *rest]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same as of the weights that are fitted
        try:
            return read_labels(table, labels, **options | {"classes": names, "kind": "likelihood", "rest": False})
        except OneofError:
            return None


def _use_gold(table: Table, read_options: ReadOptions, labels: TableLabels) -> TableLabels:
    """Return the labels with the checked ones.

    The labels of answers have been estimated with the checked ones. Checked labels add classes to one column, unless
    all classes are named; several columns of 0 and 1 or of weights have the names of the classes.
    """
    import numpy as np

    if read_options.gold is None:
        return labels
    if labels.answers is not None:
        return replace(labels, is_checked=np.array([label is not None for label in labels.answers.gold or []]))
    if read_options.gold in (*read_options.labels, *read_options.weight_columns):
        raise InputError(f"--gold and --labels must name different columns; got {read_options.gold!r} for both.")
    checked = use_checked_labels(
        table,
        read_options.gold,
        labels.candidates,
        labels.read_again if read_options.classes is None else None,
        separator=labels.separator,
        has_weights=labels.label_column is not None and read_options.weights.weighted,
        remedy=f"Correct it, or {'leave the cell empty' if read_options.classes is None else 'add it to --classes'}.",
    )
    found = (*labels.label_findings, *notes("labels", checked.notes))
    return replace(labels, candidates=checked.candidates, is_checked=checked.is_checked, label_findings=found)


def check_unchecked_rows(candidates: CandidateSets, is_checked: "Mask | None", remedy: str) -> None:
    """Raise if every labeled row is checked, so that none is left to audit."""
    if is_checked is not None and (is_checked | candidates.is_unlabeled).all():
        raise InputError(f"all labeled rows have a checked label (--gold), and none remains to audit: {remedy}.")
