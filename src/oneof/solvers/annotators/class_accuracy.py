"""The accuracy of each source in the rows of each class, with intervals, and a test of equal accuracies.

The answers of source j to rows of class k are expected to number n_jk = sum_i mu_ik over the rows that j answered, and
those that name the class c_jk = sum_i mu_ik [k in a_ij]. r_jk is the posterior mean under a Beta prior at the accuracy
r_j of the source in all classes, with fitted strength t:

    r_jk = (c_jk + t r_j) / (n_jk + t).

The true classes are uncertain. In the logit of r_jk, the information of the labels that are missing is the variance of
sum_i [y_i = k] ([k in a_ij] - r_jk) given the answers (Louis 1982):

    I_jk = (n_jk + t) r_jk (1 - r_jk) - sum_i mu_ik (1 - mu_ik) ([k in a_ij] - r_jk)^2.

The variance of r_jk is (r_jk (1 - r_jk))^2 / I_jk. Covariances between the r_jk change the intervals by less than 3 %.

If r_j is the accuracy in every class, the c_jk of the c_j correct answers are hypergeometric given the n_jk (Fisher
1935). The expected numbers have a smaller variance than the true ones, so their test has at most its nominal level.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import hypergeom

from oneof.solvers.annotators.accuracy import MIN_INFORMATION, beta_intervals
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.dawid_skene import MIN_RATE
from oneof.solvers.annotators.pooling import update_strength
from oneof.typing import Floats

N_STRENGTH_STEPS, START_STRENGTH = 50, 4.0


@dataclass(frozen=True)
class ClassAccuracySolution:
    """Result of `estimate_class_accuracies`."""

    accuracy: Floats
    """r, (J, K)."""
    interval: Floats
    """(J, K, 2): lower and upper ends."""
    n_answers: Floats
    """n, (J, K)."""


def count_by_class(columns: AnswerColumns, posterior: Floats) -> tuple[Floats, Floats]:
    """Return the expected numbers of correct answers and of answers, c and n, (J, K)."""
    by_column = np.asarray(columns.counts().T @ posterior)
    by_source = columns.sum_by_source()
    return np.asarray(by_source @ (by_column * columns.sets)), np.asarray(by_source @ by_column)


def estimate_class_accuracies(
    columns: AnswerColumns, posterior: Floats, accuracy: Floats, *, coverage: float
) -> ClassAccuracySolution:
    """Return the accuracies of the sources by class, with equal-tailed intervals of some probability.

    Parameters
    ----------
    columns : AnswerColumns
    posterior : ndarray of shape (n, K)
        mu, of all answers.
    accuracy : ndarray of shape (J,)
        The accuracies of the sources in all classes, in (0, 1).
    coverage : float
        In (0, 1).
    """
    right, totals = count_by_class(columns, posterior)
    mean = np.broadcast_to(accuracy[:, None], totals.shape)
    used, t = totals > 0, START_STRENGTH
    counts = np.maximum(np.stack([right[used], (totals - right)[used]]), 0.0)
    means = np.stack([mean[used], 1.0 - mean[used]])
    for _ in range(N_STRENGTH_STEPS if used.any() else 0):
        t = update_strength(t, counts, means, totals[used])
    rates = np.clip((right + t * mean) / (totals + t), MIN_RATE, 1.0 - MIN_RATE)
    complete = (totals + t) * rates * (1.0 - rates)
    spread = np.asarray(columns.counts().T @ (posterior * (1.0 - posterior)))
    missing = columns.sum_by_source() @ (spread * (columns.sets - rates[columns.source]) ** 2)
    variance = 1.0 / np.maximum(complete - missing, MIN_INFORMATION * complete)
    return ClassAccuracySolution(rates, beta_intervals(rates, variance, coverage), totals)


def equal_accuracy_p_values(columns: AnswerColumns, posterior: Floats) -> Floats:
    """Return p-values, (J, K), of the two-sided test that the accuracy in a class is that in the other classes.

    The expected numbers are rounded.
    """
    right, totals = count_by_class(columns, posterior)
    sizes = np.rint(totals).astype(np.int64)
    correct = np.minimum(np.rint(right).astype(np.int64), sizes)
    total, n_correct = sizes.sum(axis=1, keepdims=True), correct.sum(axis=1, keepdims=True)
    p_values = np.ones(totals.shape)
    used = (sizes > 0) & (sizes < total)
    total, n_correct = (np.broadcast_to(value, sizes.shape)[used] for value in (total, n_correct))
    lower = hypergeom.cdf(correct[used], total, n_correct, sizes[used])
    upper = hypergeom.sf(correct[used] - 1, total, n_correct, sizes[used])
    p_values[used] = np.minimum(2.0 * np.minimum(lower, upper), 1.0)
    return p_values
