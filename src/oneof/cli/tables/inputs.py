"""Reading of a training table as candidate sets, true labels and features, and selection of its methods."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.candidates.columns import DEFAULT_SEPARATOR
from oneof.cli.answers.annotators import estimate_candidates
from oneof.cli.answers.files import AnswerOptions, TableAnswers, read_answers
from oneof.cli.tables.leaks import leak_notes
from oneof.errors import DataError, InputError
from oneof.io import (
    Column,
    Overrides,
    Table,
    TableFindings,
    TableOptions,
    TextOptions,
    certain_rows,
    check_no_weights,
    check_texts,
    choose_features,
    find_column,
    find_separator,
    make_encoder,
    read_labels,
    read_text_options,
    read_truth,
    suspicious_labels,
)

if TYPE_CHECKING:
    import polars as pl

_N_ENCODED_ROWS = 1000
"""Number of rows that are encoded to count the features of a table of numbers."""


@dataclass(frozen=True)
class WeightArguments:
    """Options of weighted labels, as arguments of `oneof.io.read_labels` and of `oneof.stream.StreamOptions`."""

    weighted: bool = False
    weights: str | None = None
    kind: str = "likelihood"
    rest: bool | str = False


@dataclass(frozen=True)
class ReadOptions:
    """Options of `fit` and `compare` for reading a table."""

    labels: tuple[str, ...]
    truth: str | None = None
    groups: str | None = None
    separator: str | None = None
    classes: tuple[str, ...] | None = None
    overrides: Overrides = Overrides()  # noqa: RUF009 - frozen
    stop_words: str = "none"
    stem: str = "none"
    weights: WeightArguments = WeightArguments()
    answers: AnswerOptions | None = None
    table: TableOptions = TableOptions()  # noqa: RUF009 - frozen

    @property
    def text_columns(self) -> set[str]:
        """Columns that are read as text: labels, weights, true labels, groups, and names of rows in answers."""
        names = [self.weights.weights, self.truth, self.groups]
        names += [] if self.answers is None else [self.answers.row, self.answers.gold]
        return {*self.labels, *(name for name in names if name is not None)}

    @property
    def label_columns(self) -> tuple[str, ...]:
        """Columns of labels of the table; with answers, that of the known labels."""
        gold = None if self.answers is None else self.answers.gold
        return self.labels if gold is None else (gold,)


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
    notes : tuple of str
        Warnings about labels and columns, with those of the findings.
    findings : TableFindings
        The dialect, and the kind, missing tokens and unreadable cells of each column.
    separator : str
        The text between two labels.
    answers : TableAnswers or None
        The answers of annotators, from which the candidate sets were estimated.
    groups : list of str or None
        The group of each row, which folds keep together.
    """

    table: Table
    candidates: CandidateSets
    truth: Any
    columns: list[Column]
    frame: "pl.DataFrame | Any"
    text_options: TextOptions
    notes: tuple[str, ...]
    findings: TableFindings = TableFindings()  # noqa: RUF009 - frozen
    separator: str = DEFAULT_SEPARATOR
    answers: TableAnswers | None = None
    groups: list[str] | None = None

    @property
    def n_groups(self) -> int | None:
        """Number of groups that have labeled rows; None without groups."""
        if self.groups is None:
            return None
        is_unlabeled = self.candidates.is_unlabeled.tolist()
        return len({group for group, skipped in zip(self.groups, is_unlabeled, strict=True) if not skipped})

    @property
    def identifiers(self) -> list[str]:
        """Columns that are not features since they identify the rows."""
        return [found.column for found in self.findings.columns if found.is_identifier]


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
        raise InputError(f"--labels must name the label column of {path}; got none. Add --labels COLUMN.")
    read_text_options(read_options.stop_words, read_options.stem)  # defects are errors before the file is read
    return prepare_rows(read_rows(path, read_options), read_options)


def prepare_rows(table: Table, read_options: ReadOptions) -> PreparedTable:
    """Return the rows of a file with their labels and features."""
    given = None
    separator_notes: tuple[str, ...] = ()
    if read_options.answers is None:
        separator, separator_notes = resolve_separator(table, read_options)
        candidates = read_labels(
            table,
            read_options.labels,
            separator=separator,
            classes=read_options.classes,
            **asdict(read_options.weights),
        )
    else:
        given = read_answers(
            read_options.answers, table, separator=read_options.separator, classes=read_options.classes
        )
        separator = given.separator
        candidates = estimate_candidates(given)
    if read_options.classes is None and not read_options.weights.weighted:
        check_no_weights(candidates.classes.tolist(), table.path)
    truth = None if read_options.truth is None else read_truth(table, read_options.truth, candidates.classes)
    groups = None if read_options.groups is None else _read_groups(table, read_options)
    features = prepare_features(table, read_options)
    answer_notes = () if given is None else given.notes
    label_notes = (
        *separator_notes,
        *suspicious_labels(candidates.classes.tolist(), separator),
        *certain_rows(candidates, read_options.weights.kind),
    )
    leaks = []
    if table.rows is None:
        leaks = leak_notes(features.frame, features.columns, candidates, has_truth=truth is not None)
    return PreparedTable(
        table,
        candidates,
        truth,
        features.columns,
        features.frame,
        features.text_options,
        notes=(*features.findings.sentences(), *label_notes, *answer_notes, *leaks),
        findings=features.findings,
        separator=separator,
        answers=given,
        groups=groups,
    )


def _read_groups(table: Table, read_options: ReadOptions) -> list[str]:
    """Return the group of each row."""
    name = str(read_options.groups)
    column = find_column(name, table.frame.columns, table.path)
    for option, names in (("--labels", read_options.labels), ("--truth", (read_options.truth,))):
        if name in names:
            raise InputError(f"--groups and {option} must name different columns; got {name!r} for both.")
    cells = [None if cell is None else str(cell).strip() for cell in table.frame[column].to_list()]
    missing = [row for row, cell in enumerate(cells) if not cell]
    if missing:
        raise DataError(
            f"column {name!r} of --groups has empty cells (such rows: {len(missing):,}). Name the group of each row; a "
            "row without a group has a group of its own.",
            source=str(table.path),
            row=missing[0],
        )
    return [str(cell) for cell in cells]


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
    separator = find_separator(
        table, read_options.labels, classes=read_options.classes, weighted=read_options.weights.weighted
    )
    if separator == DEFAULT_SEPARATOR:
        return separator, ()
    return separator, (f"labels are separated by {separator!r}; --separator sets another text.",)


def _check_no_column_options(read_options: ReadOptions, path: Path) -> None:
    """Raise if an option names columns of a sparse matrix."""
    has_words = any(value.lower() != "none" for value in (read_options.stop_words, read_options.stem))
    if read_options.overrides != Overrides() or has_words:
        raise InputError(
            f"{path} has a sparse matrix, which has no columns: remove --numeric, --categorical, --text, --drop, "
            "--stop-words and --stem."
        )


def resolve_methods(prepared: PreparedTable, method: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Return the requested methods as pipelines from the table's features, and notes on excluded methods.

    "best" requests all methods except slow ones.
    """
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from oneof.comparison.methods import auto_methods, default_estimators, excluded_from_auto, has_negative_values

    is_sparse = prepared.table.rows is not None
    encoder = None if is_sparse else make_encoder(prepared.columns, prepared.text_options)
    # Numbers are encoded as dense features, whose number the first rows show; categories and words depend on all rows.
    is_dense = not is_sparse and all(column.kind not in ("category", "text") for column in prepared.columns)
    encoded = (
        prepared.frame
        if encoder is None
        else encoder.fit_transform(prepared.frame.head(_N_ENCODED_ROWS) if is_dense else prepared.frame)
    )
    n_rows, n_features = int((~prepared.candidates.is_unlabeled).sum()), encoded.shape[1]
    estimators = default_estimators(
        sparse=sp.issparse(encoded), negative=has_negative_values(encoded), n_rows=n_rows, random_state=seed
    )
    if method.lower() == "best":
        names, excluded = list(auto_methods(estimators, n_features)), excluded_from_auto(n_features)
    else:
        names, excluded = [_match_name(method, estimators)], ()
    # The steps of a method that is a pipeline are inserted one by one, since `pipeline[-1]` must be the estimator. The
    # encoder has scaled sparse features: a second scaler would give rare words the same weight as frequent ones. It has
    # also standardized numbers.
    is_standardized = all(column.kind in ("number", "date", "duration") for column in prepared.columns)
    pipelines = {}
    for name in names:
        steps = getattr(estimators[name], "steps", None) or [("method", estimators[name])]
        if encoder is None:
            pipelines[name] = Pipeline(list(steps))
            continue
        if sp.issparse(encoded):
            steps = steps[-1:]
        elif is_standardized:
            steps = [step for step in steps if not isinstance(step[1], StandardScaler)]
        pipelines[name] = Pipeline([("columns", encoder), *steps])
    notes = [
        f"{name} is not compared: it is slow with {n_features:,} features; --method {name} fits it."
        for name in excluded
    ]
    return pipelines, notes


def describe_comparison(n_methods: int, budget: float | None, n_train: int) -> list[str]:
    """Return the announcement of a comparison, which takes long, and of the estimates of time before it."""
    from oneof.comparison.comparison import MAX_ESTIMATE_FRACTION
    from oneof.comparison.cost import MIN_TIMED_ROWS
    from oneof.comparison.results import format_duration

    limit = "" if budget is None else f" for up to {budget:g} min (--budget)"
    methods = f"{n_methods} method{'s' * (n_methods != 1)}"
    sentences = [f"comparing {methods}{limit}; Ctrl-C ends with the best so far."]
    if budget is not None and n_train >= MIN_TIMED_ROWS:
        seconds = format_duration(60 * budget * MAX_ESTIMATE_FRACTION)
        sentences.append(
            f"the times of the methods are estimated first, on samples of the rows; this takes up to about {seconds}."
        )
    return sentences


def _match_name(method: str, estimators: Mapping[str, Any]) -> str:
    """Return the name of the method, compared without case."""
    by_lower = {name.lower(): name for name in estimators}
    if method.lower() not in by_lower:
        close = difflib.get_close_matches(method.lower(), by_lower, n=1)
        hint = f"did you mean {by_lower[close[0]]}? " if close else ""
        raise InputError(f"unknown method {method!r}: {hint}The methods are auto, best, {', '.join(estimators)}.")
    return by_lower[method.lower()]
