"""Oracles in 50 digits of the losses of PLECOC, the votes of PLKNN, and the duality gap of a linear SVM."""

import mpmath
from mpmath import mpf

from tests.oracles.exact import difference, dot, matrix


def _margin(svm, X):
    """Return the decision values of an SVM with a Gaussian kernel, or its only class if it has a single one."""
    if len(svm.classes_) == 1:
        return [mpf(int(svm.classes_[0]))] * len(X)
    vectors, gamma = matrix(svm.support_vectors_), mpf(float(svm._gamma))
    (weights,), ((constant,),) = matrix(svm.dual_coef_), matrix([svm.intercept_])
    merged = {}  # the weights of equal support vectors are added
    for vector, weight in zip(map(tuple, vectors), weights, strict=True):
        merged[vector] = merged.get(vector, mpf(0)) + weight
    return [
        constant
        + mpmath.fsum(weight * mpmath.exp(-gamma * _squared_distance(x, vector)) for vector, weight in merged.items())
        for x in X
    ]


def code_losses(model, X, mask, count, new):
    """Return the loss of each class on new rows, (n, K), from the SVMs of a model and its labeled rows.

    `count` is the number of occurrences of each row.
    """
    distinct = {id(svm): svm for svm in model.estimators_}
    (origin,) = matrix([model._origin])
    training_margins, query_margins = (
        {i: _margin(svm, [_subtract(x, origin) for x in matrix(rows)]) for i, svm in distinct.items()}
        for rows in (X, new)
    )
    h, new_margins = ([found[id(svm)] for svm in model.estimators_] for found in (training_margins, query_margins))
    K, L = model.code_book_.shape
    codes = [[int(side) for side in row] for row in model.code_book_]
    H = []
    for k in range(K):
        rows_with_k = [i for i, row in enumerate(mask) if row[k]]
        hits_of_coding = [
            mpf(sum(int(count[i]) for i in rows_with_k if (h[j][i] > 0) == (codes[k][j] > 0))) for j in range(L)
        ]
        total = mpmath.fsum(hits_of_coding)
        H.append([hits / total if total else mpf(1) / L for hits in hits_of_coding])
    losses = []
    for i in range(len(new)):
        powers = {sign: [mpmath.exp(-sign * new_margins[j][i]) for j in range(L)] for sign in (-1, 1)}
        losses.append([mpmath.fsum(H[k][j] * powers[codes[k][j]][j] for j in range(L)) for k in range(K)])
    return losses


def _subtract(x, y):
    return [a - b for a, b in zip(x, y, strict=True)]


def _squared_distance(x, y):
    return mpmath.fsum(value**2 for value in _subtract(x, y))


def vote_error(X, mask, new, neighbors, proba):
    """Return the relative excess distance of the neighbors, or the error of the probabilities if it is larger.

    Any of several rows at one distance can be a neighbor, so that distances are compared instead of rows.
    """
    rows, worst, exact = matrix(X), mpf(0), []
    for x, chosen in zip(matrix(new), neighbors, strict=True):
        all_distances = [mpmath.sqrt(_squared_distance(x, row)) for row in rows]
        nearest, distances = sorted(all_distances)[: len(chosen)], [all_distances[i] for i in chosen]
        for far, near in zip(sorted(distances), nearest, strict=True):
            worst = max(worst, (far - near) / far if far else mpf(0))
        total = mpmath.fsum(distances)
        weights = [1 - value / total if total and len(distances) > 1 else mpf(1) for value in distances]
        votes = [
            mpmath.fsum(w for w, i in zip(weights, chosen, strict=True) if mask[i][k]) for k in range(len(mask[0]))
        ]
        exact.append([vote / mpmath.fsum(votes) for vote in votes])
    return max(float(worst), difference(proba, exact))


def duality_gap(X, signs, costs, beta, intercept):
    """Return the duality gap of a linear SVM, relative to its objective.

    The weights are sum_i beta_i x_i. In the dual, beta is clipped to its bounds, and a nonzero sum of beta is
    multiplied by the intercept, as if that were optimal.
    """
    rows, b = matrix(X), mpf(float(intercept))
    (y,), (C,), (coefficients,) = matrix([signs]), matrix([costs]), matrix([beta])
    clipped = [
        sign * min(max(sign * value, mpf(0)), cost) for sign, value, cost in zip(y, coefficients, C, strict=True)
    ]
    w, clipped_w = _weighted(rows, coefficients), _weighted(rows, clipped)
    losses = (cost * max(mpf(0), 1 - sign * (dot(w, x) + b)) for x, sign, cost in zip(rows, y, C, strict=True))
    value = dot(w, w) / 2 + mpmath.fsum(losses)
    dual = dot(y, clipped) - dot(clipped_w, clipped_w) / 2 - abs(b * mpmath.fsum(clipped))
    return float((value - dual) / value) if value else 0.0


def _weighted(rows, weights):
    return [mpmath.fsum(weight * x[j] for weight, x in zip(weights, rows, strict=True)) for j in range(len(rows[0]))]
