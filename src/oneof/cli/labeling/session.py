"""Opening of a session by `oneof label`: the rows of the table, their initial labels, features and suspects."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.labeling.answers import read_gold
from oneof.cli.labeling.options import LabelOptions, PageGroup

if TYPE_CHECKING:
    import polars as pl

    from oneof.audit import LabelIssue
    from oneof.cli.tables.inputs import PreparedTable, TableLabels
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.io import Table
    from oneof.labeling import LabelingSession
    from oneof.labeling.content.media import MediaFolder

DEFAULT = "auto"


@dataclass(frozen=True)
class OpenedSession:
    """Session, table, folder of the images or audio files shown, and warnings about the table."""

    session: "LabelingSession"
    table: "Table"
    images: "MediaFolder | None"
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Display:
    """Display of the rows of a table.

    Attributes
    ----------
    show, column : str, str or None
        The kind of the content, and the column that is shown alone.
    hidden, pinned : tuple of str
        Columns that are not shown, and those that are shown first.
    media : MediaFolder or None
        The folder of images or sounds.
    """

    show: str
    column: str | None
    hidden: tuple[str, ...]
    pinned: tuple[str, ...]
    media: "MediaFolder | None"


def open_session(
    path: Path, read_options: "ReadOptions", options: LabelOptions, answers_file: Path, *, serves: bool
) -> OpenedSession:
    """Read a table and open a new or existing session; defects of the table raise errors of `oneof.errors`.

    A session that serves the page is trained in the background, and asks the suspects of --audit first.
    """
    from oneof.errors import InputError
    from oneof.labeling.content.table import LabelTable
    from oneof.labeling.session import LabelingSession
    from oneof.labeling.validation import NewClassesWarning

    annotators, label = options.annotators, read_options.labels[0] if len(read_options.labels) == 1 else None
    required, maximum = annotators.numbers()
    if label is None:
        raise InputError(f"--labels must name one column, for the answers; got {len(read_options.labels)}.")
    table, display = _read_display(path, read_options, options.page, annotators.gold_column())
    labels = _read_labels(table, label, read_options, answers_file)
    gold = read_gold(annotators, table, labels.candidates.classes, labels.separator)
    prepared, X = _prepare(table, display, labels, read_options)
    sentences = prepared.findings.sentences()
    queue = None
    if options.session.audit and serves:
        queue, of_suspects = _find_suspects(prepared, gold)
        sentences += of_suspects
    original = partial(read_options.table.read, path, as_text=["*"], labels=[label])
    shown = (label, display.show, display.column, display.hidden, labels.separator, display.pinned, original)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewClassesWarning)  # the notes have its text
        session = LabelingSession(
            X,
            labels.candidates,
            path=answers_file,
            table=LabelTable(table.frame, *shown),
            estimator=_choose_estimator(prepared, options.session.method),
            annotations_per_item=required,
            max_annotations=maximum,
            gold=gold,
            combination=annotators.combination,
            exclude_annotators=annotators.exclude_annotator,
            background=serves,
            queue=queue,
            random_state=0,
        )
    return OpenedSession(session, table, display.media, tuple(sentences))


def _read_display(
    path: Path, read_options: "ReadOptions", page: PageGroup, gold: Sequence[str]
) -> "tuple[Table, Display]":
    """Read the table, and check the columns that are shown; those of known labels are hidden."""
    from oneof.cli.tables.inputs import read_rows
    from oneof.errors import InputError
    from oneof.io import find_column
    from oneof.labeling.content.media import AudioFolder, ImageFolder

    show, column = page.show or ("table", None)
    if show not in ("table", "text", "image", "audio"):
        raise InputError(f"--show must be `text COLUMN`, `image COLUMN` or `audio COLUMN`; got `{show} {column}`.")
    shown = () if column is None else (column,)
    table = read_rows(path, replace(read_options, drop=(), text=(*read_options.text, *shown)))
    if table.rows is not None:
        raise InputError(f"{path} has a sparse matrix, which has no columns to show. Label a table.")
    hidden, pinned, _ = (
        tuple(find_column(name, table.frame.columns, path) for name in names)
        for names in ((*page.hide, *gold), page.pin, shown)
    )
    folders = {"image": ImageFolder, "audio": AudioFolder}
    media = folders[show](page.images or path.absolute().parent) if show in folders else None
    return table, Display(show, column, hidden, pinned, media)


def _read_labels(table: "Table", label: str, read_options: "ReadOptions", answers_file: Path) -> "TableLabels":
    """Return the initial labels with their separator; with named classes the column may be empty or missing."""
    import numpy as np

    from oneof.candidates import CandidateSets
    from oneof.candidates.cells import DEFAULT_SEPARATOR
    from oneof.cli.tables.inputs import TableLabels, read_sets
    from oneof.errors import DataError, InputError
    from oneof.io import find_column, notes
    from oneof.labeling.answers.database import stored_classes

    named, sentences = _choose_classes(read_options.classes, stored_classes(answers_file))
    is_new = label not in table.frame.columns
    if not is_new and not _is_empty(table.frame[label]):
        labels = read_sets(table, replace(read_options, classes=named))
    elif named is None:
        remedy = "To add a label column, name its classes (--classes a,b,c)."
        try:
            find_column(label, table.frame.columns, table.path)
        except DataError as error:
            raise DataError(f"{error} {remedy}") from None
        raise DataError(f"column {label!r} of {table.path} has no labels yet. Name the classes (--classes a,b,c).")
    elif len(set(named)) < max(2, len(named)):
        raise InputError(f"--classes must name at least two classes, each once; got {', '.join(named)}.")
    else:
        sets = CandidateSets(np.ones((table.frame.height, len(named)), dtype=bool), np.asarray(named))
        labels = TableLabels(candidates=sets, separator=read_options.separator or DEFAULT_SEPARATOR)
        sentences += [f"column {label!r} is not in the table and is added to exports."] * is_new
    return replace(labels, label_findings=(*labels.label_findings, *notes("labels", sentences)))


def _prepare(
    table: "Table", display: Display, labels: "TableLabels", read_options: "ReadOptions"
) -> "tuple[PreparedTable, Any]":
    """Return the table with the features of the columns, or of the files if it has no others; and their matrix."""
    from oneof.cli.tables.groups import read_groups
    from oneof.cli.tables.inputs import PreparedFeatures, PreparedTable, prepare_features
    from oneof.io import TableFindings, make_encoder

    groups = read_groups(table, read_options)
    column, hidden, others = display.column, set(display.hidden), {*table.label_columns, *read_options.drop}
    if display.media is not None:
        hidden.add(str(column))
    if display.media is not None and not set(table.frame.columns) - hidden - others - read_options.text_columns:
        X: Any = display.media.features(table.frame[str(column)].to_list())
        table, features = replace(table, rows=X), PreparedFeatures([], TableFindings(), X)
    else:
        overrides = read_options.overrides
        named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
        if display.show == "text" and column and column not in named:  # even if the texts are short
            read_options = replace(read_options, text=(*read_options.text, column))
        features = prepare_features(table, read_options, hidden)
        X = make_encoder(features.columns, features.text_options).fit_transform(features.frame)
    findings = {"findings": replace(features.findings, others=labels.label_findings)}
    return PreparedTable(**vars(labels) | vars(features) | findings, table=table, groups=groups), X


def _choose_estimator(prepared: "PreparedTable", method: str) -> Any:
    """Return the method of a session, whose features are encoded already; None for the default one."""
    from oneof.cli.tables.methods import resolve_methods

    if method.lower() == DEFAULT:
        return None
    [pipeline] = resolve_methods(prepared, method, 0)[0].values()
    return pipeline if prepared.table.rows is not None else pipeline[1:]


def _choose_classes(
    given: tuple[str, ...] | None, stored: tuple[str, ...] | None
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the classes of a session, and a note on those that are added to its file of answers.

    The classes of a file keep their order, by which its answers name them; new ones follow.
    """
    from oneof.labeling.validation import describe_new_classes

    if given is None or stored is None:
        return given or stored, []
    new = tuple(name for name in given if name not in stored)
    if not new or not set(stored) <= set(given):  # the file of answers raises if one is missing
        return given, []
    return (*stored, *new), [describe_new_classes(new)]


def _find_suspects(prepared: "PreparedTable", gold: dict[int, str] | None) -> "tuple[list[LabelIssue], list[str]]":
    """Return the rows whose labels are probably wrong, the most probable first, and sentences about them.

    They are those of `oneof audit`. Gold rows have a checked label: it is used to predict the others, and they are not
    suspected, as by `oneof audit --gold`.
    """
    from oneof.candidates.sets import insert_checked_labels
    from oneof.cli.auditing.issues import CHECKED_NOTE, describe_rate, find_issues
    from oneof.cli.tables.inputs import check_unchecked_rows
    from oneof.errors import InputError
    from oneof.labeling.validation import check_gold

    start, sentences = prepared.candidates, []
    if start.is_unlabeled.all():
        raise InputError("--audit needs a table with labels; all rows are unlabeled. Remove the option.")
    if gold:
        codes = check_gold(gold, start.classes, len(start))
        labels = [start.classes.tolist()[codes[row]] if row in codes else None for row in range(len(start))]
        start, checked, _ = insert_checked_labels(start, labels)
        check_unchecked_rows(start, checked, "remove --gold to audit the labels themselves")
        prepared = replace(prepared, candidates=start, is_checked=checked)
        sentences.append(CHECKED_NOTE)
    _, result = find_issues(prepared, DEFAULT, seed=0)
    issues = result.top()
    asked = f"; the {len(issues)} suspected rows are asked first" if issues else ""
    return issues, [*sentences, f"{describe_rate(result)}{asked}."]


def _is_empty(cells: "pl.Series") -> bool:
    """Return whether all cells are null or blank."""
    import polars as pl

    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
    return cells.null_count() == len(cells)
