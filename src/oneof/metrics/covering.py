"""How often a prediction lies in the candidate set: all that can be told where the true labels are not known."""

from typing import Any

import numpy as np

from oneof.candidates import CandidateSets, align, as_classes, expand_to_predicted
from oneof.candidates.labels import distinct_labels, pack_classes
from oneof.errors import InputError, LabelError
from oneof.typing import Floats, Mask
from oneof.validation import as_array, as_float_array, check_sample_weight


def ambiguous_zero_one_loss(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the share of all rows whose prediction lies outside the candidate set.

    Unlabeled rows count as covered: nothing contradicts their prediction.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels; one that no set names is never covered, except in an unlabeled row.
    classes : array-like of shape (n_classes,), optional
        All classes. Needed where `y` does not carry them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float
        In [0, 1]; lower is better.

    References
    ----------
    Cour, Sapp & Taskar (2011), Learning from partial labels, JMLR 12: the ambiguous 0/1 loss.

    Examples
    --------
    >>> from oneof.metrics import ambiguous_zero_one_loss
    >>> ambiguous_zero_one_loss([["finch", "wren"], ["wren"], ["owl"], None], ["finch", "owl", "owl", "wren"])
    0.25
    """
    covered, _ = _covered(y, y_pred, classes)
    return _mean_over(~covered, np.ones(len(covered), dtype=bool), check_sample_weight(sample_weight, len(covered)))


def covering_rate(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the share of labeled rows whose prediction lies in the candidate set.

    Rows whose set holds every class are left out, since any prediction covers them. On exact labels it is the accuracy.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels; one that no set names is never covered.
    classes : array-like of shape (n_classes,), optional
        All classes. Needed where `y` does not carry them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; higher is better. It bounds the accuracy from above if every set holds its row's true label.

    Raises
    ------
    LabelError
        If every row is unlabeled or has weight 0.

    Examples
    --------
    >>> from oneof.metrics import covering_rate
    >>> round(covering_rate([["finch", "wren"], ["wren"], ["owl"], None], ["finch", "owl", "owl", "wren"]), 3)
    0.667
    """
    covered, candidates = _covered(y, y_pred, classes)
    return _mean_over(covered, ~_says_nothing(candidates), check_sample_weight(sample_weight, len(covered)))


def exact_accuracy(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the accuracy over the rows whose set holds one label.

    Rows with several candidates are left out.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels; one that no set names is never covered.
    classes : array-like of shape (n_classes,), optional
        All classes. Needed where `y` does not carry them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; higher is better.

    Raises
    ------
    LabelError
        If no row is exactly labeled, or all that are have weight 0.

    Examples
    --------
    >>> from oneof.metrics import exact_accuracy
    >>> exact_accuracy([["finch", "wren"], ["wren"], ["owl"], None], ["finch", "owl", "owl", "wren"])
    0.5
    """
    covered, candidates = _covered(y, y_pred, classes)
    if not candidates.is_exact.any():
        raise LabelError("no row of y is exactly labeled: use the covering rate, which takes every labeled row.")
    return _mean_over(covered, candidates.is_exact, check_sample_weight(sample_weight, len(covered)))


def approximated_accuracy(y: Any, proba: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return an estimate of the accuracy that uses no true label.

    A row whose predicted class lies in its set counts with that class's share of the probability of the set, any other
    row with 0:  mean_i 1[argmax_k p_ik in S_i] max_k p_ik / sum_{k in S_i} p_ik, over the labeled rows.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities, or any scores that are not negative, in the order of `classes`.
    classes : array-like of shape (n_classes,), optional
        What the columns of `proba` mean; by default the classes of `y`. A label that only `y` names has probability 0.
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    float
        In [0, 1]; higher is better. Never above the covering rate.

    Raises
    ------
    InputError
        If the probabilities have another shape, are negative or not finite; the message names the row.
    LabelError
        If every row is unlabeled or has weight 0.

    References
    ----------
    Wang et al. (2025), Realistic evaluation of deep partial-label learning algorithms, ICLR.

    Examples
    --------
    >>> from oneof.metrics import approximated_accuracy
    >>> proba = [[0.5, 0.25, 0.25], [0.6, 0.1, 0.3]]
    >>> round(approximated_accuracy([["finch", "owl"], ["wren"]], proba, classes=["finch", "owl", "wren"]), 3)
    0.333
    """
    proba = as_float_array(proba, "proba")
    classes = None if classes is None else as_classes(classes)
    candidates = expand_to_predicted(y, [], classes)
    expected = (len(candidates), candidates.shape[1] if classes is None else len(classes))
    if proba.shape != expected:
        raise InputError(f"proba has shape {proba.shape}, expected {expected}: a row a set, a column a class.")
    if classes is not None:
        union = pack_classes(list(dict.fromkeys([*classes.tolist(), *candidates.classes.tolist()])))
        candidates = align(candidates, union)
        proba = np.pad(proba, ((0, 0), (0, len(union) - proba.shape[1])))
    if (proba < 0).any() or not np.isfinite(proba).all():
        row = int(np.flatnonzero(((proba < 0) | ~np.isfinite(proba)).any(axis=1))[0])
        raise InputError(f"proba is negative or not finite in row {row}: pass probabilities.")
    rows = np.arange(len(proba))
    best = proba.argmax(axis=1)
    inside = np.where(candidates.mask, proba, 0.0).sum(axis=1)
    hit = candidates.mask[rows, best] & (inside > 0)
    shares = np.where(hit, proba[rows, best] / np.where(hit, inside, 1.0), 0.0)
    return _mean_over(shares, ~_says_nothing(candidates), check_sample_weight(sample_weight, len(proba)))


def _covered(y: Any, y_pred: Any, classes: Any) -> tuple[Mask, CandidateSets]:
    """Return which predictions their sets cover, and the sets."""
    predicted = as_array(y_pred, "y_pred")
    listed = predicted.ravel().tolist()
    distinct_labels(listed, range(len(listed)))  # raises for what is no label
    candidates = expand_to_predicted(y, listed, classes)
    if predicted.shape != (len(candidates),):
        raise InputError(f"y_pred has shape {predicted.shape}, expected ({len(candidates)},): one label for each set.")
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in predicted.tolist()], dtype=np.int64)
    covered = candidates.mask[np.arange(len(codes)), codes] & (codes >= 0)
    return covered | _says_nothing(candidates), candidates


def _says_nothing(candidates: CandidateSets) -> Mask:
    return candidates.is_unlabeled if candidates.shape[1] > 1 else np.zeros(len(candidates), dtype=bool)


def _mean_over(values: Any, told: Mask, weight: Floats) -> float:
    total = weight[told].sum()
    if not total > 0:
        raise LabelError("every row of y is unlabeled or has weight 0: there is nothing to judge the predictions by.")
    return float((values[told] * weight[told]).sum() / total)
