"""Messy tables: the accuracy from a messy file without an option, and the time of reading numbers and Parquet."""

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl

from benchmarks.survey import make_survey
from oneof.io import read_table

N_TEST = 2_000
N_ROWS, N_COLUMNS, N_REPEATS = 1_000_000, 50, 3
N_TRIALS = 9


def messy():
    """Print the test accuracy and the time of `oneof fit` on the clean and on the messy survey, without an option."""
    train, test = make_survey(), make_survey(N_TEST, seed=1)
    for form in ("clean", "messy"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.csv").write_bytes(getattr(train, form))
            Path(folder, "test.csv").write_bytes(getattr(test, form))
            start = time.perf_counter()
            summary = _run(folder, "fit", "train.csv", "--labels", "city", "--json")
            seconds = time.perf_counter() - start
            _run(folder, "predict", "train-oneof/model.skops", "test.csv", "--out", "labels.csv", "--json")
            labels = pl.read_csv(Path(folder, "labels.csv"))["label"].to_numpy()
        accuracy = np.mean(labels == np.array(test.truth))
        kinds = [feature["kind"] for feature in summary["features"]]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        print(
            f"{form}: accuracy {accuracy:.3f} on {N_TEST} test rows, fit {seconds:.0f} s; features: {counts}",
            flush=True,
        )
        for note in summary["notes"]:
            print(f"  {note}")


def numbers():
    """Print the times of one polars read and of `read_table`, in turn, for files of 10^6 rows of 50 numbers.

    Each file differs from the first one in one respect: a column has one empty cell, each cell is in quotation marks,
    or one cell in 100 is "-". polars is given this token; it is a missing value there, and a cell of text here.
    """
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(rng.normal(size=(N_ROWS, N_COLUMNS)), schema=[f"x{j}" for j in range(N_COLUMNS)])
    row = pl.int_range(pl.len())
    one = [pl.when(row != int(rng.integers(N_ROWS))).then(pl.col(name)).alias(name) for name in frame.columns]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "numbers.csv")
        for name, columns, options, peer_options in (
            ("numbers only", pl.all, {}, {}),
            ("one empty cell per column", lambda: one, {}, {}),
            ("all cells quoted", pl.all, {"quote_style": "always"}, {}),
            ("one cell in 100 is -", lambda: _with_gaps(frame, rng), {"null_value": "-"}, {"null_values": "-"}),
        ):
            frame.select(columns()).write_csv(path, float_precision=6, **options)
            times = np.array(
                [[_seconds(pl.read_csv, path, **peer_options), _seconds(read_table, path)] for _ in range(N_REPEATS)]
            )
            peer, ours = np.median(times, axis=0)
            ratio, processor_ratio = np.median(times[:, 1] / times[:, 0], axis=0)
            print(
                f"{name}: polars {peer[0]:.2f} s, read_table {ours[0]:.2f} s, median ratio {ratio:.2f}, of processor "
                f"times {processor_ratio:.2f}",
                flush=True,
            )


def parquet():
    """Print the time of reading Parquet files with and without the other process that decodes them first, in turn."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in (100, 10_000, 100_000, 1_000_000):
            path = Path(folder, f"{n_rows}.parquet")
            pl.DataFrame(
                rng.normal(size=(n_rows, N_COLUMNS)), schema=[f"x{j}" for j in range(N_COLUMNS)]
            ).write_parquet(path)
            times = np.array([[_read_parquet(path, check) for check in (False, True)] for _ in range(N_TRIALS)])
            (plain, plain_cpu), (checked, checked_cpu) = np.median(times, axis=0)
            low, middle, high = np.quantile(times[:, 1, 1] - times[:, 0, 1], (0.25, 0.5, 0.75))
            print(
                f"{n_rows} rows, {path.stat().st_size / 1e6:.1f} MB: processor time {plain_cpu:.2f} s without, "
                f"{checked_cpu:.2f} s with, difference {middle:.2f} s [{low:.2f}, {high:.2f}]; elapsed {plain:.2f} s "
                f"without, {checked:.2f} s with",
                flush=True,
            )


def _read_parquet(path, check):
    """Return the elapsed and the processor time of `read_table`, with that of the other process."""
    os.utime(path)  # a file that has not changed is not decoded again
    start, before = time.perf_counter(), os.times()
    with nullcontext() if check else patch("oneof.io.batches.check_decodable"):
        read_table(path)
    after = os.times()
    return time.perf_counter() - start, sum(after[:4]) - sum(before[:4])


def _with_gaps(frame, rng):
    """Return the columns of a table with one missing cell in 100."""
    return [pl.when(pl.Series(rng.random(len(frame)) >= 0.01)).then(pl.col(name)).alias(name) for name in frame.columns]


def _seconds(function, path, **options):
    """Return the elapsed time of a call, and the processor time of all threads."""
    start, processor_start = time.perf_counter(), time.process_time()
    function(path, **options)
    return time.perf_counter() - start, time.process_time() - processor_start


def _run(folder, *arguments):
    command = [sys.executable, "-m", "oneof.cli", *arguments]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(result.stdout)
