"""Codes of binary machines, votes of neighbors, and transductive machines, in 50 digits."""

import mpmath
from mpmath import mpf

from tests.oracles.exact import difference, dot, matrix


def _margin(machine, X):
    """Return h(x) of a support vector machine with a Gaussian kernel, or the side that all rows have."""
    if len(machine.classes_) == 1:
        return [mpf(int(machine.classes_[0]))] * len(X)
    vectors, gamma = matrix(machine.support_vectors_), mpf(float(machine._gamma))
    (weights,), ((constant,),) = matrix(machine.dual_coef_), matrix([machine.intercept_])
    kept = {}  # equal support vectors are one, of the sum of their weights
    for vector, weight in zip(map(tuple, vectors), weights, strict=True):
        kept[vector] = kept.get(vector, mpf(0)) + weight
    return [
        constant + mpmath.fsum(weight * mpmath.exp(-gamma * _square(x, vector)) for vector, weight in kept.items())
        for x in X
    ]


def code_losses(model, X, mask, count, new):
    """Return the loss of each class on new rows, (n, K), from the machines of a model and the rows that are not full.

    Rows count as often as they occur.
    """
    distinct = {id(machine): machine for machine in model.estimators_}
    (origin,) = matrix([model._origin])
    own, other = (
        {i: _margin(machine, [_less(x, origin) for x in matrix(rows)]) for i, machine in distinct.items()}
        for rows in (X, new)
    )
    h, asked = ([found[id(machine)] for machine in model.estimators_] for found in (own, other))
    K, L = model.code_book_.shape
    codes = [[int(side) for side in row] for row in model.code_book_]
    H = []
    for k in range(K):
        holding = [i for i, row in enumerate(mask) if row[k]]
        right = [mpf(sum(int(count[i]) for i in holding if (h[j][i] > 0) == (codes[k][j] > 0))) for j in range(L)]
        total = mpmath.fsum(right)
        H.append([share / total if total else mpf(1) / L for share in right])
    found = []
    for i in range(len(new)):
        powers = {sign: [mpmath.exp(-sign * asked[j][i]) for j in range(L)] for sign in (-1, 1)}
        found.append([mpmath.fsum(H[k][j] * powers[codes[k][j]][j] for j in range(L)) for k in range(K)])
    return found


def _less(x, y):
    return [a - b for a, b in zip(x, y, strict=True)]


def _square(x, y):
    return mpmath.fsum(value**2 for value in _less(x, y))


def vote_error(X, mask, new, neighbors, shares):
    """Return by how much neighbors are farther than the nearest, relatively, or shares differ from their votes.

    Which of several rows at one distance are neighbors is nobody's error, so that distances are compared, not rows.
    """
    rows, worst, exact = matrix(X), mpf(0), []
    for x, chosen in zip(matrix(new), neighbors, strict=True):
        lengths = [mpmath.sqrt(_square(x, row)) for row in rows]
        nearest, own = sorted(lengths)[: len(chosen)], [lengths[i] for i in chosen]
        for far, near in zip(sorted(own), nearest, strict=True):
            worst = max(worst, (far - near) / far if far else mpf(0))
        total = mpmath.fsum(own)
        weights = [1 - value / total if total and len(own) > 1 else mpf(1) for value in own]
        votes = [
            mpmath.fsum(w for w, i in zip(weights, chosen, strict=True) if mask[i][k]) for k in range(len(mask[0]))
        ]
        exact.append([vote / mpmath.fsum(votes) for vote in votes])
    return max(float(worst), difference(shares, exact))


def machine_gap(X, signs, costs, beta, intercept):
    """Return by how much the objective of a linear machine is above its least, at most, relatively: the duality gap.

    The weights are sum_i beta_i x_i. For the dual beta is cut to its bounds; what its sum misses 0 by counts as if the
    best intercept were the one found.
    """
    rows, b = matrix(X), mpf(float(intercept))
    (y,), (C,), (found,) = matrix([signs]), matrix([costs]), matrix([beta])
    inside = [sign * min(max(sign * value, mpf(0)), cost) for sign, value, cost in zip(y, found, C, strict=True)]
    w, cut = _weighted(rows, found), _weighted(rows, inside)
    losses = (cost * max(mpf(0), 1 - sign * (dot(w, x) + b)) for x, sign, cost in zip(rows, y, C, strict=True))
    value = dot(w, w) / 2 + mpmath.fsum(losses)
    dual = dot(y, inside) - dot(cut, cut) / 2 - abs(b * mpmath.fsum(inside))
    return float((value - dual) / value) if value else 0.0


def _weighted(rows, shares):
    return [mpmath.fsum(share * x[j] for share, x in zip(shares, rows, strict=True)) for j in range(len(rows[0]))]
