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
    choose_columns,
    conform,
    make_encoder,
    odd_labels,
    read_labels,
    read_table,
    read_truth,
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
    notes : list of str
    """

    table: Table
    candidates: CandidateSets
    truth: Any
    columns: list[Column]
    frame: "pl.DataFrame"
    notes: list[str]


def prepare(path: Path, reading: Reading) -> Prepared:
    """Read a table of a file; every fault of it is an error of `oneof.errors`."""
    if not reading.labels:
        raise InputError("--labels names no column.")
    verbatim = {*reading.labels, *([reading.truth] if reading.truth else [])}
    as_text = {*reading.overrides.texts, *reading.overrides.categories}
    table = read_table(path, as_text=as_text - verbatim, verbatim=verbatim)
    candidates = read_labels(table, reading.labels, separator=reading.separator, classes=reading.classes)
    truth = None if reading.truth is None else read_truth(table, reading.truth, candidates.classes)
    columns, notes = choose_columns(table, exclude=verbatim, overrides=reading.overrides)
    notes = [*odd_labels(candidates, reading.separator), *notes]
    return Prepared(table, candidates, truth, columns, conform(table.frame, columns, path), notes)


def find_methods(prepared: Prepared, method: str, seed: int) -> dict[str, Any]:
    """Return the methods that `method` names ("auto": all but slow ones), as pipelines from the table's features."""
    import scipy.sparse as sp
    from sklearn.pipeline import Pipeline

    from oneof.compare import holds_negative, panel, without_slow

    encoder = make_encoder(prepared.columns)
    encoded = encoder.fit_transform(prepared.frame)
    n_rows = int((~prepared.candidates.is_unlabelled).sum())
    negative = holds_negative(encoded)
    known = panel(sparse=sp.issparse(encoded), negative=negative, n_rows=n_rows, random_state=seed)
    names = list(without_slow(known)) if method.lower() == "auto" else [_name(method, known)]
    # The steps of a method's own pipeline go into ours: steps within steps would hide the last one.
    return {
        name: Pipeline([("columns", encoder), *(getattr(known[name], "steps", None) or [("method", known[name])])])
        for name in names
    }


def _name(method: str, known: Mapping[str, Any]) -> str:
    by_lower = {name.lower(): name for name in known}
    if method.lower() not in by_lower:
        close = difflib.get_close_matches(method.lower(), by_lower, n=1)
        hint = f"did you mean {by_lower[close[0]]}? " if close else ""
        raise InputError(f"there is no method {method!r}: {hint}The methods are auto, {', '.join(known)}.")
    return by_lower[method.lower()]
