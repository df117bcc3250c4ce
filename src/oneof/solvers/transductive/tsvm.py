"""Transductive support vector machines: label switching with annealed costs (Joachims 1999, Algorithm TSVM).

Over w, b and the signs y*_j of the unlabeled rows, num_+ of which are 1, the objective to minimize is

    1/2 ||w||^2 + C sum_i xi_i + C* sum_j xi*_j,

the first sum over labeled rows, the second over unlabeled ones. Every labeling has its own minimum, so that the result
depends on the path. The costs C*_- and C*_+ of negative and positive unlabeled rows are at first so low that only
labels matter, and increase step by step. In each step, SVMs are solved and signs are switched until no pair is
switchable.

A positive row m and a negative row l with scores f_m < f_l should switch their signs, unless one of them has no loss.
In losses this is the condition of Joachims (1999): xi_m > 0, xi_l > 0, xi_m + xi_l > 2, for xi_m = 1 - f_m and
xi_l = 1 + f_l, so that xi_m + xi_l - 2 = f_l - f_m. With fixed weights, the switch changes the losses to
max(0, 2 - xi_m) < xi_l at the cost of a negative row, and to max(0, 2 - xi_l) < xi_m at that of a positive row. So
it decreases the objective for any two costs. Pairs without a common row decrease it independently.

Scores are accurate only to the tolerance of the SVM. A pair is switchable if each of the three conditions holds by
more than a margin, which is this tolerance; rows of equal scores are therefore never switched.

Problems of more than two classes are solved one class against the others.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from oneof.errors import InputError
from oneof.likelihoods import add_log_weights, constant_rows, is_mask, support, uniform_within_sets
from oneof.solvers.feature_spaces import Space, kernel_matvec
from oneof.solvers.small_weights import without_small_weights
from oneof.solvers.transductive.weighted_svm import SVMProblem, SVMSolution, solve_weighted_svm
from oneof.typing import Evidence, Floats, Ints

INITIAL_COST = 1e-5
"""C*_- in the first step, relative to C*."""
COST_GROWTH = 1.5
"""Growth factor of the costs in each step: that of the author's program; the paper has 2."""
_LIMITS = ("max_epochs", "max_iter")


@dataclass(frozen=True)
class BinaryLabels:
    """Labels of one class against the others."""

    signs: Floats
    """(n,): 1 for rows of the class, -1 for rows of others, 0 for the unlabeled."""
    n_positive: int
    """num_+, from 0 to the number of unlabeled rows."""
    ranking: Floats | None = None
    """(n,): coefficients of the rows in the scores sum_i ranking_i k(x_i, x) by which the unlabeled rows are first
    ranked; None for the scores of the SVM of the labeled rows."""


def binary_labels(evidence: Evidence, k: int, positive_fraction: float | None = None) -> BinaryLabels:
    """Return the labels of class k against the others: S = {k} is positive, S without k negative, all else unlabeled.

    The fraction p of positive rows among the unlabeled is by default the mean of q_i = 1[k in S_i] / |S_i|, or of
    q_i = w_ik / sum_j w_ij in rows with weights, over the rows whose weights are not all equal;
    num_+ = floor(p * unlabeled + 1/2).

    If no row is positive, or none negative, an SVM of the labeled rows cannot rank the others. The unlabeled rows are
    then ranked by the scores <mu_1 - mu_0, Phi(x)>. Here mu_1 is the mean of the same rows weighted by q_i, and mu_0
    the mean weighted by 1 - q_i; a mean with total weight 0 is omitted.

    Parameters
    ----------
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Not all rows are unlabeled.
    k : int
    positive_fraction : float, optional
        p, from 0 to 1.

    Returns
    -------
    BinaryLabels
    """
    labeled, mask = ~constant_rows(evidence), support(evidence)
    positive, negative = mask[:, k] & (mask.sum(axis=1) == 1), ~mask[:, k]
    signs = positive.astype(np.float64) - negative
    proba = np.where(labeled, uniform_within_sets(evidence)[:, k], 0.0)
    p = float(proba[labeled].mean()) if positive_fraction is None else positive_fraction
    n_unlabeled = int((signs == 0).sum())
    n_positive = min(int(np.floor(p * n_unlabeled + 0.5)), n_unlabeled)
    if positive.any() and negative.any():
        return BinaryLabels(signs, n_positive)
    ranking = _normalize(proba) - _normalize(np.where(labeled, 1.0 - proba, 0.0))
    return BinaryLabels(signs, n_positive, ranking)


def _normalize(weights: Floats) -> Floats:
    total = weights.sum()
    return weights / total if total > 0 else weights


@dataclass(frozen=True)
class SwitchingOptions:
    """How costs grow and signs are switched."""

    label_switching: Literal["multiple", "single"] = "multiple"
    """Between two SVMs, switch the signs of all pairs that `switchable_pairs` returns, or of the first."""
    cost_ratio: Literal["balanced", "paper"] = "balanced"
    """Initial C*_+ / C*_-. "balanced" is (1 - p) / p with p = num_+ / number of unlabeled rows, so that positive and
    negative rows have the same total cost; "paper" is p / (1 - p)."""
    growth: float = COST_GROWTH
    """Growth factor of the costs, above 1."""
    tol: float = 1e-3
    """Above 0: tolerance of the scores of the last SVM, and margin of its switchable pairs. Before the last step both
    are sqrt(tol)."""
    max_iter: int = 10_000
    """Maximum number of SVMs of all rows."""


@dataclass(frozen=True)
class TransductiveSolution:
    """Result of `solve_transductive`."""

    svm: SVMSolution
    signs: Floats
    """(n,): y, and y* for the unlabeled rows."""
    objective_path: Floats
    """Objective after each SVM, from the hinge losses at its costs."""
    cost_path: Floats
    """(len(objective_path), 2): C*_- and C*_+ of each SVM."""
    limit: Literal["max_epochs", "max_iter"] | None
    """Limit that prevented convergence: "max_epochs" if an SVM was not solved to its tolerance, including that of the
    labeled rows; "max_iter" for the number of SVMs. None if converged."""

    @property
    def n_iter(self) -> int:
        """Number of SVMs of all rows, without that of the labeled rows."""
        return len(self.objective_path)

    @property
    def converged(self) -> bool:
        """Whether every SVM was solved to its tolerance, and no switchable pair is left."""
        return self.limit is None


def solve_transductive(
    problem: SVMProblem,
    labels: BinaryLabels,
    *,
    C: float,
    C_unlabeled: float,
    row_weight: Floats | None = None,
    options: SwitchingOptions | None = None,
    rng: np.random.Generator,
) -> TransductiveSolution:
    """Find signs of the unlabeled rows without switchable pairs, and the SVM of these signs.

    Parameters
    ----------
    problem : SVMProblem
    labels : BinaryLabels
    C, C_unlabeled : float
        Costs C and C*, above 0; C is multiplied by `row_weight`, (n,).
    options : SwitchingOptions, optional
    rng : Generator
        Random generator for the order of the rows.

    Returns
    -------
    TransductiveSolution
        Its objective never increases while the costs are constant.
    """
    options = SwitchingOptions() if options is None else options
    unlabeled, tol = np.flatnonzero(labels.signs == 0), options.tol
    costs = np.where(labels.signs == 0, 0.0, C if row_weight is None else C * row_weight)
    loose_tol = max(tol, float(np.sqrt(tol))) if len(unlabeled) else tol
    # 1. The SVM of the labeled rows, and the num_+ highest scores of the others.
    signs = np.where(labels.signs == 0, -1.0, labels.signs)
    svm = problem.zero_solution()
    limit: Literal["max_epochs", "max_iter"] | None = None
    if costs.any():
        svm = solve_weighted_svm(problem, signs, costs, initial=svm, tol=loose_tol, rng=rng, allow_increase=True)
        limit = None if svm.converged else "max_epochs"
    ranking = svm.products if labels.ranking is None else kernel_matvec(problem.space, labels.ranking)
    highest = unlabeled[np.argsort(-ranking[unlabeled], kind="stable")[: labels.n_positive]]
    signs[highest] = 1.0
    trace: list[tuple[float, float, float]] = []
    last = None
    # 2. For growing costs C*_- and C*_+: solve, and switch pairs until none is left.
    for low, high, step_tol in cost_schedule(labels.n_positive, len(unlabeled), C_unlabeled, options, loose_tol):
        while len(trace) < options.max_iter:
            costs[unlabeled] = np.where(signs[unlabeled] > 0, high, low)
            svm = solve_weighted_svm(
                problem, signs, costs, initial=svm, tol=step_tol, rng=rng, allow_increase=(low, high) != last
            )
            last = low, high
            trace.append((problem.objective(svm, signs, costs), low, high))
            if not svm.converged:
                # Switches from such an SVM need not decrease the objective, and might never end.
                limit = "max_epochs"
                break
            pairs = switchable_pairs(svm.scores, signs, unlabeled, margin=step_tol)
            if not len(pairs[0]):
                break
            if len(trace) < options.max_iter:  # otherwise the signs of the last SVM are returned
                n_pairs = len(pairs[0]) if options.label_switching == "multiple" else 1
                signs[np.concatenate([rows[:n_pairs] for rows in pairs])] *= -1.0
        else:
            limit = limit or "max_iter"
    path = np.array(trace)
    return TransductiveSolution(svm, signs, path[:, 0], path[:, 1:], limit)


def cost_schedule(
    n_positive: int, n_unlabeled: int, target: float, options: SwitchingOptions, loose_tol: float
) -> Iterator[tuple[float, float, float]]:
    """Yield C*_-, C*_+ and the tolerance of each step; the last two have the full costs, the last one has `tol`."""
    n_negative, growth = n_unlabeled - n_positive, options.growth
    if n_unlabeled:
        ratio = 1.0  # if all rows have one sign, there is nothing to balance or to switch
        if n_positive and n_negative:
            ratio = n_negative / n_positive if options.cost_ratio == "balanced" else n_positive / n_negative
        low, high = INITIAL_COST * target, min(INITIAL_COST * target * ratio, target)
        while low < target or high < target:
            yield low, high, loose_tol
            low, high = min(growth * low, target), min(growth * high, target)
        yield target, target, loose_tol
    yield target, target, options.tol


def switchable_pairs(scores: Floats, signs: Floats, unlabeled: Ints, *, margin: float) -> tuple[Ints, Ints]:
    """Return disjoint pairs of a positive and a negative row that should switch their signs, the worst pair first.

    The positive row of the i-th lowest score is paired with the negative row of the i-th highest; ties go to the
    first row. All of these pairs that meet the conditions are returned. If none is returned, no other pair meets them
    either.

    Parameters
    ----------
    scores, signs : ndarray of shape (n,)
    unlabeled : ndarray
        Indices of the rows that may switch.
    margin : float
        At least 0: amount by which xi_m > 0, xi_l > 0 and xi_m + xi_l > 2 must hold.

    Returns
    -------
    positive, negative : ndarray
        Of equal length.

    Examples
    --------
    >>> import numpy as np
    >>> scores, signs = np.array([0.5, -0.5, 0.2, 3.0]), np.array([-1.0, 1.0, 1.0, 1.0])
    >>> switchable_pairs(scores, signs, np.arange(4), margin=0.0)
    (array([1]), array([0]))
    """
    f, is_positive = scores[unlabeled], signs[unlabeled] > 0
    # Rows without a loss are in no pair, and come last in both orders: only the others are sorted.
    positive = np.flatnonzero(is_positive & (1.0 - f > margin))
    negative = np.flatnonzero(~is_positive & (1.0 + f > margin))
    positive = positive[np.argsort(f[positive], kind="stable")]
    negative = negative[np.argsort(-f[negative], kind="stable")]
    n_pairs = min(len(positive), len(negative))
    positive, negative = positive[:n_pairs], negative[:n_pairs]
    # The sum of the losses decreases along the pairs, so that the pairs that meet the condition come first.
    selected = (1.0 - f[positive]) + (1.0 + f[negative]) > 2.0 + margin
    return unlabeled[positive[selected]], unlabeled[negative[selected]]


@dataclass(frozen=True)
class OneVsRestSolution:
    """Result of `solve_one_vs_rest`."""

    coefficients: Floats
    """(n, K): w_k = sum_i coefficients_ik Phi(x_i)."""
    intercepts: Floats
    """(K,)."""
    labels: Ints
    """(n,): a candidate of each row. For two classes the final sign of the row; for more, and in rows with weights, the
    highest score in its set, with the logarithm of the weight added."""
    solutions: tuple[TransductiveSolution, ...]
    """One for each class; for two classes that of the second only."""

    @property
    def n_iter(self) -> int:
        """Largest number of SVMs solved for a class."""
        return max(solution.n_iter for solution in self.solutions)

    @property
    def limit(self) -> Literal["max_epochs", "max_iter"] | None:
        """Limit that prevented convergence of a problem, "max_epochs" first; None if all converged."""
        return min((s.limit for s in self.solutions if s.limit), key=_LIMITS.index, default=None)

    @property
    def converged(self) -> bool:
        """Whether all problems converged."""
        return self.limit is None

    @property
    def objective_path(self) -> Floats:
        """Sum of the objective paths of all problems, each continued with its final value."""
        length = max(len(solution.objective_path) for solution in self.solutions)
        return np.sum(
            [
                np.pad(solution.objective_path, (0, length - len(solution.objective_path)), mode="edge")
                for solution in self.solutions
            ],
            axis=0,
        )


def solve_one_vs_rest(
    problem: SVMProblem,
    evidence: Evidence,
    *,
    C: float | None = None,
    C_unlabeled: float | None = None,
    positive_fractions: Sequence[float] | None = None,
    row_weight: Floats | None = None,
    options: SwitchingOptions | None = None,
    rng: np.random.Generator,
) -> OneVsRestSolution:
    """Call `solve_transductive` for each class against the others, with the labels of the candidate sets.

    For two classes only the second is solved: the problem of the first is the same with its signs changed.

    Parameters
    ----------
    problem : SVMProblem
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes. Not all rows are unlabeled. Weights below 1e-6 count as
        0.
    C, C_unlabeled : float, optional
        The defaults are 1 / mean_i ||Phi(x_i)||^2 over all rows (1 if all are 0), and C.
    positive_fractions : sequence of K floats, optional
        Fraction of each class in the rows that are unlabeled in its problem.
    row_weight, options, rng
        As in `solve_transductive`.

    Returns
    -------
    OneVsRestSolution

    Raises
    ------
    InputError
        If a cost is so large that sums would overflow.
    """
    evidence = without_small_weights(evidence)
    n_classes, labeled, mask = evidence.shape[1], ~constant_rows(evidence), support(evidence)
    costs = dict(zip(("C", "C_unlabeled"), _costs(problem.space, C, C_unlabeled, row_weight)))
    solutions = []
    for k in range(1 if n_classes == 2 else 0, n_classes):
        labels = binary_labels(evidence, k, None if positive_fractions is None else positive_fractions[k])
        if not labels.n_positive and not mask[labeled, k].any():
            solutions.append(_trivial_solution(problem, costs["C_unlabeled"]))
        else:
            solutions.append(
                solve_transductive(problem, labels, **costs, row_weight=row_weight, options=options, rng=rng)
            )
    svms = [solution.svm for solution in solutions]
    coefficients, scores = (np.column_stack(columns) for columns in zip(*((s.coefficients, s.scores) for s in svms)))
    intercepts = np.array([svm.intercept for svm in svms])
    if n_classes == 2:  # the first class has the opposite scores
        coefficients, scores = np.hstack([-coefficients, coefficients]), np.hstack([-scores, scores])
        intercepts = np.append(-intercepts, intercepts)
    best = add_log_weights(scores, evidence).argmax(axis=1)
    if n_classes == 2:  # sets have the final signs
        keeps_sign = np.full(len(best), True) if is_mask(evidence) else ~(mask.all(axis=1) & labeled)
        best = np.where(keeps_sign, solutions[0].signs > 0, best).astype(np.int64)
    return OneVsRestSolution(coefficients, intercepts, best, tuple(solutions))


def fractions_of_problems(evidence: Evidence, prior: Floats) -> Floats:
    """Return the fraction of each class, (K,), among the rows without a sign in its problem against the others.

    They are the unlabeled rows, with the proportions `prior`, and the rows with this and further candidates, in which a
    candidate counts as w_k / sum w.
    """
    unlabeled = constant_rows(evidence)
    n_unlabeled, several = unlabeled.sum(), ~unlabeled & (support(evidence).sum(axis=1) > 1)
    positive = n_unlabeled * prior + uniform_within_sets(evidence[several]).sum(axis=0)
    return positive / np.maximum(n_unlabeled + support(evidence[several]).sum(axis=0), 1)


def _costs(space: Space, C: float | None, C_unlabeled: float | None, row_weight: Floats | None) -> tuple[float, float]:
    """Return C and C*, or raise if sums would overflow."""
    remedy = "Lower it." if C is not None or C_unlabeled is not None else "Scale the features."
    if C is None:
        mean = float(space.squares.mean())
        C = 1.0 / mean if mean > 0 else 1.0
    C_unlabeled = C if C_unlabeled is None else C_unlabeled
    max_cost = float(max(C * (1.0 if row_weight is None else row_weight.max()), C_unlabeled))
    if not (max_cost < 1e150 and max_cost * float(space.squares.max()) < 1e100):
        raise InputError(f"a cost of {max_cost:.4g} is too large for these features. {remedy}")
    return C, C_unlabeled


def _trivial_solution(problem: SVMProblem, cost: float) -> TransductiveSolution:
    """Return w = 0, b = -1 without any loss, for a class without rows; b is -1 even if others have no intercept."""
    svm = replace(problem.zero_solution(), intercept=-1.0, proximal_center=-1.0, violation=0.0, converged=True)
    return TransductiveSolution(svm, -np.ones(problem.space.n_rows), np.zeros(1), np.full((1, 2), cost), None)
