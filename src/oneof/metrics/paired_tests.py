"""Comparison of two methods over several runs: p-values of paired tests, and wins, ties and losses by them."""

import numbers
from typing import Any, NamedTuple

import numpy as np

from oneof.errors import InputError
from oneof.typing import Floats
from oneof.validation import as_float_array


class WinTieLoss(NamedTuple):
    """Number of configurations that one method wins, ties and loses against another.

    Attributes
    ----------
    win, tie, loss : int

    Examples
    --------
    >>> from oneof.metrics import win_tie_loss
    >>> win_tie_loss([[0.9, 0.91, 0.92]], [[0.5, 0.52, 0.51]]).win
    1
    """

    win: int
    tie: int
    loss: int


def win_tie_loss(ours: Any, theirs: Any, *, alpha: float = 0.05, test_train_ratio: float = 0.0) -> WinTieLoss:
    """Count significant differences between two methods by paired t-tests.

    Parameters
    ----------
    ours, theirs : array-like of shape (n_runs,) or (n_configurations, n_runs)
        Scores of at least two runs, paired by position; higher is better.
    alpha : float, default=0.05
        Level of the two-sided test, in (0, 1). A difference that is equal in every run is significant unless it is 0.
    test_train_ratio : float, default=0.0
        Number of test rows divided by number of training rows, at least 0, if the runs share training rows: 1/(k - 1)
        for k folds. The variance of the mean is then multiplied by 1 + `test_train_ratio` times the number of runs
        (Nadeau & Bengio). 0 is the test of independent runs, as papers print it, which finds too many differences
        between folds.

    Returns
    -------
    WinTieLoss
        The tuple (win, tie, loss), which sums to n_configurations.

    Raises
    ------
    InputError
        If the runs cannot be paired, a score is not finite, `alpha` is not between 0 and 1, or `test_train_ratio` is
        below 0.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> from oneof.metrics import win_tie_loss
    >>> win_tie_loss([[0.9, 0.91, 0.92], [0.7, 0.6, 0.8]], [[0.5, 0.52, 0.51], [0.8, 0.6, 0.7]])
    WinTieLoss(win=1, tie=1, loss=0)
    >>> folds = [0.71, 0.74, 0.70, 0.75, 0.72], [0.68, 0.72, 0.69, 0.70, 0.71]
    >>> win_tie_loss(*folds), win_tie_loss(*folds, test_train_ratio=1 / 4)
    (WinTieLoss(win=1, tie=0, loss=0), WinTieLoss(win=0, tie=1, loss=0))
    """
    if not isinstance(alpha, numbers.Real) or not 0 < alpha < 1:
        raise InputError(f"`alpha` must be a level between 0 and 1; got {alpha!r}.")
    p, sign = _test_pairs(ours, theirs, test_train_ratio)
    significant = (p < alpha) & (sign != 0)
    win, loss = int((significant & (sign > 0)).sum()), int((significant & (sign < 0)).sum())
    return WinTieLoss(win, len(sign) - win - loss, loss)


def paired_p_values(ours: Any, theirs: Any, *, test_train_ratio: float = 0.0) -> Floats:
    """Return the p-values of the two-sided paired t-tests of `win_tie_loss`, for a correction such as Holm's.

    Parameters
    ----------
    ours, theirs, test_train_ratio
        See `win_tie_loss`.

    Returns
    -------
    ndarray of shape (n_configurations,)
        A difference that is equal in every run has the p-value 0, and 1 if it is 0.

    Raises
    ------
    InputError
        If the runs cannot be paired, a score is not finite, or `test_train_ratio` is below 0.

    References
    ----------
    Nadeau & Bengio (2003), Inference for the generalization error, Machine Learning 52.

    Examples
    --------
    >>> from oneof.metrics import paired_p_values
    >>> folds = [0.71, 0.74, 0.70, 0.75, 0.72], [0.68, 0.72, 0.69, 0.70, 0.71]
    >>> paired_p_values(*folds).round(3), paired_p_values(*folds, test_train_ratio=1 / 4).round(3)
    (array([0.033]), array([0.099]))
    """
    return _test_pairs(ours, theirs, test_train_ratio)[0]


def _test_pairs(ours: Any, theirs: Any, test_train_ratio: Any) -> tuple[Floats, Floats]:
    """Return the p-value and the sign of the mean difference of each configuration."""
    a, b = np.atleast_2d(as_float_array(ours, "ours")), np.atleast_2d(as_float_array(theirs, "theirs"))
    if a.shape != b.shape or a.ndim != 2 or a.shape[1] < 2:
        raise InputError(
            f"`ours` and `theirs` must have the same shape, with at least two runs; got shapes {a.shape} and {b.shape}."
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise InputError("scores must be finite; got NaN or infinity. Drop the configurations in which a run failed.")
    ratio = as_float_array(test_train_ratio, "test_train_ratio")
    if ratio.ndim or not (ratio >= 0 and np.isfinite(ratio)):
        raise InputError(f"`test_train_ratio` must be a finite number of at least 0; got {test_train_ratio!r}.")
    # The statistic is scale invariant; in this unit, differences and squares of scores of any size do not overflow.
    unit = np.maximum(np.abs(a), np.abs(b)).max(axis=1, keepdims=True)
    a, b = (scores / np.where(unit > 0, unit, 1.0) for scores in (a, b))
    difference = a - b
    mean = difference.mean(axis=1)
    # Constant differences have a range near 0 because of rounding errors, for which the statistic is meaningless.
    constant = np.ptp(difference, axis=1) <= 1e-12
    from scipy import stats  # the import takes half a second, and no other metric needs it

    p = np.zeros(len(mean))
    if not constant.all():
        statistic = stats.ttest_rel(a[~constant], b[~constant], axis=1).statistic
        n_runs = a.shape[1]
        p[~constant] = 2.0 * stats.t.sf(np.abs(statistic) / np.sqrt(1.0 + float(ratio) * n_runs), n_runs - 1)
    sign = np.where(np.abs(mean) > 1e-12, np.sign(mean), 0.0)
    return np.where(sign == 0, np.where(constant, 1.0, p), p), sign
