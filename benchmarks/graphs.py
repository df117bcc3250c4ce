"""Labels over graphs, against scikit-learn's LabelPropagation and LabelSpreading.

Run with `python benchmarks/graphs.py [part] [n_rows ...]`, part "solver" (both sides get the same graph for free),
"whole" (from rows to labels, by approximate neighbors) or "large" (200,000 rows: time and peak memory). Seconds are
processor seconds of one thread, the least of some turns in which the sides alternate, so that other load on the machine
falls on both alike and out of the figures. Accuracies are those of the unlabeled rows.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import sys
import time
import warnings

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from oneof import HarmonicField, LocalGlobalConsistency, MarkovWalk
from oneof.graphs import NeighborGraph

DEFAULT_ROWS = (20_000, 50_000)


def clusters(n, seed=0):
    """Return rows of 10 classes, their labels, and those labels with all but 10 a class left out."""
    X, y = make_blobs(n, 50, centers=10, cluster_std=2.7, center_box=(-3, 3), random_state=seed)
    random = np.random.default_rng(seed)
    known = np.full(n, -1)
    for k in range(10):
        rows = random.choice(np.flatnonzero(y == k), 10, replace=False)
        known[rows] = k
    return X, y, known


def show(title, sides, y, known, repeats=3):
    """Print seconds and accuracy of each side, and how many times faster the first is than it."""
    hidden = known == -1
    seconds, accuracy = dict.fromkeys(sides, np.inf), {}
    for _ in range(repeats):
        for name, make in sides.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = make()
            seconds[name] = min(seconds[name], time.process_time() - start)
            accuracy[name] = float((model.transduction_ == y)[hidden].mean())
            rounds = model.n_iter_
            accuracy[name] = (accuracy[name], rounds)
    first = seconds[next(iter(sides))]
    print(title)
    for name, value in seconds.items():
        right, rounds = accuracy[name]
        print(
            f"  {name:46s} {value:8.3f} s  {right:.4f} right  {rounds:5d} iterations  {value / first:6.2f} x",
            flush=True,
        )


def given(W):
    """Return the affinity as a function that the estimators take; its checks stay in our time."""
    return lambda *_: W


def solver(n):
    """Time what is left to do once the graph is there."""
    X, y, known = clusters(n)
    W = NeighborGraph(n_neighbors=7).graph(X).affinity
    sample = np.random.default_rng(0).choice(n, 500, replace=False)
    rest = np.setdiff1d(np.arange(n), sample)
    print(f"{n} rows: 1-NN is right on {KNeighborsClassifier(1).fit(X[rest], y[rest]).score(X[sample], y[sample]):.3f}")
    HarmonicField(affinity=given(W)).fit(X, known)  # compiles
    show(
        "harmonic functions, graph given",
        {
            "HarmonicField": lambda: HarmonicField(affinity=given(W)).fit(X, known),
            "LabelPropagation (1,000 sweeps)": lambda: LabelPropagation(kernel=given(W)).fit(X, known),
        },
        y,
        known,
        repeats=1 if n > 20_000 else 2,
    )
    for alpha in (0.2, 0.9, 0.99):
        show(
            f"local and global consistency, graph given, alpha = {alpha}",
            {
                "LocalGlobalConsistency (tol 1e-6)": lambda a=alpha: LocalGlobalConsistency(a, affinity=given(W)).fit(
                    X, known
                ),
                "LocalGlobalConsistency (tol 1e-3)": lambda a=alpha: LocalGlobalConsistency(
                    a, affinity=given(W), tol=1e-3
                ).fit(X, known),
                "LabelSpreading (30 sweeps at most)": lambda a=alpha: LabelSpreading(kernel=given(W), alpha=a).fit(
                    X, known
                ),
            },
            y,
            known,
        )
    show(
        "local and global consistency, graph given, alpha = 0.99, both to the end",
        {
            "LocalGlobalConsistency": lambda: LocalGlobalConsistency(affinity=given(W)).fit(X, known),
            "LabelSpreading (10,000 sweeps at most)": lambda: LabelSpreading(
                kernel=given(W), alpha=0.99, max_iter=10_000
            ).fit(X, known),
        },
        y,
        known,
        repeats=1,
    )
    show("Markov walks, graph given", {"MarkovWalk": lambda: MarkovWalk(affinity=given(W)).fit(X, known)}, y, known, 1)


def whole(n):
    """Time from rows to labels."""
    X, y, known = clusters(n)
    options = {"algorithm": "approximate", "n_neighbors": 7}
    show(
        f"{n} rows, from rows to labels",
        {
            "HarmonicField(approximate)": lambda: HarmonicField(**options).fit(X, known),
            "LocalGlobalConsistency(approximate)": lambda: LocalGlobalConsistency(**options).fit(X, known),
            'LabelSpreading(kernel="knn")': lambda: LabelSpreading(kernel="knn", n_neighbors=7).fit(X, known),
        },
        y,
        known,
        repeats=1,
    )


def large(n=200_000):
    """Time 200,000 rows, and tell the most memory that was held."""
    X, y, known = clusters(n)
    show(
        f"{n} rows, from rows to labels",
        {"HarmonicField(approximate)": lambda: HarmonicField(algorithm="approximate", n_neighbors=7).fit(X, known)},
        y,
        known,
        repeats=1,
    )
    print(f"  peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


def main():
    """Run the parts that were asked for."""
    parts = {"solver": solver, "whole": whole, "large": large}
    chosen = [name for name in sys.argv[1:] if name in parts] or ["solver"]
    rows = [int(value) for value in sys.argv[1:] if value.isdigit()] or DEFAULT_ROWS
    for name in chosen:
        for n in (200_000,) if name == "large" else rows:
            parts[name](n)


if __name__ == "__main__":
    main()
