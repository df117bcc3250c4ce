"""Session of `oneof label`: the rows of the table, their initial labels, features and suspects, and answers in files.

`--import` reads the files that `oneof fit --answers` reads.
"""

import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from oneof import io
from oneof.audit import LabelIssue
from oneof.candidates import CandidateSets
from oneof.candidates.cells import DEFAULT_SEPARATOR
from oneof.candidates.sets import insert_checked_labels
from oneof.cli import terminal
from oneof.cli.answers import check_have_answers, read_answers
from oneof.cli.auditing import CHECKED_NOTE, describe_rate, find_issues
from oneof.cli.options import AnnotatorGroup, LabelOptions, PageGroup, ReadOptions
from oneof.cli.tables import inputs
from oneof.cli.tables.facts import count_missing
from oneof.cli.tables.methods import resolve_methods
from oneof.comparison.results import format_duration
from oneof.errors import DataError, InputError
from oneof.io.answers import ITEM, ROW, name_rows
from oneof.io.features import TableFeatures
from oneof.labeling import LabelingSession
from oneof.labeling.annotators import AnnotatorProgress
from oneof.labeling.answers.database import stored_classes
from oneof.labeling.answers.importing import read_degrees
from oneof.labeling.content.media import AudioFolder, ImageFolder, MediaFolder
from oneof.labeling.content.table import LabelTable
from oneof.labeling.validation import check_gold
from oneof.messages import MAX_NAMED, enumerate_items, write_names
from oneof.typing import Labels

DEFAULT = "auto"
_FOLDERS = {"image": ImageFolder, "audio": AudioFolder}


@dataclass(frozen=True)
class OpenedSession:
    """Session, table, folder of the images or audio files shown, and warnings about the table."""

    session: LabelingSession
    table: io.Table
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
    encoder = None if is_encoded else io.make_encoder(prepared.columns, read_options.text_options)
    estimator = None
    if options.session.method.lower() != DEFAULT:
        [pipeline] = resolve_methods(prepared, options.session.method, 0)[0].values()
        estimator = pipeline if is_encoded else pipeline[1:]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
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
    return OpenedSession(session, table, media, (*sentences, *(str(one.message) for one in caught)))


def _read_table(path: Path, read_options: ReadOptions, page: PageGroup) -> tuple[io.Table, MediaFolder | None]:
    """Read the table, and find the folder of images or sounds, if they are shown."""
    show, column = page.show or ("table", None)
    if show not in ("table", "text", *_FOLDERS):
        raise InputError(f"--show must be `text COLUMN`, `image COLUMN` or `audio COLUMN`; got `{show} {column}`.")
    as_text = () if column is None else (column,)
    table = inputs.read_rows(path, replace(read_options, drop=(), text=(*read_options.text, *as_text)))
    if table.rows is not None:
        raise InputError(f"{path} has a sparse matrix, which has no columns to show. Label a table.")
    for name in (*page.hide, *page.pin, *as_text):
        io.find_column(name, table.frame.columns, path)
    return table, _FOLDERS[show](page.images or path.absolute().parent) if show in _FOLDERS else None


def _show(table: io.Table, page: PageGroup, gold: list[str], separator: str, read_options: ReadOptions) -> LabelTable:
    """Return the rows as they are shown; columns of known labels are hidden."""
    hidden, pinned = (
        tuple(io.find_column(name, table.frame.columns, table.path) for name in names)
        for names in ((*page.hide, *gold), page.pin)
    )
    label, (show, column) = read_options.labels[0], page.show or ("table", None)
    original = partial(read_options.table.read, table.path, as_text=["*"], labels=[label])
    return LabelTable(table.frame, label, show, column, hidden, separator, pinned, original)


def _read_labels(table: io.Table, read_options: ReadOptions, answers_file: Path) -> inputs.TableLabels:
    """Return the initial labels with their separator; with named classes the column may be empty or missing.

    The classes of a file of answers keep their order, by which its answers name them; new ones follow.
    """
    label, named, stored = read_options.labels[0], read_options.classes, stored_classes(answers_file)
    if named and stored and set(stored) < set(named):  # the file of answers raises if one is missing
        named = (*stored, *(name for name in named if name not in stored))
    named, is_new, sentences = named or stored, label not in table.frame.columns, []
    if not is_new and count_missing(table.frame[label]) < len(table):
        labels = inputs.read_sets(table, replace(read_options, classes=named))
    elif named is None:
        remedy = "To add a label column, name its classes (--classes a,b,c)."
        try:
            io.find_column(label, table.frame.columns, table.path)
        except DataError as error:
            raise DataError(f"{error} {remedy}") from None
        raise DataError(f"column {label!r} of {table.path} has no labels yet. Name the classes (--classes a,b,c).")
    elif len(set(named)) < max(2, len(named)):
        raise InputError(f"--classes must name at least two classes, each once; got {', '.join(named)}.")
    else:
        sets = CandidateSets(np.ones((table.frame.height, len(named)), dtype=bool), np.asarray(named))
        labels = inputs.TableLabels(candidates=sets, separator=read_options.separator or DEFAULT_SEPARATOR)
        sentences = [f"column {label!r} is not in the table and is added to exports."] * is_new
    return replace(labels, label_findings=(*labels.label_findings, *io.notes("labels", sentences)))


def _prepare(
    table: io.Table, shown: LabelTable, media: MediaFolder | None, labels: inputs.TableLabels, read_options: ReadOptions
) -> inputs.PreparedTable:
    """Return the table with the features of the columns, or of the files if it has no others."""
    groups, column, hidden = inputs.read_groups(table, read_options), str(shown.column), set(shown.hidden)
    if media is not None:
        hidden.add(column)
    others = {*table.label_columns, *read_options.drop} | hidden | read_options.text_columns
    if media is not None and not set(table.frame.columns) - others:
        table = replace(table, rows=media.features(table.frame[column].to_list()))
        features = TableFeatures([], io.TableFindings(), table.rows)
    else:
        overrides = read_options.overrides
        named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
        if shown.show == "text" and column not in named:  # even if the texts are short
            read_options = replace(read_options, text=(*read_options.text, column))
        features = inputs.prepare_features(table, read_options, hidden)
    of_table = vars(features) | {"findings": replace(features.findings, others=labels.label_findings)}
    return inputs.PreparedTable(**vars(labels) | of_table, table=table, read_options=read_options, groups=groups)


def _find_suspects(prepared: inputs.PreparedTable, gold: dict[int, str] | None) -> tuple[list[LabelIssue], list[str]]:
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
        inputs.check_unchecked_rows(checked, "remove --gold to audit the labels themselves")
        prepared = replace(prepared, candidates=checked.candidates, is_checked=checked.is_checked)
        sentences.append(CHECKED_NOTE)
    _, result = find_issues(prepared, DEFAULT, seed=0)
    issues = result.top()
    asked = f"; the {len(issues)} suspected rows are asked first" if issues else ""
    return issues, [*sentences, f"{describe_rate(result)}{asked}."]


def import_files(
    group: AnnotatorGroup, table: io.Table, session: LabelingSession, separator: str | None, answers_file: Path
) -> tuple[int, list[str]]:
    """Import the answers of all files, or none after an error; return the number of new ones, and notes.

    The classes are those of the session; the tokens of missing labels, and whether labels are read in one spelling,
    are those of the table. An excluded annotator must have an answer in the file of the session, or in these files.
    """
    paths, unreadable, n_new = list(group.imports or ()), io.UnreadableCells(), 0
    classes = tuple(map(str, session.classes.tolist()))
    with inputs.naming_the_option(table.cell_format.label_errors):
        files = [
            read_answers(group.answer_options(path), table, separator=separator, classes=classes, unreadable=unreadable)
            for path in paths
        ]
    degrees = [read_degrees(given.records, given.row_names) for given in files]
    if excluded := group.exclude_annotator:  # the log may be long
        annotators = {entry.annotator for entry in session.answers.log()}
        annotators.update(str(name) for given in files for name in given.answers.annotators.tolist())
        check_have_answers(excluded, annotators, " or ".join(map(str, [answers_file, *paths])))
    for path, given, of_file in zip(paths, files, degrees, strict=True):
        match = given.row_column or None
        n_new += session.import_answers(given.answers, degrees=of_file, match=match, source=str(path))
    sentences = [sentence for given in files for sentence in given.notes]
    return n_new, [*sentences, *io.describe(unreadable.findings("unreadable labels"))]


def row_column(table: io.Table, row: str | None) -> str | None:
    """Return the column of the names of the rows in an export of answers; None if they are numbered.

    It is the column by which `read_answers` joins the export to the table.
    """
    return ROW if row is None and ROW in table.frame.columns else row


def read_gold(group: AnnotatorGroup, table: io.Table, classes: Labels, separator: str) -> dict[int, str] | None:
    """Return the known labels of --gold by row; None without the option."""
    if group.gold is None:
        return None
    column = group.gold
    if not group.gold_column():
        file, column = Path(group.gold), "label"
        frame = io.read_table(file, as_text=("*",)).frame
        named = [*([] if group.row is None else [group.row]), ITEM, ROW]
        items = map(str, frame[io.select_column(None, named, frame.columns, file)].to_list())
        known = dict(zip(items, frame[io.find_column(column, frame.columns, file)].to_list(), strict=True))
        names = name_rows(table.frame, group.row, str(table.path))
        if unknown := known.keys() - {*names}:
            raise DataError(f"{file}: item {min(unknown)!r} is not in the table. Name the column of the rows by --row.")
        table = replace(table, frame=pl.DataFrame({column: pl.Series([known.get(name) for name in names])}))
    labels, _ = io.read_checked_labels(table, column, classes, separator=separator)
    return {row: str(label) for row, label in enumerate(labels) if label is not None}


def note_chance(session: LabelingSession) -> list[str]:
    """Return a note on the annotators whose answers are no better than chance."""
    names = [one.name for one in session.annotator_estimates() if one.is_chance]
    if not names:
        return []
    option = f"--exclude-annotator {shlex.quote(write_names(names))}"
    return [
        f"the answers of {enumerate_items(names, MAX_NAMED)} are no better than chance. {option} leaves them out; the "
        "file of the session keeps them."
    ]


def print_annotators(progress: Sequence[AnnotatorProgress]) -> None:
    """Print a table of the progress of each annotator."""
    rows = []
    for one in progress:
        gold = "" if one.gold.rate is None else f"{one.gold.rate:.0%} ({one.gold.low:.0%} to {one.gold.high:.0%})"
        since = "" if one.seconds_since_last is None else format_duration(one.seconds_since_last)
        rate = "" if one.rate is None else f"{one.rate:.0f}"
        counts = (one.n_answers, one.n_sets, one.n_unknown, one.n_skipped)
        rows.append((one.name, *map(str, counts), rate, since, gold))
    columns = ("annotator", "answers", "sets", "don't know", "skipped", "per hour", "last answer", "gold rows")
    terminal.print_table("Progress of the annotators", columns, rows)
