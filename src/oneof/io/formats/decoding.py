"""A trial of Parquet and Arrow files in another process, because a damaged file can end the process that decodes it.

The compiled code of polars allocates the lengths that a damaged page declares, and ends the process if there is not
enough memory. Python cannot catch that. The files are therefore decoded once by another process, whose result is
discarded: if it ends abnormally, the file is rejected with an error. Ordinary errors are left to the actual reading,
which has the message.
"""

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from oneof.errors import DataError
from oneof.trial import run_trial

_GROUP_BYTES = 2**28
_GROUP_FILES = 256
"""Files are tried in groups, so that many small files do not start a process each."""

_TRIAL = """
import polars as pl
scan = {"parquet": lambda file: pl.scan_parquet(file, hive_partitioning=False), "arrow": pl.scan_ipc}[request["kind"]]
for number, file in enumerate(request["files"]):
    print(number, flush=True)
    try:
        for _ in scan(file).collect_batches():
            pass
    except BaseException:
        pass
"""

_decoded: set[tuple[str, int, int]] = set()
"""Path, size and modification time of the files that were decoded."""


def check_decodable(files: Sequence[Path], kind: str) -> None:
    """Raise if the process that decodes the first of some Parquet or Arrow files ends abnormally.

    The next files may be decoded by the same process. A file that has not changed since is not decoded again. Where
    no second Python can be started (an embedded or frozen interpreter), nothing is checked.

    Raises
    ------
    DataError
        If the first file cannot be decoded.
    """
    if not files or _identity(files[0]) in _decoded:
        return
    sizes = itertools.accumulate(_identity(file)[1] for file in files[:_GROUP_FILES])
    group = files[: max(sum(size <= _GROUP_BYTES for size in sizes), 1)]
    trial = run_trial(_TRIAL, {"kind": kind, "files": [os.fspath(file.absolute()) for file in group]})
    if trial is None:
        return
    begun = trial.stdout.count(b"\n")
    if not begun:  # polars is not installed or does not start, which the actual reading reports
        return
    n_decoded = begun - (trial.returncode != 0)
    _decoded.update(_identity(file) for file in group[:n_decoded])
    if n_decoded == 0:
        raise DataError(
            f"{files[0]} cannot be read: the process that decoded it ended with {_describe(trial.returncode)}. The "
            "file is damaged, or needs more memory than there is. Write it again, or convert it to CSV elsewhere."
        )


def _identity(file: Path) -> tuple[str, int, int]:
    try:
        status = file.stat()
    except OSError:
        return (str(file.absolute()), 0, -1)
    return (str(file.absolute()), status.st_size, status.st_mtime_ns)


def _describe(returncode: int) -> str:
    return f"signal {-returncode}" if returncode < 0 else f"exit code {returncode}"
