"""M-steps by Böhning's bound (1992): of all weights in one block, or one weight at a time.

The bound replaces the Hessian of l by the constant -B, which is below it everywhere:

    B = 1/2 (I - 1 1^T / K) kron X^T V X.

`bohning_mstep` takes the steps w <- w + (B + Lambda)^-1 (g - Lambda w), with g the gradient of l, which is the
maximizer above (13) of Krishnapuram et al. (2004). `coordinate_mstep` is (13), w_u <- w_u + [g_u - (Lambda w)_u] / (B +
Lambda)_uu. Each step increases the objective. For candidate sets, g is the gradient with the responsibilities, and the
step is one of the generalized EM algorithm, as B bounds the likelihood for any responsibilities.
"""

import numpy as np
import scipy.sparse as sp

from oneof.jit import compiled
from oneof.solvers.graph_logistic.coordinates import to_dense
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import shared_solver, weighted_gram
from oneof.solvers.graph_logistic.prior import VAGUE_PRECISION, Precisions, Prior
from oneof.solvers.row_accessors import as_row_view
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
    likelihood: CandidateLikelihood, prior: Prior, precisions: Precisions, initial: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda w^(c); return the (K-1, D) weights, and whether it converged."""
    gram = weighted_gram(likelihood.features, likelihood.row_weight / 2.0)
    solve = shared_solver(gram, to_dense(prior.matrix(precisions, VAGUE_PRECISION)), prior.n_vectors)
    weights, stopping = initial, LinearStopping(tol)
    for _ in range(max_iter):
        at = likelihood.evaluate(np.asarray(likelihood.features @ weights.T))
        gradient = np.asarray((likelihood.features.T @ likelihood.gradient(at)).T)
        step = solve(gradient - prior.matvec(weights, precisions))
        weights = weights + step
        score_step = np.asarray(likelihood.features @ step.T)
        if stopping.converged(score_step, np.asarray(likelihood.features @ weights.T)):
            return weights, True
    return weights, False


# -- one weight at a time -------------------------------------------------------------------------------------------


def coordinate_mstep(
    likelihood: CandidateLikelihood, prior: Prior, precisions: Precisions, initial: Floats, *, tol: float, max_iter: int
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda w^(c); return the (K-1, D) weights, and whether it converged.

    The diagonal of B is 1/2 (1 - 1/K) sum_i v_i x_iu^2. The exponentials of the scores and their sums are stored, so
    that a step costs O(L + d) for L rows with the feature, and a sweep O(K d (L + d)). No matrix with more than D x D
    entries is formed; with a sparse Lambda, only Lambda itself.
    """
    X = likelihood.features
    columns = as_row_view(sp.csr_array(X.T))
    squares = (X * X).T @ likelihood.row_weight
    bound = 0.5 * (1.0 - 1.0 / (prior.n_vectors + 1)) * np.asarray(squares)
    matrix = prior.matrix(precisions, VAGUE_PRECISION)
    diagonal, precision = bound + matrix.diagonal(), as_row_view(sp.csr_array(matrix))
    weights = np.array(initial, dtype=np.float64)
    evidence = np.ascontiguousarray(likelihood.evidence)
    stopping = LinearStopping(tol)
    scores = np.zeros((len(evidence), prior.n_vectors + 1))
    for _ in range(max_iter):
        scores[:, :-1], scores[:, -1] = X @ weights.T, 0.0
        before = weights.copy()
        scores -= scores.max(axis=1, keepdims=True)
        exponentials = np.exp(scores)
        for c in range(prior.n_vectors):
            _sweep(columns, precision, diagonal, evidence, likelihood.row_weight, c, weights[c], exponentials)
        if stopping.converged(np.asarray(X @ (weights - before).T), np.asarray(X @ weights.T)):
            return weights, True
    return weights, False


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
        start, end = precision.indptr[u], precision.indptr[u + 1]
        for p in range(start, end):
            gradient -= precision.data[p] * weights[precision.indices[p]]
        start, end = columns.indptr[u], columns.indptr[u + 1]
        for p in range(start, end):
            i = columns.indices[p]
            before = exponentials[i, c]
            responsibility = evidence[i, c] * before / candidate_sums[i] if evidence[i, c] else 0.0
            gradient += row_weight[i] * columns.data[p] * (responsibility - before / sums[i])
        step = gradient / diagonal[u]
        if step == 0.0:
            continue
        weights[u] += step
        for p in range(start, end):
            i = columns.indices[p]
            before = exponentials[i, c]
            after = before * np.exp(step * columns.data[p])
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
