"""Break-even point of precision and recall."""

from typing import Any

import numpy as np

from oneof.errors import InputError
from oneof.typing import Floats, Mask
from oneof.validation import as_array, as_float_array


def precision_recall_breakeven_point(y_true: Any, y_score: Any) -> Any:
    """Return the point of the precision/recall curve at which both are equal.

    With R positives it is the precision among the R highest scores. Positives are assumed to be evenly distributed
    among tied scores, so that the order of the rows does not matter.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        1 (or True) for positives, 0 otherwise.
    y_score : array-like of the same shape
        Higher values are more positive.

    Returns
    -------
    float, or ndarray of shape (n_classes,) for two-dimensional input
        In [0, 1]; NaN for a class without positives.

    Raises
    ------
    InputError
        If the shapes differ, a true label is neither 0 nor 1, or a score is NaN.

    References
    ----------
    Joachims (1999), Transductive inference for text classification using support vector machines, section 5.

    Examples
    --------
    >>> from oneof.metrics import precision_recall_breakeven_point
    >>> precision_recall_breakeven_point([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])
    0.5
    """
    truth, scores = as_array(y_true, "y_true"), as_float_array(y_score, "y_score")
    if truth.shape != scores.shape or truth.ndim not in (1, 2):
        raise InputError(
            f"`y_true` and `y_score` must have the same shape, with one or two dimensions; got shapes {truth.shape} "
            f"and {scores.shape}."
        )
    if truth.dtype.kind not in "biufO" or not np.isin(truth, (0, 1)).all():
        raise InputError("`y_true` must be 1 for positives and 0 otherwise; got other values.")
    if np.isnan(scores).any():
        raise InputError(f"`y_score` must not be NaN; got NaN in row {int(np.argwhere(np.isnan(scores))[0][0])}.")
    truth = truth.astype(bool)
    if truth.ndim == 1:
        return _break_even(truth, scores)
    return np.array([_break_even(truth[:, k], scores[:, k]) for k in range(truth.shape[1])])


def _break_even(truth: Mask, scores: Floats) -> float:
    positives = int(truth.sum())
    if positives == 0:
        return float("nan")
    threshold = np.sort(scores)[-positives]
    above, tied = scores > threshold, scores == threshold
    expected = truth[above].sum() + (positives - above.sum()) * truth[tied].mean()
    return float(expected / positives)
