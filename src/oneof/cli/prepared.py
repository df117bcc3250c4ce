"""A table read for learning: candidate sets, truth, features, and the methods that may learn from them."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.tables import (
    Column,
    Overrides,
    Table,
    Words,
    check_words,
    choose_columns,
    conform,
    make_encoder,
    odd_labels,
    read_labels,
    read_table,
    read_truth,
    read_words,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: the options of `fit` and `compare`."""

    labels: tuple[str, ...]
    truth: str | None = None
    separator: str = "|"
    classes: tuple[str, ...] | None = None
    overrides: Overrides = Overrides()  # noqa: RUF009 - frozen
    stop_words: str = "none"
    stem: str = "none"


@dataclass(frozen=True)
class Prepared:
    """What was read.

    Attributes
    ----------
    table : Table
    candidates : CandidateSets
    truth : ndarray or None
    columns : list of Column
        The features.
    frame : polars.DataFrame
        Only the features, in the types that the encoder takes.
    words : Words
        Stop words and stems of the text columns.
    notes : tuple of str
        What was odd about it.
    """

    table: Table
    candidates: CandidateSets
    truth: Any
    columns: list[Column]
    frame: "pl.DataFrame"
    words: Words
    notes: tuple[str, ...]


def prepare(path: Path, reading: Reading) -> Prepared:
    """Read a table of a file; every fault of it is an error of `oneof.errors`."""
    if not reading.labels:
        raise InputError(f"--labels names no column: name the one of {path} that holds the labels.")
    words = read_words(reading.stop_words, reading.stem)
    verbatim = {*reading.labels, *([reading.truth] if reading.truth else [])}
    as_text = {*reading.overrides.texts, *reading.overrides.categories}
    table = read_table(path, as_text=as_text - verbatim, verbatim=verbatim)
    candidates = read_labels(table, reading.labels, separator=reading.separator, classes=reading.classes)
    truth = None if reading.truth is None else read_truth(table, reading.truth, candidates.classes)
    columns, oddities = choose_columns(table, exclude=verbatim, overrides=reading.overrides)
    frame = conform(table.frame, columns, path)
    check_words(frame, columns, words, path)
    notes = (*odd_labels(candidates.classes.tolist(), reading.separator), *oddities)
    return Prepared(table, candidates, truth, columns, frame, words, notes)


def find_methods(prepared: Prepared, method: str, seed: int) -> tuple[dict[str, Any], list[str]]:
    """Return the methods that `method` names, as pipelines from the table's features, and notes on what is left out.

    "auto" and "best" stand for all methods but slow ones.
    """
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline

    from oneof.comparison.methods import auto_methods, default_estimators, excluded_from_auto, has_negative_values

    encoder = make_encoder(prepared.columns, prepared.words)
    encoded = encoder.fit_transform(prepared.frame)
    n_rows, n_features = int((~prepared.candidates.is_unlabeled).sum()), encoded.shape[1]
    known = default_estimators(
        sparse=sp.issparse(encoded), negative=has_negative_values(encoded), n_rows=n_rows, random_state=seed
    )
    if method.lower() in ("auto", "best"):
        names, left_out = list(auto_methods(known, n_features)), excluded_from_auto(n_features)
    else:
        names, left_out = [_name(method, known)], ()
    # The steps of a method's own pipeline go into ours: steps within steps would hide the last one. Sparse features are
    # left as they are: each is scaled by the encoder, and a word that occurs once would weigh as much as any other.
    first = -1 if sp.issparse(encoded) else 0
    steps = {name: getattr(known[name], "steps", None) or [("method", known[name])] for name in names}
    found = {name: Pipeline([("columns", encoder), *steps[name][first:]]) for name in names}
    notes = [
        f"{name} is not compared: of {n_features:,} features it takes long; --method {name} fits it."
        for name in left_out
    ]
    return found, notes


def _name(method: str, known: Mapping[str, Any]) -> str:
    by_lower = {name.lower(): name for name in known}
    if method.lower() not in by_lower:
        close = difflib.get_close_matches(method.lower(), by_lower, n=1)
        hint = f"did you mean {by_lower[close[0]]}? " if close else ""
        raise InputError(f"there is no method {method!r}: {hint}The methods are auto, best, {', '.join(known)}.")
    return by_lower[method.lower()]
