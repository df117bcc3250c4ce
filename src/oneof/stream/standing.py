"""Where a run stands, as one value; and what a checkpoint holds of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oneof.errors import DataError
from oneof.solvers.online import OnlineState
from oneof.stream import runs
from oneof.stream.batches import Position
from oneof.stream.encoder import StreamEncoder
from oneof.stream.lines import Place
from oneof.stream.moments import Moments
from oneof.stream.source import Source
from oneof.stream.validation import Validation, Window
from oneof.tables import Column

_PACKAGES = ("oneof", "numpy", "scikit-learn", "numba", "polars")
"""Packages whose versions may change the last bit of a weight."""


@dataclass(frozen=True)
class Standing:
    """All that a run knows between two batches.

    Attributes
    ----------
    position : Position
        Where the next batch begins.
    epoch : int
        Passes that are complete.
    rows_in_all : int
        Rows learned from, over all passes.
    classes : list of str, optional
    columns : list of Column, optional
        None before the first batch, and for svmlight files.
    encoder : StreamEncoder, optional
    state : OnlineState, optional
    validation : Validation
    notes : list of str
    """

    position: Position = Position()  # noqa: RUF009 - frozen
    epoch: int = 0
    rows_in_all: int = 0
    classes: list[str] | None = None
    columns: list[Column] | None = None
    encoder: StreamEncoder | None = None
    state: OnlineState | None = None
    validation: Validation = Validation()  # noqa: RUF009 - frozen
    notes: list[str] = field(default_factory=list)


def identify(source: Source, estimator: Any, options: Any) -> dict[str, Any]:
    """Return what must be the same for a run to be taken up again, in the types of JSON."""
    return {
        "source": source.name,
        "format": source.format,
        "files": source.identity(),
        "options": _plain(asdict(options)),
        "method": type(estimator).__name__,
        "parameters": {name: repr(value) for name, value in sorted(estimator.get_params().items())},
        "versions": {name: version(name) for name in _PACKAGES} | {"the stemmer": options.words.facts()["stemmer"]},
    }


def compare(facts: Mapping[str, Any], identity: Mapping[str, Any], path: Path) -> None:
    """Raise unless a checkpoint is of the same stream, options and versions; the message names the first difference."""
    then, now = facts.get("identity", {}), identity
    anew = "or begin anew with --restart."
    for part in ("source", "format"):
        if then.get(part) != now[part]:
            raise DataError(f"{path} is of the stream {then.get(part)!r}, not {now[part]!r}: give the same, {anew}")
    if then.get("files") != now["files"]:
        raise DataError(f"{now['source']} has changed since {path} was written: put it back, {anew}")
    for part, word in (("options", "option"), ("parameters", "parameter"), ("versions", "version of")):
        before, after = then.get(part, {}), now[part]
        if part == "parameters" and then.get("method") != now["method"]:
            raise DataError(f"{path} is of {then.get('method')}, not of {now['method']}: give the same method, {anew}")
        for name in after:
            if before.get(name) != after[name]:
                raise DataError(
                    f"{path} was written with the {word} {name} {before.get(name)!r}, and it is {after[name]!r} now: "
                    f"give the same, {anew}"
                )


def pack(at: Standing, identity: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts and the arrays of a run that has begun."""
    if at.state is None:
        raise ValueError("a run that has not begun has nothing to keep")
    arrays = {"V": at.state.V, "U": at.state.U}
    if at.encoder is not None:
        moments = at.encoder.moments_
        arrays |= {f"column_{f.name}": getattr(moments, f.name) for f in fields(moments)}
        arrays["column_marked"] = at.encoder.marked_
    numbers = {f.name: getattr(at.state, f.name) for f in fields(at.state) if f.name not in arrays}
    facts = {
        "identity": dict(identity),
        "position": {"file": at.position.file, "place": at.position.place._asdict()},
        "epoch": at.epoch,
        "rows_in_all": at.rows_in_all,
        "classes": at.classes,
        "columns": None if at.columns is None else [list(column) for column in at.columns],
        "encoder": None if at.encoder is None else _plain(at.encoder.get_params()),
        "state": {name: number.item() if hasattr(number, "item") else number for name, number in numbers.items()},
        "validation": asdict(at.validation),
        "notes": list(at.notes),
    }
    return facts, arrays


def unpack(facts: Mapping[str, Any], arrays: Mapping[str, Any], path: Path) -> Standing:
    """Return the run that `pack` was given."""
    try:
        state = OnlineState(V=arrays["V"], U=arrays["U"], **facts["state"])
        encoder = None
        if facts["encoder"] is not None:
            given = facts["encoder"]
            words = given["stop_words"]
            encoder = StreamEncoder(
                [tuple(column) for column in given["columns"]],
                given["hash_bits"],
                tuple(words) if isinstance(words, list) else words,
                given["stem"],
            )
            encoder.moments_ = Moments(*(arrays[f"column_{f.name}"] for f in fields(Moments)))
            encoder.marked_ = arrays["column_marked"]
        counts = facts["validation"]
        windows = tuple(Window(**window) for window in counts["windows"])
        total, order = Window(**counts["total"]), runs.from_facts(counts["runs"])
        return Standing(
            Position(facts["position"]["file"], Place(**facts["position"]["place"])),
            facts["epoch"],
            facts["rows_in_all"],
            facts["classes"],
            None if facts["columns"] is None else [Column(*column) for column in facts["columns"]],
            encoder,
            state,
            Validation(**{**counts, "total": total, "windows": windows, "runs": order}),
            facts["notes"],
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise DataError(f"{path} lacks what a checkpoint holds: begin anew with --restart.") from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
