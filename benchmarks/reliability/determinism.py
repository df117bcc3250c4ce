"""Determinism: equal results in other processes, with other numbers of threads, in shared models and in workers.

Each part writes a table to docs/reliability; `tables` copies the tables to docs/reliability.md. Every number is a count
of differing results or a largest difference; nothing is timed. Rows, scores and threads are those of
tests/test_reliability.py, which has smaller tables.
"""

import csv
import multiprocessing
import pickle
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import oneof
from benchmarks.common import DOCS, Table, run_child
from oneof.estimators.base import CandidateClassifier
from tests.estimators.panel import scores, table
from tests.test_reliability import MAX_SECONDS, N_THREADS, call_simultaneously

PLGP = {"optimizer": None, "n_mc_samples": 200}
VARIANTS = {
    "PLGP": ("PLGP", PLGP),
    "PLSVM(rbf)": ("PLSVM", {"kernel": "rbf"}),
    "TransductiveSVM(rbf)": ("TransductiveSVM", {"kernel": "rbf"}),
    "PLGP(optimizer)": ("PLGP", {"n_mc_samples": 200}),
    "PLGP(nystroem)": ("PLGP", {**PLGP, "approximation": "nystroem", "n_components": 50}),
    "HarmonicField(approximate)": ("HarmonicField", {"algorithm": "approximate"}),
    "AvgPegasos(shuffle, average)": ("AvgPegasos", {"n_epochs": 3, "shuffle": True, "average": True}),
}
"""Methods with other parameters, and variants with other code paths."""
CLASSES = (getattr(oneof, name) for name in oneof.__all__)
METHODS = {c.__name__: (c.__name__, {}) for c in CLASSES if isinstance(c, type) and issubclass(c, CandidateClassifier)}
METHODS |= VARIANTS


def fit_model(name, n_jobs=1):
    """Return a model that is fitted to 300 rows of clusters, and new rows."""
    kind, parameters = METHODS[name]
    model = getattr(oneof, kind)(**parameters)
    model.set_params(**{key: v for key, v in (("random_state", 0), ("n_jobs", n_jobs)) if key in model.get_params()})
    X, mask = table(600, 40, 4, like=model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an optimization that stopped early is sufficient here
        return model.fit(X[:300], mask[:300]), X[300:]


def fit_and_score(name, n_jobs=1):
    """Fit, and return the scores of new rows."""
    return np.asarray(scores(*fit_model(name, n_jobs)))


def format_difference(results, expected):
    """Return "equal", or the largest difference relative to the largest score."""
    if results is None:
        return "does not end"
    if np.array_equal(results, expected):
        return "equal"
    return f"{np.abs(results - expected).max() / np.abs(expected).max():.0e}"


def write_differences(file, expected, results):
    """Write for each method the difference of each of several results."""
    Table(f"reliability/{file}.csv", ["method", *results]).replace(
        [name, *(format_difference(found[name], expected[name]) for found in results.values())] for name in expected
    )


def determinism_child(path: str, n_threads: int):
    """Fit every method with a number of threads, and write its scores."""
    with threadpool_limits(n_threads):
        results = {name: fit_and_score(name, n_threads) for name in METHODS}
    Path(path).write_bytes(pickle.dumps(results))


def determinism():
    """Compare the scores of new rows between processes.

    Each method is fitted in separate processes with 1, 2 and 4 threads for BLAS, OpenMP and `n_jobs`, and with two
    seeds of Python's hashes.
    """
    runs = {"": (1, "0"), "another process": (1, "1"), "2 threads": (2, "0"), "4 threads": (4, "0")}
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, (n_threads, seed) in runs.items():
            path = Path(folder, f"{n_threads}-{seed}")
            libraries = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
            environment = {"PYTHONHASHSEED": seed, **dict.fromkeys(libraries, str(n_threads))}
            run_child("reliability", "determinism-child", path, n_threads, env=environment).check_returncode()
            results[title] = pickle.loads(path.read_bytes())
    write_differences("determinism", results.pop(""), results)


def threads():
    """Call one new model from 8 threads simultaneously, then from one; and fit 8 models in 8 threads simultaneously."""
    lines = []
    for name in METHODS:
        model, new = fit_model(name)
        restored = pickle.loads(pickle.dumps(model))  # without the values that are cached by the first call
        parts = [new[start::N_THREADS] for start in range(N_THREADS)]
        answers = call_simultaneously(lambda part, model=restored: scores(model, part), parts)
        n_answers = sum(not np.array_equal(a, scores(model, part)) for a, part in zip(answers, parts))
        expected, fits = scores(model, new), call_simultaneously(fit_and_score, [name] * N_THREADS)
        lines.append([name, n_answers, sum(not np.array_equal(results, expected) for results in fits)])
    columns = [f"{what} that differ, of {N_THREADS} threads" for what in ("answers", "fits")]
    Table("reliability/threads.csv", ["method", *columns]).replace(lines)


def _child(names, connection):
    for name in names:
        connection.send(fit_and_score(name))


def run_children(how):
    """Return the scores of child processes: one child for all methods, and a new one after a method that hangs."""
    context, results, names = multiprocessing.get_context(how), {}, list(METHODS)
    while len(results) < len(names):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(names[len(results) :], sender))
        child.start()
        sender.close()
        try:
            for name in names[len(results) :]:
                results[name] = receiver.recv() if receiver.poll(MAX_SECONDS) else None
                if results[name] is None:
                    break
        except EOFError:
            results[names[len(results)]] = None
        finally:
            child.kill()
            child.join()
    return results


def workers():
    """Fit every method in a forked, a spawned and a joblib process, after the parent has fitted it with two threads."""
    with threadpool_limits(2):
        expected = {name: fit_and_score(name) for name in METHODS}
        results = {"forked": run_children("fork"), "spawned": run_children("spawn")}
    results["joblib"] = dict(zip(METHODS, Parallel(n_jobs=2)(delayed(fit_and_score)(name) for name in METHODS)))
    write_differences("workers", expected, results)


def tables():
    """Copy the tables into docs/reliability.md, each after its mark."""
    page = DOCS / "reliability.md"
    parts = re.split(r"(<!-- (\w+) -->\n)(?:\n\|.*?\n\n|\n)", page.read_text(), flags=re.DOTALL)
    content = parts[0]
    for mark, name, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        path = DOCS / "reliability" / f"{name}.csv"
        rows = list(csv.reader(path.open())) if path.exists() else [["not measured yet"]]
        lines = ["| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
        content += mark + "\n" + "\n".join(lines) + "\n\n" + rest
    page.write_text(content)
