"""Files of `oneof fit`: the summary, the model, the labels and the report."""

import datetime
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.annotators import ANNOTATORS_FILE, write_annotators
from oneof.cli.answers.annotators import to_dict as describe_annotators
from oneof.cli.auditing.issues import summarize as describe_issues
from oneof.cli.options import to_dict as options_to_dict
from oneof.cli.prediction.sets import to_dict as describe_sets

if TYPE_CHECKING:
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.cli.training.records import Evaluation, Fit, Fitted
    from oneof.report import Assessment
    from oneof.report.data import Preview

OUTPUTS = ("model.skops", "training_labels.csv", "report.html", "summary.json")


def summarize(fit: "Fit", evaluation: "Evaluation", fitted: "Fitted", assessment: "Assessment") -> dict[str, Any]:
    """Return the summary in the types of JSON: the data, the rates, and the prediction sets."""
    from oneof.cli.tables.methods import split_method

    prepared, comparison, curve, first = fit.prepared, evaluation.comparison, evaluation.curve, assessment.first_labels
    confidences = fitted.confidences
    summary = _summarize_table(prepared, fit.read_options) | {
        "options": options_to_dict(fit.read_options, fit.options),
        "method": comparison.best_method,
        "parameters": split_method(fit.options.method)[1],
        "class_weight": fit.options.weights_of_classes,
        "evaluation": comparison.evaluation,
        "estimate": comparison.to_dict()["results"][0],
        "comparison": comparison.to_dict(),
        "learning_curve": None if curve is None else curve.to_dict(),
        "headline": assessment.headline._asdict(),
        "estimated_accuracy": None if assessment.accuracy is None else assessment.accuracy._asdict(),
        "first_labels": None if first is None else first._asdict(),
        "confidences": confidences and confidences._asdict() | {"is_calibrated": fitted.is_calibrated},
    }
    if fitted.crowd is not None and fitted.annotators is not None:
        summary |= {"answers": describe_annotators(fitted.annotators, fitted.crowd)}
    if assessment.sets is not None:
        nominal = {
            "nominal_coverage": assessment.set_coverage,
            "expected_coverage": assessment.expected_coverage,
            "guarantee": assessment.guarantee,
        }
        summary |= {"prediction_sets": nominal | describe_sets(assessment.sets)}
    if evaluation.issues is not None:
        summary |= {"audit": describe_issues(evaluation.issues, prepared)}
    return summary


def _summarize_table(prepared: "PreparedTable", read_options: "ReadOptions") -> dict[str, Any]:
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
    }


def write(
    folder: Path,
    fit: "Fit",
    evaluation: "Evaluation",
    fitted: "Fitted",
    assessment: "Assessment",
    summary: dict[str, Any],
    command: str,
) -> list[str]:
    """Write the model, the labels, the report and the summary into a folder, and return the paths of the files."""
    from oneof.files import atomic_directory

    with atomic_directory(folder) as stage:
        model_file, labels_file, report_file, summary_file = (stage / name for name in OUTPUTS)
        write_model(model_file, fitted.model, fit.prepared, fit.read_options, summary, assessment.calibration)
        write_labels(labels_file, fit.prepared, fitted.decisions)
        write_report(report_file, fit, evaluation, fitted, assessment, command=command)
        if fitted.annotators is not None:
            write_annotators(stage / ANNOTATORS_FILE, fitted.annotators)
        summary_file.write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        names = sorted(file.name for file in stage.iterdir())
    return [str(folder / name) for name in names]


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
    from oneof.io.vectors import used_vectors
    from oneof.persistence import SavedModel, save

    vectors = used_vectors(prepared.table.vectors, [column.name for column in prepared.columns])
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
            "options": summary["options"],
            "separator": prepared.separator,
            "identifiers": list(dict.fromkeys([*prepared.answer_rows, *prepared.identifiers])),
            "weights": asdict(read_options.weights),
            "quote": read_options.table.dialect.quote,
            "cells": describe_cells(prepared.columns, prepared.table.cell_format),
            "groups": read_options.groups,
            "vectors": vectors,
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


def preview(prepared: "PreparedTable") -> "Preview":
    """Return the first identifier and the first features of each row, as texts."""
    from oneof.report import table_preview

    columns = [*prepared.identifiers[:1], *(column.name for column in prepared.columns)]
    return table_preview(prepared.table.frame, columns, prepared.table.rows)


def write_report(
    path: Path, fit: "Fit", evaluation: "Evaluation", fitted: "Fitted", assessment: "Assessment", *, command: str
) -> None:
    """Write the HTML report."""
    import oneof
    from oneof import report

    prepared = fit.prepared
    data = report.ReportData(
        title=f"Training report: {prepared.table.path.name}",
        source=prepared.table.path.name,
        candidates=prepared.candidates,
        comparison=evaluation.comparison,
        learning_curve=evaluation.curve,
        decisions=fitted.decisions,
        assessment=assessment,
        truth=prepared.truth,
        preview=preview(prepared),
        features=[column.name for column in prepared.columns],
        n_features=prepared.frame.shape[1],
        findings=prepared.notes,
        command=command,
        version=oneof.__version__,
        date=datetime.datetime.now().astimezone().date().isoformat(),
        is_named=fit.options.method.lower() != "auto",
        annotators=fitted.annotators,
        issues=evaluation.issues or fitted.issues,
        n_corrected=None if evaluation.issues is None else evaluation.issues.n_changed,
    )
    report.write_report(path, data)
