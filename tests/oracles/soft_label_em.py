"""EM for soft labels around a classifier, by loops over rows and classes."""

from sklearn.base import clone


def fitted_to_labels(estimator, X, labels, rows):
    """Return a clone fitted to every label of each row that is at least 0.001 of its largest, weighted to sum 1."""
    features, targets, mass = [], [], []
    for i in rows:
        kept = [k for k, q in enumerate(labels[i]) if q >= 1e-3 * max(labels[i])]
        for k in kept:
            features.append(X[i])
            targets.append(k)
            mass.append(labels[i][k] / sum(labels[i][j] for j in kept))
    return clone(estimator).fit(features, targets, sample_weight=mass)


def held_out_labels(estimator, X, weights, folds, max_iter, tol):
    """Return the labels after the last round, and the mean change of each round."""
    labels = [[w / sum(row) for w in row] for row in weights]
    ambiguous = [i for i, row in enumerate(weights) if sum(w > 0 for w in row) > 1]
    changes = []
    while len(changes) < max_iter and (not changes or changes[-1] > tol):
        new = {}
        for train, test in folds:
            model = fitted_to_labels(estimator, X, labels, train)
            for i in test:
                if i in ambiguous:
                    proba = dict(zip(model.classes_.tolist(), model.predict_proba([X[i]])[0], strict=True))
                    joint = [w * max(proba.get(k, 0.0), 1e-6) for k, w in enumerate(weights[i])]
                    new[i] = [value / sum(joint) for value in joint]
        step = [1, 1, 1, 1, 1, 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5][len(changes)]
        total = 0.0
        for i in ambiguous:
            updated = [q + step * (r - q) for q, r in zip(labels[i], new[i], strict=True)]
            total += sum(abs(a - b) for a, b in zip(updated, labels[i], strict=True)) / 2
            labels[i] = updated
        changes.append(total / len(ambiguous) if ambiguous else 0.0)
    return labels, changes
