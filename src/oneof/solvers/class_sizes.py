"""Class sizes: known or estimated proportions of the classes among the unlabeled rows, and labels that have them.

Scores of few labels tend to give nearly all rows to one class, although their order within a class is good. So each
class k gets a factor w_k, and row i the label argmax_k w_k f_ik. Two rules give the factors:

* Class mass normalization (Zhu, Ghahramani & Lafferty 2003, equation 9) sets w_k = q_k / sum_i f_ik, so that the mass
  of a class is its proportion q_k. It takes no iterations, and does not determine the number of labels.
* A volume constraint (Calder, Cook, Thorpe & Slepčev 2020, algorithm 2) searches the factors for which the number of
  labels of each class is n q_k.

The second one here also accepts an interval for each number, and then changes the factors no more than it must. So the
same function serves known sizes, whose intervals are points, and sizes estimated from a few labels.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from oneof.errors import InputError
from oneof.likelihoods import constant_rows, softmax, support
from oneof.solvers.small_weights import without_small_weights
from oneof.typing import Evidence, Floats, Ints, Mask

ClassPrior = Literal["labels"] | Floats | None
"""Proportions of the classes, (K,), or their estimate from the labels, or none."""

TAIL = 0.317310507862914
"""Probability outside one standard deviation of a normal distribution."""
SIZE_RTOL = 1e-3
"""Accepted deviation of a class size, relative to the number of rows; half a row at least. That of `graphlearning`."""
MAX_STEPS = 1000
"""Maximum number of factors that are set, one at a time."""


@dataclass(frozen=True)
class ClassProportions:
    """Proportions of the classes among the rows to label, and an interval for each."""

    expected: Floats
    """(K,): q, with sum 1."""
    low: Floats
    high: Floats
    """(K,): equal to q if the proportions are known."""


def class_proportions(prior: ClassPrior, label_mass: Floats) -> ClassProportions:
    """Return the proportions of the classes given the mass of each class in the rows with labels.

    With l_k labels of class k, l in all, and a uniform prior, the posterior of the proportions is a Dirichlet
    distribution. Its mean is q_k = (l_k + 1) / (l + K), its variance q_k (1 - q_k) / (l + K + 1). The intervals are one
    standard deviation wide on each side for two classes. With K classes, of which K - 1 proportions are free, they are
    wider (Bonferroni), so that all of them together are as probable.

    Parameters
    ----------
    prior : "labels" or ndarray of shape (K,)
        At least 0, with a positive sum.
    label_mass : ndarray of shape (K,)
        l.

    Returns
    -------
    ClassProportions
    """
    if not isinstance(prior, str) and prior is not None:
        known = prior / prior.sum()
        return ClassProportions(known, known, known)
    n_classes, total = len(label_mass), label_mass.sum()
    expected = (label_mass + 1.0) / (total + n_classes)
    width = -ndtri(TAIL / (2 * max(n_classes - 1, 1))) * np.sqrt(expected * (1 - expected) / (total + n_classes + 1))
    return ClassProportions(expected, np.maximum(expected - width, 0.0), np.minimum(expected + width, 1.0))


def balance_classes(
    distributions: Floats,
    evidence: Evidence,
    unreachable: Ints,
    prior: ClassPrior,
    *,
    class_mass: bool = False,
    tol: float = 1e-6,
) -> Floats:
    """Scale the classes in the unlabeled rows, so that their labels have the sizes of the prior.

    Rows with a label or several candidates, and rows without a path to a label, do not change. The mass of a class in
    the former is the number of its exact rows, plus its probabilities in the rows with several candidates.

    Parameters
    ----------
    distributions : ndarray of shape (n, K)
    evidence : ndarray of shape (n, K)
        Mask of the candidate sets, or weights of the classes.
    unreachable : ndarray of int
        Row indices.
    prior : "labels", ndarray of shape (K,) or None
        None: no volume constraint, and the proportions of the labels for class mass normalization.
    class_mass : bool
        Whether class mass normalization gives the first factors, instead of 1.
    tol : float
        Accuracy of the distributions, above 0. Class mass normalization does not scale up a class with a smaller mean
        probability in the scaled rows: its mass may decay with every sweep.

    Returns
    -------
    ndarray of shape (n, K)
        Rows sum to 1; a class without any mass, or without a label, has probability 0 in the scaled rows.
    """
    evidence = without_small_weights(evidence)
    scaled: Mask = np.asarray(constant_rows(evidence))
    informative = np.flatnonzero(~scaled)
    scaled[unreachable] = False
    own = distributions[scaled]
    if not len(own) or (prior is None and not class_mass):
        return distributions
    exact = support(evidence[informative]).sum(axis=1, keepdims=True) == 1
    label_mass = np.where(exact, evidence[informative], distributions[informative]).sum(axis=0)
    proportions, mass = class_proportions(prior, label_mass), own.sum(axis=0)
    factors = np.ones(len(mass))
    if class_mass:
        min_mean = min(max(tol, np.finfo(np.float64).eps), 0.1 / len(mass))
        has_mass = mass > min_mean * len(own)
        factors = np.divide(proportions.expected, mass, out=np.zeros(len(mass)), where=has_mass)
    with np.errstate(divide="ignore"):
        log_scores = np.where(label_mass > 0, np.log(own) + np.log(factors), -np.inf)
    dead = np.flatnonzero(~np.isfinite(log_scores).any(axis=1))  # only classes without mass
    log_scores[dead] = 0.0
    if prior is not None:
        log_scores += constrain_sizes(log_scores, proportions)
    balanced = distributions.copy()
    balanced[scaled] = softmax(log_scores)
    return balanced


def constrain_sizes(log_scores: Floats, proportions: ClassProportions) -> Floats:
    """Return log w_k for which the number of rows with the label argmax_k log w_k + s_ik is in the interval of k.

    One factor is set at a time, that of the class whose size is farthest from its interval: to the value nearest to 1
    for which it is inside, given the others. Ties between many rows can prevent an exact solution.

    Parameters
    ----------
    log_scores : ndarray of shape (n, K)
        s; -inf for a class that a row cannot have. A class that no row can have has no size.
    proportions : ClassProportions

    Returns
    -------
    ndarray of shape (K,)

    Raises
    ------
    InputError
        If all classes that rows can have have the known size 0.
    """
    n, n_classes = log_scores.shape
    possible = np.isfinite(log_scores).any(axis=0)
    low, high = (np.where(possible, bound, 0.0) for bound in (proportions.low, proportions.high))
    shifts: Floats = np.zeros(n_classes)
    if possible.sum() < 2:
        return shifts
    if not high.sum() > 0:
        raise InputError("`class_prior` must have a size above 0 for a class with a label; got 0 for all of them.")
    if np.array_equal(proportions.low, proportions.high):
        low = high = n * low / low.sum()
    else:
        low, high = n * low / max(low.sum(), 1.0), n * high / min(high.sum(), 1.0)
    for _ in range(MAX_STEPS):
        shifted = log_scores + shifts
        sizes = np.bincount(shifted.argmax(axis=1), minlength=n_classes)
        excess = np.maximum(low - sizes, sizes - high)
        k = int(excess.argmax())
        if excess[k] <= max(0.5, SIZE_RTOL * n):
            break
        shifted[:, k] = -np.inf
        with np.errstate(invalid="ignore"):
            needed = shifted.max(axis=1) - log_scores[:, k]  # a row has the label k if its shift is above this
        needed[np.isnan(needed)] = np.inf
        shift = _nearest_shift(needed, float(low[k]), float(high[k]))
        if shift == shifts[k]:
            break
        shifts[k] = shift
    return shifts


def _nearest_shift(needed: Floats, low: float, high: float) -> float:
    """Return the value nearest to 0 that exceeds between low and high of the numbers, up to rounding."""
    current = int((needed < 0).sum())
    size = min(max(current, round(low)), max(round(high), round(low)))
    size = min(max(size, int((needed == -np.inf).sum())), int((needed < np.inf).sum()))
    if size == current:
        return 0.0
    ordered = np.concatenate([[-np.inf], np.sort(needed), [np.inf]])
    below, above = ordered[size], ordered[size + 1]
    if not np.isfinite(below):
        return float(above - 1.0)
    return float(0.5 * (below + above) if np.isfinite(above) else below + 1.0)
