"""Blobs with candidate sets, and a trivial classifier, for functions that accept any classifier."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from oneof import CandidateSets
from oneof.estimators.base import CandidateClassifier


class Frequencies(CandidateClassifier):
    """Predicts the most frequent class; its scores are class frequencies."""

    def _fit(self, training):
        self.shares_ = training.candidates.mask.sum(axis=0) / training.candidates.mask.sum()

    def _scores(self, rows):
        return np.tile(self.shares_, (rows.shape[0], 1))

    def predict_proba(self, X):
        return self._scores(self._validate_rows(X))


class Constant(ClassifierMixin, BaseEstimator):
    """Classifier that predicts one class and has no scores."""

    def __init__(self, label="a"):
        self.label = label

    def fit(self, X, y):
        self.n_features_in_, self.classes_ = X.shape[1], y.classes
        return self

    def predict(self, X):
        return np.repeat(self.label, X.shape[0])


def draw(n=60, K=3, seed=0):
    """Return three blobs with candidate sets; some rows are unlabeled."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    mask = rng.random((n, K)) < 0.3
    mask[np.arange(n), truth] = True
    X = 2 * np.eye(K)[truth] + rng.normal(size=(n, K))
    return X, CandidateSets(mask, np.array(list("abcdef"[:K]))), np.array(list("abcdef"))[truth]
