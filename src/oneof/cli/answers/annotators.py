"""Labels by answers of annotators, the fit of `oneof fit`, and the description of the annotators."""

import math
from pathlib import Path
from typing import Any

import polars as pl

from oneof.cli.answers.files import TableAnswers, rules_note
from oneof.cli.output import terminal
from oneof.crowd import Answers, CrowdClassifier, krippendorff_alpha, pairwise_agreement
from oneof.crowd.annotator_model import RULES_NOTE
from oneof.messages import MAX_NAMED, enumerate_items
from oneof.report import AnnotatorSummary, DisputedRow
from oneof.report.annotators import annotator_rows

ANNOTATORS_FILE = "annotators.csv"
WEIGHTS_NOTE = (
    "the labels are weights by the answers alone, with accuracies of the annotators estimated from all answers: the "
    "rates are approximate. `oneof fit` fits the annotators and a method in turn."
)
"""Note of the commands that do not fit the annotators and a method in turn."""
_MAX_JSON_PAIRS = 1000


def summarize_annotators(crowd: CrowdClassifier, given: TableAnswers) -> AnnotatorSummary:
    """Return the accuracies of the annotators, their agreement, and the most disputed rows."""
    model = crowd.annotator_model_
    disputed, masi = model.disputed_rows(10), given.answers.has_sets
    labels, others = (map(str, names.tolist()) for names in (disputed.labels, disputed.runner_up))
    return AnnotatorSummary(
        names=[str(name) for name in model.annotators_.tolist()],
        n_answers=model.n_answers_,
        accuracy=model.accuracy_,
        interval=model.accuracy_interval_,
        coverage=float(model.coverage),
        copies=[(str(pair.annotators[0]), str(pair.annotators[1])) for pair in model.copied_pairs_],
        no_better_than_chance=[str(name) for name in model.no_better_than_chance_],
        few_answers=[str(name) for name in model.few_answers_],
        notes=[rules_note() if note == RULES_NOTE else note for note in model.notes_],
        by_class=model.class_accuracies(),
        pairs=pairwise_agreement(given.answers, "masi" if masi else "nominal"),
        alpha=krippendorff_alpha(given.answers),
        masi_alpha=krippendorff_alpha(given.answers, "masi") if masi else None,
        disputed=[
            DisputedRow(row, given.row_names[row], label, other, rate, describe_answers(given.answers, row))
            for row, label, other, rate in zip(
                disputed.rows.tolist(), labels, others, disputed.disagreement.tolist(), strict=True
            )
        ],
    )


def describe_answers(answers: Answers, row: int) -> str:
    """Return each answer to a row with its annotators, the most frequent answer first."""
    given: dict[str, list[str]] = {}
    for annotator, labels in answers.of_row(row).items():
        given.setdefault(" or ".join(map(str, labels)), []).append(str(annotator))
    frequent = sorted(given.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(f"{answer}: {enumerate_items(names, MAX_NAMED, conjunction=False)}" for answer, names in frequent)


def to_dict(summary: AnnotatorSummary, crowd: CrowdClassifier) -> dict[str, Any]:
    """Return the summary in the types of JSON."""
    by_class, pairs = summary.by_class, summary.pairs
    parts = (by_class.n_answers, by_class.accuracy, by_class.interval, by_class.differs)
    names = ("answers", "accuracy", "interval", "differs")
    of_classes = [
        _records({"class": by_class.classes} | dict(zip(names, rates, strict=True)))
        for rates in zip(*(part.tolist() for part in parts), strict=True)
    ]
    of_all = {"answers": summary.n_answers, "accuracy": summary.accuracy, "interval": summary.interval.tolist()}
    named = [*zip(map(str, pairs.first), map(str, pairs.second), strict=True)]
    rates_of_pairs = {"rows": pairs.n_shared, "agreement": pairs.agreement, "kappa": pairs.kappa}
    shown = _records({"annotators": named, **rates_of_pairs})
    same = ("coverage", "copies", "no_better_than_chance", "few_answers", "notes", "alpha", "masi_alpha")
    content = {
        "annotators": _records({"annotator": summary.names, **of_all, "by_class": of_classes}),
        **{name: getattr(summary, name) for name in same},
        "rules": crowd.annotator_model_.are_rules_,
        "pairs": [shown[i] for i in summary.least_agreeing_pairs(_MAX_JSON_PAIRS)],
        "disputed_rows": [row._asdict() for row in summary.disputed],
        "rounds": crowd.n_iter_,
        "classifier_power": crowd.classifier_power_,
        "answer_power": crowd.answer_power_,
    }
    return dict(terminal.to_builtin(content))


def _records(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of columns of equal length as mappings."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def write_annotators(path: Path, summary: AnnotatorSummary) -> None:
    """Write a line for each annotator; those who may be copies have the names of the others."""
    classes, names = summary.by_class.classes, summary.names
    columns = {
        "annotator": names,
        "answers": summary.n_answers,
        "accuracy": summary.accuracy,
        "lower": summary.interval[:, 0],
        "upper": summary.interval[:, 1],
        "no_better_than_chance": [
            None if math.isnan(accuracy) else name in summary.no_better_than_chance
            for name, accuracy in zip(names, summary.accuracy, strict=True)
        ],
        "few_answers": [name in summary.few_answers for name in names],
        "differs_in": ["|".join(map(str, classes[differs].tolist())) for differs in summary.by_class.differs],
        "may_copy": ["|".join(summary.copies_of(name)) for name in names],
    }
    pl.DataFrame(columns, nan_to_null=True).write_csv(path)


def print_annotators(summary: AnnotatorSummary) -> None:
    """Print the accuracies and the most disputed rows; the report has further tables."""
    percent, table = terminal.format_percent, terminal.print_table
    rows, n = annotator_rows(summary), len(summary.names)
    title = "Annotators" if len(rows) == n else f"{len(rows)} of {n:,} annotators, of the lowest and highest accuracy"
    intervals = ["-" if math.isnan(row.low) else f"{percent(row.low)} to {percent(row.high)}" for row in rows]
    lines = [
        [row.name, f"{row.n_answers:,}", percent(row.accuracy), interval, row.remark]
        for row, interval in zip(rows, intervals, strict=True)
    ]
    table(title, ["annotator", "answers", "accuracy", f"{100 * summary.coverage:.0f} % interval", "note"], lines)
    for note in summary.notes:
        if note != rules_note():  # which is printed when the answers are read
            terminal.print_line(note)
    terminal.print_line(f"Agreement of the annotators: {summary.agreement}")
    if summary.disputed:
        lines = [
            [one.name, one.label, one.runner_up, one.answers, percent(one.disagreement)] for one in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers", "pairs that differ"]
        table("Rows with the least certain labels", columns, lines, text_columns=4)
