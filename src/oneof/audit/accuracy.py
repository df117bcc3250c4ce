"""Estimated accuracy of held-out predictions, given the labels as they are and the model of wrong labels."""

import math
from typing import Any, NamedTuple

import numpy as np

from oneof.audit.detection import MIN_PROBABILITY, issues_from_scores
from oneof.audit.label_issues import LabelIssues
from oneof.candidates import CandidateSets
from oneof.typing import Floats, Ints, Labels

Z = 1.96
"""Quantile of intervals of 95 %."""


class AccuracyEstimate(NamedTuple):
    """Estimated accuracy, with an interval of 95 %, and the noise rate that it assumes."""

    accuracy: float
    interval: tuple[float, float]
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    n_rows: int


def estimate_accuracy(proba: Any, predictions: Labels, candidates: CandidateSets) -> AccuracyEstimate | None:
    """Estimate the fraction of held-out predictions that are the true label; None if the noise rate is unknown.

    The model of noise (`oneof.solvers.noise`) is fitted to the held-out probabilities. The estimate is the mean
    posterior probability of the predictions,

        (1 - r_i) w_ik p_ik / sum_j w_ij p_ij + r_i u_ik,

    with the calibrated probabilities p, the weights w of the labels, the probability r_i that the labels exclude the
    true one, and the probabilities u of the classes in this case. On exact labels without noise it is the accuracy. If
    the sets have no wrong labels, it is too high by about the estimated noise rate. The interval therefore contains
    the estimates at both ends of the interval of the noise rate, and the binomial error of the rows is added to them:
    a prediction outside its labels is wrong, or the labels are.

    Parameters
    ----------
    proba : array of shape (n_samples, n_classes)
        Held-out probabilities, in the order of the classes.
    predictions : ndarray of shape (n_samples,)
        Held-out predictions.
    candidates : CandidateSets
        The labels of these rows.
    """
    scores = np.log(np.maximum(np.asarray(proba, dtype=np.float64), MIN_PROBABILITY))
    issues = issues_from_scores(scores, candidates, warn=False)
    if issues.is_rate_unknown:
        return None
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in predictions.tolist()])
    accuracy, n_rows = _mean_accuracy(issues, codes), len(issues.ranking)
    ends = [
        _mean_accuracy(issues_from_scores(scores, candidates, rate, warn=False), codes)
        for rate in issues.noise_rate_interval
    ]
    sampling = Z * math.sqrt(max(accuracy * (1 - accuracy), 1 / n_rows) / n_rows)
    interval = max(min(accuracy, *ends) - sampling, 0.0), min(max(accuracy, *ends) + sampling, 1.0)
    return AccuracyEstimate(accuracy, interval, issues.noise_rate, issues.noise_rate_interval, n_rows)


def _mean_accuracy(issues: LabelIssues, codes: Ints) -> float:
    """Return the mean posterior probability of the predictions, of which -1 is not a class."""
    rows = issues.ranking
    wrong, predicted = issues.probability[rows, None], codes[rows]
    posterior = (1 - wrong) * _within(issues.proba[rows], issues.candidates[rows]) + wrong * issues.outside[rows]
    return float(np.where(predicted >= 0, posterior[np.arange(len(rows)), predicted], 0.0).mean())


def _within(proba: Floats, candidates: CandidateSets) -> Floats:
    """Return probabilities within the labels of each row, in proportion to their weights; rows sum to 1."""
    weighted = np.maximum(proba, MIN_PROBABILITY) * candidates.evidence
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))
