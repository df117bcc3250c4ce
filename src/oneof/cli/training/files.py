"""Files of `oneof fit`: the command line that repeats it, the summary, the model, the labels and the report."""

import datetime
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.prediction.sets import REPORT_COVERAGE
from oneof.messages import write_names

if TYPE_CHECKING:
    from oneof.audit import LabelIssues
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.comparison import Comparison, LearningCurve
    from oneof.conformal import SetEvaluation
    from oneof.report import AnnotatorSummary, FirstLabelRate, Headline


def command_line(
    path: Path,
    read_options: "ReadOptions",
    *,
    method: str,
    folder: Path,
    folds: int | None,
    budget: float | None,
    seed: int,
    noise_rate: float | str | None = None,
    class_weight: str | None = None,
    calibrates: bool = False,
) -> str:
    """Return the shell command that repeats this training."""
    arguments = ["oneof", "fit", str(path)]
    given = read_options.answers
    if given is None:
        arguments += ["--labels", write_names(read_options.labels)]
    else:
        arguments += ["--answers", str(given.path)]
        for option, value in (("--row", given.row), ("--annotator", given.annotator), ("--answer", given.answer)):
            arguments += [] if value is None else [option, value]
        arguments += [] if given.answers_row is None else ["--answers-row", given.answers_row]
        arguments += [] if given.rules == "auto" else ["--rules", given.rules]
        arguments += ["--exclude-annotator", write_names(given.excluded)] if given.excluded else []
    arguments += [] if read_options.gold is None else ["--gold", read_options.gold]
    if read_options.truth:
        arguments += ["--truth", read_options.truth]
    if read_options.groups:
        arguments += ["--groups", read_options.groups]
    if read_options.separator is not None:
        arguments += ["--separator", read_options.separator]
    weighting = read_options.weights
    if weighting.weighted:
        arguments += ["--weighted"] if weighting.weights is None else ["--weights", weighting.weights]
        arguments += ["--kind", weighting.kind]
        arguments += ["--rest", "auto" if weighting.rest is True else str(weighting.rest)] if weighting.rest else []
    if read_options.classes:
        arguments.append(f"--classes={write_names(read_options.classes)}")
    overrides = read_options.overrides
    for option, names in (
        ("--drop", overrides.drop),
        ("--text", overrides.texts),
        ("--categorical", overrides.categories),
        ("--numeric", overrides.numbers),
    ):
        arguments += [argument for name in names for argument in (option, write_names([name]))]
    table_options = read_options.table
    for option, name in (("--format", table_options.format), ("--sheet", table_options.sheet)):
        arguments += [] if name is None else [option, name]
    for option, setting in (
        ("--delimiter", table_options.dialect.delimiter),
        ("--decimal", table_options.dialect.decimal),
        ("--encoding", table_options.dialect.encoding),
        ("--missing", write_names(table_options.cell_format.missing)),
        *(("--date-format", date) for date in table_options.cell_format.dates),
    ):
        arguments += [f"{option}={setting}"] * bool(setting)
    arguments += ["--strict"] * table_options.strict
    arguments += ["--fold-case"] * table_options.cell_format.folds_labels
    arguments += ["--unreadable-labels", "unlabeled"] * (table_options.cell_format.label_errors == "unlabeled")
    for option, value in (("--stop-words", read_options.stop_words), ("--stem", read_options.stem)):
        arguments += [option, value] * (value.lower() != "none")
    arguments += ["--method", method]
    arguments += [] if noise_rate is None else ["--noise-rate", str(noise_rate)]
    arguments += [] if class_weight is None else ["--class-weight", class_weight]
    arguments += ["--calibrate"] * calibrates
    for option, number in (("--folds", folds), ("--budget", budget)):
        arguments += [] if number is None else [option, f"{number:g}"]
    arguments += ["--seed", str(seed), "--out", str(folder)]
    return shlex.join(arguments)


def summarize(
    prepared: "PreparedTable", read_options: "ReadOptions", comparison: "Comparison", curve: "LearningCurve | None"
) -> dict[str, Any]:
    """Return the summary of the data, the comparison and the learning curve for JSON."""
    candidates = prepared.candidates
    exact, unlabeled = int(candidates.is_exact.sum()), int(candidates.is_unlabeled.sum())
    return {
        "table": str(prepared.table.path),
        "labels": list(read_options.label_columns),
        "truth": read_options.truth,
        "gold": read_options.gold,
        "groups": read_options.groups,
        "rows": len(candidates),
        "exact": exact,
        "partial": len(candidates) - exact - unlabeled,
        "unlabeled": unlabeled,
        "checked": 0 if prepared.is_checked is None else int(prepared.is_checked.sum()),
        "weighted": int(candidates.is_weighted.sum()),
        "classes": candidates.classes.tolist(),
        "features": [{"column": column.name, "kind": column.kind} for column in prepared.columns],
        "sparse_features": None if prepared.table.rows is None else prepared.table.rows.shape[1],
        "findings": prepared.findings.to_dict(),
        "unreadable_labels": prepared.unreadable_labels.to_dict(),
        "separator": prepared.separator,
        "words": prepared.text_options.to_dict() if any(column.kind == "text" for column in prepared.columns) else None,
        "method": comparison.best_method,
        "evaluation": comparison.evaluation,
        "estimate": comparison.to_dict()["results"][0],
        "comparison": comparison.to_dict(),
        "learning_curve": None if curve is None else curve.to_dict(),
    }


def write_model(
    path: Path,
    model: Any,
    prepared: "PreparedTable",
    read_options: "ReadOptions",
    summary: dict[str, Any],
    calibration: dict[str, Any] | None,
) -> None:
    """Write the model with the columns of its table."""
    from oneof.files import hash_file
    from oneof.io import describe_cells
    from oneof.io.notes.unusual_rows import describe_rows
    from oneof.io.vectors import used_vectors
    from oneof.persistence import SavedModel, save

    vectors = used_vectors(prepared.table.vectors, [column.name for column in prepared.columns])
    limits = describe_rows(prepared.frame, prepared.columns, model[0], vectors) if prepared.columns else None
    saved = SavedModel(
        pipeline=model,
        classes=prepared.candidates.classes.tolist(),
        columns=[(column.name, column.kind) for column in prepared.columns],
        label_columns=list(read_options.label_columns),
        method=summary["method"],
        summary={
            key: summary[key]
            for key in ("rows", "exact", "partial", "unlabeled", "weighted", "estimate", "words", "confidences")
        }
        | {
            "separator": prepared.separator,
            "identifiers": list(dict.fromkeys([*prepared.answer_rows, *prepared.identifiers])),
            "weights": asdict(read_options.weights),
            "cells": describe_cells(prepared.columns, prepared.table.cell_format),
            "groups": read_options.groups,
            "vectors": vectors,
            "row_limits": limits,
            "file_hash": hash_file(prepared.table.path),
        },
        calibration=calibration,
    )
    save(path, saved)


def write_labels(path: Path, prepared: "PreparedTable", decisions: Any) -> None:
    """Write the disambiguated labels of the training rows as CSV."""
    import polars as pl

    from oneof.cli.tables.inputs import insert_identifiers

    columns = {
        "row": list(range(len(prepared.candidates))),
        **({} if prepared.answers is None else {"id": prepared.answers.row_names}),
        "candidates": prepared.candidates.to_strings(separator=prepared.separator),
        "label": decisions.labels.tolist(),
        "confidence": decisions.confidence.tolist(),
    }
    if prepared.is_checked is not None:
        columns["checked"] = prepared.is_checked.tolist()
    if prepared.truth is not None:
        columns["truth"] = prepared.truth.tolist()
    insert_identifiers(pl.DataFrame(columns), prepared.table.frame, prepared.identifiers).write_csv(path)


def write_report(
    path: Path,
    prepared: "PreparedTable",
    results: tuple["Comparison", "LearningCurve | None", Any],
    *,
    command: str,
    named: bool,
    annotators: "AnnotatorSummary | None",
    sets: "SetEvaluation | None",
    expected_coverage: float | None,
    guarantee: str | None,
    issues: "LabelIssues | None",
    headline: "Headline",
    first_labels: "FirstLabelRate | None",
    n_corrected: int | None,
) -> None:
    """Write the HTML report; `results` are the comparison, the learning curve and the disambiguated labels."""
    import oneof
    from oneof import report

    comparison, curve, decisions = results
    columns = [*prepared.identifiers[:1], *(column.name for column in prepared.columns)]
    data = report.ReportData(
        title=f"Training report: {prepared.table.path.name}",
        source=prepared.table.path.name,
        candidates=prepared.candidates,
        comparison=comparison if len(comparison.results) > 1 else None,
        method=comparison.best_method,
        named=named,
        estimate=comparison.results[0],
        baseline_warning=comparison.baseline_warning,
        n_folds=comparison.n_folds,
        n_train=comparison.n_train,
        n_held_out=comparison.n_held_out,
        n_groups=comparison.n_groups,
        learning_curve=curve,
        decisions=decisions,
        truth=prepared.truth,
        preview=report.table_preview(prepared.table.frame, columns, prepared.table.rows),
        command=command,
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
        annotators=annotators,
        sets=sets,
        set_coverage=REPORT_COVERAGE,
        expected_coverage=expected_coverage,
        set_guarantee=guarantee,
        issues=issues,
        n_corrected=n_corrected,
        headline=headline,
        first_labels=first_labels,
    )
    report.write_report(path, data)
