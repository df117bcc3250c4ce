"""Reading of a training table as candidate sets, true labels and features."""

import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneof import io
from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR, LISTS
from oneof.candidates.sets import CheckedCandidates, insert_checked_labels
from oneof.cli.answers import TableAnswers, join_candidates, read_answers
from oneof.cli.options import ReadOptions
from oneof.cli.tables.leaks import find_copies, find_groups, find_leaks
from oneof.comparison.folds import columns_of
from oneof.crowd import AnnotatorModel
from oneof.errors import DataError, InputError, LabelError, OneofError
from oneof.io.features import TableFeatures
from oneof.model_selection.folds import count_groups
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.typing import Floats, Ints, Labels, Mask

REFUSED = " Other commands stop at such a row: correct it, or add --unreadable-labels unlabeled."
"""The remedy for labels that cannot be read, in a note of `oneof inspect`."""
MIN_SHARED_PAIRS, MIN_SHARED_FRACTION = 20, 0.5
"""Number and fraction of neighboring rows with the same partial set from which rows are said to share lists."""


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
    unreadable_labels : UnreadableCells
        The rows that are unlabeled since their labels, or answers, cannot be read.
    """

    candidates: CandidateSets
    label_findings: tuple[io.Finding, ...] = ()
    separator: str = DEFAULT_SEPARATOR
    answers: TableAnswers | None = None
    is_checked: Mask | None = None
    unreadable_labels: io.UnreadableCells = field(default_factory=io.UnreadableCells)


@dataclass(frozen=True, kw_only=True)
class PreparedTable(TableFeatures, TableLabels):
    """Training table with its candidate sets and features; its findings are about its labels, too.

    Attributes
    ----------
    table : Table
    read_options : ReadOptions
        The options by which it was read.
    truth : ndarray or None
    groups : list of str or None
        The group of each row, which folds keep together.
    """

    table: io.Table
    read_options: ReadOptions
    truth: Any = None
    groups: list[str] | None = None

    @property
    def is_posterior(self) -> bool:
        """Whether the weights were divided by class frequencies."""
        return self.read_options.weights.weighted and self.read_options.weights.kind == "posterior"

    @property
    def largest(self) -> str:
        """The name of the number that a row with weights has for its first label."""
        return "the largest probability" if self.is_posterior else "the largest weight"

    @property
    def has_rest(self) -> bool:
        """Whether a rest was spread."""
        return self.read_options.weights.weighted and bool(self.read_options.weights.rest)

    @cached_property
    def written_weights(self) -> Floats:
        """The weights as they are written, (n, K) in the classes of the candidates, in any scale for each row.

        They are without rest, not divided by the frequencies of the classes, and not replaced by checked labels. Rows
        that name no class, such as those of a rest alone, have weights of 0, as all have if no row has other weights.
        """
        if self.answers is not None or not (self.is_posterior or self.has_rest or self.is_checked is not None):
            return self.candidates.weights
        return _read_written_weights(self.table, self.read_options, self.separator, self.candidates.classes)

    @cached_property
    def true_codes(self) -> Ints:
        """The class of each labeled row with a true label, (n,); -1 for another row."""
        known = -1 if self.truth is None else columns_of(self.truth, self.candidates)
        return np.where(self.candidates.is_unlabeled, -1, known)

    @cached_property
    def known_codes(self) -> Ints:
        """The class of each labeled row with a true or else a checked label, (n,); -1 for another row."""
        if self.is_checked is None:
            return self.true_codes
        label = self.candidates.mask.argmax(axis=1)  # the checked label is the only candidate
        return np.where(self.is_checked & (self.true_codes < 0) & ~self.candidates.is_unlabeled, label, self.true_codes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the file, its columns and its labels."""
        return tuple(self.findings.sentences())

    @property
    def leaks(self) -> list[str]:
        """Features that reveal the labels: the rates are those of rows in which they are known."""
        return [finding.column for finding in self.findings.others if finding.kind == "class leak"]

    @cached_property
    def has_shared_lists(self) -> bool:
        """Whether rows share lists, such as those of a recording.

        This is the case if most neighboring rows with several candidates have the same ones, or if columns of the table
        identify the sets.
        """
        if any(finding.kind == "set leak" for finding in self.findings.others):
            return True
        main = CandidateGroups.from_evidence(self.candidates.evidence).main  # without small weights of softened sets
        pairs = main.partial[:-1] & main.partial[1:]
        n_same = int((pairs & (main.group[:-1] == main.group[1:])).sum())
        return bool(n_same >= MIN_SHARED_PAIRS and n_same >= MIN_SHARED_FRACTION * np.count_nonzero(pairs))

    @property
    def n_groups(self) -> int | None:
        """Number of groups that have labeled rows; None without groups."""
        return None if self.groups is None else count_groups(self.groups, self.candidates)

    @property
    def answer_rows(self) -> list[str]:
        """The column of the table that names the rows in the file of answers, if there is one."""
        return [] if self.answers is None or not self.answers.row_column else [self.answers.row_column]


def insert_identifiers(result: pl.DataFrame, table: pl.DataFrame, identifiers: Collection[str]) -> pl.DataFrame:
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
    _ = read_options.text_options  # defects are errors before the file is read
    return prepare_rows(read_rows(path, read_options), read_options)


def prepare_rows(table: io.Table, read_options: ReadOptions) -> PreparedTable:
    """Return the rows of a file with their labels and features."""
    found: list[io.Finding] = []
    given = read_options
    if given.answers is not None and given.answers.weight is not None:
        table, sentences = join_candidates(given.answers, table)
        read_options, found = given.with_candidate_columns(), io.notes("answers", sentences)
    labels = _use_gold(table, read_options, read_sets(table, read_options))
    truth = None
    if read_options.truth is not None:
        truth = io.read_truth(table, read_options.truth, labels.candidates.classes, separator=labels.separator)
    groups = read_groups(table, read_options)
    features = prepare_features(table, read_options, hidden=labels.answers.columns if labels.answers else ())
    found += labels.label_findings
    if table.rows is None:
        found += find_leaks(features.frame, features.columns, labels.candidates)
        found += find_copies(features.frame, features.columns, labels.candidates) if groups is None else []
        found += find_groups(
            table.frame,
            read_options.text_columns,
            table.dropped,
            identifiers=features.findings.identifiers,
            given=read_options.groups,
        )
    of_table = vars(features) | {"findings": replace(features.findings, others=tuple(found))}
    return PreparedTable(**vars(labels) | of_table, table=table, read_options=given, truth=truth, groups=groups)


def read_groups(table: io.Table, read_options: ReadOptions) -> list[str] | None:
    """Return the group of each row in lower case, from a column without labels and empty cells; None without groups."""
    name = read_options.groups
    if name is None:
        return None
    given: dict[str, tuple[str | None, ...]] = {
        "--labels": read_options.labels,
        "--weights": read_options.weight_columns,
        "--truth": (read_options.truth,),
        "--gold": (read_options.gold,),
    }
    for option, names in given.items():
        if name in names:
            raise InputError(f"--groups and {option} must name different columns; got {name!r} for both.")
    column = io.find_column(name, table.frame.columns, table.path)
    # Two spellings of a group would be in different folds; categories are read in lower case, too.
    groups = ["" if cell is None else str(cell).strip().lower() for cell in table.frame[column].to_list()]
    if n_missing := groups.count(""):
        raise DataError(
            f"column {name!r} of --groups has empty cells (such rows: {n_missing:,}). Name the group of each row; a "
            "row without a group has a group of its own.",
            source=str(table.path),
            row=groups.index(""),
        )
    if len(set(groups)) == 1:
        raise InputError(f"column {name!r} of --groups has one value. Name another column, or remove --groups.")
    return groups


def read_sets(table: io.Table, read_options: ReadOptions) -> TableLabels:
    """Read the label columns of a table, or return the likelihoods of the answers of annotators to each row."""
    weighting, unreadable, answers = read_options.weights, io.UnreadableCells(), None
    separator, sentences = resolve_separator(table, read_options)
    with naming_the_option(read_options.unreadable_labels), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if read_options.answers is None:
            candidates = _read_candidates(table, read_options, separator, unreadable)
        else:
            answers = read_answers(
                read_options.answers,
                table,
                separator=read_options.separator,
                classes=read_options.classes,
                gold=read_options.gold,
                unreadable=unreadable,
            )
            candidates, separator = AnnotatorModel().fit(answers.answers, answers.gold).candidates_, answers.separator
            sentences = answers.notes
    if read_options.classes is None and not weighting.weighted:
        io.check_no_weights(candidates.classes.tolist(), table.path, are_answers=answers is not None)
    found = unreadable.findings("unreadable labels", REFUSED * read_options.lists_unreadable)
    if answers is None:
        named = None
        if weighting.weighted and weighting.rest:
            named = _read_written_weights(table, read_options, separator, candidates.classes) > 0
        source, kind = str(table.path), weighting.kind
        found += io.label_findings(candidates, separator, source=source, kind=kind, named=named)
    sentences += tuple(dict.fromkeys(str(warning.message) for warning in caught))
    found += io.notes("labels" if answers is None else "answers", sentences)
    return TableLabels(
        candidates=candidates,
        label_findings=tuple(found),
        separator=separator,
        answers=answers,
        unreadable_labels=unreadable,
    )


def _read_candidates(
    table: io.Table, read_options: ReadOptions, separator: str, unreadable: io.UnreadableCells | None = None
) -> CandidateSets:
    """Return the sets of the label columns; the separator of several ones is detected in each, if it is not given."""
    options = asdict(read_options.weights) | {"weights": read_options.weight_columns, "unreadable": unreadable}
    given = separator if len(read_options.labels) == 1 else read_options.separator
    return io.read_labels(table, read_options.labels, separator=given, classes=read_options.classes, **options)


def _read_written_weights(table: io.Table, read_options: ReadOptions, separator: str, classes: Labels) -> Floats:
    """Return the weights as they are written, (n, K) in the given classes."""
    options, rest = read_options.with_candidate_columns(), read_options.weights.rest
    named = None if options.classes is None else (*options.classes, *([rest] if isinstance(rest, str) else []))
    tolerant = replace(table, cell_format=replace(table.cell_format, label_errors="unlabeled"))
    weights = dict.fromkeys(map(str, classes.tolist()), np.zeros(len(table)))
    with warnings.catch_warnings(), suppress(OneofError):
        warnings.simplefilter("ignore", UserWarning)  # the same as of the weights that are fitted
        written = _read_candidates(tolerant, replace(options, kind=None, rest=None, classes=named), separator)
        columns = (written.weights * ~written.is_unlabeled[:, None]).T
        given = dict(zip(map(str, written.classes.tolist()), columns, strict=True))
        weights = {name: given.get(name, none) for name, none in weights.items()}  # without that of the rest
    return np.stack([*weights.values()], axis=1)


@contextmanager
def naming_the_option(setting: str | None) -> Iterator[None]:
    """Add the option for labels that cannot be read to an error about them, unless it is set."""
    try:
        yield
    except LabelError as error:
        if not error.rows or setting == "unlabeled":
            raise
        option = "--unreadable-labels unlabeled reads such rows as unlabeled rows."
        raise error.because(f"{error.reason} {option}") from None


def read_rows(path: Path, read_options: ReadOptions) -> io.Table:
    """Read the file of a table."""
    text_columns, overrides = read_options.text_columns, read_options.overrides
    as_text = {*overrides.texts, *overrides.categories} - text_columns
    return read_options.table.read(path, as_text=as_text, labels=text_columns, drop=overrides.drop)


def prepare_features(table: io.Table, read_options: ReadOptions, hidden: Collection[str] = ()) -> TableFeatures:
    """Return the features of a table: its columns but labels, truth and `hidden`, or the rows of a sparse matrix."""
    overrides, text_options = read_options.overrides, read_options.text_options
    if table.rows is not None:
        if overrides != io.Overrides() or text_options != io.TextOptions():
            raise InputError(
                f"{table.path} has a sparse matrix, which has no columns: remove --numeric, --categorical, --text, "
                "--drop, --stop-words and --stem."
            )
        return TableFeatures([], io.TableFindings(remarks=table.remarks), table.rows)
    exclude = {*read_options.text_columns, *hidden}
    if read_options.groups in (*overrides.texts, *overrides.categories, *overrides.numbers):
        exclude.discard(read_options.groups)  # copies of a text are groups, and the text is a feature
    chosen = io.choose_features(table, exclude=exclude, overrides=overrides, strict=read_options.table.strict)
    io.check_texts(chosen.frame, chosen.columns, text_options, table.path)
    return chosen


def resolve_separator(table: io.Table, read_options: ReadOptions) -> tuple[str, tuple[str, ...]]:
    """Return the text between two labels, given or detected, and a note if it was detected."""
    if read_options.separator is not None:
        return read_options.separator, ()
    weighted = read_options.weights.weighted
    separator = io.find_separator(table, read_options.labels, classes=read_options.classes, weighted=weighted)
    if separator == LISTS:
        return separator, (f"the cells of column {read_options.labels[0]!r} are read as lists of labels.",)
    note = f"labels are separated by {separator!r}; --separator sets another text."
    return separator, (note,) * (separator != DEFAULT_SEPARATOR)


def _use_gold(table: io.Table, read_options: ReadOptions, labels: TableLabels) -> TableLabels:
    """Return the labels, in which the rows with a checked label have this label alone.

    The labels of answers have been estimated with the checked ones. Checked labels add classes to cells with labels,
    unless all classes are named; columns of 0 and 1 or of weights have the names of the classes. The cells are then
    read again, since a row of all labels that occur is no longer unlabeled.
    """
    gold, weights, candidates = read_options.gold, read_options.weights, labels.candidates
    if gold is None:
        return labels
    if labels.answers is not None:
        return replace(labels, is_checked=np.array([label is not None for label in labels.answers.gold or []]))
    if gold in (*read_options.labels, *read_options.weight_columns):
        raise InputError(f"--gold and --labels must name different columns; got {gold!r} for both.")
    is_fixed = read_options.classes is not None or io.are_class_columns(
        table, read_options.labels, read_options.weight_columns, weighted=weights.weighted
    )
    known, new = io.read_checked_labels(
        table,
        gold,
        candidates.classes,
        separator=labels.separator,
        has_weights=len(read_options.labels) == 1 and weights.weighted and weights.weights is None,
        adds_classes=not is_fixed,
        remedy=f"Correct it, or {'leave the cell empty' if read_options.classes is None else 'add it to --classes'}.",
    )
    if new:
        names = tuple(map(str, sorted([*candidates.classes.tolist(), *new])))
        candidates = _read_candidates(table, replace(read_options, classes=names), labels.separator)
    checked = insert_checked_labels(candidates, known)
    found = (*labels.label_findings, *io.notes("labels", io.describe_checked_labels(gold, checked, new)))
    return replace(labels, candidates=checked.candidates, is_checked=checked.is_checked, label_findings=found)


def check_unchecked_rows(labels: TableLabels | CheckedCandidates, remedy: str) -> None:
    """Raise if every labeled row is checked, so that none is left to audit."""
    if labels.is_checked is not None and (labels.is_checked | labels.candidates.is_unlabeled).all():
        raise InputError(f"all labeled rows have a checked label (--gold), and none remains to audit: {remedy}.")
