"""How `oneof` runs each race."""

import warnings

import numpy as np
from arrays import dictionaries, formed, read
from judging import accuracy, crammer_singer, squared_hinge
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from worker import afresh

import oneof

warnings.simplefilter("ignore", ConvergenceWarning)  # rungs of a ladder end before they converge, and are judged


def exact(y):
    """Return labels as candidate sets, all classes known."""
    return oneof.CandidateSets.from_labels(y, classes=range(int(y.max()) + 1))


def online(data, learner, form, sets=False, n_rows=None, n_epochs=1, **parameters):
    """Pass over the rows with an online learner, on exact labels or on sets."""
    X, y = formed(read(data, "X")[:n_rows], form), read(data, "y")[:n_rows]
    X_test, y_test = formed(read(data, "X_test"), form), read(data, "y_test")
    given = oneof.CandidateSets.from_indicator(read(data, "mask")[:n_rows]) if sets else exact(y)

    def run(_):
        return getattr(oneof, learner)(n_epochs=n_epochs, **parameters).fit(X, given)

    return afresh, run, lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def row_by_row(data, learner, n_rows, hash_bits=12):
    """Learn from one row a call, given as a dictionary, as river is."""
    from oneof.stream import RiverClassifier

    X, y = read(data, "X")[:n_rows], read(data, "y")[:n_rows].tolist()
    X_test, y_test = read(data, "X_test")[:1000], read(data, "y_test")[:1000]
    rows, classes = named(dictionaries(X)), sorted(set(y))

    def run(_):
        model = RiverClassifier(getattr(oneof, learner)(), classes, hash_bits)
        for row, label in zip(rows, y):
            model.learn_one(row, label)
        return model

    def judge(model):
        return {
            "accuracy": np.mean([model.predict_one(row) == k for row, k in zip(named(dictionaries(X_test)), y_test)])
        }

    return afresh, run, judge


def named(rows):
    """Return rows whose features are named by text."""
    return [{str(name): value for name, value in row.items()} for row in rows]


def support_vectors(data, form, lam, tol):
    """Solve PLSVM's problem, which is that of Crammer and Singer on exact labels."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    given = exact(y)

    def judge(model):
        return {"objective": crammer_singer(X, y, np.asarray(model.coef_, dtype=np.float64), lam)}

    return afresh, lambda _: oneof.PLSVM(lam, tol=tol).fit(X, given), judge


def squared_hinges(data, form, C, tol):
    """Solve CLPL's problem, which is one squared hinge a class on exact labels."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    given = exact(y)

    def judge(model):
        return {"objective": squared_hinge(X, y, np.asarray(model.coef_, dtype=np.float64), C)}

    return afresh, lambda _: oneof.CLPL(C, tol=tol).fit(X, given), judge


def gaussian_process(data, length, optimizer=None, sets=False, probabilities=False):
    """Find the mode, after the hyper-parameters where they are learned; or time the probabilities of further rows."""
    X, y = read(data, "X"), read(data, "y")
    X_test, y_test = read(data, "X_test"), read(data, "y_test")
    given = oneof.CandidateSets.from_indicator(read(data, "mask")) if sets else exact(y)
    model = oneof.PLGP(1.0 * RBF(length), optimizer=optimizer, random_state=0)
    if probabilities:

        def fitted():
            return oneof.PLGP(1.0 * RBF(length), optimizer=None, random_state=0).fit(X, given)

        return fitted, lambda model: model.predict_proba(X_test), lambda p: {"accuracy": accuracy(p, y_test)}
    return afresh, lambda _: model.fit(X, given), lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def harmonic(data, graph, max_iter=10_000):
    """Solve for harmonic functions, from the graph or from the rows."""
    return _diffusion(data, graph, lambda options: oneof.HarmonicField(max_iter=max_iter, **options))


def consistency(data, graph, alpha, tol=1e-6):
    """Solve for local and global consistency."""
    return _diffusion(data, graph, lambda options: oneof.LocalGlobalConsistency(alpha, tol=tol, **options))


def _diffusion(data, graph, make):
    X, y, known = (read(data, name) for name in ("X", "y", "known"))
    if graph == "given":
        W = read(data, "W")
        options = {"affinity": lambda *_: W}
    else:
        options = {"algorithm": graph, "n_neighbors": 7}
    hidden = known == -1
    return (
        afresh,
        lambda _: make(options).fit(X, known),
        lambda model: {"accuracy": (model.transduction_ == y)[hidden].mean()},
    )


def naive_bayes(data, form):
    """Count words by class."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    given = exact(y)
    return afresh, lambda _: oneof.MultinomialEM().fit(X, given), _judge_words(data, form)


def naive_bayes_unlabeled(data, form, max_iter):
    """Count words by class, with documents whose class is unknown."""
    X, known = formed(read(data, "X"), form), read(data, "known")
    return afresh, lambda _: oneof.MultinomialEM(max_iter=max_iter).fit(X, known), _judge_words(data, form)


def _judge_words(data, form):
    X_test, y_test = formed(read(data, "X_test"), form), read(data, "y_test")

    def judge(model):
        return {
            "accuracy": (model.predict(X_test) == y_test).mean(),
            "objective": -np.float64(np.abs(model.feature_log_prob_).sum()),
        }

    return judge
