"""The M-step one weight at a time, as a compiled sweep.

It is equation (13) of Krishnapuram et al. (2004),

    w_u <- w_u + [g_u - (Lambda w)_u] / (B + Lambda)_uu,

B Bohning's bound, whose diagonal is 1/2 (1 - 1/K) sum_i v_i x_iu^2. Each step raises the objective. The exponentials
of the scores and their sums are kept, so that a step costs O(L + d) for L rows with the feature, and a sweep
O(K d (L + d)).
No matrix of more than D x D numbers is formed, and none but Lambda where that is sparse.
"""

import numpy as np
import scipy.sparse as sp

from oneof.solvers.graph_logistic.ending import Ending
from oneof.solvers.graph_logistic.entries import entry_column, entry_value, row_range
from oneof.solvers.graph_logistic.openings import VAGUE
from oneof.solvers.graph_logistic.prior import Prior
from oneof.solvers.graph_logistic.problem import Likelihood
from oneof.solvers.graph_logistic.terms import Precisions
from oneof.solvers.jit import compiled
from oneof.solvers.row_accessors import as_row_view
from oneof.typing import Floats


def sequential(
    likelihood: Likelihood, prior: Prior, precisions: Precisions, start: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c); return the (K-1, D) weights, and whether it arrived."""
    X = likelihood.features
    columns = as_row_view(sp.csr_array(X.T) if sp.issparse(X) else X.T)
    squares = (X * X).T @ likelihood.row_weight
    bound = 0.5 * (1.0 - 1.0 / (prior.n_vectors + 1)) * np.asarray(squares)
    matrices = [prior.openings.closed(prior.matrix(precisions, c), VAGUE) for c in range(prior.n_distinct)]
    diagonals = [bound + matrix.diagonal() for matrix in matrices]
    views = [as_row_view(matrix) for matrix in matrices]
    weights = np.array(start, dtype=np.float64)
    mask = np.ascontiguousarray(likelihood.mask)
    ending = Ending(tol)
    scores = np.zeros((len(mask), prior.n_vectors + 1))
    for _ in range(max_iter):
        scores[:, :-1], scores[:, -1] = X @ weights.T, 0.0
        before = weights.copy()
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        for c in range(prior.n_vectors):
            own = c % len(matrices)
            _sweep(columns, views[own], diagonals[own], mask, likelihood.row_weight, c, weights[c], shares)
        if ending.reached(np.asarray(X @ (weights - before).T), np.asarray(X @ weights.T)):
            return weights, True
    return weights, False


@compiled
def _sweep(columns, precision, diagonal, mask, row_weight, c, weights, shares):
    """Step through the weights of class c; `shares` are exp(s_ik) but for a factor of each row, and follow."""
    m, n_classes = shares.shape
    sums, inside = np.zeros(m), np.zeros(m)
    for i in range(m):
        for k in range(n_classes):
            sums[i] += shares[i, k]
            if mask[i, k]:
                inside[i] += shares[i, k]
    for u in range(weights.shape[0]):
        if diagonal[u] <= 0.0:
            continue
        slope = 0.0
        begin, end = row_range(precision, u)
        for p in range(begin, end):
            slope -= entry_value(precision, u, p) * weights[entry_column(precision, p)]
        begin, end = row_range(columns, u)
        for p in range(begin, end):
            i = entry_column(columns, p)
            share = shares[i, c]
            told = share / inside[i] if mask[i, c] else 0.0
            slope += row_weight[i] * entry_value(columns, u, p) * (told - share / sums[i])
        step = slope / diagonal[u]
        if step == 0.0:
            continue
        weights[u] += step
        for p in range(begin, end):
            i = entry_column(columns, p)
            share = shares[i, c]
            moved = share * np.exp(step * entry_value(columns, u, p))
            shares[i, c] = moved
            if moved < 0.5 * share:  # sums of what is left, as the difference would lose digits
                sums[i], inside[i] = 0.0, 0.0
                for k in range(n_classes):
                    sums[i] += shares[i, k]
                    if mask[i, k]:
                        inside[i] += shares[i, k]
            else:
                sums[i] += moved - share
                if mask[i, c]:
                    inside[i] += moved - share
