"""Same seed, same result? Over threads, processes and calls at once: `python benchmarks/reliability.py`.

It writes docs/reliability/determinism.csv, threads.csv and workers.csv, which docs/reliability.md shows. Every number
there is a count of differing bits or a largest difference; nothing is timed.

* determinism: each method is fitted in processes of their own, with 1, 2 and 4 threads for BLAS, OpenMP and `n_jobs`,
  and with two seeds of Python's hashes. What is compared are the scores of rows that were not fitted.
* threads: one fitted model is asked by 8 threads at once, which all meet it for the first time, and then by one; and 8
  models are fitted in 8 threads at once.
* workers: a process that has fitted every method is forked, and the child fits each again; so does a spawned process,
  and a worker of joblib.
"""

import argparse
import csv
import multiprocessing
import os
import pickle
import re
import subprocess
import sys
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reliability"
N_THREADS = 8
LONGEST = 300
"""Seconds after which a child counts as one that hangs."""


def methods(n_jobs=1):
    """Return every public estimator, and forms of some that take another way through the code."""
    import oneof
    from oneof.estimators.base import CandidateClassifier

    found = {}
    for name in oneof.__all__:
        kind = getattr(oneof, name)
        if isinstance(kind, type) and issubclass(kind, CandidateClassifier):
            known = kind().get_params()
            given = {"random_state": 0} if "random_state" in known else {}
            found[name] = kind(**given, **({"n_jobs": n_jobs} if "n_jobs" in known else {}))
    found["PLGP"].set_params(optimizer=None, n_mc_samples=200)
    more = {
        "PLSVM(rbf)": oneof.PLSVM(kernel="rbf"),
        "TransductiveSVM(rbf)": oneof.TransductiveSVM(kernel="rbf"),
        "PLGP(optimizer)": oneof.PLGP(n_mc_samples=200, random_state=0),
        "PLGP(nystroem)": oneof.PLGP(
            optimizer=None, approximation="nystroem", n_components=50, n_mc_samples=200, random_state=0
        ),
        "HarmonicField(approximate)": oneof.HarmonicField(algorithm="approximate"),
        "AvgPegasos(shuffle, average)": oneof.AvgPegasos(n_epochs=3, shuffle=True, average=True, random_state=0),
    }
    return found | more


def table(n=300, d=40, K=4, *, positive=False):
    """Return rows of clusters with exact, partial and full sets, and rows to ask about."""
    random = np.random.default_rng(0)
    truth = random.integers(0, K, 2 * n)
    X = random.normal(size=(K, d))[truth] + random.normal(size=(2 * n, d))
    mask = random.random((2 * n, K)) < 0.3
    mask[random.random(2 * n) < 0.2] = True
    mask[np.arange(2 * n), truth] = True
    X = X - X.min() if positive else X
    return X[:n], mask[:n], X[n:]


def rows_for(model):
    """Return what a method is fitted on, and what it is asked about."""
    return table(positive=get_tags(model).input_tags.positive_only)


def scores(model, X):
    """Return what the model tells of rows, as finely as it does."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    raise AssertionError(model)


def fitted_scores(model):
    """Fit, and return the scores of new rows."""
    X, mask, new = rows_for(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a search that was cut short is as good here
        return scores(model.fit(X, mask), new)


def same(found, expected):
    """Return "equal", or the largest difference by the largest score."""
    if np.array_equal(found, expected):
        return "equal"
    return f"{np.abs(found - expected).max() / np.abs(expected).max():.0e}"


# -- determinism ------------------------------------------------------------------------------------------------------


def work(path, n_threads):
    """Fit every method with so many threads, and write what it says."""
    found = {}
    with threadpool_limits(n_threads):
        for name, model in methods(n_threads).items():
            found[name] = fitted_scores(model)
    Path(path).write_bytes(pickle.dumps(found))


def determinism():
    """Compare processes of different numbers of threads and seeds of hashes."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_threads, seed in ((1, "0"), (1, "1"), (2, "0"), (4, "0")):
            path = Path(folder) / f"{n_threads}-{seed}"
            environment = dict(os.environ, PYTHONHASHSEED=seed)
            for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
                environment[name] = str(n_threads)
            command = [sys.executable, __file__, "worker", "--out", str(path), "--threads", str(n_threads)]
            subprocess.run(command, check=True, env=environment)
            found[n_threads, seed] = pickle.loads(path.read_bytes())
    base = found.pop((1, "0"))
    lines = [[name, *(same(found[key][name], base[name]) for key in ((1, "1"), (2, "0"), (4, "0")))] for name in base]
    write("determinism.csv", ["method", "another process", "2 threads", "4 threads"], lines)


# -- threads ----------------------------------------------------------------------------------------------------------


def at_once(function, items):
    """Call for all items at the same moment, each in a thread of its own; return the results in order."""
    barrier = threading.Barrier(len(items), timeout=LONGEST)

    def wait_and_call(item):
        barrier.wait()
        return function(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(wait_and_call, items))


def asked_at_once(model):
    """Return how many of 8 threads were told something else than one thread is."""
    X, mask, new = rows_for(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, mask)
    stored = pickle.dumps(model)
    parts = [new[start::N_THREADS] for start in range(N_THREADS)]
    expected = [scores(model, part) for part in parts]
    fresh = pickle.loads(stored)  # has not yet worked out what is worked out at the first question
    return sum(not np.array_equal(a, b) for a, b in zip(at_once(lambda p: scores(fresh, p), parts), expected))


def threads():
    """Ask, and fit, in 8 threads at once."""
    lines = []
    for name in methods():
        asked = asked_at_once(methods()[name])
        expected = fitted_scores(methods()[name])
        together = at_once(fitted_scores, [methods()[name] for _ in range(N_THREADS)])
        lines.append([name, asked, sum(not np.array_equal(found, expected) for found in together)])
    columns = ["method", f"answers that differ, of {N_THREADS} threads", f"fits that differ, of {N_THREADS} threads"]
    write("threads.csv", columns, lines)


# -- workers ----------------------------------------------------------------------------------------------------------


def _child(names, connection):
    for name in names:
        connection.send(fitted_scores(methods()[name]))


def in_children(how, names):
    """Return what child processes find: one child for all, and another after a method that does not end."""
    context, found = multiprocessing.get_context(how), {}
    while len(found) < len(names):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(names[len(found) :], there))
        child.start()
        there.close()
        try:
            for name in names[len(found) :]:
                if not here.poll(LONGEST):
                    found[name] = None
                    break
                found[name] = here.recv()
        except EOFError:
            found[names[len(found)]] = None
        finally:
            child.kill()
            child.join()
    return found


def workers():
    """Fit in forked and spawned processes, after the parent has fitted with threads of its own."""
    names = list(methods())
    with threadpool_limits(2):
        expected = {name: fitted_scores(methods()[name]) for name in names}
        found = [in_children("fork", names), in_children("spawn", names)]
    found.append(dict(zip(names, Parallel(n_jobs=2)(delayed(fitted_scores)(methods()[name]) for name in names))))
    lines = []
    for name in names:
        answers = ["does not end" if f[name] is None else same(f[name], expected[name]) for f in found]
        lines.append([name, *answers])
    write("workers.csv", ["method", "forked", "spawned", "joblib"], lines)


def page():
    """Write the tables into the page, each after its mark."""
    document = FOLDER.with_suffix(".md")
    parts = re.split(r"(<!-- (\w+) -->\n)(?:\n\|.*?\n\n|\n)", document.read_text(), flags=re.DOTALL)
    text = parts[0]
    for mark, name, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        path = FOLDER / f"{name}.csv"
        rows = list(csv.reader(path.open())) if path.exists() else [["not measured yet"]]
        lines = ["| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
        text += mark + "\n" + "\n".join(lines) + "\n\n" + rest
    document.write_text(text)


def write(name, columns, lines):
    """Write a table, and show it."""
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *lines])
    print((FOLDER / name).read_text())


def main():
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=("determinism", "threads", "workers", "worker", "page", "all"), default="all"
    )
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.what == "worker":
        work(options.out, options.threads)
        return
    for measure in (determinism, threads, workers, page):
        if options.what in (measure.__name__, "all"):
            measure()


if __name__ == "__main__":
    main()
