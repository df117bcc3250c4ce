"""Online learning from a stream: `oneof fit --online`."""

import contextlib
import csv
import shlex
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import oneof
from oneof import stream
from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.cli.options import FitOptions, OnlineFitOptions, OnlineOptions
from oneof.cli.options import to_dict as options_to_dict
from oneof.cli.output import terminal
from oneof.cli.output.files import check_outputs, write_json
from oneof.cli.output.progress import Progress, progress
from oneof.cli.output.terminal import format_percent
from oneof.cli.tables.facts import Inspection, TableFacts, inspect_rows
from oneof.cli.tables.inputs import naming_the_option, resolve_separator
from oneof.cli.tables.methods import set_parameters, split_method
from oneof.cli.tables.read_options import ReadOptions
from oneof.cli.training.files import model_of
from oneof.errors import InputError, OneofError
from oneof.files import atomic_directory, hash_file
from oneof.io import Finding, Table, TableFindings, check_indicator, describe_cells, read_text_options
from oneof.io import describe as describe_findings
from oneof.io.batches import BATCH_ROWS, file_sizes, iterate_batches, progress_fraction
from oneof.io.features import BatchSpec
from oneof.persistence import save

OUTPUTS = ("model.skops", "summary.json", "curve.csv")
CHECKPOINT = "checkpoint.npz"
CHECKPOINT_SECONDS = 60.0
METHODS = ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos")
DEFAULT_METHOD = "MaxPerceptron"
_STARTED_ANEW = (
    "there is no unfinished run to resume: the stream was learned from its first row, and the model replaced."
)


def fit_online(
    path: Path, read_options: ReadOptions, online_options: OnlineFitOptions, fit_options: FitOptions
) -> tuple[dict[str, Any], stream.StreamResult]:
    """Fit a stream, save checkpoints, and write model, summary and curve into a folder; return summary and fit.

    The checkpoint is removed after the other files are written. The facts of the first batch are printed before the
    fit, unless the batch cannot be read twice or has defects, which are errors of the fit.
    """
    folder = fit_options.folder(path)
    files, checkpoint = [folder / name for name in OUTPUTS], folder / CHECKPOINT
    source = stream.open_source(path, read_options.table.format)
    check_outputs({"--out": [*files, checkpoint]}, source.files)
    if read_options.truth is not None:
        raise InputError(
            "--truth cannot be used with --online: the running loss is computed from the candidate sets. Name the "
            "column by --drop, so that it is not a feature, and compute the accuracy by `oneof predict --truth`."
        )
    classifier = _make_classifier(fit_options.method)
    separator, separator_notes = _resolve_separator(source, read_options)
    options = _stream_options(replace(read_options, separator=separator), online_options)
    leaks = _print_facts(path, source, read_options, online_options)
    if online_options.resume is False:
        checkpoint.unlink(missing_ok=True)
    resume, is_finished = online_options.resume is True, files[0].exists()
    checkpoints = stream.CheckpointConfig(checkpoint, online_options.checkpoint_rows, CHECKPOINT_SECONDS, resume=resume)
    with progress("Learning") as bar, naming_the_option(read_options.table.cell_format):
        fit = stream.fit_stream(
            source, classifier, options, checkpoints=checkpoints, callback=partial(_print_progress, bar)
        )
    anew = [_STARTED_ANEW] * (resume and fit.resumed_at is None and is_finished)
    fit = replace(fit, notes=[*anew, *describe_findings(leaks), *separator_notes, *fit.notes])
    given = options_to_dict(read_options, fit_options, online_options)
    summary = _summarize(source.name, fit, options, classifier) | {"options": given}
    more = {
        "progressive_validation": summary["progressive_validation"],
        "online": True,
        "weights": asdict(read_options.weights) | {"prior": fit.prior},
        "cells": describe_cells(fit.columns, read_options.table.cell_format),
        "file_hash": hash_file(path),
    }
    with atomic_directory(folder) as stage:
        model, summary_file, curve = (stage / name for name in OUTPUTS)
        save(model, model_of(fit.model, fit.columns, summary, more))
        write_json(summary_file, summary)
        _write_curve(curve, fit.validation)
    checkpoint.unlink(missing_ok=True)
    return summary | {"files": [str(file) for file in files]}, fit


def _print_facts(
    path: Path, source: stream.Source, read_options: ReadOptions, online_options: OnlineOptions
) -> list[Finding]:
    """Print the facts of the first rows if they can be read, and return the features that reveal the labels."""
    if not source.can_be_read_again:
        return []
    with contextlib.suppress(OneofError):
        inspection = inspect_stream(path, read_options, online_options)
        if inspection.facts.classes:  # the labels of the first rows could be read
            terminal.print_facts(inspection.facts)
        return [finding for finding in inspection.findings.others if finding.kind.endswith("leak")]
    return []


def _stream_options(read_options: ReadOptions, online_options: OnlineOptions) -> stream.StreamOptions:
    """Return the options of a stream, whose separator is known."""
    return stream.StreamOptions(
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


def inspect_stream(path: Path, read_options: ReadOptions, online_options: OnlineOptions) -> Inspection:
    """Return the facts of the first batch of a stream."""
    source = stream.open_source(path, read_options.table.format)
    if not source.can_be_read_again:
        raise InputError("standard input is read once: inspect a file with its first rows instead.")
    table = _first_batch(source, read_options, online_options.batch_rows, n_columns=2**online_options.hash_bits)
    if table is None:
        raise InputError(f"{source.display_name} has no rows.")
    of_source: dict[str, Any] = {
        "table": source.name,
        "is_complete": progress_fraction(file_sizes(source), table.after) == 1.0,
    }
    if source.format == "svmlight":
        facts = TableFacts(source.name, len(table), [], [], sparse_features=2**online_options.hash_bits)
        return Inspection(replace(facts, **of_source), TableFindings())
    if not read_options.weights.weighted and len(read_options.labels) > 1:
        check_indicator(table, read_options.labels)
    inspection = inspect_rows(table, read_options)
    return replace(inspection, facts=replace(inspection.facts, **of_source))


def _first_batch(source: stream.Source, read_options: ReadOptions, n_rows: int, n_columns: int = 1) -> Table | None:
    """Return the first rows of a stream; None if it has no rows."""
    names, overrides = read_options.text_columns, read_options.overrides
    spec = BatchSpec(
        () if source.format == "svmlight" else tuple(names),
        as_text={*overrides.texts, *overrides.categories} - names,
        labels_required=False,
        n_columns=n_columns,
        dialect=read_options.table.dialect,
        cell_format=read_options.table.cell_format,
    )
    return next(iter(iterate_batches(source, n_rows, spec)), None)


def _resolve_separator(source: stream.Source, read_options: ReadOptions) -> tuple[str, tuple[str, ...]]:
    """Return the text between two labels and a note if it was detected, which takes the labels of the first rows."""
    if read_options.separator is None and source.format != "svmlight" and source.can_be_read_again:
        batch = _first_batch(source, read_options, BATCH_ROWS)
        if batch is not None and read_options.labels:
            return resolve_separator(batch, read_options)
    return read_options.separator or DEFAULT_SEPARATOR, ()


def resume_notes(folder: Path, arguments: list[str]) -> list[str]:
    """Return a note with the command that continues an interrupted run, if there is a checkpoint."""
    checkpoint = folder / CHECKPOINT
    command = shlex.join(["oneof", *(word for word in arguments if word not in ("--resume", "--restart")), "--resume"])
    return [f"the run is saved in {checkpoint}; continue with: {command}"] if checkpoint.exists() else []


def _make_classifier(method: str) -> Any:
    name, parameters = split_method(DEFAULT_METHOD if method.lower() == "auto" else method)
    known = {known.lower(): known for known in METHODS}
    if name.lower() not in known:
        raise InputError(f"--method must be auto, {', '.join(METHODS)} with --online; got {method}.")
    classifier = getattr(oneof, known[name.lower()])(average=True, fit_intercept=True)
    set_parameters(classifier, parameters)
    return classifier


def _print_progress(bar: Progress, validation: stream.ProgressiveValidation, fraction: float | None) -> None:
    total, last = validation.total, validation.windows[-1]
    losses = f"loss {format_percent(total.model_loss)}, recently {format_percent(last.model_loss)}"
    n_total = None if not fraction else round(total.rows / fraction)
    bar(total.rows, n_total, f"{losses}; {total.rows_per_second or 0:,.0f} rows/s")


def _summarize(name: str, fit: stream.StreamResult, options: stream.StreamOptions, classifier: Any) -> dict[str, Any]:
    counts, has_text = fit.validation, any(column.kind == "text" for column in fit.columns)
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
        "words": options.text_options.to_dict() if has_text else None,
        "method": type(classifier).__name__,
        "progressive_validation": counts.to_dict(),
        "batch_rows": options.batch_rows,
        "resumed_at": fit.resumed_at,
        "unreadable_labels": fit.unreadable_labels.to_dict(),
        "notes": fit.notes,
    }


def _write_curve(path: Path, counts: stream.ProgressiveValidation) -> None:
    """Write one line per window: the number of rows up to its end, its losses, the cumulative losses, and its speed."""
    cumulative = stream.Window()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["rows", "window_loss", "window_model_loss", "loss", "model_loss", "rows_per_second"])
        for window in counts.windows:
            cumulative = cumulative + window
            losses = (window.loss, window.model_loss, cumulative.loss, cumulative.model_loss)
            writer.writerow([cumulative.rows, *losses, window.rows_per_second])
