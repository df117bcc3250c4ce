"""From a table to a model, its report and the labels it decided on."""

import datetime
import json
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.outputs import check_writable, reject_inputs, staged
from oneof.cli.prepared import Prepared, Reading, find_methods, prepare
from oneof.cli.terminal import Progress

if TYPE_CHECKING:
    from oneof.comparison import Comparison, LearningCurve

Watch = Callable[[str], AbstractContextManager[Progress | None]]
"""Makes something that watches one piece of work: see `oneof.cli.terminal.progress`."""

OUTPUTS = ("model.skops", "training_labels.csv", "report.html", "summary.json")

_PREVIEWED = 6
"""Columns that the report shows of a row, to recognize it by."""


@dataclass(frozen=True)
class Trained:
    """What came out of `train`: the facts for JSON, the comparison of methods, and the files."""

    summary: dict[str, Any]
    comparison: "Comparison"
    notes: list[str]
    folder: Path


def train(
    path: Path, reading: Reading, *, method: str, folder: Path, folds: int, seed: int, command: str, watch: Watch
) -> Trained:
    """Choose a method, fit it on all rows of a table, and write model, labels, report and summary into a folder.

    The numbers in the summary are from held-out rows, also where one method is named.
    """
    from oneof.comparison import compare, default_method, learning_curve

    check_writable(folder)
    reject_inputs((folder / name for name in OUTPUTS), [path])
    prepared = prepare(path, reading)
    first = default_method(prepared.candidates) if method.lower() == "auto" else None
    methods, left_out = find_methods(prepared, first or method, seed)
    notes = [*prepared.notes, *left_out]
    if first is not None:
        notes.append(f"{first} was taken without a comparison, as the table suits it; --method best compares.")
    frame, candidates, truth = prepared.frame, prepared.candidates, prepared.truth
    with watch("Comparing methods" if len(methods) > 1 else "Cross-validating") as progress:
        comparison = compare(frame, candidates, methods, cv=folds, truth=truth, random_state=seed, progress=progress)
    with watch("Learning curve") as progress:
        curve = learning_curve(
            methods[comparison.best_method],
            frame,
            candidates,
            truth=truth,
            cv=folds,
            random_state=seed,
            progress=progress,
        )
    model = comparison.best_estimator.fit(frame, candidates)
    decisions = model[-1].disambiguate()  # of the rows of fit, in which methods by neighbors do not ask the row itself
    summary = _summarize(prepared, reading, comparison, curve) | {"notes": notes}
    with staged(folder) as stage:
        model_file, labels_file, report_file, summary_file = (stage / name for name in OUTPUTS)
        _write_model(model_file, model, prepared, reading, summary)
        _write_labels(labels_file, prepared, reading, decisions)
        _write_report(report_file, prepared, (comparison, curve, decisions), command=command, named=first is None)
        summary_file.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        files = sorted(file.name for file in stage.iterdir())
    return Trained(summary | {"files": [str(folder / name) for name in files]}, comparison, notes, folder)


def command_line(path: Path, reading: Reading, *, method: str, folder: Path, folds: int, seed: int) -> str:
    """Return the command that does the same again."""
    words = ["oneof", "fit", str(path), "--labels", ",".join(reading.labels)]
    if reading.truth:
        words += ["--truth", reading.truth]
    if reading.separator != "|":
        words += ["--separator", reading.separator]
    if reading.classes:
        words.append(f"--classes={','.join(reading.classes)}")
    chosen = reading.overrides
    for option, names in (
        ("--drop", chosen.drop),
        ("--text", chosen.texts),
        ("--categorical", chosen.categories),
        ("--numeric", chosen.numbers),
    ):
        words += [word for name in names for word in (option, name)]
    for option, value in (("--stop-words", reading.stop_words), ("--stem", reading.stem)):
        words += [option, value] * (value.lower() != "none")
    words += ["--method", method, "--folds", str(folds), "--seed", str(seed), "--out", str(folder)]
    return shlex.join(words)


def _summarize(
    prepared: Prepared, reading: Reading, comparison: "Comparison", curve: "LearningCurve"
) -> dict[str, Any]:
    candidates = prepared.candidates
    exact, unlabeled = int(candidates.is_exact.sum()), int(candidates.is_unlabeled.sum())
    return {
        "table": str(prepared.table.path),
        "labels": list(reading.labels),
        "truth": reading.truth,
        "rows": len(candidates),
        "exact": exact,
        "partial": len(candidates) - exact - unlabeled,
        "unlabeled": unlabeled,
        "classes": candidates.classes.tolist(),
        "features": [{"column": column.name, "kind": column.kind} for column in prepared.columns],
        "words": prepared.words.facts() if any(column.kind == "text" for column in prepared.columns) else None,
        "method": comparison.best_method,
        "estimate": comparison.to_dict()["results"][0],
        "comparison": comparison.to_dict(),
        "learning_curve": curve.to_dict(),
    }


def _write_model(path: Path, model: Any, prepared: Prepared, reading: Reading, summary: dict[str, Any]) -> None:
    from oneof.persistence import SavedModel, save

    saved = SavedModel(
        pipeline=model,
        classes=prepared.candidates.classes.tolist(),
        columns=[(column.name, column.kind) for column in prepared.columns],
        label_columns=list(reading.labels),
        method=summary["method"],
        summary={key: summary[key] for key in ("rows", "exact", "partial", "unlabeled", "estimate", "words")}
        | {"separator": reading.separator},
    )
    save(path, saved)


def _write_labels(path: Path, prepared: Prepared, reading: Reading, decisions: Any) -> None:
    import polars as pl

    columns = {
        "row": list(range(len(prepared.candidates))),
        "candidates": prepared.candidates.to_strings(separator=reading.separator),
        "label": decisions.labels.tolist(),
        "confidence": decisions.confidence.tolist(),
    }
    if prepared.truth is not None:
        columns["truth"] = prepared.truth.tolist()
    pl.DataFrame(columns).write_csv(path)


def _write_report(
    path: Path, prepared: Prepared, found: tuple["Comparison", "LearningCurve", Any], *, command: str, named: bool
) -> None:
    import oneof
    from oneof.report import ReportData, write_report

    comparison, curve, decisions = found
    shown = prepared.table.frame.select([column.name for column in prepared.columns[:_PREVIEWED]])

    def preview(row: int) -> Mapping[str, str]:
        return {name: "" if cell is None else str(cell) for name, cell in shown.row(row, named=True).items()}

    data = ReportData(
        title=f"What oneof learned from {prepared.table.path.name}",
        source=prepared.table.path.name,
        candidates=prepared.candidates,
        comparison=comparison if len(comparison.results) > 1 else None,
        method=comparison.best_method,
        named=named,
        estimate=comparison.results[0],
        learning_curve=curve,
        decisions=decisions,
        truth=prepared.truth,
        preview=preview,
        command=command,
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
    )
    write_report(path, data)
