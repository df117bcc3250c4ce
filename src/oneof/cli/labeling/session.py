"""Opening of a labeling session by `oneof label`: its options, the rows of the table, and their initial labels."""

import re
import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.cli.labeling.annotators import AnnotatorGroup, read_gold

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
class LabelOptions:
    """Options of `oneof label`, apart from those for reading the table.

    Attributes
    ----------
    show : (kind, column) or None
    images : Path or None
        The folder of the images or audio files; by default the folder of the table.
    hide : tuple of str
        Columns that are neither shown nor used as features.
    method : str
        Name of a default estimator of `compare`, or "auto" for the session's default.
    strategy : str
    annotations_per_item : int
    combination : str
    answers : Path
        The file of answers.
    seed : int
    audit : bool
        Whether the rows whose labels are probably wrong are asked first.
    pin : tuple of str
        Columns that are shown first and remain visible.
    annotators : AnnotatorGroup
    """

    show: tuple[str, str] | None
    images: Path | None
    hide: tuple[str, ...]
    method: str
    strategy: str
    annotations_per_item: int
    combination: str
    answers: Path
    seed: int
    audit: bool = False
    pin: tuple[str, ...] = ()
    annotators: AnnotatorGroup = field(default_factory=AnnotatorGroup)


@dataclass(frozen=True)
class OpenedSession:
    """Session, table, folder of the images or audio files shown, and warnings about the table."""

    session: "LabelingSession"
    table: "Table"
    images: "MediaFolder | None"
    notes: tuple[str, ...]


def open_session(
    path: Path, read_options: "ReadOptions", label_options: LabelOptions, *, background: bool
) -> OpenedSession:
    """Read a table and open a new or existing session; defects of the table raise errors of `oneof.errors`."""
    from oneof.candidates.cells import DEFAULT_SEPARATOR
    from oneof.cli.tables.inputs import PreparedTable, check_and_read_groups, resolve_separator
    from oneof.errors import InputError
    from oneof.io import (
        check_texts,
        choose_features,
        find_column,
        make_encoder,
        notes,
        read_text_options,
    )
    from oneof.labeling.answers.database import stored_classes
    from oneof.labeling.content.media import AudioFolder, ImageFolder
    from oneof.labeling.content.table import LabelTable
    from oneof.labeling.session import LabelingSession
    from oneof.labeling.validation import NewClassesWarning

    if len(read_options.labels) != 1:
        raise InputError(f"--labels must name one column, for the answers; got {len(read_options.labels)}.")
    label = read_options.labels[0]
    kind, column = label_options.show or ("table", None)
    text_options = read_text_options(read_options.stop_words, read_options.stem)
    overrides = read_options.overrides
    as_text = {*overrides.texts, *overrides.categories, *([column] if column else [])}
    grouped = [] if read_options.groups is None else [read_options.groups]
    table = read_options.table.read(path, as_text=as_text - {label, *grouped}, labels=[label, *grouped])
    if table.rows is not None:
        raise InputError(f"{path} has a sparse matrix, which has no columns to show. Label a table.")
    annotators = label_options.annotators
    gold_column = [str(annotators.gold)] if annotators.is_column() else []
    hidden = tuple(find_column(name, table.frame.columns, path) for name in [*label_options.hide, *gold_column])
    pinned = tuple(find_column(name, table.frame.columns, path) for name in label_options.pin)
    if column is not None:
        if kind not in ("text", "image", "audio"):
            raise InputError(f"--show must be `text COLUMN`, `image COLUMN` or `audio COLUMN`; got `{kind} {column}`.")
        find_column(column, table.frame.columns, path)
    classes, class_notes = _choose_classes(read_options.classes, stored_classes(label_options.answers))
    read_options = replace(read_options, classes=classes)
    if read_options.separator is None:
        is_labeled = label in table.frame.columns and not _is_empty(table.frame[label])
        separator, separator_notes = resolve_separator(table, read_options) if is_labeled else (DEFAULT_SEPARATOR, ())
        read_options = replace(read_options, separator=separator)
        class_notes = (*class_notes, *separator_notes)
    start, found = _read_start(table, label, read_options)
    gold = read_gold(annotators, table, start.classes, str(read_options.separator))
    found += notes("labels", (*class_notes, *_warn_formulas(start)))
    folders = {"image": ImageFolder, "audio": AudioFolder}
    images = folders[kind](label_options.images or path.absolute().parent) if kind in folders else None
    groups = None if read_options.groups is None else check_and_read_groups(table, read_options)
    prepared = PreparedTable(table, start, None, [], table.frame, text_options, groups=groups)
    exclude = {label, *hidden, *grouped, *([column] if images and column else [])}
    named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
    if kind == "text" and column and column not in named:
        overrides = replace(overrides, texts=(*overrides.texts, column))  # even if the texts are short
    if images and not _has_features(table, exclude, overrides):
        X = of_images = images.features(table.frame[str(column)].to_list())
        estimator = None
        if label_options.method.lower() != DEFAULT:
            raise InputError("--method needs feature columns besides the files. Remove the option, or add columns.")
    else:
        features = choose_features(table, exclude=exclude, overrides=overrides, strict=read_options.table.strict)
        check_texts(features.frame, features.columns, text_options, path)
        prepared = replace(prepared, columns=features.columns, frame=features.frame)
        X, of_images = make_encoder(features.columns, text_options).fit_transform(features.frame), None
        estimator = _make_estimator(prepared, label_options)
        prepared = replace(prepared, findings=features.findings)
    sentences = replace(prepared.findings, others=tuple(found)).sentences()
    queue = None
    if label_options.audit:
        queue, of_suspects = _find_suspects(prepared, gold, label_options.seed, of_images)
        sentences += of_suspects
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NewClassesWarning)  # `class_notes` has its text
        session = LabelingSession(
            X,
            start,
            path=label_options.answers,
            table=LabelTable(
                table.frame,
                label,
                kind,
                column,
                hidden,
                str(read_options.separator),
                pinned,
                partial(read_options.table.read, path, as_text=["*"], labels=[label]),
            ),
            estimator=estimator,
            strategy=label_options.strategy,
            annotations_per_item=label_options.annotations_per_item,
            max_annotations=annotators.max_annotations,
            double_annotated=annotators.double_annotated,
            gold=gold,
            gold_interval=annotators.gold_interval,
            combination=label_options.combination,
            exclude_annotators=annotators.excluded(),
            background=background,
            queue=queue,
            random_state=label_options.seed,
        )
    return OpenedSession(session, table, images, tuple(sentences))


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


def _find_suspects(
    prepared: "PreparedTable", gold: dict[int, str] | None, seed: int, X: Any = None
) -> "tuple[list[LabelIssue], list[str]]":
    """Return the rows whose labels are probably wrong, the most probable first, and sentences about them.

    They are those of `oneof audit`, with `X` in place of the columns for images. Gold rows have a checked label: it is
    used to predict the others, and they are not suspected, as by `oneof audit --gold`.
    """
    from oneof.audit import find_label_issues
    from oneof.candidates.checked_labels import insert_checked_labels
    from oneof.cli.auditing.issues import CHECKED_NOTE, count_folds, describe_rate, find_issues
    from oneof.cli.tables.gold import check_unchecked_rows
    from oneof.errors import InputError
    from oneof.labeling.validation import check_gold

    start, sentences = prepared.candidates, []
    if start.is_unlabeled.all():
        raise InputError("--audit needs a table with labels; all rows are unlabeled. Remove the option.")
    if gold:
        codes = check_gold(gold, start.classes, len(start))
        labels: list[Any] = [None] * len(start)
        for row, code in codes.items():
            labels[row] = start.classes.tolist()[code]
        start, checked, _ = insert_checked_labels(start, labels)
        check_unchecked_rows(start, checked, "remove --gold to audit the labels themselves")
        prepared = replace(prepared, candidates=start, is_checked=checked)
        sentences.append(CHECKED_NOTE)
    if X is None:
        _, result = find_issues(prepared, "auto", folds=count_folds(prepared), seed=seed)
    else:
        result = find_label_issues(
            X, start, cv=count_folds(prepared), groups=prepared.groups, checked=prepared.is_checked
        )
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


def _has_features(table: "Table", exclude: set[str], overrides: Any) -> bool:
    """Return whether the table has feature columns."""
    return bool(set(table.frame.columns) - exclude - set(overrides.drop) - set(table.label_columns))


def _make_estimator(prepared: "PreparedTable", label_options: LabelOptions) -> Any:
    """Return the requested estimator, or None for the default of the session."""
    from oneof.cli.tables.methods import resolve_methods

    if label_options.method.lower() == DEFAULT:
        return None
    [pipeline] = resolve_methods(prepared, label_options.method, label_options.seed)[0].values()
    return pipeline[1:]  # without the encoder: the features of the session are already encoded
