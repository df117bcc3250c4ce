"""Random distractors of rows, each kind as the mask of the distractors of given true classes, and random weights.

Every function draws from `rng` what `truth`, the (m,) true classes of the rows, requires, and returns an (m, n_classes)
mask of at most `count` distractors (1 or more) in each row, in which true classes may be marked as well.
"""

import numpy as np

from oneof.candidates.encoding import MIN_STORED_WEIGHT
from oneof.typing import Floats, Ints, Mask

MAX_DRAWS = 2**22
"""Maximum count of random numbers drawn at once if a row needs one for each class."""


def uniform(excluded: Ints, n_classes: int, count: int, rng: np.random.Generator) -> Mask:
    """Return `count` classes of each row, uniform without replacement among all but the (m, e) distinct excluded ones.

    References
    ----------
    Floyd's algorithm: Bentley & Floyd (1987), A sample of brilliance, Communications of the ACM 30(9).
    """
    excluded = np.sort(excluded, axis=1)
    row, n_choices = np.arange(len(excluded)), n_classes - excluded.shape[1]
    marked = np.zeros((len(excluded), n_classes), dtype=bool)
    for last in range(n_choices - count, n_choices):
        drawn = _skip(rng.integers(0, last + 1, size=len(excluded)), excluded)
        taken = marked[row, drawn]
        drawn[taken] = _skip(np.full(np.count_nonzero(taken), last), excluded[taken])
        marked[row, drawn] = True
    return marked


def independent(rates: Floats, rng: np.random.Generator) -> Mask:
    """Return each class of a row independently with its probability, (m, n_classes).

    References
    ----------
    Lv et al. (2020), Progressive identification of true labels for partial-label learning, ICML.
    """
    marked = np.zeros(rates.shape, dtype=bool)
    for part in _blocks(*rates.shape):
        marked[part] = rng.random(marked[part].shape) < rates[part]
    return marked


def confusable(truth: Ints, n_classes: int, count: int, epsilon: float, rng: np.random.Generator) -> Mask:
    """Return the partner of the class of each row with probability epsilon, and uniform other classes up to `count`.

    Every class gets one partner, drawn uniformly at the start. If `count` includes all other classes, the partner is
    marked for any epsilon.
    """
    marked = np.zeros((len(truth), n_classes), dtype=bool)
    partner = _skip(rng.integers(0, n_classes - 1, size=n_classes), np.arange(n_classes)[:, None])[truth]
    has_partner = (rng.random(len(truth)) < epsilon) | (count == n_classes - 1)
    excluded = np.column_stack([truth, partner])
    for among, others in ((has_partner, count - 1), (~has_partner, count)):
        marked[among] = uniform(excluded[among], n_classes, others, rng)
    marked[has_partner, partner[has_partner]] = True
    return marked


def weighted(truth: Ints, weights: Floats, count: int, rng: np.random.Generator) -> Mask:
    """Return `count` classes of each row, drawn one after the other without replacement in proportion to weights.

    Row k of `weights` has the weights of the distractors of class k: at least `count` positive ones, and 0 at k.
    """
    marked = np.zeros((len(truth), len(weights)), dtype=bool)
    for part in _blocks(*marked.shape):
        weight = weights[truth[part]]
        # Independent exponential times with these rates arrive in the order of successive draws.
        with np.errstate(divide="ignore", invalid="ignore"):
            arrival = rng.exponential(size=weight.shape) / weight
        np.put_along_axis(marked[part], np.argpartition(arrival, count - 1, axis=1)[:, :count], True, axis=1)
    return marked


def cooccurring(rows: Ints, members: Ints, scene: Ints, codes: Ints, n_classes: int) -> Mask:
    """Return for each of `rows` every class that occurs in its scene among `members`, the labeled rows of the scenes.

    `scene` and `codes` are the scenes, from 0, and the true classes of all rows.
    """
    present = np.zeros((scene.max(initial=0) + 1, n_classes), dtype=bool)
    present[scene[members], codes[members]] = True
    return np.asarray(present[scene[rows]])


def dictionary(truth: Ints, n_classes: int, count: int, rng: np.random.Generator) -> Mask:
    """Return the classes of the dictionary entry that each row shows.

    There are six entries for each class. An entry has a main class and 1 to `count` minor ones, which have together
    30 % of its rows; the frequencies of the entries have a Pareto distribution. A class without an entry stays exact.
    """
    marked = np.zeros((len(truth), n_classes), dtype=bool)
    n_entries = 6 * n_classes
    rates = np.zeros((n_entries, n_classes))
    for entry, main in enumerate(rng.integers(n_classes, size=n_entries)):
        minor = rng.choice(np.delete(np.arange(n_classes), main), size=rng.integers(1, count + 1), replace=False)
        rates[entry, minor] = 0.3 * rng.dirichlet(np.ones(len(minor)))
        rates[entry, main] = 0.7
    weights = (rng.pareto(1.2, n_entries) + 0.1)[:, None] * rates
    for k in np.unique(truth):
        if weights[:, k].any():
            of_class = truth == k
            shown = rng.choice(n_entries, size=np.count_nonzero(of_class), p=weights[:, k] / weights[:, k].sum())
            marked[of_class] = rates[shown] > 0
    return marked


def rules(truth: Ints, n_classes: int, count: int, rng: np.random.Generator) -> Mask:
    """Return the classes for which a rule votes in each row.

    There are three rules for each class. A rule votes for 1 to `count` classes; it applies to a fraction of the rows of
    each class, which is larger for its own classes (Beta(2, 3)) than for others (Beta(.3, 6)). A row for which the
    votes would name every class stays exact.
    """
    marked = np.zeros((len(truth), n_classes), dtype=bool)
    votes = np.zeros((3 * n_classes, n_classes), dtype=bool)
    for rule in votes:
        rule[rng.choice(n_classes, size=rng.integers(1, count + 1), replace=False)] = True
    rates = np.where(votes, rng.beta(2.0, 3.0, votes.shape), rng.beta(0.3, 6.0, votes.shape))
    for part in _blocks(len(truth), len(votes)):
        marked[part] = (rng.random((len(truth[part]), len(votes))) < rates[:, truth[part]].T) @ votes
    marked[np.arange(len(truth)), truth] = True
    marked[marked.all(axis=1)] = False
    return marked


def weights(
    mask: Mask, rows: Ints, codes: Ints, strength: float, temperature: float, rng: np.random.Generator
) -> Floats:
    """Return weights of the candidates of `rows`, and of all other rows the 0 and 1 of the mask.

    The score of a candidate is normal with variance 1, and with mean `strength` if it is the true class, else 0. The
    ratio of the likelihoods of all scores for the true classes k and j is exp(strength * (score_k - score_j)), and the
    weights have the exponent 1 / temperature. `codes` are the true classes of all rows of `mask`.
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


def _blocks(n_rows: int, n_draws: int) -> list[slice]:
    """Return blocks of rows that need `n_draws` random numbers each; the numbers do not depend on the blocks."""
    size = max(MAX_DRAWS // n_draws, 1)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _skip(index: Ints, excluded: Ints) -> Ints:
    """Convert indices among the remaining classes to class codes; `excluded` is sorted in each row."""
    for column in excluded.T:
        index = index + (index >= column)
    return index
