"""Online learning from a stream: read, predict and learn each batch, update the losses, write checkpoints."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from oneof.errors import DataError, InputTypeError
from oneof.estimators.online._base import OnlineClassifier
from oneof.io import (
    Column,
    Finding,
    Table,
    UnreadableCells,
    align_columns,
    check_texts,
    choose_columns,
    describe,
)
from oneof.io.batches import (
    Batch,
    BatchSpec,
    Position,
    file_sizes,
    iterate_batches,
    progress_fraction,
)
from oneof.io.formats.source import Source, open_source
from oneof.solvers.online import OnlineState
from oneof.stream.checkpoint import (
    CheckpointConfig,
    RunState,
    check_compatible,
    fingerprint,
    pack_state,
    read_checkpoint,
    unpack_state,
    write_checkpoint,
)
from oneof.stream.encoder import StreamEncoder
from oneof.stream.label_passes import initialize, label_reader, sort_classes
from oneof.stream.options import StreamOptions, check_arguments
from oneof.stream.validation import ProgressiveValidation
from oneof.typing import FeatureMatrix
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
    format: str | None = None,  # noqa: A002 - the option's name
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
        See `read_batches`.
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Classifier with its parameters; `n_epochs` and `shuffle` are ignored. The object is not changed.
    options : StreamOptions, optional
    format : str, optional
        See `open_source`.
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
    source = source if isinstance(source, Source) else open_source(source, format)
    check_arguments(source, estimator, options)
    identity = fingerprint(source, estimator, options)
    resumed = _resume(checkpoints, identity)
    fit = _StreamFit(source, estimator, options, resumed or initialize(source, options))
    last_checkpoint = (fit.run.total_rows, time.monotonic())
    sizes = None if callback is None else file_sizes(source)
    try:
        for _ in fit.steps():
            run = fit.run
            if callback is not None:
                callback(run.validation, progress_fraction(sizes, run.position))
            if checkpoints is not None and checkpoints.is_due(
                run.total_rows - last_checkpoint[0], time.monotonic() - last_checkpoint[1]
            ):
                write_checkpoint(checkpoints.path, *pack_state(run, identity))
                last_checkpoint = (run.total_rows, time.monotonic())
    except KeyboardInterrupt:
        # `fit.run` is replaced after each batch, so it never contains half a batch.
        if checkpoints is not None and fit.run.state is not None:
            write_checkpoint(checkpoints.path, *pack_state(fit.run, identity))
        raise
    return _finalize(fit.run, estimator, None if resumed is None else resumed.total_rows)


class _StreamFit:
    """One fit, whose state `run` is replaced after each batch."""

    def __init__(self, source: Source, estimator: OnlineClassifier, options: StreamOptions, run: RunState) -> None:
        self.source = source
        self.estimator = estimator
        self.options = options
        self.run = run

    def steps(self) -> Iterator[None]:
        """Learn the remaining batches of this and all further passes, one batch per step."""
        start = time.perf_counter()
        while self.run.epoch < self.options.n_epochs:
            spec = self._batch_spec()
            for batch in iterate_batches(self.source, self.options.batch_rows, spec, self.run.position):
                with batch.localized():
                    self.run = self._learn(batch, spec, start)
                yield
                start = time.perf_counter()
            if self.run.total_rows == 0:
                raise DataError(f"{self.source.display_name} has no rows.")
            self.run = replace(self.run, epoch=self.run.epoch + 1, position=Position())

    def _batch_spec(self) -> BatchSpec:
        options, columns = self.options, self.run.columns
        as_text = {*options.overrides.texts, *options.overrides.categories} - set(options.label_columns)
        features = None if columns is None else tuple(columns)
        return BatchSpec(
            options.label_columns,
            features,
            as_text,
            separator=options.separator,
            n_columns=2**options.hash_bits,
            dialect=options.dialect,
            cell_format=options.cell_format,
        )

    def _learn(self, batch: Batch, spec: BatchSpec, start: float) -> RunState:
        run, options = self.run, self.options
        if run.columns is None and self.source.format != "svmlight":
            columns, findings = choose_stream_columns(batch, options)
            text = options.text_options
            names = [(column.name, str(column.kind)) for column in columns]
            encoder = StreamEncoder(names, options.hash_bits, text.stop_words, text.stem)
            run = replace(run, columns=columns, findings=[*run.findings, *findings], encoder=encoder)
            spec.features = tuple(columns)
        if run.classes is None:
            reader = label_reader(options)
            source = f"the first batch of {batch.path}"
            classes, of_labels = sort_classes(reader.names(batch.labels), reader, source, options)
            run = replace(run, classes=classes, findings=[*run.findings, *of_labels])
        unlabeled = UnreadableCells()
        reader = label_reader(options, run.classes, run.prior, unreadable=unlabeled, first_row=batch.first_row)
        evidence = reader.evidence(batch.labels)
        unreadable = UnreadableCells()
        encoder_after, rows = _encode(run, batch, None if options.strict else unreadable)
        state = self.estimator._advance(run.state, rows, evidence)
        mistakes = state.n_mistakes - (0 if run.state is None else run.state.n_mistakes)
        validation = run.validation
        if run.epoch == 0:
            predicted = None if run.state is None else self.estimator._predict_at(run.state, rows)
            validation = validation.update(evidence, mistakes, predicted, time.perf_counter() - start)
        return replace(
            run,
            position=batch.after,
            encoder=encoder_after,
            unreadable=run.unreadable.merge(unreadable) if run.epoch == 0 else run.unreadable,
            unreadable_labels=run.unreadable_labels.merge(unlabeled) if run.epoch == 0 else run.unreadable_labels,
            state=state,
            validation=validation,
            total_rows=run.total_rows + len(batch),
        )


def choose_stream_columns(batch: Batch, options: StreamOptions) -> tuple[list[Column], list[Finding]]:
    """Return the features, and findings about the file and its columns, without cells that cannot be read.

    The kinds are inferred as for a table (`oneof.io.choose_columns`), from the rows of the first batch only.
    """
    table = Table(batch.content, batch.path, (), batch.cell_format, batch.dialect, batch.remarks)
    scope = f", according to the first {len(batch):,} rows (--batch-rows)"
    columns, findings = choose_columns(
        table, exclude=set(options.label_columns), overrides=options.overrides, scope=scope
    )
    # A column that the user named as text may have its first words in later rows.
    inferred = [column for column in columns if column.name not in options.overrides.texts]
    if not options.overrides.texts or any(column.kind == "text" for column in inferred):
        texts = [column for column in inferred if column.kind == "text"]
        frame = align_columns(batch.content, texts, batch.path, cell_format=batch.cell_format)
        check_texts(frame, texts, options.text_options, batch.path)
    return columns, [finding for finding in findings.findings() if finding.kind not in ("unreadable", "decimal sign")]


def _encode(
    run: RunState, batch: Batch, unreadable: UnreadableCells | None
) -> tuple[StreamEncoder | None, FeatureMatrix]:
    """Return the encoder and the rows of a batch; after the first pass the encoder does not change."""
    if run.encoder is None:
        return None, batch.content.rows
    frame = align_columns(
        batch.content,
        run.columns or [],
        batch.path,
        cell_format=batch.cell_format,
        unreadable=unreadable,
        first_row=batch.first_row,
    )
    if run.epoch == 0:
        return run.encoder.partial_fit_transform(frame)
    return run.encoder, run.encoder.transform(frame)


def _resume(checkpoints: CheckpointConfig | None, identity: dict[str, Any]) -> RunState | None:
    """Return the state in the checkpoint, if it exists and `resume` is set."""
    if checkpoints is None or not checkpoints.path.exists():
        return None
    path = checkpoints.path
    if not checkpoints.resume:
        raise DataError(
            f"{path} is the checkpoint of an unfinished run. Continue with --resume, or start again with --restart."
        )
    header, arrays = read_checkpoint(path)
    check_compatible(header, identity, path)
    return unpack_state(header, arrays, path)


def _finalize(run: RunState, estimator: Any, resumed_at: int | None) -> StreamResult:
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    state: OnlineState | None = run.state
    if state is None or run.classes is None:
        raise DataError("the stream has no rows.")
    if run.validation.total.labeled == 0:
        raise DataError("every row is unlabeled. Label some rows.")
    n_features = state.V.shape[1] - bool(estimator.fit_intercept)
    classifier = clone(estimator)._load_state(state, run.classes, n_features)
    steps = [("columns", run.encoder)] if run.encoder is not None else []
    order_note = run.validation.autocorrelation.note()
    findings = [*run.findings, *run.unreadable_labels.findings("unreadable labels"), *run.unreadable.findings()]
    return StreamResult(
        Pipeline([*steps, ("method", classifier)]),
        list(run.classes),
        list(run.columns or []),
        run.validation,
        resumed_at,
        [*describe(findings), *([] if order_note is None else [order_note])],
        run.prior,
        run.unreadable_labels,
    )
