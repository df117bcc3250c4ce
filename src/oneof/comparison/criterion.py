"""Expected accuracy: the criterion of `compare`, from held-out predictions and candidate sets alone.

The expected accuracy of a method is the mean posterior probability of its held-out predictions,

    score_m = mean_i q_i(prediction of method m for row i),   q_ik  ~  w_ik ((1 - c_k) / c_k)^w_ik sum_m v_m p_mik,

in the mixture of all methods for which the held-out sets are most likely. The label of row i is k with probability
sum_m v_m p_mik (a linear opinion pool), and each other class j is in the set with probability c_j. So a candidate has a
low weight if it is often a distractor: a method that predicts frequent distractors covers many sets, and has a low
score.

* c_j = sum_i (1 - q_ij) w_ij / sum_i (1 - q_ij), and v by EM, are updated in turn.
* The probabilities of each method are raised to the power for which the sets are most likely, since a softmax of
  margins is nearly uniform.

q is 0 outside the sets, so the score of sets is at most the covering rate of the rows of all folds, and equal to their
accuracy if all rows are exact.
"""

from collections.abc import Sequence

import numpy as np

from oneof.likelihoods import constant_rows, normalize_within_sets
from oneof.solvers.opinion_pool import pool_weights
from oneof.typing import Evidence, Floats, Ints

N_ROUNDS = 4
"""Number of updates of the powers, the weights of the methods and the rates of distractors."""
POWERS = 2.0 ** np.arange(-2.0, 5.5, 0.5)
"""Powers of the probabilities in the calibration."""
UNIFORM_WEIGHT = 0.03
"""Weight of a uniform distribution, with which calibrated probabilities are mixed so that no likelihood is 0."""
MIN_PROBABILITY = 1e-6
"""Lower bound of probabilities, relative to the largest of their row, before the calibration."""
PRIOR_ROWS = 4.0
"""Weight of the mean rate of distractors in the rate of each class, in rows."""


def expected_accuracies(evidence: Evidence, probabilities: Sequence[Floats], predictions: Sequence[Ints]) -> Floats:
    """Return the expected accuracy of each method over the informative rows; NaN without any.

    Parameters
    ----------
    evidence : ndarray of shape (n, K)
        Candidate sets as a mask, or weights.
    probabilities : sequence of ndarray of shape (n, K)
        Held-out class probabilities of each method, up to a factor per row.
    predictions : sequence of ndarray of int of shape (n,)
        Columns of the predictions of each method; -1 for a label that is not a class.
    """
    used = ~constant_rows(evidence)
    if not used.any():
        return np.full(len(predictions), np.nan)
    probabilities, evidence = [proba[used] for proba in probabilities], evidence[used].astype(np.float64)
    weights = evidence
    for _ in range(N_ROUNDS):
        calibrated = [calibrate(proba, weights) for proba in probabilities]
        pool_of = pool_weights(np.stack([(proba * weights).sum(axis=1) for proba in calibrated], axis=1))
        pool = sum(weight * proba for weight, proba in zip(pool_of, calibrated, strict=True))
        rates = distractor_rates(normalize_within_sets(pool, weights), evidence)
        weights = evidence * ((1.0 - rates) / rates) ** evidence
    posterior, rows = normalize_within_sets(pool, weights), np.arange(len(evidence))
    return np.array([np.where(codes[used] >= 0, posterior[rows, codes[used]], 0.0).mean() for codes in predictions])


def distractor_rates(posterior: Floats, evidence: Floats) -> Floats:
    """Return c, (K,): the rate of each class in the sets of rows with another label."""
    others = 1.0 - posterior
    counts = (others * evidence).sum(axis=0)
    mean = counts.sum() / others.sum()
    return np.clip((counts + PRIOR_ROWS * mean) / (others.sum(axis=0) + PRIOR_ROWS), 1e-3, 1.0 - 1e-3)


def calibrate(proba: Floats, evidence: Evidence) -> Floats:
    """Return the power of the probabilities under which the sets are most likely, mixed with a uniform distribution.

    The result does not depend on the scale of a row; a power of the argument gives nearly the same result.
    """
    proba = np.asarray(proba, dtype=np.float64)
    logs = np.log(np.maximum(proba / np.maximum(proba.max(axis=1, keepdims=True), 1e-300), MIN_PROBABILITY))

    def mixed(power: float) -> Floats:
        scaled = np.exp(power * logs)
        scaled /= scaled.sum(axis=1, keepdims=True)
        return (1.0 - UNIFORM_WEIGHT) * scaled + UNIFORM_WEIGHT / scaled.shape[1]

    return max(map(mixed, POWERS), key=lambda scaled: float(np.log((scaled * evidence).sum(axis=1)).mean()))
