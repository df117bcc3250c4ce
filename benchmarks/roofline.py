"""What the online epoch and PLGP's Newton steps need, what this machine can give, and the share that is reached.

Run with `python benchmarks/roofline.py`; it goes to benchmarks/RESULTS.md. Ceilings are measured in the same run, on
one thread: a triad a = b + s c of arrays far larger than caches (24 bytes an element counted), a sum (8 bytes read),
and matrix products. The least time that a task could take is the larger of its bytes over the rate of reading and its
operations over the rate of the product of square matrices; the share is that over the processor time measured.
`--size` makes the tasks smaller, to try out the script.
"""

import argparse
import time
from dataclasses import dataclass

import numpy as np
import online
from numba import njit
from plgp import mnist, own_kernel
from sides.results import load, machine, write
from threadpoolctl import threadpool_limits

from oneof import AvgPegasos, AvgPerceptron, make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior

REPEATS = 5
LONG = 12_000_000
"""Numbers in the arrays of the triad: 96 MB each."""


@njit(fastmath=True)
def triad(a, b, c, s):
    """Write b + s c to a."""
    for i in range(a.shape[0]):
        a[i] = b[i] + s * c[i]


@njit(fastmath=True)
def total(a):
    """Return the sum."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


def seconds(run, repeats=REPEATS):
    """Return the median and the range of processor seconds, after one call that warms up."""
    run()
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return np.quantile(found, (0.5, 0.0, 1.0))


@njit(fastmath=True)
def touched(indices, weights):
    """Read the first and the last weight of each number's column: every cache line of up to 32 of them."""
    s = 0.0
    for p in range(indices.shape[0]):
        s += weights[indices[p], 0] + weights[indices[p], weights.shape[1] - 1]
    return s


@dataclass
class Ceilings:
    """Rates of this machine, in bytes and operations a second."""

    triad: float
    read: float
    double: float
    single: float

    @classmethod
    def measured(cls):
        """Measure all; the best of the runs, since other load only takes away."""
        arrays = [np.ones(LONG) for _ in range(3)]
        first = 24 * LONG / seconds(lambda: triad(*arrays, 3.0))[1]
        second = 8 * LONG / seconds(lambda: total(arrays[0]))[1]
        rates, n = [], 1500
        for dtype in (np.float64, np.float32):
            A = np.ones((n, n), dtype=dtype)
            rates.append(2 * n**3 / seconds(lambda A=A: A @ A)[1])
        return cls(first, second, *rates)

    def least(self, n_bytes, operations, single=True):
        """Return the seconds below which nothing can be, and which of both says so."""
        by_bytes, by_operations = n_bytes / self.read, operations / (self.single if single else self.double)
        return max(by_bytes, by_operations), "reading" if by_bytes > by_operations else "arithmetic"


HEAD = (
    "| task | bytes | operations | operations a byte | least time | bound by | measured | share reached |\n"
    "|---|---|---|---|---|---|---|---|"
)


def row(task, n_bytes, operations, spent, least):
    """Format a line of the table."""
    bound, why = least
    middle, low, high = spent
    return (
        f"| {task} | {n_bytes / 1e6:,.0f} MB | {operations / 1e9:.3g} G | {operations / n_bytes:.1f} "
        f"| {bound * 1e3:.3g} ms "
        f"| {why} | {middle * 1e3:.3g} ms [{low * 1e3:.3g}, {high * 1e3:.3g}] | {bound / middle:.0%} |"
    )


def epochs(ceilings, size):
    """Return the lines of the online learners, whose rows are read from memory once."""
    lines = []
    for title, (all_rows, _, sets) in (
        ("60,000 x 784 pixels", online.dense_rows()),
        ("100,000 x 50,000 words", online.sparse_rows()),
    ):
        n = max(100, round(all_rows.shape[0] * size))
        X, mask = all_rows[:n], sets.mask[:n]
        numbers = X.size if isinstance(X, np.ndarray) else X.nnz
        n_bytes = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        for learner in (AvgPerceptron, AvgPegasos):
            run = online.epoch(learner, X, mask)
            updates = run().n_updates / n
            # A product of each number with K weights; where there is a loss, |S| + 1 classes take a step.
            operations = 2 * numbers * (mask.shape[1] + updates * (mask.sum(axis=1).mean() + 1))
            task = f"{learner.__name__}, {title}, {mask.shape[1]} classes, sets of 2, {updates:.0%} of rows update"
            least = ceilings.least(n_bytes, operations)
            if not isinstance(X, np.ndarray):
                weights = np.ones((X.shape[1], mask.shape[1]), dtype=X.dtype)
                touching = seconds(lambda X=X, weights=weights: touched(X.indices, weights))[1]
                least = max(least, (touching, "touching weights in the caches"))
            lines.append(row(task, n_bytes + mask.nbytes, operations, seconds(run), least))
    return lines


class Counting(GramPrior):
    """A prior that counts its products."""

    counts: dict[str, int]

    def product(self, V):
        """Return the product in full precision."""
        self.counts["full"] += 1
        return super().product(V)

    def rough_product(self, V):
        """Return the product in single precision."""
        self.counts["single"] += 1
        return super().rough_product(V)


def steps(ceilings, size):
    """Return the lines of PLGP's mode: every product reads the Gram matrix, for 2 n^2 K operations."""
    lines = []
    for wanted in (2_000, 4_000):
        X, y, *_ = mnist(max(200, round(wanted * size)), n_test=0, dtype=np.float64)
        mask, n = make_partial_labels(y, n_distractors=2, random_state=0).mask, len(X)
        prior = GramPrior.of(covariance(own_kernel(X), X))
        counting = Counting.of(prior.gram)
        object.__setattr__(counting, "counts", {"full": 0, "single": 0})
        found = find_mode(counting, mask, np.inf, anneal=False)
        full, single = counting.counts["full"], counting.counts["single"]
        n_bytes, each = n * n * (8 * full + 4 * single), 2 * n * n * mask.shape[1]
        spent = seconds(lambda prior=prior, mask=mask: find_mode(prior, mask, np.inf, anneal=False), 3)
        by_bytes = n_bytes / ceilings.read
        by_operations = each * (full / ceilings.double + single / ceilings.single)
        least = (max(by_bytes, by_operations), "reading" if by_bytes > by_operations else "arithmetic")
        task = (
            f"PLGP's mode, n = {n:,}, K = {mask.shape[1]}, sets of 3: {found.n_iter} Newton steps, {full} full and "
            f"{single} single-precision products"
        )
        lines.append(row(task, n_bytes, each * (full + single), spent, least))
        V = np.random.default_rng(0).normal(size=mask.shape)
        for name, matrix, count, peak in (
            ("full", prior.gram, full, ceilings.double),
            ("single", prior.rough, single, ceilings.single),
        ):
            W = V.astype(matrix.dtype)
            spent = seconds(lambda matrix=matrix, W=W: matrix @ W)
            both = matrix.nbytes / ceilings.read, each / peak
            least = (max(both), "reading" if both[0] > both[1] else "arithmetic")
            what = f"one of these products, {name} precision ({count} needed)"
            lines.append(row(what, matrix.nbytes, each, spent, least))
    return lines


def main():
    """Measure, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=float, default=1.0)
    size = parser.parse_args().size
    before = load()
    with threadpool_limits(1):
        ceilings = Ceilings.measured()
        lines = [HEAD, *epochs(ceilings, size), *steps(ceilings, size)]
    text = f"""## Roofline

`python benchmarks/roofline.py`, on {machine()}, one thread.
Processes that wanted a core: {before} at the start, {load()} at the end.
Ceilings: triad {ceilings.triad / 1e9:.1f} GB/s, reading {ceilings.read / 1e9:.1f} GB/s,
products of square matrices {ceilings.double / 1e9:.0f} (double) and {ceilings.single / 1e9:.0f} (single precision)
G operations/s. For sparse rows also the time to touch, for each number in turn, the weights of its column. Bytes are
those that must come from memory: weights stay in the caches, and a row that is used twice is read once. What the
numbers mean is told in docs/peers.md.

""" + "\n".join(lines)
    print(text)
    if size == 1.0:
        write("roofline", text)


if __name__ == "__main__":
    main()
