"""Cost of weights: fits with weights compared with their sets, and hard sets compared with another version of oneof.

Rows are drawn around one center for each class, and the label of a row is a list of three classes with probabilities.
The sides alternate in one run, with one thread; seconds are processor time, the minimum of the rounds, without the
first fit, which compiles. Estimators have the settings of `compare`.
"""

import csv
import json
import os
import subprocess
import sys
import time
import tracemalloc
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.common import DOCS, ONE_THREAD, ROOT, time_alternating, write_csv
from benchmarks.speed import make_clusters
from oneof import CandidateSets
from oneof.comparison import default_estimators

SPEED, HARD_SETS = DOCS / "weights_speed.csv", DOCS / "weights_hard_sets.csv"
SIZES = ((2000, 50, 10), (5000, 100, 20))
SLOW = ("PLGP", "GraphLogisticRegression", "PLECOC")
"""Estimators that are measured at the first size only, because a fit at the second one takes minutes."""


def make_lists(n, d, n_classes):
    """Return rows, and the probabilities of three classes in each row, 0 for the others."""
    X, y = make_clusters(n, d, n_classes)
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(n, n_classes)) + 2.0 * (y[:, None] == np.arange(n_classes))
    P = np.exp(scores)
    P[scores < np.sort(scores, axis=1)[:, [-3]]] = 0.0
    return X, P / P.sum(axis=1, keepdims=True)


def estimators(n):
    """Return the estimators of `compare`, without the scalers, and without CandidateEM, which has its own benchmark."""
    return {name: pipeline[-1] for name, pipeline in default_estimators(n_rows=n).items() if name != "CandidateEM"}


def rows_for(name, X):
    """Return the rows in the form that an estimator accepts."""
    return X - X.min() if name == "MultinomialEM" else X


def fits(*names: str, rounds=3):
    """Add the processor time of fits with weights and with their supports as sets to docs/weights_speed.csv.

    Lines in the file are kept: delete it to measure again. Names restrict the run to some estimators.
    """
    warnings.simplefilter("ignore")
    done = set()
    if SPEED.exists():
        with SPEED.open(newline="", encoding="utf-8") as file:
            done = {tuple(line[:2]) for line in csv.reader(file)}
    else:
        write_csv(SPEED, ("estimator", "rows x features, classes", "sets", "weights", "ratio"), ())
    for n, d, n_classes in SIZES:
        X, P = make_lists(n, d, n_classes)
        labels = {"sets": CandidateSets(P > 0, np.arange(n_classes)), "weights": CandidateSets.from_weights(P)}
        for name, estimator in estimators(n).items():
            size = f"{n:,} x {d}, {n_classes}"
            skipped = (names and name not in names) or (name in SLOW and (n, d, n_classes) != SIZES[0])
            if skipped or (name, size) in done:
                continue
            rows = rows_for(name, X)
            sides = {
                side: lambda y=y, rows=rows, estimator=estimator: clone(estimator).fit(rows, y)
                for side, y in labels.items()
            }
            times = time_alternating(sides, rounds, clock=time.process_time)
            seconds = {side: values.min() for side, values in times.items()}
            ratio = seconds["weights"] / seconds["sets"]
            line = (name, size, *(f"{seconds[side]:.4f}" for side in labels), f"{ratio:.2f}")
            print(*line, sep="  ", flush=True)
            with SPEED.open("a", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerow(line)


def costs():
    """Print the tables of times of docs/weights.md from the two files."""
    with SPEED.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    sizes = list(dict.fromkeys(line["rows x features, classes"] for line in lines))
    print("| seconds of a fit | " + " | ".join(f"{size}: sets | weights | ratio" for size in sizes) + " |")
    print("|---" * (1 + 3 * len(sizes)) + "|")
    cells = {(line["estimator"], line["rows x features, classes"]): line for line in lines}
    for name in dict.fromkeys(line["estimator"] for line in lines):
        chosen = [cells.get((name, size), {}) for size in sizes]
        numbers = [_significant(line.get(key, "")) for line in chosen for key in ("sets", "weights", "ratio")]
        print(f"| {name} | " + " | ".join(numbers) + " |")
    with HARD_SETS.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    print("\n| hard sets | before | now | ratio |\n|---|---|---|---|")
    for line in lines:
        print(
            "| " + " | ".join((line["task"], *(_significant(line[key]) for key in ("before", "now", "ratio")))) + " |"
        )


def _significant(value):
    """Format a number of the files by two significant digits, or more from 10 on."""
    return f"{float(value):.2g}" if value and float(value) < 10 else value and f"{float(value):.0f}"


def hard_sets(before: str, *, rounds=4):
    """Add the time and memory of hard sets, here and in the checkout `before`, to docs/weights_hard_sets.csv.

    Lines in the file are kept: delete it to measure again.
    """
    folders = {"before": Path(before) / "src", "now": ROOT / "src"}
    done = set()
    if HARD_SETS.exists():
        with HARD_SETS.open(newline="", encoding="utf-8") as file:
            done = {line[0] for line in csv.reader(file)}
    else:
        write_csv(HARD_SETS, ("task", "before", "now", "ratio"), ())
    sides = {side: _start_child(folder) for side, folder in folders.items()}
    for task in ("CandidateSets: megabytes", "CandidateSets: construction", *estimators(SIZES[0][0])):
        if task in done:
            continue
        values = {side: [] for side in sides}
        for _ in range(rounds):
            for side, child in sides.items():
                values[side].append(_ask(child, task))
        old, new = (min(values[side]) for side in folders)
        line = (task, f"{old:.4f}", f"{new:.4f}", f"{new / old:.2f}")
        print(*line, sep="  ", flush=True)
        with HARD_SETS.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(line)
    for child in sides.values():
        child.stdin.close()
        child.wait()


def hard_sets_child() -> None:
    """Answer each line of standard input, the name of a task, with its seconds or megabytes."""
    warnings.simplefilter("ignore")
    n, d, n_classes = SIZES[0]
    X, P = make_lists(n, d, n_classes)
    y = CandidateSets(P > 0, np.arange(n_classes))
    models, many, fitted = estimators(n), np.tile(P > 0, (500, 1)), set()
    for line in sys.stdin:
        task = line.strip()
        if task == "CandidateSets: megabytes":
            tracemalloc.start()
            made = CandidateSets(many, np.arange(n_classes))
            answer = tracemalloc.get_traced_memory()[0] / 1e6
            tracemalloc.stop()
            del made
        elif task == "CandidateSets: construction":
            answer = _seconds(lambda: CandidateSets(many, np.arange(n_classes)))
        else:
            run = partial(_fit, models[task], rows_for(task, X), y)
            if task not in fitted:  # compiles
                run()
                fitted.add(task)
            answer = _seconds(run)
        print(json.dumps(answer), flush=True)


def _fit(model, X, y):
    clone(model).fit(X, y)


def _seconds(run):
    """Return the minimum of the processor times of a call, which is repeated for up to 0.3 s."""
    seconds = []
    while sum(seconds) < 0.3 and len(seconds) < 20:
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)


def _start_child(folder):
    """Start a process that imports oneof from a folder."""
    env = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    command = [sys.executable, "-m", "benchmarks", "weights", "hard-sets-child"]
    return subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _ask(child, task):
    child.stdin.write(task + "\n")
    child.stdin.flush()
    return json.loads(child.stdout.readline())
