"""Labels by answers of annotators, the fit of `oneof fit`, and the description of the annotators."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.answers.files import TableAnswers
from oneof.cli.output import terminal
from oneof.messages import MAX_NAMED

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.comparison import Comparison
    from oneof.crowd import Answers, CrowdClassifier
    from oneof.report import AnnotatorSummary
    from oneof.typing import Floats

ANNOTATORS_FILE = "annotators.csv"
WEIGHTS_NOTE = (
    "the labels are weights by the answers alone, with accuracies of the annotators estimated from all answers: the "
    "rates are approximate. `oneof fit` fits the annotators and a method in turn."
)
"""Note of the commands that do not fit the annotators and a method in turn."""
_MAX_PRINTED = 20
"""Number of annotators that the command prints; `ANNOTATORS_FILE` has all."""
_MAX_PRINTED_CLASSES, _MAX_PRINTED_PAIRS, _MAX_JSON_PAIRS = 5, 10, 1000


def estimate_candidates(given: TableAnswers) -> "CandidateSets":
    """Return the likelihood of the answers to each row, from the answers alone."""
    from oneof.crowd import AnnotatorModel

    return AnnotatorModel().fit(given.answers, given.gold).candidates_


def fit_crowd(estimator: Any, frame: Any, given: TableAnswers, seed: int, progress: Any) -> "CrowdClassifier":
    """Fit the annotators and a classifier in turn."""
    from oneof.crowd import CrowdClassifier

    return CrowdClassifier(estimator, random_state=seed).fit(frame, given.answers, given.gold, progress=progress)


def held_out_labels(
    crowd: "CrowdClassifier",
    comparison: "Comparison",
    frame: Any,
    candidates: "CandidateSets",
    folds: Any,
) -> "tuple[Floats | None, Floats | None]":
    """Return the labels that calibrate the sets of the classifier (`calibration_labels`); None without probabilities.

    The prior is the held-out predictions of the comparison, which was fitted to the answers alone.
    """
    from oneof.crowd.learners import calibration_labels

    prior, rows = comparison.results[0].probabilities, comparison.held_out_rows
    if prior is None or rows is None:
        return None, None
    return calibration_labels(crowd, frame, candidates, prior, rows, folds)


def summarize_annotators(crowd: "CrowdClassifier", given: TableAnswers) -> "AnnotatorSummary":
    """Return the accuracies of the annotators, their agreement, and the most disputed rows."""
    from oneof.crowd import krippendorff_alpha, pairwise_agreement
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
        notes=model.notes_,
        by_class=model.class_accuracies(),
        pairs=pairwise_agreement(given.answers, "masi" if given.answers.has_sets else "nominal"),
        alpha=krippendorff_alpha(given.answers),
        masi_alpha=krippendorff_alpha(given.answers, "masi") if given.answers.has_sets else None,
        disputed=[
            DisputedRow(
                int(row),
                given.row_names[int(row)],
                str(label),
                str(other),
                float(disagreement),
                describe_answers(given.answers, int(row)),
            )
            for row, label, other, disagreement in zip(
                disputed.rows, disputed.labels, disputed.runner_up, disputed.disagreement, strict=True
            )
        ],
    )


def describe_answers(answers: "Answers", row: int) -> str:
    """Return each answer to a row with its annotators, the most frequent answer first."""
    given: dict[str, list[str]] = {}
    for annotator, labels in answers.of_row(row).items():
        given.setdefault(" or ".join(map(str, labels)), []).append(str(annotator))
    listed = []
    for answer, annotators in sorted(given.items(), key=lambda item: (-len(item[1]), item[0])):
        hidden = len(annotators) - MAX_NAMED
        more = [f"{hidden:,} more"] if hidden > 0 else []
        listed.append(f"{answer}: {', '.join([*annotators[:MAX_NAMED], *more])}")
    return "; ".join(listed)


def to_dict(summary: "AnnotatorSummary", crowd: "CrowdClassifier") -> dict[str, Any]:
    """Return the summary in the types of JSON."""
    return {
        "annotators": [
            {
                "annotator": name,
                "answers": int(n),
                "accuracy": _or_none(float(rate)),
                "interval": [_or_none(float(low)), _or_none(float(high))],
                "by_class": _classes_of(summary, j),
            }
            for j, (name, n, rate, (low, high)) in enumerate(
                zip(summary.names, summary.n_answers, summary.accuracy, summary.interval, strict=True)
            )
        ],
        "coverage": summary.coverage,
        "copies": [list(group) for group in summary.copies],
        "no_better_than_chance": list(summary.no_better_than_chance),
        "few_answers": list(summary.few_answers),
        "notes": list(summary.notes),
        "rules": crowd.annotator_model_.are_rules_,
        "pairs": [_pair_of(summary, i) for i in summary.least_agreeing_pairs(_MAX_JSON_PAIRS)],
        "alpha": _or_none(summary.alpha),
        "masi_alpha": _or_none(summary.masi_alpha),
        "disputed_rows": [row._asdict() for row in summary.disputed],
        "rounds": crowd.n_iter_,
        "classifier_power": float(crowd.classifier_power_),
        "answer_power": float(crowd.answer_power_),
    }


def _classes_of(summary: "AnnotatorSummary", j: int) -> list[dict[str, Any]]:
    """Return the accuracies of annotator j by class."""
    by_class = summary.by_class
    return [
        {
            "class": label,
            "answers": float(by_class.n_answers[j, k]),
            "accuracy": float(by_class.accuracy[j, k]),
            "interval": by_class.interval[j, k].tolist(),
            "differs": bool(by_class.differs[j, k]),
        }
        for k, label in enumerate(by_class.classes.tolist())
    ]


def _pair_of(summary: "AnnotatorSummary", i: int) -> dict[str, Any]:
    """Return the agreement of a pair of annotators."""
    pairs = summary.pairs
    return {
        "annotators": [str(pairs.first[i]), str(pairs.second[i])],
        "rows": int(pairs.n_shared[i]),
        "agreement": float(pairs.agreement[i]),
        "kappa": _or_none(float(pairs.kappa[i])),
    }


def _or_none(value: float | None) -> float | None:
    """Return None for NaN, which JSON does not have."""
    return None if value is None or math.isnan(value) else value


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
    """Print the annotators of the lowest accuracy, the agreement, and the most disputed rows."""
    from oneof.crowd.annotator_model import RULES_NOTE

    n = len(summary.names)
    title = "Annotators" if n <= _MAX_PRINTED else f"{_MAX_PRINTED} of {n:,} annotators, of the lowest accuracy"
    rows = [
        [
            summary.names[j],
            f"{summary.n_answers[j]:,}",
            terminal.format_percent(summary.accuracy[j]),
            "-" if math.isnan(summary.accuracy[j]) else " to ".join(map(terminal.format_percent, summary.interval[j])),
            summary.remark(j),
        ]
        for j in summary.order[:_MAX_PRINTED]
    ]
    interval = f"{summary.coverage:.0%} interval".replace("%", " %")
    terminal.print_table(title, ["annotator", "answers", "accuracy", interval, "note"], rows)
    for note in summary.notes:
        if note != RULES_NOTE:  # which is printed when the answers are read
            terminal.print_line(note)
    _print_classes(summary)
    terminal.print_line(f"Agreement of the annotators: {summary.agreement}")
    _print_pairs(summary)
    if summary.disputed:
        lines = [
            [row.name, row.label, row.runner_up, row.answers, terminal.format_percent(row.disagreement)]
            for row in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers", "pairs that differ"]
        terminal.print_table("Rows with the least certain labels", columns, lines, text_columns=4)


def _print_classes(summary: "AnnotatorSummary") -> None:
    """Print the accuracies by class of annotators who differ between classes."""
    by_class = summary.by_class
    differing = [j for j in summary.order if by_class.differs[j].any()]
    if not differing:
        return
    classes, n_classes = summary.shown_classes(_MAX_PRINTED_CLASSES), len(by_class.classes)
    rows = []
    for j in differing[:_MAX_PRINTED]:
        cells = []
        for k in classes:
            low, high = by_class.interval[j, k]
            star = "*" * bool(by_class.differs[j, k])
            cells.append(f"{100 * by_class.accuracy[j, k]:.0f}{star} ({100 * low:.0f} to {100 * high:.0f})")
        rows.append([summary.names[j], *cells])
    part = "" if len(classes) == n_classes else f", {len(classes)} of {n_classes:,} classes"
    columns = ["annotator", *(str(by_class.classes[k]) for k in classes)]
    terminal.print_table(f"Accuracy by class in %{part}; * differs from the other classes", columns, rows)


def _print_pairs(summary: "AnnotatorSummary") -> None:
    """Print the pairs of annotators of the lowest kappa."""
    pairs = summary.pairs
    shown = summary.least_agreeing_pairs(_MAX_PRINTED_PAIRS)
    if not shown:
        return
    rows = [
        [
            f"{pairs.first[i]} and {pairs.second[i]}",
            f"{pairs.n_shared[i]:,}",
            terminal.format_percent(pairs.agreement[i]),
            "-" if math.isnan(pairs.kappa[i]) else f"{pairs.kappa[i]:.2f}",
        ]
        for i in shown
    ]
    n = len(pairs.kappa)
    title = "Agreement of each pair" if len(shown) == n else f"{len(shown)} of {n:,} pairs, of the lowest kappa"
    terminal.print_table(title, ["annotators", "common rows", "agreement", "Cohen's kappa"], rows)
