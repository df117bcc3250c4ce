"""The estimators that the suites run over: every public class that fits candidate sets, as it is added."""

import numpy as np
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

import oneof
from oneof.estimators._online_base import OnlineClassifier
from oneof.estimators.base import CandidateClassifier

ARGUMENTS = {
    # The suites state laws of the solution: libsvm's default tolerance makes it depend on the order of the rows, and
    # its default width of the kernel on how many features there are, those that are 0 included.
    "PLECOC": {"estimator": SVC(gamma=0.1, tol=1e-10), "random_state": 0},
    # EM ends where its tolerance lets it.
    "GaussianEM": {"tol": 1e-9},
    "MultinomialEM": {"tol": 1e-9},
    # Precisions are found to a tolerance, which the suites' laws are stricter than.
    "GraphLogisticRegression": {"tol": 1e-9},
    # The search for the kernel's parameters ends where its tolerance lets it, which is not the same for all forms.
    "PLGP": {"optimizer": None, "tol": 1e-10, "n_mc_samples": 200, "random_state": 0},
    # For the same reason this one goes on beyond its default tolerance; and on features in the thousands, which the
    # suites have, its default lam would be lost in rounding.
    "PLSVM": {"lam": 0.1, "tol": 1e-12},
    "TransductiveSVM": {"tol": 1e-10},
}


def public_estimators():
    """Return a fresh instance of every public estimator."""
    found = (getattr(oneof, name) for name in oneof.__all__)
    return [
        c(**ARGUMENTS.get(c.__name__, {})) for c in found if isinstance(c, type) and issubclass(c, CandidateClassifier)
    ]


ALL = public_estimators()
ONLINE = [e for e in ALL if isinstance(e, OnlineClassifier)]
TRANSDUCTIVE = [type(e).__name__ for e in ALL if {"affinity", "C_unlabeled", "unlabeled_weight"} & set(e.get_params())]
OF_NEIGHBORS = [type(e).__name__ for e in ALL if "n_neighbors" in e.get_params()]
BATCH = [e for e in ALL if not isinstance(e, OnlineClassifier)]


def name(estimator):
    """Return the id of a parametrized test."""
    return type(estimator).__name__


def takes_counts(estimator):
    """Return whether rows must not have values below 0."""
    return get_tags(estimator).input_tags.positive_only


def scaler(estimator):
    """Return what to put before an estimator."""
    return MinMaxScaler(clip=True) if takes_counts(estimator) else StandardScaler()


def table(n=60, d=4, K=3, seed=0, like=None):
    """Return rows of K clusters and their candidate sets as a mask: exact, partial and full rows mixed.

    `like` is an estimator that the rows are for: where it takes no values below 0, they are moved.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    truth[:K] = np.arange(K)
    X = rng.normal(size=(K, d))[truth] * 2 + rng.normal(size=(n, d))
    if like is not None and takes_counts(like):
        X -= X.min(axis=0)
    mask = rng.random((n, K)) < 0.25
    mask[rng.random(n) < 0.1] = True
    mask[np.arange(n), truth] = True
    mask[:K] = np.eye(K, dtype=bool)  # every class is named by some set that is not full
    return X, mask


def further(n=30, d=4):
    """Return rows of no cluster, as a model may meet them after its fit."""
    return np.random.default_rng(5).normal(size=(n, d)) * 2


def scores(model, X):
    """Return (n, K) scores: probabilities, or decision values with the two-class form spread over two columns."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    values = model.decision_function(X)
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def same_model(a, b, X, rtol=1e-7):
    """Assert that two models give the same scores and predictions."""
    expected = scores(b, X)
    np.testing.assert_allclose(scores(a, X), expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
