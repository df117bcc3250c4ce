"""M-steps by Böhning's bound (1992): of all weights in one block, or one weight at a time.

The bound replaces the Hessian of l by the constant -B, which is below it everywhere:

    B = 1/2 (I - 1 1^T / K) kron X^T V X.

`block_step` is w <- w + (B + Lambda)^-1 (g - Lambda w), with g the gradient of l, which is the maximizer above (13) of
Krishnapuram et al. (2004). `sequential_step` is a sweep of (13), w_u <- w_u + [g_u - (Lambda w)_u] / (B + Lambda)_uu.
Each step increases the objective. For candidate sets, g is the gradient with the responsibilities, and the step is one
of the generalized EM algorithm, as B bounds the likelihood for any responsibilities.
"""

import numpy as np
import scipy.sparse as sp

from oneof.jit import compiled
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.newton import shared_solver, weighted_gram
from oneof.solvers.graph_logistic.prior import Prior, to_dense
from oneof.solvers.linear import Operator
from oneof.solvers.row_accessors import as_row_view
from oneof.typing import Floats

STOPPING_RATIO = 0.01
"""Remaining distance at convergence in units of the tolerance, since scores may be insensitive to some weights."""


def bound_mstep(
    kind: str,
    likelihood: CandidateLikelihood,
    prior: Prior,
    precisions: Floats,
    weights: Floats,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Floats, bool]:
    """Maximize l(w) - 1/2 sum_c w^(c)T Lambda w^(c); return the (K-1, D) weights, and whether it converged.

    The steps, of the kind "block" or "sequential", converge linearly: if they shrink at a rate, the remaining distance
    of the scores is step * rate / (1 - rate).
    """
    step = STEPS[kind](likelihood, prior, prior.matrix(precisions))
    last = np.inf
    for _ in range(max_iter):
        before, weights = weights, step(weights)
        scores, change = (np.asarray(likelihood.features @ w.T) for w in (weights, weights - before))
        length, size = float(np.linalg.norm(change)), float(np.linalg.norm(scores))
        rate = 1.0 if np.isinf(last) else min(length / last, 1.0)
        last = length
        if length == 0.0 or length * rate <= STOPPING_RATIO * tol * size * (1.0 - rate):
            return weights, True
    return weights, False


def block_step(likelihood: CandidateLikelihood, prior: Prior, precision: Floats) -> Operator:
    """Return the step of all weights in one block."""
    X, precision = likelihood.features, to_dense(precision)
    solve = shared_solver(weighted_gram(X, likelihood.row_weight / 2.0), precision, prior.n_vectors)

    def step(weights: Floats) -> Floats:
        gradient = likelihood.gradient(likelihood.evaluate(np.asarray(X @ weights.T)))
        return weights + solve(np.asarray((X.T @ gradient).T) - weights @ precision)

    return step


def sequential_step(likelihood: CandidateLikelihood, prior: Prior, precision: Floats) -> Operator:
    """Return the sweep over single weights.

    The diagonal of B is 1/2 (1 - 1/K) sum_i v_i x_iu^2. The exponentials of the scores and their sums are stored, so
    that a step costs O(L + d) for L rows with the feature, and a sweep O(K d (L + d)). No matrix with more than D x D
    entries is formed; with a sparse Lambda, only Lambda itself.
    """
    X = likelihood.features
    bound = 0.5 * (1.0 - 1.0 / (prior.n_vectors + 1)) * np.asarray((X * X).T @ likelihood.row_weight)
    columns, rows = as_row_view(sp.csr_array(X.T)), as_row_view(sp.csr_array(precision))
    diagonal = bound + precision.diagonal()
    evidence = np.ascontiguousarray(likelihood.evidence)

    def step(weights: Floats) -> Floats:
        weights = np.array(weights, dtype=np.float64)
        scores = np.zeros(evidence.shape)
        scores[:, :-1] = X @ weights.T
        exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
        for c in range(prior.n_vectors):
            _sweep(columns, rows, diagonal, evidence, likelihood.row_weight, c, weights[c], exponentials)
        return weights

    return step


STEPS = {"block": block_step, "sequential": sequential_step}
"""The steps by the name of the solver."""


@compiled
def _sweep(columns, precision, diagonal, evidence, row_weight, c, weights, exponentials):
    """Update the weights of class c; `exponentials` are exp(s_ik) up to a factor per row, and are updated too."""
    sums, candidate_sums = np.zeros(len(evidence)), np.zeros(len(evidence))
    for i in range(len(evidence)):
        sums[i], candidate_sums[i] = _row_sums(exponentials, evidence, i)
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
            if after < 0.5 * before:  # new sums, as the differences would lose digits
                sums[i], candidate_sums[i] = _row_sums(exponentials, evidence, i)
            else:
                sums[i] += after - before
                if evidence[i, c]:
                    candidate_sums[i] += evidence[i, c] * (after - before)


@compiled
def _row_sums(exponentials, evidence, i):
    """Return the sums of the exponentials of row i over all classes, and over its candidates with their weights."""
    total, inside = 0.0, 0.0
    for k in range(exponentials.shape[1]):
        total += exponentials[i, k]
        if evidence[i, k]:
            inside += evidence[i, k] * exponentials[i, k]
    return total, inside
