"""Shared plumbing of the benchmarks: labels, alternating runs, tables, child processes and RESULTS.md."""

import csv
import os
import platform
import re
import resource
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
SECTIONS = (
    *("online", "svm", "gaussian-processes", "graphs", "naive-bayes"),
    *("growth", "roofline", "tensors-cuda", "tensors-cpu"),
)
HEADER = "# Benchmark results\n\nEach section is written by the command in its first line.\n"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


# -- Labels ------------------------------------------------------------------------------------------------------------


def candidate_columns(data: Any) -> np.ndarray:
    """Return the true labels of a data set as columns of its candidate sets; its classes need not be sorted."""
    column = {label: k for k, label in enumerate(data.candidates.classes.tolist())}
    return np.array([column[label] for label in data.y.tolist()])


def hide_labels(y: np.ndarray, labeled: np.ndarray) -> np.ndarray:
    """Return the labels of some rows, and -1 for all other rows."""
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    return partial


def labeled_per_class(y: np.ndarray, order: np.ndarray, number: int) -> np.ndarray:
    """Return the first `number` rows of each class in an order of the rows."""
    return np.concatenate([order[y[order] == k][:number] for k in range(y.max() + 1)])


# -- Time and memory ---------------------------------------------------------------------------------------------------


def time_alternating(
    sides: Mapping[str, Callable[[], Any]],
    repeats: int,
    *,
    clock: Callable[[], float] = time.perf_counter,
    warm_up: bool = True,
) -> dict[str, np.ndarray]:
    """Return the seconds of each side in each round; sides alternate, so that other load affects all of them."""
    if warm_up:
        for run in sides.values():
            run()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def timed(function: Callable[[], Any], repeats: int = 1) -> tuple[Any, np.ndarray]:
    """Return the last result, and the wall-clock seconds of each run."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return result, np.array(seconds)


def cpu_seconds(function: Callable[[], Any]) -> float:
    """Return the processor time of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def peak_memory() -> float:
    """Return the peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)


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


def run_child(theme: str, part: str, *words: Any, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess:
    """Run a part of a theme in a new process, and return its output."""
    command = [sys.executable, "-m", "benchmarks", theme, part, *map(str, words)]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **(env or {})}, capture_output=True, text=True, check=False
    )


# -- Output ------------------------------------------------------------------------------------------------------------


def mean_and_sd(values: Sequence[float] | np.ndarray, width: int = 5, digits: int = 3) -> str:
    """Format a mean and a standard deviation."""
    return f"{np.mean(values):{width}.{digits}f} +- {np.std(values):.{digits}f}"


def median_and_range(seconds: np.ndarray) -> str:
    """Format a median with its range."""
    return f"{np.median(seconds):.3f} s [{seconds.min():.3f}, {seconds.max():.3f}]"


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *rows])


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
    """Replace one section of RESULTS.md; those that are not in `SECTIONS` are kept at the end."""
    sections = dict.fromkeys(SECTIONS, "")
    page = RESULTS.read_text() if RESULTS.exists() else ""
    for name in re.findall(r"<!-- end of (.+?) -->", page):
        begin, end = _marks(name)
        sections[name] = page.split(begin)[1].split(end)[0].strip("\n")
    sections[section] = text.strip("\n")
    blocks = [HEADER]
    for name, content in sections.items():
        if content:
            begin, end = _marks(name)
            blocks.append(f"{begin}\n\n{content}\n\n{end}\n")
    RESULTS.write_text("\n".join(blocks))


def _marks(section: str) -> tuple[str, str]:
    """Return the comments around a section."""
    return f"<!-- {section} -->", f"<!-- end of {section} -->"
