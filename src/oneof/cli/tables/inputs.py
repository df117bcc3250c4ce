"""Reading of a training table as candidate sets, true labels and features."""

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR, LISTS, literal_kind
from oneof.candidates.labels import clean
from oneof.cli.answers.files import TableAnswers, join_candidates, read_answers
from oneof.cli.tables.gold import use_gold
from oneof.cli.tables.groups import count_groups, group_notes, read_groups
from oneof.cli.tables.leaks import find_leaks
from oneof.cli.tables.read_options import ReadOptions, WeightArguments
from oneof.errors import InputError, LabelError, OneofError
from oneof.io import (
    CellFormat,
    Column,
    Finding,
    Overrides,
    Table,
    TableFindings,
    TextOptions,
    UnreadableCells,
    check_no_weights,
    check_texts,
    choose_features,
    find_column,
    find_separator,
    join_label_columns,
    label_findings,
    merge_ranked_columns,
    notes,
    read_labels,
    read_text_options,
    read_truth,
)
from oneof.messages import shorten

if TYPE_CHECKING:
    import polars as pl

    from oneof.typing import Mask

REFUSED = " Other commands stop at such a row: correct it, or add --unreadable-labels unlabeled."
"""The remedy for labels that cannot be read, in a note of `oneof inspect`."""
UNREADABLE_OPTION = "--unreadable-labels unlabeled reads such rows as unlabeled rows."
_MAX_SHOWN = 80
"""Maximum number of characters of a list in a note."""


@dataclass(frozen=True)
class PreparedTable:
    """Training table with its candidate sets and features.

    Attributes
    ----------
    table : Table
    candidates : CandidateSets
    truth : ndarray or None
    columns : list of Column
        The features.
    frame : polars.DataFrame or CSR matrix
        The feature columns, in the types of the encoder; or the rows of a sparse matrix, which has no columns.
    text_options : TextOptions
        Stop words and stems of the text columns.
    findings : TableFindings
        The findings about the file, its columns and its labels.
    separator : str
        The text between two labels.
    answers : TableAnswers or None
        The answers of annotators, from which the candidate sets were estimated.
    groups : list of str or None
        The group of each row, which folds keep together.
    is_checked : ndarray of bool, or None
        The rows with a checked label, which replaces their labels; None without a column of checked labels.
    label_column : str or None
        The column of the labels and of their weights; None with several columns, or with answers.
    read_as_written : callable or None
        Returns the weights in the table, without rest and not divided by their mean, in which a row that names no class
        is unlabeled, or None if they cannot be read; None if the candidates have them.
    is_posterior, has_rest : bool
        Whether the weights were divided by class frequencies, and whether a rest was spread.
    set_columns : tuple of str
        The features that nearly identify the candidate sets, such as the name of a recording.
    unreadable_labels : UnreadableCells
        The rows that are unlabeled since their labels, or answers, cannot be read.
    """

    table: Table
    candidates: CandidateSets
    truth: Any
    columns: list[Column]
    frame: "pl.DataFrame | Any"
    text_options: TextOptions
    findings: TableFindings = TableFindings()  # noqa: RUF009 - frozen
    separator: str = DEFAULT_SEPARATOR
    answers: TableAnswers | None = None
    groups: list[str] | None = None
    is_checked: "Mask | None" = None
    label_column: str | None = None
    read_as_written: Callable[[], CandidateSets | None] | None = None
    is_posterior: bool = False
    has_rest: bool = False
    set_columns: tuple[str, ...] = ()
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the file, its columns and its labels."""
        return tuple(self.findings.sentences())

    @property
    def leaks(self) -> list[str]:
        """Features that reveal the labels: the rates are those of rows in which they are known."""
        return [finding.column for finding in self.findings.others if finding.kind == "class leak"]

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
    cells = [table[name].gather(result["row"]) for name in names]
    return result.select("row", *cells, *result.columns[1:])


@dataclass(frozen=True)
class PreparedFeatures:
    """Features of a table: the columns, their values (see `PreparedTable`), the findings, and the options of texts."""

    columns: list[Column]
    frame: "pl.DataFrame | Any"
    findings: TableFindings
    text_options: TextOptions


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
    candidate_notes: list[str] = []
    if read_options.answers is not None and read_options.answers.weight is not None:
        table, candidate_notes = join_candidates(read_options.answers, table)
        read_options = read_options.with_candidate_columns()
    unreadable = UnreadableCells()
    labels = (_read_sets if read_options.answers is None else _read_answers)(table, read_options, unreadable)
    candidates, is_checked, checked_notes = use_gold(
        table, read_options, labels.candidates, labels.answers, labels.separator, labels.read_again
    )
    if read_options.classes is None and not read_options.weights.weighted:
        check_no_weights(candidates.classes.tolist(), table.path, are_answers=labels.answers is not None)
    truth = None
    if read_options.truth is not None:
        truth = read_truth(table, read_options.truth, candidates.classes, separator=labels.separator)
    groups = None if read_options.groups is None else check_and_read_groups(table, read_options)
    features, weighting = prepare_features(table, read_options), labels.weighting
    found: list[Finding] = unreadable.findings("unreadable labels", REFUSED * read_options.lists_unreadable)
    if labels.answers is None:
        found += label_findings(candidates, labels.separator, source=str(table.path), kind=weighting.kind)
        found += notes("answers", candidate_notes)
    else:
        found += notes("answers", labels.answers.notes)
    found += notes("labels", (*labels.notes, *checked_notes))
    leaks: list[Finding] = []
    if table.rows is None:
        leaks = find_leaks(features.frame, features.columns, candidates)
        groups_notes = group_notes(table.frame, read_options.text_columns, table.dropped, given=read_options.groups)
        found += notes("groups", groups_notes)
    is_one_column = len(read_options.labels) == 1 and labels.answers is None and weighting.weights is None
    return PreparedTable(
        table,
        candidates,
        truth,
        features.columns,
        features.frame,
        features.text_options,
        findings=replace(features.findings, others=(*leaks, *found)),
        separator=labels.separator,
        answers=labels.answers,
        groups=groups,
        is_checked=is_checked,
        label_column=read_options.labels[0] if is_one_column else None,
        read_as_written=labels.read_as_written,
        is_posterior=weighting.weighted and weighting.kind == "posterior",
        has_rest=weighting.weighted and bool(weighting.rest),
        set_columns=tuple(finding.column for finding in leaks if finding.kind == "set leak"),
        unreadable_labels=unreadable,
    )


@dataclass(frozen=True)
class _Labels:
    """Labels of a table before the checked ones.

    `read_again` reads them with other classes, and `read_as_written` the weights as they are in the table.
    """

    candidates: CandidateSets
    separator: str
    weighting: WeightArguments
    notes: tuple[str, ...] = ()
    answers: TableAnswers | None = None
    read_again: Callable[[Sequence[str]], CandidateSets] | None = None
    read_as_written: Callable[[], CandidateSets | None] | None = None


def _read_sets(table: Table, read_options: ReadOptions, unreadable: UnreadableCells) -> _Labels:
    """Read the label columns of a table."""
    label_table, labels, weighting = table, read_options.labels, read_options.weights
    if len(labels) > 1 and read_options.weight_columns:
        label_table = merge_ranked_columns(table, labels, read_options.weight_columns)
        labels, weighting = labels[:1], replace(weighting, weights=read_options.weight_columns[0])
    elif len(labels) > 1 and not weighting.weighted:
        label_table = join_label_columns(
            table, labels, classes=read_options.classes, separator=read_options.separator, unreadable=unreadable
        )
        labels = labels if label_table is table else labels[:1]
    separator, label_notes = resolve_separator(table, read_options)
    options: dict[str, Any] = {"separator": separator, **asdict(weighting)}
    read = partial(read_labels, label_table, labels, **options)
    with (
        naming_the_option(table.cell_format, lists_unreadable=read_options.lists_unreadable),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        candidates = read(classes=read_options.classes, unreadable=unreadable)
    label_notes += tuple(dict.fromkeys(str(warning.message) for warning in caught))
    read_as_written = None
    if weighting.weighted and (weighting.kind == "posterior" or weighting.rest):
        tolerant = replace(label_table, cell_format=replace(table.cell_format, label_errors="unlabeled"))
        rest = (weighting.rest,) if isinstance(weighting.rest, str) else ()
        read_as_written = cache(lambda: _read_written(tolerant, labels, options, read_options.classes, rest))
    read_again = (lambda classes: read(classes=classes)) if len(labels) == 1 else None
    return _Labels(candidates, separator, weighting, label_notes, None, read_again, read_as_written)


def _read_answers(table: Table, read_options: ReadOptions, unreadable: UnreadableCells) -> _Labels:
    """Read the answers of annotators, and return the likelihood of the answers to each row."""
    from oneof.crowd import AnnotatorModel

    assert read_options.answers is not None
    with naming_the_option(table.cell_format, lists_unreadable=read_options.lists_unreadable):
        given = read_answers(
            read_options.answers,
            table,
            separator=read_options.separator,
            classes=read_options.classes,
            gold=read_options.gold,
            unreadable=unreadable,
        )
    candidates = AnnotatorModel().fit(given.answers, given.gold).candidates_
    return _Labels(candidates, given.separator, read_options.weights, answers=given)


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


def check_and_read_groups(table: Table, read_options: ReadOptions) -> list[str]:
    """Return the group of each row, from a column without labels."""
    name = str(read_options.groups)
    given = (("--labels", read_options.labels), ("--truth", (read_options.truth,)), ("--gold", (read_options.gold,)))
    for option, names in given:
        if name in names:
            raise InputError(f"--groups and {option} must name different columns; got {name!r} for both.")
    groups = read_groups(table, name)
    if len(set(groups)) == 1:
        raise InputError(f"column {name!r} of --groups has one value. Name another column, or remove --groups.")
    return groups


def read_rows(path: Path, read_options: ReadOptions) -> Table:
    """Read the file of a table."""
    text_columns = read_options.text_columns
    as_text = {*read_options.overrides.texts, *read_options.overrides.categories}
    drop = read_options.overrides.drop
    return read_options.table.read(path, as_text=as_text - text_columns, labels=text_columns, drop=drop)


def prepare_features(table: Table, read_options: ReadOptions) -> PreparedFeatures:
    """Return the features of a table: all columns but those of labels and truth, or the rows of a sparse matrix."""
    if table.rows is not None:
        _check_no_column_options(read_options, table.path)
        return PreparedFeatures([], table.rows, TableFindings(remarks=table.remarks), TextOptions())
    features = choose_features(
        table, exclude=read_options.text_columns, overrides=read_options.overrides, strict=read_options.table.strict
    )
    text_options = read_text_options(read_options.stop_words, read_options.stem)
    check_texts(features.frame, features.columns, text_options, table.path)
    return PreparedFeatures(features.columns, features.frame, features.findings, text_options)


def resolve_separator(table: Table, read_options: ReadOptions) -> tuple[str, tuple[str, ...]]:
    """Return the text between two labels, given or detected, and a note if it was detected."""
    if read_options.separator is not None:
        return read_options.separator, ()
    weighted = read_options.weights.weighted
    separator = find_separator(table, read_options.labels, classes=read_options.classes, weighted=weighted)
    if separator == LISTS:
        return separator, (_describe_lists(table, read_options.labels[0]),)
    note = f"labels are separated by {separator!r}; --separator sets another text."
    return separator, (note,) * (separator != DEFAULT_SEPARATOR)


def _describe_lists(table: Table, label: str) -> str:
    """Return a note with a list of labels, the first with several if there is one, and the number of empty ones."""
    column = table.frame[find_column(label, table.frame.columns, table.path)].cast(str)
    texts = [clean(text) for text in column.drop_nulls().to_list()]
    n_empty = sum(literal_kind(text) == "empty" for text in texts)
    lists = [text for text in texts if text[-1:] in ("]", "}", ")", "`") and literal_kind(text) != "empty"] or texts
    shown = shorten(next((text for text in lists if "," in text or " " in text), lists[0]), _MAX_SHOWN)
    empty = f", and {n_empty:,} empty list{'s' * (n_empty > 1)} as unlabeled rows" * bool(n_empty)
    return f"the cells of column {label!r} are read as lists, such as {shown}{empty}."


def _check_no_column_options(read_options: ReadOptions, path: Path) -> None:
    """Raise if an option names columns of a sparse matrix."""
    has_words = any(value.lower() != "none" for value in (read_options.stop_words, read_options.stem))
    if read_options.overrides != Overrides() or has_words:
        raise InputError(
            f"{path} has a sparse matrix, which has no columns: remove --numeric, --categorical, --text, --drop, "
            "--stop-words and --stem."
        )


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
