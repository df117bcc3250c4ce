"""From a table to a labeling session."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from oneof.candidates import CandidateSets
from oneof.cli.prepared import Prepared, Reading, find_methods
from oneof.errors import DataError, InputError
from oneof.io import (
    Overrides,
    Table,
    align_columns,
    check_texts,
    choose_columns,
    find_column,
    make_encoder,
    read_labels,
    read_table,
    read_text_options,
    suspicious_labels,
)
from oneof.labeling.images import ImageFolder
from oneof.labeling.log_file import kept_classes
from oneof.labeling.session import LabelingSession
from oneof.labeling.table import LabelTable

if TYPE_CHECKING:
    import polars as pl

DEFAULT = "auto"
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]+$)")


@dataclass(frozen=True)
class Wanted:
    """What is labeled, and how: the options of `oneof label` beside those of reading.

    Attributes
    ----------
    show : (kind, column) or None
    images : Path or None
        The folder of images; by default that of the table.
    hide : tuple of str
        Columns that are neither shown nor learned from.
    method : str
        A method of the panel, or "auto" for the session's own.
    strategy : str
    overlap : int
    answers : Path
        The file of answers.
    seed : int
    """

    show: tuple[str, str] | None
    images: Path | None
    hide: tuple[str, ...]
    method: str
    strategy: str
    overlap: int
    answers: Path
    seed: int


@dataclass(frozen=True)
class Begun:
    """A session, the images that it shows, and what was odd about its table."""

    session: LabelingSession
    images: ImageFolder | None
    notes: tuple[str, ...]


def begin(path: Path, reading: Reading, wanted: Wanted, *, background: bool) -> Begun:
    """Read a table, and begin or go on with its session; every fault of it is an error of `oneof.errors`."""
    if len(reading.labels) != 1:
        raise InputError("--labels should name one column, which answers are for.")
    label = reading.labels[0]
    kind, column = wanted.show or ("table", None)
    words = read_text_options(reading.stop_words, reading.stem)
    overrides = reading.overrides
    as_text = {*overrides.texts, *overrides.categories, *([column] if column else [])}
    table = read_table(path, as_text=as_text - {label}, verbatim=[label])
    hidden = tuple(find_column(name, table.frame.columns, path) for name in wanted.hide)
    if column is not None:
        if kind not in ("text", "image"):
            raise InputError(f"--show {kind} is not known: give text or image, and a column.")
        find_column(column, table.frame.columns, path)
    start, notes = _read_start(table, label, reading.separator, reading.classes or kept_classes(wanted.answers))
    notes += _formulas(start)
    images = ImageFolder(wanted.images or path.absolute().parent) if kind == "image" else None
    exclude = {label, *hidden, *([column] if images and column else [])}
    named = (*overrides.texts, *overrides.categories, *overrides.numbers, *overrides.drop)
    if kind == "text" and column and column not in named:
        overrides = replace(overrides, texts=(*overrides.texts, column))  # however short the texts are
    if images and not _has_features(table, exclude, overrides):
        X = images.features(table.frame[str(column)].to_list())
        estimator = None
        if wanted.method.lower() != DEFAULT:
            raise InputError("--method needs columns to learn from beside the images: leave it out.")
    else:
        columns, oddities = choose_columns(table, exclude=exclude, overrides=overrides)
        frame = align_columns(table.frame, columns, path)
        check_texts(frame, columns, words, path)
        prepared = Prepared(table, start, None, columns, frame, words, ())
        X, estimator = make_encoder(columns, words).fit_transform(frame), _method(prepared, wanted)
        notes = (*notes, *oddities)
    session = LabelingSession(
        X,
        start,
        path=wanted.answers,
        table=LabelTable(table.frame, label, kind, column, hidden, reading.separator),
        estimator=estimator,
        strategy=wanted.strategy,
        overlap=wanted.overlap,
        background=background,
        random_state=wanted.seed,
    )
    return Begun(session, images, notes)


def _read_start(
    table: Table, label: str, separator: str, named: tuple[str, ...] | None
) -> tuple[CandidateSets, tuple[str, ...]]:
    """Return what the table itself says of the labels; the column may be empty or absent if the classes are given."""
    if label in table.frame.columns and not _is_empty(table.frame[label]):
        found = read_labels(table, [label], separator=separator, classes=named)
        return found, tuple(suspicious_labels(found.classes.tolist(), separator))
    if named is None:
        if label not in table.frame.columns:
            find_column(label, table.frame.columns, table.path)
        raise DataError(f"column {label!r} of {table.path} holds no labels yet: give the classes (--classes a,b,c).")
    if len(set(named)) < 2 or len(set(named)) < len(named):
        raise InputError("--classes should name two labels or more, each once.")
    silent = CandidateSets(np.ones((table.frame.height, len(named)), dtype=bool), np.asarray(named))
    new = () if label in table.frame.columns else (f"column {label!r} is new: exports hold it",)
    return silent, tuple(f"{sentence}." for sentence in new)


def _formulas(start: CandidateSets) -> tuple[str, ...]:
    """Return a note on labels that programs for spreadsheets take for formulas; `fit` must read them as they are."""
    found = [name for name in map(str, start.classes.tolist()) if _FORMULA.match(name)]
    if not found:
        return ()
    listed = ", ".join(map(repr, found[:3]))
    return (f"spreadsheets take {listed} for a formula: do not open an exported CSV file in one, take Parquet.",)


def _is_empty(cells: "pl.Series") -> bool:
    import polars as pl

    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().replace("", None)
    return cells.null_count() == len(cells)


def _has_features(table: Table, exclude: set[str], overrides: Overrides) -> bool:
    return bool(set(table.frame.columns) - exclude - set(overrides.drop) - set(table.label_columns))


def _method(prepared: Prepared, wanted: Wanted) -> Any:
    if wanted.method.lower() == DEFAULT:
        return None
    [pipeline] = find_methods(prepared, wanted.method, wanted.seed)[0].values()
    return pipeline[1:]  # without the columns, which the session has as features already
