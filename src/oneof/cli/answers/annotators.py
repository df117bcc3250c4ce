"""Labels by answers of annotators, the fit of `oneof fit`, and the description of the annotators."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.files import TableAnswers, rules_note
from oneof.cli.output import terminal
from oneof.messages import MAX_NAMED, enumerate_items

if TYPE_CHECKING:
    from oneof.crowd import Answers, CrowdClassifier
    from oneof.report import AnnotatorSummary

ANNOTATORS_FILE = "annotators.csv"
WEIGHTS_NOTE = (
    "the labels are weights by the answers alone, with accuracies of the annotators estimated from all answers: the "
    "rates are approximate. `oneof fit` fits the annotators and a method in turn."
)
"""Note of the commands that do not fit the annotators and a method in turn."""
_MAX_PRINTED_CLASSES, _MAX_JSON_PAIRS = 5, 1000


def summarize_annotators(crowd: "CrowdClassifier", given: TableAnswers) -> "AnnotatorSummary":
    """Return the accuracies of the annotators, their agreement, and the most disputed rows."""
    from oneof.crowd import krippendorff_alpha, pairwise_agreement
    from oneof.crowd.annotator_model import RULES_NOTE
    from oneof.report import AnnotatorSummary, DisputedRow

    model = crowd.annotator_model_
    disputed = model.disputed_rows(10)
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
        pairs=pairwise_agreement(given.answers, "masi" if given.answers.has_sets else "nominal"),
        alpha=krippendorff_alpha(given.answers),
        masi_alpha=krippendorff_alpha(given.answers, "masi") if given.answers.has_sets else None,
        disputed=[
            DisputedRow(row, given.row_names[row], label, other, rate, describe_answers(given.answers, row))
            for row, label, other, rate in zip(
                disputed.rows.tolist(),
                map(str, disputed.labels.tolist()),
                map(str, disputed.runner_up.tolist()),
                disputed.disagreement.tolist(),
                strict=True,
            )
        ],
    )


def describe_answers(answers: "Answers", row: int) -> str:
    """Return each answer to a row with its annotators, the most frequent answer first."""
    given: dict[str, list[str]] = {}
    for annotator, labels in answers.of_row(row).items():
        given.setdefault(" or ".join(map(str, labels)), []).append(str(annotator))
    frequent = sorted(given.items(), key=lambda item: (-len(item[1]), item[0]))
    return "; ".join(f"{answer}: {enumerate_items(names, MAX_NAMED, conjunction=False)}" for answer, names in frequent)


def to_dict(summary: "AnnotatorSummary", crowd: "CrowdClassifier") -> dict[str, Any]:
    """Return the summary in the types of JSON."""
    by_class, pairs = summary.by_class, summary.pairs
    cells = zip(by_class.n_answers, by_class.accuracy, by_class.interval, by_class.differs, strict=True)
    keys = ("class", "answers", "accuracy", "interval", "differs")
    classes = [
        [dict(zip(keys, cell, strict=True)) for cell in zip(by_class.classes, *(part.tolist() for part in row))]
        for row in cells
    ]
    lines = zip(summary.names, summary.n_answers, summary.accuracy, summary.interval.tolist(), classes, strict=True)
    names = ("annotator", "answers", "accuracy", "interval", "by_class")
    content = {
        "annotators": [dict(zip(names, line, strict=True)) for line in lines],
        "coverage": summary.coverage,
        "copies": summary.copies,
        "no_better_than_chance": summary.no_better_than_chance,
        "few_answers": summary.few_answers,
        "notes": summary.notes,
        "rules": crowd.annotator_model_.are_rules_,
        "pairs": [
            {
                "annotators": [str(pairs.first[i]), str(pairs.second[i])],
                "rows": pairs.n_shared[i],
                "agreement": pairs.agreement[i],
                "kappa": pairs.kappa[i],
            }
            for i in summary.least_agreeing_pairs(_MAX_JSON_PAIRS)
        ],
        "alpha": summary.alpha,
        "masi_alpha": summary.masi_alpha,
        "disputed_rows": [row._asdict() for row in summary.disputed],
        "rounds": crowd.n_iter_,
        "classifier_power": crowd.classifier_power_,
        "answer_power": crowd.answer_power_,
    }
    return dict(terminal.to_builtin(content))


def write_annotators(path: Path, summary: "AnnotatorSummary") -> None:
    """Write a line for each annotator; those who may be copies have the names of the others."""
    import polars as pl

    columns = {
        "annotator": summary.names,
        "answers": summary.n_answers,
        "accuracy": summary.accuracy,
        "lower": summary.interval[:, 0],
        "upper": summary.interval[:, 1],
        "no_better_than_chance": [name in summary.no_better_than_chance for name in summary.names],
        "few_answers": [name in summary.few_answers for name in summary.names],
        "differs_in": [
            "|".join(map(str, summary.by_class.classes[differs].tolist())) for differs in summary.by_class.differs
        ],
        "may_copy": ["|".join(summary.copies_of(name)) for name in summary.names],
    }
    pl.DataFrame(columns, nan_to_null=True).write_csv(path)


def print_annotators(summary: "AnnotatorSummary") -> None:
    """Print the tables of the report: accuracies, also by class, agreement, and the most disputed rows."""
    from oneof.report.annotators import annotator_rows, class_table, pair_rows

    percent, table = terminal.format_percent, terminal.print_table

    def interval(row: Any) -> str:
        return "-" if math.isnan(row.low) else f"{percent(row.low)} to {percent(row.high)}"

    rows, n = annotator_rows(summary), len(summary.names)
    title = "Annotators" if len(rows) == n else f"{len(rows)} of {n:,} annotators, of the lowest and highest accuracy"
    lines = [[row.name, f"{row.n_answers:,}", percent(row.accuracy), interval(row), row.remark] for row in rows]
    table(title, ["annotator", "answers", "accuracy", f"{100 * summary.coverage:.0f} % interval", "note"], lines)
    for note in summary.notes:
        if note != rules_note():  # which is printed when the answers are read
            terminal.print_line(note)
    if by_class := class_table(summary, _MAX_PRINTED_CLASSES):
        part = f"{len(by_class['classes'])} of {by_class['n_classes']:,} classes"
        lines = [
            [
                name,
                *(f"{100 * c.accuracy:.0f}{'*' * c.differs} ({100 * c.low:.0f} to {100 * c.high:.0f})" for c in cells),
            ]
            for name, cells in by_class["rows"]
        ]
        title = f"Accuracy by class in %, {part}; * differs from the other classes"
        table(title, ["annotator", *by_class["classes"]], lines)
    terminal.print_line(f"Agreement of the annotators: {summary.agreement}")
    if pairs := pair_rows(summary):
        lines = [
            [
                f"{pair.first} and {pair.second}",
                f"{pair.n_shared:,}",
                percent(pair.agreement),
                f"{pair.kappa:.2f}".replace("nan", "-"),
            ]
            for pair in pairs
        ]
        title = f"Agreement of {len(pairs)} of {len(summary.pairs.kappa):,} pairs, of the lowest kappa"
        table(title, ["annotators", "common rows", "agreement", "Cohen's kappa"], lines)
    if summary.disputed:
        lines = [
            [row.name, row.label, row.runner_up, row.answers, percent(row.disagreement)] for row in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers", "pairs that differ"]
        table("Rows with the least certain labels", columns, lines, text_columns=4)
