"""The estimators of the common test suites: every public class that fits candidate sets."""

from functools import cache

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils import get_tags

import oneof
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.online import OnlineClassifier


class FoldsByContent:
    """Three folds that depend on the rows alone, and not on their order or on their labels."""

    def get_n_splits(self, *_):
        return 3

    def split(self, X, *_):
        order = np.lexsort(np.asarray(X.toarray() if sp.issparse(X) else X).T)
        for k in range(3):
            yield np.setdiff1d(order, order[k::3]), order[k::3]

    def __repr__(self):
        return "FoldsByContent()"


ARGUMENTS = {
    # The default trees do not accept sparse rows, and the default folds depend on the order of rows and classes.
    "CandidateEM": {
        "estimator": make_pipeline(StandardScaler(with_mean=False), LogisticRegression(tol=1e-9, max_iter=1000)),
        "cv": FoldsByContent(),
    },
    "CandidateStacking": {
        "estimators": [("LOORidge", oneof.LOORidge()), ("PLEM", oneof.PLEM(tol=1e-9))],
        "cv": FoldsByContent(),
    },
    # The suites test properties of the solution: with libsvm's default tolerance it depends on the order of the rows,
    # and its default kernel width depends on the number of features, including features of zeros.
    "PLECOC": {"estimator": SVC(gamma=0.1, tol=1e-10), "random_state": 0},
    # The result of EM depends on its tolerance.
    "GaussianEM": {"tol": 1e-9},
    "MultinomialEM": {"tol": 1e-9},
    # Precisions are computed to a tolerance, which is larger than that of the suites.
    "GraphLogisticRegression": {"tol": 1e-9},
    # The result of the kernel optimization depends on its tolerance, and is not the same for all forms.
    "PLGP": {"optimizer": None, "tol": 1e-10, "n_mc_samples": 200, "random_state": 0},
    # For the same reason this one has a smaller tolerance; and with features in the thousands, as in the suites, its
    # default lam would be below the rounding error.
    "PLSVM": {"lam": 0.1, "tol": 1e-12},
    "TransductiveSVM": {"tol": 1e-10},
}


def public_estimators():
    """Return a fresh instance of every public estimator."""
    public = dict.fromkeys(getattr(oneof, name) for name in oneof.__all__)  # FIRST_CHOICE is one of the others
    return [
        c(**ARGUMENTS.get(c.__name__, {})) for c in public if isinstance(c, type) and issubclass(c, CandidateClassifier)
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
    """Return whether an estimator requires nonnegative rows."""
    return get_tags(estimator).input_tags.positive_only


def scaler(estimator):
    """Return the scaler for an estimator."""
    return MinMaxScaler(clip=True) if takes_counts(estimator) else StandardScaler()


def table(n=60, d=4, K=3, seed=0, like=None):
    """Return rows of K clusters and their candidate sets as a mask, with exact, partial and unlabeled rows.

    If `like` is an estimator that requires nonnegative rows, the rows are shifted to be nonnegative.
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
    mask[:K] = np.eye(K, dtype=bool)  # every class has an exact row
    return X, mask


def few_labels(n=90, n_labeled=15, d=4, K=3, seed=0):
    """Return rows of K clusters and their labels; most labels are missing."""
    X, mask = table(n, d=d, K=K, seed=seed)
    return X, np.where(np.arange(n) < n_labeled, np.argmax(mask, axis=1), -1)


def weighted_table(n=60, d=4, K=3, seed=0, like=None):
    """Return rows, their candidate sets as a mask, and weights: of most partial rows, and of all classes in a few."""
    X, mask = table(n, d, K, seed, like)
    rng = np.random.default_rng(seed + 10)
    weights = np.where(mask, rng.uniform(0.1, 1.0, mask.shape), 0.0)
    keeps_set = rng.random(n) < 0.3
    weights[keeps_set] = mask[keeps_set]
    weights[7::13] = rng.uniform(0.1, 1.0, weights[7::13].shape)
    return X, mask, weights / weights.max(axis=1, keepdims=True)


@cache
def fit_table(estimator, *, weighted=False):
    """Return the model of the table of an estimator, or of its weights: one for all tests, which do not change it."""
    X, mask, weights = weighted_table(like=estimator)
    return clone(estimator).fit(X, oneof.CandidateSets.from_weights(weights) if weighted else mask)


def further(n=30, d=4):
    """Return new rows for prediction, outside the clusters."""
    return np.random.default_rng(5).normal(size=(n, d)) * 2


def scores(model, X):
    """Return (n, K) scores: probabilities, or decision values, with two columns for two classes."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    values = model.decision_function(X)
    return np.column_stack([-values, values]) if values.ndim == 1 else values


def same_model(a, b, X, rtol=1e-7):
    """Assert that two models have the same scores and predictions."""
    expected = scores(b, X)
    np.testing.assert_allclose(scores(a, X), expected, rtol=rtol, atol=rtol * np.abs(expected).max())
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
