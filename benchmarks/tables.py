"""Messy tables: the accuracy from a messy file without an option, and the time of reading numbers."""

import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.common import run_oneof, timed
from benchmarks.survey import make_survey
from oneof.io import read_table

N_TEST = 2_000
N_ROWS, N_COLUMNS, N_REPEATS = 1_000_000, 50, 3


def messy():
    """Print the test accuracy and the time of `oneof fit` on the clean and on the messy survey, without an option."""
    train, test = make_survey(), make_survey(N_TEST, seed=1)
    for form in ("clean", "messy"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "train.csv").write_bytes(getattr(train, form))
            Path(folder, "test.csv").write_bytes(getattr(test, form))
            summary, seconds = timed(
                partial(run_oneof, folder, "fit", "train.csv", "--labels", "city"), time.perf_counter
            )
            run_oneof(folder, "predict", "train-oneof/model.skops", "test.csv", "--out", "labels.csv")
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
            peer = partial(pl.read_csv, path, **peer_options)
            times = np.array([[_seconds(peer), _seconds(partial(read_table, path))] for _ in range(N_REPEATS)])
            peer, ours = np.median(times, axis=0)
            ratio, processor_ratio = np.median(times[:, 1] / times[:, 0], axis=0)
            print(
                f"{name}: polars {peer[0]:.2f} s, read_table {ours[0]:.2f} s, median ratio {ratio:.2f}, of processor "
                f"times {processor_ratio:.2f}",
                flush=True,
            )


def _with_gaps(frame, rng):
    """Return the columns of a table with one missing cell in 100."""
    return [pl.when(pl.Series(rng.random(len(frame)) >= 0.01)).then(pl.col(name)).alias(name) for name in frame.columns]


def _seconds(run):
    """Return the elapsed time of a call, and the processor time of all threads."""
    start, processor_start = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - start, time.process_time() - processor_start
