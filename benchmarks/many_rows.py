"""LOORidge with many rows: time, memory and accuracy by the number of rows and of landmarks.

Rows have 50 features, from 40 clusters that belong to ten classes. Sets have up to three candidates: the truth and two
draws from all classes. Each line of the tables is measured in a process of its own, with its peak memory.
"""

import csv
import sys
import time

import numpy as np

from benchmarks.common import DOCS, peak_memory, run_child, write_csv
from oneof import CandidateSets, LOORidge, make_partial_labels
from oneof.datasets import load

GROWTH, LANDMARKS = DOCS / "loo_ridge_growth.csv", DOCS / "loo_ridge_landmarks.csv"
ONE_KERNEL = {"kernel": "rbf", "features": "standard"}
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
COLUMNS = ("rows", "kernels", "landmarks", "seconds", "processor seconds", "GB", "accuracy", "labels")
N_FEATURES, N_CLUSTERS, N_CLASSES, N_TEST = 50, 40, 10, 20_000


def clusters(n):
    """Return n rows with sets of up to three candidates, their truth, and test rows with their truth."""
    rng = np.random.default_rng(0)
    centers = 0.6 * rng.normal(size=(N_CLUSTERS, N_FEATURES))
    cluster = rng.integers(N_CLUSTERS, size=n + N_TEST)
    X = (centers[cluster] + rng.normal(size=(n + N_TEST, N_FEATURES))).astype(np.float32)
    truth = cluster % N_CLASSES
    mask = np.eye(N_CLASSES, dtype=bool)[truth[:n]]
    for _ in range(2):
        mask[np.arange(n), rng.integers(N_CLASSES, size=n)] = True
    return X[:n], CandidateSets(mask, np.arange(N_CLASSES)), truth[:n], X[n:], truth[n:]


def growth():
    """Write time, peak memory and accuracy from 10,000 to 1,000,000 rows, with one kernel and with all."""
    points = [
        ("growth-child", n, kernels, 0) for kernels in ("one", "all") for n in SIZES if kernels == "one" or n <= 100_000
    ]
    write_csv(GROWTH, COLUMNS, [_line(*point) for point in points])


def landmarks():
    """Write time and accuracy of 100,000 rows by the number of landmarks, with one kernel."""
    points = [("growth-child", 100_000, "one", m) for m in (250, 500, 1000, 2000, 4000)]
    write_csv(LANDMARKS, COLUMNS, [_line(*point) for point in points])


def _line(part, *words):
    result = run_child("loo-ridge", part, *words)
    line = result.stdout.strip().splitlines()[-1]
    print(line, flush=True)
    return line.split(",")


def growth_child(n, kernels, m):
    """Print one line of the table."""
    X, y, truth, X_test, truth_test = clusters(int(n))
    options = ONE_KERNEL if kernels == "one" else {}
    model = LOORidge(random_state=0, n_components=int(m) or None, **options)
    LOORidge().fit(X[:200], y[:200])  # compiled functions are loaded
    start, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    n_landmarks = model._model.support[0].shape[0]
    accuracy, labels = (model.predict(X_test) == truth_test).mean(), (model.transduction_ == truth).mean()
    print(
        f"{n},{kernels},{n_landmarks},{seconds:.1f},{processor:.1f},{peak_memory():.2f},{accuracy:.4f},{labels:.4f}",
        flush=True,
    )


def pixels():
    """Print time, memory and accuracy of 5,000 and 60,000 rows of MNIST with two distractors."""
    data = load("mnist")
    X, y_all = np.asarray(data.X, dtype=np.float32), np.unique(data.y, return_inverse=True)[1]
    for n in (5000, 60_000):
        rows = np.random.default_rng(0).permutation(60_000)[:n]
        y = make_partial_labels(y_all[rows], n_distractors=2, classes=np.arange(10), random_state=0)
        start = time.perf_counter()
        model = LOORidge(random_state=0).fit(X[rows], y)
        fitted = time.perf_counter()
        accuracy = (model.predict(X[60_000:]) == y_all[60_000:]).mean()
        print(
            f"{n} rows: fit {fitted - start:.1f} s, prediction of 10,000 rows {time.perf_counter() - fitted:.1f} s, "
            f"accuracy {accuracy:.4f}, peak {peak_memory():.2f} GB",
            flush=True,
        )


def growth_figure():
    """Plot the two tables in docs/loo_ridge_growth.png."""
    import matplotlib.pyplot as plt

    from oneof.plots.style import PALETTE, style_axes

    with GROWTH.open(newline="") as file:
        points = list(csv.DictReader(file))
    with LANDMARKS.open(newline="") as file:
        by_landmarks = list(csv.DictReader(file))
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
    for kernels, color, label in (("one", "accent", "one kernel"), ("all", "second", "default: all kernels")):
        lines = [point for point in points if point["kernels"] == kernels]
        n = [int(point["rows"]) for point in lines]
        seconds, memory = ([float(point[key]) for point in lines] for key in ("processor seconds", "GB"))
        axes[0].loglog(n, seconds, "o-", color=PALETTE[color], label=label)
        axes[1].semilogx(n, memory, "o-", color=PALETTE[color], label=label)
    axes[0].set(xlabel="rows", ylabel="processor seconds")
    axes[1].set(xlabel="rows", ylabel="GB", ylim=(0, None))
    m = [int(point["landmarks"]) for point in by_landmarks]
    axes[2].semilogx(m, [float(point["accuracy"]) for point in by_landmarks], "o-", color=PALETTE["accent"])
    axes[2].set(xlabel="landmarks", ylabel="test accuracy")
    axes[2].set_xticks(m, [str(value) for value in m])
    axes[2].minorticks_off()
    for ax, title in zip(axes, ("Time of fit", "Peak memory", "100,000 rows"), strict=True):
        style_axes(ax, grid="y")
        ax.set_title(title, loc="left")
        if ax is not axes[2]:
            ax.legend(frameon=False, fontsize=9)
    figure.savefig(DOCS / "loo_ridge_growth.png", dpi=130)
    sys.stdout.flush()
