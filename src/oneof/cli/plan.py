"""Plan of a training: what was read from the table, and how long the fit takes.

`describe` collects the facts of a table, `estimate_seconds` predicts the time from fits on samples of the rows, and
`Plan` is shown by `oneof inspect`, and by `oneof fit` before the work.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from oneof.wording import enumerate_items

if TYPE_CHECKING:
    import polars as pl

    from oneof.candidates import CandidateSets
    from oneof.io import Column, Table

CURVE_FRACTIONS = (0.1, 0.2, 0.4, 0.7)
MAX_CURVE_ROWS = 4_000
"""The sizes of the learning curve are these fractions of the training rows, of at most this number, and all rows."""
PATIENCE = 60.0
"""Seconds from which a more exact estimate of the time is not needed."""
_MIN_ROWS = 40
"""Number of rows from which samples of the rows can be fitted."""
_MAX_LISTED = 8
_PLURALS = {"number": "numbers", "category": "categories", "text": "texts", "date": "dates", "duration": "durations"}


@dataclass(frozen=True)
class ColumnFacts:
    """Facts about a column: the kind is None if it is not a feature; missing is the number of missing cells."""

    name: str
    kind: str | None
    missing: int


@dataclass(frozen=True)
class ClassFacts:
    """Facts about a class: the number of labeled rows whose set contains it, and of those with no other label."""

    label: Any
    rows: int
    exact: int


@dataclass(frozen=True)
class Plan:
    """What was read from a table, and the fit.

    Attributes
    ----------
    table : str
    rows : int
    columns : list of ColumnFacts
        All columns except those of labels and truth.
    labels : list of str
        The columns of labels; empty if none is named, or if the labels are answers of annotators.
    exact, partial, unlabeled, weighted : int
        The numbers of rows by their labels; weighted rows are also exact or partial.
    classes : list of ClassFacts
    sparse_features : int or None
        The number of features of a sparse matrix, which has no columns.
    method : str or None
        The name of the method, or of several methods; None without labels.
    seconds : float or None
        The estimated time of the fit with its held-out estimate; None if it is unknown.
    limit_minutes : float or None
        The time for the comparison of several methods.
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
    sparse_features: int | None = None
    method: str | None = None
    seconds: float | None = None
    limit_minutes: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in the types of JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the plan as text."""
        n_columns = len(self.columns) + len(self.labels)
        width = f", {_count(n_columns, 'column')}" if self.sparse_features is None else ""
        lines = [f"{self.table}: {_count(self.rows, 'row')}{width}"]
        if self.classes:
            weighted = f" ({self.weighted:,} weighted)" * bool(self.weighted)
            names = _join(self.labels) or "answers of annotators"
            lines.append(
                f"  labels    {names}: {self.exact:,} exact, {self.partial:,} partial{weighted}, "
                f"{self.unlabeled:,} unlabeled"
            )
            counts = [f"{facts.label} ({facts.rows:,})" for facts in self.classes]
            lines.append(f"  classes   {len(counts):,}, with the rows whose set has them: {_join(counts)}")
        kinds: dict[str | None, list[ColumnFacts]] = {}
        for column in self.columns:
            kinds.setdefault(column.kind, []).append(column)
        excluded = kinds.pop(None, [])
        for number, (kind, columns) in enumerate(kinds.items()):
            word = _PLURALS.get(str(kind), str(kind)) if len(columns) > 1 else kind
            lines.append(f"  {'' if number else 'features':8}  {len(columns):,} {word}: {_join(_names(columns))}")
        if self.sparse_features is not None:
            lines.append(f"  features  {self.sparse_features:,} of a sparse matrix")
        if excluded:
            lines.append(f"  excluded  {_join(_names(excluded, missing=False))}")
        return lines + self._work()

    def _work(self) -> list[str]:
        """Return the method and the time of the fit."""
        from oneof.comparison.results import format_duration

        if self.method is None:
            return []
        if self.limit_minutes is not None:
            time = f"up to {self.limit_minutes:g} min (--budget), and the fit of the best method"
        elif self.seconds is None:
            time = "unknown"
        else:
            time = f"about {format_duration(max(self.seconds, 1.0))}"
        return [f"  method    {self.method}; time with the held-out estimate: {time}"]


def describe(
    table: "Table",
    columns: "Sequence[Column]",
    frame: "pl.DataFrame | Any",
    *,
    labels: Sequence[str] = (),
    candidates: "CandidateSets | None" = None,
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
    if table.rows is None:
        plan = Plan(str(table.path), table.frame.height, facts, list(labels))
    else:
        plan = Plan(str(table.path), table.rows.shape[0], facts, list(labels), sparse_features=table.rows.shape[1])
    if candidates is None:
        return plan
    labeled, exact = ~candidates.is_unlabeled, candidates.is_exact
    in_sets, alone = candidates.mask[labeled].sum(axis=0), candidates.mask[exact].sum(axis=0)
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


def estimate_seconds(methods: Mapping[str, Any], task: Any, splits: Sequence[Any], seed: int) -> float | None:
    """Return the estimated time of a single method with its held-out estimate and learning curve; None if unknown."""
    import numpy as np

    from oneof.comparison import cost

    [estimator] = methods.values()
    n = len(task.candidates)
    train_sizes = [len(train) for train, _ in splits]
    n_fits = 1 + sum(train_sizes) / n
    n_fits += sum(CURVE_FRACTIONS) * sum(min(size, MAX_CURVE_ROWS) for size in train_sizes) / n
    rows, test = np.arange(n), splits[0][1]
    options = {"enough": PATIENCE / n_fits, "patience": PATIENCE / 20, "random_state": seed}
    seconds = cost.estimate_fold_seconds(estimator, task, rows, test, **options)
    if math.isnan(seconds) and n >= _MIN_ROWS:
        seconds = _estimate_small(estimator, task, test, seed)
    return None if math.isnan(seconds) else seconds * n_fits


def _estimate_small(estimator: Any, task: Any, test: Any, seed: int) -> float:
    """Return the estimated time of a fit of all rows of a small table from fits on a quarter and a half of them."""
    import numpy as np

    from oneof.comparison import cost, folds

    order = np.random.default_rng(seed).permutation(len(task.candidates))

    def run(size: int) -> float:
        start = folds.clock()
        result = folds.try_fit_and_score(estimator, task, np.sort(order[:size]), test)
        return folds.clock() - start if result.error is None else math.nan

    run(len(order) // 4)  # not measured, since it may include compilation
    quarter, half = run(len(order) // 4), run(len(order) // 2)
    if math.isnan(quarter) or math.isnan(half):
        return math.nan
    # Fixed costs dominate on few rows: the growth may be slower than linear.
    exponent = float(np.clip(math.log2(half / quarter), 0.0, cost.GROWTH_RANGE[1])) if min(quarter, half) > 0 else 1.0
    return half * 2.0**exponent


def _count_missing(cells: "pl.Series") -> int:
    import polars as pl

    if cells.dtype.is_float():
        return cells.fill_nan(None).null_count()
    if cells.dtype == pl.String:
        return cells.str.strip_chars().replace("", None).null_count()
    return cells.null_count()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _names(columns: Sequence[ColumnFacts], *, missing: bool = True) -> list[str]:
    """Return the names of columns, those with the most missing cells first if these are shown."""
    ordered = sorted(columns, key=lambda column: -column.missing) if missing else columns
    return [column.name + f" ({column.missing:,} missing)" * bool(missing and column.missing) for column in ordered]


def _join(items: Sequence[str]) -> str:
    return enumerate_items(list(items), _MAX_LISTED, conjunction=False)
