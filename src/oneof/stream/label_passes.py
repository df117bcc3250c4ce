"""Passes over the labels of a stream before it is learned: the classes, and the mean of posteriors."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from oneof.candidates.cells import LabelFormat
from oneof.candidates.columns import LabelColumns, LabelCounts, LabelReader
from oneof.errors import DataError, InputError, LabelError
from oneof.io import Finding, UnreadableCells, check_no_weights, class_findings
from oneof.io.batches import iterate_batches
from oneof.io.formats.source import Source
from oneof.stream.checkpoint import RunState
from oneof.stream.options import StreamOptions, batch_spec


def initialize(source: Source, options: StreamOptions) -> RunState:
    """Return the state before the first batch, with classes and prior if they are known or can be read in a pass."""
    classes, findings = _initial_classes(source, options)
    if options.kind != "posterior":
        return RunState(classes=classes, findings=findings)
    prior = _mean_posterior(source, options, classes or []) if options.prior is None else list(options.prior)
    return RunState(classes=classes, findings=findings, prior=prior)


def _initial_classes(source: Source, options: StreamOptions) -> tuple[list[str] | None, list[Finding]]:
    if options.classes is not None:
        return label_reader(options, options.classes, options.prior).classes, []
    if len(options.labels) > 1:
        return [name for name in options.labels if name != options.rest], []
    if not source.can_be_read_again:
        return None, []
    counts = sum(_map_labels(source, options, label_reader(options).count), LabelCounts())
    return sort_classes(counts, source.display_name, options)


def _mean_posterior(source: Source, options: StreamOptions, classes: Sequence[str]) -> list[float]:
    """Return the mean of the posteriors over all rows with weights."""
    reader, total, n_rows = label_reader(options, classes), np.zeros(len(classes)), 0
    for batch_sum, n_batch in _map_labels(source, options, reader.posterior_sum):
        total, n_rows = total + batch_sum, n_rows + n_batch
    return (total / n_rows).tolist() if n_rows else [1 / len(classes)] * len(classes)


def _map_labels(source: Source, options: StreamOptions, function: Callable[[Any], Any]) -> Iterator[Any]:
    """Yield a function of the labels of each batch, without the features; errors name the rows of the files."""
    is_empty = True
    for batch in iterate_batches(source, options.batch_rows, batch_spec(options, ())):
        is_empty = False
        with batch.localized():
            result = function(batch.labels)
        yield result
    if is_empty:
        raise DataError(f"{source.display_name} has no rows.")


def label_reader(
    options: StreamOptions,
    classes: Sequence[str] | None = None,
    prior: Sequence[float] | None = None,
    *,
    unreadable: UnreadableCells | None = None,
    first_row: int = 0,
) -> LabelReader:
    """Return the reader of the labels; without a prior it reads posteriors as they are.

    `unreadable` counts the rows that are unlabeled since their labels cannot be read, if these are not errors.
    """
    column = " to ".join(dict.fromkeys([*options.labels[:1], *options.labels[-1:]])) or "labels"

    def count(errors: dict[int, LabelError]) -> None:
        if unreadable is not None:
            unreadable.add_labels(column, errors, first_row=first_row)

    kind = "likelihood" if prior is None else options.kind
    columns = LabelColumns(options.labels, label_format(options, classes), options.weights, kind, prior)
    return LabelReader(columns, count if options.table.cell_format.label_errors == "unlabeled" else None)


def label_format(options: StreamOptions, classes: Sequence[str] | None = None) -> LabelFormat:
    """Return the form of the labels."""
    cells = options.table.cell_format
    return LabelFormat(options.separator, classes, options.weighted, options.rest, cells.folds_labels, cells.missing)


def sort_classes(counts: LabelCounts, source: str, options: StreamOptions) -> tuple[list[str], list[Finding]]:
    """Return the classes in their order, and findings about them; `source` is the name of the source in errors."""
    if not options.has_weights:
        check_no_weights({label for label, _ in counts.counts}, source)
    try:
        classes = counts.classes(label_format(options))
    except InputError as error:
        raise error.at(source) from None
    return [*classes], class_findings(classes, options.separator, source=source)
