"""Random distractors, marked in a mask in which the true classes are marked, and random weights of the candidates."""

import numpy as np

from oneof.candidates.row_weights import MIN_STORED_WEIGHT
from oneof.typing import Floats, Ints, Mask

MAX_DRAWS = 2**22
"""Maximum count of random numbers drawn at once if a row needs one for each class."""


def add_uniform(mask: Mask, rows: Ints, excluded: Ints, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row `count` classes drawn uniformly, without replacement, from those that are not excluded.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows : ndarray of shape (m,)
        Rows in which only excluded classes are marked.
    excluded : ndarray of shape (m, n_excluded)
        Distinct classes in each row.
    count : int
        At most n_classes - n_excluded.
    rng : Generator

    References
    ----------
    Floyd's algorithm: Bentley & Floyd (1987), A sample of brilliance, Communications of the ACM 30(9).
    """
    excluded = np.sort(excluded, axis=1)
    n_choices = mask.shape[1] - excluded.shape[1]
    for last in range(n_choices - count, n_choices):
        drawn = _skip(rng.integers(0, last + 1, size=len(rows)), excluded)
        taken = mask[rows, drawn]
        drawn[taken] = _skip(np.full(np.count_nonzero(taken), last), excluded[taken])
        mask[rows, drawn] = True


def add_independent(mask: Mask, rows: Ints, rates: Floats, *, rng: np.random.Generator) -> None:
    """Mark each class of a row independently with its probability, (n_classes,) or (m, n_classes).

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows : ndarray of shape (m,)
    rates : ndarray of shape (n_classes,) or (m, n_classes)
    rng : Generator

    References
    ----------
    Lv et al. (2020), Progressive identification of true labels for partial-label learning, ICML.
    """
    size = max(MAX_DRAWS // mask.shape[1], 1)
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        mask[part] |= rng.random((len(part), mask.shape[1])) < (
            rates if rates.ndim == 1 else rates[start : start + size]
        )


def add_confusable(
    mask: Mask, rows: Ints, codes: Ints, count: int, epsilon: float, *, rng: np.random.Generator
) -> None:
    """Mark in each row the partner of its class with probability epsilon, and uniform other classes up to `count`.

    Every class gets one partner, drawn uniformly at the start. If `count` includes all other classes, the partner is
    marked for any epsilon.
    """
    n_classes = mask.shape[1]
    if count == 0:
        return
    classes = np.arange(n_classes)
    partner = _skip(rng.integers(0, n_classes - 1, size=n_classes), classes[:, None])
    with_partner = rng.random(len(rows)) < epsilon
    if count == n_classes - 1:
        with_partner[:] = True
    excluded = np.column_stack([codes, partner[codes]])
    mask[rows[with_partner], partner[codes[with_partner]]] = True
    add_uniform(mask, rows[with_partner], excluded[with_partner], count - 1, rng=rng)
    add_uniform(mask, rows[~with_partner], excluded[~with_partner], count, rng=rng)


def add_weighted(mask: Mask, rows: Ints, codes: Ints, weights: Floats, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row `count` classes, drawn one after the other without replacement in proportion to weights.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows, codes : ndarray of shape (m,)
        The rows and their true classes.
    weights : ndarray of shape (n_classes, n_classes)
        Row k has the weights of the distractors of class k: at least `count` positive ones, and 0 at k.
    count : int
    rng : Generator
    """
    if count == 0:
        return
    n_classes = mask.shape[1]
    step = max(1, MAX_DRAWS // n_classes)
    for start in range(0, len(rows), step):
        block, weight = rows[start : start + step], weights[codes[start : start + step]]
        # Independent exponential times with these rates arrive in the order of successive draws.
        with np.errstate(divide="ignore", invalid="ignore"):
            arrival = rng.exponential(size=weight.shape) / weight
        first = np.argpartition(arrival, count - 1, axis=1)[:, :count]
        mask[block[:, None], first] = True


def add_cooccurring(mask: Mask, rows: Ints, scene: Ints, codes: Ints) -> None:
    """Mark in each of `rows` every class that occurs in its scene.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows : ndarray of shape (m,)
    scene : ndarray of shape (n_samples,)
        The scene of each row, from 0; -1 for rows without a scene.
    codes : ndarray of shape (n_samples,)
        The true class of each row, -1 if it is unknown.
    """
    present = np.zeros((scene.max(initial=-1) + 1, mask.shape[1]), dtype=bool)
    counted = (scene >= 0) & (codes >= 0)
    present[scene[counted], codes[counted]] = True
    mask[rows] |= present[scene[rows]]


def add_dictionary(mask: Mask, rows: Ints, codes: Ints, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row the classes of the dictionary entry that the row shows.

    There are six entries for each class. An entry has a main class and 1 to `count` minor ones, which have together
    30 % of its rows; the frequencies of the entries have a Pareto distribution. A class without an entry stays exact.
    """
    if count == 0:
        return
    n_classes = mask.shape[1]
    n_entries = 6 * n_classes
    rates = np.zeros((n_entries, n_classes))
    for entry, main in enumerate(rng.integers(n_classes, size=n_entries)):
        minor = rng.choice(np.delete(np.arange(n_classes), main), size=rng.integers(1, count + 1), replace=False)
        rates[entry, minor] = 0.3 * rng.dirichlet(np.ones(len(minor)))
        rates[entry, main] = 0.7
    weights = (rng.pareto(1.2, n_entries) + 0.1)[:, None] * rates
    for k in np.unique(codes):
        of_class = rows[codes == k]
        if weights[:, k].any():
            shown = rng.choice(n_entries, size=len(of_class), p=weights[:, k] / weights[:, k].sum())
            mask[of_class] |= rates[shown] > 0


def add_rules(mask: Mask, rows: Ints, codes: Ints, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row the classes for which a rule votes.

    There are three rules for each class. A rule votes for 1 to `count` classes; it applies to a fraction of the rows of
    each class, which is larger for its own classes (Beta(2, 3)) than for others (Beta(.3, 6)). A row for which the
    votes would name every class stays exact.
    """
    if count == 0:
        return
    n_classes = mask.shape[1]
    n_rules = 3 * n_classes
    votes = np.zeros((n_rules, n_classes), dtype=bool)
    for rule in range(n_rules):
        votes[rule, rng.choice(n_classes, size=rng.integers(1, count + 1), replace=False)] = True
    rates = np.where(votes, rng.beta(2.0, 3.0, votes.shape), rng.beta(0.3, 6.0, votes.shape))
    step = max(1, MAX_DRAWS // n_rules)
    for start in range(0, len(rows), step):
        block, of_class = rows[start : start + step], codes[start : start + step]
        marked = (rng.random((len(block), n_rules)) < rates[:, of_class].T) @ votes
        marked[np.arange(len(block)), of_class] = True
        partial = ~marked.all(axis=1)
        mask[block[partial]] |= marked[partial]


def draw_weights(
    mask: Mask, rows: Ints, codes: Ints, strength: float, temperature: float, *, rng: np.random.Generator
) -> Floats:
    """Return weights of the candidates of `rows`, and of all other rows the 0 and 1 of the mask.

    The score of a candidate is normal with variance 1, and with mean `strength` if it is the true class, else 0. The
    ratio of the likelihoods of all scores for the true classes k and j is exp(strength * (score_k - score_j)).

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
    rows : ndarray of shape (m,)
    codes : ndarray of shape (n_samples,)
        The true class of each row.
    strength, temperature : float
        The weights have the exponent 1 / temperature.
    rng : Generator
    """
    weights = mask.astype(np.float64)
    position, column = np.nonzero(mask[rows])
    row = rows[position]
    score = np.full(mask.shape, -np.inf)
    score[row, column] = rng.standard_normal(len(row)) + np.where(codes[row] == column, strength, 0.0)
    difference = score[row, column] - score[row].max(axis=1)
    # A finite factor, since infinity times 0 is NaN. An exponent of minus infinity gives the smallest weight.
    with np.errstate(over="ignore"):
        exponent = min(strength / temperature, np.finfo(np.float64).max) * difference
    weights[row, column] = np.maximum(np.exp(exponent), MIN_STORED_WEIGHT)
    return weights


def _skip(index: Ints, excluded: Ints) -> Ints:
    """Convert indices among the remaining classes to class codes; `excluded` is sorted in each row."""
    for column in excluded.T:
        index = index + (index >= column)
    return index
