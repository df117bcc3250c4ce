"""Independent parts on one thread and on two, beside two processes: `make bench` runs it.

On a machine that others use too, two threads are seldom twice as fast as one. Two processes that do the same work at
the same time meet the same neighbors, but no lock of an interpreter: so the table has what two threads gain over one,
and what two processes gain, medians of runs that take turns.
"""

import argparse
import multiprocessing
import os
import statistics
import time

import numpy as np
from oneof.solvers.laplace.expectation import draw_normals
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from oneof import AvgPegasos
from oneof.kernels.feature_maps import Standard
from oneof.kernels.mapped import MappedKernel
from oneof.parallel import parallel_map
from oneof.solvers.loo_ridge import ExactRidge

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1500, 64))
Y = RANDOM.integers(0, 10, 1500)
MEANS, ROOTS = RANDOM.normal(size=(1200, 10)), RANDOM.normal(size=(1200, 10, 12))
NORMALS = draw_normals(1000, 10, RANDOM)


def draws(_):
    """Take the mean of the softmax over draws."""
    return expected_softmax(MEANS, ROOTS @ ROOTS.mT / 12, NORMALS)


def kernel(_, kind="rbf"):
    """Make a kernel of all rows, and the inverse that its left-out predictions need."""
    fitted = Standard.fit(X)
    mapped = MappedKernel.from_rows(fitted, kind, fitted(X))
    return ExactRidge.from_gram(mapped.gram(fitted(X)), 0.05)


def laplacian(_):
    """Make one whose distances are no product of matrices."""
    return kernel(_, "laplacian")


def machine(_):
    """Fit a support vector machine."""
    return SVC().fit(X, Y < 5)


def online(_):
    """Run a compiled loop over the rows."""
    return AvgPegasos(n_epochs=200).fit(X, Y)


def python(_):
    """Count in Python, which holds the lock."""
    return sum(number % 7 for number in range(3_000_000))


PARTS = {
    "PLGP: means over 1,000 draws, 1,200 rows, 10 classes": draws,
    "LOORidge: one Gaussian kernel of 1,500 rows": kernel,
    "LOORidge: one Laplacian kernel of 1,500 rows": laplacian,
    "PLECOC: one support vector machine, 1,500 rows": machine,
    "AvgPegasos: 200 epochs over 1,500 rows (a compiled loop)": online,
    "a sum in pure Python": python,
}


def seconds(function):
    """Return how long a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    print(f"{os.cpu_count()} cores; seconds for two parts, medians of {repeats} (spread)\n")
    print("| part | one thread | two threads | two processes | gain by threads | by processes |\n" + "|---" * 6 + "|")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        for title, part in PARTS.items():
            ways = {
                1: lambda part=part: _threads(part, 1),
                2: lambda part=part: _threads(part, 2),
                3: lambda part=part: pool.map(_nothing_of, [part, part], chunksize=1),
            }
            for way in ways.values():
                way()
            runs = {number: [] for number in ways}
            for _ in range(repeats):
                for number, way in ways.items():
                    runs[number].append(seconds(way))
            shown = [f"{statistics.median(run):.2f} ({min(run):.2f} to {max(run):.2f})" for run in runs.values()]
            gains = [statistics.median(a / b for a, b in zip(runs[1], runs[number])) for number in (2, 3)]
            print(f"| {title} | {' | '.join(shown)} | {gains[0]:.2f} | {gains[1]:.2f} |", flush=True)


def _threads(part, number):
    with threadpool_limits(number, user_api="blas"):
        parallel_map(part, range(2))


def _nothing_of(part):
    """Do the part, and return nothing that would have to be sent."""
    with threadpool_limits(1, user_api="blas"):
        part(None)


if __name__ == "__main__":
    main()
