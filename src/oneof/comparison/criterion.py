"""Expected accuracy: the criterion of `compare`, from held-out predictions and candidate sets alone.

The covering rate counts a prediction as correct if it is in the set. A method that predicts common distractors has a
high covering rate and a low accuracy. The expected accuracy replaces the set by a posterior distribution of the label:

    score_m = mean_i q_i(prediction of method m for row i),

    q_ik  ~  w_ik p_ik prod_{j != k} C_kj^w_ij (1 - C_kj)^(1 - w_ij),   rows scaled to sum 1.

* w is 1 inside the sets and 0 outside, so that the product has C_kj if j is in the set and otherwise 1 - C_kj. The
  weights of a weighted row are between the two: as they go to 0 and 1, q goes to that of the set. q is 0 outside the
  support, so that the score of sets is at most the covering rate of the rows of all folds, and equal to their accuracy
  if all rows are exact.
* p is the mean of the held-out probabilities of the `N_LEADERS` methods with the highest scores. The first leaders are
  those with the highest covering rates; leaders, C and q are then updated in `N_ROUNDS` rounds.
* C_kj, the rate of class j as a distractor of class k, is estimated from q in each round.

**Calibration.** Probabilities of different methods are comparable only if they are equally calibrated; a softmax of
margins is nearly uniform. The probabilities of each method are raised to the power, from 1/4 to 32, for which the
held-out sets are most likely: the largest mean_i log sum_k w_ik p_ik.

**Distractors that depend on the features.** The posterior assumes that distractors depend on the label alone. The lists
of a weak classifier violate this assumption: a method that imitates the weak classifier covers almost all lists,
including the wrong ones. The assumption is tested on rows of several candidates whose most probable class f is one of
them; a weighted row counts w_if min(1, sum_k w_ik - 1). Under the assumption, the second most probable class g is in
the set at the rate C_fg. The odds ratio between the observed rate and C_fg is then 1. It is far above 1 if methods
predict distractors. If it is above `MAX_ODDS_RATIO`, scores do not compare accuracies: all methods are tied. Otherwise
a method is tied with the best one if its score is within one standard error of the highest. If all rows are exact, no
methods are tied, since the scores are accuracies.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from oneof.likelihoods import constant_rows, normalize_within_sets
from oneof.typing import Evidence, Floats, Ints, Mask

N_LEADERS = 5
"""Number of methods whose probabilities are averaged."""
N_ROUNDS = 4
"""Number of updates of the leaders, the distractor rates and the posterior."""
POWERS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Powers of the probabilities in the calibration."""
UNIFORM_WEIGHT = 0.03
"""Weight of a uniform distribution, with which calibrated probabilities are mixed."""
PRIOR_ROWS = 4.0
"""Weight of the mean distractor rate in the rate of each pair, in rows."""
MAX_ODDS_RATIO = 10.0
"""Odds ratio of predicted distractors above which scores do not compare accuracies."""
MIN_PROBABILITY = 1e-6
"""Lower bound of probabilities before the calibration."""


class Selection(NamedTuple):
    """Scores of the methods, and the test of the assumption behind them."""

    expected_accuracy: Floats
    """(n_methods,): in [0, 1]; NaN if there are no rows."""
    posterior: Floats
    """q, (n, K): 0 outside the sets, rows sum to 1."""
    odds_ratio: float
    """Odds ratio of predicted distractors; 1 if no row has several candidates and at least one class outside."""
    is_tied: Mask
    """(n_methods,): whether the evidence does not separate the method from the best one."""


def expected_accuracies(evidence: Evidence, probabilities: Sequence[Floats], predictions: Sequence[Ints]) -> Selection:
    """Score methods by the posterior probability of their predictions; see the docstring of the module.

    Parameters
    ----------
    evidence : ndarray of shape (n, K)
        Candidate sets of the held-out rows, none of them empty, or their weights, with row maxima of 1.
    probabilities : sequence of ndarray of shape (n, K)
        Held-out probabilities of each method, nonnegative. A method without probabilities has 1 for its predictions.
    predictions : sequence of ndarray of int of shape (n,)
        Held-out predictions of each method; -1 for a label that is not a class of the sets.
    """
    informative = ~constant_rows(evidence)
    evidence = evidence[informative]
    codes = np.stack([prediction[informative] for prediction in predictions])
    if not len(evidence):
        return Selection(np.full(len(codes), np.nan), np.zeros(evidence.shape), 1.0, np.zeros(len(codes), dtype=bool))
    calibrated: dict[int, Floats] = {}
    scores = _values_at(np.asarray(evidence, dtype=float), codes).mean(axis=1)
    posterior: Floats = np.zeros(evidence.shape)
    for i in range(N_ROUNDS):
        leaders = np.argsort(-np.round(scores, 12), kind="stable")[:N_LEADERS]
        for m in leaders:
            if m not in calibrated:
                calibrated[m] = calibrate(probabilities[m][informative], evidence)
        sharp = np.mean([calibrated[m] for m in leaders], axis=0)
        mean = mix_with_uniform(sharp)
        rates = distractor_rates(posterior if i else normalize_within_sets(mean * evidence, evidence > 0), evidence)
        posterior = label_posterior(mean, rates, evidence)
        values = _values_at(posterior, codes)
        scores = values.mean(axis=1)
    odds_ratio = distractor_odds_ratio(sharp, rates, evidence)
    is_tied = np.full(len(codes), odds_ratio > MAX_ODDS_RATIO) | (_gaps(values) <= 1.0)
    return Selection(scores, posterior, odds_ratio, is_tied & (np.count_nonzero(evidence, axis=1) > 1).any())


def calibrate(proba: Floats, evidence: Evidence) -> Floats:
    """Return the power of the probabilities under which the sets are most likely, with rows scaled to sum 1.

    The result does not depend on the scale of a row; a power of the argument gives nearly the same result.
    """
    proba = np.asarray(proba, dtype=np.float64)
    scores = np.log(np.maximum(proba / np.maximum(proba.max(axis=1, keepdims=True), 1e-300), MIN_PROBABILITY))
    best, likelihood = scores, -np.inf
    for power in POWERS:
        candidate = np.exp(power * scores)
        candidate /= candidate.sum(axis=1, keepdims=True)
        value = float(np.log((mix_with_uniform(candidate) * evidence).sum(axis=1)).mean())
        if value > likelihood:
            best, likelihood = candidate, value
    return best


def mix_with_uniform(proba: Floats) -> Floats:
    """Return probabilities that are bounded away from 0."""
    return (1.0 - UNIFORM_WEIGHT) * proba + UNIFORM_WEIGHT / proba.shape[1]


def distractor_rates(posterior: Floats, evidence: Evidence) -> Floats:
    """Return C, (K, K): the rate of each class j as a distractor of each label k; the diagonal has no meaning.

    C_kj = (sum_i q_ik w_ij + t c) / (sum_i q_ik + t), with t = `PRIOR_ROWS` and c the rate of all pairs k != j.
    """
    rows = posterior.sum(axis=0)[:, None]
    counts = posterior.T @ evidence
    K = evidence.shape[1]
    n_distractors = counts.sum() - np.trace(counts)
    mean_rate = (n_distractors + 0.5) / (len(evidence) * (K - 1) + 1.0)
    return np.clip((counts + PRIOR_ROWS * mean_rate) / (rows + PRIOR_ROWS), 1e-3, 1.0 - 1e-3)


def label_posterior(proba: Floats, rates: Floats, evidence: Evidence) -> Floats:
    """Return q, (n, K), from class probabilities p > 0 and distractor rates C."""
    present, absent = np.log(rates), np.log1p(-rates)
    np.fill_diagonal(present, 0.0)
    np.fill_diagonal(absent, 0.0)
    # log prod_j (...) = sum_j log(1 - C_kj) + sum_j w_ij (log C_kj - log(1 - C_kj))
    scores = np.log(proba) + absent.sum(axis=1) + evidence @ (present - absent).T
    with np.errstate(divide="ignore"):
        scores = scores + np.log(evidence.astype(np.float64))  # -inf outside the support
    return normalize_within_sets(np.exp(scores - scores.max(axis=1, keepdims=True)), evidence > 0)


def distractor_odds_ratio(proba: Floats, rates: Floats, evidence: Evidence) -> float:
    """Return the odds ratio between the observed rate of the second most probable class in the sets, and C.

    It is exp(b) of the logistic model P(g in S_i) = sigmoid(logit C_fg + b). The model is fitted to the rows whose most
    probable class f is one of several candidates. One row of odds 1 is added, so that b is finite.
    """
    rows = np.arange(len(evidence))
    first = proba.argmax(axis=1)
    others = proba.copy()
    others[rows, first] = -np.inf
    second = others.argmax(axis=1)
    weight = evidence[rows, first] * np.minimum(evidence.sum(axis=1, dtype=np.float64) - 1.0, 1.0)
    used = weight > 0
    if not used.any():
        return 1.0
    weight, offset = weight[used], logit(rates[first, second][used])
    observed = float((weight * evidence[rows, second][used]).sum())

    def derivative(b: float) -> float:
        """Return the derivative of the log-likelihood, which decreases from positive to negative values."""
        return float(observed - (weight * expit(offset + b)).sum() + 0.5 - expit(b))

    return float(np.exp(brentq(derivative, -50.0, 50.0, xtol=1e-10)))


def _values_at(values: Floats, codes: Ints) -> Floats:
    """Return values[i, codes[m, i]] for each method m and row i; 0 for code -1."""
    rows = np.arange(len(values))
    return np.where(codes >= 0, values[rows, codes], 0.0)


def _gaps(values: Floats) -> Floats:
    """Return the difference of each row mean to the highest one, in standard errors of the paired difference."""
    gaps = values[np.round(values.mean(axis=1), 12).argmax()] - values
    errors = gaps.std(axis=1) / np.sqrt(gaps.shape[1])
    return gaps.mean(axis=1) / np.maximum(errors, 1e-12)
