"""Candidate sets generated from true labels, for experiments in which the truth is known.

`make_partial_labels` draws the rows that become partial, and one function of `oneof.datasets.distractors` for each kind
draws their distractors.
"""

import math
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.candidates.labels import label_vector
from oneof.datasets import distractors as draw
from oneof.errors import InputError, LabelError
from oneof.messages import warn
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import as_float_array, check_choice, check_fraction, check_positive, is_integer

_DISTRACTORS = ("uniform", "independent", "confusable", "cooccurring", "dictionary", "rules")
_APPLIES = {
    "n_distractors": ("uniform", "confusable", "cooccurring", "dictionary", "rules"),
    "set_size": ("uniform", "confusable"),
    "epsilon": ("confusable",),
    "confusion": ("confusable",),
    "rate": ("independent",),
    "groups": ("cooccurring",),
}
"""The kinds of distractors that each parameter applies to."""
_EPSILON, _RATE = 0.5, 0.5


def make_partial_labels(
    y: Any,
    *,
    fraction: float = 1.0,
    n_distractors: int = 1,
    set_size: int | None = None,
    distractors: str = "uniform",
    epsilon: float | None = None,
    rate: Any = None,
    confusion: Any = None,
    groups: Any = None,
    noise_rate: float = 0.0,
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
        has all classes, so that the row is unlabeled: with two classes, this is the default.
    set_size : int, optional
        The size of the sets, ``n_distractors + 1``, as an alternative to `n_distractors`.
    distractors : {"uniform", "independent", "confusable", "cooccurring", "dictionary", "rules"}, default="uniform"
        The origin of the distractors:

        * "uniform": any other labels, all equally likely, without replacement.
        * "independent": each other label independently, with probability `rate`. A row may stay exact, or have all
          classes, which is uninformative.
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
    epsilon : float in [0, 1], optional
        For "confusable" without `confusion`, .5 by default: the probability that the partner is in the set of a partial
        row, which papers call that of a co-occurring label. With one distractor, 1 / (n_classes - 1) equals "uniform".
        With 1 the partner is always in the set, so that no method can distinguish the two, and the expected accuracy of
        `compare` is too high.
    rate : float in [0, 1], or array-like of shape (n_samples, n_classes), optional
        For "independent", .5 by default: the probability of each other label, for all labels or for each row and class.
        With the probabilities P of a classifier, ``P / (P with 0 for the true class).max(axis=1, keepdims=True)``,
        clipped to 1, makes distractors that depend on the instance. The entries of the true classes are ignored.
    confusion : array-like of shape (n_classes, n_classes), optional
        For "confusable": weights of at least 0. The distractors of a row of class k are drawn one after the other
        without replacement, in proportion to row k. The diagonal is ignored.
    groups : array-like of shape (n_samples,), optional
        For "cooccurring": the scene of each row. `n_distractors` is then ignored, and a scene with all classes makes
        uninformative sets.
    noise_rate : float in [0, 1], default=0.0
        The fraction of the labeled rows, exact or partial, whose sets lack the true label: ``round(noise_rate *
        n_labeled)`` rows, drawn at random. In these sets another label, uniform over those outside the set, replaces
        the true one. With one seed, a smaller rate selects a subset of these rows, and the other sets do not change.
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
        The true label is in every set, unless there is noise.

    Raises
    ------
    LabelError
        If `y` cannot be read, or has no label.
    InputError
        If a parameter is out of range or does not apply to this kind of distractors.

    Warns
    -----
    UserWarning
        If most of the rows with a true label have all classes as candidates.

    References
    ----------
    Cour, Sapp & Taskar (2011), Learning from partial labels, JMLR 12: the controls p (`fraction`), r (`n_distractors`)
    and epsilon.
    Lv et al. (2020), Progressive identification of true labels for partial-label learning, ICML: one `rate`.
    Feng et al. (2020), Provably consistent partial-label learning, NeurIPS: a `rate` of .5, all sets equally likely.
    Xu et al. (2021), Instance-dependent partial label learning, NeurIPS: a `rate` for each row and class.
    Liu & Dietterich (2012), A conditional multinomial mixture model for superset label learning, NIPS: co-occurrence.

    Examples
    --------
    >>> from oneof.datasets import make_partial_labels
    >>> y = make_partial_labels(["finch", "wren", "robin", "wren"], n_distractors=1, random_state=0)
    >>> y.sizes
    array([2, 2, 2, 2])
    >>> make_partial_labels(["finch", "wren", "robin", None], fraction=0.0)
    <CandidateSets of 4 rows, 3 classes: 3 exact, 0 partial, 1 unlabeled>
    >>> make_partial_labels(["finch", "wren"], fraction=0.0, noise_rate=1.0, random_state=0).to_strings()
    ['wren', 'finch']
    """
    exact = _as_exact(y, classes)
    labeled, n_classes = np.flatnonzero(exact.is_exact), exact.shape[1]
    codes = np.where(exact.is_exact, np.argmax(exact.mask, axis=1), -1)
    options = {"set_size": set_size, "epsilon": epsilon, "confusion": confusion, "rate": rate, "groups": groups}
    count = _count_distractors(distractors, n_distractors, n_classes, options)
    epsilon = _EPSILON if epsilon is None else epsilon
    for name, value in {"fraction": fraction, "epsilon": epsilon, "noise_rate": noise_rate}.items():
        check_fraction(name, value)
    _check_weights(weights, strength, temperature, noise_rate)
    rng = as_generator(random_state)
    # The rows are the start of a permutation, so that a smaller fraction with the same seed selects a subset of them.
    rows = rng.permutation(labeled)[: round(fraction * len(labeled))]
    truth, mask = codes[rows], exact.mask.copy()
    if count == 0 and distractors not in ("independent", "cooccurring"):
        marked = np.zeros((len(rows), n_classes), dtype=bool)
    elif distractors == "uniform":
        marked = draw.uniform(truth[:, None], n_classes, count, rng)
    elif distractors == "independent":
        marked = draw.independent(_read_rates(_RATE if rate is None else rate, exact.shape, rows), rng)
    elif distractors == "dictionary":
        marked = draw.dictionary(truth, n_classes, count, rng)
    elif distractors == "rules":
        marked = draw.rules(truth, n_classes, count, rng)
    elif distractors == "cooccurring":
        members, scene = rows, np.zeros(len(codes), dtype=np.int64)
        scene[rows] = np.arange(len(rows)) // (count + 1)  # in random order; the last scene may be smaller
        if groups is not None:
            members, scene = labeled, _read_scenes(groups, len(codes))
        marked = draw.cooccurring(rows, members, scene, codes, n_classes)
    elif confusion is None:
        marked = draw.confusable(truth, n_classes, count, epsilon, rng)
    else:
        marked = draw.weighted(truth, _read_confusion(confusion, exact.classes, truth, count), count, rng)
    mask[rows] |= marked
    _replace_true_labels(mask, labeled, codes, noise_rate, rng)
    if weights is None:
        _warn_of_full_sets(mask[labeled])
        return CandidateSets(mask, exact.classes)
    return CandidateSets.from_weights(draw.weights(mask, rows, codes, strength, temperature, rng), exact.classes)


def _replace_true_labels(mask: Mask, labeled: Ints, codes: Ints, noise_rate: float, rng: np.random.Generator) -> None:
    """Replace the true label of a fraction of the sets by one outside the set; a set of all classes loses it only."""
    for row in rng.permutation(labeled)[: round(noise_rate * len(labeled))]:
        others = np.flatnonzero(~mask[row])
        replacement = rng.random()  # one number for each row, so that a larger rate does not change a smaller one
        mask[row, codes[row]] = False
        if len(others):
            mask[row, others[int(replacement * len(others))]] = True


def _warn_of_full_sets(mask: Mask) -> None:
    """Warn if most of the rows with a true label have all classes as candidates."""
    n_full, n_classes = int(mask.all(axis=1).sum()), mask.shape[1]
    if n_classes > 1 and 2 * n_full > len(mask):
        warn(
            f"{n_full:,} of {len(mask):,} rows have all {n_classes:,} classes as candidates, and are therefore "
            "unlabeled. Reduce the number of distractors or `fraction` if more rows should have information."
        )


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


# -- validation --------------------------------------------------------------------------------------------------------


def _as_exact(y: Any, classes: Any) -> CandidateSets:
    if isinstance(y, CandidateSets):
        exact = as_candidates(y, classes=None if classes is None else as_classes(classes))
        for row in np.flatnonzero(~(exact.is_exact | exact.is_unlabeled))[:1]:
            raise InputError(f"`y` must have exact labels; row {row} has {exact.sizes[row]} candidates already.")
        return exact
    return CandidateSets.from_labels(y, classes=classes)


def _count_distractors(distractors: str, n_distractors: int, n_classes: int, options: dict[str, Any]) -> int:
    """Return the number of distractors, 0 if it is not a parameter; raise if an option does not apply to their kind."""
    check_choice("distractors", distractors, _DISTRACTORS)
    given = {name for name, value in options.items() if value is not None}
    if not is_integer(n_distractors) or n_distractors != 1:  # the default is accepted everywhere
        given.add("n_distractors")
    for name, kinds in _APPLIES.items():
        if name in given and distractors not in kinds:
            raise InputError(
                f"`{name}` applies only to distractors={' or '.join(map(repr, kinds))}; got {distractors!r}."
            )
    if {"epsilon", "confusion"} <= given:
        raise InputError("`epsilon` does not apply to distractors with `confusion`: pass only one of them.")
    if "groups" in given or distractors == "independent":
        return 0
    if {"set_size", "n_distractors"} <= given:
        raise InputError("`set_size` is `n_distractors` + 1: pass only one of them.")
    name, value, low = "n_distractors", n_distractors, 0
    if "set_size" in given:
        name, value, low = "set_size", options["set_size"], 1
    if not is_integer(value) or not low <= value < n_classes + low:
        raise InputError(
            f"`{name}` must be an integer from {low} to {n_classes + low - 1}, with {n_classes} classes; got {value!r}."
        )
    return int(value) - low


def _check_weights(weights: str | None, strength: float, temperature: float, noise_rate: float) -> None:
    check_choice("weights", weights, (None, "graded"))
    check_positive("strength", strength)
    check_positive("temperature", temperature)
    if weights is None and (strength, temperature) != (1.0, 1.0):
        raise InputError('`strength` and `temperature` require weights="graded"; got weights=None.')
    if noise_rate and weights is not None:
        raise InputError("`noise_rate` does not apply to graded weights: pass only one of `noise_rate` and `weights`.")


def _read_confusion(confusion: Any, classes: Labels, codes: Ints, count: int) -> Floats:
    n_classes = len(classes)
    weights = as_float_array(confusion, "confusion")
    if weights.shape != (n_classes, n_classes):
        raise InputError(f"`confusion` must be of shape ({n_classes}, {n_classes}); got shape {weights.shape}.")
    for i, j in np.argwhere(~np.isfinite(weights) | (weights < 0))[:1]:
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


def _read_rates(rate: Any, shape: tuple[int, int], rows: Ints) -> Floats:
    """Return the probabilities of the classes in some rows, (m, n_classes)."""
    rates = as_float_array(rate, "rate")
    if rates.shape not in ((), shape):
        raise InputError(f"`rate` must be a number or of shape {shape}; got shape {rates.shape}.")
    for cell in np.argwhere(~((rates >= 0) & (rates <= 1)))[:1]:
        place = " in row {}, column {}".format(*cell) if rates.ndim else ""
        raise InputError(f"`rate` must be from 0 to 1; got {rates[tuple(cell)]}{place}.")
    return rates[rows] if rates.ndim else np.broadcast_to(rates, (len(rows), shape[1]))


def _read_scenes(groups: Any, n_samples: int) -> Ints:
    try:
        values = label_vector(groups)
        _, scene = np.unique(values, return_inverse=True)
    except (LabelError, TypeError):
        raise InputError("`groups` must be a vector of scenes, of one type and without missing values.") from None
    if len(values) != n_samples:
        raise InputError(f"`groups` must have the scene of each of the {n_samples} rows; got {len(values)} values.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"`groups` has no scene for row {int(np.flatnonzero(np.isnan(values))[0])}.")
    return scene.astype(np.int64)
