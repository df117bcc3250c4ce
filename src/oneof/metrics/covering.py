"""Metrics that need only candidate sets: how often a prediction is a candidate of its row."""

from typing import Any

import numpy as np

from oneof.candidates import CandidateSets, align, as_classes, expand_to_predicted
from oneof.candidates.encoding import distinct_labels
from oneof.candidates.labels import pack_classes
from oneof.errors import InputError, LabelError
from oneof.messages import warn
from oneof.typing import Evidence, Floats, Ints, Labels, Mask
from oneof.validation import as_array, as_float_array, check_sample_weight


def ambiguous_zero_one_loss(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the fraction of all rows whose prediction is outside the candidate set.

    Unlabeled rows count as covered, since nothing contradicts their prediction. A weighted row counts with 1 minus the
    weight of its prediction.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels. A label that is in no set is never covered, except in an unlabeled row.
    classes : array-like of shape (n_classes,), optional
        All classes. Required if `y` does not have them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; lower is better.

    Raises
    ------
    LabelError
        If every row has weight 0.

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
    return _mean_over(
        1.0 - covered, np.ones(len(covered), dtype=bool), check_sample_weight(sample_weight, len(covered))
    )


def covering_rate(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the fraction of labeled rows whose prediction is in the candidate set.

    Rows whose set contains every class are excluded, since they cover any prediction. A weighted row counts with the
    weight of its prediction, relative to the largest weight of the row. On exact labels the covering rate is the
    accuracy.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels. A label that is in no set is never covered.
    classes : array-like of shape (n_classes,), optional
        All classes. Required if `y` does not have them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; higher is better. It is an upper bound of the accuracy if every set contains the true label, and if
        the weight of every true label is 1.

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
    return _mean_over(covered, ~_is_uninformative(candidates), check_sample_weight(sample_weight, len(covered)))


def exact_accuracy(y: Any, y_pred: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return the accuracy over the exact rows, whose set contains one label.

    Rows with several candidates are excluded, and so are weighted rows.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    y_pred : array-like of shape (n_samples,)
        Predicted labels. A label that is in no set is never correct.
    classes : array-like of shape (n_classes,), optional
        All classes. Required if `y` does not have them: for an indicator whose columns are not 0, 1, ...
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; higher is better.

    Raises
    ------
    LabelError
        If there is no exact row, or all exact rows have weight 0.

    Examples
    --------
    >>> from oneof.metrics import exact_accuracy
    >>> exact_accuracy([["finch", "wren"], ["wren"], ["owl"], None], ["finch", "owl", "owl", "wren"])
    0.5
    """
    covered, candidates = _covered(y, y_pred, classes)
    if not candidates.is_exact.any():
        raise LabelError("`y` must have an exact row; got none. Use the covering rate, which uses every labeled row.")
    return _mean_over(covered, candidates.is_exact, check_sample_weight(sample_weight, len(covered)))


def approximated_accuracy(y: Any, proba: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Return an estimate of the accuracy that uses no true labels.

    A row whose predicted class is in its set counts with the probability of that class, divided by the probability of
    the set. Any other row counts 0:  mean_i 1[argmax_k p_ik in S_i] max_k p_ik / sum_{k in S_i} p_ik, over the labeled
    rows. In a weighted row, every probability is multiplied by the weight of its class: with k the predicted class, the
    row counts w_ik p_ik / sum_j w_ij p_ij, the probability that the prediction is correct if both `proba` and the
    weights are.

    Parameters
    ----------
    y : array-like or CandidateSets of length n_samples
        The candidate sets, in any form that `fit` takes.
    proba : array-like of shape (n_samples, n_classes)
        Class probabilities, or any nonnegative scores, in the order of `classes`.
    classes : array-like of shape (n_classes,), optional
        Classes of the columns of `proba`; by default those of `y`. A label that is only in `y` has probability 0.
    sample_weight : array-like of shape (n_samples,), optional
        At least 0.

    Returns
    -------
    float
        In [0, 1]; higher is better. Without weights it is at most the covering rate.

    Raises
    ------
    InputError
        If the probabilities have another shape, or are negative or not finite; the message names the row.
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
        raise InputError(
            f"`proba` must have shape {expected}, a row for each set and a column for each class; got {proba.shape}."
            + " Pass `classes` if a class has no label." * (classes is None)
        )
    if classes is not None:
        union = pack_classes(list(dict.fromkeys([*classes.tolist(), *candidates.classes.tolist()])))
        candidates = align(candidates, union)
        proba = np.pad(proba, ((0, 0), (0, len(union) - proba.shape[1])))
    if (proba < 0).any() or not np.isfinite(proba).all():
        row = int(np.flatnonzero(((proba < 0) | ~np.isfinite(proba)).any(axis=1))[0])
        raise InputError("`proba` must be nonnegative and finite.", row=row)
    rows = np.arange(len(proba))
    best = proba.argmax(axis=1)
    joint = proba * candidates.evidence  # with the evidence of the row, which is 0 or 1 without weights
    set_proba = joint.sum(axis=1)
    covered = candidates.mask[rows, best] & (set_proba > 0)
    values = np.where(covered, joint[rows, best] / np.where(covered, set_proba, 1.0), 0.0)
    return _mean_over(values, ~_is_uninformative(candidates), check_sample_weight(sample_weight, len(proba)))


def _covered(y: Any, y_pred: Any, classes: Any) -> tuple[Evidence, CandidateSets]:
    """Return a mask of the predictions that their sets cover, or the weights of the predictions, and the sets."""
    predicted = as_array(y_pred, "y_pred")
    labels = predicted.ravel().tolist()
    distinct_labels(labels)  # raises if a value is not a label
    candidates = expand_to_predicted(y, labels, classes)
    if predicted.shape != (len(candidates),):
        raise InputError(
            f"`y_pred` must have shape ({len(candidates)},), one label for each set; got {predicted.shape}."
        )
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in predicted.tolist()], dtype=np.int64)
    if classes is None and not isinstance(y, CandidateSets) and not hasattr(y, "columns"):
        _check_column_numbers(y, predicted, codes)
    covered = np.where(codes >= 0, candidates.evidence[np.arange(len(codes)), codes], 0)
    return np.maximum(covered, _is_uninformative(candidates)), candidates


def _check_column_numbers(y: Any, predicted: Labels, codes: Ints) -> None:
    """Warn if a prediction is not a column of an indicator without names; raise if none is."""
    if getattr(y, "ndim", 1) != 2 or y.shape[1] < 2 or not len(codes) or (codes >= 0).all():
        return
    row = int((codes < 0).argmax())
    problem = (
        f"`y_pred` has {predicted.tolist()[row]!r} in row {row}, but the classes of the indicator `y` are 0 to "
        f"{y.shape[1] - 1}. Pass the names of its columns as `classes`, or correct the prediction."
    )
    if (codes < 0).all():
        raise InputError(problem)
    warn(problem)


def _is_uninformative(candidates: CandidateSets) -> Mask:
    return candidates.is_unlabeled if candidates.shape[1] > 1 else np.zeros(len(candidates), dtype=bool)


def _mean_over(values: Any, informative: Mask, weight: Floats) -> float:
    total = weight[informative].sum()
    if not total > 0:
        raise LabelError("`y` must have a labeled row with weight above 0; every row is unlabeled or has weight 0.")
    return float((values[informative] * weight[informative]).sum() / total)
