"""Where a run stands, in a file that is there whole or not at all: JSON and plain arrays in one .npz, no pickle.

The archive has a checksum for every part, so that a file that was cut or damaged is told from a whole one.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oneof.errors import DataError
from oneof.files import as_path, atomic_write, create_directories, read_arrays
from oneof.validation import check_bool, check_positive

FORMAT = "oneof-checkpoint"
FORMAT_VERSION = 2


@dataclass(frozen=True)
class CheckpointConfig:
    """Where and how often a run is kept.

    Attributes
    ----------
    path : str or path-like
        By custom it ends in ``.npz``.
    every_rows : int, optional
        After so many rows, at the next end of a batch.
    every_seconds : float, optional
        After so many seconds, at the next end of a batch.
    resume : bool
        Go on from the file if it is there.

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
        """Tell whether to write after so many rows and seconds since the last time.

        Parameters
        ----------
        rows : int
        seconds : float

        Returns
        -------
        bool
        """
        return (self.every_rows is not None and rows >= self.every_rows) or (
            self.every_seconds is not None and seconds >= self.every_seconds
        )


def write(path: Path, facts: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write facts, as far as JSON can hold them, and arrays; an older file is replaced once the new one is on disk."""
    header = json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, **facts}, allow_nan=False)
    with create_directories(path.parent), atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez(file, header=np.frombuffer(header.encode(), dtype=np.uint8), **arrays)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the facts and the arrays of a checkpoint.

    Raises
    ------
    DataError
        If the file is no checkpoint, or is damaged.
    """
    try:
        arrays = read_arrays(path)
        facts = json.loads(arrays.pop("header").tobytes())
        sound = isinstance(facts, dict) and facts.get("format") == FORMAT
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (KeyError, RecursionError, ValueError):  # DataErrors of the arrays are ValueErrors
        sound = False
    if not sound:
        raise DataError(f"{path} is damaged, or no checkpoint of oneof: begin anew with --restart.")
    if facts.get("format_version") != FORMAT_VERSION:
        raise DataError(f"{path} was written by another version of oneof: use that one, or begin anew with --restart.")
    return facts, arrays
