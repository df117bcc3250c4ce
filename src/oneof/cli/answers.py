"""Answers of annotators about the rows of a table: their file, joined by the names of rows, and their accuracies."""

import difflib
import math
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from oneof.cli import terminal
from oneof.crowd import Answers, CrowdClassifier, krippendorff_alpha, pairwise_agreement
from oneof.crowd.annotator_model import RULES, RULES_NOTE
from oneof.crowd.answers import answers_of_file
from oneof.errors import DataError, InputError
from oneof.io import Table, UnreadableCells, read_checked_labels
from oneof.io.answers import (
    ROW,
    Answer,
    AnswerFile,
    AnswerOptions,
    find_row_column,
    name_rows,
    parse_answers,
    read_answer_file,
)
from oneof.messages import MAX_NAMED, enumerate_items, write_names
from oneof.report import AnnotatorSummary, DisputedRow
from oneof.report.annotators import annotator_rows

WEIGHTS_NOTE = (
    "the labels are weights by the answers alone, with accuracies of the annotators estimated from all answers: the "
    "rates are approximate. `oneof fit` fits the annotators and a method in turn."
)
"""Note of the commands that do not fit the annotators and a method in turn."""
RULES_REMEDY = f"{RULES}add --rules no. If people are among them, leave out the rules (--exclude-annotator)."
"""Note that sources are read as rules, with the option of the other reading."""
_MAX_JSON_PAIRS = 1000
MAX_LISTED = 10
"""Maximum number of annotators or columns that an error lists."""


@dataclass(frozen=True)
class TableAnswers:
    """Answers about the rows of a table, which are numbered.

    Attributes
    ----------
    answers : Answers
    row_names : list of str
    gold : list or None
        The checked label of each row, None if it has none; None without a column of checked labels.
    notes : tuple of str
    separator : str
        The text between two labels of an answer.
    row_column : str
        The column of the names of the rows in the table, empty if they are numbered.
    records : list of Answer
        The answers as they are in the file.
    columns : frozenset of str
        The columns of the table with the answers, if it is itself the file of answers; they are not features.
    """

    answers: Answers
    row_names: list[str]
    gold: list[Any] | None
    notes: tuple[str, ...]
    separator: str
    row_column: str
    records: list[Answer]
    columns: frozenset[str] = frozenset()


def read_answers(
    options: AnswerOptions,
    table: Table,
    *,
    separator: str | None,
    classes: tuple[str, ...] | None,
    gold: str | None = None,
    unreadable: UnreadableCells | None = None,
) -> TableAnswers:
    """Read the answers about the rows of a table, with the checked labels of a column `gold` of it.

    Defects raise errors of `oneof.errors`. `unreadable` counts the answers that cannot be read and are missing; see
    `oneof.io.read_labels`.
    """
    file, row_names, column = _read_joined(options, table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse_answers(file, table.cell_format, separator=separator, classes=classes, unreadable=unreadable)
        answers = answers_of_file(parsed, index=row_names, select_rows=options.select_rows)
    answers.rows = np.arange(len(row_names))  # the rows of the features
    notes = [*parsed.notes, *(str(warning.message) for warning in caught)]
    notes += [RULES_REMEDY] if options.rules == "auto" and answers.are_rules else []
    if repeated := int((parsed.code >= 0).sum()) - answers.n_answers:
        notes.append(f"{repeated:,} repeated answers (of equal row, annotator and label) count once.")
    known = None if gold is None else read_checked_labels(table, gold, answers.classes, separator=parsed.separator)[0]
    is_in_table = options.path.resolve() == Path(table.path).resolve()
    columns = frozenset(one.column for one in file.answers if is_in_table and one.column is not None)
    return TableAnswers(answers, row_names, known, tuple(notes), parsed.separator, column or "", file.answers, columns)


def join_candidates(options: AnswerOptions, table: Table) -> tuple[Table, list[str]]:
    """Return a table with columns of candidates and of their confidences, and notes.

    The file has a line for each candidate of a row, as lists of candidates of a classifier or an aligner do.
    """
    file, row_names, _ = _read_joined(options, table)
    lists: dict[str, list[tuple[str, str | None]]] = {name: [] for name in row_names}
    for one in file.answers:
        cells = [one.cell] if isinstance(one.cell, str) else one.cell or []
        if len(cells) > 1:
            raise DataError(
                f"{one.cell!r} are several candidates, and their line has one confidence. Write a line for each.",
                source=one.place,
            )
        lists[str(one.row)] += [(cell, None if one.weight is None else str(one.weight)) for cell in cells if cell]
    columns = [
        pl.Series(name, [[pair[k] for pair in pairs] or None for pairs in lists.values()], dtype=pl.List(pl.String))
        for k, name in enumerate(options.candidate_columns or ())
    ]
    return replace(table, frame=table.frame.with_columns(columns)), [*file.notes]


def _read_joined(options: AnswerOptions, table: Table) -> tuple[AnswerFile, list[str], str | None]:
    """Return the answers about rows of a table, the names of its rows, and the column that has them.

    The file is without the answers of excluded annotators, and has notes on all answers that are not used.
    """
    path, column = options.path, None
    is_archive = path.suffix.lower() == ".npz"  # whose rows are those of the table in order
    if path.suffix.lower() == ".sqlite":
        raise InputError(
            f"{path} stores a labeling session. Write its answers by oneof label {table.path} --export-answers FILE, "
            "and pass that file as --answers."
        )
    if not is_archive and (options.row or (table.rows is None and ROW in table.frame.columns)):
        column = find_row_column([options.row or ROW], table.frame.columns, options, Path(table.path))
    row_names = [*map(str, range(len(table)))] if column is None else name_rows(table.frame, column, str(table.path))
    file, names, notes = read_answer_file(options), set(row_names), []
    answers = [one for one in file.answers if one.annotator not in options.excluded]
    if options.excluded:
        check_have_answers(options.excluded, (one.annotator for one in file.answers), path)
        if not answers:
            raise InputError(f"--exclude-annotator excludes all annotators of {path}. Keep at least one.")
        n = sum(bool(one.cell) for one in file.answers) - sum(bool(one.cell) for one in answers)
        excluded = _enumerate_names(options.excluded)
        notes.append(f"answers that are not used, by --exclude-annotator {excluded}: {n:,}.")
    known = [one for one in answers if str(one.row) in names]
    if unknown := [one for one in answers if one.cell and str(one.row) not in names]:
        first = unknown[0]
        if is_archive or not any(one.cell for one in known):
            raise DataError(
                f"the answers name rows such as {str(first.row)!r}, which {table.path} does not have; it has rows "
                f"such as {next(iter(row_names), None)!r}. Give both the same names, or name their column by --row and "
                "--answers-row.",
                source=first.place,
            )
        notes.append(
            f"answers about rows that {table.path} does not have are omitted: {len(unknown):,}, such as about the row "
            f"{str(first.row)!r} ({first.place})."
        )
    return replace(file, answers=known, notes=(*notes, *file.notes)), row_names, column


def check_have_answers(excluded: Iterable[str], annotators: Iterable[str], source: object) -> None:
    """Raise if an excluded annotator is not among those with answers in the source, and suggest a name."""
    names = sorted(set(annotators))
    if unknown := [name for name in excluded if name not in names]:
        close = difflib.get_close_matches(unknown[0], names, n=MAX_NAMED)
        raise InputError(
            f"--exclude-annotator {unknown[0]!r} has no answers in {source}; annotators are "
            f"{_enumerate_names(close or names) or 'missing'}."
        )


def _enumerate_names(names: Sequence[str]) -> str:
    """Return names as the option has them."""
    return enumerate_items([write_names([name]) for name in names], MAX_LISTED)


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
        notes=[RULES_REMEDY if note == RULES_NOTE else note for note in model.notes_],
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


def describe_annotators(summary: AnnotatorSummary, crowd: CrowdClassifier) -> dict[str, Any]:
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
    terminal.print_line(*(note for note in summary.notes if note != RULES_REMEDY))  # printed with those of the file
    terminal.print_line(f"Agreement of the annotators: {summary.agreement}")
    if summary.disputed:
        lines = [
            [one.name, one.label, one.runner_up, one.answers, percent(one.disagreement)] for one in summary.disputed
        ]
        columns = ["row", "label", "runner-up", "answers", "pairs that differ"]
        table("Rows with the least certain labels", columns, lines, text_columns=4)
