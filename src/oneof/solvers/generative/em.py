"""EM for a mixture with several components per class, on candidate sets (Nigam et al. 2000).

Class k has the components m = k C, ..., k C + C - 1. Row i has the components A_i of the classes in its set, and the
weight c_i. EM maximizes

    l(theta) = log p(theta) + sum_i c_i log sum_m v_im pi_m p(x_i | theta_m).

The evidence v_im is 1 for the components in A_i and 0 for the others, or the weight of the class in row i. The weights
of the rows are c_i = w_i for exact rows, w_i lambda for unlabeled rows and w_i lambda_partial for all other rows. Each
iteration is

    E:  r_im = v_im pi_m p(x_i | theta_m) / sum_j v_ij pi_j p(x_i | theta_j),
    M:  pi_m = sum_i c_i r_im / sum_i c_i,  theta_m the mode of p(theta) prod_i p(x_i | theta_m)^(c_i r_im).

Cross-validation can select lambda: the labeled and partial rows are divided into folds, and unlabeled rows are in every
training set. The score of a weight is its covering rate on the held-out rows, which needs no true label. The result is
the smallest weight within one standard error of the best (Breiman et al. 1984), sum_i w_i d_i <= sqrt(sum_i w_i d_i^2).
Here d_i is 1 if only the best weight covers row i, -1 if only the smaller weight does, and 0 otherwise; in a row with
weights it is the difference between the weights of the two predictions. So unlabeled
rows are used only if the gain on held-out rows exceeds chance. Labeled rows are few if unlabeled rows are needed, so
that differences of one or two rows are not significant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from oneof.candidates.stratification import stratified_folds
from oneof.errors import InputError
from oneof.likelihoods import constant_rows, is_mask, support, uniform_within_sets
from oneof.typing import Evidence, Floats

P = TypeVar("P")

IMPOSSIBLE = -1e300
"""Represents the logarithm of 0, the weight of a component without mass: finite, and below all other values."""
OVERFLOW = "the likelihood overflows float64. Scale the features, for example with StandardScaler."


class Family(Protocol[P]):
    """Family of distributions p(x | theta_m) over the training rows, its mode given responsibilities, and the prior."""

    def maximize(self, mass: Floats) -> P:
        """Return the posterior mode of theta for rows of mass c_i r_im, (n, M)."""

    def log_likelihoods(self, parameters: P) -> Floats:
        """Return log p(x_i | theta_m), (n, M)."""

    def total_log_likelihood(self, mass: Floats, parameters: P) -> float:
        """Return sum_im mass_im log p(x_i | theta_m) at the parameters that `maximize` returns for this mass."""

    def log_prior(self, parameters: P) -> float:
        """Return log p(theta), up to a constant."""


@dataclass(frozen=True)
class EMSolution(Generic[P]):
    """Result of `solve_em`."""

    log_weights: Floats
    """log pi, (M,); `IMPOSSIBLE` for a component without mass."""
    parameters: P
    joint: Floats | None
    """log pi_m p(x_i | theta_m), (n, M), of all rows, including those of weight 0; None if all rows are exact."""
    objective_path: Floats
    """(n_iter + 1,): l at the start and after each iteration; it never decreases, up to rounding."""
    n_iter: int
    converged: bool


def row_weights(evidence: Evidence, sample_weight: Floats, unlabeled_weight: float, partial_weight: float) -> Floats:
    """Return c_i: w_i for exact rows, times lambda for unlabeled rows, or times lambda_partial for all other rows."""
    factor = np.where(support(evidence).sum(axis=1) == 1, 1.0, partial_weight)
    factor[constant_rows(evidence)] = unlabeled_weight
    return sample_weight * factor


def initial_responsibilities(evidence: Evidence, n_components: int, rng: np.random.Generator | None = None) -> Floats:
    """Return the responsibilities of the start, (n, M): the scaled evidence of each row, 0 for unlabeled rows.

    With several components per class, each row's probability of a class is divided among them at random, uniformly over
    the simplex.
    """
    responsibilities = np.where(constant_rows(evidence)[:, None], 0.0, uniform_within_sets(evidence))
    if n_components == 1:
        return responsibilities
    if rng is None:
        raise InputError("`rng` must be a Generator if there are several components per class; got None.")
    fractions = rng.dirichlet(np.ones(n_components), size=evidence.shape)
    return (responsibilities[:, :, None] * fractions).reshape(len(evidence), -1)


def e_step(joint: Floats, evidence: Evidence) -> tuple[Floats, Floats]:
    """Return the responsibilities r, (n, M), and log sum_m v_im pi_m p(x_i | theta_m), (n,).

    `joint` has the logarithms log pi_m p(x_i | theta_m), and `evidence` the v_im or the mask of A_i, both (n, M).
    """
    inside = np.where(support(evidence), joint, -np.inf)
    top = inside.max(axis=1, keepdims=True)
    responsibilities = np.exp(inside - top)
    if not is_mask(evidence):
        responsibilities *= evidence
    total = responsibilities.sum(axis=1, keepdims=True)
    responsibilities /= total
    return responsibilities, (top + np.log(total))[:, 0]


def class_scores(joint: Floats, n_classes: int) -> Floats:
    """Return log p(x_i, class k), (n, K), from those of the components."""
    if joint.shape[1] == n_classes:
        return joint
    components = joint.reshape(len(joint), n_classes, -1)
    top = components.max(axis=2)
    return top + np.log(np.exp(components - top[:, :, None]).sum(axis=2))


@np.errstate(over="ignore", invalid="ignore")  # overflow is checked, and reported in one message
def solve_em(
    family: Family[P], evidence: Evidence, weight: Floats, start: Floats, *, max_iter: int = 1000, tol: float = 1e-4
) -> EMSolution[P]:
    """Maximize l to a stationary point; with exact rows and C = 1, one iteration reaches the maximum.

    Parameters
    ----------
    family : Family
        The family over the n rows.
    evidence : ndarray of shape (n, K), bool or float64
        Candidate sets, or weights of the candidates.
    weight : ndarray of shape (n,)
        c, at least 0 and not all 0. Rows of weight 0 are ignored, but are included in the `joint` of the solution.
    start : ndarray of shape (n, M)
        Responsibilities of the first M-step, M = K C, from `initial_responsibilities`. Rows of zeros are not used.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Stop if sum_i c_i sum_m |change of r_im| <= tol sum_i c_i in an iteration.

    Returns
    -------
    EMSolution

    Raises
    ------
    InputError
        If likelihoods overflow.
    """
    if start.shape == evidence.shape and np.count_nonzero(evidence) == len(evidence) == np.count_nonzero(start):
        return _solve_exact(family, weight[:, None] * start)
    component_evidence = np.repeat(evidence, start.shape[1] // evidence.shape[1], axis=1)
    used = weight > 0
    trace = []

    def maximize(responsibilities: Floats) -> tuple[Floats, P]:
        mass = weight[:, None] * responsibilities
        total = mass.sum(axis=0)
        return log_proportions(total), family.maximize(mass)

    def expect(log_weights: Floats, parameters: P) -> tuple[Floats, Floats]:
        joint = family.log_likelihoods(parameters) + log_weights
        responsibilities, log_likelihoods = e_step(joint, component_evidence)
        trace.append(float(weight[used] @ log_likelihoods[used]) + family.log_prior(parameters))
        if not (np.isfinite(trace[-1]) and np.isfinite(joint).all()):
            raise InputError(OVERFLOW)
        return joint, responsibilities

    log_weights, parameters = maximize(start)
    joint, responsibilities = expect(log_weights, parameters)
    n_iter, converged = 0, False
    if np.array_equal(responsibilities, start):  # an iteration would repeat the first M-step, as with exact rows
        trace.append(trace[-1])
        n_iter, converged = 1, True
    while n_iter < max_iter and not converged:
        log_weights, parameters = maximize(responsibilities)
        before = responsibilities
        joint, responsibilities = expect(log_weights, parameters)
        change = np.abs(responsibilities - before).sum(axis=1)
        n_iter, converged = n_iter + 1, bool(weight @ change <= tol * weight.sum())
    return EMSolution(log_weights, parameters, joint, np.array(trace), n_iter, converged)


def _solve_exact(family: Family[P], mass: Floats) -> EMSolution[P]:
    """Return the maximum for exact rows: their responsibilities are the labels, of which no density is required."""
    total = mass.sum(axis=0)
    log_weights, parameters = log_proportions(total), family.maximize(mass)
    objective = float(total @ np.where(total > 0, log_weights, 0.0)) + family.log_prior(parameters)
    objective += family.total_log_likelihood(mass, parameters)
    if not np.isfinite(objective):
        raise InputError(OVERFLOW)
    return EMSolution(log_weights, parameters, None, np.full(2, objective), 1, True)


def log_proportions(total: Floats) -> Floats:
    """Return log(N_m / sum_j N_j), or `IMPOSSIBLE` if N_m = 0."""
    logs: Any = np.log(np.where(total > 0, total, 1.0)) - np.log(total.sum())
    return np.where(total > 0, logs, IMPOSSIBLE)


@dataclass(frozen=True)
class WeightSelection:
    """Result of `select_weight`."""

    weight: float
    covering_rates: Floats
    """Held-out covering rate of each weight; NaN if nothing could be held out."""


def select_weight(
    scores: Callable[[float, Floats], Floats],
    evidence: Evidence,
    sample_weight: Floats,
    *,
    weights: Sequence[float],
    n_folds: int,
) -> WeightSelection:
    """Select the weight of unlabeled rows by cross-validation.

    Parameters
    ----------
    scores : callable
        Maps a weight of unlabeled rows and sample weights, (n,), 0 for held-out rows, to (n, K) class scores of all
        rows; NaN, which covers nothing, if the model cannot be fitted.
    evidence : ndarray of shape (n, K), bool or float64
        Candidate sets, or weights of the candidates.
    sample_weight : ndarray of shape (n,)
    weights : sequence of float
        Candidate weights, in ascending order.
    n_folds : int
        Maximum number of folds; with fewer labeled rows, each row is a fold. With one fold the smallest weight is
        returned.

    Returns
    -------
    WeightSelection
    """
    is_unlabeled = constant_rows(evidence)
    labeled = np.flatnonzero(~is_unlabeled & (sample_weight > 0))
    n_folds = min(n_folds, len(labeled))
    if n_folds < 2 or not (is_unlabeled & (sample_weight > 0)).any() or len(weights) < 2:
        return WeightSelection(weights[0], np.full(len(weights), np.nan))
    fold = stratified_folds(evidence[labeled], n_folds)
    covered = np.zeros((len(weights), len(labeled)), dtype=evidence.dtype)
    for f in range(n_folds):
        held_out = labeled[fold == f]
        training = sample_weight.copy()
        training[held_out] = 0.0
        for w, weight in enumerate(weights):
            predicted = scores(weight, training)[held_out]
            covered_weight = evidence[held_out, predicted.argmax(axis=1)]
            covered[w, fold == f] = np.where(np.isfinite(predicted).all(axis=1), covered_weight, 0)
    return one_standard_error_rule(covered, sample_weight[labeled], weights)


def one_standard_error_rule(covered: Evidence, row_weight: Floats, weights: Sequence[float]) -> WeightSelection:
    """Return the smallest weight within one standard error of the best.

    `covered` has the mask of the covered rows for each weight, or the evidence of the predictions, (n_weights, n).
    """
    covering_rates = covered @ row_weight / row_weight.sum()
    difference = covered[covering_rates.argmax()].astype(np.float64) - covered
    gain, error = difference @ row_weight, np.sqrt(difference**2 @ row_weight)
    first = int(np.flatnonzero(gain <= error)[0])
    return WeightSelection(float(weights[first]), covering_rates)
