"""State of a run over a stream, and its checkpoints.

A checkpoint is JSON and plain arrays in one .npz file, without pickles, which is written atomically. The archive has a
checksum for every member, so truncated and damaged files are detected.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from oneof.archives import read_arrays
from oneof.errors import DataError
from oneof.files import as_path, atomic_write, create_directories
from oneof.io import Column, Finding, UnreadableCells
from oneof.io.batches import Position
from oneof.io.formats.records import RecordOffset
from oneof.io.formats.source import Source
from oneof.solvers.online import OnlineState
from oneof.stream.encoder import Moments, StreamEncoder
from oneof.stream.validation import LabelAutocorrelation, ProgressiveValidation, Window
from oneof.validation import check_bool, check_positive

FORMAT = "oneof-checkpoint"
FORMAT_VERSION = 7
"""7: the state has the rows whose labels cannot be read, beside the cells; older files cannot be read."""

_PACKAGES = ("oneof", "numpy", "scikit-learn", "numba", "polars")
"""Packages that may change the last bit of a weight if their version changes."""


@dataclass(frozen=True)
class CheckpointConfig:
    """File and frequency of the checkpoints.

    Attributes
    ----------
    path : str or path-like
        By convention it ends in ``.npz``.
    every_rows : int, optional
        Number of rows after which a checkpoint is written, at the next end of a batch.
    every_seconds : float, optional
        Number of seconds after which a checkpoint is written, at the next end of a batch.
    resume : bool
        Continue from the file if it exists.

    Examples
    --------
    >>> from pathlib import Path
    >>> from oneof.stream import CheckpointConfig
    >>> CheckpointConfig(Path("birds.npz"), every_rows=1_000_000).is_due(rows=500_000, seconds=61.0)
    True
    """

    path: Path
    every_rows: int | None = None
    every_seconds: float | None = 60.0
    resume: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", as_path(self.path))
        if self.every_rows is not None:
            check_positive("every_rows", self.every_rows, integer=True)
        if self.every_seconds is not None:
            check_positive("every_seconds", self.every_seconds)
        check_bool("resume", self.resume)

    def is_due(self, rows: int, seconds: float) -> bool:
        """Return whether to write a checkpoint.

        Parameters
        ----------
        rows : int
            Number of rows since the last checkpoint.
        seconds : float
            Time since the last checkpoint.

        Returns
        -------
        bool
        """
        return (self.every_rows is not None and rows >= self.every_rows) or (
            self.every_seconds is not None and seconds >= self.every_seconds
        )


@dataclass(frozen=True)
class RunState:
    """State of a run between two batches.

    Attributes
    ----------
    position : Position
        The position of the next batch.
    epoch : int
        Number of complete passes.
    total_rows : int
        Number of rows learned, over all passes.
    classes : list of str, optional
    prior : list of float, optional
        The prior by which posteriors are divided.
    columns : list of Column, optional
        None before the first batch, and for svmlight files.
    encoder : StreamEncoder, optional
    state : OnlineState, optional
        The state of the online classifier.
    validation : ProgressiveValidation
    findings : list of Finding
        Findings about the file, the columns and the classes.
    unreadable : UnreadableCells
        Cells of the first pass that are not of the kind of their column.
    unreadable_labels : UnreadableCells
        Rows of the first pass that are unlabeled since their labels cannot be read.
    """

    position: Position = Position()  # noqa: RUF009 - frozen
    epoch: int = 0
    total_rows: int = 0
    classes: list[str] | None = None
    columns: list[Column] | None = None
    encoder: StreamEncoder | None = None
    state: OnlineState | None = None
    validation: ProgressiveValidation = ProgressiveValidation()  # noqa: RUF009 - frozen
    findings: list[Finding] = field(default_factory=list)
    prior: list[float] | None = None
    unreadable: UnreadableCells = field(default_factory=UnreadableCells)
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)


def fingerprint(source: Source, estimator: Any, options: Any) -> dict[str, Any]:
    """Return the properties that must be equal for a run to be resumed, in the types of JSON."""
    return {
        "source": source.name,
        "format": source.format,
        "files": source.identity(),
        "options": _to_builtin(asdict(options)),
        "method": type(estimator).__name__,
        "parameters": {name: repr(value) for name, value in sorted(estimator.get_params().items())},
        "versions": {name: version(name) for name in _PACKAGES}
        | {"the stemmer": options.text_options.to_dict()["stemmer"]},
    }


def check_compatible(header: Mapping[str, Any], identity: Mapping[str, Any], path: Path) -> None:
    """Raise unless a checkpoint has the same stream, options and versions; the error names the first difference."""
    stored, current = header.get("identity", {}), identity
    restart = "or start again with --restart."
    for key in ("source", "format"):
        if stored.get(key) != current[key]:
            raise DataError(
                f"{path} belongs to the {key} {stored.get(key)!r}; got {current[key]!r}. Use the same {key}, {restart}"
            )
    if stored.get("files") != current["files"]:
        raise DataError(f"{current['source']} has changed since {path} was written. Restore it, {restart}")
    for key, word in (("options", "option"), ("parameters", "parameter"), ("versions", "version of")):
        before, after = stored.get(key, {}), current[key]
        if key == "parameters" and stored.get("method") != current["method"]:
            raise DataError(
                f"{path} belongs to {stored.get('method')}; got {current['method']}. Use the same method, {restart}"
            )
        for name in after:
            if before.get(name) != after[name]:
                raise DataError(
                    f"{path} was written with the {word} {name} {before.get(name)!r}; got {after[name]!r}. "
                    f"Use the same, {restart}"
                )


def pack_state(run: RunState, identity: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of the checkpoint of a run after its first batch."""
    if run.state is None:
        raise ValueError("a run has no checkpoint before its first batch")
    arrays = {"V": run.state.V, "U": run.state.U}
    if run.encoder is not None:
        moments = run.encoder.moments_
        arrays |= {f"column_{f.name}": getattr(moments, f.name) for f in fields(moments)}
        arrays["column_missing_indicator"] = run.encoder.missing_indicator_
    numbers = {f.name: getattr(run.state, f.name) for f in fields(run.state) if f.name not in arrays}
    header = {
        "identity": dict(identity),
        "position": {"file": run.position.file, "offset": run.position.offset._asdict()},
        "epoch": run.epoch,
        "total_rows": run.total_rows,
        "classes": run.classes,
        "prior": run.prior,
        "columns": None if run.columns is None else _to_builtin(run.columns),
        "encoder": None if run.encoder is None else _to_builtin(run.encoder.get_params()),
        "state": {name: number.item() if hasattr(number, "item") else number for name, number in numbers.items()},
        "validation": asdict(run.validation),
        "findings": [finding.to_dict() for finding in run.findings],
        "unreadable": run.unreadable.to_dict(),
        "unreadable_labels": run.unreadable_labels.to_dict(),
    }
    return header, arrays


def unpack_state(header: Mapping[str, Any], arrays: Mapping[str, Any], path: Path) -> RunState:
    """Return the run from the header and the arrays of `pack_state`."""
    try:
        state = OnlineState(V=arrays["V"], U=arrays["U"], **header["state"])
        encoder = None
        if header["encoder"] is not None:
            params = header["encoder"]
            words = params["stop_words"]
            encoder = StreamEncoder(
                [tuple(column) for column in params["columns"]],
                params["hash_bits"],
                tuple(words) if isinstance(words, list) else words,
                params["stem"],
            )
            encoder.moments_ = Moments(*(arrays[f"column_{f.name}"] for f in fields(Moments)))
            encoder.missing_indicator_ = arrays["column_missing_indicator"]
        counts = header["validation"]
        windows = tuple(Window(**window) for window in counts["windows"])
        total, order = Window(**counts["total"]), LabelAutocorrelation.from_dict(counts["autocorrelation"])
        return RunState(
            Position(header["position"]["file"], RecordOffset(**header["position"]["offset"])),
            header["epoch"],
            header["total_rows"],
            header["classes"],
            None
            if header["columns"] is None
            else [Column(name, kind, tuple(formats)) for name, kind, formats in header["columns"]],
            encoder,
            state,
            ProgressiveValidation(**{**counts, "total": total, "windows": windows, "autocorrelation": order}),
            [Finding.from_dict(finding) for finding in header["findings"]],
            header["prior"],
            UnreadableCells.from_dict(header["unreadable"]),
            UnreadableCells.from_dict(header["unreadable_labels"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise DataError(f"{path} lacks fields of a checkpoint. Start again with --restart.") from None


def write_checkpoint(path: Path, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write a header in the types of JSON, and arrays; an older file is replaced once the new one is on disk."""
    content = json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, **header}, allow_nan=False)
    with create_directories(path.parent), atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.frombuffer(content.encode(), dtype=np.uint8), **arrays)


def read_checkpoint(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and the arrays of a checkpoint.

    Raises
    ------
    DataError
        If the file is not a checkpoint, or is damaged.
    """
    try:
        arrays = read_arrays(path)
        header = json.loads(arrays.pop("header").tobytes())
        valid = isinstance(header, dict) and header.get("format") == FORMAT
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (KeyError, RecursionError, ValueError):  # a DataError about the arrays is a ValueError
        valid = False
    if not valid:
        raise DataError(f"{path} is damaged, or is not a checkpoint of oneof. Start again with --restart.")
    if header.get("format_version") != FORMAT_VERSION:
        raise DataError(
            f"{path} was written by another version of oneof. Use that version, or start again with --restart."
        )
    return header, arrays


def _to_builtin(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_builtin(item) for name, item in value.items()}
    return [_to_builtin(item) for item in value] if isinstance(value, list | tuple) else value
