"""EM for a mixture whose components belong to classes, on candidate sets (Nigam et al. 2000).

Class k has the components m = k C, ..., k C + C - 1. Row i may come from the components A_i of the classes in its set,
and counts with the weight c_i. What rises is

    l(theta) = log p(theta) + sum_i c_i log sum_{m in A_i} pi_m p(x_i | theta_m).

A weight says what a row is worth: c_i = w_i for exact rows, w_i lambda for unlabeled ones, and so on; `row_weights`
has the rule. Each step is

    E:  r_im = pi_m p(x_i | theta_m) / sum_{j in A_i} pi_j p(x_i | theta_j),  0 outside A_i,
    M:  pi_m = sum_i c_i r_im / sum_i c_i,  theta_m the mode of p(theta) prod_i p(x_i | theta_m)^(c_i r_im).
"""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from oneof.errors import InputError
from oneof.likelihoods import uniform_within_sets
from oneof.typing import Floats, Mask

P = TypeVar("P")

IMPOSSIBLE = -1e300
"""Stands for the logarithm of 0, the share of a component without mass: below all others, yet equal to itself."""


class Family(Protocol[P]):
    """What EM must know of the rows of fit: p(x | theta_m), its mode given responsibilities, and the prior."""

    def maximize(self, mass: Floats) -> P:
        """Return the theta that is the mode for rows of mass c_i r_im, (n, M)."""

    def log_likelihoods(self, parameters: P) -> Floats:
        """Return log p(x_i | theta_m), (n, M)."""

    def log_prior(self, parameters: P) -> float:
        """Return log p(theta), but for a constant."""


@dataclass(frozen=True)
class EMSolution(Generic[P]):
    """Where `solve_em` ended."""

    log_weights: Floats
    """log pi, (M,); `IMPOSSIBLE` for a component without mass."""
    parameters: P
    joint: Floats
    """log pi_m p(x_i | theta_m), (n, M), of all rows, those of weight 0 too."""
    objective: Floats
    """l at the start and after each sweep, which does not fall but for rounding."""
    n_iter: int
    """Sweeps."""
    converged: bool


def row_weights(mask: Mask, sample_weight: Floats, unlabeled_weight: float, partial_weight: float) -> Floats:
    """Return c_i: w_i for rows of one candidate, times lambda where the set is full, times lambda_partial else."""
    size = mask.sum(axis=1)
    worth = np.where(size == 1, 1.0, partial_weight)
    worth[size == mask.shape[1]] = unlabeled_weight
    return sample_weight * worth


def start_shares(mask: Mask, n_components: int, random: np.random.Generator | None = None) -> Floats:
    """Return the responsibilities to start from, (n, M): equal over each row's set, 0 for rows of full sets.

    With several components per class, each row's share of a class is dealt to them at random, uniformly over the ways
    to divide it.
    """
    shares = np.where(mask.all(axis=1, keepdims=True), 0.0, uniform_within_sets(mask))
    if n_components == 1:
        return shares
    if random is None:
        raise InputError("several components per class start at random: give a generator.")
    parts = random.dirichlet(np.ones(n_components), size=mask.shape)
    return (shares[:, :, None] * parts).reshape(len(mask), -1)


def expect(joint: Floats, allowed: Mask) -> tuple[Floats, Floats]:
    """Return the responsibilities r, (n, M), and log sum_{m in A_i} pi_m p(x_i | theta_m), (n,), all in logarithms."""
    inside = np.where(allowed, joint, -np.inf)
    top = inside.max(axis=1, keepdims=True)
    shares = np.exp(inside - top)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    return shares, (top + np.log(total))[:, 0]


def class_scores(joint: Floats, n_classes: int) -> Floats:
    """Return log p(x_i, class k), (n, K), from those of the components."""
    if joint.shape[1] == n_classes:
        return joint
    parts = joint.reshape(len(joint), n_classes, -1)
    top = parts.max(axis=2)
    return top + np.log(np.exp(parts - top[:, :, None]).sum(axis=2))


@np.errstate(over="ignore", invalid="ignore")  # overflow is looked for, and said in one sentence
def solve_em(
    family: Family[P], mask: Mask, weight: Floats, start: Floats, *, max_iter: int = 1000, tol: float = 1e-4
) -> EMSolution[P]:
    """Climb to a stationary point of l, which for rows of one candidate each, and C = 1, is the maximum at once.

    Parameters
    ----------
    family : Family
        Holds the n rows.
    mask : ndarray of shape (n, K), bool
    weight : ndarray of shape (n,)
        c, at least 0 and not all 0. Rows of weight 0 are passed over, but have their `joint` in the solution.
    start : ndarray of shape (n, M)
        Responsibilities of the first M-step, M = K C; see `start_shares`. Rows of zeros are not in it.
    max_iter : int
        Sweeps, at most.
    tol : float
        The search ends where sum_i c_i sum_m |change of r_im| <= tol sum_i c_i in a sweep.

    Returns
    -------
    EMSolution

    Raises
    ------
    InputError
        If likelihoods overflow.
    """
    allowed = np.repeat(mask, start.shape[1] // mask.shape[1], axis=1)
    counted = weight > 0
    trace = []

    def maximize(shares: Floats) -> tuple[Floats, P]:
        mass = weight[:, None] * shares
        total = mass.sum(axis=0)
        return log_shares(total), family.maximize(mass)

    def climb(log_weights: Floats, parameters: P) -> tuple[Floats, Floats]:
        joint = family.log_likelihoods(parameters) + log_weights
        shares, evidence = expect(joint, allowed)
        trace.append(float(weight[counted] @ evidence[counted]) + family.log_prior(parameters))
        if not (np.isfinite(trace[-1]) and np.isfinite(joint).all()):
            raise InputError("the likelihood overflows: scale the features.")
        return joint, shares

    log_weights, parameters = maximize(start)
    joint, shares = climb(log_weights, parameters)
    n_iter, converged = 0, False
    if np.array_equal(shares, start):  # a sweep would repeat the first M-step, as where each row has one candidate
        trace.append(trace[-1])
        n_iter, converged = 1, True
    while n_iter < max_iter and not converged:
        log_weights, parameters = maximize(shares)
        before = shares
        joint, shares = climb(log_weights, parameters)
        moved = np.abs(shares - before).sum(axis=1)
        n_iter, converged = n_iter + 1, bool(weight @ moved <= tol * weight.sum())
    return EMSolution(log_weights, parameters, joint, np.array(trace), n_iter, converged)


def log_shares(total: Floats) -> Floats:
    """Return log(N_m / sum_j N_j), `IMPOSSIBLE` where N_m = 0."""
    logs: Any = np.log(np.where(total > 0, total, 1.0)) - np.log(total.sum())
    return np.where(total > 0, logs, IMPOSSIBLE)
