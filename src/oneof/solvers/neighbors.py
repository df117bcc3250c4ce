"""Votes, reconstruction and label propagation among nearest neighbors: the computations of PLKNN and IPAL.

* Votes of neighbors for their candidates (Hüllermeier & Beringer 2006).
* Reconstruction of a row from its neighbors: min_{w >= 0} ||x - sum_j w_j x_j||^2 over the nearest rows x_j of x. The
  k x k Gram matrices are summed in float64 directly from the rows, dense or CSR, without a copy of the neighbors. They
  are in memory for one block of rows at a time.
* Propagation of labels (Zhang & Yu 2015). With W the (n, n) matrix of the reconstruction weights, its rows scaled to
  sum 1, and F_0 uniform on the candidates, repeat

      F <- alpha W F + (1 - alpha) F_0,   then F_ik <- F_ik / sum_{j in S_i} F_ij for k in S_i, else 0.

  With weights v_ik of the classes, F_0 is v_ik / sum_j v_ij. The weights multiply the labels of the neighbors:
  F_ik ~ alpha v_ik (W F)_ik + (1 - alpha) F_0,ik. F_0 has them already.

**Non-negative least squares for many small problems at once, on their Gram matrices.**

For rows x_1 .. x_k and a target x, with G = (x_a . x_b), c = (x_a . x) and s = ||x||^2,

    min_{w >= 0} ||x - sum_a w_a x_a||^2  =  min_{w >= 0}  w^T G w - 2 w^T c + s

by the active-set method of Lawson & Hanson (1974), Solving least squares problems, chapter 23, in the form that needs
only G and c (Bro & De Jong 1997, A fast non-negativity-constrained least squares algorithm, J. Chemometrics 11). A
Cholesky factor of G on the passive rows, which have a positive weight, is updated as they change.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.graphs.neighbors import NeighborIndex
from oneof.jit import compiled
from oneof.likelihoods import is_mask, normalize_within_sets, support, uniform_within_sets
from oneof.solvers.row_accessors import DenseRows, SparseRows, as_row_view, row_product, row_square
from oneof.typing import Evidence, FeatureMatrix, Floats, Ints, Mask

MAX_GRAM_ENTRIES = 2**22
"""Maximum number of entries of the Gram matrices in memory at once (32 MB)."""
_MAX_SQUARE = 1e300
# A cosine below _COSINE_TOL counts as 0, since products of rows are not more accurate. So does a squared sine below
# _PIVOT_RTOL: the fraction of a row that the previous rows do not explain.
_COSINE_TOL = 1e-12
_PIVOT_RTOL = 1e-14
_PIVOT_TOL = np.finfo(np.float64).tiny


def neighbor_weights(distances: Floats) -> Floats:
    """Return w_r = 1 - d_r / sum_r d_r for the neighbors of each row, (n, k); 1 for 0/0 and for k = 1."""
    n_neighbors = distances.shape[1]
    total = distances.sum(axis=1, keepdims=True, dtype=np.float64)
    if n_neighbors == 1:
        return np.ones_like(total)
    return np.where(total > 0, 1.0 - distances / np.where(total > 0, total, 1.0), 1.0)


def count_votes(neighbors: Ints, weights: Floats, evidence: Evidence) -> Floats:
    """Return sum_r w_r v_rk over the neighbors r of each row, where v_rk is 1[k in S_r] or the weight of the class.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
        Row indices of `evidence`.
    weights : ndarray of shape (n, k)
    evidence : ndarray of shape (m, K)
        v: a mask of candidate sets, or weights of the classes.

    Returns
    -------
    ndarray of shape (n, K)
    """
    return np.asarray(neighbor_matrix(neighbors, weights, len(evidence)) @ evidence.astype(np.float64))


def vote_fractions(neighbors: Ints, weights: Floats, evidence: Evidence) -> Floats:
    """Return the votes of `count_votes`, scaled to sum 1 in each row."""
    votes = count_votes(neighbors, weights, evidence)
    return votes / votes.sum(axis=1, keepdims=True)


def neighbor_matrix(neighbors: Ints, weights: Floats, n_rows: int) -> sp.csr_array:
    """Return the (n, n_rows) matrix of the weights, (n, k), of each row's neighbors."""
    n, k = neighbors.shape
    if neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < n_rows:
        raise InputError(f"a neighbor index is outside the {n_rows} rows. Fit the model again.")
    return sp.csr_array((weights.ravel(), neighbors.ravel(), np.arange(n + 1) * k), shape=(n, n_rows))


# -- reconstruction ----------------------------------------------------------------------------------------------------


def reconstruction_weights(rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints) -> Floats:
    """Return the weights with which the neighbors reconstruct each target.

    Parameters
    ----------
    rows : ndarray or CSR matrix of shape (m, d)
        CSR rows are in canonical format.
    targets : ndarray or CSR matrix of shape (n, d)
        Rows of the same type as `rows`.
    neighbors : ndarray of shape (n, k)
        Row indices of `rows`.

    Returns
    -------
    ndarray of shape (n, k)
        At least 0, see `nonnegative_least_squares`.

    Raises
    ------
    InputError
        If products of rows overflow.
    """
    weights = np.zeros(neighbors.shape)
    for block, gram, cross, square in _iter_problems(rows, targets, neighbors):
        weights[block] = nonnegative_least_squares(gram, cross, square)
    return weights


def reconstruction_errors(
    rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints, labels: Ints, n_classes: int
) -> Floats:
    """Return the reconstruction error of each target by each class: ||x - sum_{j: label_j = k} w_j x_j||^2 / ||x||^2.

    The weights are fitted with all neighbors together. The error is 1 for a class without neighbors, and 0 for all
    classes if the target is 0.

    Parameters
    ----------
    rows, targets, neighbors
        As for `reconstruction_weights`.
    labels : ndarray of shape (m,)
        The class of each row.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        At least 0.
    """
    explained, squares = np.zeros(neighbors.shape), np.zeros(len(neighbors))
    for block, gram, cross, square in _iter_problems(rows, targets, neighbors):
        weights = nonnegative_least_squares(gram, cross, square)
        label = labels[neighbors[block]]
        same_class = gram * (label[:, :, None] == label[:, None, :])
        # ||x - sum w_j x_j||^2 = ||x||^2 - sum_j w_j (2 x_j . x - x_j . sum_l w_l x_l), over the rows j, l of one class
        explained[block] = weights * (2.0 * cross - (same_class @ weights[:, :, None])[:, :, 0])
        squares[block] = square
    by_class = count_votes(neighbors, explained, np.eye(n_classes, dtype=bool)[labels])
    errors = np.maximum(squares[:, None] - by_class, 0.0)
    return np.divide(errors, squares[:, None], out=np.zeros_like(errors), where=squares[:, None] > 0)


def reconstruction_matrix(index: NeighborIndex, n_neighbors: int, rows: FeatureMatrix | None = None) -> sp.csr_array:
    """Return the weights with which the nearest indexed rows reconstruct each row, scaled to sum 1.

    Parameters
    ----------
    index : NeighborIndex
        m rows.
    n_neighbors : int
    rows : ndarray or CSR matrix of shape (n, d), optional
        Without it, the indexed rows are reconstructed, each from the others.

    Returns
    -------
    csr_array of shape (n, m)
        k entries per row; all are 0 if no neighbor reduces the reconstruction error.
    """
    targets = index.points(rows)
    _, neighbors = index.nearest(n_neighbors, rows).reshape_by_row(targets.shape[0])
    weights = reconstruction_weights(index.points(), targets, neighbors)
    total = weights.sum(axis=1, keepdims=True)
    return neighbor_matrix(neighbors, weights / np.where(total > 0, total, 1.0), len(index))


def _iter_problems(
    rows: FeatureMatrix, targets: FeatureMatrix, neighbors: Ints
) -> Iterator[tuple[slice, Floats, Floats, Floats]]:
    """Yield, for each block of targets, G (c, k, k), the products with the target (c, k), and ||x||^2 (c,)."""
    n, k = neighbors.shape
    m, d = rows.shape
    # Compiled loops do not check bounds.
    if targets.shape != (n, d) or (neighbors.size and not 0 <= neighbors.min() <= neighbors.max() < m):
        raise InputError(
            f"`neighbors` must have indices of {m} rows for each target of {d} features; got neighbors of shape "
            f"{neighbors.shape} and targets of shape {targets.shape}."
        )
    length = max(1, MAX_GRAM_ENTRIES // max(k * k, 1))
    view = as_row_view(rows)
    for start in range(0, n, length):
        block = slice(start, min(start + length, n))
        size = block.stop - start
        gram, cross, square = np.empty((size, k, k)), np.empty((size, k)), np.empty(size)
        _multiply(view, as_row_view(targets[block]), neighbors[block], gram, cross, square)
        largest = max(square.max(), gram.diagonal(axis1=1, axis2=2).max(initial=0.0))
        if not largest < _MAX_SQUARE:
            raise InputError("products of rows overflow. Scale the features, for example with StandardScaler.")
        yield block, gram, cross, square


@compiled
def _multiply(
    rows: DenseRows | SparseRows,
    targets: DenseRows | SparseRows,
    neighbors: Ints,
    gram: Floats,
    cross: Floats,
    square: Floats,
) -> None:
    n, k = neighbors.shape
    for i in range(n):
        square[i] = row_square(targets, i, False)
        for a in range(k):
            row = neighbors[i, a]
            cross[i, a] = row_product(targets, i, rows, row)
            for b in range(a + 1):
                gram[i, a, b] = gram[i, b, a] = row_product(rows, row, rows, neighbors[i, b])


# -- propagation -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Propagation:
    """Result of `propagate`."""

    label_distributions: Floats
    """(n, K): F, 0 outside the candidates; rows sum to 1."""
    n_iter: int
    """Number of iterations."""
    change: float
    """Largest change of an entry of F in the last iteration."""


def propagate(
    weights: sp.csr_array,
    evidence: Evidence,
    *,
    alpha: float,
    max_iter: int = 100,
    tol: float = 1e-6,
    initial: Floats | None = None,
) -> Propagation:
    """Iterate until F changes by no more than `tol`, or `max_iter` times.

    Parameters
    ----------
    weights : CSR matrix of shape (n, n)
        W; a row of zeros keeps its F_0.
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes.
    alpha : float
        Weight of the neighbors, in [0, 1].
    max_iter : int
        At least 1.
    tol : float
    initial : ndarray of shape (n, K), optional
        A warm start, instead of F_0.

    Returns
    -------
    Propagation
    """
    start = uniform_within_sets(evidence)
    F, own = start if initial is None else initial, start
    if not is_mask(evidence):
        own = support(evidence) / evidence.sum(axis=1, keepdims=True)  # F_0 before the weights multiply it
    n_iter, change = 0, np.inf
    while n_iter < max_iter and change > tol:
        new = normalize_within_sets(alpha * np.asarray(weights @ F) + (1.0 - alpha) * own, evidence)
        change = float(np.abs(new - F).max())
        F = new
        n_iter += 1
    return Propagation(F, n_iter, change)


def normalize_class_mass(label_distributions: Floats, evidence: Evidence) -> Floats:
    """Return F with each class scaled to its fraction of all rows in F_0, and rows then scaled to sum 1.

    q_k F_ik with q_k = sum_i F_0,ik / sum_i F_ik (class mass normalization). Propagation favors classes that are in
    many sets, which this reverses. A class without mass remains without mass.

    Parameters
    ----------
    label_distributions : ndarray of shape (n, K)
    evidence : ndarray of shape (n, K)
        As for `propagate`.

    Returns
    -------
    ndarray of shape (n, K)
    """
    mass = label_distributions.sum(axis=0)
    has_mass = mass > np.finfo(np.float64).eps * mass.sum()  # with alpha=1 classes vanish, and the rest is rounding
    factor = np.divide(uniform_within_sets(evidence).sum(axis=0), mass, out=np.zeros(len(mass)), where=has_mass)
    return normalize_within_sets(label_distributions * factor, support(evidence))


# -- nnls --------------------------------------------------------------------------------------------------------------


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
