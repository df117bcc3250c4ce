"""Answers of annotators for `oneof fit`: their file, the fit, and the description of the annotators."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli import terminal

if TYPE_CHECKING:
    from oneof.candidates import CandidateSets
    from oneof.crowd import Answers, CrowdClassifier
    from oneof.io import Table
    from oneof.report import AnnotatorSummary

OUTPUT = "annotators.csv"
_MAX_PRINTED = 20
"""Number of annotators that the command prints; `OUTPUT` has all."""
_MAX_NAMED = 3
"""Number of annotators that are named with an answer to a disputed row."""


@dataclass(frozen=True)
class AnswerOptions:
    """The file of the answers, and the names of its columns.

    Attributes
    ----------
    path : Path
        A table with a record for each answer, or an export of Label Studio or doccano.
    row : str
        The column of the names of the rows, in this file and in the table; in an export, the field of the data.
    annotator, answer : str or None
        Columns of this file, by default "annotator" and "answer". An export has no column of annotators, and its
        `answer` is the tag of the choices, by default the only one.
    gold : str or None
        The column of known labels, in the table.
    """

    path: Path
    row: str = "row"
    annotator: str | None = None
    answer: str | None = None
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
    from oneof.errors import DataError, InputError
    from oneof.io.formats.annotations import is_export

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
    if is_export(options.path):
        records = _read_export(options, classes)
    else:
        records = _read_records(options, separator, classes)
    for name, annotator, location in zip(records.rows, records.annotators, records.locations, strict=True):
        if name not in position:
            raise DataError(
                f"the answer of {annotator!r} is about the row {name!r}, which {table.path} does not have. Correct the "
                "name, or remove the answer.",
                source=location,
            )
    try:
        answers = Answers.from_records(
            records.rows, records.annotators, records.answers, classes=records.classes, index=row_names
        )
    except InputError as error:
        raise _locate(error, records, options.path) from None
    answers.rows = np.arange(len(row_names))  # the rows of the features
    notes = list(records.notes)
    repeated = sum(answer is not None for answer in records.answers) - answers.n_answers
    if repeated:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    gold = None if options.gold is None else _read_gold(table, options.gold, answers.classes)
    return TableAnswers(answers, row_names, gold, tuple(notes), records.separator)


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


@dataclass(frozen=True)
class _Records:
    """The records of a file: a row, an annotator, an answer or None, and a location for each; classes and notes.

    The separator is the text between two labels of an answer.
    """

    rows: list[str]
    annotators: list[str]
    answers: list[Any]
    locations: list[str]
    classes: Any
    separator: str
    notes: tuple[str, ...] = ()


def _read_records(options: AnswerOptions, separator: str | None, classes: tuple[str, ...] | None) -> _Records:
    """Read a table of answers."""
    from oneof.io import find_column, find_separator, read_labels, read_table
    from oneof.io.formats.annotations import describe_omitted

    annotator, answer = options.annotator or "annotator", options.answer or "answer"
    records = read_table(options.path, labels=(options.row, annotator, answer))
    rows, annotators = _read_names(records, options.row, "row"), _read_names(records, annotator, "annotator")
    find_column(answer, records.frame.columns, options.path)
    separator = separator or find_separator(records, [answer], classes=classes)
    labels = read_labels(records, [answer], separator=separator, classes=classes)
    answers = _list_answers(labels)
    active = {name for name, given in zip(annotators, answers, strict=True) if given is not None}
    omitted = [name for name in dict.fromkeys(annotators) if name not in active]
    kept = [i for i, name in enumerate(annotators) if name in active]
    return _Records(
        [rows[i] for i in kept],
        [annotators[i] for i in kept],
        [answers[i] for i in kept],
        [f"{options.path}, row {i}" for i in kept],
        labels.classes,
        separator,
        (describe_omitted(omitted),) if omitted else (),
    )


def _read_export(options: AnswerOptions, classes: tuple[str, ...] | None) -> _Records:
    """Read an export of Label Studio or doccano."""
    from oneof.candidates.columns import DEFAULT_SEPARATOR
    from oneof.crowd.encoding import list_labels
    from oneof.errors import DataError, InputError
    from oneof.io.formats.annotations import describe_omitted, drop_empty, read_export

    if options.annotator is not None:
        raise InputError(
            f"--annotator has no use with the export {options.path}, which names its annotators. Remove it."
        )
    given, omitted = drop_empty(read_export(options.path, item=options.row, choice=options.answer))
    if not given:
        raise DataError("the export has no answers.", source=str(options.path))
    rows, annotators, labels, locations = zip(*given, strict=True)
    notes = (describe_omitted(omitted),) if omitted else ()
    names = sorted({label for one in labels for label in one}) if classes is None else list(classes)
    return _Records(
        list(map(str, rows)), list(annotators), list_labels(labels), list(locations), names, DEFAULT_SEPARATOR, notes
    )


def _locate(error: Any, records: _Records, path: Path) -> Any:
    """Return an error of `Answers` with the location of its record."""
    if error.row is None:
        return error.at(path)
    located = error.at(records.locations[error.row])
    located.row = None
    return located.because(located.reason)


def _read_names(table: "Table", column: str, kind: str) -> list[str]:
    """Return a column of names as text."""
    from oneof.errors import DataError
    from oneof.io import find_column

    cells = table.frame[find_column(column, table.frame.columns, table.path)].to_list()
    for i, cell in enumerate(cells):
        if cell is None or not str(cell).strip():
            raise DataError(f"column {column!r} is empty. Name the {kind}.", source=str(table.path), row=i)
    return [str(cell) for cell in cells]


def _list_answers(labels: "CandidateSets") -> list[Any]:
    """Return a label or a list of labels for each record, None if it is missing."""
    import numpy as np

    listed: list[Any] = [None] * len(labels)
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


def fit_crowd(estimator: Any, frame: Any, given: TableAnswers, seed: int, progress: Any) -> "CrowdClassifier":
    """Fit the annotators and a classifier in turn."""
    from oneof.crowd import CrowdClassifier

    return CrowdClassifier(estimator, random_state=seed).fit(frame, given.answers, given.gold, progress=progress)


def summarize_annotators(crowd: "CrowdClassifier", given: TableAnswers) -> "AnnotatorSummary":
    """Return the accuracies of the annotators, their agreement, and the most disputed rows."""
    from oneof.crowd import krippendorff_alpha
    from oneof.report import AnnotatorSummary, DisputedRow

    model = crowd.annotator_model_
    disputed = model.disputed_rows(10)
    return AnnotatorSummary(
        names=[str(name) for name in model.annotators_.tolist()],
        n_answers=model.n_answers_,
        accuracy=model.accuracy_,
        interval=model.accuracy_interval_,
        coverage=float(model.coverage),
        copies=[[str(name) for name in group] for group in model.copies_],
        copies_note=_describe_copies(model),
        no_better_than_chance=[str(name) for name in model.no_better_than_chance_],
        alpha=krippendorff_alpha(given.answers),
        masi_alpha=krippendorff_alpha(given.answers, "masi") if given.answers.has_sets else None,
        disputed=[
            DisputedRow(
                int(row),
                given.row_names[int(row)],
                str(label),
                str(other),
                float(disagreement),
                _describe_answers(given.answers, int(row)),
            )
            for row, label, other, disagreement in zip(
                disputed.rows, disputed.labels, disputed.runner_up, disputed.disagreement, strict=True
            )
        ],
    )


def _describe_copies(model: Any) -> str:
    """Return a note on copies among few annotators, empty if there are enough annotators, or one."""
    from oneof.solvers.annotators.copies import MIN_SOURCES

    if not 2 <= len(model.annotators_) < MIN_SOURCES:
        return ""
    note = f"With fewer than {MIN_SOURCES} annotators, copies are seldom found."
    if model.closest_pair_ is None:
        return note
    first, second = model.closest_pair_
    return (
        f"{note} {first} and {second} agree far more often than every other pair: compare their answers. If one copies "
        "the other, remove the answers of one."
    )


def _describe_answers(answers: "Answers", row: int) -> str:
    """Return each answer to a row with its annotators, the most frequent answer first."""
    given: dict[str, list[str]] = {}
    for annotator, labels in answers.of_row(row).items():
        given.setdefault(" or ".join(map(str, labels)), []).append(str(annotator))
    listed = []
    for answer, annotators in sorted(given.items(), key=lambda item: (-len(item[1]), item[0])):
        hidden = len(annotators) - _MAX_NAMED
        more = [f"{hidden:,} more"] if hidden > 0 else []
        listed.append(f"{answer}: {', '.join([*annotators[:_MAX_NAMED], *more])}")
    return "; ".join(listed)


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
        "copies_note": summary.copies_note,
        "no_better_than_chance": list(summary.no_better_than_chance),
        "alpha": _or_none(summary.alpha),
        "masi_alpha": _or_none(summary.masi_alpha),
        "disputed_rows": [row._asdict() for row in summary.disputed],
        "rounds": crowd.n_iter_,
        "classifier_power": float(crowd.classifier_power_),
        "answer_power": float(crowd.answer_power_),
    }


def _or_none(value: float | None) -> float | None:
    """Return None for NaN, which JSON does not have."""
    return None if value is None or math.isnan(value) else value


def write_annotators(path: Path, summary: "AnnotatorSummary") -> None:
    """Write a line for each annotator; copies of one another have the number of their group."""
    import polars as pl

    group = {name: number for number, names in enumerate(summary.copies, 1) for name in names}
    columns = {
        "annotator": summary.names,
        "answers": summary.n_answers,
        "accuracy": summary.accuracy,
        "lower": summary.interval[:, 0],
        "upper": summary.interval[:, 1],
        "no_better_than_chance": [name in summary.no_better_than_chance for name in summary.names],
        "copies_group": pl.Series([group.get(name) for name in summary.names], dtype=pl.Int64),
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
    if summary.copies_note:
        terminal.print_line(summary.copies_note)
    if summary.disputed:
        lines = [
            [row.name, row.label, row.runner_up, row.answers, terminal.format_percent(row.disagreement)]
            for row in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers", "pairs that differ"]
        terminal.print_table("Rows with the least certain labels", columns, lines, text_columns=4)
