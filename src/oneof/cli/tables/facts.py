"""Facts of a table, which `oneof inspect` shows, and `oneof fit` before the work."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneof.cli.auditing import describe_first_labels, measure_first_labels
from oneof.cli.options import OnlineOptions, ReadOptions
from oneof.cli.tables.inputs import PreparedTable, prepare_features, prepare_rows
from oneof.errors import InputError, LabelError
from oneof.io import Finding, Table, TableFindings, UnreadableCells, check_indicator, notes
from oneof.io.batches import file_sizes, iterate_batches, progress_fraction
from oneof.io.features import BatchSpec, TableFeatures
from oneof.io.formats.source import Source, open_source
from oneof.messages import enumerate_items, write_names

_MAX_LISTED = 8
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
class TableFacts:
    """Facts of a table.

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
    answers : dict or None
        The file of the answers of annotators, from which the labels are estimated, with the numbers of answers and
        annotators.
    groups : dict or None
        The column of groups of rows, which folds keep together, and the number of groups with labeled rows.
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
    answers: dict[str, Any] | None = None
    groups: dict[str, Any] | None = None
    is_complete: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return the facts in the types of JSON; the numbers of labels that are not described are None."""
        unknown = () if self.classes else ("exact", "partial", "unlabeled", "weighted")
        return asdict(self) | dict.fromkeys(unknown)

    def lines(self) -> list[str]:
        """Return the facts as text."""
        n_columns = len(self.columns) + len(self.labels)
        width = f", {_count(n_columns, 'column')}" if self.sparse_features is None else ""
        first = "" if self.is_complete else "the first "
        lines = [f"{self.table}: {first}{_count(self.rows, 'row')}{width}", *self._labels(), *self._features()]
        if self.groups is not None:
            name = write_names([self.groups["column"]])
            lines.append(f"  folds     by the {self.groups['groups']:,} groups of {name}")
        return lines

    def _labels(self) -> list[str]:
        """Return the rows by their labels, and the classes."""
        if not self.classes:
            return []
        weighted = f" ({self.weighted:,} weighted)" * bool(self.weighted)
        source = _join_names(self.labels)
        if self.answers is not None:
            known = f" and known labels in {source}" * bool(source)
            n_answers, n_annotators = (_count(self.answers[f"{noun}s"], noun) for noun in ("answer", "annotator"))
            source = f"{n_answers} of {n_annotators} in {self.answers['file']}{known}"
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
            lines.append(f"  {'' if number else 'features':8}  {len(names):,} {word}: {_join_names(names)}")
        if self.sparse_features is not None:
            lines.append(f"  features  {self.sparse_features:,} of a sparse matrix")
        if excluded:
            lines.append(f"  excluded  {len(excluded):,}: {_join_names(excluded)}")
        missing = {column.name: column.missing for column in self.columns if column.kind and column.missing}
        incomplete = sorted(missing, key=lambda name: -missing[name])
        if incomplete:
            n_cells = sum(missing.values())
            listed = [f"{write_names([name])} ({missing[name]:,})" for name in incomplete]
            lines.append(
                f"  missing   {_count(n_cells, 'cell')} of {_count(len(incomplete), 'feature')}: {_join(listed)}"
            )
        return lines


@dataclass(frozen=True)
class Inspection:
    """Result of `oneof inspect` for a table.

    These are its facts, the findings, and the rows whose labels cannot be read.
    """

    facts: TableFacts
    findings: TableFindings
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)


def inspect_rows(table: Table, read_options: ReadOptions) -> Inspection:
    """Return the facts of a table, and the findings.

    Labels that cannot be learned from, such as those of a single class, are a finding, and not an error as of a fit.
    """
    others: list[Finding] = []
    if read_options.labels or read_options.answers is not None:
        try:
            prepared = prepare_rows(table, read_options)
        except LabelError as error:
            if error.rows or error.row is not None or error.label is not None:
                raise
            others = notes("labels", [f"the labels cannot be described: {error}"])
        else:
            facts = describe_prepared(prepared)
            return Inspection(facts, prepared.findings, prepared.unreadable_labels)
    features = prepare_features(table, read_options)
    findings = replace(features.findings, others=tuple(others))
    return Inspection(_describe_columns(table, features, read_options), findings)


def _describe_columns(table: Table, features: TableFeatures, read_options: ReadOptions) -> TableFacts:
    """Return the facts of a table without its labels; a missing number of a feature is NaN, a missing text is empty."""
    kinds, labels = {column.name: column.kind for column in features.columns}, read_options.label_columns
    skipped = {*labels, *read_options.text_columns, *table.label_columns}
    of_columns = [
        ColumnFacts(name, kinds.get(name), count_missing((features.frame if name in kinds else table.frame)[name]))
        for name in table.frame.columns
        if name in kinds or name not in skipped
    ]
    of_columns += [ColumnFacts(name, None, None) for name in table.dropped if name not in skipped]
    n_features = None if table.rows is None else table.rows.shape[1]
    return TableFacts(str(table.path), len(table), of_columns, list(labels), sparse_features=n_features)


def describe_prepared(prepared: PreparedTable) -> TableFacts:
    """Return the facts of a table with labels."""
    candidates, read_options = prepared.candidates, prepared.read_options
    weights = prepared.written_weights if candidates.is_weighted.any() else candidates.evidence
    if prepared.is_checked is not None:
        weights = np.where(prepared.is_checked[:, None], candidates.evidence, weights)
    labeled, exact = ~candidates.is_unlabeled, candidates.is_exact
    weights = weights[labeled]
    in_sets = ((weights >= weights.max(axis=1, keepdims=True)) & (weights > 0)).sum(axis=0).tolist()
    counts = zip(candidates.classes.tolist(), in_sets, candidates.mask[exact].sum(axis=0).tolist(), strict=True)
    answers = groups = None
    if prepared.n_groups is not None:
        groups = {"column": str(read_options.groups), "groups": prepared.n_groups}
    if prepared.answers is not None and read_options.answers is not None:
        given, path = prepared.answers.answers, str(read_options.answers.path)
        answers = {"file": path, "answers": given.n_answers, "annotators": len(given.annotators)}
    return replace(
        _describe_columns(prepared.table, prepared, read_options),
        exact=int(exact.sum()),
        partial=int((labeled & ~exact).sum()),
        unlabeled=int(np.sum(~labeled)),
        weighted=int(candidates.is_weighted.sum()),
        classes=tuple(ClassFacts(*one) for one in counts),
        largest=prepared.largest,
        first_labels="".join(describe_first_labels(measure_first_labels(prepared))).rstrip("."),
        answers=answers,
        groups=groups,
    )


def inspect_stream(path: Path, read_options: ReadOptions, online_options: OnlineOptions) -> Inspection:
    """Return the facts of the first batch of a stream."""
    source = open_source(path, read_options.table.format)
    if not source.can_be_read_again:
        raise InputError("standard input is read once: inspect a file with its first rows instead.")
    table = read_first_rows(source, read_options, online_options.batch_rows, 2**online_options.hash_bits)
    return inspect_first_rows(source, table, read_options)


def read_first_rows(source: Source, read_options: ReadOptions, n_rows: int, n_columns: int) -> Table:
    """Return the first rows of a stream; those of an svmlight file have the given number of features."""
    names, overrides = read_options.text_columns, read_options.overrides
    spec = BatchSpec(
        () if source.format == "svmlight" else tuple(names),
        as_text={*overrides.texts, *overrides.categories} - names,
        labels_required=False,
        n_columns=n_columns,
        dialect=read_options.table.dialect,
        cell_format=read_options.table.cell_format,
    )
    table = next(iter(iterate_batches(source, n_rows, spec)), None)
    if table is None:
        raise InputError(f"{source.display_name} has no rows.")
    return table if table.rows is None else replace(table, frame=pl.DataFrame())


def inspect_first_rows(source: Source, table: Table, read_options: ReadOptions) -> Inspection:
    """Return the facts of the first rows of a stream, without those of labels that cannot be described."""
    if not read_options.weights.weighted and len(read_options.labels) > 1:
        check_indicator(table, read_options.labels)
    inspection = inspect_rows(table, read_options)
    is_complete = progress_fraction(file_sizes(source), table.after) == 1.0
    return replace(inspection, facts=replace(inspection.facts, table=source.name, is_complete=is_complete))


def count_missing(cells: pl.Series) -> int:
    """Return the number of cells that are null, NaN or blank."""
    cells = cells.fill_nan(None) if cells.dtype.is_float() else cells
    return (cells.str.strip_chars().replace("", None) if cells.dtype == pl.String else cells).null_count()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _join(items: Sequence[str]) -> str:
    return enumerate_items(list(items), _MAX_LISTED, conjunction=False)


def _join_names(names: Sequence[str]) -> str:
    return _join([write_names([name]) for name in names])
