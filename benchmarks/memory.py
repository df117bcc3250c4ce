"""How much memory a fit takes beyond its rows, and what the estimator holds afterwards: docs/reliability/memory.csv.

Each estimator is fitted in a process of its own, to more and more rows, until a fit would take longer than a minute of
processor time, or 10^5 rows are reached. The first fit, to 200 rows, is not counted: it imports and compiles.

    python benchmarks/memory.py [--seconds 60] [NAME ...]
"""

import argparse
import csv
import json
import re
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np

import oneof

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.held import bytes_beyond

TABLE = Path(__file__).parents[1] / "docs" / "reliability" / "memory.csv"
SIZES = (1000, 3000, 10_000, 30_000, 100_000)
N_FEATURES, N_CLASSES = 20, 5
VARIANTS = {
    "PLGP, nystroem": ("PLGP", {"approximation": "nystroem"}),
    "PLSVM, rbf": ("PLSVM", {"kernel": "rbf"}),
    "TransductiveSVM, rbf": ("TransductiveSVM", {"kernel": "rbf"}),
}
COLUMNS = ("estimator", "rows", "X (MB)", "peak beyond (MB)", "arrays at the peak (MB)", "held beyond X (MB)", "CPU-s")


def draw(n):
    """Return rows around the centers of their classes, with candidate sets: a fifth exact, a fifth full."""
    generator = np.random.default_rng(0)
    truth = generator.integers(0, N_CLASSES, size=n)
    X = np.abs(generator.normal(size=(n, N_FEATURES)) + 2.0 * generator.normal(size=(N_CLASSES, N_FEATURES))[truth])
    Y = np.zeros((n, N_CLASSES), dtype=bool)
    Y[np.arange(n), truth] = True
    Y[np.arange(n), (truth + generator.integers(0, N_CLASSES, size=n)) % N_CLASSES] = True
    Y[::5] = True
    return X, Y


def resident(field):
    """Return what the system says of this process, in bytes."""
    return 1024 * int(re.search(rf"{field}:\s*(\d+)", Path("/proc/self/status").read_text())[1])


def measure(name, n, limit):
    """Fit once, and print what it took."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    warnings.simplefilter("ignore")
    kind, parameters = VARIANTS.get(name, (name, {}))
    kind = getattr(oneof, kind)
    kind(**parameters).fit(*draw(200))
    X, Y = draw(n)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, start = resident("VmRSS"), time.process_time()
    fitted = kind(**parameters).fit(X, Y)
    seconds, peak = time.process_time() - start, resident("VmHWM") - before
    held = bytes_beyond(fitted, X, Y)
    del fitted
    arrays = None
    if seconds < limit / 4:
        tracemalloc.start()
        kind(**parameters).fit(X, Y)
        arrays = tracemalloc.get_traced_memory()[1]
    print(json.dumps({"seconds": seconds, "peak": peak, "held": held, "X": X.nbytes, "arrays": arrays}))


def largest(name, seconds):
    """Return the row of the table of the largest fit that takes no longer than so many seconds."""
    row, last = None, None
    for n in SIZES:
        if last is not None and last * (n / row[1]) > seconds:  # at least in proportion to the rows
            break
        command = [sys.executable, __file__, "--one", name, str(n), "--seconds", str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            break
        found = json.loads(done.stdout)
        if found["seconds"] > seconds and row is not None:
            break
        last = found["seconds"]
        megabytes = [None if found[key] is None else found[key] / 1e6 for key in ("X", "peak", "arrays", "held")]
        row = [name, n, *("" if m is None else f"{m:.1f}" for m in megabytes), f"{last:.1f}"]
    return row


def kept():
    """Return the rows of the table."""
    if not TABLE.exists():
        return []
    with TABLE.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def main():
    """Measure all estimators, or those named, which leaves the rows of the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--one", nargs=2)
    told = parser.parse_args()
    if told.one:
        measure(told.one[0], int(told.one[1]), 4 * told.seconds)
        return
    everyone = sorted([n for n in oneof._HOME if hasattr(getattr(oneof, n), "fit")] + list(VARIANTS))
    rows = {row[0]: row for row in kept()} if told.names else {}
    for name in told.names or everyone:
        rows[name] = largest(name, told.seconds)
        print(*rows[name], sep="\t", flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *(rows[n] for n in everyone if n in rows)])


if __name__ == "__main__":
    main()
