"""Reading of a training table as candidate sets, true labels and features, and selection of its methods."""

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.cli.answers import AnswerOptions, TableAnswers, estimate_candidates, read_answers
from oneof.errors import InputError
from oneof.io import (
    Column,
    Overrides,
    Table,
    TextOptions,
    align_columns,
    check_no_weights,
    check_texts,
    choose_columns,
    make_encoder,
    read_labels,
    read_table,
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
    separator: str = "|"
    classes: tuple[str, ...] | None = None
    overrides: Overrides = Overrides()  # noqa: RUF009 - frozen
    stop_words: str = "none"
    stem: str = "none"
    weights: WeightArguments = WeightArguments()
    answers: AnswerOptions | None = None

    @property
    def verbatim(self) -> set[str]:
        """Columns that are read as text: labels, weights, true labels, and names of rows that annotators answer."""
        names = [self.weights.weights, self.truth]
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
    frame : polars.DataFrame
        The feature columns, in the types of the encoder.
    text_options : TextOptions
        Stop words and stems of the text columns.
    notes : tuple of str
        Warnings about labels and columns.
    answers : TableAnswers or None
        The answers of annotators, from which the candidate sets were estimated.
    """

    table: Table
    candidates: CandidateSets
    truth: Any
    columns: list[Column]
    frame: "pl.DataFrame"
    text_options: TextOptions
    notes: tuple[str, ...]
    answers: TableAnswers | None = None


def prepare(path: Path, read_options: ReadOptions) -> PreparedTable:
    """Read a table from a file; defects raise errors of `oneof.errors`."""
    if not read_options.labels and read_options.answers is None:
        raise InputError(f"--labels must name the label column of {path}; got none. Add --labels COLUMN.")
    text_options = read_text_options(read_options.stop_words, read_options.stem)
    verbatim = read_options.verbatim
    as_text = {*read_options.overrides.texts, *read_options.overrides.categories}
    table = read_table(path, as_text=as_text - verbatim, verbatim=verbatim)
    given = None
    if read_options.answers is None:
        candidates = read_labels(
            table,
            read_options.labels,
            separator=read_options.separator,
            classes=read_options.classes,
            **asdict(read_options.weights),
        )
    else:
        given = read_answers(
            read_options.answers, table, separator=read_options.separator, classes=read_options.classes
        )
        candidates = estimate_candidates(given)
    if read_options.classes is None and not read_options.weights.weighted:
        check_no_weights(candidates.classes.tolist(), path)
    truth = None if read_options.truth is None else read_truth(table, read_options.truth, candidates.classes)
    columns, column_notes = choose_columns(table, exclude=verbatim, overrides=read_options.overrides)
    frame = align_columns(table.frame, columns, path)
    check_texts(frame, columns, text_options, path)
    answer_notes = () if given is None else given.notes
    notes = (*suspicious_labels(candidates.classes.tolist(), read_options.separator), *column_notes, *answer_notes)
    return PreparedTable(table, candidates, truth, columns, frame, text_options, notes, given)


def resolve_methods(prepared: PreparedTable, method: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Return the requested methods as pipelines from the table's features, and notes on excluded methods.

    "best" requests all methods except slow ones.
    """
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from oneof.comparison.methods import auto_methods, default_estimators, excluded_from_auto, has_negative_values

    encoder = make_encoder(prepared.columns, prepared.text_options)
    # Numbers are encoded as dense features, whose number the first rows show; categories and words depend on all rows.
    is_dense = all(column.kind in ("number", "yes/no") for column in prepared.columns)
    encoded = encoder.fit_transform(prepared.frame.head(_N_ENCODED_ROWS) if is_dense else prepared.frame)
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
    is_standardized = all(column.kind == "number" for column in prepared.columns)
    pipelines = {}
    for name in names:
        steps = getattr(estimators[name], "steps", None) or [("method", estimators[name])]
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


def describe_comparison(n_methods: int, budget: float | None) -> str:
    """Return the announcement of a comparison, which takes long."""
    limit = "" if budget is None else f" for up to {budget:g} min (--budget)"
    return f"comparing {n_methods} method{'s' * (n_methods != 1)}{limit}; Ctrl-C ends with the best so far."


def _match_name(method: str, estimators: Mapping[str, Any]) -> str:
    """Return the name of the method, compared without case."""
    by_lower = {name.lower(): name for name in estimators}
    if method.lower() not in by_lower:
        close = difflib.get_close_matches(method.lower(), by_lower, n=1)
        hint = f"did you mean {by_lower[close[0]]}? " if close else ""
        raise InputError(f"unknown method {method!r}: {hint}The methods are auto, best, {', '.join(estimators)}.")
    return by_lower[method.lower()]
