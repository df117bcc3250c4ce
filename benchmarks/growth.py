"""How time and memory of every estimator grow with rows (n, 2n, 4n, 8n) and with classes (K, 2K, 4K).

Run with `python benchmarks/growth.py [estimator ...]`; all estimators if none is named, and then the table goes to
benchmarks/RESULTS.md. A measurement is a fit and the prediction of 200 further rows. Time is processor time of one
thread, the least of up to three runs; memory is the most that the process held meanwhile above what it held before, of
which the data are no part. Each estimator has a process of its own, compiled and warm. Exponents are slopes of
logarithms by least squares; beside them stand the slope of the last doubling, which small sizes do not flatter, the
exponent of one iteration where the estimator counts them, and what METHODS promises: the exponents of the largest term
of the cost that it states for the method, which is that of an iteration. How many there are is the data's affair, and
shown.
"""

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

TOLERANCE = 0.2
"""By how much a fitted exponent may be above the promised one before the table marks it."""
LEAST_MEMORY = 4.0
"""Megabytes below which growth of memory is that of the allocator."""


@dataclass(frozen=True)
class Plan:
    """The smallest n and K of an estimator, its parameters, and the promised exponents."""

    n: int
    time: tuple[float, float]
    """In n and in K."""
    memory: tuple[float, float]
    term: str
    """The largest term of the cost."""
    d: int = 20
    n_classes: int = 5
    n_known: int | None = None
    """Rows with a label or a set; all if None."""
    parameters: dict[str, Any] = field(default_factory=dict)


FEW = {"n_known": 400}
PLANS = {
    **dict.fromkeys(
        ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos"), Plan(50_000, (1, 1), (1, 1), "n K d")
    ),
    "CLPL": Plan(4_000, (1, 1), (1, 1), "n K d a step"),
    "PLEM": Plan(2_000, (1, 1), (1, 1), "n K d a step"),
    "PLSVM": Plan(2_000, (1, 1), (1, 1), "n K d a pass"),
    "PLECOC": Plan(500, (2, 1), (1, 1), "10 log K machines, n^2 each", parameters={"random_state": 0}),
    "PLKNN": Plan(5_000, (1, 1), (1, 1), "n d a new row"),
    "IPAL": Plan(500, (2, 1), (1, 1), "neighbors n^2; n K a sweep"),
    "PLGP": Plan(250, (2, 1), (2, 1), "n^2 K a product", parameters={"optimizer": None, "random_state": 0}),
    "LOORidge": Plan(250, (3, 1), (2, 1), "n^3 once, n^2 K a round"),
    "GraphLogisticRegression": Plan(
        1_000, (1, 3), (1, 2), "n K d^2 and (K d)^3 a step; neighbors n log n", d=5, n_classes=3, **FEW
    ),
    "HarmonicField": Plan(4_000, (1, 1), (1, 1), "n K a product; neighbors n log n", d=5, **FEW),
    "LocalGlobalConsistency": Plan(4_000, (1, 1), (1, 1), "n K a product; neighbors n log n", d=5, **FEW),
    "MarkovWalk": Plan(2_000, (1, 1), (1, 1), "n labeled a step; neighbors n log n", d=5, **FEW),
    "SpectralGraphTransducer": Plan(1_000, (2, 1), (1, 1), "neighbors n^2; n (80^2 + 80 K)", **FEW),
    "TransductiveSVM": Plan(500, (1, 1), (1, 1), "n d a pass, K machines", n_known=200),
    "MultinomialEM": Plan(10_000, (1, 1), (1, 1), "n K d a sweep", **FEW),
    "GaussianEM": Plan(2_000, (1, 1), (1, 1), "n K d^2 a sweep", n_known=400),
}


def problem(plan: Plan, n: int, n_classes: int):
    """Return rows around one center a class, with sets of one and of two, and further rows."""
    random = np.random.default_rng(0)
    y = random.integers(0, n_classes, n + 200)
    X = 0.8 * random.normal(size=(n_classes, plan.d))[y] + random.normal(size=(n + 200, plan.d))
    mask = y[:n, None] == np.arange(n_classes)
    partial = np.flatnonzero(random.random(n) < 0.5)
    mask[partial, (y[partial] + random.integers(1, n_classes, len(partial))) % n_classes] = True
    if plan.n_known is not None:
        mask[random.permutation(n)[plan.n_known :]] = True
    return X[:n], mask, X[n:]


def status(word: str) -> float:
    """Return a figure of this process's memory, in megabytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(word):
            return int(line.split()[1]) / 1024
    raise KeyError(word)


def measured(run) -> tuple[Any, float, float]:
    """Return the outcome, processor seconds, and megabytes above what was held: nan where the system is mute."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, and counts again when it is taken
        Path("/proc/self/clear_refs").write_text("5")  # forgets the highest figure so far
        before = status("VmRSS")
    except (OSError, AttributeError, KeyError):
        before = np.nan
    start = time.process_time()
    outcome = run()
    seconds = time.process_time() - start
    return outcome, seconds, (status("VmHWM") - before if np.isfinite(before) else np.nan)


def cell(name: str, n: int, n_classes: int) -> dict[str, float]:
    """Measure one size."""
    import oneof

    plan = PLANS[name]
    X, mask, X_new = problem(plan, n, n_classes)
    if name == "MultinomialEM":
        X, X_new = np.exp(X).round(), np.exp(X_new).round()
    y = oneof.CandidateSets.from_indicator(mask)

    def run():
        model = getattr(oneof, name)(**plan.parameters).fit(X, y)
        model.predict(X_new)
        return model

    runs = [measured(run)]
    while len(runs) < 3 and sum(seconds for _, seconds, _ in runs) < 2.0:
        runs.append(measured(run))
    iterations = getattr(runs[0][0], "n_iter_", np.nan)
    return {
        "n": n,
        "K": n_classes,
        "seconds": min(seconds for _, seconds, _ in runs),
        "megabytes": float(np.median([megabytes for *_, megabytes in runs])),
        "iterations": float(np.max(iterations)),
    }


def series(name: str) -> None:
    """Print the measurements of one estimator, a line each; run in a process of its own."""
    warnings.simplefilter("ignore")
    plan = PLANS[name]
    cell(name, plan.n, plan.n_classes)  # compiles
    sizes = [(plan.n * 2**p, plan.n_classes) for p in range(4)]
    sizes += [(2 * plan.n, plan.n_classes * 2**p) for p in (1, 2)]
    for n, n_classes in sizes:
        print(json.dumps(cell(name, n, n_classes)), flush=True)


def slope(cells: list[dict[str, float]], along: str, what: str) -> tuple[float, float]:
    """Return the fitted exponent and that of the last doubling."""
    x, values = np.array([[c[along], max(c[what], 1e-9)] for c in cells]).T
    logs = np.log(x), np.log(values)
    return float(np.polyfit(*logs, 1)[0]), float((logs[1][-1] - logs[1][-2]) / (logs[0][-1] - logs[0][-2]))


def shown(cells: list[dict[str, float]], along: str, what: str, promised: float) -> str:
    """Format an exponent, that of the last doubling, that of an iteration, and the promised one."""
    if what == "megabytes" and not cells[-1][what] >= LEAST_MEMORY:
        return f"- ({promised:g})"
    fitted, last = slope(cells, along, what)
    text = f"{fitted:.2f}, {last:.2f}"
    least = min(fitted, last)
    if what == "seconds" and all(c["iterations"] >= 1 for c in cells):
        each = slope([{**c, what: c[what] / c["iterations"]} for c in cells], along, what)
        text, least = f"{text}; {each[0]:.2f}", min(least, *each)
    return f"**{text} ({promised:g})**" if least > promised + TOLERANCE else f"{text} ({promised:g})"


def row(name: str, cells: list[dict[str, float]]) -> str:
    """Format a line of the table."""
    plan, rows = PLANS[name], cells[:4]
    classes = [cells[1], *cells[4:]]
    values = (
        name,
        plan.term,
        f"{rows[0]['n']:,} to {rows[-1]['n']:,} x {plan.d}, {plan.n_classes} to {classes[-1]['K']}",
        f"{rows[0]['seconds']:.3g} to {rows[-1]['seconds']:.3g} s",
        shown(rows, "n", "seconds", plan.time[0]),
        shown(classes, "K", "seconds", plan.time[1]),
        f"{rows[0]['megabytes']:.3g} to {rows[-1]['megabytes']:.3g} MB",
        shown(rows, "n", "megabytes", plan.memory[0]),
        shown(classes, "K", "megabytes", plan.memory[1]),
        ", ".join(
            "-" if np.isnan(c["iterations"]) else f"{c['iterations']:.0f}" for c in (rows[0], rows[-1], classes[-1])
        ),
    )
    return "| " + " | ".join(values) + " |"


HEAD = (
    "| estimator | largest term | rows x features, classes | time | in n | in K | memory | in n | in K | iterations: "
    "n, 8n, 4K |\n|---|---|---|---|---|---|---|---|---|---|"
)
ENVIRONMENT = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    "MALLOC_MMAP_THRESHOLD_": "131072",  # arrays go back to the system when they are freed
}


def main() -> None:
    """Run a process for each estimator, and write the table."""
    from sides.results import load, machine, write

    from oneof.estimators.base import CandidateClassifier

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("estimators", nargs="*")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        series(options.estimators[0])
        return
    import oneof

    known = [getattr(oneof, name) for name in oneof.__all__]
    names = [c.__name__ for c in known if isinstance(c, type) and issubclass(c, CandidateClassifier)]
    before, lines = load(), [HEAD]
    for name in options.estimators or names:
        if name not in PLANS:
            line = f"| {name} | no sizes are written down for it | | | | | | | | |"
        else:
            command = [sys.executable, __file__, "--one", name]
            done = subprocess.run(
                command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, check=False
            )
            cells = [json.loads(line) for line in done.stdout.splitlines()]
            failed = (done.stderr.strip().splitlines() or ["it ended early"])[-1]
            line = row(name, cells) if len(cells) == 6 else f"| {name} | failed: {failed} | | | | | | | | |"
        lines.append(line)
        print(line, flush=True)
    text = f"""## Growth

`python benchmarks/growth.py`, on {machine()}, one thread.
Processes that wanted a core: {before} at the start, {load()} at the end. A cell of the columns "in n" and "in K" holds
the fitted exponent and that of the last doubling; of time also, after a semicolon, the fitted exponent of an iteration;
and in parentheses what METHODS promises of an iteration. In bold: where all are over {TOLERANCE:g} above it. K grows
at 2n rows. Memory is what fit takes beyond the data; "-" where it is below {LEAST_MEMORY:g} MB.

""" + "\n".join(lines)
    if options.estimators:
        print(text)
    else:
        write("growth", text)


if __name__ == "__main__":
    main()
