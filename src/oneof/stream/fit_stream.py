"""Online learning from a stream: read, predict and learn each batch, update the losses, write checkpoints.

The classes, and the mean of posteriors, are read in passes over the labels before.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from oneof.candidates.columns import LabelColumns, LabelCounts, LabelReader
from oneof.errors import DataError, InputError, InputTypeError
from oneof.estimators.online import OnlineClassifier
from oneof.io import (
    Column,
    Finding,
    Table,
    UnreadableCells,
    check_no_weights,
    check_texts,
    choose_columns,
    class_findings,
    describe,
)
from oneof.io.batches import file_sizes, iterate_batches, progress_fraction
from oneof.io.formats.source import Source, open_source
from oneof.io.table import Position
from oneof.stream.checkpoint import CheckpointConfig, RunState, fingerprint, read_checkpoint, write_checkpoint
from oneof.stream.encoder import StreamEncoder
from oneof.stream.options import StreamOptions, batch_spec, check_arguments, label_format
from oneof.stream.validation import ProgressiveValidation
from oneof.validation import check_instance

StreamCallback = Callable[[ProgressiveValidation, float | None], None]
"""Called after each batch with the losses and the fraction of the pass that is complete, None if it is unknown."""


@dataclass(frozen=True)
class StreamResult:
    r"""Result of `fit_stream`.

    Attributes
    ----------
    model : Pipeline
        A fitted pipeline from a table, as returned by `oneof.io.align_columns`, to labels; for svmlight files, from
        sparse rows.
    classes : list of str
    prior : list of float or None
        The prior by which posteriors were divided, in the order of the classes; None without posteriors.
    unreadable_labels : UnreadableCells
        The rows that are unlabeled since their labels cannot be read.
    columns : list of Column
        The features; empty for svmlight files.
    validation : ProgressiveValidation
        The losses over the first pass.
    resumed_at : int or None
        Number of rows learned, over all passes, when the run was resumed.
    notes : list of str
        Warnings about the classes, the columns and the order of the rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof import AvgPerceptron
    >>> from oneof.stream import StreamOptions, fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "birds.csv")
    ...     _ = path.write_text("span,species\n3.1,finch\n0.2,wren\n2.9,finch|wren\n")
    ...     result = fit_stream(path, AvgPerceptron(), StreamOptions(labels=("species",)))
    >>> result.classes, result.resumed_at, result.validation.total.rows
    (['finch', 'wren'], None, 3)
    """

    model: Any
    classes: list[str]
    columns: list[Column]
    validation: ProgressiveValidation
    resumed_at: int | None
    notes: list[str]
    prior: list[float] | None = None
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)


def fit_stream(
    source: Any,
    estimator: Any,
    options: StreamOptions | None = None,
    *,
    checkpoints: CheckpointConfig | None = None,
    callback: StreamCallback | None = None,
) -> StreamResult:
    r"""Fit an online classifier to a stream, in memory that does not grow with the number of rows.

    Each row is predicted by the weights just before it is learned, and each batch by the model just before it is
    learned. Both give an estimate of the ambiguous 0-1 loss, which is unbiased if the rows are in random order. A note
    warns if labels come in runs. The weights equal those of `partial_fit` on the same rows, bit by bit.

    Parameters
    ----------
    source : str, path-like or Source
        See `read_batches`. The format of standard input is that of `open_source`, or of ``options.table``.
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Classifier with its parameters; `n_epochs` and `shuffle` are ignored. The object is not changed.
    options : StreamOptions, optional
    checkpoints : CheckpointConfig, optional
        The file and the frequency of checkpoints. A resumed run ends with the same weights, bit by bit, as an
        uninterrupted one. The file is not removed at the end.
    callback : callable, optional
        Called after each batch as ``callback(validation, fraction)``, with the fraction of the pass that is complete,
        or None if it is unknown.

    Returns
    -------
    StreamResult

    Raises
    ------
    DataError, LabelError
        If the stream cannot be read; the error names file and row or line.
    DataError
        If a checkpoint exists and `resume` is False, or if it is damaged or belongs to another stream or other options.
    KeyboardInterrupt
        After a checkpoint was written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof import AvgPerceptron
    >>> from oneof.stream import StreamOptions, fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "birds.csv")
    ...     rows = [f"{k + i % 7 / 10},{'wren|finch' if i % 3 else names}" for i in range(70)
    ...             for k, names in ((0, "wren"), (3, "finch"))]
    ...     _ = path.write_text("\n".join(["span,species", *rows]))
    ...     result = fit_stream(path, AvgPerceptron(fit_intercept=True), StreamOptions(labels=("species",)))
    >>> result.classes, result.validation.total.rows, result.validation.total.labeled
    (['finch', 'wren'], 140, 48)
    >>> result.validation.total.loss < 0.2
    True
    """
    options = StreamOptions() if options is None else options
    check_instance("options", options, StreamOptions)
    if checkpoints is not None:
        check_instance("checkpoints", checkpoints, CheckpointConfig)
    if callback is not None and not callable(callback):
        raise InputTypeError(f"`callback` must be a function, or None; got {callback!r}.")
    source = source if isinstance(source, Source) else open_source(source, options.table.format)
    check_arguments(source, estimator, options)
    identity = fingerprint(source, estimator, options)
    resumed = None
    if checkpoints is not None and checkpoints.path.exists():
        if not checkpoints.resume:
            raise DataError(
                f"{checkpoints.path} is the checkpoint of an unfinished run. Continue with --resume, or start again "
                "with --restart."
            )
        resumed = read_checkpoint(checkpoints.path, identity)
    run = resumed or initialize(source, options)
    n_saved, saved_at = run.total_rows, time.monotonic()
    sizes = None if callback is None else file_sizes(source)
    try:
        for run in _learn(source, estimator, options, run):  # noqa: B020 - the next state
            if callback is not None:
                callback(run.validation, progress_fraction(sizes, run.position))
            if checkpoints is not None and checkpoints.is_due(run.total_rows - n_saved, time.monotonic() - saved_at):
                write_checkpoint(checkpoints.path, run, identity)
                n_saved, saved_at = run.total_rows, time.monotonic()
    except KeyboardInterrupt:
        # `run` is replaced after each batch, so it never contains half a batch.
        if checkpoints is not None and run.state is not None:
            write_checkpoint(checkpoints.path, run, identity)
        raise
    return _finalize(run, estimator, options, None if resumed is None else resumed.total_rows)


def _learn(source: Source, estimator: OnlineClassifier, options: StreamOptions, run: RunState) -> Iterator[RunState]:
    """Yield the state after each of the remaining batches of this and all further passes."""
    start = time.perf_counter()
    while run.epoch < options.n_epochs:
        spec = batch_spec(options, run.columns)
        for batch in iterate_batches(source, options.batch_rows, spec, run.position):
            with batch.localized():
                run = _with_classes(_with_columns(run, batch, options), batch, options)
                run = _learn_batch(run, batch, estimator, options, start)
            spec.features = None if run.columns is None else tuple(run.columns)
            yield run
            start = time.perf_counter()
        if run.total_rows == 0:
            raise DataError(f"{source.display_name} has no rows.")
        run = replace(run, epoch=run.epoch + 1, position=Position())


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
    batch = None
    for batch in iterate_batches(source, options.batch_rows, batch_spec(options, ())):
        with batch.localized():
            result = function(batch.labels)
        yield result
    if batch is None:
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
    count = partial((UnreadableCells() if unreadable is None else unreadable).add_labels, column, first_row=first_row)
    kind = "likelihood" if prior is None else options.kind
    columns = LabelColumns(options.labels, label_format(options, classes), options.weights, kind, prior)
    return LabelReader(columns, count if options.table.cell_format.label_errors == "unlabeled" else None)


def sort_classes(counts: LabelCounts, source: str, options: StreamOptions) -> tuple[list[str], list[Finding]]:
    """Return the classes in their order, and findings about them; `source` is the name of the source in errors."""
    if not options.has_weights:
        check_no_weights({label for label, _ in counts.counts}, source)
    try:
        classes = counts.classes(label_format(options))
    except InputError as error:
        raise error.at(source) from None
    return [*classes], class_findings(classes, options.separator, source=source)


def _with_columns(run: RunState, batch: Table, options: StreamOptions) -> RunState:
    """Return the state with the features, and findings about the file and its columns, of the first batch.

    The kinds are inferred as for a table (`oneof.io.choose_columns`), from the rows of the first batch only. Cells that
    cannot be read are found later.
    """
    if run.columns is not None or not options.labels:
        return run
    scope = f", according to the first {len(batch):,} rows (--batch-rows)"
    columns, found = choose_columns(batch, exclude=set(options.label_columns), overrides=options.overrides, scope=scope)
    if not any(column.kind == "text" for column in columns):  # others may have their first words in later rows
        check_texts(batch.frame, (), options.text_options, batch.path)
    findings = [finding for finding in found.findings() if finding.kind != "unreadable"]
    return replace(run, columns=columns, findings=[*run.findings, *findings])


def _with_classes(run: RunState, batch: Table, options: StreamOptions) -> RunState:
    """Return the state with the classes of the first batch, unless they are known, and findings about them."""
    if run.classes is not None:
        return run
    reader = label_reader(options)
    source = f"the first batch of {batch.path}"
    classes, findings = sort_classes(reader.count(batch.labels), source, options)
    return replace(run, classes=classes, findings=[*run.findings, *findings])


def _learn_batch(
    run: RunState, batch: Table, estimator: OnlineClassifier, options: StreamOptions, start: float
) -> RunState:
    """Return the state after a batch; losses, moments and unreadable cells are those of the first pass."""
    unreadable, unlabeled = UnreadableCells(), UnreadableCells()
    reader = label_reader(options, run.classes, run.prior, unreadable=unlabeled, first_row=batch.first_row)
    evidence = reader.evidence(batch.labels)
    encoder, rows = _encoder(run, options), batch.rows
    if encoder is not None:
        frame = options.table.align(batch, run.columns or [], unreadable)
        # After the first pass the encoder does not change.
        encoder, rows = encoder.partial_fit_transform(frame) if run.epoch == 0 else (encoder, encoder.transform(frame))
    state = estimator._advance(run.state, rows, evidence)
    learned = replace(run, position=batch.after, state=state, total_rows=run.total_rows + len(batch))
    if run.epoch > 0:
        return learned
    mistakes = state.n_mistakes - (0 if run.state is None else run.state.n_mistakes)
    predicted = None if run.state is None else estimator._predict_at(run.state, rows)
    return replace(
        learned,
        moments=getattr(encoder, "moments_", None),
        missing_indicator=getattr(encoder, "missing_indicator_", None),
        unreadable=run.unreadable.merge(unreadable),
        unreadable_labels=run.unreadable_labels.merge(unlabeled),
        validation=run.validation.update(evidence, mistakes, predicted, time.perf_counter() - start),
    )


def _encoder(run: RunState, options: StreamOptions) -> StreamEncoder | None:
    """Return the encoder of the columns, fitted to the rows so far; None for svmlight files."""
    if run.columns is None:
        return None
    text = options.text_options
    encoder = StreamEncoder([column[:2] for column in run.columns], options.hash_bits, text.stop_words, text.stem)
    if run.moments is not None:
        encoder.moments_, encoder.missing_indicator_ = run.moments, run.missing_indicator
    return encoder


def _finalize(run: RunState, estimator: Any, options: StreamOptions, resumed_at: int | None) -> StreamResult:
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    assert run.state is not None
    assert run.classes is not None
    if run.validation.total.labeled == 0:
        raise DataError("every row is unlabeled. Label some rows.")
    n_features = run.state.V.shape[1] - bool(estimator.fit_intercept)
    classifier = clone(estimator)._load_state(run.state, run.classes, n_features)
    encoder = _encoder(run, options)
    steps = [] if encoder is None else [("columns", encoder)]
    findings = [*run.findings, *run.unreadable_labels.findings("unreadable labels"), *run.unreadable.findings()]
    return StreamResult(
        Pipeline([*steps, ("method", classifier)]),
        list(run.classes),
        list(run.columns or []),
        run.validation,
        resumed_at,
        [*describe(findings), *filter(None, [run.validation.autocorrelation.note()])],
        run.prior,
        run.unreadable_labels,
    )
