"""What `oneof fit --online` costs from file to model, beside partial_fit on rows that are in memory, and what it needs.

First, in one run: processor time of `fit_stream` for CSV, Parquet, JSON lines and svmlight (20 numbers, 5 classes,
a third of the rows with two candidates; and CSV with a category and a text of 12 words), the classes named, so
that there is one pass; and of AvgPerceptron.partial_fit on the same scaled rows in batches of the same size. Sides take
turns, the median of the repeats is shown. Then the peak memory of processes that learn from n, 4n and 16n rows.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from oneof import AvgPerceptron, CandidateSets
from oneof.io import Overrides, align_columns
from oneof.stream import StreamOptions, fit_stream
from oneof.stream.encoder import StreamEncoder

D, CLASSES, BATCH = 20, tuple(f"c{k}" for k in range(5)), 10_000
WORDS = np.array([f"word{i}" for i in range(5000)])
FORMATS = ("csv", "parquet", "jsonl", "svmlight", "mixed.csv")


def make(n, seed):
    """Return a table of n rows and its numbers."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)).round(4)
    truth = (X @ np.random.default_rng(0).normal(size=(D, len(CLASSES)))).argmax(axis=1)
    labels = [CLASSES[k] if i % 3 else f"{CLASSES[k]}|{CLASSES[(k + 1) % 5]}" for i, k in enumerate(truth)]
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(D)}).with_columns(label=pl.Series(labels))


def write(path, n):
    """Write n rows, a block at a time."""
    if path.suffix == ".parquet":
        pl.concat([make(BATCH, seed) for seed in range(n // BATCH)]).write_parquet(path, row_group_size=100_000)
        return
    with path.open("w") as file:
        for seed in range(n // BATCH):
            frame = make(BATCH, seed)
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


def learner():
    """Return the learner of the command line."""
    return AvgPerceptron(average=True, fit_intercept=True)


def learn(path):
    """Learn from a file as the command line does."""
    svmlight = path.suffix == ".svmlight"
    overrides = Overrides(texts=("text",)) if path.name == "mixed.csv" else Overrides()
    labels = () if svmlight else ("label",)
    options = StreamOptions(labels, classes=CLASSES, overrides=overrides, batch_rows=BATCH, hash_bits=18)
    return fit_stream(path, learner(), options)


def peak():
    """Return the peak memory of this process in MB; that of getrusage may be the peak of the process that began it."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024


def in_memory(n):
    """Return a function that learns from n scaled rows that are in memory."""
    frame = pl.concat([make(BATCH, seed) for seed in range(n // BATCH)])
    y = CandidateSets.from_strings(frame["label"].to_list())
    columns = [(f"x{j}", "number") for j in range(D)]
    rows = StreamEncoder(columns).fit_transform(align_columns(frame, learn_columns(columns), Path("memory")))

    def run():
        model = learner()
        for first in range(0, n, BATCH):
            model.partial_fit(rows[first : first + BATCH], y[first : first + BATCH], classes=y.classes)

    return run


def learn_columns(columns):
    """Return columns as tables name them."""
    from oneof.io import Column

    return [Column(*column) for column in columns]


def speeds(n, repeats, folder):
    """Print rows a second of every side."""
    sides = {"partial_fit, rows in memory": in_memory(n)}
    for form in FORMATS:
        path = folder / (form if form == "mixed.csv" else f"t.{form}")
        write(path, n)
        sides[f"fit_stream, {form}"] = lambda path=path: learn(path)
    for run in sides.values():
        run()
    seconds = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    reference = np.median(seconds["partial_fit, rows in memory"])
    print(f"{n:,} rows of {D} numbers, {repeats} repeats, processor time")
    for name, values in seconds.items():
        low, middle, high = np.quantile(values, [0, 0.5, 1])
        speed = f"{n / middle:12,.0f} rows/s {middle / reference:7.1f} x"
        print(f"  {name:30s} {middle:7.3f} s [{low:.3f}, {high:.3f}] {speed}")


def memories(n, folder):
    """Print the peak memory of processes that learn from n, 4n and 16n rows."""
    print("Peak resident memory of a process that learns, MB (imports and compiled loops among them)")
    for form in FORMATS:
        peaks = []
        for times in (1, 4, 16):
            path = folder / (form if form == "mixed.csv" else f"m.{form}")
            write(path, n * times)
            done = subprocess.run([sys.executable, __file__, "--learn", path], capture_output=True, check=True)
            peaks.append((n * times, path.stat().st_size / 1e6, float(done.stdout)))
            path.unlink()
        shown = "; ".join(f"{rows:,} rows ({size:,.0f} MB): {peak:.0f}" for rows, size, peak in peaks)
        print(f"  {form:10s} {shown}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--learn", type=Path, help="learn from one file and print the peak memory in MB")
    arguments = parser.parse_args()
    if arguments.learn:
        learn(arguments.learn)
        print(peak())
    else:
        with tempfile.TemporaryDirectory() as temporary:
            speeds(arguments.rows, arguments.repeats, Path(temporary))
            memories(arguments.rows // 4 // BATCH * BATCH, Path(temporary))
