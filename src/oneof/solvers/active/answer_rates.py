"""Information of an annotator's answer: one label, or two labels of which one is true.

An answer A is given with the probability P(A | k) if the label is k, so p_A = sum_k P(A | k) p_k. Its gradient by the
scores is (diag p - p p^T) b_A, with b_A the vector of P(A | k). The mean curvature of the answer's likelihood is

    F = S M S,   S = diag p - p p^T,   M = sum_A b_A b_A^T / p_A.

An exact answer has M = diag(1 / p) and F = S. With the rates of exact answers e and of pairs r, and C_kj the
probability that j is the distractor of k,

    F = e S + r S T S,   T_kk = sum_j C_kj^2 / (C_kj p_k + C_jk p_j),   T_kj = C_kj C_jk / (C_kj p_k + C_jk p_j).

S - F is positive semi-definite: an answer is never more informative than the label. Other answers, with the rate
1 - e - r, are counted as one answer without information, which gives a lower bound.
"""

from typing import NamedTuple

import numpy as np

from oneof.likelihoods import normalize_within_sets
from oneof.typing import Evidence, Floats

_PRIOR_COUNT = 0.5
"""Prior count of exact answers, and of pairs."""
_PRIOR_DISTRACTORS = 1.0
"""Prior count of pairs of each class, divided equally between the distractors."""


class AnswerRates(NamedTuple):
    """Probabilities of the answers given the label.

    Attributes
    ----------
    exact : float
        Rate of answers that are one label.
    pair : float
        Rate of answers that are two labels.
    distractors : ndarray of shape (K, K)
        C: probability of each distractor (column) of a pair, given the label (row); the diagonal is 0.
    """

    exact: float
    pair: float
    distractors: Floats


def estimate_rates(evidence: Evidence, proba: Floats) -> AnswerRates:
    """Estimate the rates from given answers, with Dirichlet priors.

    Parameters
    ----------
    evidence : ndarray of shape (m, K), bool or float
        The answers. If candidates have weights, those of at least half of the largest weight are the answer.
    proba : ndarray of shape (m, K)
        Class probabilities of the same rows: within a pair, the probability that each of its classes is the label.

    Returns
    -------
    AnswerRates
    """
    top = evidence.max(axis=1, keepdims=True)
    answers = (evidence > 0) & (2.0 * evidence >= top)
    n_classes, sizes = answers.shape[1], answers.sum(axis=1)
    n_exact, n_pairs = (float(np.count_nonzero(sizes == size)) + _PRIOR_COUNT for size in (1, 2))
    n_answers = len(answers) + 2.0 * _PRIOR_COUNT
    counts = np.full((n_classes, n_classes), _PRIOR_DISTRACTORS / max(n_classes - 1, 1))
    pairs = answers[sizes == 2]
    members = np.nonzero(pairs)[1].reshape(-1, 2)
    shares = np.take_along_axis(normalize_within_sets(proba[sizes == 2], pairs), members, axis=1)
    np.add.at(counts, (members[:, 0], members[:, 1]), shares[:, 0])
    np.add.at(counts, (members[:, 1], members[:, 0]), shares[:, 1])
    np.fill_diagonal(counts, 0.0)
    totals = counts.sum(axis=1, keepdims=True)
    distractors = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    return AnswerRates(n_exact / n_answers, n_pairs / n_answers, distractors)


def answer_curvatures(proba: Floats, rates: AnswerRates) -> Floats:
    """Return F over the first K - 1 classes for each row of class probabilities, (t, K - 1, K - 1).

    With u = sqrt(p), S = diag(u) (I - u u^T) diag(u), so that F needs no division by small probabilities.
    """
    u = np.sqrt(proba)
    joint = rates.distractors * proba[:, :, None]
    total = joint + joint.transpose(0, 2, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(total > 0, 1.0 / total, 0.0)
        inner = rates.distractors * rates.distractors.T * u[:, :, None] * u[:, None, :] * inverse
        diagonal = (joint * rates.distractors * inverse).sum(axis=2)
    at = np.arange(proba.shape[1])
    inner = rates.pair * inner
    inner[:, at, at] += rates.exact + rates.pair * diagonal
    projection = -u[:, :, None] * u[:, None, :]
    projection[:, at, at] += 1.0
    projection *= u[:, :, None]
    curvatures = projection @ inner @ projection.transpose(0, 2, 1)
    return np.asarray(curvatures[:, :-1, :-1])


def symmetric_roots(matrices: Floats) -> Floats:
    """Return the symmetric roots of positive semi-definite matrices, (t, q, q).

    Unlike factors by eigenvectors they are continuous, so that equal rows have equal roots in every block.
    """
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
