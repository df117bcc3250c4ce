"""Online learning from a stream: `oneof fit --online`."""

import contextlib
import csv
import json
import os
import shlex
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.cli.options import to_dict as options_to_dict
from oneof.cli.output import terminal
from oneof.cli.output.progress import Progress, progress
from oneof.cli.output.terminal import format_percent
from oneof.cli.tables.inputs import naming_the_option, prepare_features, prepare_rows, resolve_separator
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import InputError, OneofError
from oneof.files import atomic_directory, check_not_input, check_writable, hash_file
from oneof.io import describe_cells, read_text_options

if TYPE_CHECKING:
    from oneof.cli.options import FitOptions, OnlineFitOptions, OnlineOptions
    from oneof.cli.tables.facts import Inspection
    from oneof.stream import ProgressiveValidation, Source, StreamOptions, StreamResult

OUTPUTS = ("model.skops", "summary.json", "curve.csv")
CHECKPOINT = "checkpoint.npz"
CHECKPOINT_SECONDS = 60.0
METHODS = ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos")
DEFAULT_METHOD = "MaxPerceptron"


@dataclass(frozen=True)
class OnlineResult:
    """Result of `fit_online`: the summary as JSON types, its files, and the fit unless the run had been finished."""

    summary: dict[str, Any]
    fit: "StreamResult | None"
    files: list[str]


def fit_online(
    path: Path, read_options: ReadOptions, online_options: "OnlineFitOptions", fit_options: "FitOptions"
) -> OnlineResult:
    """Fit a stream, save checkpoints, and write model, summary and curve into a folder.

    The checkpoint is removed after the other files are written. With `resume`, the files of a finished run of the same
    stream and options stay as they are. The facts of the first batch are printed before the fit, unless the batch
    cannot be read twice or has defects, which are errors of the fit.
    """
    from oneof.io import Finding, describe
    from oneof.stream import CheckpointConfig, fit_stream, open_source
    from oneof.stream.checkpoint import fingerprint

    folder = fit_options.folder(path)
    check_writable(folder)
    source = open_source(path, read_options.table.format)
    check_not_input((folder / name for name in (*OUTPUTS, CHECKPOINT)), source.files)
    if read_options.truth is not None:
        raise InputError(
            "--truth cannot be used with --online: the running loss is computed from the candidate sets. Name the "
            "column by --drop, so that it is not a feature, and compute the accuracy by `oneof predict --truth`."
        )
    classifier = _make_classifier(fit_options.method)
    separator, separator_notes = _resolve_separator(source, read_options)
    options = _stream_options(replace(read_options, separator=separator), online_options)
    checkpoint, identity = folder / CHECKPOINT, fingerprint(source, classifier, options)
    files = [str(folder / name) for name in OUTPUTS]
    if online_options.resume and not checkpoint.exists() and all(map(os.path.isfile, files)):
        return OnlineResult(_read_finished(folder, source, identity), None, files)
    leaks: list[Finding] = []
    if source.can_be_read_again:
        with contextlib.suppress(OneofError):
            inspection = inspect_stream(path, read_options, online_options)
            leaks = [finding for finding in inspection.findings.others if finding.kind.endswith("leak")]
            if inspection.facts.classes:  # the labels of the first rows could be read
                terminal.print_facts(inspection.facts)
    if online_options.resume is False:
        checkpoint.unlink(missing_ok=True)
    checkpoints = CheckpointConfig(
        checkpoint,
        online_options.checkpoint_rows,
        CHECKPOINT_SECONDS,
        resume=online_options.resume is True,
    )
    with progress("Learning") as bar, naming_the_option(read_options.table.cell_format):
        fit = fit_stream(source, classifier, options, checkpoints=checkpoints, callback=partial(_print_progress, bar))
    fit = replace(fit, notes=[*describe(leaks), *separator_notes, *fit.notes])
    given = options_to_dict(read_options, fit_options, online_options)
    summary = _summarize(source.name, fit, options, classifier) | {"identity": identity, "options": given}
    with atomic_directory(folder) as stage:
        model, summary_file, curve = (stage / name for name in OUTPUTS)
        _write_model(model, fit, read_options, summary, hash_file(path))
        summary_file.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _write_curve(curve, fit.validation)
    checkpoint.unlink(missing_ok=True)
    return OnlineResult(summary, fit, files)


def _stream_options(read_options: ReadOptions, online_options: "OnlineOptions") -> "StreamOptions":
    """Return the options of a stream, whose separator is known."""
    from oneof.stream import StreamOptions

    return StreamOptions(
        labels=read_options.labels,
        separator=str(read_options.separator),
        table=read_options.table,
        classes=read_options.classes,
        **asdict(read_options.weights),
        overrides=read_options.overrides,
        text_options=read_text_options(read_options.stop_words, read_options.stem),
        batch_rows=online_options.batch_rows,
        hash_bits=online_options.hash_bits,
        n_epochs=online_options.epochs,
    )


def inspect_stream(path: Path, read_options: ReadOptions, online_options: "OnlineOptions") -> "Inspection":
    """Return the facts of the first batch of a stream."""
    from oneof.cli.tables.facts import Inspection, TableFacts, describe, describe_prepared
    from oneof.errors import LabelError
    from oneof.io import Finding, TableFindings, check_indicator, notes
    from oneof.io.table import BatchSpec, file_sizes, iterate_batches, progress_fraction
    from oneof.stream import open_source

    source = open_source(path, read_options.table.format)
    if not source.can_be_read_again:
        raise InputError("standard input is read once: inspect a file with its first rows instead.")
    is_sparse, overrides = source.format == "svmlight", read_options.overrides
    spec = BatchSpec(
        () if is_sparse else tuple(read_options.text_columns),
        as_text={*overrides.texts, *overrides.categories} - read_options.text_columns,
        labels_required=False,
        n_columns=2**online_options.hash_bits,
        dialect=read_options.table.dialect,
        cell_format=read_options.table.cell_format,
    )
    batch = next(iter(iterate_batches(source, online_options.batch_rows, spec)), None)
    if batch is None:
        raise InputError(f"{source.display_name} has no rows.")
    is_complete = progress_fraction(file_sizes(source), batch.after) == 1.0
    if is_sparse:
        facts = TableFacts(source.name, len(batch), [], [], sparse_features=2**online_options.hash_bits)
        return Inspection(replace(facts, is_complete=is_complete), TableFindings())
    table = batch
    of_labels: list[Finding] = []
    if read_options.labels:
        if not read_options.weights.weighted and len(read_options.labels) > 1:
            check_indicator(table, read_options.labels)
        try:
            prepared = prepare_rows(table, read_options)
        except LabelError as error:  # the first rows may have a single class, or no label
            of_labels = notes("labels", [f"the labels of the first rows cannot be described: {error}"])
        else:
            facts = describe_prepared(prepared, read_options)
            facts = replace(facts, table=source.name, is_complete=is_complete)
            return Inspection(facts, prepared.findings, prepared.unreadable_labels)
    features = prepare_features(table, read_options)
    facts = replace(describe(table, features.columns, features.frame), table=source.name, is_complete=is_complete)
    return Inspection(facts, replace(features.findings, others=tuple(of_labels)))


def _resolve_separator(source: "Source", read_options: ReadOptions) -> tuple[str, tuple[str, ...]]:
    """Return the text between two labels and a note if it was detected, which takes the labels of the first rows."""
    from oneof.io.table import BATCH_ROWS, BatchSpec, iterate_batches

    if read_options.separator is not None or source.format == "svmlight" or not source.can_be_read_again:
        return read_options.separator or DEFAULT_SEPARATOR, ()
    table_options = read_options.table
    spec = BatchSpec(read_options.labels, (), dialect=table_options.dialect, cell_format=table_options.cell_format)
    for batch in iterate_batches(source, BATCH_ROWS, spec):
        return resolve_separator(batch, read_options)
    return DEFAULT_SEPARATOR, ()


def _read_finished(folder: Path, source: "Source", identity: dict[str, Any]) -> dict[str, Any]:
    """Return the summary of the finished run in a folder, which must have the same stream, options and method."""
    from oneof.stream.checkpoint import check_compatible

    path = folder / "summary.json"
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        stored = dict(summary["identity"])
    except (OSError, ValueError, TypeError, KeyError):
        raise InputError(
            f"{folder} has a model that was not fitted by this version with --online. Name another folder by --out, or "
            "replace its files by --restart."
        ) from None
    if not source.can_be_read_again:
        raise InputError(
            f"the run in {folder} is finished, and standard input cannot be compared with its stream. Name another "
            "folder by --out, or replace the run by --restart."
        )
    facts = {name: fact for name, fact in identity.items() if not name.startswith("version")}  # nothing is continued
    check_compatible(stored, facts, path)
    return dict(summary)


def resume_hint(folder: Path, arguments: list[str]) -> str | None:
    """Return the command that continues an interrupted run, as a sentence, if there is a checkpoint."""
    checkpoint = folder / CHECKPOINT
    if not checkpoint.exists():
        return None
    command = shlex.join(["oneof", *(word for word in arguments if word not in ("--resume", "--restart")), "--resume"])
    return f"the run is saved in {checkpoint}; continue with: {command}"


def _make_classifier(method: str) -> Any:
    import oneof
    from oneof.cli.tables.methods import set_parameters, split_method

    name, parameters = split_method(DEFAULT_METHOD if method.lower() == "auto" else method)
    known = {known.lower(): known for known in METHODS}
    if name.lower() not in known:
        raise InputError(f"--method must be auto, {', '.join(METHODS)} with --online; got {method}.")
    classifier = getattr(oneof, known[name.lower()])(average=True, fit_intercept=True)
    set_parameters(classifier, parameters)
    return classifier


def _print_progress(bar: Progress, validation: "ProgressiveValidation", fraction: float | None) -> None:
    rows, last = validation.total.rows, validation.windows[-1]
    speed = validation.total.rows_per_second or 0
    losses = f"loss {format_percent(validation.total.model_loss)}, recently {format_percent(last.model_loss)}"
    bar(rows, None if not fraction else round(rows / fraction), f"{losses}; {speed:,.0f} rows/s")


def _summarize(name: str, fit: "StreamResult", options: "StreamOptions", classifier: Any) -> dict[str, Any]:
    counts = fit.validation
    return {
        "stream": name,
        "labels": list(options.labels),
        "separator": options.separator,
        "rows": counts.total.rows,
        "exact": counts.exact,
        "partial": counts.partial,
        "unlabeled": counts.total.rows - counts.total.labeled,
        "weighted": counts.weighted,
        "epochs": options.n_epochs,
        "classes": fit.classes,
        "features": [{"column": column.name, "kind": column.kind} for column in fit.columns],
        "hash_bits": options.hash_bits,
        "words": options.text_options.to_dict() if any(column.kind == "text" for column in fit.columns) else None,
        "method": type(classifier).__name__,
        "progressive_validation": counts.to_dict(),
        "batch_rows": options.batch_rows,
        "resumed_at": fit.resumed_at,
        "unreadable_labels": fit.unreadable_labels.to_dict(),
        "notes": fit.notes,
    }


def _write_model(
    path: Path, fit: "StreamResult", read_options: ReadOptions, summary: dict[str, Any], file_hash: str | None
) -> None:
    from oneof.persistence import SavedModel, save

    counts = ("rows", "exact", "partial", "unlabeled", "weighted")
    names = (*counts, "words", "separator", "options", "progressive_validation")
    saved = SavedModel(
        pipeline=fit.model,
        classes=fit.classes,
        columns=[(column.name, column.kind) for column in fit.columns],
        label_columns=list(read_options.labels),
        method=summary["method"],
        summary={name: summary[name] for name in names}
        | {
            "online": True,
            "weights": asdict(read_options.weights) | {"prior": fit.prior},
            "cells": describe_cells(fit.columns, read_options.table.cell_format),
            "file_hash": file_hash,
        },
    )
    save(path, saved)


def _write_curve(path: Path, counts: "ProgressiveValidation") -> None:
    """Write one line per window: the number of rows up to its end, its losses, the cumulative losses, and its speed."""
    from oneof.stream import Window

    cumulative = Window()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rows", "window_loss", "window_model_loss", "loss", "model_loss", "rows_per_second"])
        for window in counts.windows:
            cumulative = cumulative + window
            losses = (window.loss, window.model_loss, cumulative.loss, cumulative.model_loss)
            writer.writerow([cumulative.rows, *losses, window.rows_per_second])
