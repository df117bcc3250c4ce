"""Parallelism: fits over the blocks of Dask arrays, and threads compared with processes."""

import multiprocessing
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
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.common import time_alternating
from distributed import Client, LocalCluster, wait
from oneof import PLGP, AvgPegasos, AvgPerceptron, CandidateSets, LOORidge, MaxPerceptron, distributed
from oneof.distributed import blocks, loo_ridge, online, plgp, reduction
from oneof.kernels.feature_maps import Standard
from oneof.kernels.mapped import MappedKernel
from oneof.parallel import parallel_map
from oneof.solvers.laplace.predictive import draw_normals, expected_softmax
from oneof.solvers.loo_ridge.loo_operators import ExactRidge

BLOCKS = 8
WORKERS = (1, 2, 4)


def draw_rows(n, d, n_classes=10, seed=0):
    """Return rows, candidate sets and labels of one linear model, the same for all seeds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    W = np.random.default_rng(d).normal(size=(d, n_classes))
    scores = X @ W / d**0.5 + 0.3 * rng.normal(size=(n, n_classes))
    label = scores.argmax(axis=1)
    mask = rng.random((n, n_classes)) < 0.2
    mask[np.arange(n), label] = True
    return X, CandidateSets(mask, range(n_classes)), label


@contextmanager
def count_communication():
    """Count rounds, and the bytes that go to the workers and come from each block."""
    counts = {"rounds": 0, "down": 0, "up": 0}
    originals = {name: getattr(reduction, name) for name in ("compute", "shared")}

    def compute(*values):
        result = originals["compute"](*values)
        counts["rounds"] += 1
        counts["up"] += len(pickle.dumps(result))
        return result

    def shared(value):
        counts["down"] += len(pickle.dumps(value))
        return originals["shared"](value)

    modules = (reduction, blocks, online, loo_ridge, plgp)
    try:
        for module in modules:
            for name, wrapped in (("compute", compute), ("shared", shared)):
                if hasattr(module, name):
                    setattr(module, name, wrapped)
        yield counts
    finally:
        for module in modules:
            for name, original in originals.items():
                if hasattr(module, name):
                    setattr(module, name, original)


def worker_cpu_seconds(client):
    """Return the processor time of all workers since their start."""
    return sum(client.run(lambda: sum(os.times()[:2])).values())


def draw_blocks(n, d, n_blocks, seed=0):
    """Return the rows and masks of `draw_rows` as Dask arrays, each block drawn on its worker."""
    parts = [delayed(draw_rows, nout=3)(n // n_blocks, d, seed=seed + number) for number in range(n_blocks)]
    X = [da.from_delayed(part, (n // n_blocks, d), float) for part, _, _ in parts]
    masks = [da.from_delayed(delayed(lambda sets: sets.mask)(y), (n // n_blocks, 10), bool) for _, y, _ in parts]
    return da.concatenate(X), da.concatenate(masks)


def timed_fit(model, n, d, client):
    """Return seconds, processor seconds of the workers, counts and the fitted model."""
    X, y = client.persist(draw_blocks(n, d, BLOCKS))
    wait([X, y])
    before, start = worker_cpu_seconds(client), time.perf_counter()
    with count_communication() as counts:
        result = distributed.fit(clone(model), X, y, classes=range(10))
    seconds = time.perf_counter() - start
    return seconds, worker_cpu_seconds(client) - before, counts, result


def predictions(model, X):
    """Return the latent means or scores, which are compared between fits."""
    return model.latent_mean_and_cov(X)[0] if isinstance(model, PLGP) else model.decision_function(X)


def round_trip_seconds(client, numbers, repeats=20):
    """Return the median time of a round in which eight blocks receive and send so many numbers."""
    X = client.persist(da.zeros((BLOCKS, 1), chunks=(1, 1)))
    parts = list(np.ravel(X.to_delayed()))
    value, seconds = np.zeros(numbers), []
    for _ in range(repeats):
        start = time.perf_counter()
        reduction.map_reduce(parts, _add_first, value)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _add_first(part, value):
    return value + part[0, 0]


def dask_tasks():
    """Return for each fit its name, the model, the number of features, and the divisor of the number of rows."""
    gp = PLGP(RBF(8.0), optimizer=None, approximation="nystroem", n_components=100, n_mc_samples=50, random_state=0)
    return [
        ("AvgPegasos, 5 epochs, d = 200", AvgPegasos(n_epochs=5, average=True), 200, 1),
        ("LOORidge, d = 200", LOORidge(random_state=0), 200, 1),
        ("PLGP, m = 100, a quarter of the rows", gp, 40, 4),
    ]


def print_accuracy_by_rounds(n):
    """Print the accuracy of parameter mixing by rounds and blocks; one block is the ordinary fit."""
    test, _, y_test = draw_rows(n, 40, seed=1000)
    print(f"\nAccuracy on new rows after 1, 5 and 20 rounds, {n} rows, by blocks\n\n| learner | blocks | 1 | 5 | 20 |")
    print("|---|---|---|---|---|")
    for learner in (AvgPegasos, AvgPerceptron, MaxPerceptron):
        for n_blocks in (1, 8, 64):
            X, y = draw_blocks(n, 40, 64)
            X, y = X.rechunk((n // n_blocks, -1)).persist(), y.rechunk((n // n_blocks, -1)).persist()
            result = []
            for n_epochs in (1, 5, 20):
                model = distributed.fit(learner(n_epochs=n_epochs, average=True), X, y)
                result.append(f"{np.mean(model.predict(test) == y_test):.3f}")
            print(f"| {learner.__name__} | {n_blocks} | " + " | ".join(result) + " |", flush=True)


def dask(*, rows=32_000, only=""):
    """Print the fits over blocks on 1, 2 and 4 worker processes of one core each, and of the ordinary fit.

    Every row of the tables comes from one run: the ordinary fit first, then the same rows in eight blocks. Processor
    time is that of all workers together, so that it shows the total cost even if the machine has fewer cores than
    workers. Rounds and bytes are counted, not estimated. The rows are synthetic: candidates around the labels of a
    linear model with noise. `--only` selects fits by a substring of their names.
    """
    warnings.simplefilter("ignore", ConvergenceWarning)
    selected = [task for task in dask_tasks() if only in task[0]]
    local = {}
    print(f"{rows} rows, 10 classes, {BLOCKS} blocks, {os.cpu_count()} cores\n")
    for name, model, d, divisor in selected:
        parts = [draw_rows(rows // divisor // BLOCKS, d, seed=number) for number in range(BLOCKS)]
        X = np.concatenate([own for own, _, _ in parts])
        y = CandidateSets(np.concatenate([own.mask for _, own, _ in parts]), range(10))
        clone(model).fit(X[:500], y[:500])  # loads compiled loops
        start, cpu = time.perf_counter(), time.process_time()
        fitted = clone(model).fit(X, y)
        local[name] = (time.perf_counter() - start, time.process_time() - cpu, fitted)
    print("| fit | workers | s | processor s | rounds | MB down | MB up per block | difference |\n|" + "---|" * 8)
    latencies = {}
    for n_workers in WORKERS:
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            latencies[n_workers] = [round_trip_seconds(client, size) for size in (1, 10_000, 1_000_000)]
            for name, model, d, divisor in selected:
                timed_fit(model, 1600, d, client)  # imports, compiled loops
                seconds, cpu, counts, fitted = timed_fit(model, rows // divisor, d, client)
                if n_workers == WORKERS[0]:
                    print(f"| {name} | ordinary fit | {local[name][0]:.2f} | {local[name][1]:.2f} | | | | |")
                X = draw_rows(1000, d, seed=1000)[0]
                expected = predictions(local[name][2], X)
                difference = np.abs(predictions(fitted, X) - expected).max() / np.abs(expected).max()
                print(
                    f"| {name} | {n_workers} | {seconds:.2f} | {cpu:.2f} | {counts['rounds']} | "
                    f"{counts['down'] / 1e6:.2f} | {counts['up'] / 1e6:.2f} | {difference:.1e} |",
                    flush=True,
                )
            if n_workers == WORKERS[-1]:
                print_accuracy_by_rounds(6_400)
    print("\nSeconds of an empty round, by workers, with messages of 1, 10,000 and 1,000,000 numbers:\n")
    for n_workers, values in latencies.items():
        print(f"| {n_workers} | " + " | ".join(f"{seconds:.4f}" for seconds in values) + " |")


# -- Threads -----------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 64))
Y = RNG.integers(0, 10, 1500)
MEANS, ROOTS = RNG.normal(size=(1200, 10)), RNG.normal(size=(1200, 10, 12))
NORMALS = draw_normals(1000, 10, RNG)


def mean_over_draws(_):
    """Compute the mean of the softmax over Monte Carlo samples."""
    return expected_softmax(MEANS, ROOTS @ ROOTS.mT / 12, NORMALS)


def kernel(_, kind="rbf"):
    """Compute a kernel of all rows, and the inverse for leave-one-out predictions."""
    fitted = Standard.fit(X)
    mapped = MappedKernel.from_rows(fitted, kind, fitted(X))
    return ExactRidge.from_gram(mapped.gram(fitted(X)), 0.05)


def laplacian(_):
    """Compute a kernel whose distances are not a matrix product."""
    return kernel(_, "laplacian")


def svm(_):
    """Fit an SVM."""
    return SVC().fit(X, Y < 5)


def online_epochs(_):
    """Run a compiled loop over the rows."""
    return AvgPegasos(n_epochs=200).fit(X, Y)


def python_sum(_):
    """Sum in Python, which holds the interpreter lock."""
    return sum(number % 7 for number in range(3_000_000))


TASKS = {
    "PLGP: means over 1,000 draws, 1,200 rows, 10 classes": mean_over_draws,
    "LOORidge: one Gaussian kernel of 1,500 rows": kernel,
    "LOORidge: one Laplacian kernel of 1,500 rows": laplacian,
    "PLECOC: one SVM, 1,500 rows": svm,
    "AvgPegasos: 200 epochs over 1,500 rows (a compiled loop)": online_epochs,
    "a sum in pure Python": python_sum,
}


def _run_threads(task, number):
    with threadpool_limits(number, user_api="blas"):
        parallel_map(task, range(2))


def _run_silently(task):
    """Run the task without returning its result, which would be pickled."""
    with threadpool_limits(1, user_api="blas"):
        task(None)


def threads(*, repeats=7):
    """Print the gain of two threads, and of two processes, over one thread for independent tasks.

    On a machine with other load, two threads are seldom twice as fast as one. Two processes with the same work have the
    same other load, but no interpreter lock. Medians of alternating runs.
    """
    print(f"{os.cpu_count()} cores; seconds for two tasks, medians of {repeats} (range)\n")
    print("| task | one thread | two threads | two processes | gain by threads | by processes |\n" + "|---" * 6 + "|")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for title, task in TASKS.items():
            runs = {
                "one": lambda task=task: _run_threads(task, 1),
                "two": lambda task=task: _run_threads(task, 2),
                "processes": lambda task=task: pool.map(_run_silently, [task, task], chunksize=1),
            }
            seconds = time_alternating(runs, repeats)
            cells = [f"{np.median(run):.2f} ({run.min():.2f} to {run.max():.2f})" for run in seconds.values()]
            gains = [np.median(seconds["one"] / seconds[name]) for name in ("two", "processes")]
            print(f"| {title} | {' | '.join(cells)} | {gains[0]:.2f} | {gains[1]:.2f} |", flush=True)
