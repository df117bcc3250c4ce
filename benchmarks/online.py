"""Online learners: rows per second of an epoch, and fits from files compared with rows in memory."""

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from benchmarks.common import process_memory, run_child, time_alternating
from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron, make_partial_labels
from oneof.datasets import load
from oneof.errors import DataError
from oneof.io import Column, Overrides, align_columns
from oneof.solvers.online import OnlineState, pegasos, perceptron
from oneof.solvers.row_accessors import memory_order
from oneof.stream import StreamOptions, fit_stream
from oneof.stream.encoder import StreamEncoder

LEARNERS = (AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos)


def dense_rows():
    """Return 60,000 x 784 float32 rows of 10 classes, exact labels and sets of two; random rows without MNIST."""
    try:
        data = load("mnist")
        X, y = data.X[:60_000].astype(np.float32) / 255, np.asarray(data.y[:60_000])
    except DataError:
        print("(MNIST was not found: random rows of its size and sparsity are used instead)")
        rng = np.random.default_rng(0)
        X = rng.random((60_000, 784), dtype=np.float32) * (rng.random((60_000, 784)) < 0.19)
        y = (X @ rng.normal(size=(784, 10))).argmax(axis=1)
    return X, y, make_partial_labels(y, n_distractors=1, random_state=0)


def sparse_rows(n=100_000, d=50_000, nonzeros=75, n_classes=20):
    """Return text-like CSR rows (words by Zipf's law, log counts, unit norm) with labels of a random linear model."""
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1, d + 1)
    words = np.searchsorted(np.cumsum(frequency / frequency.sum()), rng.random(n * 2 * nonzeros)).clip(max=d - 1)
    rows = np.repeat(np.arange(n), 2 * nonzeros)
    order = np.lexsort((words, rows))
    rows, words = rows[order], words[order]
    first = np.concatenate([[True], (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])])
    keys = np.flatnonzero(first)
    counts = np.diff(np.append(keys, len(rows)))
    # Select `nonzeros` distinct words of each row.
    rank = np.arange(len(keys)) - np.searchsorted(rows[keys], rows[keys])
    permuted = np.argsort(rng.random(len(keys)) + rows[keys], kind="stable")
    keep = np.sort(permuted[rank < nonzeros])
    X = sp.csr_matrix((np.log1p(counts[keep]), (rows[keys][keep], words[keys][keep])), shape=(n, d), dtype=np.float32)
    X = sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sort_indices()  # as scikit-learn's vectorizers return them
    y = np.asarray(X @ rng.normal(size=(d, n_classes)).astype(np.float32)).argmax(axis=1)
    return X, y, make_partial_labels(y, n_distractors=1, random_state=0)


def epoch(learner, X, mask):
    """Return a function that runs one pass of the learner's solver, without any checks."""
    prediction = "average" if learner.__name__.startswith("Avg") else "max"
    solve = perceptron if learner.__name__.endswith("Perceptron") else pegasos

    def run():
        start = OnlineState.zeros(mask.shape[1], X.shape[1], dtype=X.dtype, average=False, order=memory_order(X))
        return solve(X, mask, prediction=prediction, initial=start)

    return run


def sgd(X, y):
    """Return a function that runs one pass of scikit-learn's SGDClassifier over exact labels."""

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one pass does not converge
            SGDClassifier(loss="hinge", max_iter=1, tol=None, random_state=0).fit(X, y)

    return run


def print_speed(name, seconds, n, reference=None):
    """Print the median, the range, the rows per second, and the ratio to a reference."""
    low, middle, high = np.quantile(seconds, [0, 0.5, 1])
    ratio = "" if reference is None else f"   {np.median(reference) / middle:6.2f} x"
    print(f"  {name:34s} {middle:8.4f} s  [{low:.4f}, {high:.4f}] {n / middle:12,.0f} rows/s{ratio}")


def compare_learners(title, X, y, sets, repeats, with_sum):
    """Time fit, the epoch alone, SGDClassifier and, for dense rows, X.sum()."""
    n = X.shape[0]
    print(f"\n{title}: {n:,} x {X.shape[1]:,}, {len(np.unique(y))} classes, {X.dtype}")
    exact = CandidateSets.from_labels(y)
    sides = {"SGDClassifier(hinge), exact": sgd(X, y)}
    if with_sum:
        sides["X.sum()"] = X.sum
    for learner in LEARNERS:
        name = learner.__name__
        sides[f"{name}.fit, sets of 2"] = lambda learner=learner: learner().fit(X, sets)
        sides[f"{name}.fit, exact"] = lambda learner=learner: learner().fit(X, exact)
        sides[f"{name} epoch alone, sets of 2"] = epoch(learner, X, sets.mask)
        if name == "AvgPegasos":
            sides[f"{name}(average=True).fit, sets of 2"] = lambda: AvgPegasos(average=True).fit(X, sets)
    seconds = time_alternating(sides, repeats)
    peer = seconds["SGDClassifier(hinge), exact"]
    for name, values in seconds.items():
        print_speed(name, values, n, peer)
    fits = [np.median(v) for k, v in seconds.items() if ".fit, " in k and "average=True" not in k]
    print(f"  slowest fit: {np.median(peer) / max(fits):.1f} times the rows/s of SGDClassifier")
    if with_sum:
        epochs = [np.median(v) for k, v in seconds.items() if "epoch" in k]
        total = np.median(seconds["X.sum()"])
        print(f"  slowest epoch: {max(epochs) / total:.2f} x X.sum(); slowest fit: {max(fits) / total:.2f} x X.sum()")


FIRST_CALL = """
import time
start = time.perf_counter()
import numpy as np, scipy.sparse as sp
from oneof import AvgPegasos
X = np.random.default_rng(0).normal(size=(100, 5))
X = sp.csr_matrix(X) if {sparse} else X
loaded = time.perf_counter()
AvgPegasos().fit(X, np.arange(100) % 3)
print(f"{{loaded - start:.2f}} {{time.perf_counter() - loaded:.2f}}")
"""


def epochs(*, repeats=7):
    """Time one epoch of each learner, scikit-learn's SGDClassifier and one pass over the array, alternating.

    MNIST is loaded by `oneof.datasets.load`; without it, random rows of its size are used, which the output states.
    """
    print_first_calls()
    compare_learners("Dense", *dense_rows(), repeats, with_sum=True)
    compare_learners("Sparse", *sparse_rows(), max(3, repeats // 2), with_sum=False)


def print_first_calls():
    """Print the time of the first fit in a new process, without and with compiled loops in the cache."""
    print("\nFirst call in a new process (imports, first fit):")
    for sparse in (False, True):
        with tempfile.TemporaryDirectory() as cache:
            for what in ("compiling", "cached"):
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_CALL.format(sparse=sparse)],
                    env={**os.environ, "NUMBA_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                imports, fit = done.stdout.split()
                print(f"  {'CSR' if sparse else 'dense':6s} {what:10s} {imports} s + {fit} s")


N_FEATURES, CLASSES, BATCH = 20, tuple(f"c{k}" for k in range(5)), 10_000
WORDS = np.array([f"word{i}" for i in range(5000)])
FORMATS = ("csv", "parquet", "jsonl", "svmlight", "mixed.csv")


def make_table(n, seed):
    """Return a table of n rows with candidate sets as text."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES)).round(4)
    truth = (X @ np.random.default_rng(0).normal(size=(N_FEATURES, len(CLASSES)))).argmax(axis=1)
    labels = [CLASSES[k] if i % 3 else f"{CLASSES[k]}|{CLASSES[(k + 1) % 5]}" for i, k in enumerate(truth)]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(N_FEATURES)}).with_columns(label=pl.Series(labels))


def write_table(path, n):
    """Write n rows to a file in blocks."""
    if path.suffix == ".parquet":
        pl.concat([make_table(BATCH, seed) for seed in range(n // BATCH)]).write_parquet(path, row_group_size=100_000)
        return
    with path.open("w") as file:
        for seed in range(n // BATCH):
            frame = make_table(BATCH, seed)
            if path.name == "mixed.csv":
                rng = np.random.default_rng(seed)
                texts = [" ".join(row) for row in rng.choice(WORDS, (BATCH, 12))]
                frame = frame.with_columns(
                    color=pl.Series(rng.choice(["red", "green", "blue"], BATCH)), text=pl.Series(texts)
                )
            if path.suffix == ".csv":
                file.write(frame.write_csv(include_header=seed == 0))
            elif path.suffix == ".jsonl":
                file.write(frame.write_ndjson())
            else:
                for *x, label in frame.iter_rows():
                    file.write(f"{label} {' '.join(f'{j}:{value}' for j, value in enumerate(x))}\n")


def make_learner():
    """Return the command line's learner."""
    return AvgPerceptron(average=True, fit_intercept=True)


def fit_file(path):
    """Fit from a file as the command line does."""
    svmlight = path.suffix == ".svmlight"
    overrides = Overrides(texts=("text",)) if path.name == "mixed.csv" else Overrides()
    labels = () if svmlight else ("label",)
    options = StreamOptions(labels, classes=CLASSES, overrides=overrides, batch_rows=BATCH, hash_bits=18)
    return fit_stream(path, make_learner(), options)


def fit_in_memory(n):
    """Return a function that fits n scaled rows in memory."""
    frame = pl.concat([make_table(BATCH, seed) for seed in range(n // BATCH)])
    y = CandidateSets.from_strings(frame["label"].to_list())
    columns = [(f"x{j}", "number") for j in range(N_FEATURES)]
    table = align_columns(frame, [Column(*column) for column in columns], Path("memory"))
    rows = StreamEncoder(columns).fit_transform(table)

    def run():
        model = make_learner()
        for first in range(0, n, BATCH):
            model.partial_fit(rows[first : first + BATCH], y[first : first + BATCH], classes=y.classes)

    return run


def print_speeds(n, repeats, folder):
    """Print the rows per second of every side."""
    sides = {"partial_fit, rows in memory": fit_in_memory(n)}
    for form in FORMATS:
        path = folder / (form if form == "mixed.csv" else f"t.{form}")
        write_table(path, n)
        sides[f"fit_stream, {form}"] = lambda path=path: fit_file(path)
    seconds = time_alternating(sides, repeats, clock=time.process_time)
    reference = np.median(seconds["partial_fit, rows in memory"])
    print(f"{n:,} rows of {N_FEATURES} numbers, {repeats} repeats, processor time")
    for name, values in seconds.items():
        low, middle, high = np.quantile(values, [0, 0.5, 1])
        speed = f"{n / middle:12,.0f} rows/s {middle / reference:7.1f} x"
        print(f"  {name:30s} {middle:7.3f} s [{low:.3f}, {high:.3f}] {speed}")


def print_memories(n, folder):
    """Print the peak memory of processes that fit n, 4n and 16n rows."""
    print("Peak resident memory of a process that fits, MB (including imports and compiled loops)")
    for form in FORMATS:
        peaks = []
        for times in (1, 4, 16):
            path = folder / (form if form == "mixed.csv" else f"m.{form}")
            write_table(path, n * times)
            done = run_child("online", "streaming-child", path)
            peaks.append((n * times, path.stat().st_size / 1e6, float(done.stdout)))
            path.unlink()
        shown = "; ".join(f"{rows:,} rows ({size:,.0f} MB): {_peak:.0f}" for rows, size, _peak in peaks)
        print(f"  {form:10s} {shown}")


def streaming_child(path: str):
    """Fit from one file, and print the peak memory in MB."""
    fit_file(Path(path))
    print(process_memory("VmHWM") / 2**20)


def streaming(*, rows=200_000, repeats=3):
    """Time `fit_stream` for each format, and partial_fit on the same rows in memory; then measure peak memory.

    Formats are CSV, Parquet, JSON lines and svmlight (20 numbers, 5 classes, a third of the rows with two candidates),
    and CSV with a category and a text of 12 words. The classes are given, so that there is one pass. AvgPerceptron
    has batches of the same size. Sides alternate; the median of the repeats is printed, as processor time. Then the
    peak memory of processes that fit n, 4n and 16n rows.
    """
    with tempfile.TemporaryDirectory() as folder:
        print_speeds(rows, repeats, Path(folder))
        print_memories(rows // 4 // BATCH * BATCH, Path(folder))
