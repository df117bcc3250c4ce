"""Estimated accuracy of held-out predictions, given the labels as they are and the model of wrong labels."""

from typing import Any, NamedTuple

import numpy as np

from oneof.audit.inference import MIN_PROBABILITY, issues_from_scores
from oneof.audit.label_issues import LabelIssues, binomial_error
from oneof.candidates import CandidateSets
from oneof.typing import Floats, Ints, Labels, Mask


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
    """Estimate the fraction of held-out predictions that are the true label; None if the noise rate is unknown.

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
    values = np.asarray(proba, dtype=np.float64)
    scores = np.log(np.maximum(values, MIN_PROBABILITY))
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in predictions.tolist()])
    rows = np.flatnonzero(~candidates.is_unlabeled)
    n_rows, n_checked = len(rows), 0 if checked is None else int(checked[rows].sum())
    if n_rows == 0:
        return None
    if n_checked == n_rows:
        posterior = _within(values[rows], candidates[rows])
        accuracy, rate, rate_interval = _mean_probability(posterior, codes[rows]), 0.0, (0.0, 0.0)
        ends = [accuracy]
    else:
        issues = issues_from_scores(scores, candidates, checked=checked, named=named, warn=False)
        if issues.is_rate_unknown and checked is not None and 2 * n_checked >= n_rows:
            known = rows[checked[rows]]  # most rows are checked: their accuracy is known
            return estimate_accuracy(values[known], predictions[known], candidates[known], checked=checked[known])
        if issues.is_rate_unknown:
            return None
        rate, rate_interval = issues.noise_rate, issues.noise_rate_interval
        at_ends = [
            issues_from_scores(scores, candidates, end, checked=checked, warn=False) for end in issues.share_interval
        ]
        accuracy, *ends = (_mean_probability(_posterior(one, rows), codes[rows]) for one in (issues, *at_ends))
    sampling = binomial_error(accuracy, n_rows)
    interval = max(min(accuracy, *ends) - sampling, 0.0), min(max(accuracy, *ends) + sampling, 1.0)
    return AccuracyEstimate(accuracy, interval, rate, rate_interval, n_rows, n_checked)


def _posterior(issues: LabelIssues, rows: Ints) -> Floats:
    """Return the posterior probabilities of the classes for some rows; checked ones have no probability of an error."""
    wrong = issues.share[rows, None]
    within = _within(issues.proba[rows], issues.candidates[rows])
    return np.asarray((1 - wrong) * within + wrong * issues.outside[rows])


def _mean_probability(posterior: Floats, codes: Ints) -> float:
    """Return the mean posterior probability of the predictions, of which -1 is not a class."""
    return float(np.where(codes >= 0, posterior[np.arange(len(codes)), codes], 0.0).mean())


def _within(proba: Floats, candidates: CandidateSets) -> Floats:
    """Return probabilities within the labels of each row, in proportion to their weights; rows sum to 1."""
    weighted = np.maximum(proba, MIN_PROBABILITY) * candidates.evidence
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))
