"""Opening of a session by `oneof label`: the rows of the table, their initial labels, features and suspects."""

import re
import warnings
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.labeling.answers import read_gold
from oneof.cli.labeling.options import AnnotatorGroup, LabelOptions, PageGroup

if TYPE_CHECKING:
    import polars as pl

    from oneof.audit import LabelIssue
    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import PreparedTable
    from oneof.cli.tables.read_options import ReadOptions
    from oneof.io import Finding, Table
    from oneof.labeling import LabelingSession
    from oneof.labeling.content.media import MediaFolder

DEFAULT = "auto"
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


@dataclass(frozen=True)
class OpenedSession:
    """Session, table, folder of the images or audio files shown, and warnings about the table."""

    session: "LabelingSession"
    table: "Table"
    images: "MediaFolder | None"
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Rows:
    """Rows of a table, and their display.

    Attributes
    ----------
    table : Table
    show, column : str, str or None
        The kind of the content, and the column that is shown alone.
    hidden, pinned : tuple of str
        Columns that are not shown, and those that are shown first.
    images : MediaFolder or None
    """

    table: "Table"
    show: str
    column: str | None
    hidden: tuple[str, ...]
    pinned: tuple[str, ...]
    images: "MediaFolder | None"


@dataclass(frozen=True)
class Features:
    """Features of the rows.

    Attributes
    ----------
    X : ndarray or CSR matrix
    estimator : estimator or None
    prepared : PreparedTable
        The table with its initial labels, columns and findings.
    are_of_files : bool
        Whether the features are those of image or audio files.
    """

    X: Any
    estimator: Any
    prepared: "PreparedTable"
    are_of_files: bool


def open_session(
    path: Path, read_options: "ReadOptions", options: LabelOptions, answers_file: Path, *, serves: bool
) -> OpenedSession:
    """Read a table and open a new or existing session; defects of the table raise errors of `oneof.errors`.

    A session that serves the page is trained in the background, and asks the suspects of --audit first.
    """
    from oneof.labeling.content.table import LabelTable
    from oneof.labeling.session import LabelingSession
    from oneof.labeling.validation import NewClassesWarning

    annotators = options.annotators
    required, maximum = annotators.numbers()
    rows = _read_rows(path, read_options, options.page, annotators)
    label = read_options.labels[0]
    read_options, start, found = _read_labels(rows.table, label, read_options, answers_file)
    separator = str(read_options.separator)
    gold = read_gold(annotators, rows.table, start.classes, separator)
    features = _make_features(rows, start, read_options, options.session.method)
    sentences = replace(features.prepared.findings, others=tuple(found)).sentences()
    queue = None
    if options.session.audit and serves:
        queue, of_suspects = _find_suspects(features, gold)
        sentences += of_suspects
    original = partial(read_options.table.read, path, as_text=["*"], labels=[label])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewClassesWarning)  # the notes have its text
        session = LabelingSession(
            features.X,
            start,
            path=answers_file,
            table=LabelTable(
                rows.table.frame, label, rows.show, rows.column, rows.hidden, separator, rows.pinned, original
            ),
            estimator=features.estimator,
            annotations_per_item=required,
            max_annotations=maximum,
            gold=gold,
            combination=annotators.combination,
            exclude_annotators=annotators.exclude_annotator,
            background=serves,
            queue=queue,
            random_state=0,
        )
    return OpenedSession(session, rows.table, rows.images, tuple(sentences))


def _read_rows(path: Path, read_options: "ReadOptions", page: PageGroup, annotators: AnnotatorGroup) -> Rows:
    """Read the table, and check the columns that are shown."""
    from oneof.errors import InputError
    from oneof.io import find_column
    from oneof.labeling.content.media import AudioFolder, ImageFolder

    if len(read_options.labels) != 1:
        raise InputError(f"--labels must name one column, for the answers; got {len(read_options.labels)}.")
    show, column = page.show or ("table", None)
    overrides = read_options.overrides
    as_text = {*overrides.texts, *overrides.categories, *([column] if column else [])}
    labels = [*read_options.labels, *([] if read_options.groups is None else [read_options.groups])]
    table = read_options.table.read(path, as_text=as_text - {*labels}, labels=labels)
    if table.rows is not None:
        raise InputError(f"{path} has a sparse matrix, which has no columns to show. Label a table.")
    hide = [*page.hide, *annotators.gold_column()]
    hidden = tuple(find_column(name, table.frame.columns, path) for name in hide)
    pinned = tuple(find_column(name, table.frame.columns, path) for name in page.pin)
    if column is not None:
        if show not in ("text", "image", "audio"):
            raise InputError(f"--show must be `text COLUMN`, `image COLUMN` or `audio COLUMN`; got `{show} {column}`.")
        find_column(column, table.frame.columns, path)
    folders = {"image": ImageFolder, "audio": AudioFolder}
    images = folders[show](page.images or path.absolute().parent) if show in folders else None
    return Rows(table, show, column, hidden, pinned, images)


def _read_labels(
    table: "Table", label: str, read_options: "ReadOptions", answers_file: Path
) -> "tuple[ReadOptions, CandidateSets, list[Finding]]":
    """Return the options with the classes and the separator, the initial labels, and findings about them."""
    from oneof.candidates.cells import DEFAULT_SEPARATOR
    from oneof.cli.tables.inputs import resolve_separator
    from oneof.io import notes
    from oneof.labeling.answers.database import stored_classes

    classes, sentences = _choose_classes(read_options.classes, stored_classes(answers_file))
    read_options = replace(read_options, classes=classes)
    if read_options.separator is None:
        is_labeled = label in table.frame.columns and not _is_empty(table.frame[label])
        separator, of_separator = resolve_separator(table, read_options) if is_labeled else (DEFAULT_SEPARATOR, ())
        read_options = replace(read_options, separator=separator)
        sentences = (*sentences, *of_separator)
    start, found = _read_start(table, label, read_options)
    return read_options, start, [*found, *notes("labels", (*sentences, *_warn_formulas(start)))]


def _make_features(rows: Rows, start: "CandidateSets", read_options: "ReadOptions", method: str) -> Features:
    """Return the features of the columns, or those of the files of a table without other columns."""
    from oneof.cli.tables.inputs import PreparedTable, check_and_read_groups
    from oneof.cli.tables.methods import resolve_methods
    from oneof.errors import InputError
    from oneof.io import check_texts, choose_features, make_encoder, read_text_options

    table, column, overrides = rows.table, rows.column, read_options.overrides
    text_options = read_text_options(read_options.stop_words, read_options.stem)
    groups = None if read_options.groups is None else check_and_read_groups(table, read_options)
    prepared = PreparedTable(table, start, None, [], table.frame, text_options, groups=groups)
    is_default = method.lower() == DEFAULT
    exclude = {*read_options.labels, *rows.hidden, *([] if read_options.groups is None else [read_options.groups])}
    if rows.images is not None:
        exclude.add(str(column))
        if not set(table.frame.columns) - exclude - set(overrides.drop) - set(table.label_columns):
            if not is_default:
                raise InputError("--method needs feature columns besides the files. Remove the option, or add columns.")
            return Features(rows.images.features(table.frame[str(column)].to_list()), None, prepared, True)
    named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
    if rows.show == "text" and column and column not in named:
        overrides = replace(overrides, texts=(*overrides.texts, column))  # even if the texts are short
    features = choose_features(table, exclude=exclude, overrides=overrides, strict=read_options.table.strict)
    check_texts(features.frame, features.columns, text_options, table.path)
    prepared = replace(prepared, columns=features.columns, frame=features.frame)
    X = make_encoder(features.columns, text_options).fit_transform(features.frame)
    # Without the encoder, since the features of the session are already encoded.
    estimator = None if is_default else next(iter(resolve_methods(prepared, method, 0)[0].values()))[1:]
    return Features(X, estimator, replace(prepared, findings=features.findings), False)


def _choose_classes(
    given: tuple[str, ...] | None, stored: tuple[str, ...] | None
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the classes of a session, and a note on those that are added to its file of answers.

    The classes of a file keep their order, by which its answers name them; new ones follow.
    """
    from oneof.labeling.validation import describe_new_classes

    if given is None or stored is None:
        return given or stored, ()
    new = tuple(name for name in given if name not in stored)
    if not set(stored) <= set(given):
        return given, ()  # the file of answers raises
    if not new:
        return given, ()
    return (*stored, *new), (describe_new_classes(new),)


def _find_suspects(features: Features, gold: dict[int, str] | None) -> "tuple[list[LabelIssue], list[str]]":
    """Return the rows whose labels are probably wrong, the most probable first, and sentences about them.

    They are those of `oneof audit`. Gold rows have a checked label: it is used to predict the others, and they are not
    suspected, as by `oneof audit --gold`.
    """
    from oneof.audit import find_label_issues
    from oneof.candidates.sets import insert_checked_labels
    from oneof.cli.auditing.issues import CHECKED_NOTE, choose_folds, describe_rate, find_issues
    from oneof.cli.tables.gold import check_unchecked_rows
    from oneof.errors import InputError
    from oneof.labeling.validation import check_gold

    prepared, sentences = features.prepared, []
    start = prepared.candidates
    if start.is_unlabeled.all():
        raise InputError("--audit needs a table with labels; all rows are unlabeled. Remove the option.")
    if gold:
        labels: list[Any] = [None] * len(start)
        for row, code in check_gold(gold, start.classes, len(start)).items():
            labels[row] = start.classes.tolist()[code]
        start, checked, _ = insert_checked_labels(start, labels)
        check_unchecked_rows(start, checked, "remove --gold to audit the labels themselves")
        prepared = replace(prepared, candidates=start, is_checked=checked)
        sentences.append(CHECKED_NOTE)
    if features.are_of_files:
        result = find_label_issues(
            features.X, start, cv=choose_folds(prepared.n_groups), groups=prepared.groups, checked=prepared.is_checked
        )
    else:
        _, result = find_issues(prepared, "auto", seed=0)
    issues = result.top()
    asked = f"; the {len(issues)} suspected rows are asked first" if issues else ""
    return issues, [*sentences, f"{describe_rate(result)}{asked}."]


def _read_start(table: "Table", label: str, read_options: "ReadOptions") -> "tuple[CandidateSets, list[Finding]]":
    """Return the labels of the table and findings; with named classes the label column may be empty or missing."""
    import numpy as np

    from oneof.candidates import CandidateSets
    from oneof.cli.tables.inputs import naming_the_option
    from oneof.errors import DataError, InputError
    from oneof.io import (
        UnreadableCells,
        check_no_weights,
        find_column,
        label_findings,
        notes,
        read_labels,
    )

    separator, named = str(read_options.separator), read_options.classes
    if label in table.frame.columns and not _is_empty(table.frame[label]):
        unreadable = UnreadableCells()
        with naming_the_option(table.cell_format):
            start = read_labels(
                table,
                [label],
                separator=separator,
                classes=named,
                unreadable=unreadable,
                **asdict(read_options.weights),
            )
        if named is None and not read_options.weights.weighted:
            check_no_weights(start.classes.tolist(), table.path)
        found = label_findings(start, separator, source=str(table.path))
        return start, [*unreadable.findings("unreadable labels"), *found]
    if named is None:
        if label not in table.frame.columns:
            try:
                find_column(label, table.frame.columns, table.path)
            except DataError as error:
                raise DataError(f"{error} To add a label column, name its classes (--classes a,b,c).") from None
        raise DataError(f"column {label!r} of {table.path} has no labels yet. Name the classes (--classes a,b,c).")
    if len(set(named)) < 2 or len(set(named)) < len(named):
        raise InputError(f"--classes must name at least two classes, each once; got {', '.join(named)}.")
    unlabeled = CandidateSets(np.ones((table.frame.height, len(named)), dtype=bool), np.asarray(named))
    is_new = label not in table.frame.columns
    return unlabeled, notes("labels", [f"column {label!r} is not in the table and is added to exports."] * is_new)


def _warn_formulas(start: "CandidateSets") -> tuple[str, ...]:
    """Return a warning about labels that spreadsheet programs evaluate as formulas; exports keep labels unchanged."""
    formulas = [name for name in map(str, start.classes.tolist()) if _FORMULA.match(name)]
    if not formulas:
        return ()
    listed = ", ".join(map(repr, formulas[:3]))
    return (f"spreadsheet programs evaluate {listed} as a formula: export to Parquet instead of CSV for them.",)


def _is_empty(cells: "pl.Series") -> bool:
    """Return whether all cells are null or blank."""
    import polars as pl

    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
    return cells.null_count() == len(cells)
