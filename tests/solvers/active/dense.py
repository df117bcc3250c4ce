"""Oracles of active learning: a Laplace posterior as one dense matrix, and a logistic regression that has one."""

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from oneof.solvers.active import ViewInstances


class DensePosterior:
    """Weights (K - 1, D) and their precision H, ((K - 1) D, (K - 1) D), class after class."""

    def __init__(self, weights, precision):
        self.weights, self.precision = weights, precision
        self.inverse = np.linalg.inv(precision)

    def covariance(self, left, right=None):
        right = left if right is None else right
        size = len(self.weights)
        blocks = self.inverse.reshape(size, left.shape[1], size, right.shape[1])
        return np.einsum("td,adbe,te->tab", left, blocks, right)

    def cross_covariance(self, left, right):
        size, n_features = self.weights.shape
        left, right = (rows.toarray() if sp.issparse(rows) else rows for rows in (left, right))
        blocks = self.inverse.reshape(size, n_features, size, n_features)
        return np.einsum("td,adbe,se->tsab", left, blocks, right, optimize=True)


def curvature(weights, x):
    """Return the curvature that a label of the instance x adds to the precision."""
    p = softmax(np.append(weights @ x, 0.0))[:-1]
    return np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))


def row_curvature(posterior, views, row):
    """Return the curvature that a label of a row adds to the precision, summed over its views."""
    return sum(
        curvature(posterior.weights, view.features[at]) for view in views for at in np.flatnonzero(view.rows == row)
    )


def make_pool(n_rows, n_classes, n_features=4, n_views=1, lacking=(), seed=0, prior=1.0):
    """Return a random posterior with correlated views, and the views of a pool; rows `lacking` have only the first."""
    rng = np.random.default_rng(seed)
    D = n_features * n_views
    weights = rng.normal(size=(n_classes - 1, D))
    root = rng.normal(size=((n_classes - 1) * D, (n_classes - 1) * D)) / np.sqrt(D)
    posterior = DensePosterior(weights, prior * (np.eye(len(root)) + root @ root.T))
    views = []
    for v in range(n_views):
        rows = np.setdiff1d(np.arange(n_rows), lacking) if v else np.arange(n_rows)
        features = np.zeros((len(rows), D))
        features[:, v * n_features : (v + 1) * n_features] = rng.normal(size=(len(rows), n_features))
        views.append(ViewInstances(rows, features))
    return posterior, views


def view_lookup(views):
    """Return a function that gives the views of some rows of a pool."""

    def get_views(rows):
        rows = np.asarray(rows)
        result = []
        for view in views:
            at = np.full(int(max(rows.max(initial=0), view.rows.max(initial=0))) + 1, -1)
            at[view.rows] = np.arange(len(view.rows))
            present = np.flatnonzero(at[rows] >= 0)
            result.append(ViewInstances(present, view.features[at[rows[present]]]))
        return result

    return get_views


class RidgeLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression of one view with a ridge, for two or more classes; converged up to a Newton step or so."""

    def __init__(self, ridge=1.0):
        self.ridge = ridge

    def fit(self, X, y):
        X, y = np.asarray(X), np.asarray(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        K, instances = len(self.classes_), self._instances(X)
        weights = np.zeros((K - 1, instances.shape[1]))
        target = np.eye(K)[codes][:, :-1]
        for _ in range(20):
            H = self.ridge * np.eye(weights.size) + sum(curvature(weights, x) for x in instances)
            p = self._proba(weights, instances)[:, :-1]
            weights = weights + np.linalg.solve(H, ((target - p).T @ instances - self.ridge * weights).ravel()).reshape(
                weights.shape
            )
        self.posterior_ = DensePosterior(weights, H)
        return self

    def posterior_features(self, X):
        return [(np.arange(len(X)), self._instances(np.asarray(X)))]

    def predict_proba(self, X):
        return self._proba(self.posterior_.weights, self._instances(np.asarray(X)))

    def predict(self, X):
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    @staticmethod
    def _instances(X):
        return np.column_stack([X, np.ones(len(X))])

    @staticmethod
    def _proba(weights, instances):
        return softmax(np.column_stack([instances @ weights.T, np.zeros(len(instances))]), axis=1)


def brute_force(posterior, views, row):
    """Return half of the increase of the log determinant by a row's label."""
    updated = posterior.precision + row_curvature(posterior, [ViewInstances(*view) for view in views], row)
    return 0.5 * (np.linalg.slogdet(updated)[1] - np.linalg.slogdet(posterior.precision)[1])
