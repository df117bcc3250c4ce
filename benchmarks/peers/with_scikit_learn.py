"""The runners of scikit-learn, on exact labels."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from worker import no_renewal
from worker_tools import accuracy, as_form, crammer_singer, read, squared_hinge

warnings.simplefilter("ignore", ConvergenceWarning)


def online(data, learner, form, max_iter=1, **parameters):
    """Pass over the rows in their order: one hinge loss or Perceptron per class."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    X_test, y_test = as_form(read(data, "X_test"), form), read(data, "y_test")
    make = {"SGDClassifier": SGDClassifier, "Perceptron": Perceptron}[learner]

    def run(_):
        return make(max_iter=max_iter, tol=None, shuffle=False, random_state=0, **parameters).fit(X, y)

    return no_renewal, run, lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def linear_svc(data, form, tol, C=None, lam=None, multi_class="ovr", dual=True):
    """Solve the problem of Crammer and Singer, or one squared hinge per class; without an intercept."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    C = C or 1 / (lam * len(y))

    def run(_):
        options = {"multi_class": multi_class, "dual": dual, "max_iter": 100_000, "random_state": 0}
        return LinearSVC(C=C, tol=tol, fit_intercept=False, **options).fit(X, y)

    def evaluate(model):
        if multi_class == "ovr":
            return {"objective": squared_hinge(X, y, model.coef_, C)}
        return {"objective": crammer_singer(X, y, model.coef_, lam)}

    return no_renewal, run, evaluate


def gaussian_process(data, length, optimizer=None, probabilities=False, multi_class="one_vs_rest"):
    """Find the modes of one Gaussian process per class or pair; or time the probabilities of new rows."""
    X, y, X_test, y_test = (read(data, name) for name in ("X", "y", "X_test", "y_test"))
    options = {"multi_class": multi_class, "optimizer": optimizer, "random_state": 0, "copy_X_train": False}
    model = GaussianProcessClassifier(1.0 * RBF(length), **options)
    if probabilities:
        model.fit(X, y)
        return no_renewal, lambda _: model.predict_proba(X_test), lambda p: {"accuracy": accuracy(p, y_test)}
    return no_renewal, lambda _: model.fit(X, y), lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def propagation(data, graph, max_iter):
    """Propagate labels along the graph until convergence or for some sweeps."""
    return _diffusion(data, graph, lambda kernel: LabelPropagation(**kernel, max_iter=max_iter))


def spreading(data, graph, alpha, max_iter):
    """Spread labels, each row keeping a fraction of its own."""
    return _diffusion(data, graph, lambda kernel: LabelSpreading(**kernel, alpha=alpha, max_iter=max_iter))


def _diffusion(data, graph, make):
    X, y, partial = (read(data, name) for name in ("X", "y", "partial"))
    W = read(data, "W") if graph == "given" else None
    kernel = {"kernel": "knn", "n_neighbors": 7} if W is None else {"kernel": lambda *_: W}
    hidden = partial == -1

    def evaluate(model):
        return {"accuracy": (model.transduction_ == y)[hidden].mean()}

    return no_renewal, lambda _: make(kernel).fit(X, partial), evaluate


def naive_bayes(data, form):
    """Count words by class."""
    X, y = as_form(read(data, "X"), form), read(data, "y")
    return no_renewal, lambda _: MultinomialNB().fit(X, y), _evaluate_words(data, form)


def self_training(data, form, **parameters):
    """Count words by class, and add confident predictions as labels."""
    X, partial = as_form(read(data, "X"), form), read(data, "partial")
    return (
        no_renewal,
        lambda _: SelfTrainingClassifier(MultinomialNB(), **parameters).fit(X, partial),
        _evaluate_words(data, form),
    )


def _evaluate_words(data, form):
    X_test, y_test = as_form(read(data, "X_test"), form), read(data, "y_test")

    def evaluate(model):
        logs = getattr(model, "estimator_", model).feature_log_prob_
        return {"accuracy": (model.predict(X_test) == y_test).mean(), "objective": -np.float64(np.abs(logs).sum())}

    return evaluate
