"""Online learners: rows per second of an epoch, and fits from files compared with rows in memory."""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import scipy.sparse as sp

from benchmarks.common import markdown, process_memory, run_child, time_alternating, timed
from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron, make_partial_labels
from oneof.datasets import load
from oneof.errors import DataError
from oneof.io import Column, Overrides, align_columns
from oneof.stream import StreamOptions, fit_stream
from oneof.stream.encoder import StreamEncoder


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


def print_speeds(title, seconds, n, peer):
    """Print the median and the range of each side, its rows per second, and the ratio to a side."""
    reference = np.median(seconds[peer])
    rows = [
        [name, f"{middle:.4f} s [{low:.4f}, {high:.4f}]", f"{n / middle:,.0f}", f"{reference / middle:.2f}"]
        for name, (low, middle, high) in ((name, np.quantile(v, [0, 0.5, 1])) for name, v in seconds.items())
    ]
    print(f"\n{title}\n\n{markdown([f'{n:,} rows', 'time', 'rows/s', f'ratio to {peer}'], rows)}", flush=True)


LEARNERS = (AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos)
FORMS = {"float32": np.float32, "float64": np.float64, "uint8": lambda X: (255 * X).round().astype(np.uint8)}


def epochs(*, repeats=7):
    """Time a fit of each learner on 60,000 pixels in several types, and the first fit of a new process that compiles.

    MNIST is loaded by `oneof.datasets.load`; without it, random rows of its size are used, which the output states.
    """
    X, _, y = dense_rows()
    sides = {}
    for form, convert in FORMS.items():
        rows = convert(X)
        sides |= {f"{learner.__name__}, {form}": partial(learner().fit, rows, y) for learner in LEARNERS}
    print_speeds("60,000 x 784 pixels, sets of 2", time_alternating(sides, repeats), len(X), next(iter(sides)))
    with tempfile.TemporaryDirectory() as cache:
        for state in ("compiling", "compiled before"):
            done = run_child("online", "epochs-child", env={"NUMBA_CACHE_DIR": cache})
            print(f"first fit of a new process, {state}: {float(done.stdout):.2f} s")


def epochs_child():
    """Print the seconds of the first fit in this process."""
    X = np.random.default_rng(0).normal(size=(100, 5))
    print(timed(partial(AvgPegasos().fit, X, np.arange(100) % 3), time.perf_counter)[1])


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
        peer = "partial_fit, rows in memory"
        sides = {peer: fit_in_memory(rows)}
        for form in FORMATS:
            path = Path(folder, form if form == "mixed.csv" else f"t.{form}")
            write_table(path, rows)
            sides[f"fit_stream, {form}"] = partial(fit_file, path)
        seconds = time_alternating(sides, repeats, clock=time.process_time)
        print_speeds(f"{N_FEATURES} numbers, processor time", seconds, rows, peer)
        print_memories(rows // 4 // BATCH * BATCH, Path(folder))
