"""Opening of a session by `oneof label`: the rows of the table, their initial labels, features and suspects."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from oneof.audit import LabelIssue
from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.candidates.sets import insert_checked_labels
from oneof.cli.auditing.issues import CHECKED_NOTE, describe_rate, find_issues
from oneof.cli.labeling.answers import read_gold
from oneof.cli.labeling.options import LabelOptions, PageGroup
from oneof.cli.tables.groups import read_groups
from oneof.cli.tables.inputs import (
    PreparedTable,
    TableLabels,
    check_unchecked_rows,
    prepare_features,
    read_rows,
    read_sets,
)
from oneof.cli.tables.methods import resolve_methods
from oneof.cli.tables.read_options import ReadOptions
from oneof.errors import DataError, InputError
from oneof.io import Table, TableFindings, find_column, make_encoder, notes
from oneof.io.features import TableFeatures
from oneof.labeling import LabelingSession
from oneof.labeling.answers.database import stored_classes
from oneof.labeling.content.media import AudioFolder, ImageFolder, MediaFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.validation import NewClassesWarning, check_gold, describe_new_classes

DEFAULT = "auto"
_FOLDERS = {"image": ImageFolder, "audio": AudioFolder}


@dataclass(frozen=True)
class OpenedSession:
    """Session, table, folder of the images or audio files shown, and warnings about the table."""

    session: LabelingSession
    table: Table
    images: MediaFolder | None
    notes: tuple[str, ...]


def open_session(
    path: Path, read_options: ReadOptions, options: LabelOptions, answers_file: Path, *, serves: bool
) -> OpenedSession:
    """Read a table and open a new or existing session; defects of the table raise errors of `oneof.errors`.

    A session that serves the page is trained in the background, and asks the suspects of --audit first.
    """
    annotators, page = options.annotators, options.page
    required, maximum = annotators.numbers()
    if len(read_options.labels) != 1:
        raise InputError(f"--labels must name one column, for the answers; got {len(read_options.labels)}.")
    table, media = _read_table(path, read_options, page)
    labels = _read_labels(table, read_options, answers_file)
    shown = _show(table, page, annotators.gold_column(), labels.separator, read_options)
    gold = read_gold(annotators, table, labels.candidates.classes, labels.separator)
    prepared = _prepare(table, shown, media, labels, read_options)
    sentences, queue = prepared.findings.sentences(), None
    if options.session.audit and serves:
        queue, of_suspects = _find_suspects(prepared, gold)
        sentences += of_suspects
    is_encoded = prepared.table.rows is not None
    encoder = None if is_encoded else make_encoder(prepared.columns, prepared.text_options)
    estimator = None
    if options.session.method.lower() != DEFAULT:
        [pipeline] = resolve_methods(prepared, options.session.method, 0)[0].values()
        estimator = pipeline if is_encoded else pipeline[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewClassesWarning)  # the notes have its text
        session = LabelingSession(
            prepared.frame if encoder is None else encoder.fit_transform(prepared.frame),
            labels.candidates,
            path=answers_file,
            table=shown,
            estimator=estimator,
            annotations_per_item=required,
            max_annotations=maximum,
            gold=gold,
            combination=annotators.combination,
            exclude_annotators=annotators.exclude_annotator,
            background=serves,
            queue=queue,
            random_state=0,
        )
    return OpenedSession(session, table, media, tuple(sentences))


def _read_table(path: Path, read_options: ReadOptions, page: PageGroup) -> tuple[Table, MediaFolder | None]:
    """Read the table, and find the folder of images or sounds, if they are shown."""
    show, column = page.show or ("table", None)
    if show not in ("table", "text", *_FOLDERS):
        raise InputError(f"--show must be `text COLUMN`, `image COLUMN` or `audio COLUMN`; got `{show} {column}`.")
    as_text = () if column is None else (column,)
    table = read_rows(path, replace(read_options, drop=(), text=(*read_options.text, *as_text)))
    if table.rows is not None:
        raise InputError(f"{path} has a sparse matrix, which has no columns to show. Label a table.")
    for name in (*page.hide, *page.pin, *as_text):
        find_column(name, table.frame.columns, path)
    return table, _FOLDERS[show](page.images or path.absolute().parent) if show in _FOLDERS else None


def _show(table: Table, page: PageGroup, gold: list[str], separator: str, read_options: ReadOptions) -> LabelTable:
    """Return the rows as they are shown; columns of known labels are hidden."""
    hidden, pinned = (
        tuple(find_column(name, table.frame.columns, table.path) for name in names)
        for names in ((*page.hide, *gold), page.pin)
    )
    label, (show, column) = read_options.labels[0], page.show or ("table", None)
    original = partial(read_options.table.read, table.path, as_text=["*"], labels=[label])
    return LabelTable(table.frame, label, show, column, hidden, separator, pinned, original)


def _read_labels(table: Table, read_options: ReadOptions, answers_file: Path) -> TableLabels:
    """Return the initial labels with their separator; with named classes the column may be empty or missing.

    The classes of a file of answers keep their order, by which its answers name them; new ones follow.
    """
    label, named, stored = read_options.labels[0], read_options.classes, stored_classes(answers_file)
    new = tuple(name for name in named or () if name not in (stored or named or ()))
    if new and stored and set(stored) <= set(named or ()):  # the file of answers raises if one is missing
        named = (*stored, *new)
    else:
        new, named = (), named or stored
    sentences = [describe_new_classes(new)] if new else []
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
    table: Table, shown: LabelTable, media: MediaFolder | None, labels: TableLabels, read_options: ReadOptions
) -> PreparedTable:
    """Return the table with the features of the columns, or of the files if it has no others."""
    groups, column, hidden = read_groups(table, read_options), str(shown.column), set(shown.hidden)
    if media is not None:
        hidden.add(column)
    others = {*table.label_columns, *read_options.drop} | hidden | read_options.text_columns
    if media is not None and not set(table.frame.columns) - others:
        table = replace(table, rows=media.features(table.frame[column].to_list()))
        features = TableFeatures([], TableFindings(), table.rows)
    else:
        overrides = read_options.overrides
        named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
        if shown.show == "text" and column not in named:  # even if the texts are short
            read_options = replace(read_options, text=(*read_options.text, column))
        features = prepare_features(table, read_options, hidden)
    of_table = vars(features) | {"findings": replace(features.findings, others=labels.label_findings)}
    return PreparedTable(**vars(labels) | of_table, table=table, read_options=read_options, groups=groups)


def _find_suspects(prepared: PreparedTable, gold: dict[int, str] | None) -> tuple[list[LabelIssue], list[str]]:
    """Return the rows whose labels are probably wrong, the most probable first, and sentences about them.

    They are those of `oneof audit`. Gold rows have a checked label: it is used to predict the others, and they are not
    suspected, as by `oneof audit --gold`.
    """
    start, sentences = prepared.candidates, []
    if start.is_unlabeled.all():
        raise InputError("--audit needs a table with labels; all rows are unlabeled. Remove the option.")
    if gold:
        codes, classes = check_gold(gold, start.classes, len(start)), start.classes.tolist()
        checked = insert_checked_labels(start, [classes[codes[i]] if i in codes else None for i in range(len(start))])
        check_unchecked_rows(checked.candidates, checked.is_checked, "remove --gold to audit the labels themselves")
        prepared = replace(prepared, candidates=checked.candidates, is_checked=checked.is_checked)
        sentences.append(CHECKED_NOTE)
    _, result = find_issues(prepared, DEFAULT, seed=0)
    issues = result.top()
    asked = f"; the {len(issues)} suspected rows are asked first" if issues else ""
    return issues, [*sentences, f"{describe_rate(result)}{asked}."]


def _is_empty(cells: pl.Series) -> bool:
    """Return whether all cells are null or blank."""
    cells = cells.str.strip_chars().replace("", None) if cells.dtype == pl.String else cells
    return cells.null_count() == len(cells)
