"""EM for soft labels around a classifier, by its definition."""

import numpy as np
from sklearn.base import clone


def fitted_to_labels(estimator, X, labels):
    """Return a clone fitted to every label of each row that is at least 0.001 of its largest, weighted to sum 1."""
    kept = np.where(labels >= 1e-3 * labels.max(axis=1, keepdims=True), labels, 0.0)
    kept /= kept.sum(axis=1, keepdims=True)
    rows, targets = np.nonzero(kept)
    return clone(estimator).fit(X[rows], targets, sample_weight=kept[rows, targets])


def held_out_labels(estimator, X, weights, folds, max_iter, tol):
    """Return the labels after the last round, and the mean change of each round."""
    labels = weights / weights.sum(axis=1, keepdims=True)
    ambiguous = (weights > 0).sum(axis=1) > 1
    changes = []
    while len(changes) < max_iter and (not changes or changes[-1] > tol):
        proba = np.full(weights.shape, 1e-6)
        for train, test in folds:
            model = fitted_to_labels(estimator, X[train], labels[train])
            proba[np.ix_(test, model.classes_)] = np.maximum(model.predict_proba(X[test]), 1e-6)
        joint = weights * proba
        step = [1, 1, 1, 1, 1, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5][len(changes)]
        moved = step * (joint / joint.sum(axis=1, keepdims=True) - labels)
        labels = labels + np.where(ambiguous[:, None], moved, 0.0)
        changes.append(np.abs(moved[ambiguous]).sum(axis=1).mean() / 2 if ambiguous.any() else 0.0)
    return labels, changes
