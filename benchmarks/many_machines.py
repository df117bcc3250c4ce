"""Fits over the blocks of dask arrays, on 1 to 4 worker processes, beside the ordinary fit: `make bench` runs it.

Every row of the tables comes from one run: the ordinary fit first, then the same rows in eight blocks on 1, 2 and 4
worker processes of one core each. Processor time is that of all workers together, so that it tells what is spent even
where the machine has fewer cores than workers. Rounds and bytes are counted, not estimated. The rows are drawn here:
candidates around the labels of a linear model with noise.
"""

import argparse
import os
import pickle
import statistics
import time
import warnings
from contextlib import contextmanager

import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF

from distributed import Client, LocalCluster, wait
from oneof import CLPL, PLGP, PLSVM, AvgPegasos, AvgPerceptron, CandidateSets, MaxPerceptron, distributed
from oneof.distributed import blocks, clpl, mixing, plgp, reduction

BLOCKS = 8
WORKERS = (1, 2, 4)


def rows(n, d, n_classes=10, seed=0):
    """Return rows and candidate sets, and the labels, of one linear model for all seeds."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    W = np.random.default_rng(d).normal(size=(d, n_classes))
    scores = X @ W / d**0.5 + 0.3 * random.normal(size=(n, n_classes))
    label = scores.argmax(axis=1)
    mask = random.random((n, n_classes)) < 0.2
    mask[np.arange(n), label] = True
    return X, CandidateSets(mask, range(n_classes)), label


@contextmanager
def counting():
    """Count rounds, and the bytes that go to the workers and come from each block."""
    counts = {"rounds": 0, "down": 0, "up": 0}
    originals = {name: getattr(reduction, name) for name in ("compute", "shared")}

    def compute(*values):
        found = originals["compute"](*values)
        counts["rounds"] += 1
        counts["up"] += len(pickle.dumps(found))
        return found

    def shared(value):
        counts["down"] += len(pickle.dumps(value))
        return originals["shared"](value)

    rooms = (reduction, blocks, mixing, clpl, plgp)
    try:
        for room in rooms:
            for name, wrapped in (("compute", compute), ("shared", shared)):
                if hasattr(room, name):
                    setattr(room, name, wrapped)
        yield counts
    finally:
        for room in rooms:
            for name, original in originals.items():
                if hasattr(room, name):
                    setattr(room, name, original)


def processor_seconds(client):
    """Return the processor time of all workers so far."""
    return sum(client.run(lambda: sum(os.times()[:2])).values())


def in_blocks(n, d, n_blocks, seed=0):
    """Return what `rows` draws in as many parts, each drawn where it is needed."""
    parts = [delayed(rows, nout=3)(n // n_blocks, d, seed=seed + number) for number in range(n_blocks)]
    X = [da.from_delayed(part, (n // n_blocks, d), float) for part, _, _ in parts]
    masks = [da.from_delayed(delayed(lambda sets: sets.mask)(y), (n // n_blocks, 10), bool) for _, y, _ in parts]
    return da.concatenate(X), da.concatenate(masks)


def one_fit(model, n, d, client):
    """Return seconds, processor seconds of the workers, counts and the fitted model."""
    held, y = client.persist(in_blocks(n, d, BLOCKS))
    wait([held, y])
    before, start = processor_seconds(client), time.perf_counter()
    with counting() as counts:
        found = distributed.fit(clone(model), held, y, classes=range(10))
    seconds = time.perf_counter() - start
    return seconds, processor_seconds(client) - before, counts, found


def answers(model, X):
    """Return what is compared between fits."""
    return model.latent_mean_and_cov(X)[0] if isinstance(model, PLGP) else model.decision_function(X)


def round_seconds(client, numbers, repeats=20):
    """Return the median time of a round in which eight blocks take and give so many numbers, and do nothing else."""
    held = client.persist(da.zeros((BLOCKS, 1), chunks=(1, 1)))
    parts = list(np.ravel(held.to_delayed()))
    value, seen = np.zeros(numbers), []
    for _ in range(repeats):
        start = time.perf_counter()
        reduction.map_reduce(parts, _same, value)
        seen.append(time.perf_counter() - start)
    return statistics.median(seen)


def _same(part, value):
    return value + part[0, 0]


def tasks():
    """Return what is fitted: a name, the model, the number of features, and the part of the rows that it gets."""
    gp = PLGP(RBF(8.0), optimizer=None, approximation="nystroem", n_components=100, n_mc_samples=50, random_state=0)
    return [
        ("AvgPegasos, 5 epochs, d = 200", AvgPegasos(n_epochs=5, average=True), 200, 1),
        ("CLPL, d = 200: products", CLPL(), 200, 1),
        ("CLPL, d = 40: whole Hessian", CLPL(), 40, 1),
        ("PLGP, m = 100: products, a quarter of the rows", gp, 40, 4),
        ("PLSVM, d = 40, at most 40 rounds, a quarter of the rows", PLSVM(tol=1e-3, max_iter=40), 40, 4),
    ]


def accuracy_by_rounds(n):
    """Print how the mix nears what one machine finds, by rounds and blocks."""
    test, _, wanted = rows(n, 40, seed=1000)
    print(
        f"\nAccuracy on other rows after 1, 5 and 20 rounds, {n} rows, by blocks\n\n| learner | blocks | 1 | 5 | 20 |"
    )
    print("|---|---|---|---|---|")
    for learner in (AvgPegasos, AvgPerceptron, MaxPerceptron):
        for n_blocks in (1, 8, 64):
            X, y = in_blocks(n, 40, 64)
            X, y = X.rechunk((n // n_blocks, -1)).persist(), y.rechunk((n // n_blocks, -1)).persist()
            found = []
            for n_epochs in (1, 5, 20):
                model = distributed.fit(learner(n_epochs=n_epochs, average=True), X, y)
                found.append(f"{np.mean(model.predict(test) == wanted):.3f}")
            print(f"| {learner.__name__} | {n_blocks} | " + " | ".join(found) + " |", flush=True)


def main():
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=32_000)
    parser.add_argument("--only", default="", help="a part of the names of the fits that are wanted")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    given, n = [task for task in tasks() if options.only in task[0]], options.rows
    here = {}
    print(f"{options.rows} rows, 10 classes, {BLOCKS} blocks, {os.cpu_count()} cores\n")
    for name, model, d, part in given:
        parts = [rows(n // part // BLOCKS, d, seed=number) for number in range(BLOCKS)]
        X = np.concatenate([own for own, _, _ in parts])
        y = CandidateSets(np.concatenate([own.mask for _, own, _ in parts]), range(10))
        clone(model).fit(X[:500], y[:500])  # compiled loops are read
        start, spent = time.perf_counter(), time.process_time()
        found = clone(model).fit(X, y)
        here[name] = (time.perf_counter() - start, time.process_time() - spent, found)
    print("| fit | workers | s | processor s | rounds | MB down | MB up per block | from one machine |\n|" + "---|" * 8)
    latencies = {}
    for n_workers in WORKERS:
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            latencies[n_workers] = [round_seconds(client, size) for size in (1, 10_000, 1_000_000)]
            for name, model, d, part in given:
                one_fit(model, 1600, d, client)  # imports, compiled loops
                seconds, spent, counts, found = one_fit(model, n // part, d, client)
                if n_workers == WORKERS[0]:
                    own = here[name]
                    print(f"| {name} | ordinary fit | {own[0]:.2f} | {own[1]:.2f} | | | | |")
                X = rows(1000, d, seed=1000)[0]
                expected = answers(here[name][2], X)
                apart = np.abs(answers(found, X) - expected).max() / np.abs(expected).max()
                print(
                    f"| {name} | {n_workers} | {seconds:.2f} | {spent:.2f} | {counts['rounds']} | "
                    f"{counts['down'] / 1e6:.2f} | {counts['up'] / 1e6:.2f} | {apart:.1e} |",
                    flush=True,
                )
            if n_workers == WORKERS[-1]:
                accuracy_by_rounds(6_400)
    print("\nSeconds of an empty round, by workers, with messages of 1, 10,000 and 1,000,000 numbers:\n")
    for n_workers, found in latencies.items():
        print(f"| {n_workers} | " + " | ".join(f"{seconds:.4f}" for seconds in found) + " |")


if __name__ == "__main__":
    main()
