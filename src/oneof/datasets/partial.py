"""Candidate sets around true labels, for experiments in which the truth is known."""

import math
from typing import Any

import numpy as np

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.candidates.labels import label_vector
from oneof.datasets.distractors import add_partners, add_scenes, add_uniform, add_weighted
from oneof.errors import InputError, LabelError
from oneof.typing import Floats, Ints, Labels
from oneof.validation import as_float_array, check_choice, check_fraction, is_integer

_KINDS = ("uniform", "confusable", "cooccurring")


def make_partial_labels(
    y: Any,
    *,
    share: float = 1.0,
    extra: int = 1,
    size: int | None = None,
    kind: str = "uniform",
    epsilon: float = 0.5,
    confusion: Any = None,
    groups: Any = None,
    classes: Any = None,
    random_state: Any = None,
) -> CandidateSets:
    """Hide true labels among false ones.

    Parameters
    ----------
    y : array-like of shape (n_samples,), or CandidateSets
        Exact labels; None, NaN, or -1 among other integers stay unlabeled. Candidate sets have to be exact or
        unlabeled.
    share : float in [0, 1], default=1.0
        The share of labeled rows to make partial: ``round(share * n_labeled)`` rows, drawn at random.
    extra : int, default=1
        How many false labels each of them gets, from 0 to n_classes - 1. With ``n_classes - 1`` a set holds every class
        and says nothing; fewer never do that.
    size : int, optional
        The size of the sets, ``extra + 1``, as another way to say it.
    kind : {"uniform", "confusable", "cooccurring"}, default="uniform"
        Where the false labels come from:

        * "uniform": any other labels, all equally likely, without replacement.
        * "confusable": labels that are easily taken for the true one. With `confusion`, drawn from its weights. Without
          it, every class gets one partner at random; the partner is in the set with probability `epsilon`, and the
          other false labels are uniform over the remaining classes.
        * "cooccurring": the labels of other rows of the same scene, as where a caption names everyone in the picture.
          The rows are dealt at random into scenes of ``extra + 1``, or `groups` gives the scenes; the set is made
          of the labels that are present. So common labels are common distractors, and where rows of a scene share
          a label the set is smaller.
    epsilon : float in [0, 1], default=0.5
        For "confusable" without `confusion`: how often the partner is in the set of a partial row. With one false
        label, 1 / (n_classes - 1) is "uniform", and at 1 the two cannot be told apart.
    confusion : array-like of shape (n_classes, n_classes), optional
        For "confusable": non-negative weights; false labels of a row of class k are drawn one after the other without
        replacement, in proportion to row k. The diagonal is not used.
    groups : array-like of shape (n_samples,), optional
        For "cooccurring": the scene of each row; `extra` is then not used, and a scene that shows every class
        makes sets that say nothing.
    classes : array-like of shape (n_classes,), optional
        The classes; by default the sorted labels that occur.
    random_state : int, Generator, RandomState or None
        The same seed gives the same sets.

    Returns
    -------
    CandidateSets
        The true label is in every set.

    Raises
    ------
    LabelError
        If `y` cannot be read, or names no label.
    InputError
        If a parameter is out of range or does not belong to the kind.

    References
    ----------
    Cour, Sapp & Taskar (2011), Learning from partial labels, JMLR 12: the controls p (share), r (extra) and epsilon.
    Liu & Dietterich (2012), A conditional multinomial mixture model for superset label learning, NIPS: co-occurrence.

    Examples
    --------
    >>> from oneof.datasets import make_partial_labels
    >>> y = make_partial_labels(["finch", "wren", "robin", "wren"], extra=1, random_state=0)
    >>> y.sizes
    array([2, 2, 2, 2])
    >>> make_partial_labels(["finch", "wren", "robin", None], share=0.0)
    <CandidateSets of 4 rows, 3 classes: 3 exact, 0 partial, 1 unlabeled>
    """
    exact = _read(y, classes)
    known, codes = exact.is_exact, np.argmax(exact.mask, axis=1)
    codes[~known] = -1
    count = _check(share, extra, size, kind, exact.shape[1], confusion=confusion, groups=groups)
    check_fraction("epsilon", epsilon)
    rng = _generator(random_state)
    # A permutation, cut: the rows of a smaller share are among those of a larger one under the same seed.
    rows = rng.permutation(np.flatnonzero(known))[: round(share * int(known.sum()))]
    mask = exact.mask.copy()
    if kind == "uniform":
        add_uniform(mask, rows, codes[rows, None], count, rng=rng)
    elif kind == "cooccurring":
        scene = _dealt(rows, len(mask), count + 1) if groups is None else _scenes(groups, len(mask))
        add_scenes(mask, rows, scene, codes)
    elif confusion is None:
        add_partners(mask, rows, codes[rows], count, epsilon, rng=rng)
    else:
        weights = _weights(confusion, exact.classes, codes[rows], count)
        add_weighted(mask, rows, codes[rows], weights, count, rng=rng)
    return CandidateSets(mask, exact.classes)


def _read(y: Any, classes: Any) -> CandidateSets:
    if isinstance(y, CandidateSets):
        exact = as_candidates(y, classes=None if classes is None else as_classes(classes))
        partial = np.flatnonzero(~(exact.is_exact | exact.is_unlabeled))
        if len(partial):
            raise InputError(
                f"row {partial[0]} has {exact.sizes[partial[0]]} candidates already: make_partial_labels needs exact labels."
            )
        return exact
    return CandidateSets.from_labels(y, classes=classes)


def _check(
    share: float, extra: int, size: int | None, kind: str, n_classes: int, *, confusion: Any, groups: Any
) -> int:
    """Return the number of false labels, 0 where `groups` decides it, after refusing what cannot be meant."""
    check_choice("kind", kind, _KINDS)
    check_fraction("share", share)
    if confusion is not None and kind != "confusable":
        raise InputError(f"confusion belongs to kind='confusable', not to kind={kind!r}.")
    if groups is not None and kind != "cooccurring":
        raise InputError(f"groups belongs to kind='cooccurring', not to kind={kind!r}.")
    if size is not None:
        if not is_integer(extra) or extra != 1:
            raise InputError("size and extra say the same thing (size = extra + 1): give one of them.")
        if kind == "cooccurring":
            raise InputError("size cannot be promised for kind='cooccurring': give extra or groups.")
        if not is_integer(size) or not 1 <= size <= n_classes:
            raise InputError(f"size={size!r} is not possible: with {n_classes} classes, a set holds 1 to {n_classes}.")
        return int(size) - 1
    if groups is not None:
        return 0
    if not is_integer(extra) or not 0 <= extra < n_classes:
        raise InputError(
            f"extra={extra!r} is not possible: with {n_classes} classes a set can hold 0 to {n_classes - 1} false ones."
        )
    return int(extra)


def _weights(confusion: Any, classes: Labels, codes: Ints, count: int) -> Floats:
    n_classes = len(classes)
    weights = as_float_array(confusion, "confusion")
    if weights.shape != (n_classes, n_classes):
        raise InputError(f"confusion has shape {weights.shape}, expected ({n_classes}, {n_classes}).")
    wrong = np.argwhere(~np.isfinite(weights) | (weights < 0))
    if len(wrong):
        i, j = wrong[0]
        raise InputError(f"confusion holds {weights[i, j]} in row {i}, column {j}: weights are finite, 0 or more.")
    np.fill_diagonal(weights, 0.0)
    choices = np.count_nonzero(weights, axis=1)
    for k in np.unique(codes):
        if choices[k] < count:
            raise InputError(
                f"confusion gives class {classes.tolist()[k]!r} only {choices[k]} labels with a positive weight, "
                f"too few for {count} false ones."
            )
    # Scaled rows keep quotients with tiny weights from overflowing.
    return weights / np.maximum(weights.max(axis=1, keepdims=True), math.ulp(0.0))


def _dealt(rows: Ints, n_samples: int, scene_size: int) -> Ints:
    """Deal rows, which are in random order, into scenes; the last one takes what is left."""
    scene = np.full(n_samples, -1, dtype=np.int64)
    scene[rows] = np.arange(len(rows)) // scene_size
    return scene


def _scenes(groups: Any, n_samples: int) -> Ints:
    try:
        values = label_vector(groups)
        _, scene = np.unique(values, return_inverse=True)
    except (LabelError, TypeError):
        raise InputError("groups should be a vector with the scene of each row, of one type, without gaps.") from None
    if len(values) != n_samples:
        raise InputError(f"groups names the scene of {len(values)} rows, but y has {n_samples}.")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError(f"groups has no scene for row {int(np.flatnonzero(np.isnan(values))[0])}.")
    return scene.astype(np.int64)


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**32, size=4, dtype=np.uint32))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InputError(
            f"`random_state` must be an integer from 0, a Generator or a RandomState; got {random_state!r}."
        ) from None
