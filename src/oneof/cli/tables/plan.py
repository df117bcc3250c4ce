"""Plan of a training: the facts of a table, and the time of the fit.

`describe` collects the facts of a table, and `Plan` is shown by `oneof inspect`, and by `oneof fit` before the work.
"""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from oneof.cli.tables.times import AUDIT, MAX_ESTIMATE_SECONDS, RATES
from oneof.io import UnreadableCells
from oneof.messages import enumerate_items, write_names

if TYPE_CHECKING:
    import polars as pl

    from oneof.candidates import CandidateSets
    from oneof.io import Column, Table, TableFindings
    from oneof.typing import Floats

MAX_UNCONFIRMED_SECONDS = 3600.0
"""Estimated seconds above which `oneof fit` asks before it begins."""
_MAX_LISTED = 8
_MIN_RUN = 3
"""Number of names such as q1, q2, q3 that are listed as "q1 to q3"."""
_NUMBERED = re.compile(r"(.*?)(\d{1,9})$")
_PLURALS = {"number": "numbers", "category": "categories", "text": "texts", "date": "dates", "duration": "durations"}


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about a column.

    The kind is None if it is not a feature; missing is the number of missing cells, None if the column is not read.
    """

    name: str
    kind: str | None
    missing: int | None


@dataclass(frozen=True)
class ClassFacts:
    """Facts about a class: the number of labeled rows whose set contains it, and of those with no other label.

    A row with weights counts for its classes of the largest weight only: with `rest`, it has all classes.
    """

    label: Any
    rows: int
    exact: int


@dataclass(frozen=True)
class AnswerFacts:
    """Facts about the answers of annotators: the file, and the numbers of answers and annotators."""

    file: str
    answers: int
    annotators: int


@dataclass(frozen=True)
class GroupFacts:
    """Facts about the groups of rows: the column, and the number of groups with labeled rows."""

    column: str
    groups: int


@dataclass(frozen=True)
class Plan:
    """Facts of a table, and the method and the time of a fit.

    Attributes
    ----------
    table : str
    rows : int
    columns : list of ColumnFacts
        All columns except those of labels and truth.
    labels : list of str
        The columns of labels; with answers, that of the known labels. Empty if none is named.
    exact, partial, unlabeled, weighted : int
        The numbers of rows by their labels; weighted rows are also exact or partial.
    classes : tuple of ClassFacts
    largest : str
        The number that a row with weights has for its first label.
    first_labels : str
        A sentence with the accuracy of the first labels by true or checked labels; empty if it is unknown.
    sparse_features : int or None
        The number of features of a sparse matrix, which has no columns.
    answers : AnswerFacts or None
        The answers of annotators, from which the labels are estimated.
    groups : GroupFacts or None
        The groups of rows, which folds keep together.
    noise_rate : float, str or None
        The rate of wrong labels that the fit corrects, or "auto".
    class_weight : str or None
        The weights of the classes in the fit: "balanced", or None.
    method : str or None
        The name of the method, or of several methods; None without labels.
    seconds : float or None
        The estimated time of all steps of the fit; None if it is unknown.
    faster : tuple of (str, float)
        Faster methods with the time of the same steps, the fastest first; empty if the time is short.
    one_split_seconds : float or None
        The same with --folds 1; None if that is not less.
    round_seconds : float or None
        The estimated time of the maximum number of rounds in which the annotators and the method are fitted in turn.
    step_seconds : dict of str to (float or None)
        The estimated time of each step, in order; None if it is unknown.
    limit_minutes : float or None
        The time for the comparison of several methods.
    epochs : int or None
        The number of passes of online learning.
    is_complete : bool
        Whether the facts are those of all rows, not of the first rows of a stream only.
    """

    table: str
    rows: int
    columns: list[ColumnFacts]
    labels: list[str]
    exact: int = 0
    partial: int = 0
    unlabeled: int = 0
    weighted: int = 0
    classes: tuple[ClassFacts, ...] = ()
    largest: str = "the largest weight"
    first_labels: str = ""
    sparse_features: int | None = None
    answers: AnswerFacts | None = None
    groups: GroupFacts | None = None
    noise_rate: float | str | None = None
    class_weight: str | None = None
    method: str | None = None
    seconds: float | None = None
    faster: tuple[tuple[str, float], ...] = ()
    one_split_seconds: float | None = None
    round_seconds: float | None = None
    step_seconds: dict[str, float | None] = field(default_factory=dict)
    limit_minutes: float | None = None
    epochs: int | None = None
    is_complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in the types of JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the plan as text."""
        n_columns = len(self.columns) + len(self.labels)
        width = f", {_count(n_columns, 'column')}" if self.sparse_features is None else ""
        first = "" if self.is_complete else "the first "
        return [f"{self.table}: {first}{_count(self.rows, 'row')}{width}", *self._labels(), *self._features()] + [
            f"  {name:8}  {text}" for name, text in self._work()
        ]

    def _labels(self) -> list[str]:
        """Return the rows by their labels, and the classes."""
        if not self.classes:
            return []
        weighted = f" ({self.weighted:,} weighted)" * bool(self.weighted)
        source = _join([write_names([name]) for name in self.labels])
        if self.answers is not None:
            known = f" and known labels in {source}" * bool(source)
            n_answers, n_annotators = (
                _count(self.answers.answers, "answer"),
                _count(self.answers.annotators, "annotator"),
            )
            source = f"{n_answers} of {n_annotators} in {self.answers.file}{known}"
        rows = f"{self.exact:,} exact, {self.partial:,} partial{weighted}, {self.unlabeled:,} unlabeled"
        classes = list(self.classes)
        if len(classes) > _MAX_LISTED:
            classes.sort(key=lambda facts: -facts.rows)
        meaning = self.largest if self.weighted else "a candidate"
        first = f"{classes[0].label} ({meaning} in {_count(classes[0].rows, 'row')})"
        counts = [first, *(f"{facts.label} ({facts.rows:,})" for facts in classes[1:])]
        rarest = f"; the rarest is {counts[-1]}" * (len(counts) > _MAX_LISTED)
        lines = [f"  labels    {source}: {rows}", f"  classes   {len(counts):,}: {_join(counts)}{rarest}"]
        return lines + [f"  accuracy  {self.first_labels}"] * bool(self.first_labels)

    def _features(self) -> list[str]:
        """Return the columns by their kinds, and the missing cells."""
        kinds: dict[str | None, list[str]] = {}
        for column in self.columns:
            kinds.setdefault(column.kind, []).append(column.name)
        excluded = kinds.pop(None, [])
        lines = []
        for number, (kind, names) in enumerate(sorted(kinds.items(), key=lambda item: -len(item[1]))):
            word = _PLURALS.get(str(kind), str(kind)) if len(names) > 1 else kind
            lines.append(f"  {'' if number else 'features':8}  {len(names):,} {word}: {_join_columns(names)}")
        if self.sparse_features is not None:
            lines.append(f"  features  {self.sparse_features:,} of a sparse matrix")
        if excluded:
            lines.append(f"  excluded  {len(excluded):,}: {_join_columns(excluded)}")
        missing = {column.name: column.missing for column in self.columns if column.kind and column.missing}
        incomplete = sorted(missing, key=lambda name: -missing[name])
        if incomplete:
            n_cells = sum(missing.values())
            listed = [f"{write_names([name])} ({missing[name]:,})" for name in incomplete]
            lines.append(
                f"  missing   {_count(n_cells, 'cell')} of {_count(len(incomplete), 'feature')}: {_join(listed)}"
            )
        return lines

    def _work(self) -> list[tuple[str, str]]:
        """Return the method and the time of the fit."""
        if self.method is None:
            return []
        method = [("method", self.method)]
        if self.groups is not None:
            method.append(("folds", f"by the {self.groups.groups:,} groups of {write_names([self.groups.column])}"))
        if self.class_weight is not None:
            method.append(("weights", f"of the classes: {self.class_weight} (--class-weight)"))
        if self.noise_rate is not None:
            rate = "an estimated rate" if self.noise_rate == "auto" else f"a rate of {self.noise_rate:g}"
            method.append(("noise", f"wrong labels are corrected, with {rate} (--noise-rate)"))
        if self.limit_minutes is not None:
            with_audits = ", and its audits, several times as long as its fit" * (RATES in self.step_seconds)
            limit = f"up to {self.limit_minutes:g} min (--budget), and the fit of the best method{with_audits}"
            return [*method, ("time", limit)]
        if self.seconds is None:
            return [*method, *([("time", "unknown")] if self.epochs is None else [])]
        if self.epochs is not None:
            passes = f"for {_count(self.epochs, 'pass')}".replace("passs", "passes")
            return [*method, ("time", f"about {_duration(self.seconds)} {passes}")]
        audit = ", search for wrong labels" * (AUDIT in self.step_seconds)
        time = f"about {_duration(self.seconds)} (fit, held-out estimate, learning curve{audit} and report)"
        if self.round_seconds is not None:
            time += f", and up to {_duration(self.round_seconds)} for the rounds of the annotators"
        if RATES in self.step_seconds:
            audits = sum(self.step_seconds.get(step) or 0.0 for step in (AUDIT, RATES))
            time += f"; about {_duration(self.seconds - audits)} without --noise-rate"
        if self.seconds > MAX_ESTIMATE_SECONDS:
            one_split = self.one_split_seconds
            other = f"--method names another method{self.describe_faster()}"
            if one_split is None:
                time += f"; --drop excludes columns, and {other}"
            else:
                time += f"; about {_duration(one_split)} with --folds 1" + f"; {other}" * bool(self.faster)
        return [*method, ("time", time)]

    def describe_faster(self) -> str:
        """Return the faster methods with their times, such as ": PLEM (about 2.0 min)"; empty if there are none."""
        listed = [f"{name} (about {_duration(seconds)})" for name, seconds in self.faster]
        return f": {' or '.join(listed)}" if listed else ""

    def question(self) -> str:
        """Return a sentence with the time if it is above `MAX_UNCONFIRMED_SECONDS`; otherwise empty."""
        if self.seconds is None or self.limit_minutes is not None or self.seconds <= MAX_UNCONFIRMED_SECONDS:
            return ""
        faster = f"; faster methods{self.describe_faster()}" if self.faster else ""
        return f"{self.method} takes about {_duration(self.seconds)} on this table{faster}."


@dataclass(frozen=True)
class Inspection:
    """Result of `oneof inspect` for a table.

    These are the plan, the findings about the columns, sentences for the user, and the rows whose labels cannot be
    read.
    """

    plan: Plan
    findings: "TableFindings"
    notes: tuple[str, ...]
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)


def describe(
    table: "Table",
    columns: "Sequence[Column]",
    frame: "pl.DataFrame | Any",
    *,
    labels: Sequence[str] = (),
    candidates: "CandidateSets | None" = None,
    weights: "Floats | None" = None,
    exclude: Sequence[str] = (),
) -> Plan:
    """Return the facts of a table, without a method.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
        The features.
    frame : polars.DataFrame or CSR matrix
        The features in the types of the encoder, in which a missing number is NaN and a missing text is empty.
    labels : sequence of str
        The columns of labels.
    candidates : CandidateSets, optional
    weights : ndarray of shape (n_rows, n_classes), optional
        The weights as they are in the table, by default those of the candidates.
    exclude : sequence of str
        Columns that are neither features nor labels, such as true labels.
    """
    import numpy as np

    kinds = {column.name: column.kind for column in columns}
    skipped = {*labels, *exclude, *table.label_columns}
    facts = [
        ColumnFacts(name, kinds.get(name), _count_missing((frame if name in kinds else table.frame)[name]))
        for name in table.frame.columns
        if name not in skipped
    ]
    facts += [ColumnFacts(name, None, None) for name in table.dropped if name not in skipped]
    if table.rows is None:
        plan = Plan(str(table.path), table.frame.height, facts, list(labels))
    else:
        plan = Plan(str(table.path), table.rows.shape[0], facts, list(labels), sparse_features=table.rows.shape[1])
    if candidates is None:
        return plan
    labeled, exact = ~candidates.is_unlabeled, candidates.is_exact
    largest = candidates.evidence[labeled] if weights is None else weights[labeled]
    in_sets = ((largest >= largest.max(axis=1, keepdims=True)) & (largest > 0)).sum(axis=0)
    alone = candidates.mask[exact].sum(axis=0)
    n_exact, n_labeled = int(exact.sum()), int(np.sum(labeled))
    return replace(
        plan,
        exact=n_exact,
        partial=n_labeled - n_exact,
        unlabeled=len(candidates) - n_labeled,
        weighted=int(candidates.is_weighted.sum()),
        classes=tuple(
            ClassFacts(label, int(rows), int(number))
            for label, rows, number in zip(candidates.classes.tolist(), in_sets, alone, strict=True)
        ),
    )


def announce(task: str, seconds: float | None, advice: str) -> list[str]:
    """Return a sentence with the time of a task and advice to save time, if it takes more than a minute."""
    if seconds is None or seconds <= MAX_ESTIMATE_SECONDS:
        return []
    return [f"{task} takes about {_duration(seconds)}; {advice}."]


def _count_missing(cells: "pl.Series") -> int:
    import polars as pl

    if cells.dtype.is_float():
        return cells.fill_nan(None).null_count()
    if cells.dtype == pl.String:
        return cells.str.strip_chars().replace("", None).null_count()
    return cells.null_count()


def _duration(seconds: float) -> str:
    from oneof.comparison.results import format_duration

    return format_duration(max(seconds, 1.0))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _join(items: Sequence[str]) -> str:
    return enumerate_items(list(items), _MAX_LISTED, conjunction=False)


def _join_columns(names: Sequence[str]) -> str:
    """Return names of columns, in which a run such as q1, q2, q3 is "q1 to q3"."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    listed: list[tuple[str, int]] = []
    for run in runs:
        if len(run) >= _MIN_RUN:
            listed.append((f"{write_names([run[0]])} to {write_names([run[-1]])}", len(run)))
        else:
            listed += [(write_names([name]), 1) for name in run]
    n_hidden = sum(size for _, size in listed[_MAX_LISTED:])
    return enumerate_items([text for text, _ in listed[:_MAX_LISTED]], conjunction=False, n_others=n_hidden)


def _follows(first: str, second: str) -> bool:
    """Return whether two names differ in the number at their end, which is larger by one in the second."""
    a, b = _NUMBERED.match(first), _NUMBERED.match(second)
    return a is not None and b is not None and a[1] == b[1] and int(a[2]) + 1 == int(b[2])
