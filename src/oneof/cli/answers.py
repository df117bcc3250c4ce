"""Answers of annotators for `oneof fit`: their file, the fit, and the description of the annotators."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli import terminal

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.cli.inputs import PreparedTable
    from oneof.crowd import Answers, CrowdClassifier
    from oneof.io import Table
    from oneof.report import AnnotatorSummary

OUTPUT = "annotators.csv"
_MAX_PRINTED = 20
"""Number of annotators that the command prints; `OUTPUT` has all."""


@dataclass(frozen=True)
class AnswerOptions:
    """The file of the answers, one record for each, and the names of its columns.

    Attributes
    ----------
    path : Path
    row : str
        The column of the names of the rows, in this file and in the table.
    annotator, answer : str
        Columns of this file.
    gold : str or None
        The column of known labels, in the table.
    """

    path: Path
    row: str = "row"
    annotator: str = "annotator"
    answer: str = "answer"
    gold: str | None = None


@dataclass(frozen=True)
class TableAnswers:
    """Answers about the rows of a table, which are numbered; their names; and the known labels, None if not known.

    The separator is the text between two labels of an answer.
    """

    answers: "Answers"
    row_names: list[str]
    gold: list[Any] | None
    notes: tuple[str, ...]
    separator: str


def read_answers(
    options: AnswerOptions, table: "Table", *, separator: str | None, classes: tuple[str, ...] | None
) -> TableAnswers:
    """Read the answers about the rows of a table; defects raise errors of `oneof.errors`."""
    import numpy as np

    from oneof.crowd import Answers
    from oneof.errors import DataError
    from oneof.io import find_column, find_separator, read_labels, read_table

    if options.path.suffix.lower() == ".npz":
        return _read_archive(options, table)
    row_names = _read_names(table, options.row, "row")
    position: dict[str, int] = {}
    for i, name in enumerate(row_names):
        if position.setdefault(name, i) < i:
            raise DataError(
                f"column {options.row!r} contains {name!r} twice. Name each row of the table differently.",
                source=str(table.path),
                row=i,
            )
    columns = (options.row, options.annotator, options.answer)
    records = read_table(options.path, verbatim=columns)
    names, annotators = (
        _read_names(records, column, kind) for column, kind in zip(columns, ("row", "annotator"), strict=False)
    )
    for i, name in enumerate(names):
        if name not in position:
            raise DataError(
                f"the answer is about the row {name!r}, which {table.path} does not have. Correct the name, or remove "
                "the answer.",
                source=str(options.path),
                row=i,
            )
    find_column(options.answer, records.frame.columns, options.path)
    separator = separator or find_separator(records, [options.answer], classes=classes)
    labels = read_labels(records, [options.answer], separator=separator, classes=classes)
    rows = np.array([position[name] for name in names])
    answers = Answers.from_records(
        rows, annotators, _list_answers(labels), classes=labels.classes, index=np.arange(len(row_names))
    )
    repeated = sum(number - 1 for number in Counter(zip(names, annotators, strict=True)).values())
    notes = [
        f"{repeated:,} answer{'s repeat' if repeated > 1 else ' repeats'} an annotator and row; each counts as an "
        "independent answer."
    ] * (repeated > 0)
    gold = None if options.gold is None else _read_gold(table, options.gold, labels.classes)
    return TableAnswers(answers, row_names, gold, tuple(notes), separator)


def _read_archive(options: AnswerOptions, table: "Table") -> TableAnswers:
    """Read the answers of a NumPy archive; row i has the answers about row i of the table."""
    import numpy as np

    from oneof.candidates.columns import DEFAULT_SEPARATOR
    from oneof.crowd import Answers
    from oneof.errors import DataError
    from oneof.io import read_answers_npz

    given = read_answers_npz(options.path)
    n_rows = table.frame.height if table.rows is None else table.rows.shape[0]
    if len(given.codes) > n_rows:
        raise DataError(
            f"{options.path} has answers about {len(given.codes):,} rows; {table.path} has {n_rows:,}. Give the table "
            "that the annotators labeled."
        )
    rows, annotators = np.nonzero(given.codes >= 0)
    answers = Answers.from_records(
        rows,
        np.asarray(given.annotators)[annotators],
        given.classes[given.codes[rows, annotators]],
        classes=given.classes,
        index=np.arange(n_rows),
    )
    gold = None if options.gold is None else _read_gold(table, options.gold, given.classes)
    silent = len(given.annotators) - len(answers.annotators)
    notes = (f"{silent:,} annotator{'s have' if silent > 1 else ' has'} no answer.",) if silent else ()
    return TableAnswers(answers, [str(row) for row in range(n_rows)], gold, notes, DEFAULT_SEPARATOR)


def _read_names(table: "Table", column: str, kind: str) -> list[str]:
    """Return a column of names as text."""
    from oneof.errors import DataError
    from oneof.io import find_column

    cells = table.frame[find_column(column, table.frame.columns, table.path)].to_list()
    for i, cell in enumerate(cells):
        if cell is None or not str(cell).strip():
            raise DataError(f"column {column!r} is empty. Name the {kind}.", source=str(table.path), row=i)
    return [str(cell) for cell in cells]


def _list_answers(labels: "CandidateSets") -> Any:
    """Return a label or a list of labels for each record, None if it is missing."""
    import numpy as np

    listed = np.full(len(labels), None, dtype=object)
    names = labels.classes.tolist()
    missing = labels.is_unlabeled
    for i in np.flatnonzero(~missing):
        members = [names[k] for k in np.flatnonzero(labels.mask[i])]
        listed[i] = members[0] if len(members) == 1 else members
    return listed


def _read_gold(table: "Table", column: str, classes: Any) -> list[Any]:
    """Return the known labels of the rows, None if they are not known."""
    from oneof.candidates.columns import match_true_labels
    from oneof.errors import DataError
    from oneof.io import find_column

    cells = table.frame[find_column(column, table.frame.columns, table.path)].to_list()
    gold, error = match_true_labels(cells, classes)
    if error is not None:
        raise DataError(
            f"column {column!r} of known labels contains {error.label!r}, which is not a class of the answers. Correct "
            "it, or name all classes by --classes.",
            source=str(table.path),
            row=error.row,
        )
    if all(label is None for label in gold):
        raise DataError(f"column {column!r} of known labels is empty. Remove --gold.", source=str(table.path))
    return list(gold)


def estimate_candidates(given: TableAnswers) -> "CandidateSets":
    """Return the likelihood of the answers to each row, from the answers alone."""
    from oneof.crowd import AnnotatorModel

    return AnnotatorModel().fit(given.answers, given.gold).candidates_


def fit_crowd(estimator: Any, prepared: "PreparedTable", seed: int) -> "CrowdClassifier":
    """Fit the annotators and a classifier in turn."""
    from oneof.crowd import CrowdClassifier

    given = prepared.answers
    assert given is not None
    return CrowdClassifier(estimator, random_state=seed).fit(prepared.frame, given.answers, given.gold)


def summarize_annotators(crowd: "CrowdClassifier", given: TableAnswers) -> "AnnotatorSummary":
    """Return the accuracies of the annotators, their agreement, and the most disputed rows."""
    from oneof.crowd import krippendorff_alpha
    from oneof.report import AnnotatorSummary, DisputedRow

    model = crowd.annotator_model_
    disputed = model.disputed_rows(10)
    has_sets = bool((given.answers._sets.sum(axis=1) > 1).any())
    return AnnotatorSummary(
        names=[str(name) for name in model.annotators_.tolist()],
        n_answers=model.n_answers_,
        accuracy=model.accuracy_,
        interval=model.accuracy_interval_,
        coverage=float(model.coverage),
        copies=[[str(name) for name in group] for group in model.copies_],
        no_better_than_chance=[str(name) for name in model.no_better_than_chance_],
        alpha=krippendorff_alpha(given.answers, "masi" if has_sets else "nominal"),
        distance="masi" if has_sets else "nominal",
        disputed=[
            DisputedRow(int(row), given.row_names[int(row)], str(label), str(other), float(disagreement))
            for row, label, other, disagreement in zip(
                disputed.rows, disputed.labels, disputed.runner_up, disputed.disagreement, strict=True
            )
        ],
    )


def to_dict(summary: "AnnotatorSummary", crowd: "CrowdClassifier") -> dict[str, Any]:
    """Return the summary in the types of JSON."""
    return {
        "annotators": [
            {"annotator": name, "answers": int(n), "accuracy": float(rate), "interval": [float(low), float(high)]}
            for name, n, rate, (low, high) in zip(
                summary.names, summary.n_answers, summary.accuracy, summary.interval, strict=True
            )
        ],
        "coverage": summary.coverage,
        "copies": [list(group) for group in summary.copies],
        "no_better_than_chance": list(summary.no_better_than_chance),
        "alpha": summary.alpha if summary.alpha == summary.alpha else None,
        "distance": summary.distance,
        "disputed_rows": [row._asdict() for row in summary.disputed],
        "rounds": crowd.n_iter_,
        "classifier_power": float(crowd.classifier_power_),
        "answer_power": float(crowd.answer_power_),
    }


def write_annotators(path: Path, summary: "AnnotatorSummary") -> None:
    """Write a line for each annotator."""
    import polars as pl

    columns = {
        "annotator": summary.names,
        "answers": summary.n_answers,
        "accuracy": summary.accuracy,
        "lower": summary.interval[:, 0],
        "upper": summary.interval[:, 1],
    }
    pl.DataFrame(columns).write_csv(path)


def print_annotators(summary: "AnnotatorSummary") -> None:
    """Print the annotators of the lowest accuracy, the agreement, and the most disputed rows."""
    n = len(summary.names)
    title = "Annotators" if n <= _MAX_PRINTED else f"{_MAX_PRINTED} of {n:,} annotators, of the lowest accuracy"
    rows = [
        [
            summary.names[j],
            f"{summary.n_answers[j]:,}",
            terminal.format_percent(summary.accuracy[j]),
            " to ".join(map(terminal.format_percent, summary.interval[j])),
            summary.remark(j),
        ]
        for j in summary.order[:_MAX_PRINTED]
    ]
    interval = f"{summary.coverage:.0%} interval".replace("%", " %")
    terminal.print_table(title, ["annotator", "answers", "accuracy", interval, "note"], rows)
    terminal.print_line(f"Agreement of the annotators: {summary.agreement}")
    for group in summary.copies:
        terminal.print_line(f"Copies of one another, counted as one: {', '.join(group)}.")
    if summary.disputed:
        lines = [
            [row.name, row.label, row.runner_up, terminal.format_percent(row.disagreement)] for row in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers that differ"]
        terminal.print_table("Rows with the least certain labels", columns, lines, text_columns=3)
