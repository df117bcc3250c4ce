"""The frame of the benchmarks: data, times in turn, memory, child processes, tables of results and RESULTS.md.

A benchmark is a table of cases and one function, which measures a case. `Table` holds the lines of a file in docs/,
from which `summary` parts print the tables of the pages.
"""

import csv
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
HEADER = """# Benchmark results

Each section is written by the command in its first line. "Measured once", here and on other pages, marks numbers
of benchmarks that were removed after a decision; the history of the repository has them.
"""
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


# -- Data --------------------------------------------------------------------------------------------------------------


def candidate_columns(data: Any) -> np.ndarray:
    """Return the true labels of a data set as columns of its candidate sets; its classes need not be sorted."""
    column = {label: k for k, label in enumerate(data.candidates.classes.tolist())}
    return np.array([column[label] for label in data.y.tolist()])


def hide_labels(y: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """Return the labels of some rows, and -1 for all other rows."""
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    return partial


def read_arrays(file: str) -> dict[str, np.ndarray]:
    """Return the arrays of a file in a folder of data sets, of which some are not part of a `Dataset`."""
    from oneof.datasets.cache import data_folders
    from oneof.errors import DataError

    path = next((path for folder in data_folders(None) if (path := folder / file).exists()), None)
    if path is None:
        raise DataError(f"the file {file} must be in a data folder. Set ONEOF_DATA to its folder.")
    with np.load(path) as arrays:
        return dict(arrays)


# -- Time and memory ---------------------------------------------------------------------------------------------------


def time_alternating(
    sides: Mapping[str, Callable[[], Any]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, np.ndarray]:
    """Return the seconds of each side in each round after a first one; sides alternate, as other load affects all."""
    for run in sides.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            seconds[name].append(timed(run, clock)[1])
    return {name: np.array(values) for name, values in seconds.items()}


def timed(run: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[Any, float]:
    """Return the result of a call, and its seconds, by default of the processor."""
    start = clock()
    result = run()
    return result, clock() - start


def process_memory(field: str) -> int:
    """Return a field of /proc/self/status, such as VmRSS or VmHWM, in bytes."""
    match = re.search(rf"{field}:\s*(\d+)", Path("/proc/self/status").read_text())
    if match is None:
        raise KeyError(field)
    return 1024 * int(match[1])


def reset_peak_memory() -> None:
    """Reset VmHWM of this process to its present memory."""
    Path("/proc/self/clear_refs").write_text("5")


# -- Processes ---------------------------------------------------------------------------------------------------------


def run_child(
    theme: str, part: str, *words: Any, env: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess:
    """Run a part of a theme in a new process, and return its output."""
    command = [sys.executable, "-m", "benchmarks", theme, part, *map(str, words)]
    env = {**os.environ, **(env or {})}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=timeout)


def run_oneof(folder: str | Path, *words: str) -> dict[str, Any]:
    """Run the command ``oneof`` in a folder, and return its JSON."""
    command = [sys.executable, "-m", "oneof.cli", *words, "--json"]
    return json.loads(subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout)


# -- Output ------------------------------------------------------------------------------------------------------------


def markdown(columns: Sequence[Any], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    cells = [" | ".join(map(str, row)) for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *(f"| {row} |" for row in cells)])


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


class Table:
    """The lines of a CSV file in docs/, as dicts of text.

    Parameters
    ----------
    file : str
        Path within docs/.
    columns : sequence of str
    """

    def __init__(self, file: str, columns: Sequence[str]) -> None:
        self.path, self.columns = DOCS / file, tuple(columns)

    def where(self, **values: Any) -> list[dict[str, str]]:
        """Return the lines with these values, or all lines."""
        if not self.path.exists():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            return [line for line in csv.DictReader(file) if all(line[key] == str(values[key]) for key in values)]

    def replace(self, lines: Iterable[Sequence[Any]], *key: str, by: Sequence[str] = ()) -> None:
        """Print lines, and write them instead of the lines that have the same values of the columns `key`.

        The file is sorted by the columns `by`; without `key`, it has the new lines alone.
        """
        new = [dict(zip(self.columns, map(str, line), strict=True)) for line in lines]
        replaced = {tuple(line[name] for name in key) for line in new}
        kept = [line for line in self.where() if tuple(line[name] for name in key) not in replaced] if key else []
        ordered = sorted([*kept, *new], key=lambda line: tuple(line[name] for name in by))
        write_csv(self.path, self.columns, [line.values() for line in ordered])
        print(markdown(self.columns, [line.values() for line in new]), flush=True)


def describe_machine() -> str:
    """Describe the processor, the system and Python, without a host name or a path."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def load_average() -> str:
    """Return the load average of the last minute."""
    return f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"


def write_section(section: str, text: str) -> None:
    """Replace one section of RESULTS.md, or add it at the end."""
    page = RESULTS.read_text() if RESULTS.exists() else HEADER
    begin, end = f"<!-- {section} -->", f"<!-- end of {section} -->"
    block = f"{begin}\n\n{text.strip()}\n\n{end}\n"
    before, found, rest = page.partition(begin)
    if found:
        RESULTS.write_text(before + block.rstrip("\n") + rest.split(end, 1)[1])
    else:
        RESULTS.write_text(f"{page.rstrip()}\n\n{block}")
