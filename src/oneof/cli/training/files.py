"""Files of `oneof fit`: the summary, the model, the labels and the report."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

import oneof
from oneof import report
from oneof.cli import auditing
from oneof.cli.answers import ANNOTATORS_FILE, describe_annotators, write_annotators
from oneof.cli.options import ReadOptions
from oneof.cli.options import to_dict as options_to_dict
from oneof.cli.output.files import today, write_json
from oneof.cli.prediction import evaluation_to_dict
from oneof.cli.tables.facts import describe_prepared
from oneof.cli.tables.inputs import PreparedTable
from oneof.cli.tables.methods import split_method
from oneof.cli.training.train import Fitted
from oneof.estimators.base import Disambiguation
from oneof.files import atomic_directory, hash_file
from oneof.io import Column, describe_cells
from oneof.io.vectors import used_vectors
from oneof.persistence import SavedModel, save
from oneof.report import Assessment

OUTPUTS = ("model.skops", "training_labels.csv", "report.html", "summary.json", ANNOTATORS_FILE)


def summarize(fitted: Fitted, assessment: Assessment) -> dict[str, Any]:
    """Return the summary in the types of JSON: the data, the rates, and the prediction sets."""
    fit, evaluation, comparison = fitted.fit, fitted.evaluation, fitted.comparison
    curve, first, confidences = evaluation.curve, assessment.first_labels, fitted.confidences
    results = comparison.to_dict()
    summary = _summarize_table(fit.prepared, fit.read_options) | {
        "options": options_to_dict(fit.read_options, fit.options),
        "method": comparison.best_method,
        "parameters": split_method(fit.options.method)[1],
        "class_weight": fit.options.weights_of_classes,
        "evaluation": comparison.evaluation,
        "estimate": results["results"][0],
        "comparison": results,
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
        summary |= {"prediction_sets": nominal | evaluation_to_dict(assessment.sets)}
    if evaluation.issues is not None:
        summary |= {"audit": auditing.summarize(evaluation.issues, fit.prepared)}
    return summary | {"notes": [*fit.notes, *evaluation.notes, *fitted.notes, *assessment.notes]}


def _summarize_table(prepared: PreparedTable, read_options: ReadOptions) -> dict[str, Any]:
    facts = describe_prepared(prepared, read_options)
    has_text = any(column.kind == "text" for column in prepared.columns)
    same = ("table", "rows", "exact", "partial", "unlabeled", "weighted", "sparse_features")
    return {name: getattr(facts, name) for name in same} | {
        "labels": list(read_options.label_columns),
        "truth": read_options.truth,
        "gold": read_options.gold,
        "groups": read_options.groups,
        "checked": 0 if prepared.is_checked is None else int(prepared.is_checked.sum()),
        "classes": prepared.candidates.classes.tolist(),
        "features": [{"column": column.name, "kind": column.kind} for column in prepared.columns],
        "findings": prepared.findings.to_dict(),
        "unreadable_labels": prepared.unreadable_labels.to_dict(),
        "separator": prepared.separator,
        "words": read_options.text_options.to_dict() if has_text else None,
    }


def write(fitted: Fitted, assessment: Assessment, command: str) -> dict[str, Any]:
    """Write the model, the labels, the report and the summary into the folder; return the summary and the files."""
    fit, folder, summary = fitted.fit, fitted.fit.folder, summarize(fitted, assessment)
    prepared, read_options = fit.prepared, fit.read_options
    with atomic_directory(folder) as stage:
        model_file, labels_file, report_file, summary_file, annotators_file = (stage / name for name in OUTPUTS)
        more = {
            "estimate": summary["estimate"],
            "confidences": summary["confidences"],
            "identifiers": list(dict.fromkeys([*prepared.answer_rows, *prepared.identifiers])),
            "weights": asdict(read_options.weights),
            "quote": read_options.table.dialect.quote,
            "groups": read_options.groups,
            "vectors": used_vectors(prepared.table.vectors, [column.name for column in prepared.columns]),
            "cells": describe_cells(prepared.columns, prepared.table.cell_format),
            "file_hash": hash_file(prepared.table.path),
        }
        save(model_file, model_of(fitted.model, prepared.columns, summary, more, assessment.calibration))
        write_labels(labels_file, prepared, fitted.decisions)
        report.write_report(report_file, _report_data(fitted, assessment, command))
        if fitted.annotators is not None:
            write_annotators(annotators_file, fitted.annotators)
        write_json(summary_file, summary)
        names = sorted(file.name for file in stage.iterdir())
    return summary | {"files": [str(folder / name) for name in names]}


def model_of(
    pipeline: Any,
    columns: Iterable[Column],
    summary: dict[str, Any],
    more: dict[str, Any],
    calibration: dict[str, Any] | None = None,
) -> SavedModel:
    """Return the model of a table or a stream with its columns, a part of its summary, and more facts about them."""
    names = ("rows", "exact", "partial", "unlabeled", "weighted", "words", "options", "separator")
    return SavedModel(
        pipeline=pipeline,
        classes=summary["classes"],
        columns=[(column.name, column.kind) for column in columns],
        label_columns=summary["labels"],
        method=summary["method"],
        summary={name: summary[name] for name in names} | more,
        calibration=calibration,
    )


def write_labels(path: Path, prepared: PreparedTable, decisions: Disambiguation) -> None:
    """Write the disambiguated labels of the training rows as CSV."""
    columns = {
        "row": list(range(len(prepared.candidates))),
        "candidates": prepared.candidates.to_strings(separator=prepared.separator),
        "label": decisions.labels.tolist(),
        "confidence": decisions.confidence.tolist(),
    }
    if prepared.is_checked is not None:
        columns["checked"] = prepared.is_checked.tolist()
    if prepared.truth is not None:
        columns["truth"] = prepared.truth.tolist()
    auditing.with_names(pl.DataFrame(columns), prepared, prepared.identifiers).write_csv(path)


def _report_data(fitted: Fitted, assessment: Assessment, command: str) -> report.ReportData:
    fit, evaluation, prepared = fitted.fit, fitted.evaluation, fitted.fit.prepared
    return report.ReportData(
        title=f"Training report: {prepared.table.path.name}",
        source=prepared.table.path.name,
        candidates=prepared.candidates,
        comparison=evaluation.comparison,
        learning_curve=evaluation.curve,
        decisions=fitted.decisions,
        assessment=assessment,
        truth=prepared.truth,
        preview=auditing.preview(prepared),
        features=[column.name for column in prepared.columns],
        n_features=prepared.frame.shape[1],
        findings=prepared.notes,
        command=command,
        version=oneof.__version__,
        date=today(),
        is_named=fit.options.method.lower() != "auto",
        annotators=fitted.annotators,
        issues=fitted.issues,
        n_corrected=None if evaluation.issues is None else evaluation.issues.n_changed,
    )
