"""Rows whose candidates have weights, and the laws that every estimator holds on them."""

import numpy as np
from sklearn.base import clone

from oneof import CandidateSets
from tests.estimators.panel import further, table

WEIGHT_OF_NONE = (1e-7, 1e-9, 1e-12, 1e-300)


def weighted_table(n=60, d=4, K=3, seed=0):
    """Return rows, their candidate sets as a mask, and weights: of most partial and of a few other rows."""
    X, mask = table(n, d, K, seed)
    rng = np.random.default_rng(seed + 10)
    weights = np.where(mask, rng.uniform(0.1, 1.0, mask.shape), 0.0)
    plain = rng.random(n) < 0.3
    weights[plain] = mask[plain]
    weights[7::13] = rng.uniform(0.1, 1.0, weights[7::13].shape)
    return X, mask, weights / weights.max(axis=1, keepdims=True)


def results(model, X, y):
    """Return the scores of new rows, and the disambiguations of the rows of fit and of these rows as new ones."""
    new = further(30, X.shape[1])
    scores = model.predict_proba(new) if hasattr(model, "predict_proba") else model.decision_function(new)
    own, again = model.disambiguate(), model.disambiguate(X[:20], y[:20])
    return scores, own.labels, own.confidence, again.labels, again.confidence


def assert_equal(one, other, atol):
    """Compare results: numbers to a tolerance, labels exactly."""
    for a, b in zip(one, other, strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=0, atol=atol)
        else:
            np.testing.assert_array_equal(a, b)


def check_laws(estimator, atol=1e-9):
    """Check the laws of weights, see the comments."""
    X, mask, weights = weighted_table()
    names = np.arange(3)

    def fit(W, classes=names):
        y = CandidateSets.from_weights(W, classes)
        return results(clone(estimator).fit(X, y), X, y)

    reference = fit(weights)
    # The weights are used: the result is not that of the candidate sets.
    assert np.abs(reference[0] - fit(mask.astype(float))[0]).max() > 1e-3
    # The factor of a row does not matter.
    assert_equal(fit(weights * np.random.default_rng(0).uniform(0.1, 10, (len(X), 1))), reference, atol)
    # A row of equal weights is unlabeled.
    constant, unlabeled = weights.copy(), weights.copy()
    constant[5::6], unlabeled[5::6] = 0.37, 1.0
    assert_equal(fit(constant), fit(unlabeled), 0)
    # Classes permute.
    order = np.array([2, 0, 1])
    permuted = fit(weights[:, order])
    np.testing.assert_allclose(permuted[0], reference[0][:, order], rtol=0, atol=atol)
    decided = reference[2] > 0.51  # ties go to the first class
    np.testing.assert_array_equal(order[permuted[1]][decided], reference[1][decided])
    # As the weights outside a set go to 0, the result goes to that of the set, also if other rows have weights.
    for W in (mask.astype(float), weights):
        target = fit(W)
        for size in WEIGHT_OF_NONE:
            near = np.where(W > 0, W, size * np.random.default_rng(1).random(W.shape))
            near[mask.all(axis=1)] = W[mask.all(axis=1)]
            y = CandidateSets.from_weights(near, names)
            model = clone(estimator).fit(X, y)
            assert_equal(results(model, X, CandidateSets.from_weights(W, names)), target, max(100 * size, atol))
