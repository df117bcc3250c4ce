"""How scikit-learn runs each race, on exact labels throughout."""

import warnings

import numpy as np
from arrays import formed, read
from judging import accuracy, crammer_singer, squared_hinge
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.semi_supervised import LabelPropagation, LabelSpreading, SelfTrainingClassifier
from sklearn.svm import LinearSVC
from worker import afresh

warnings.simplefilter("ignore", ConvergenceWarning)


def online(data, learner, form, max_iter=1, **parameters):
    """Pass over the rows: one hinge or Perceptron a class, in the order given."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    X_test, y_test = formed(read(data, "X_test"), form), read(data, "y_test")
    make = {"SGDClassifier": SGDClassifier, "Perceptron": Perceptron}[learner]

    def run(_):
        return make(max_iter=max_iter, tol=None, shuffle=False, random_state=0, **parameters).fit(X, y)

    return afresh, run, lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def linear_svc(data, form, tol, C=None, lam=None, multi_class="ovr", dual=True):
    """Solve the problem of Crammer and Singer, or one squared hinge a class; without an intercept."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    C = C or 1 / (lam * len(y))

    def run(_):
        options = {"multi_class": multi_class, "dual": dual, "max_iter": 100_000, "random_state": 0}
        return LinearSVC(C=C, tol=tol, fit_intercept=False, **options).fit(X, y)

    def judge(model):
        if multi_class == "ovr":
            return {"objective": squared_hinge(X, y, model.coef_, C)}
        return {"objective": crammer_singer(X, y, model.coef_, lam)}

    return afresh, run, judge


def gaussian_process(data, length, optimizer=None, probabilities=False, multi_class="one_vs_rest"):
    """Find the modes of one Gaussian process a class, or a pair; or time the probabilities of further rows."""
    X, y, X_test, y_test = (read(data, name) for name in ("X", "y", "X_test", "y_test"))
    options = {"multi_class": multi_class, "optimizer": optimizer, "random_state": 0, "copy_X_train": False}
    model = GaussianProcessClassifier(1.0 * RBF(length), **options)
    if probabilities:
        model.fit(X, y)
        return afresh, lambda _: model.predict_proba(X_test), lambda p: {"accuracy": accuracy(p, y_test)}
    return afresh, lambda _: model.fit(X, y), lambda model: {"accuracy": (model.predict(X_test) == y_test).mean()}


def propagation(data, graph, max_iter):
    """Sweep labels along the graph, until they have settled or for some sweeps."""
    return _diffusion(data, graph, lambda kernel: LabelPropagation(**kernel, max_iter=max_iter))


def spreading(data, graph, alpha, max_iter):
    """Sweep labels, each row keeping a share of its own."""
    return _diffusion(data, graph, lambda kernel: LabelSpreading(**kernel, alpha=alpha, max_iter=max_iter))


def _diffusion(data, graph, make):
    X, y, known = (read(data, name) for name in ("X", "y", "known"))
    W = read(data, "W") if graph == "given" else None
    kernel = {"kernel": "knn", "n_neighbors": 7} if W is None else {"kernel": lambda *_: W}
    hidden = known == -1

    def judge(model):
        return {"accuracy": (model.transduction_ == y)[hidden].mean()}

    return afresh, lambda _: make(kernel).fit(X, known), judge


def naive_bayes(data, form):
    """Count words by class."""
    X, y = formed(read(data, "X"), form), read(data, "y")
    return afresh, lambda _: MultinomialNB().fit(X, y), _judge_words(data, form)


def self_training(data, form, **parameters):
    """Count words by class, and go on with the labels that are sure."""
    X, known = formed(read(data, "X"), form), read(data, "known")
    return (
        afresh,
        lambda _: SelfTrainingClassifier(MultinomialNB(), **parameters).fit(X, known),
        _judge_words(data, form),
    )


def _judge_words(data, form):
    X_test, y_test = formed(read(data, "X_test"), form), read(data, "y_test")

    def judge(model):
        logs = getattr(model, "estimator_", model).feature_log_prob_
        return {
            "accuracy": (model.predict(X_test) == y_test).mean(),
            "objective": -np.float64(np.abs(logs).sum()),
        }

    return judge
