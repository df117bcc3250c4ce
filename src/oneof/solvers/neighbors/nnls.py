"""Non-negative least squares for many small problems at once, on their Gram matrices.

For rows x_1 .. x_k and a target x, with G = (x_a . x_b), c = (x_a . x) and s = ||x||^2,

    min_{w >= 0} ||x - sum_a w_a x_a||^2  =  min_{w >= 0}  w^T G w - 2 w^T c + s

by the active-set method of Lawson & Hanson (1974), Solving least squares problems, chapter 23, in the form that needs
only G and c (Bro & De Jong 1997, A fast non-negativity-constrained least squares algorithm, J. Chemometrics 11). A
Cholesky factor of G on the passive rows, which have a positive weight, is updated as they change.
"""

import numpy as np

from oneof.jit import compiled
from oneof.typing import Floats, Ints, Mask

# A cosine below _COSINE_TOL counts as 0, since products of rows are not more accurate. So does a squared sine below
# _PIVOT_RTOL: the fraction of a row that the previous rows do not explain.
_COSINE_TOL = 1e-12
_PIVOT_RTOL = 1e-14
_PIVOT_TOL = np.finfo(np.float64).tiny


def nonnegative_least_squares(gram: Floats, cross: Floats, square: Floats) -> Floats:
    """Solve n problems of k weights each.

    Rows enter one at a time: the row with the largest product with the residual (the first of equals). If G is
    singular, as it always is for k > d, many weights may be optimal. The order of entry selects among them, so that the
    order of the rows matters only for ties, and at most rank(G) weights are positive. The sum of squares is minimal in
    any case, to about 1e-12 of s. Nearly dependent rows, at angles of 1e-7, can cost up to 1e-6 of s, since a Gram
    matrix squares the condition number of its rows; features whose sizes differ by 10,000 have such rows.

    Parameters
    ----------
    gram : ndarray of shape (n, k, k), float64
        Symmetric, positive semi-definite up to rounding, and finite.
    cross : ndarray of shape (n, k), float64
    square : ndarray of shape (n,), float64
        Squared norms of the targets, the scale of the rounding errors.

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
    passive, excluded = np.zeros(k, dtype=np.int64), np.zeros(k, dtype=np.bool_)
    for i in range(n):
        G, c, w = gram[i], cross[i], weights[i]
        size = 0  # number of passive rows: passive[:size], in the order of entry
        excluded[:] = False
        for _ in range(10 * k):  # an upper bound; 2 k steps are rarely needed
            if size == k:
                break
            entering = _steepest(G, c, square[i], w, passive[:size], excluded)
            if entering < 0:
                break
            excluded[entering] = True  # until the weights change, since rounding may reject it below
            passive[size] = entering
            if not _append(factor, G, passive, size):
                continue
            _back_substitute(factor, c, passive[: size + 1], solution)
            if not solution[size] > 0.0:
                continue
            size = _descend(factor, G, c, w, passive, size + 1, solution)
            excluded[:] = False


@compiled
def _steepest(G: Floats, c: Floats, square: float, w: Floats, passive: Ints, excluded: Mask) -> int:
    """Return the row outside the passive set with the largest product with the residual, or -1 if none is positive."""
    best, largest = -1, 0.0
    for a in range(c.shape[0]):
        if w[a] > 0.0 or excluded[a]:
            continue
        product = c[a]
        for b in passive:
            product -= G[a, b] * w[b]
        tolerance = _COSINE_TOL * np.sqrt(G[a, a]) * np.sqrt(square)
        if product > largest + tolerance:
            best, largest = a, product
    return best


@compiled
def _append(factor: Floats, G: Floats, passive: Ints, index: int) -> bool:
    """Write the row of the Cholesky factor for passive[index]; return False if it depends on the previous rows."""
    a = passive[index]
    pivot = G[a, a]
    for p in range(index):
        entry = G[a, passive[p]]
        for q in range(p):
            entry -= factor[index, q] * factor[p, q]
        entry /= factor[p, p]
        factor[index, p] = entry
        pivot -= entry * entry
    if not pivot > max(_PIVOT_RTOL * G[a, a], _PIVOT_TOL):
        return False
    factor[index, index] = np.sqrt(pivot)
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
    """Move w toward the least squares weights and remove rows whose weight becomes 0; return the number of the rest."""
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
        n_passive = 0
        for p in range(size):
            if w[passive[p]] > 0.0:
                passive[n_passive] = passive[p]
                # Rows of the factor before the first removed row do not change. A later row may now depend on the
                # previous ones because of rounding; then it is removed too.
                if n_passive == p or _append(factor, G, passive, n_passive):
                    n_passive += 1
                else:
                    w[passive[n_passive]] = 0.0
        size = n_passive
        _back_substitute(factor, c, passive[:size], solution)
    return size
