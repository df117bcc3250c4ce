"""Markov random walks that take the label of their start node (Szummer & Jaakkola 2002).

A walk takes t steps of P = D^-1 (W + w I), with D the row sums of W + w I. Every node is equally likely as the start,
so that a walk that ends at x started at i with probability P_0|t(i | x) = [P^t]_ix / sum_j [P^t]_jx. Each start node
has a distribution theta_i over the classes, from which the walk takes its label. Then

    p(k | x) = sum_i theta_ik P_0|t(i | x),

and theta maximizes sum_x log sum_k w_xk p(k | x) over the labeled rows x, which is concave in theta. The evidence w_xk
is 1 in the set S_x and 0 outside, or the weight of a candidate. On exact labels this is the published likelihood; full
sets add log 1 = 0.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import constant_rows, normalize_within_sets, weigh
from oneof.solvers.diffusion import DiffusionResult
from oneof.solvers.linear import Operator
from oneof.typing import Evidence, Floats, Ints, Mask

MAX_COLUMN_BYTES = 256 * 2**20
"""Maximum memory for the labeled columns of P^t; above it, every pass computes the walks again."""
SPARSE_COST = 2
"""Minimum time for an entry of a sparse product, relative to an entry of a dense one."""
EXPECTED_PASSES = 100
"""Expected number of products with the labeled columns in EM: two in each of about fifty iterations."""
BLOCK_COLUMNS = 64
"""Columns that are computed together."""
MIN_AMBIGUITY = 1e-3
"""Second largest weight of a row at which the row is restricted to its evidence in the same way as a partial row."""


@dataclass(frozen=True)
class MarkovWalkSolution(DiffusionResult):
    """Result of `solve_markov_walk`: p(k | x), in rows with several candidates multiplied by the evidence.

    Unreachable rows are those that no walk to or from a label reaches.
    """

    start_posteriors: Floats
    """(n, K): theta; uniform for nodes from which no walk reaches a labeled row."""
    log_likelihood: Floats
    """(n_iter + 1,): of the labeled rows, before and after each iteration of EM; it never decreases."""


class _WalkOperator:
    """The operator P^t on blocks of columns, never formed as a matrix."""

    def __init__(self, affinity: sp.csr_array, n_steps: int, self_weight: float) -> None:
        n = affinity.shape[0]
        degree = np.asarray(affinity.sum(axis=1)) + self_weight
        transitions = sp.csr_array(affinity + self_weight * sp.eye_array(n))
        transitions.data *= np.repeat(1.0 / degree, np.diff(transitions.indptr))
        self._transitions, self._n_steps, self._degree = transitions, n_steps, degree[:, None]
        self._arrivals = self._transposed_power(np.ones((n, 1)))

    def _power(self, block: Floats) -> Floats:
        """Return P^t R."""
        for _ in range(self._n_steps):
            block = self._transitions @ block
        return block

    def _transposed_power(self, block: Floats) -> Floats:
        """Return (P^t)^T R, by detailed balance: D P^t D^-1 R."""
        return self._degree * self._power(block / self._degree)

    def backward(self, block: Floats) -> Floats:
        """Return sum_i R_ik P_0|t(i | x) for all x, (n, K)."""
        return self._transposed_power(block) / self._arrivals

    def forward(self, block: Floats) -> Floats:
        """Return sum_x P_0|t(i | x) R_xk for all i, (n, K)."""
        return self._power(block / self._arrivals)

    def columns(self, labeled: Ints, *, dense: bool) -> tuple[Operator, Operator]:
        """Return `backward` for the labeled rows only, and `forward` from them, by an array of columns if `dense`."""
        if dense:
            blocks = [labeled[first : first + BLOCK_COLUMNS] for first in range(0, len(labeled), BLOCK_COLUMNS)]
            columns = np.hstack([self._scatter(rows, np.eye(len(rows))) for rows in blocks])
            return (lambda theta: columns.T @ theta), (lambda weights: columns @ weights)
        return (lambda theta: self.backward(theta)[labeled]), (lambda weights: self._scatter(labeled, weights))

    def _scatter(self, rows: Ints, weights: Floats) -> Floats:
        block = np.zeros((len(self._degree), weights.shape[1]))
        block[rows] = weights
        return self.forward(block)


def _dense_is_faster(n: int, n_labeled: int, n_classes: int, walk_cost: int) -> bool:
    """Return whether to store the labeled columns, if P^t times a vector takes `walk_cost` multiplications.

    Computing them takes as many walks as there are columns, and a matrix-free pass takes as many as there are classes.
    With stored columns, a pass reads n n_labeled numbers for each class. More than half of all columns are never
    stored, so that no array has n x n entries.
    """
    cheap_to_form = n_labeled <= EXPECTED_PASSES * n_classes
    cheap_to_use = n * n_labeled <= SPARSE_COST * walk_cost
    return cheap_to_form and cheap_to_use and 2 * n_labeled <= n and 8 * n * n_labeled <= MAX_COLUMN_BYTES


def _reachable(operator: _WalkOperator, labeled: Ints, n: int) -> Mask:
    """Flag the rows that a walk can reach from a node from which a walk can also reach a labeled row, (n,)."""
    ends = np.zeros((n, 1))
    ends[labeled] = 1.0
    starts = (operator.forward(ends) > 0).astype(np.float64)
    return operator.backward(starts)[:, 0] > 0


def restriction_weights(evidence: Evidence) -> Floats:
    """Return the factors of the final distributions: the evidence, or 1 in exact rows, which are not restricted.

    If the second largest weight of a row is below `MIN_AMBIGUITY`, the factors interpolate, so that they are continuous
    as the weights of all classes but one go to 0.
    """
    share = np.minimum(np.sort(evidence, axis=1)[:, -2:-1] / MIN_AMBIGUITY, 1.0)
    return (1.0 - share) + share * evidence


def solve_markov_walk(
    affinity: sp.csr_array,
    evidence: Evidence,
    *,
    n_steps: int = 8,
    self_weight: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> MarkovWalkSolution:
    """Return the class posteriors of end nodes, from the label distributions of start nodes fitted by EM.

    Parameters
    ----------
    affinity : csr_array of shape (n, n)
        W: symmetric, at least 0, with a diagonal of 0.
    evidence : ndarray of shape (n, K), bool or float64
        Candidate sets, or weights of the candidates.
    n_steps : int
        t, at least 1.
    self_weight : float
        w, above 0: the weight of staying at a node. It is 1 in the paper, the Gaussian weight at distance 0.
    tol : float
        EM stops when an iteration increases the mean log likelihood of the labeled rows by no more than this.
    max_iter : int

    Returns
    -------
    MarkovWalkSolution

    References
    ----------
    Szummer & Jaakkola (2002), Partially labeled classification with Markov random walks, NIPS: equations 1 to 5.
    """
    n, n_classes = evidence.shape
    labeled = np.flatnonzero(~constant_rows(evidence))
    operator = _WalkOperator(affinity, n_steps, self_weight)
    n_transitions = affinity.nnz + n  # including the one from each row to itself
    dense = _dense_is_faster(n, len(labeled), n_classes, n_steps * n_transitions)
    backward, forward = operator.columns(labeled, dense=dense)
    labels = evidence[labeled]
    theta = np.full((n, n_classes), 1.0 / n_classes)
    likelihoods: list[float] = []
    n_iter, converged = 0, False
    while True:
        inside = weigh(backward(theta), labels).sum(axis=1)
        likelihoods.append(float(np.log(inside).sum()))
        increase = likelihoods[-1] - likelihoods[-2] if n_iter else np.inf
        converged = increase <= tol * len(labeled)
        if converged or n_iter >= max_iter:
            break
        # E: the walk to x started at i, in class k, with probability w_xk theta_ik P_0|t(i | x) / inside_x.
        # M: theta_ik is the fraction of class k in all walks that started at i.
        expected = theta * forward(labels / inside[:, None])
        total = expected.sum(axis=1, keepdims=True)
        theta = np.where(total > 0, expected / np.where(total > 0, total, 1.0), theta)
        n_iter += 1
    proba = operator.backward(theta)
    proba /= proba.sum(axis=1, keepdims=True)
    return MarkovWalkSolution(
        normalize_within_sets(proba, restriction_weights(evidence)),
        n_iter,
        converged,
        np.flatnonzero(constant_rows(evidence) & ~_reachable(operator, labeled, n)),
        theta,
        np.array(likelihoods),
    )
