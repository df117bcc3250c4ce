"""Memory of a fit and of the fitted estimator."""

import json
import resource
import tracemalloc
import warnings

import numpy as np

import oneof
from benchmarks.common import Table, process_memory, reset_peak_memory, run_child, timed
from tests.retained import bytes_beyond

SIZES = (1000, 3000, 10_000, 30_000, 100_000)
N_FEATURES, N_CLASSES = 20, 5
VARIANTS = {
    "PLGP, nystroem": ("PLGP", {"approximation": "nystroem"}),
    "PLSVM, rbf": ("PLSVM", {"kernel": "rbf"}),
    "TransductiveSVM, rbf": ("TransductiveSVM", {"kernel": "rbf"}),
}
MEASURES = ("X (MB)", "additional peak (MB)", "arrays at the peak (MB)", "retained beyond X (MB)", "CPU-s")
TABLE = Table("reliability/memory.csv", ("estimator", "rows", *MEASURES))


def make_data(n):
    """Return rows around the centers of their classes, with candidate sets: a fifth exact, a fifth full."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, N_CLASSES, size=n)
    X = np.abs(rng.normal(size=(n, N_FEATURES)) + 2.0 * rng.normal(size=(N_CLASSES, N_FEATURES))[truth])
    Y = np.zeros((n, N_CLASSES), dtype=bool)
    Y[np.arange(n), truth] = True
    Y[np.arange(n), (truth + rng.integers(0, N_CLASSES, size=n)) % N_CLASSES] = True
    Y[::5] = True
    return X, Y


def memory_child(name: str, n: int, limit: int):
    """Fit once, and print the seconds and the memory as JSON."""
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    warnings.simplefilter("ignore")
    kind, parameters = VARIANTS.get(name, (name, {}))
    kind = getattr(oneof, kind)
    kind(**parameters).fit(*make_data(200))
    X, Y = make_data(n)
    reset_peak_memory()
    before = process_memory("VmRSS")
    fitted, seconds = timed(lambda: kind(**parameters).fit(X, Y))
    peak = process_memory("VmHWM") - before
    n_bytes = bytes_beyond(fitted, X, Y)
    del fitted
    arrays = None
    if seconds < limit / 4:
        tracemalloc.start()
        kind(**parameters).fit(X, Y)
        arrays = tracemalloc.get_traced_memory()[1]
    print(json.dumps({"seconds": seconds, "peak": peak, "retained": n_bytes, "X": X.nbytes, "arrays": arrays}))


def largest_fit(name, seconds):
    """Return the table row of the largest fit within a number of processor seconds."""
    row, last = None, None
    for n in SIZES:
        if last is not None and last * (n / row[1]) > seconds:  # the time grows at least linearly
            break
        done = run_child("reliability", "memory-child", name, n, 4 * seconds)
        if done.returncode:
            break
        result = json.loads(done.stdout)
        if result["seconds"] > seconds and row is not None:
            break
        last = result["seconds"]
        megabytes = [None if result[key] is None else result[key] / 1e6 for key in ("X", "peak", "arrays", "retained")]
        row = [name, n, *("" if m is None else f"{m:.1f}" for m in megabytes), f"{last:.1f}"]
    return row


def memory(*names: str, seconds=60):
    """Measure the memory of a fit beyond its rows, and that of the fitted estimator: docs/reliability/memory.csv.

    Each estimator is fitted in a separate process with more and more rows, until a fit would take longer than
    `--seconds` of processor time, or 10^5 rows are reached. A first fit with 200 rows is not counted: it imports and
    compiles. With names, the rows of the other estimators are unchanged.
    """
    all_names = sorted([n for n in oneof._LAZY_NAMES if hasattr(getattr(oneof, n), "fit")] + list(VARIANTS))
    for name in names or all_names:
        TABLE.replace([largest_fit(name, seconds)], "estimator", by=("estimator",))
