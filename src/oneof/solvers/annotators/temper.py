"""Powers that calibrate two independent pieces of evidence, a classifier and the answers, by each other.

Probabilities of classifiers are too close to 0 and 1, or too far from them. With held-out probabilities p and the
likelihood w of the answers, the power b maximizes

    sum_i log sum_k w_ik p_ik^b / sum_j p_ij^b.

If p has no information about the labels, b is small, and the prior p^b / sum p^b is nearly uniform.

Scores of a regression on wrong labels repeat their errors. If annotators give half of the rows of class k the label l,
both scores are about 1/2 in all rows of k. The larger one is then often that of l. The scores of rows of l are about 1,
though, so those of k remain the closest to the mean of their own class. `mean_distances` therefore
replaces scores f by

    g_ik = -|f_i - m_k|^2 / (2 s^2),    m_k = (sum_{j != i} q_jk f_j + e_k) / (sum_{j != i} q_jk + 1),

the log-density of a Gaussian around the mean of each class, given the labels q. e_k is a row of class k that is
predicted without error, for classes with few rows. The power b of exp(g) is at most 1.

Answers to one row are often not independent given its class: difficult rows mislead all annotators. Their product is
then too close to 0 and 1. The power a of the likelihood minimizes the cross-entropy

    - sum_i sum_k p_ik log (w_ik^a / sum_j w_ij^a),

which is convex in a. A classifier that has little information about the labels would make a too small, and the answers
would be ignored. Therefore a is at least 1/2. Its logarithm is multiplied by 1 - sum_i H(p_i) / (n H(mean p)), the
fraction of the information about the labels that p has.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from oneof.likelihoods import entropy, log_likelihoods, softmax
from oneof.typing import Evidence, Floats

MIN_POWER, MAX_POWER, N_POWERS = 1.0 / 64, 64.0, 25
N_STANDARD_ERRORS = 2.0
MIN_VARIANCE = 1e-6
"""Lower bound of the variance of the predictions of a class."""
MIN_ANSWER_POWER = 0.5
"""Lower bound of a; the upper bound is 1, for independent answers."""


def temper(scores: Floats, evidence: Evidence, max_power: float = MAX_POWER) -> tuple[Floats, float]:
    """Return the softmax of b times the scores, (n, K), and b.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        The logarithms of held-out probabilities, or other scores.
    evidence : ndarray of shape (n, K)
        Weights of the classes given the answers. Rows of equal weights have no effect on b.
    max_power : float
        Upper bound of b.
    """

    def loss(log_power: float) -> float:
        return -float(log_likelihoods(np.exp(log_power) * scores, evidence).sum())

    powers = np.linspace(np.log(MIN_POWER), np.log(max_power), N_POWERS)
    best = int(np.argmin([loss(power) for power in powers]))
    bounds = (powers[max(best - 1, 0)], powers[min(best + 1, N_POWERS - 1)])
    power = float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4}).x))
    return softmax(power * scores), power


def mean_distances(scores: Floats, labels: Floats) -> Floats:
    """Return g, (n, K): minus half the squared distances of the scores from the means of the classes, in variances.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        f, held-out predictions of the indicators of the classes.
    labels : ndarray of shape (n, K)
        q, probabilities of the labels; 0 for rows that do not count in the means.
    """
    counts = labels.sum(axis=0) + 1.0
    means = (labels.T @ scores + np.eye(len(counts))) / counts[:, None]
    squares = (scores**2).sum(axis=1, keepdims=True) - 2.0 * scores @ means.T + (means**2).sum(axis=1)
    # Without row i, the mean of class k is farther away by the factor N_k / (N_k - q_ik).
    squares = np.maximum(squares, 0.0) * (counts / (counts - labels)) ** 2
    variance = float((labels * squares).sum()) / max(float(labels.sum()) * (len(counts) - 1), 1.0)
    return np.asarray(-0.5 * squares / max(variance, MIN_VARIANCE))


def answer_power(log_likelihood: Floats, proba: Floats) -> float:
    """Return the power a of the likelihood of the answers.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n, K)
        log w, of rows with answers.
    proba : ndarray of shape (n, K)
        p, held-out probabilities.
    """
    centered = log_likelihood - (proba * log_likelihood).sum(axis=1, keepdims=True)

    def loss(power: float) -> float:
        shifted = power * centered
        top = shifted.max(axis=1)
        return float((top + np.log(np.exp(shifted - top[:, None]).sum(axis=1))).sum())

    if not len(log_likelihood):
        return 1.0
    power = minimize_scalar(loss, bounds=(MIN_ANSWER_POWER, 1.0), method="bounded", options={"xatol": 1e-4}).x
    total = float(np.asarray(entropy(proba.mean(axis=0, keepdims=True)))[0])
    information = 1.0 - float(np.asarray(entropy(proba)).mean()) / max(total, 1e-12)
    return float(power ** np.clip(information, 0.0, 1.0))


def is_informative(proba: Floats, prior: Floats, evidence: Evidence) -> bool:
    """Return whether the answers are more likely under held-out probabilities than under the class prior.

    The difference of the log-likelihoods must exceed two standard errors.

    Parameters
    ----------
    proba : ndarray of shape (n, K)
    prior : ndarray of shape (K,)
    evidence : ndarray of shape (n, K)
        Weights of the classes given the answers.
    """
    logs = (log_likelihoods(np.log(np.maximum(p, 1e-300)) + np.zeros(evidence.shape), evidence) for p in (proba, prior))
    gain = np.subtract(*logs)
    return float(gain.sum()) > N_STANDARD_ERRORS * float(np.sqrt((gain**2).sum()))
