"""State of a run over a stream, and its checkpoints.

A checkpoint is JSON and plain arrays in one .npz file, without pickles, which is written atomically. The archive has a
checksum for every member, so truncated and damaged files are detected. `RunState` declares what is stored: each field
is written by its value, and read by its type.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from oneof.archives import read_arrays
from oneof.errors import DataError
from oneof.files import as_path, atomic_write, create_directories
from oneof.io import Column, Finding, UnreadableCells
from oneof.io.formats.source import Source
from oneof.io.table import Position
from oneof.solvers.online import OnlineState
from oneof.stream.encoder import Moments
from oneof.stream.options import StreamOptions
from oneof.stream.validation import ProgressiveValidation
from oneof.typing import Mask
from oneof.validation import check_bool, check_positive

FORMAT = "oneof-checkpoint"
FORMAT_VERSION = 10
"""10: named tuples are lists; older files cannot be read."""

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
        check_positive("every_rows", self.every_rows, integer=True, or_none=True)
        check_positive("every_seconds", self.every_seconds, or_none=True)
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
    moments : Moments, optional
    missing_indicator : ndarray of bool, optional
        The fitted attributes of the `StreamEncoder` of the columns.
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
    prior: list[float] | None = None
    columns: list[Column] | None = None
    moments: Moments | None = None
    missing_indicator: Mask | None = None
    state: OnlineState | None = None
    validation: ProgressiveValidation = ProgressiveValidation()  # noqa: RUF009 - frozen
    findings: list[Finding] = field(default_factory=list)
    unreadable: UnreadableCells = field(default_factory=UnreadableCells)
    unreadable_labels: UnreadableCells = field(default_factory=UnreadableCells)

    def __post_init__(self) -> None:
        shapes = {np.shape(part) for part in (*vars(self.moments or Moments()).values(), self.missing_indicator)}
        if self.moments is not None and len(shapes) > 1:
            raise DataError("the moments of the columns have different lengths. Start again.")
        if self.state is not None:
            shape = self.state.V.shape
            if len(shape) != 2 or shape[0] != len(self.classes or ()) or self.state.U.shape not in (shape, (0, 0)):
                raise DataError("the weights of the state do not match its classes. Start again.")


def fingerprint(source: Source, estimator: Any, options: StreamOptions) -> dict[str, Any]:
    """Return the facts that must be equal for a run to be resumed, by their names, in the types of JSON."""
    facts = {"source": source.name, "format": source.format, "files": source.identity()}
    facts |= {"method": type(estimator).__name__}
    given = vars(options) | {name: getattr(options.table, name) for name in ("dialect", "cell_format", "strict")}
    facts |= {f"option {name}": value for name, value in given.items() if name != "table"}
    facts |= {f"parameter {name}": repr(value) for name, value in sorted(estimator.get_params().items())}
    facts |= {f"version of {name}": version(name) for name in _PACKAGES}
    facts["version of the stemmer"] = options.text_options.to_dict()["stemmer"]
    in_json: dict[str, Any] = json.loads(json.dumps(facts, default=vars))
    return in_json


def write_checkpoint(path: Path, run: RunState, identity: Mapping[str, Any]) -> None:
    """Write the state and the facts of a run; an older file is replaced once the new one is on disk."""
    arrays: dict[str, Any] = {}

    def to_json(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays[name := f"array_{len(arrays)}"] = value
            return name
        return value.item() if isinstance(value, np.generic) else vars(value)

    header = {"format": FORMAT, "format_version": FORMAT_VERSION, "identity": identity, "run": run}
    content = json.dumps(header, allow_nan=False, default=to_json).encode()
    with create_directories(path.parent), atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.frombuffer(content, dtype=np.uint8), **arrays)


def read_checkpoint(path: Path, identity: Mapping[str, Any]) -> RunState:
    """Return the state in a checkpoint of a run with these facts.

    Raises
    ------
    DataError
        If the file is not a checkpoint, is damaged, or belongs to a run with other facts; the error names the first
        difference.
    """
    try:
        arrays = read_arrays(path)
        header = json.loads(arrays.pop("header").tobytes())
        version = {FORMAT: header["format_version"]}[header["format"]]  # a KeyError for another format
        stored = dict(header["identity"])
        run: RunState | None = _unpack(RunState, header["run"], arrays) if version == FORMAT_VERSION else None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    # A DataError about the arrays is a ValueError.
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        raise DataError(f"{path} is damaged, or is not a checkpoint of oneof. Start again with --restart.") from None
    if run is None:
        raise DataError(
            f"{path} was written by another version of oneof. Use that version, or start again with --restart."
        )
    for name in [name for name, fact in identity.items() if stored.get(name) != fact]:
        if name == "files":
            raise DataError(
                f"{identity['source']} has changed since {path} was written. Restore it, or start again with --restart."
            )
        raise DataError(
            f"{path} was written with the {name} {stored.get(name)!r}; got {identity[name]!r}. Use the same, or start "
            "again with --restart."
        )
    return run


def _unpack(kind: Any, value: Any, arrays: Mapping[str, Any]) -> Any:
    """Return the value of a type from the types of JSON, in which an array is the name of one of `arrays`."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _unpack(args[0], value, arrays)
    if origin is np.ndarray:
        return arrays[value]
    if origin in (list, tuple):
        return origin(_unpack(args[0], item, arrays) for item in value)
    if origin is dict:
        return {name: _unpack(args[1], item, arrays) for name, item in value.items()}
    if isinstance(value, dict):  # a dataclass
        return kind(**{name: _unpack(hint, value[name], arrays) for name, hint in get_type_hints(kind).items()})
    if hasattr(kind, "_fields"):  # JSON has a named tuple as a list
        return kind(*map(_unpack, get_type_hints(kind).values(), value, repeat(arrays)))
    return value
