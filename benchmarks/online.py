"""Online learners: rows per second against scikit-learn's SGDClassifier, and against one pass over the array.

Both sides of every ratio are measured in this run, alternating, and the medians and spreads are printed. Run with
`python benchmarks/online.py`; MNIST is read by `oneof.datasets.load`, and where it is absent, random rows of its size
stand in (said in the output).
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from oneof import AvgPegasos, AvgPerceptron, CandidateSets, MaxPegasos, MaxPerceptron, make_partial_labels
from oneof.datasets import load
from oneof.errors import DataError
from oneof.solvers.online import OnlineState, pegasos, perceptron
from oneof.solvers.row_accessors import memory_order

LEARNERS = (AvgPerceptron, MaxPerceptron, AvgPegasos, MaxPegasos)


def dense_rows():
    """Return 60,000 x 784 float32 rows of 10 classes, exact labels and sets of two."""
    try:
        data = load("mnist")
        X, y = data.X[:60_000].astype(np.float32) / 255, np.asarray(data.y[:60_000])
    except DataError:
        print("(MNIST is not at hand: random rows of its size and sparsity stand in)")
        random = np.random.default_rng(0)
        X = random.random((60_000, 784), dtype=np.float32) * (random.random((60_000, 784)) < 0.19)
        y = (X @ random.normal(size=(784, 10))).argmax(axis=1)
    return X, y, make_partial_labels(y, n_distractors=1, random_state=0)


def sparse_rows(n=100_000, d=50_000, nonzeros=75, n_classes=20):
    """Return text-like CSR rows: words by Zipf's law, log counts, unit norm; labels of a random linear teacher."""
    random = np.random.default_rng(0)
    share = 1 / np.arange(1, d + 1)
    words = np.searchsorted(np.cumsum(share / share.sum()), random.random(n * 2 * nonzeros)).clip(max=d - 1)
    rows = np.repeat(np.arange(n), 2 * nonzeros)
    order = np.lexsort((words, rows))
    rows, words = rows[order], words[order]
    first = np.concatenate([[True], (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])])
    keys = np.flatnonzero(first)
    counts = np.diff(np.append(keys, len(rows)))
    # Keep `nonzeros` distinct words of each row.
    rank = np.arange(len(keys)) - np.searchsorted(rows[keys], rows[keys])
    permuted = np.argsort(random.random(len(keys)) + rows[keys], kind="stable")
    keep = np.sort(permuted[rank < nonzeros])
    X = sp.csr_matrix((np.log1p(counts[keep]), (rows[keys][keep], words[keys][keep])), shape=(n, d), dtype=np.float32)
    X = sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X
    X = sp.csr_matrix(X, dtype=np.float32)
    X.sort_indices()  # as scikit-learn's vectorizers leave them
    y = np.asarray(X @ random.normal(size=(d, n_classes)).astype(np.float32)).argmax(axis=1)
    return X, y, make_partial_labels(y, n_distractors=1, random_state=0)


def times(sides, repeats):
    """Time every side once a round, so that noise falls on all of them alike."""
    for run in sides.values():
        run()
    seconds = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    return {name: np.array(values) for name, values in seconds.items()}


def epoch(learner, X, mask):
    """Return a function that makes one pass of the learner's solver, without any checks."""
    prediction = "average" if learner.__name__.startswith("Avg") else "max"
    solve = perceptron if learner.__name__.endswith("Perceptron") else pegasos

    def run():
        start = OnlineState.zeros(mask.shape[1], X.shape[1], dtype=X.dtype, average=False, order=memory_order(X))
        return solve(X, mask, prediction=prediction, initial=start)

    return run


def sgd(X, y):
    """Return a function that makes one pass of scikit-learn's SGDClassifier over exact labels."""

    def run():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one pass does not converge, nor is it meant to
            SGDClassifier(loss="hinge", max_iter=1, tol=None, random_state=0).fit(X, y)

    return run


def show(name, seconds, n, reference=None):
    """Print a line: median, spread, rows a second, and the ratio to a reference."""
    low, middle, high = np.quantile(seconds, [0, 0.5, 1])
    ratio = "" if reference is None else f"   {np.median(reference) / middle:6.2f} x"
    print(f"  {name:34s} {middle:8.4f} s  [{low:.4f}, {high:.4f}] {n / middle:12,.0f} rows/s{ratio}")


def compare(title, X, y, sets, repeats, with_sum):
    """Time fit, the bare epoch, SGDClassifier and, for dense rows, X.sum()."""
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
    seconds = times(sides, repeats)
    peer = seconds["SGDClassifier(hinge), exact"]
    for name, values in seconds.items():
        show(name, values, n, peer)
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


def first_calls():
    """Print what the first fit costs in a new process, without and with compiled loops in the cache."""
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    first_calls()
    compare("Dense", *dense_rows(), repeats, with_sum=True)
    compare("Sparse", *sparse_rows(), max(3, repeats // 2), with_sum=False)
