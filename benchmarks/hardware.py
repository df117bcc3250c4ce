"""Hardware limits: the rates of this machine that the main loops reach."""

import time
from dataclasses import dataclass

import numpy as np
from numba import njit
from threadpoolctl import threadpool_limits

from benchmarks import online
from benchmarks.common import describe_machine, load_average, write_section
from benchmarks.gaussian_process import default_kernel, load_mnist
from oneof import AvgPegasos, AvgPerceptron, make_partial_labels
from oneof.kernels import covariance
from oneof.solvers.laplace.mode import find_mode
from oneof.solvers.laplace.model import GramPrior

ROOFLINE_REPEATS = 5
N_TRIAD = 12_000_000
"""Length of the arrays of the triad: 96 MB each."""


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


def cpu_quantiles(run, repeats=ROOFLINE_REPEATS):
    """Return the median and the range of processor seconds, after one warm-up call."""
    run()
    mode = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        mode.append(time.process_time() - start)
    return np.quantile(mode, (0.5, 0.0, 1.0))


@njit(fastmath=True)
def touch_weights(indices, weights):
    """Read the first and the last weight of each number's column, that is, every cache line of up to 32 weights."""
    s = 0.0
    for p in range(indices.shape[0]):
        s += weights[indices[p], 0] + weights[indices[p], weights.shape[1] - 1]
    return s


@dataclass
class Ceilings:
    """Rates of this machine in bytes and operations per second."""

    triad: float
    read: float
    double: float
    single: float

    @classmethod
    def measure(cls):
        """Measure all rates; the best run counts, since other load only reduces them."""
        arrays = [np.ones(N_TRIAD) for _ in range(3)]
        first = 24 * N_TRIAD / cpu_quantiles(lambda: triad(*arrays, 3.0))[1]
        second = 8 * N_TRIAD / cpu_quantiles(lambda: total(arrays[0]))[1]
        rates, n = [], 1500
        for dtype in (np.float64, np.float32):
            A = np.ones((n, n), dtype=dtype)
            rates.append(2 * n**3 / cpu_quantiles(lambda A=A: A @ A)[1])
        return cls(first, second, *rates)

    def lower_bound(self, n_bytes, operations, single=True):
        """Return the lower bound of the seconds, and the resource that determines it."""
        by_bytes, by_operations = n_bytes / self.read, operations / (self.single if single else self.double)
        return max(by_bytes, by_operations), "reading" if by_bytes > by_operations else "arithmetic"


ROOFLINE_HEADER = (
    "| task | bytes | operations | operations per byte | lower bound | bound by | measured | fraction reached |\n"
    "|---|---|---|---|---|---|---|---|"
)


def roofline_row(task, n_bytes, operations, seconds, lower_bound):
    """Format a line of the table."""
    bound, resource = lower_bound
    middle, low, high = seconds
    return (
        f"| {task} | {n_bytes / 1e6:,.0f} MB | {operations / 1e9:.3g} G | {operations / n_bytes:.1f} "
        f"| {bound * 1e3:.3g} ms "
        f"| {resource} | {middle * 1e3:.3g} ms [{low * 1e3:.3g}, {high * 1e3:.3g}] | {bound / middle:.0%} |"
    )


def epoch_rows(ceilings, size):
    """Return the table rows of the online learners, which read their data from memory once."""
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
            # A product of each number with K weights; if there is a loss, |S| + 1 classes are updated.
            operations = 2 * numbers * (mask.shape[1] + updates * (mask.sum(axis=1).mean() + 1))
            task = f"{learner.__name__}, {title}, {mask.shape[1]} classes, sets of 2, {updates:.0%} of rows update"
            lower_bound = ceilings.lower_bound(n_bytes, operations)
            if not isinstance(X, np.ndarray):
                weights = np.ones((X.shape[1], mask.shape[1]), dtype=X.dtype)
                touching = cpu_quantiles(lambda X=X, weights=weights: touch_weights(X.indices, weights))[1]
                lower_bound = max(lower_bound, (touching, "touching weights in the caches"))
            lines.append(roofline_row(task, n_bytes + mask.nbytes, operations, cpu_quantiles(run), lower_bound))
    return lines


class CountingPrior(GramPrior):
    """A prior that counts its products."""

    counts: dict[str, int]

    def matvec(self, V):
        """Return the product."""
        self.counts["single" if self.gram.dtype == np.float32 else "full"] += 1
        return super().matvec(V)

    @property
    def single(self):
        """Copy in single precision, with the same counts."""
        return counting_prior(super().single.gram, self.counts)


def counting_prior(gram, counts):
    """Return a prior that adds its products to the counts."""
    prior = CountingPrior(gram)
    object.__setattr__(prior, "counts", counts)
    return prior


def mode_rows(ceilings, size):
    """Return the table rows of PLGP's mode: every product reads the Gram matrix, for 2 n^2 K operations."""
    lines = []
    for n_rows in (2_000, 4_000):
        X, y, *_ = load_mnist(max(200, round(n_rows * size)), n_test=0, dtype=np.float64)
        mask, n = make_partial_labels(y, n_distractors=2, random_state=0).mask, len(X)
        prior = GramPrior(covariance(default_kernel(X), X))
        counting = counting_prior(prior.gram, {"full": 0, "single": 0})
        mode = find_mode(counting, mask, np.inf, anneal=False)
        full, single = counting.counts["full"], counting.counts["single"]
        n_bytes, each = n * n * (8 * full + 4 * single), 2 * n * n * mask.shape[1]
        seconds = cpu_quantiles(lambda prior=prior, mask=mask: find_mode(prior, mask, np.inf, anneal=False), 3)
        by_bytes = n_bytes / ceilings.read
        by_operations = each * (full / ceilings.double + single / ceilings.single)
        lower_bound = (max(by_bytes, by_operations), "reading" if by_bytes > by_operations else "arithmetic")
        task = (
            f"PLGP's mode, n = {n:,}, K = {mask.shape[1]}, sets of 3: {mode.n_iter} Newton steps, {full} full and "
            f"{single} single-precision products"
        )
        lines.append(roofline_row(task, n_bytes, each * (full + single), seconds, lower_bound))
        V = np.random.default_rng(0).normal(size=mask.shape)
        for name, matrix, count, peak in (
            ("full", prior.gram, full, ceilings.double),
            ("single", prior.single.gram, single, ceilings.single),
        ):
            W = V.astype(matrix.dtype)
            seconds = cpu_quantiles(lambda matrix=matrix, W=W: matrix.mT @ W)
            both = matrix.nbytes / ceilings.read, each / peak
            lower_bound = (max(both), "reading" if both[0] > both[1] else "arithmetic")
            what = f"one of these products, {name} precision ({count} needed)"
            lines.append(roofline_row(what, matrix.nbytes, each, seconds, lower_bound))
    return lines


def roofline(*, size=1.0):
    """Compare the online epoch and PLGP's Newton steps with the rates of this machine, and write RESULTS.md.

    The rates are measured in the same run on one thread: a triad a = b + s c of arrays far larger than caches (24 bytes
    per element), a sum (8 bytes read), and matrix products. The lower bound of a task is the larger of its bytes over
    the read rate and its operations over the rate of square matrix products; the fraction is that bound over the
    measured processor time. `--size` makes the tasks smaller, to try out the script.
    """
    before = load_average()
    with threadpool_limits(1):
        ceilings = Ceilings.measure()
        lines = [ROOFLINE_HEADER, *epoch_rows(ceilings, size), *mode_rows(ceilings, size)]
    text = f"""## Roofline

`python -m benchmarks hardware roofline`, on {describe_machine()}, one thread.
Load average: {before} at the start, {load_average()} at the end.
Rates: triad {ceilings.triad / 1e9:.1f} GB/s, reading {ceilings.read / 1e9:.1f} GB/s,
products of square matrices {ceilings.double / 1e9:.0f} (double) and {ceilings.single / 1e9:.0f} (single precision)
G operations/s. For sparse rows also the time to touch, for each number in turn, the weights of its column. Bytes are
those that must come from memory: weights stay in the caches, and a row that is used twice is read once.
docs/peers.md explains the numbers.

""" + "\n".join(lines)
    print(text)
    if size == 1.0:
        write_section("roofline", text)
