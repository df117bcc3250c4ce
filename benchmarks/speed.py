"""Growth of time and memory with rows and classes, and the threads of a fit."""

import ctypes
import gc
import json
import subprocess
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from benchmarks import common


def make_clusters(n, d, n_classes, seed=0):
    """Return rows around one center for each class, and their labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.normal(size=(n_classes, d))[y] + rng.normal(size=(n, d)), y


EXPONENT_TOL = 0.2
"""Difference to the documented exponent from which the table marks a fitted one."""
MIN_MEMORY = 4.0
"""Megabytes below which memory growth is dominated by the allocator."""


@dataclass(frozen=True)
class GrowthPlan:
    """The smallest n and K of an estimator, its parameters, and the exponents of the documented cost."""

    n: int
    time: tuple[float, float]
    """In n and in K."""
    memory: tuple[float, float]
    term: str
    """The largest term of the cost."""
    d: int = 20
    n_classes: int = 5
    n_labeled: int | None = None
    """Number of rows with a label or a set; all if None."""
    parameters: dict[str, Any] = field(default_factory=dict)


FEW = {"n_labeled": 400}
PLANS = {
    **dict.fromkeys(
        ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos"), GrowthPlan(50_000, (1, 1), (1, 1), "n K d")
    ),
    "CLPL": GrowthPlan(4_000, (1, 1), (1, 1), "n K d a step"),
    "PLEM": GrowthPlan(2_000, (1, 1), (1, 1), "n K d a step"),
    "PLSVM": GrowthPlan(2_000, (1, 1), (1, 1), "n K d a pass"),
    "PLECOC": GrowthPlan(500, (2, 1), (1, 1), "10 log K SVMs, n^2 each", parameters={"random_state": 0}),
    "PLKNN": GrowthPlan(5_000, (1, 1), (1, 1), "n d a new row"),
    "IPAL": GrowthPlan(500, (2, 1), (1, 1), "neighbors n^2; n K a sweep"),
    "PLGP": GrowthPlan(250, (2, 1), (2, 1), "n^2 K a product", parameters={"optimizer": None, "random_state": 0}),
    "LOORidge": GrowthPlan(250, (3, 1), (2, 1), "n^3 once, n^2 K a round"),
    "GraphLogisticRegression": GrowthPlan(
        1_000, (1, 3), (1, 2), "n K d^2 and (K d)^3 a step; neighbors n log n", d=5, n_classes=3, **FEW
    ),
    "HarmonicField": GrowthPlan(4_000, (1, 1), (1, 1), "n K a product; neighbors n log n", d=5, **FEW),
    "LocalGlobalConsistency": GrowthPlan(4_000, (1, 1), (1, 1), "n K a product; neighbors n log n", d=5, **FEW),
    "MarkovWalk": GrowthPlan(2_000, (1, 1), (1, 1), "n labeled a step; neighbors n log n", d=5, **FEW),
    "PoissonLearning": GrowthPlan(4_000, (1, 1), (1, 1), "n K a product; neighbors n log n", d=5, **FEW),
    "SpectralGraphTransducer": GrowthPlan(1_000, (2, 1), (1, 1), "neighbors n^2; n (80^2 + 80 K)", **FEW),
    "TransductiveSVM": GrowthPlan(500, (1, 1), (1, 1), "n d a pass, K SVMs", n_labeled=200),
    "MultinomialEM": GrowthPlan(10_000, (1, 1), (1, 1), "n K d a sweep", **FEW),
    "GaussianEM": GrowthPlan(2_000, (1, 1), (1, 1), "n K d^2 a sweep", n_labeled=400),
    "CandidateEM": GrowthPlan(
        500, (1, 1), (1, 1), "6 fits of logistic regression a round", parameters={"estimator": LogisticRegression()}
    ),
}


def make_problem(plan: GrowthPlan, n: int, n_classes: int):
    """Return rows around one center for each class, with sets of one and two labels, and new rows."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n + 200)
    X = 0.8 * rng.normal(size=(n_classes, plan.d))[y] + rng.normal(size=(n + 200, plan.d))
    mask = y[:n, None] == np.arange(n_classes)
    partial = np.flatnonzero(rng.random(n) < 0.5)
    mask[partial, (y[partial] + rng.integers(1, n_classes, len(partial))) % n_classes] = True
    if plan.n_labeled is not None:
        mask[rng.permutation(n)[plan.n_labeled :]] = True
    return X[:n], mask, X[n:]


def measure_call(run) -> tuple[Any, float, float]:
    """Return the outcome, the processor seconds, and the additional megabytes (NaN if the system has no figure)."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # freed memory is returned, and counts again when it is allocated
        common.reset_peak_memory()
        before = common.process_memory("VmRSS") / 2**20
    except (OSError, AttributeError, KeyError):
        before = np.nan
    outcome, seconds = common.timed(run)
    return outcome, seconds, (common.process_memory("VmHWM") / 2**20 - before if np.isfinite(before) else np.nan)


def measure_size(name: str, n: int, n_classes: int) -> dict[str, float]:
    """Measure one size."""
    import oneof

    plan = PLANS[name]
    X, mask, X_new = make_problem(plan, n, n_classes)
    if name == "MultinomialEM":
        X, X_new = np.exp(X).round(), np.exp(X_new).round()
    y = oneof.CandidateSets.from_indicator(mask)

    def run():
        model = getattr(oneof, name)(**plan.parameters).fit(X, y)
        model.predict(X_new)
        return model

    runs = [measure_call(run)]
    while len(runs) < 3 and sum(seconds for _, seconds, _ in runs) < 2.0:
        runs.append(measure_call(run))
    iterations = getattr(runs[0][0], "n_iter_", np.nan)
    return {
        "n": n,
        "K": n_classes,
        "seconds": min(seconds for _, seconds, _ in runs),
        "megabytes": float(np.median([megabytes for *_, megabytes in runs])),
        "iterations": float(np.max(iterations)),
    }


def growth_child(name: str) -> None:
    """Print the measurements of one estimator as lines of JSON; run in a separate process."""
    warnings.simplefilter("ignore")
    plan = PLANS[name]
    measure_size(name, plan.n, plan.n_classes)  # compiles
    sizes = [(plan.n * 2**p, plan.n_classes) for p in range(4)]
    sizes += [(2 * plan.n, plan.n_classes * 2**p) for p in (1, 2)]
    for n, n_classes in sizes:
        print(json.dumps(measure_size(name, n, n_classes)), flush=True)


def fit_exponents(cells: list[dict[str, float]], variable: str, quantity: str) -> tuple[float, float]:
    """Return the fitted exponent, and the exponent of the last doubling."""
    x, values = np.array([[c[variable], max(c[quantity], 1e-9)] for c in cells]).T
    logs = np.log(x), np.log(values)
    return float(np.polyfit(*logs, 1)[0]), float((logs[1][-1] - logs[1][-2]) / (logs[0][-1] - logs[0][-2]))


def format_exponent(cells: list[dict[str, float]], variable: str, quantity: str, documented: float) -> str:
    """Format an exponent, those of the last doubling and of an iteration, and the documented one."""
    if quantity == "megabytes" and not cells[-1][quantity] >= MIN_MEMORY:
        return f"- ({documented:g})"
    fitted, last = fit_exponents(cells, variable, quantity)
    text = f"{fitted:.2f}, {last:.2f}"
    smallest = min(fitted, last)
    if quantity == "seconds" and all(c["iterations"] >= 1 for c in cells):
        each = fit_exponents([{**c, quantity: c[quantity] / c["iterations"]} for c in cells], variable, quantity)
        text, smallest = f"{text}; {each[0]:.2f}", min(smallest, *each)
    return f"**{text} ({documented:g})**" if smallest > documented + EXPONENT_TOL else f"{text} ({documented:g})"


def format_row(name: str, cells: list[dict[str, float]]) -> str:
    """Format a line of the table."""
    plan, rows = PLANS[name], cells[:4]
    classes = [cells[1], *cells[4:]]
    return [
        name,
        plan.term,
        f"{rows[0]['n']:,} to {rows[-1]['n']:,} x {plan.d}, {plan.n_classes} to {classes[-1]['K']}",
        f"{rows[0]['seconds']:.3g} to {rows[-1]['seconds']:.3g} s",
        format_exponent(rows, "n", "seconds", plan.time[0]),
        format_exponent(classes, "K", "seconds", plan.time[1]),
        f"{rows[0]['megabytes']:.3g} to {rows[-1]['megabytes']:.3g} MB",
        format_exponent(rows, "n", "megabytes", plan.memory[0]),
        format_exponent(classes, "K", "megabytes", plan.memory[1]),
        ", ".join(
            "-" if np.isnan(c["iterations"]) else f"{c['iterations']:.0f}" for c in (rows[0], rows[-1], classes[-1])
        ),
    ]


GROWTH_COLUMNS = (
    *("estimator", "largest term", "rows x features, classes", "time", "in n", "in K", "memory", "in n", "in K"),
    "iterations: n, 8n, 4K",
)
GROWTH_ENVIRONMENT = {
    **common.ONE_THREAD,
    "MALLOC_MMAP_THRESHOLD_": "131072",  # freed arrays are returned to the system
}


def growth(*estimators: str) -> None:
    """Fit every estimator with n, 2n, 4n and 8n rows, and with K, 2K and 4K classes, and tabulate the growth.

    Without names, all estimators are measured and the table is written to benchmarks/RESULTS.md. A measurement is a
    fit and the prediction of 200 new rows. Time is processor time of one thread, the minimum of up to three runs;
    memory is the additional peak memory of the process, without the data. Each estimator has its own process,
    compiled and warm. Exponents are slopes of logarithms by least squares; the table also has the slope of the last
    doubling, which is not flattered by small sizes, the exponent of one iteration if the estimator counts them, and
    the exponents of the largest term of the documented cost, which is that of an iteration.
    """
    import oneof
    from oneof.estimators.base import CandidateClassifier

    public = [getattr(oneof, name) for name in oneof.__all__]
    names = [c.__name__ for c in public if isinstance(c, type) and issubclass(c, CandidateClassifier)]
    before, rows = common.load_average(), []
    for name in estimators or names:
        row = [name, "no sizes are defined for it"]
        if name in PLANS:
            done = common.run_child("speed", "growth-child", name, env=GROWTH_ENVIRONMENT)
            cells = [json.loads(line) for line in done.stdout.splitlines()]
            failed = (done.stderr.strip().splitlines() or ["it ended early"])[-1]
            row = format_row(name, cells) if len(cells) == 6 else [name, f"failed: {failed}"]
        rows.append(row + [""] * (len(GROWTH_COLUMNS) - len(row)))
        print(*row, sep=" | ", flush=True)
    text = f"""## Growth with rows and classes

`python -m benchmarks speed growth`, on {common.describe_machine()}, one thread.
Load average: {before} at the start, {common.load_average()} at the end. A cell of the columns "in n" and "in K" has
the fitted exponent and that of the last doubling; for time also, after a semicolon, that of an iteration;
and in parentheses the documented exponent of an iteration. In bold: cells with all exponents more than
{EXPONENT_TOL:g} above it. K grows at 2n rows. Memory is that of fit beyond
the data; "-" if it is below {MIN_MEMORY:g} MB.

""" + common.markdown(GROWTH_COLUMNS, rows)
    if estimators:
        print(text)
    else:
        common.write_section("growth", text)


def threads_child(name: str, n: int, share_small: int) -> None:
    """Print the seconds of a fit, with all threads for small matrices or the limits of the estimators."""
    import oneof
    from oneof import parallel

    warnings.simplefilter("ignore")
    plan = replace(PLANS[name], d=64, n_classes=10)
    X, mask, _ = make_problem(plan, n, plan.n_classes)
    if name == "MultinomialEM":
        X = np.exp(X).round()
    estimator = getattr(oneof, name)(**plan.parameters)
    clone(estimator).fit(X[:200], mask[:200])  # compiles
    if share_small:
        parallel.MIN_SHARED_SIZE = 0
    (_, processor), wall = common.timed(lambda: common.timed(lambda: estimator.fit(X, mask)), time.perf_counter)
    print(wall, processor)


def threads(*estimators: str, n: int = 1000, limit: float = 60.0) -> None:
    """Fit n x 64 rows of ten classes with the threads of the estimator, with one and with all; the last may hang.

    A cell has the seconds and the processor seconds of a process of its own; "-" is a fit that took more than `limit`
    seconds with its start. Run it on a quiet machine, and beside other processes.
    """
    sides = {"default": (0, {}), "one thread": (0, common.ONE_THREAD), "all threads": (1, {})}
    print(f"{n} x 64 rows, load average {common.load_average()}")
    for name in estimators or PLANS:
        cells = []
        for share_small, env in sides.values():
            try:
                done = common.run_child("speed", "threads-child", name, n, share_small, env=env, timeout=limit)
                cells.append("{:.2f} ({:.2f})".format(*map(float, done.stdout.split())))
            except subprocess.TimeoutExpired:
                cells.append("-")
        print(name, *cells, sep=" | ", flush=True)
