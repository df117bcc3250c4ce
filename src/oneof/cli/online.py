"""From a stream to a model: `oneof fit --online`."""

import csv
import json
import shlex
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.inputs import ReadOptions
from oneof.cli.terminal import Progress, format_percent
from oneof.errors import InputError
from oneof.files import atomic_directory, check_not_input, check_writable
from oneof.tables import read_words

if TYPE_CHECKING:
    from oneof.stream import StreamResult, Validation

OUTPUTS = ("model.skops", "summary.json", "curve.csv")
CHECKPOINT = "checkpoint.npz"
METHODS = ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos")
DEFAULT_METHOD = "MaxPerceptron"


@dataclass(frozen=True)
class OnlineOptions:
    """The options of `oneof fit` that only streams have."""

    format: str | None = None
    epochs: int = 1
    batch_rows: int = 10_000
    hash_bits: int = 18
    checkpoint_rows: int | None = None
    checkpoint_seconds: float | None = 60.0
    resume: bool | None = None
    """True: go on from the checkpoint; False: begin anew; None: begin, if there is none."""


@dataclass(frozen=True)
class OnlineResult:
    """What came out of `fit_online`: the facts for JSON, and what was learned."""

    summary: dict[str, Any]
    fit: "StreamResult"
    files: list[str]


def default_folder(path: Path) -> Path:
    """Return the folder to write to where none is named."""
    name = "stdin" if str(path) == "-" else path.name.removesuffix(".gz")
    return Path(f"{Path(name).stem}-oneof")


def fit_online(
    path: Path,
    reading: ReadOptions,
    online: OnlineOptions,
    *,
    method: str,
    folder: Path,
    watch: Callable[[str], AbstractContextManager[Progress | None]],
) -> OnlineResult:
    """Learn from a stream; write model, summary and curve into a folder, and while it runs a checkpoint.

    The checkpoint is removed when the other files are there.
    """
    from oneof.stream import CheckpointConfig, StreamOptions, fit_stream, open_source

    check_writable(folder)
    source = open_source(path, online.format)
    check_not_input((folder / name for name in (*OUTPUTS, CHECKPOINT)), source.files)
    if reading.truth is not None:
        raise InputError("--truth has no place beside --online: the running loss judges by the candidate sets.")
    learner = _learner(method)
    options = StreamOptions(
        labels=reading.labels,
        separator=reading.separator,
        classes=reading.classes,
        overrides=reading.overrides,
        words=read_words(reading.stop_words, reading.stem),
        batch_rows=online.batch_rows,
        hash_bits=online.hash_bits,
        n_epochs=online.epochs,
    )
    kept = folder / CHECKPOINT
    if online.resume is False:
        kept.unlink(missing_ok=True)
    checkpoints = CheckpointConfig(
        kept, online.checkpoint_rows, online.checkpoint_seconds, resume=online.resume is True
    )
    with watch("Learning") as progress:
        shown = None if progress is None else lambda found, share: _show(progress, found, share)
        fit = fit_stream(source, learner, options, checkpoints=checkpoints, watch=shown)
    summary = _summarize(source.name, fit, options, learner, online)
    with atomic_directory(folder) as stage:
        model, facts, curve = (stage / name for name in OUTPUTS)
        _write_model(model, fit, reading, summary)
        facts.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        _write_curve(curve, fit.validation)
    kept.unlink(missing_ok=True)
    return OnlineResult(summary, fit, [str(folder / name) for name in OUTPUTS])


def resume_hint(folder: Path, words: list[str]) -> str | None:
    """Return the sentence that says how a stopped run of these words goes on, if it left a checkpoint."""
    kept = folder / CHECKPOINT
    if not kept.exists():
        return None
    again = shlex.join(["oneof", *(word for word in words if word not in ("--resume", "--restart")), "--resume"])
    return f"how far it came is kept in {kept}; go on with: {again}"


def _learner(method: str) -> Any:
    import oneof

    name = DEFAULT_METHOD if method.lower() == "auto" else method
    known = {known.lower(): known for known in METHODS}
    if name.lower() not in known:
        raise InputError(f"{method} does not learn online: with --online the methods are auto, {', '.join(METHODS)}.")
    return getattr(oneof, known[name.lower()])(average=True, fit_intercept=True)


def _show(progress: Progress, found: "Validation", share: float | None) -> None:
    rows, last = found.total.rows, found.windows[-1]
    speed = found.total.rows_per_second or 0
    text = (
        f"L_A {format_percent(found.total.model_loss)}, lately {format_percent(last.model_loss)}; {speed:,.0f} rows/s"
    )
    progress(rows, None if not share else round(rows / share), text)


def _summarize(name: str, fit: "StreamResult", options: Any, learner: Any, online: OnlineOptions) -> dict[str, Any]:
    counts = fit.validation
    return {
        "stream": name,
        "labels": list(options.labels),
        "separator": options.separator,
        "rows": counts.total.rows,
        "exact": counts.exact,
        "partial": counts.partial,
        "unlabeled": counts.total.rows - counts.total.told,
        "epochs": options.n_epochs,
        "classes": fit.classes,
        "features": [{"column": column.name, "kind": column.kind} for column in fit.columns],
        "hash_bits": options.hash_bits,
        "words": options.words.facts() if any(column.kind == "text" for column in fit.columns) else None,
        "method": type(learner).__name__,
        "progressive_validation": counts.facts(),
        "batch_rows": online.batch_rows,
        "resumed_at": fit.resumed_at,
        "notes": fit.notes,
    }


def _write_model(path: Path, fit: "StreamResult", reading: ReadOptions, summary: dict[str, Any]) -> None:
    from oneof.persistence import SavedModel, save

    told = ("rows", "exact", "partial", "unlabeled", "words", "separator", "progressive_validation")
    saved = SavedModel(
        pipeline=fit.model,
        classes=fit.classes,
        columns=[(column.name, column.kind) for column in fit.columns],
        label_columns=list(reading.labels),
        method=summary["method"],
        summary={name: summary[name] for name in told} | {"online": True},
    )
    save(path, saved)


def _write_curve(path: Path, counts: "Validation") -> None:
    """Write a line for each window: the rows up to its end, its losses, those so far, and its speed."""
    from oneof.stream import Window

    so_far = Window()
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["rows", "window_loss", "window_model_loss", "loss", "model_loss", "rows_per_second"])
        for window in counts.windows:
            so_far = so_far + window
            losses = (window.loss, window.model_loss, so_far.loss, so_far.model_loss)
            lines.writerow([so_far.rows, *losses, window.rows_per_second])
