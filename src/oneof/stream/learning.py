"""Learning from a stream: read, predict, count, learn, keep; and go on where a run was stopped."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from oneof.errors import DataError, InputError, InputTypeError
from oneof.estimators._online_base import OnlineClassifier, check_online
from oneof.solvers.online import OnlineState
from oneof.stream import checkpoint, standing
from oneof.stream.batches import Batch, Position, Wanted, extents, iterate, share_read
from oneof.stream.checkpoint import CheckpointConfig
from oneof.stream.columns import first_columns
from oneof.stream.encoder import StreamEncoder
from oneof.stream.labels import LabelReader, settle
from oneof.stream.options import StreamOptions
from oneof.stream.source import Source, open_source
from oneof.stream.standing import Standing
from oneof.stream.validation import Validation
from oneof.tables import Column, Overrides, Words, conform, odd_labels
from oneof.validation import check_instance

Watch = Callable[[Validation, float | None], None]
"""Told after each batch what was counted, and which part of the pass is done, where that is known."""


@dataclass(frozen=True)
class StreamResult:
    r"""What was learned from a stream.

    Attributes
    ----------
    model : Pipeline
        From the columns of a table, as `oneof.tables.conform` gives them, to one of the classes; for svmlight files
        from sparse rows.
    classes : list of str
    columns : list of Column
        The features; empty for svmlight files.
    validation : Validation
        Over the first pass.
    resumed_at : int or None
        The rows that had been learned from, over all passes, when the run was taken up again.
    notes : list of str
        What was odd about the classes, the columns, and the order of the rows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from oneof import AvgPerceptron
    >>> from oneof.stream import StreamOptions, fit_stream
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "birds.csv")
    ...     _ = path.write_text("span,species\n3.1,finch\n0.2,wren\n2.9,finch|wren\n")
    ...     fit = fit_stream(path, AvgPerceptron(), StreamOptions(labels=("species",)))
    >>> fit.classes, fit.resumed_at, fit.validation.total.rows
    (['finch', 'wren'], None, 3)
    """

    model: Any
    classes: list[str]
    columns: list[Column]
    validation: Validation
    resumed_at: int | None
    notes: list[str]


def fit_stream(
    source: Any,
    estimator: Any,
    options: StreamOptions | None = None,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    checkpoints: CheckpointConfig | None = None,
    watch: Watch | None = None,
) -> StreamResult:
    r"""Fit an online learner to a stream, in memory that does not grow with the number of rows.

    Each row is predicted before it is learned from, by the weights just before it, and each batch by the model just
    before it: two estimates of the ambiguous 0-1 loss, honest if rows come in random order; a note says where labels
    come in runs. The weights are those of `partial_fit` on the same rows, bit by bit.

    Parameters
    ----------
    source : str, path-like or Source
        See `read_batches`.
    estimator : AvgPerceptron, MaxPerceptron, AvgPegasos or MaxPegasos
        Its parameters are used, but for `n_epochs` and `shuffle`; it is not changed itself.
    options : StreamOptions, optional
    format : str, optional
        See `open_source`.
    checkpoints : CheckpointConfig, optional
        Where to keep how far the run has come. A run that is taken up from there ends with the same weights, bit by
        bit, as one that was never stopped. The file is left to who called.
    watch : callable, optional

    Returns
    -------
    StreamResult

    Raises
    ------
    DataError, LabelError
        If the stream cannot be read; the message names file and row or line.
    DataError
        If a checkpoint is there and not asked for, damaged, or from another stream or other options.
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
    ...     fit = fit_stream(path, AvgPerceptron(fit_intercept=True), StreamOptions(labels=("species",)))
    >>> fit.classes, fit.validation.total.rows, fit.validation.total.told
    (['finch', 'wren'], 140, 48)
    >>> fit.validation.total.loss < 0.2
    True
    """
    options = StreamOptions() if options is None else options
    check_instance("options", options, StreamOptions)
    if checkpoints is not None:
        check_instance("checkpoints", checkpoints, CheckpointConfig)
    if watch is not None and not callable(watch):
        raise InputTypeError(f"`watch` must be a function, or None; got {watch!r}.")
    source = source if isinstance(source, Source) else open_source(source, format)
    _check(source, estimator, options)
    identity = standing.identify(source, estimator, options)
    at = _taken_up(checkpoints, identity)
    resumed_at = None if at is None else at.rows_in_all
    run = _Run(source, estimator, options, at or _begin(source, options))
    kept = (run.at.rows_in_all, time.monotonic())
    lengths = None if watch is None else extents(source)
    try:
        for _ in run.steps():
            if watch is not None:
                watch(run.at.validation, share_read(lengths, run.at.position))
            if checkpoints is not None and checkpoints.is_due(run.at.rows_in_all - kept[0], time.monotonic() - kept[1]):
                checkpoint.write(checkpoints.path, *standing.pack(run.at, identity))
                kept = (run.at.rows_in_all, time.monotonic())
    except KeyboardInterrupt:
        # `run.at` is replaced as a whole after each batch, so that it holds a batch altogether or not at all.
        if checkpoints is not None and run.at.state is not None:
            checkpoint.write(checkpoints.path, *standing.pack(run.at, identity))
        raise
    return _finish(run.at, estimator, options, resumed_at)


class _Run:
    """One fit: where it stands, `at`, moves on by a batch a step."""

    def __init__(self, source: Source, estimator: OnlineClassifier, options: StreamOptions, at: Standing) -> None:
        self.source = source
        self.estimator = estimator
        self.options = options
        self.at = at

    def steps(self) -> Iterator[None]:
        """Learn from the batches that are left, of this pass and the further ones."""
        start = time.perf_counter()
        while self.at.epoch < self.options.n_epochs:
            wanted = self._wanted()
            for batch in iterate(self.source, self.options.batch_rows, wanted, self.at.position):
                with batch.located():
                    self.at = self._after(batch, wanted, start)
                yield
                start = time.perf_counter()
            if self.at.rows_in_all == 0:
                raise DataError(f"{self.source.shown} has no rows: there is nothing to learn from.")
            self.at = replace(self.at, epoch=self.at.epoch + 1, position=Position())

    def _wanted(self) -> Wanted:
        options, columns = self.options, self.at.columns
        as_text = {*options.overrides.texts, *options.overrides.categories} - set(options.labels)
        features = None if columns is None else tuple(columns)
        return Wanted(options.labels, features, as_text, True, options.separator, 2**options.hash_bits)

    def _after(self, batch: Batch, wanted: Wanted, start: float) -> Standing:
        at, options = self.at, self.options
        if at.columns is None and self.source.format != "svmlight":
            columns, notes = first_columns(batch, options)
            words = options.words
            names = [(column.name, str(column.kind)) for column in columns]
            encoder = StreamEncoder(names, options.hash_bits, words.stop_words, words.stem)
            at = replace(at, columns=columns, notes=notes, encoder=encoder)
            wanted.features = tuple(columns)
        if at.classes is None:
            at = replace(at, classes=_classes_of(batch, options))
        mask = LabelReader(options.labels, options.separator, at.classes).mask(batch.content)
        after, rows = _encode(at, batch)
        state = self.estimator._advance(at.state, rows, mask)
        mistakes = state.n_mistakes - (0 if at.state is None else at.state.n_mistakes)
        validation = at.validation
        if at.epoch == 0:
            predicted = None if at.state is None else self.estimator._predict_at(at.state, rows)
            validation = validation.after(mask, mistakes, predicted, time.perf_counter() - start)
        return replace(
            at,
            position=batch.after,
            encoder=after,
            state=state,
            validation=validation,
            rows_in_all=at.rows_in_all + len(batch),
        )


def _encode(at: Standing, batch: Batch) -> tuple[StreamEncoder | None, Any]:
    """Return a batch as rows; after the first pass the scale of numbers is that of all rows, and stays."""
    if at.encoder is None:
        return None, batch.content.rows
    frame = conform(batch.content, at.columns or [], batch.path)
    return at.encoder.take(frame) if at.epoch == 0 else (at.encoder, at.encoder.transform(frame))


def _begin(source: Source, options: StreamOptions) -> Standing:
    """Return the start of a run, with the classes where they are known before the first row."""
    classes = options.classes
    if classes is not None:
        return Standing(classes=LabelReader(options.labels, options.separator, classes).classes)
    if len(options.labels) > 1:
        return Standing(classes=list(options.labels))
    if not source.can_be_read_again:
        return Standing()
    reader = LabelReader(options.labels, options.separator)
    names: set[str] = set()
    empty = True
    for batch in iterate(source, options.batch_rows, Wanted(options.labels, (), separator=options.separator)):
        empty = False
        with batch.located():
            names |= reader.names(batch.content)
    if empty:
        raise DataError(f"{source.shown} has no rows: there is nothing to learn from.")
    return Standing(classes=_settled(names, reader, source.shown))


def _classes_of(batch: Batch, options: StreamOptions) -> list[str]:
    reader = LabelReader(options.labels, options.separator)
    return _settled(reader.names(batch.content), reader, "the first batch")


def _settled(names: set[str], reader: LabelReader, where: str) -> list[str]:
    try:
        return settle(names, saw_minus_one=reader.saw_minus_one)
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None


def _taken_up(checkpoints: CheckpointConfig | None, identity: dict[str, Any]) -> Standing | None:
    """Return where the kept run stands, if there is one and it is asked for."""
    if checkpoints is None or not checkpoints.path.exists():
        return None
    path = checkpoints.path
    if not checkpoints.resume:
        raise DataError(f"{path} is left of a run that did not end: go on with --resume, or begin anew with --restart.")
    facts, arrays = checkpoint.read(path)
    standing.compare(facts, identity, path)
    return standing.unpack(facts, arrays, path)


def _check(source: Source, estimator: Any, options: StreamOptions) -> None:
    check_online(estimator)
    if options.n_epochs > 1 and not source.can_be_read_again:
        raise InputError("standard input can be read once only: give a file for several epochs.")
    if source.format == "svmlight":
        if options.labels:
            raise InputError("lines of svmlight begin with their labels: leave out --labels.")
        if options.overrides != Overrides() or options.words != Words():
            raise InputError("svmlight files have numbers in place of columns: leave out what names columns or words.")
    elif not options.labels:
        raise InputError("--labels names no column: name that of the labels.")


def _finish(at: Standing, estimator: Any, options: StreamOptions, resumed_at: int | None) -> StreamResult:
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    state: OnlineState | None = at.state
    if state is None or at.classes is None:
        raise DataError("the stream has no rows: there is nothing to learn from.")
    if at.validation.total.told == 0:
        raise DataError("every row is unlabeled, so there is nothing to learn from.")
    n_features = state.V.shape[1] - bool(estimator.fit_intercept)
    learner = clone(estimator)._load_state(state, at.classes, n_features)
    steps = [("columns", at.encoder)] if at.encoder is not None else []
    odd = odd_labels(at.classes, options.separator) if options.classes is None else []  # what is named is meant
    in_runs = at.validation.runs.note()
    return StreamResult(
        Pipeline([*steps, ("method", learner)]),
        list(at.classes),
        list(at.columns or []),
        at.validation,
        resumed_at,
        [*odd, *at.notes, *([] if in_runs is None else [in_runs])],
    )
