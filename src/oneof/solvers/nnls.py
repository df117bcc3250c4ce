"""Non-negative least squares for many small problems at once, on their Gram matrices.

For rows x_1 .. x_k and a target x, with G = (x_a . x_b), c = (x_a . x) and s = ||x||^2,

    min_{w >= 0} ||x - sum_a w_a x_a||^2  =  min_{w >= 0}  w^T G w - 2 w^T c + s

by the active-set method of Lawson & Hanson (1974), Solving least squares problems, chapter 23, in the form that needs
G and c alone (Bro & De Jong 1997, A fast non-negativity-constrained least squares algorithm, J. Chemometrics 11). A
Cholesky factor of G on the rows with a weight grows and shrinks with them.
"""

import numpy as np

from oneof.solvers.jit import compiled
from oneof.typing import Floats, Ints, Mask

# A cosine below SLACK is taken for 0, since products of rows are no more accurate; so is the square of a sine below
# PIVOT, the share of a row that those before it do not explain.
_SLACK = 1e-12
_PIVOT = 1e-14
_TINY = np.finfo(np.float64).tiny


def nonnegative_least_squares(gram: Floats, cross: Floats, square: Floats) -> Floats:
    """Solve n problems of k weights each.

    Rows enter one at a time, the one with the largest product with what is left of the target first (the first of
    equals). Where G is singular, as it always is for k > d, many weights may be optimal: this order of entry chooses
    among them, so that the order of the rows matters for ties alone, and no more than rank(G) weights are above 0. The
    sum of squares is the least all the same, to some 1e-12 of s. Rows that almost depend on each other, at angles of
    1e-7, can cost up to 1e-7 of s, since a Gram matrix squares the condition of its rows.

    Parameters
    ----------
    gram : ndarray of shape (n, k, k), float64
        Symmetric, positive semi-definite but for rounding, and finite.
    cross : ndarray of shape (n, k), float64
    square : ndarray of shape (n,), float64
        The size of the targets, against which rounding is told from zero.

    Returns
    -------
    ndarray of shape (n, k)
        At least 0, and finite.
    """
    weights = np.zeros(cross.shape)
    _solve(np.ascontiguousarray(gram), np.ascontiguousarray(cross), np.ascontiguousarray(square), weights)
    return weights


@compiled
def _solve(gram: Floats, cross: Floats, square: Floats, weights: Floats) -> None:
    n, k = cross.shape
    factor, solution = np.zeros((k, k)), np.zeros(k)
    passive, barred = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.bool_)
    for i in range(n):
        G, c, w = gram[i], cross[i], weights[i]
        size = 0  # how many rows have a weight: passive[:size], in the order in which they came
        barred[:] = False
        for _ in range(10 * k):  # a bound that rounding cannot pass; some 2 k steps are many
            if size == k:
                break
            entering = _steepest(G, c, square[i], w, passive[:size], barred)
            if entering < 0:
                break
            barred[entering] = True  # until the weights change: rounding may yet refuse it
            passive[size] = entering
            if not _append(factor, G, passive, size):
                continue
            _back_substitute(factor, c, passive[: size + 1], solution)
            if not solution[size] > 0.0:
                continue
            size = _descend(factor, G, c, w, passive, size + 1, solution)
            barred[:] = False


@compiled
def _steepest(G: Floats, c: Floats, square: float, w: Floats, passive: Ints, barred: Mask) -> int:
    """Return the row without a weight whose product with the residual is largest, or -1 if none is above 0."""
    best, largest = -1, 0.0
    for a in range(c.shape[0]):
        if w[a] > 0.0 or barred[a]:
            continue
        product = c[a]
        for b in passive:
            product -= G[a, b] * w[b]
        slack = _SLACK * np.sqrt(G[a, a]) * np.sqrt(square)
        if product > largest + slack:
            best, largest = a, product
    return best


@compiled
def _append(factor: Floats, G: Floats, passive: Ints, place: int) -> bool:
    """Write the row of the Cholesky factor that belongs to passive[place]; False if it depends on those before."""
    a = passive[place]
    pivot = G[a, a]
    for p in range(place):
        entry = G[a, passive[p]]
        for q in range(p):
            entry -= factor[place, q] * factor[p, q]
        entry /= factor[p, p]
        factor[place, p] = entry
        pivot -= entry * entry
    if not pivot > max(_PIVOT * G[a, a], _TINY):
        return False
    factor[place, place] = np.sqrt(pivot)
    return True


@compiled
def _back_substitute(factor: Floats, c: Floats, passive: Ints, solution: Floats) -> None:
    """Write the least squares weights of the passive rows, which may be negative, to `solution`."""
    size = passive.shape[0]
    for p in range(size):
        value = c[passive[p]]
        for q in range(p):
            value -= factor[p, q] * solution[q]
        solution[p] = value / factor[p, p]
    for p in range(size - 1, -1, -1):
        value = solution[p]
        for q in range(p + 1, size):
            value -= factor[q, p] * solution[q]
        solution[p] = value / factor[p, p]


@compiled
def _descend(factor: Floats, G: Floats, c: Floats, w: Floats, passive: Ints, size: int, solution: Floats) -> int:
    """Move w to the least squares weights, leaving out each row whose weight meets 0; return how many remain."""
    while size > 0:
        step, blocking = 1.0, -1
        for p in range(size):
            if solution[p] <= 0.0:
                a = passive[p]
                length = w[a] / (w[a] - solution[p]) if w[a] > 0.0 else 0.0
                if blocking < 0 or length < step:
                    step, blocking = length, p
        for p in range(size):
            a = passive[p]
            w[a] = solution[p] if blocking < 0 else max(w[a] + step * (solution[p] - w[a]), 0.0)
        if blocking < 0:
            break
        w[passive[blocking]] = 0.0
        kept = 0
        for p in range(size):
            if w[passive[p]] > 0.0:
                passive[kept] = passive[p]
                # Rows of the factor before the first that left stay as they are. One after it may be found to depend on
                # those before it only by rounding; it then leaves too.
                if kept == p or _append(factor, G, passive, kept):
                    kept += 1
                else:
                    w[passive[kept]] = 0.0
        size = kept
        _back_substitute(factor, c, passive[:size], solution)
    return size
