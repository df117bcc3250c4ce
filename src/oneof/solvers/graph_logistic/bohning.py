"""M-steps by Böhning's bound (1992): of all weights in one block, or one weight at a time.

The bound replaces the Hessian of l by the constant -B, which is below it everywhere:

    B = 1/2 (I - 1 1^T / K) kron X^T V X.

`bohning_mstep` takes the steps w <- w + (B + Lambda)^-1 (g - Lambda w), with g the gradient of l. `coordinate_mstep`
is equation (13) of Krishnapuram et al. (2004), w_u <- w_u + [g_u - (Lambda w)_u] / (B + Lambda)_uu. Each step increases
the objective. For candidate sets, g is the gradient with the responsibilities, and the step is one of the generalized
EM algorithm, as B bounds the likelihood for any responsibilities.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numba.extending import overload

from oneof.jit import FASTMATH, compiled
from oneof.solvers.graph_logistic.coordinates import to_dense
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import (
    MAX_COORDINATES,
    jittered_cholesky,
    separate_solver,
    shared_solver,
    weighted_gram,
)
from oneof.solvers.graph_logistic.prior import VAGUE_PRECISION, Precisions, Prior
from oneof.solvers.row_accessors import DenseRows, as_row_view
from oneof.typing import Floats


class LinearStopping:
    """Stopping criterion for linearly convergent iterations.

    The remaining distance is step * rate / (1 - rate), with the rate at which the steps shrink.
    """

    def __init__(self, tol: float) -> None:
        self.tol = 0.01 * tol  # a margin, since the scores may be insensitive to some of the weights
        self._before = np.inf

    def converged(self, step: Floats, solution: Floats) -> bool:
        """Return whether the remaining distance is at most `tol` times the solution, both in one measure."""
        length, size = float(np.linalg.norm(step)), float(np.linalg.norm(solution))
        rate = 1.0 if np.isinf(self._before) else min(length / self._before, 1.0)
        self._before = length
        return length == 0.0 or length * rate <= self.tol * size * (1.0 - rate)


# -- all weights in one block ---------------------------------------------------------------------------------------


def bohning_mstep(
    likelihood: CandidateLikelihood, prior: Prior, precisions: Precisions, start: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c); return the (K-1, D) weights, and whether it converged."""
    solve = _block_solver(likelihood, prior, precisions)
    weights, stopping = start, LinearStopping(tol)
    for _ in range(max_iter):
        at = likelihood.evaluate(np.asarray(likelihood.features @ weights.T))
        gradient = np.asarray((likelihood.features.T @ likelihood.gradient(at)).T)
        step = solve(gradient - prior.matvec(weights, precisions))
        weights = weights + step
        score_step = np.asarray(likelihood.features @ step.T)
        if stopping.converged(score_step, np.asarray(likelihood.features @ weights.T)):
            return weights, True
    return weights, False


def _block_solver(likelihood: CandidateLikelihood, prior: Prior, precisions: Precisions) -> Callable[[Floats], Floats]:
    """Factorize B + Lambda, and return its solver.

    If all classes share one Lambda, two D x D factorizations suffice, by the eigenvalues of I - 1 1^T / K. Otherwise
    the full B + Lambda is factorized; if it is too large, the bound is relaxed to 1/2 I kron X^T V X, which takes one
    factorization per class.
    """
    n_vectors, n_weights = prior.n_vectors, prior.n_weights
    gram = weighted_gram(likelihood.features, likelihood.row_weight / 2.0)
    matrices = [
        to_dense(prior.unpenalized.regularize(prior.matrix(precisions, c), VAGUE_PRECISION))
        for c in range(prior.n_distinct)
    ]

    if len(matrices) == 1:
        return shared_solver(gram, matrices[0], n_vectors)

    if n_vectors * n_weights <= MAX_COORDINATES:
        full = np.kron(np.eye(n_vectors) - 1.0 / (n_vectors + 1), gram)
        full += scipy.linalg.block_diag(*matrices)
        root = jittered_cholesky(full), True  # a larger matrix is a bound as well
        return lambda target: scipy.linalg.cho_solve(root, target.ravel(), check_finite=False).reshape(target.shape)
    return separate_solver(gram + matrix for matrix in matrices)


# -- one weight at a time -------------------------------------------------------------------------------------------


def coordinate_mstep(
    likelihood: CandidateLikelihood, prior: Prior, precisions: Precisions, start: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda_c w^(c); return the (K-1, D) weights, and whether it converged.

    The diagonal of B is 1/2 (1 - 1/K) sum_i v_i x_iu^2. The exponentials of the scores and their sums are stored, so
    that a step costs O(L + d) for L rows with the feature, and a sweep O(K d (L + d)). No matrix with more than D x D
    entries is formed; with a sparse Lambda, only Lambda itself.
    """
    X = likelihood.features
    columns = as_row_view(sp.csr_array(X.T) if sp.issparse(X) else X.T)
    squares = (X * X).T @ likelihood.row_weight
    bound = 0.5 * (1.0 - 1.0 / (prior.n_vectors + 1)) * np.asarray(squares)
    matrices = [
        prior.unpenalized.regularize(prior.matrix(precisions, c), VAGUE_PRECISION) for c in range(prior.n_distinct)
    ]
    diagonals = [bound + matrix.diagonal() for matrix in matrices]
    views = [as_row_view(matrix) for matrix in matrices]
    weights = np.array(start, dtype=np.float64)
    evidence = np.ascontiguousarray(likelihood.evidence)
    stopping = LinearStopping(tol)
    scores = np.zeros((len(evidence), prior.n_vectors + 1))
    for _ in range(max_iter):
        scores[:, :-1], scores[:, -1] = X @ weights.T, 0.0
        before = weights.copy()
        scores -= scores.max(axis=1, keepdims=True)
        exponentials = np.exp(scores)
        for c in range(prior.n_vectors):
            j = c % len(matrices)
            _sweep(columns, views[j], diagonals[j], evidence, likelihood.row_weight, c, weights[c], exponentials)
        if stopping.converged(np.asarray(X @ (weights - before).T), np.asarray(X @ weights.T)):
            return weights, True
    return weights, False


def row_range(rows: Any, u: int) -> tuple[int, int]:
    """Return the start and stop of the stored entries of row u."""
    raise NotImplementedError("only inside compiled loops")


def entry_column(rows: Any, p: int) -> int:
    """Return the column of the stored entry p."""
    raise NotImplementedError("only inside compiled loops")


def entry_value(rows: Any, u: int, p: int) -> float:
    """Return the stored entry p, of row u."""
    raise NotImplementedError("only inside compiled loops")


@overload(row_range, jit_options={"fastmath": FASTMATH})
def _row_range(rows, u):  # noqa: ARG001 - numba reads the types only
    return _dense_range if rows.instance_class is DenseRows else _sparse_range


@overload(entry_column, jit_options={"fastmath": FASTMATH})
def _entry_column(rows, p):  # noqa: ARG001 - numba reads the types only
    return _dense_column if rows.instance_class is DenseRows else _sparse_column


@overload(entry_value, jit_options={"fastmath": FASTMATH})
def _entry_value(rows, u, p):  # noqa: ARG001 - numba reads the types only
    return _dense_value if rows.instance_class is DenseRows else _sparse_value


def _dense_range(rows, u):  # noqa: ARG001 - one signature for both accessors
    return 0, rows.values.shape[1]


def _sparse_range(rows, u):
    return rows.indptr[u], rows.indptr[u + 1]


def _dense_column(rows, p):  # noqa: ARG001 - one signature for both accessors
    return p


def _sparse_column(rows, p):
    return rows.indices[p]


def _dense_value(rows, u, p):
    return rows.values[u, p]


def _sparse_value(rows, u, p):  # noqa: ARG001 - one signature for both accessors
    return rows.data[p]


@compiled
def _sweep(columns, precision, diagonal, evidence, row_weight, c, weights, exponentials):
    """Update the weights of class c; `exponentials` are exp(s_ik) up to a factor per row, and are updated too."""
    m, n_classes = exponentials.shape
    sums, candidate_sums = np.zeros(m), np.zeros(m)
    for i in range(m):
        for k in range(n_classes):
            sums[i] += exponentials[i, k]
            if evidence[i, k]:
                candidate_sums[i] += evidence[i, k] * exponentials[i, k]
    for u in range(weights.shape[0]):
        if diagonal[u] <= 0.0:
            continue
        gradient = 0.0
        start, end = row_range(precision, u)
        for p in range(start, end):
            gradient -= entry_value(precision, u, p) * weights[entry_column(precision, p)]
        start, end = row_range(columns, u)
        for p in range(start, end):
            i = entry_column(columns, p)
            before = exponentials[i, c]
            responsibility = evidence[i, c] * before / candidate_sums[i] if evidence[i, c] else 0.0
            gradient += row_weight[i] * entry_value(columns, u, p) * (responsibility - before / sums[i])
        step = gradient / diagonal[u]
        if step == 0.0:
            continue
        weights[u] += step
        for p in range(start, end):
            i = entry_column(columns, p)
            before = exponentials[i, c]
            after = before * np.exp(step * entry_value(columns, u, p))
            exponentials[i, c] = after
            if after < 0.5 * before:  # a new sum, as the difference would lose digits
                sums[i], candidate_sums[i] = 0.0, 0.0
                for k in range(n_classes):
                    sums[i] += exponentials[i, k]
                    if evidence[i, k]:
                        candidate_sums[i] += evidence[i, k] * exponentials[i, k]
            else:
                sums[i] += after - before
                if evidence[i, c]:
                    candidate_sums[i] += evidence[i, c] * (after - before)
