"""Estimated accuracy of held-out predictions, given the labels as they are and the model of wrong labels."""

import math
from typing import Any, NamedTuple

import numpy as np

from oneof.audit.detection import MIN_PROBABILITY, issues_from_scores
from oneof.candidates import CandidateSets
from oneof.typing import Floats, Labels

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
    true one, and the probabilities u of the classes in this case. On exact labels without noise it is the accuracy. The
    interval has the binomial error of the rows, and the error of the noise rate: a prediction outside its labels is
    wrong, or the labels are.

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
    rows = issues.ranking
    wrong = issues.probability[rows, None]
    posterior = (1 - wrong) * _within(issues.proba[rows], candidates[rows]) + wrong * issues.outside[rows]
    column = {label: k for k, label in enumerate(candidates.classes.tolist())}
    codes = np.array([column.get(label, -1) for label in predictions[rows].tolist()])
    is_right = np.where(codes >= 0, posterior[np.arange(len(rows)), codes], 0.0)
    accuracy = float(is_right.mean())
    low, high = issues.noise_rate_interval
    sampling = Z * math.sqrt(max(accuracy * (1 - accuracy), 1 / len(rows)) / len(rows))
    return AccuracyEstimate(
        accuracy,
        (
            max(accuracy - math.hypot(sampling, issues.noise_rate - low), 0.0),
            min(accuracy + math.hypot(sampling, high - issues.noise_rate), 1.0),
        ),
        issues.noise_rate,
        issues.noise_rate_interval,
        len(rows),
    )


def _within(proba: Floats, candidates: CandidateSets) -> Floats:
    """Return probabilities within the labels of each row, in proportion to their weights; rows sum to 1."""
    weighted = np.maximum(proba, MIN_PROBABILITY) * candidates.evidence
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))
