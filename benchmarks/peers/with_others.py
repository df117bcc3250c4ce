"""The runners of river, Vowpal Wabbit, liblinear and graphlearning, each imported in its own environment."""

from pathlib import Path

import numpy as np
from worker import excluded, no_renewal
from worker_tools import as_form, crammer_singer, dictionaries, read, squared_hinge

N_EVALUATED = 1000
MAX_PARSED = 2_000
"""Maximum number of parsed examples in memory: 60,000 take gigabytes."""


def _river_model(name):
    from river import linear_model, multiclass, optim

    if name == "SoftmaxRegression":
        return linear_model.SoftmaxRegression
    if name == "Perceptron":
        return lambda: multiclass.OneVsRestClassifier(linear_model.Perceptron())
    return lambda: multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optimizer=optim.SGD(0.1)))


def learn_one(data, model, n_rows):
    """Run river with one row per call, a dictionary; exact labels."""
    make_model = _river_model(model)
    rows, labels = dictionaries(read(data, "X")[:n_rows]), read(data, "y")[:n_rows].tolist()

    def run(_):
        learner = make_model()
        for row, label in zip(rows, labels):
            learner.learn_one(row, label)
        return learner

    return no_renewal, run, _evaluate_river(data)


def learn_many(data, model, n_rows, batch):
    """Run river with mini-batches as data frames; exact labels."""
    import pandas as pd

    make_model = _river_model(model)

    X, y = read(data, "X")[:n_rows].astype(np.float64), read(data, "y")[:n_rows]
    frame, labels = pd.DataFrame(X), pd.Series(y)
    cuts = range(0, n_rows, batch)
    batches = [(frame.iloc[i : i + batch].copy(), labels.iloc[i : i + batch].copy()) for i in cuts]

    def run(_):
        learner = make_model()
        for rows, given in batches:
            learner.learn_many(rows, given)
        return learner

    return no_renewal, run, _evaluate_river(data)


def _evaluate_river(data):
    X_test, y_test = read(data, "X_test")[:N_EVALUATED], read(data, "y_test")[:N_EVALUATED]

    def evaluate(learner):
        predictions = [learner.predict_one(row) for row in dictionaries(X_test)]
        return {"accuracy": np.mean([a == b for a, b in zip(predictions, y_test.tolist())])}

    return evaluate


def costs(mask):
    """Return each row's label: 0 for a candidate, 1 for another class."""
    return [" ".join(f"{k + 1}:{0 if inside else 1}" for k, inside in enumerate(row)) for row in mask.tolist()]


def features(X):
    """Return each row's features that are not 0, by number."""
    X = as_form(X, "csr32")
    pairs = [f"{j}:{value:.6g}" for j, value in zip(X.indices.tolist(), X.data.tolist())]
    return ["|f " + " ".join(pairs[X.indptr[i] : X.indptr[i + 1]]) for i in range(X.shape[0])]


def csoaa(data, reading, options="", bits=18, n_rows=None):
    """Run Vowpal Wabbit's cost-sensitive one-against-all, where candidates have cost 0.

    The examples come from a text file, from its binary cache, or are parsed before the clock starts.
    """
    from vowpalwabbit import Workspace

    X_test, y_test = read(data, "X_test"), read(data, "y_test")
    mask = read(data, "mask")[:n_rows]
    tests = features(X_test)
    lines = [f"{label} {row}" for label, row in zip(costs(mask), features(read(data, "X")[:n_rows]))]
    command = f"--csoaa {mask.shape[1]} -b {bits} --quiet {options}"

    def evaluate(workspace):
        predictions = np.array([workspace.predict(row) for row in tests]) - 1
        workspace.finish()
        return {"accuracy": (predictions == y_test).mean()}

    if reading == "parsed":

        def run(_):
            workspace = Workspace(command)
            learn, finish = workspace.learn, workspace.finish_example
            for first in range(0, len(lines), MAX_PARSED):
                with excluded():
                    examples = [workspace.parse(line) for line in lines[first : first + MAX_PARSED]]
                    examples = [e[0] if isinstance(e, list) else e for e in examples]
                for example in examples:
                    learn(example)
                with excluded():
                    for example in examples:
                        finish(example)
            return workspace

        return no_renewal, run, evaluate

    text = Path(data) / f"rows{n_rows or ''}.vw"
    text.write_text("\n".join(lines) + "\n")
    command += f" -d {text}"
    if reading == "cache":
        cache = text.with_suffix(f".{bits}.cache")
        cache.unlink(missing_ok=True)
        command += f" --cache_file {cache}"
        Workspace(command).finish()  # writes it
    return no_renewal, lambda _: Workspace(command), evaluate


def linear(data, kind, tol, C=None, lam=None):
    """Run liblinear with `-s kind`: 4 is Crammer and Singer's problem, 1 and 2 are one squared hinge per class."""
    from liblinear.liblinearutil import parameter, problem, train

    X, y = as_form(read(data, "X"), "csr64"), read(data, "y").astype(np.int64)
    C = C or 1 / (lam * len(y))
    task = problem(y.astype(np.float64), X)
    options = f"-s {kind} -c {C:.17g} -e {tol:g} -B -1 -q"

    def evaluate(model):
        labels = np.array(model.get_labels())
        weights = np.zeros((len(labels), X.shape[1]))
        flat = np.ctypeslib.as_array(model.w, (X.shape[1] * len(labels),))
        weights[labels] = flat.reshape(X.shape[1], len(labels)).T
        if kind == 4:
            return {"objective": crammer_singer(X, y, weights, lam)}
        return {"objective": squared_hinge(X, y, weights, C)}

    return no_renewal, lambda _: train(task, parameter(options)), evaluate


def poisson(data, sizes, volume_constraint):
    """Run graphlearning's Poisson learning, or its Poisson MBO, on a given graph."""
    import graphlearning

    W, y, partial = (read(data, name) for name in ("W", "y", "partial"))
    labeled, priors = np.flatnonzero(partial >= 0), np.bincount(y) / len(y) if sizes else None
    method = graphlearning.ssl.poisson_mbo if volume_constraint else graphlearning.ssl.poisson

    def run(_):
        return method(W, class_priors=priors).fit_predict(labeled, y[labeled])

    return no_renewal, run, lambda labels: {"accuracy": (labels == y)[partial < 0].mean()}
