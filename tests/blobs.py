"""Blobs with candidate sets, and a trivial classifier, for functions that accept any classifier."""

import numpy as np

from oneof import CandidateSets
from oneof.estimators.base import CandidateClassifier


class Frequencies(CandidateClassifier):
    """Predicts the most frequent class; its scores are class frequencies."""

    def fit(self, X, y):
        _, candidates = self._validate_fit(X, y)
        self.shares_ = candidates.mask.sum(axis=0) / candidates.mask.sum()
        return self._finalize_fit(X, y, candidates)

    def _scores(self, rows):
        return np.tile(self.shares_, (rows.shape[0], 1))

    def predict_proba(self, X):
        return self._scores(self._validate_rows(X))


def draw(n=60, K=3, seed=0):
    """Return three blobs with candidate sets; some rows are unlabeled."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, K, n)
    mask = rng.random((n, K)) < 0.3
    mask[np.arange(n), truth] = True
    X = 2 * np.eye(K)[truth] + rng.normal(size=(n, K))
    return X, CandidateSets(mask, np.array(list("abcdef"[:K]))), np.array(list("abcdef"))[truth]
