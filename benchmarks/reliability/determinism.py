"""Determinism: equal results in other processes, with other numbers of threads, in shared models and in workers.

Each part writes a table to docs/reliability; `tables` copies the tables to docs/reliability.md. Every number is a count
of differing results or a largest difference; nothing is timed.
"""

import csv
import multiprocessing
import pickle
import re
import tempfile
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from benchmarks.common import DOCS, run_child, write_csv

FOLDER = DOCS / "reliability"
N_THREADS = 8
MAX_SECONDS = 300
"""Seconds after which a child process counts as hanging."""


def make_methods(n_jobs=1):
    """Return every public estimator, and variants of some with other code paths."""
    import oneof
    from oneof.estimators.base import CandidateClassifier

    results = {}
    for name in oneof.__all__:
        kind = getattr(oneof, name)
        if isinstance(kind, type) and issubclass(kind, CandidateClassifier):
            parameters = kind().get_params()
            given = {"random_state": 0} if "random_state" in parameters else {}
            results[name] = kind(**given, **({"n_jobs": n_jobs} if "n_jobs" in parameters else {}))
    results["PLGP"].set_params(optimizer=None, n_mc_samples=200)
    variants = {
        "PLSVM(rbf)": oneof.PLSVM(kernel="rbf"),
        "TransductiveSVM(rbf)": oneof.TransductiveSVM(kernel="rbf"),
        "PLGP(optimizer)": oneof.PLGP(n_mc_samples=200, random_state=0),
        "PLGP(nystroem)": oneof.PLGP(
            optimizer=None, approximation="nystroem", n_components=50, n_mc_samples=200, random_state=0
        ),
        "HarmonicField(approximate)": oneof.HarmonicField(algorithm="approximate"),
        "AvgPegasos(shuffle, average)": oneof.AvgPegasos(n_epochs=3, shuffle=True, average=True, random_state=0),
    }
    return results | variants


def make_table(n=300, d=40, K=4, *, positive=False):
    """Return rows of clusters with exact, partial and full sets, and new rows."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, K, 2 * n)
    X = rng.normal(size=(K, d))[truth] + rng.normal(size=(2 * n, d))
    mask = rng.random((2 * n, K)) < 0.3
    mask[rng.random(2 * n) < 0.2] = True
    mask[np.arange(2 * n), truth] = True
    X = X - X.min() if positive else X
    return X[:n], mask[:n], X[n:]


def data_for(model):
    """Return training rows, candidate sets and new rows for a method."""
    return make_table(positive=get_tags(model).input_tags.positive_only)


def predict_scores(model, X):
    """Return the probabilities or the scores of rows."""
    for name in ("predict_proba", "decision_function"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    raise AssertionError(model)


def fit_and_score(model):
    """Fit, and return the scores of new rows."""
    X, mask, new = data_for(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # an optimization that stopped early is sufficient here
        return predict_scores(model.fit(X, mask), new)


def format_difference(results, expected):
    """Return "equal", or the largest difference relative to the largest score."""
    if np.array_equal(results, expected):
        return "equal"
    return f"{np.abs(results - expected).max() / np.abs(expected).max():.0e}"


# -- Determinism ------------------------------------------------------------------------------------------------------


def determinism_child(path: str, n_threads: int):
    """Fit every method with a number of threads, and write its scores."""
    results = {}
    with threadpool_limits(n_threads):
        for name, model in make_methods(n_threads).items():
            results[name] = fit_and_score(model)
    Path(path).write_bytes(pickle.dumps(results))


def determinism():
    """Compare the scores of new rows between processes.

    Each method is fitted in separate processes with 1, 2 and 4 threads for BLAS, OpenMP and `n_jobs`, and with two
    seeds of Python's hashes.
    """
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for n_threads, seed in ((1, "0"), (1, "1"), (2, "0"), (4, "0")):
            path = Path(folder) / f"{n_threads}-{seed}"
            libraries = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")
            environment = {"PYTHONHASHSEED": seed, **dict.fromkeys(libraries, str(n_threads))}
            run_child("reliability", "determinism-child", path, n_threads, env=environment).check_returncode()
            results[n_threads, seed] = pickle.loads(path.read_bytes())
    base = results.pop((1, "0"))
    keys = ((1, "1"), (2, "0"), (4, "0"))
    lines = [[name, *(format_difference(results[key][name], base[name]) for key in keys)] for name in base]
    store_table("determinism.csv", ["method", "another process", "2 threads", "4 threads"], lines)


# -- Threads ----------------------------------------------------------------------------------------------------------


def call_simultaneously(function, items):
    """Call a function for all items at the same moment, each in its own thread; return the results in order."""
    barrier = threading.Barrier(len(items), timeout=MAX_SECONDS)

    def wait_and_call(item):
        barrier.wait()
        return function(item)

    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(wait_and_call, items))


def count_different_answers(model):
    """Return the number of threads whose predictions differ from those of a single thread."""
    X, mask, new = data_for(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, mask)
    stored = pickle.dumps(model)
    parts = [new[start::N_THREADS] for start in range(N_THREADS)]
    expected = [predict_scores(model, part) for part in parts]
    restored = pickle.loads(stored)  # without the values that are cached by the first call
    answers = call_simultaneously(lambda part: predict_scores(restored, part), parts)
    return sum(not np.array_equal(a, b) for a, b in zip(answers, expected))


def threads():
    """Call one new model from 8 threads simultaneously, then from one; and fit 8 models in 8 threads simultaneously."""
    lines = []
    for name in make_methods():
        n_answers = count_different_answers(make_methods()[name])
        expected = fit_and_score(make_methods()[name])
        fits = call_simultaneously(fit_and_score, [make_methods()[name] for _ in range(N_THREADS)])
        lines.append([name, n_answers, sum(not np.array_equal(results, expected) for results in fits)])
    columns = ["method", f"answers that differ, of {N_THREADS} threads", f"fits that differ, of {N_THREADS} threads"]
    store_table("threads.csv", columns, lines)


# -- Workers ----------------------------------------------------------------------------------------------------------


def _child(names, connection):
    for name in names:
        connection.send(fit_and_score(make_methods()[name]))


def run_children(how, names):
    """Return the scores of child processes: one child for all methods, and a new one after a method that hangs."""
    context, results = multiprocessing.get_context(how), {}
    while len(results) < len(names):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(names[len(results) :], sender))
        child.start()
        sender.close()
        try:
            for name in names[len(results) :]:
                if not receiver.poll(MAX_SECONDS):
                    results[name] = None
                    break
                results[name] = receiver.recv()
        except EOFError:
            results[names[len(results)]] = None
        finally:
            child.kill()
            child.join()
    return results


def workers():
    """Fit every method in a forked, a spawned and a joblib process, after the parent has fitted it with two threads."""
    names = list(make_methods())
    with threadpool_limits(2):
        expected = {name: fit_and_score(make_methods()[name]) for name in names}
        results = [run_children("fork", names), run_children("spawn", names)]
    in_joblib = Parallel(n_jobs=2)(delayed(fit_and_score)(make_methods()[name]) for name in names)
    results.append(dict(zip(names, in_joblib)))
    lines = []
    for name in names:
        answers = ["does not end" if f[name] is None else format_difference(f[name], expected[name]) for f in results]
        lines.append([name, *answers])
    store_table("workers.csv", ["method", "forked", "spawned", "joblib"], lines)


def tables():
    """Copy the tables into docs/reliability.md, each after its mark."""
    page = FOLDER.with_suffix(".md")
    parts = re.split(r"(<!-- (\w+) -->\n)(?:\n\|.*?\n\n|\n)", page.read_text(), flags=re.DOTALL)
    content = parts[0]
    for mark, name, rest in zip(parts[1::3], parts[2::3], parts[3::3]):
        path = FOLDER / f"{name}.csv"
        rows = list(csv.reader(path.open())) if path.exists() else [["not measured yet"]]
        lines = ["| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:])]
        content += mark + "\n" + "\n".join(lines) + "\n\n" + rest
    page.write_text(content)


def store_table(name, columns, lines):
    """Write a table, and print it."""
    write_csv(FOLDER / name, columns, lines)
    print((FOLDER / name).read_text())
