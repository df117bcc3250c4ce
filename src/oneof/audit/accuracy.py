"""Estimated accuracy of held-out predictions, given the labels as they are and the model of wrong labels."""

from typing import Any, NamedTuple

import numpy as np

from oneof.audit.label_issues import class_codes, issues_from_proba, widen
from oneof.candidates import CandidateSets
from oneof.solvers.noise import MIN_PROBABILITY, normalize_rows
from oneof.typing import Labels, Mask


class AccuracyEstimate(NamedTuple):
    """Estimated accuracy, with an interval of 95 %, and the noise rate that it assumes.

    The noise rate is that of the rows without a checked label, of which there are `n_rows - n_checked`; 0 without any.
    """

    accuracy: float
    interval: tuple[float, float]
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    n_rows: int
    n_checked: int = 0


def estimate_accuracy(
    proba: Any,
    predictions: Labels,
    candidates: CandidateSets,
    checked: Mask | None = None,
    named: Mask | None = None,
) -> AccuracyEstimate | None:
    """Estimate the fraction of held-out predictions that are the true label; None without labeled rows.

    The model of noise (`oneof.solvers.noise`) is fitted to the held-out probabilities. The estimate is the mean
    posterior probability of the predictions,

        (1 - r_i) w_ik p_ik / sum_j w_ij p_ij + r_i u_ik,

    with the calibrated probabilities p, the weights w of the labels, the probability r_i that the labels exclude the
    true one, and the probabilities u of the classes in this case. On exact labels without noise it is the accuracy. If
    the sets have no wrong labels, it is too high by about the estimated noise rate. The interval therefore contains
    the estimates at both ends of the interval of the noise rate, and the binomial error of the rows is added to them:
    a prediction outside its labels is wrong, or the labels are.

    Checked rows have no part in the fit of the model of noise, and r_i = 0: with one label, their predictions are
    counted as right or wrong. If all labeled rows are checked, the estimate is the fraction of right predictions.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes)
        Held-out probabilities, in the order of the classes.
    predictions : ndarray of shape (n_samples,)
        Held-out predictions.
    candidates : CandidateSets
        The labels of these rows.
    checked : ndarray of bool, optional
        The rows whose labels are known to be right.
    named : ndarray of bool of shape (n_samples, n_classes), optional
        The classes that rows with weights list; see `find_label_issues`. It changes the noise rate only.
    """
    values, code = np.asarray(proba, dtype=np.float64), class_codes(predictions, candidates)
    rows = np.flatnonzero(~candidates.is_unlabeled)
    n_rows, n_checked = len(rows), 0 if checked is None else int(checked[rows].sum())
    if n_rows == 0:
        return None
    if n_checked == n_rows:
        posterior = normalize_rows(np.maximum(values, MIN_PROBABILITY) * candidates.evidence)
        accuracy = float(np.where(code[rows] >= 0, posterior[rows, code[rows]], 0.0).mean())
        return AccuracyEstimate(accuracy, widen([accuracy], n_rows), 0.0, (0.0, 0.0), n_rows, n_checked)
    issues = issues_from_proba(values, candidates, checked=checked, named=named)
    accuracy, interval = issues._accuracy_of(code, rows)
    return AccuracyEstimate(accuracy, interval, issues.noise_rate, issues.noise_rate_interval, n_rows, n_checked)
