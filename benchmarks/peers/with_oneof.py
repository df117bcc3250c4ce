"""The runners of `oneof`."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from worker import no_renewal
from worker_tools import accuracy, as_form, crammer_singer, dictionaries, read, squared_hinge

import oneof

warnings.simplefilter("ignore", ConvergenceWarning)  # cheap settings stop before convergence, and are evaluated


def exact(y):
    """Return labels as candidate sets, with all classes given."""
    return oneof.CandidateSets.from_labels(y, classes=range(int(y.max()) + 1))


def online(data, learner, form, sets=False, n_rows=None, n_epochs=1, **parameters):
    """Pass over the rows with an online learner, on exact labels or on sets."""
    X, y = as_form(read(data, "X")[:n_rows], form), read(data, "y")[:n_rows]
    X_test, y_test = as_form(read(data, "X_test"), form), read(data, "y_test")
    sets = oneof.CandidateSets.from_indicator(read(data, "mask")[:n_rows]) if sets else exact(y)

    def run(_):
        return getattr(oneof, learner)(n_epochs=n_epochs, **parameters).fit(X, sets)

    return no_renewal, run, lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def row_by_row(data, learner, n_rows, hash_bits=12):
    """Learn from one row per call, a dictionary as in river."""
    from oneof.stream import RiverClassifier

    X, y = read(data, "X")[:n_rows], read(data, "y")[:n_rows].tolist()
    X_test, y_test = read(data, "X_test")[:1000], read(data, "y_test")[:1000]
    rows, classes = name_features(dictionaries(X)), sorted(set(y))

    def run(_):
        model = RiverClassifier(getattr(oneof, learner)(), classes, hash_bits)
        for row, label in zip(rows, y):
            model.learn_one(row, label)
        return model

    def evaluate(model):
        return {
            "accuracy": np.mean(
                [model.predict_one(row) == k for row, k in zip(name_features(dictionaries(X_test)), y_test)]
            )
        }

    return no_renewal, run, evaluate


def name_features(rows):
    """Return rows whose features have names instead of numbers."""
    return [{str(name): value for name, value in row.items()} for row in rows]


def support_vectors(data, form, lam, tol):
    """Solve PLSVM's problem, which is that of Crammer and Singer on exact labels."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    sets = exact(y)

    def evaluate(model):
        return {"objective": crammer_singer(X, y, np.asarray(model.coef_, dtype=np.float64), lam)}

    return no_renewal, lambda _: oneof.PLSVM(lam, tol=tol).fit(X, sets), evaluate


def squared_hinges(data, form, C, tol):
    """Solve CLPL's problem, one squared hinge per class on exact labels."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    sets = exact(y)

    def evaluate(model):
        return {"objective": squared_hinge(X, y, np.asarray(model.coef_, dtype=np.float64), C)}

    return no_renewal, lambda _: oneof.CLPL(C, tol=tol).fit(X, sets), evaluate


def gaussian_process(data, length, optimizer=None, sets=False, probabilities=False):
    """Find the mode, after the hyperparameters if they are optimized; or time the probabilities of new rows."""
    X, y = read(data, "X"), read(data, "y")
    X_test, y_test = read(data, "X_test"), read(data, "y_test")
    sets = oneof.CandidateSets.from_indicator(read(data, "mask")) if sets else exact(y)
    model = oneof.PLGP(1.0 * RBF(length), optimizer=optimizer, random_state=0)
    if probabilities:

        def fitted():
            return oneof.PLGP(1.0 * RBF(length), optimizer=None, random_state=0).fit(X, sets)

        return fitted, lambda model: model.predict_proba(X_test), lambda p: {"accuracy": accuracy(p, y_test)}
    return (
        no_renewal,
        lambda _: model.fit(X, sets),
        lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()},
    )


def harmonic(data, graph, max_iter=10_000):
    """Solve for harmonic functions, from the graph or from the rows."""
    return _diffusion(data, graph, lambda options: oneof.HarmonicField(max_iter=max_iter, **options))


def local_global_consistency(data, graph, alpha, max_iter=10_000):
    """Solve for local and global consistency."""
    return _diffusion(data, graph, lambda options: oneof.LocalGlobalConsistency(alpha, max_iter=max_iter, **options))


def poisson(data, sizes, volume_constraint, tol=1e-2):
    """Solve Poisson learning, with the true class sizes or none, or cut the graph into classes of these sizes."""
    prior = np.bincount(read(data, "y")) if sizes else None
    options = {"class_prior": prior, "tol": tol}
    return _diffusion(data, "given", lambda graph: oneof.PoissonLearning(volume_constraint, **options, **graph))


def _diffusion(data, graph, make):
    X, y, partial = (read(data, name) for name in ("X", "y", "partial"))
    if graph == "given":
        W = read(data, "W")
        options = {"affinity": lambda *_: W}
    else:
        options = {"algorithm": graph, "n_neighbors": 7}
    hidden = partial == -1
    return (
        no_renewal,
        lambda _: make(options).fit(X, partial),
        lambda model: {"accuracy": (model.transduction_ == y)[hidden].mean()},
    )


def naive_bayes(data, form):
    """Count words by class."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    sets = exact(y)
    return no_renewal, lambda _: oneof.MultinomialEM().fit(X, sets), _evaluate_words(data, form)


def naive_bayes_unlabeled(data, form, max_iter):
    """Count words by class, with unlabeled documents."""
    X, partial = as_form(read(data, "X"), form), read(data, "partial")
    return no_renewal, lambda _: oneof.MultinomialEM(max_iter=max_iter).fit(X, partial), _evaluate_words(data, form)


def _evaluate_words(data, form):
    X_test, y_test = as_form(read(data, "X_test"), form), read(data, "y_test")

    def evaluate(model):
        return {
            "accuracy": (model.predict(X_test) == y_test).mean(),
            "objective": -np.float64(np.abs(model.feature_log_prob_).sum()),
        }

    return evaluate
