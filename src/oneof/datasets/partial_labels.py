"""Candidate sets generated from true labels, for experiments in which the truth is known.

`make_partial_labels` draws the rows that become partial. The `add_*` functions then mark distractors in a mask in which
the true classes are marked.
"""

import math
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.candidates.labels import label_vector
from oneof.candidates.row_weights import MIN_STORED_WEIGHT
from oneof.errors import InputError, LabelError
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_choice, check_fraction, check_positive, is_integer

_DISTRACTORS = ("uniform", "confusable", "cooccurring", "dictionary", "rules")
_BLOCK = 2**22
"""Maximum count of random numbers drawn at once if a row needs one for each class."""


def make_partial_labels(
    y: Any,
    *,
    fraction: float = 1.0,
    n_distractors: int = 1,
    set_size: int | None = None,
    distractors: str = "uniform",
    epsilon: float = 0.5,
    confusion: Any = None,
    groups: Any = None,
    classes: Any = None,
    weights: str | None = None,
    strength: float = 1.0,
    temperature: float = 1.0,
    random_state: Any = None,
) -> CandidateSets:
    """Add distractors to true labels, and weights if requested.

    Parameters
    ----------
    y : array-like of shape (n_samples,), or CandidateSets
        Exact labels; None, NaN, or -1 among other integers stay unlabeled. Candidate sets must be exact or unlabeled.
    fraction : float in [0, 1], default=1.0
        The fraction of the labeled rows that become partial: ``round(fraction * n_labeled)`` rows, drawn at random.
    n_distractors : int, default=1
        The number of distractors of each of these rows, from 0 to n_classes - 1. It is the maximum for "cooccurring"
        and "dictionary", and the maximum number of labels of a rule for "rules". A set of ``n_classes - 1`` distractors
        has all classes and is uninformative; with fewer it never is.
    set_size : int, optional
        The size of the sets, ``n_distractors + 1``, as an alternative to `n_distractors`.
    distractors : {"uniform", "confusable", "cooccurring", "dictionary", "rules"}, default="uniform"
        The origin of the distractors:

        * "uniform": any other labels, all equally likely, without replacement.
        * "confusable": labels that are easily mistaken for the true label. With `confusion`, drawn with its weights.
          Without it, every class gets one partner at random; the partner is in the set with probability `epsilon`, and
          the other distractors are uniform over the remaining classes.
        * "cooccurring": the labels of other rows of the same scene, such as the names of everyone in a picture. The
          rows are assigned at random to scenes of ``n_distractors + 1`` rows, or `groups` gives the scenes; the set
          consists of the labels in the scene. Common labels are therefore common distractors, and the set is smaller if
          rows of a scene share a label.
        * "dictionary": the labels that an entry allows, such as the parts of speech of a word. Each entry has a main
          label and 1 to `n_distractors` minor ones, and most rows of an entry have its main label. So sets recur,
          and the shares of their labels are very unequal.
        * "rules": the labels for which rules vote, each for 1 to `n_distractors` labels. Rules apply to some rows of
          other classes as well. The sizes of the sets differ.
    epsilon : float in [0, 1], default=0.5
        For "confusable" without `confusion`: the probability that the partner is in the set of a partial row. With one
        distractor, 1 / (n_classes - 1) equals "uniform", and with 1 the partner is always in the set.
    confusion : array-like of shape (n_classes, n_classes), optional
        For "confusable": weights of at least 0. The distractors of a row of class k are drawn one after the other
        without replacement, in proportion to row k. The diagonal is ignored.
    groups : array-like of shape (n_samples,), optional
        For "cooccurring": the scene of each row. `n_distractors` is then ignored, and a scene with all classes makes
        uninformative sets.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.
    weights : {None, "graded"}, default=None
        "graded" gives the candidates of the partial rows weights. Every candidate of a row gets an independent score,
        which is normal with variance 1 and with mean `strength` for the true class and 0 for the others. The weight of
        class k is the likelihood of the scores if k is the true class, exp(strength * score_k) up to a factor. With
        uniform distractors, the weights are thus calibrated: if the true classes have the frequencies pi, the true
        class is k with probability w_k pi_k / sum_j w_j pi_j.
    strength : float, default=1.0
        For graded weights: the difference of the means, above 0. The larger it is, the more often the true class has
        the largest weight.
    temperature : float, default=1.0
        For graded weights: an exponent 1 / `temperature` of the weights, above 0, which makes them wrong by a known
        amount: overconfident below 1, underconfident above 1.
    random_state : int, Generator, RandomState or None
        The same seed gives the same sets, with or without weights.

    Returns
    -------
    CandidateSets
        The true label is in every set.

    Raises
    ------
    LabelError
        If `y` cannot be read, or has no label.
    InputError
        If a parameter is out of range or does not apply to this kind of distractors.

    References
    ----------
    Cour, Sapp & Taskar (2011), Learning from partial labels, JMLR 12: the controls p (`fraction`), r (`n_distractors`)
    and epsilon.
    Liu & Dietterich (2012), A conditional multinomial mixture model for superset label learning, NIPS: co-occurrence.

    Examples
    --------
    >>> from oneof.datasets import make_partial_labels
    >>> y = make_partial_labels(["finch", "wren", "robin", "wren"], n_distractors=1, random_state=0)
    >>> y.sizes
    array([2, 2, 2, 2])
    >>> make_partial_labels(["finch", "wren", "robin", None], fraction=0.0)
    <CandidateSets of 4 rows, 3 classes: 3 exact, 0 partial, 1 unlabeled>
    """
    exact = _as_exact(y, classes)
    labeled, codes = exact.is_exact, np.argmax(exact.mask, axis=1)
    codes[~labeled] = -1
    count = _check(fraction, n_distractors, set_size, distractors, exact.shape[1], confusion=confusion, groups=groups)
    check_fraction("epsilon", epsilon)
    _check_weights(weights, strength, temperature)
    rng = as_generator(random_state)
    # The rows are the start of a permutation, so that a smaller fraction with the same seed selects a subset of them.
    rows = rng.permutation(np.flatnonzero(labeled))[: round(fraction * int(labeled.sum()))]
    mask = exact.mask.copy()
    if distractors == "uniform":
        add_uniform(mask, rows, codes[rows, None], count, rng=rng)
    elif distractors == "cooccurring":
        scene = _random_scenes(rows, len(mask), count + 1) if groups is None else _read_scenes(groups, len(mask))
        add_cooccurring(mask, rows, scene, codes)
    elif distractors == "dictionary":
        add_dictionary(mask, rows, codes[rows], count, rng=rng)
    elif distractors == "rules":
        add_rules(mask, rows, codes[rows], count, rng=rng)
    elif confusion is None:
        add_confusable(mask, rows, codes[rows], count, epsilon, rng=rng)
    else:
        rates = _read_confusion(confusion, exact.classes, codes[rows], count)
        add_weighted(mask, rows, codes[rows], rates, count, rng=rng)
    if weights is None:
        return CandidateSets(mask, exact.classes)
    return CandidateSets.from_weights(draw_weights(mask, rows, codes, strength, temperature, rng=rng), exact.classes)


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a Generator for a seed, a Generator or a RandomState.

    Raises
    ------
    InputError
        If `random_state` is of another type.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"`random_state` must be an integer from 0, a Generator or a RandomState; got {random_state!r}."
        ) from None


# -- kinds of distractors ----------------------------------------------------------------------------------------------


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
    step = max(1, _BLOCK // n_classes)
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
    step = max(1, _BLOCK // n_rules)
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


def _random_scenes(rows: Ints, n_samples: int, scene_size: int) -> Ints:
    """Assign rows, which are in random order, to scenes; the last scene may be smaller."""
    scene = np.full(n_samples, -1, dtype=np.int64)
    scene[rows] = np.arange(len(rows)) // scene_size
    return scene


# -- validation --------------------------------------------------------------------------------------------------------


def _as_exact(y: Any, classes: Any) -> CandidateSets:
    if isinstance(y, CandidateSets):
        exact = as_candidates(y, classes=None if classes is None else as_classes(classes))
        partial = np.flatnonzero(~(exact.is_exact | exact.is_unlabeled))
        if len(partial):
            raise InputError(
                f"`y` must have exact labels; row {partial[0]} has {exact.sizes[partial[0]]} candidates already."
            )
        return exact
    return CandidateSets.from_labels(y, classes=classes)


def _check(
    fraction: float,
    n_distractors: int,
    set_size: int | None,
    distractors: str,
    n_classes: int,
    *,
    confusion: Any,
    groups: Any,
) -> int:
    """Check the parameters and return the number of distractors, 0 if `groups` determines it."""
    check_choice("distractors", distractors, _DISTRACTORS)
    check_fraction("fraction", fraction)
    if confusion is not None and distractors != "confusable":
        raise InputError(f'`confusion` requires distractors="confusable"; got distractors={distractors!r}.')
    if groups is not None and distractors != "cooccurring":
        raise InputError(f'`groups` requires distractors="cooccurring"; got distractors={distractors!r}.')
    if set_size is not None:
        if not is_integer(n_distractors) or n_distractors != 1:
            raise InputError("`set_size` is `n_distractors` + 1: pass only one of them.")
        if distractors not in ("uniform", "confusable"):
            raise InputError(f'`set_size` cannot be guaranteed for distractors="{distractors}": pass `n_distractors`.')
        if not is_integer(set_size) or not 1 <= set_size <= n_classes:
            raise InputError(
                f"`set_size` must be an integer from 1 to {n_classes}, the number of classes; got {set_size!r}."
            )
        return int(set_size) - 1
    if groups is not None:
        return 0
    if not is_integer(n_distractors) or not 0 <= n_distractors < n_classes:
        raise InputError(
            f"`n_distractors` must be an integer from 0 to {n_classes - 1}, with {n_classes} classes; "
            f"got {n_distractors!r}."
        )
    return int(n_distractors)


def _check_weights(weights: str | None, strength: float, temperature: float) -> None:
    check_choice("weights", weights, (None, "graded"))
    check_positive("strength", strength)
    check_positive("temperature", temperature)
    if weights is None and (strength, temperature) != (1.0, 1.0):
        raise InputError('`strength` and `temperature` require weights="graded"; got weights=None.')


def _read_confusion(confusion: Any, classes: Labels, codes: Ints, count: int) -> Floats:
    n_classes = len(classes)
    weights = as_float_array(confusion, "confusion")
    if weights.shape != (n_classes, n_classes):
        raise InputError(f"`confusion` must be of shape ({n_classes}, {n_classes}); got shape {weights.shape}.")
    invalid = np.argwhere(~np.isfinite(weights) | (weights < 0))
    if len(invalid):
        i, j = invalid[0]
        raise InputError(f"`confusion` must be finite and at least 0; got {weights[i, j]} in row {i}, column {j}.")
    np.fill_diagonal(weights, 0.0)
    choices = np.count_nonzero(weights, axis=1)
    for k in np.unique(codes):
        if choices[k] < count:
            raise InputError(
                f"`confusion` must have {count} positive weights or more for each class; "
                f"class {classes.tolist()[k]!r} has only {choices[k]} labels with a positive weight."
            )
    # Scaled rows keep quotients with tiny weights from overflowing.
    return weights / np.maximum(weights.max(axis=1, keepdims=True), math.ulp(0.0))


def _read_scenes(groups: Any, n_samples: int) -> Ints:
    try:
        values = label_vector(groups)
        _, scene = np.unique(values, return_inverse=True)
    except (LabelError, TypeError):
        raise InputError(
            "`groups` must be a vector with the scene of each row, of one type and without missing values."
        ) from None
    if len(values) != n_samples:
        raise InputError(f"`groups` must have the scene of each of the {n_samples} rows; got {len(values)} values.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"`groups` has no scene for row {int(np.flatnonzero(np.isnan(values))[0])}.")
    return scene.astype(np.int64)
