"""Online learning from a stream: `oneof fit --online`."""

import contextlib
import itertools
import shlex
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import oneof
from oneof import io, stream
from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.cli import terminal
from oneof.cli.options import FitOptions, OnlineFitOptions, OnlineOptions, ReadOptions, options_to_dict
from oneof.cli.tables.facts import inspect_first_rows, read_first_rows
from oneof.cli.tables.inputs import naming_the_option, resolve_separator
from oneof.cli.tables.methods import set_parameters, split_method
from oneof.cli.terminal import Progress, check_outputs, format_percent, step, write_json
from oneof.cli.training import model_of
from oneof.errors import InputError, OneofError
from oneof.files import atomic_directory, hash_file
from oneof.io.batches import BATCH_ROWS
from oneof.messages import merged_warnings
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

    The checkpoint is removed after the other files are written. The facts of the first rows are printed before the fit.
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
    separator, notes = _inspect_first_rows(source, read_options, online_options)
    options = stream.StreamOptions(
        labels=read_options.labels,
        separator=separator,
        table=read_options.table,
        classes=read_options.classes,
        **asdict(read_options.weights),
        overrides=read_options.overrides,
        text_options=read_options.text_options,
        batch_rows=online_options.batch_rows,
        hash_bits=online_options.hash_bits,
        n_epochs=online_options.epochs,
    )
    if online_options.resume is False:
        checkpoint.unlink(missing_ok=True)
    resume, is_finished = online_options.resume is True, files[0].exists()
    checkpoints = stream.CheckpointConfig(checkpoint, online_options.checkpoint_rows, CHECKPOINT_SECONDS, resume=resume)
    with step("Learning") as bar, naming_the_option(read_options.unreadable_labels), merged_warnings():
        fit = stream.fit_stream(
            source, classifier, options, checkpoints=checkpoints, callback=partial(_print_progress, bar)
        )
    anew = [_STARTED_ANEW] * (resume and fit.resumed_at is None and is_finished)
    fit = replace(fit, notes=[*anew, *notes, *fit.notes])
    given = options_to_dict(read_options, fit_options, online_options)
    summary = _summarize(source.name, fit, options, classifier) | {"options": given}
    more = {
        "progressive_validation": summary["progressive_validation"],
        "online": True,
        "weights": asdict(read_options.weights) | {"prior": fit.prior},
        "cells": io.describe_cells(fit.columns, read_options.table.cell_format),
        "file_hash": hash_file(path),
    }
    with atomic_directory(folder) as stage:
        model, summary_file, curve = (stage / name for name in OUTPUTS)
        save(model, model_of(fit.model, fit.columns, summary, more))
        write_json(summary_file, summary)
        _write_curve(curve, fit.validation)
    checkpoint.unlink(missing_ok=True)
    return summary | {"files": [str(file) for file in files]}, fit


def _inspect_first_rows(
    source: stream.Source, read_options: ReadOptions, online_options: OnlineOptions
) -> tuple[str, list[str]]:
    """Print the facts of the first rows, and return the text between two labels, with notes on it and on leaks.

    The facts are not printed if the rows cannot be read twice or have defects, which are errors of the fit.
    """
    if not source.can_be_read_again or source.format == "svmlight":  # whose rows have no columns to describe
        return read_options.separator or DEFAULT_SEPARATOR, []
    table = read_first_rows(source, read_options, BATCH_ROWS, 2**online_options.hash_bits)
    (separator, sentences), leaks = resolve_separator(table, read_options), []
    with contextlib.suppress(OneofError):
        inspection = inspect_first_rows(source, table, replace(read_options, separator=separator))
        if inspection.facts.classes:  # the labels of the first rows could be read
            terminal.print_line(*inspection.facts.lines(), err=True)
        leaks = [finding for finding in inspection.findings.others if finding.kind.endswith("leak")]
    return separator, [*io.describe(leaks), *sentences]


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
    cumulative = itertools.accumulate(counts.windows)
    columns = ["rows", "window_loss", "window_model_loss", "loss", "model_loss", "rows_per_second"]
    lines = [
        (so_far.rows, window.loss, window.model_loss, so_far.loss, so_far.model_loss, window.rows_per_second)
        for window, so_far in zip(counts.windows, cumulative, strict=True)
    ]
    pl.DataFrame(lines, columns, orient="row").write_csv(path)
