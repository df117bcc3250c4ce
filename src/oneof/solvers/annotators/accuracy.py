"""The accuracy of each source, the probability that its answer names the true class, with an interval.

r_j is the posterior mean under a Beta prior at the accuracy of all sources, with fitted strength t:

    r_j = (c_j + t r) / (n_j + t),  c_j = sum_i p_ij,  p_ij = sum_{k in a_ij} mu_ik.

The true classes are uncertain, and the answers of all sources determine them together. In the logits of r, the
information of the labels that are missing is the covariance of z_ij = [a_ij names the true class] (Louis 1982):

    I_jl = [j = l] (n_j + t) r_j (1 - r_j) - sum_i (P(z_ij = z_il = 1) - p_ij p_il).

The variance of r_j is (r_j (1 - r_j))^2 (I^-1)_jj, and the interval is that of the Beta distribution of this mean and
variance. With many sources only the diagonal of I is used.

The strength is at most the number of sources: the fewer there are, the more is r the accuracy of each of them, which
would count twice. It is also at most 4 + 20 u for a source with u answers that can be compared, so that one without
them (u = 0) has the accuracy r of the others, and a prior of at most four answers. Answers count as in the M-step
(`AnswerColumns.answer_counts`).

The accuracy of each source in the rows of each class:

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
import scipy.sparse as sp
from scipy.stats import beta, hypergeom

from oneof.solvers.annotators.answers import MAX_REPEATED, AnswerColumns
from oneof.solvers.annotators.dawid_skene import MIN_RATE
from oneof.solvers.annotators.pooling import pooled_rate, unknown_rate, update_beta_strength, update_strength
from oneof.typing import Floats, Ints

MAX_JOINT_SOURCES, MAX_JOINT_PAIRS = 1000, 20_000_000
"""Limits of the sources, and of the pairs of answers to one row, up to which I is a matrix."""
MIN_INFORMATION = 0.02
"""Lower bound of an eigenvalue of I relative to complete information: a direction that the answers do not determine."""
START_STRENGTH, N_STRENGTH_STEPS = 4.0, 50
MIN_STRENGTH = 2.0
"""Smallest upper bound of the strength: a prior of few sources has their own answers as its mean."""


@dataclass(frozen=True)
class SourceAccuracies:
    """Result of `estimate_accuracies`."""

    accuracy: Floats
    """r, (J,)."""
    interval: Floats
    """(J, 2): lower and upper ends."""
    n_answers: Floats
    """(J,)."""


def estimate_accuracies(
    columns: AnswerColumns,
    posterior: Floats,
    *,
    coverage: float,
    counted: Floats | None = None,
    n_compared: Ints | None = None,
) -> SourceAccuracies:
    """Return the accuracies of the sources, with equal-tailed intervals of some probability.

    Parameters
    ----------
    columns : AnswerColumns
    posterior : ndarray of shape (n, K)
        mu, of all answers.
    coverage : float
        In (0, 1).
    counted : ndarray of shape (m,), optional
        The weights of the answers, `AnswerColumns.answer_counts`; by default 1.
    n_compared : ndarray of shape (J,), optional
        u, the number of answers of each source that can be compared; by default all.
    """
    J, source = columns.n_sources, columns.answer_source
    proba = columns.answer_probabilities(posterior)
    n_answers = np.bincount(source, minlength=J).astype(np.float64)
    count = np.ones(len(source)) if counted is None else counted
    u = n_answers if n_compared is None else n_compared
    totals: Floats = np.bincount(source, weights=count, minlength=J).astype(np.float64)
    right: Floats = np.bincount(source, weights=count * proba, minlength=J).astype(np.float64)
    used = totals > 0
    rate, t = pooled_rate(right, totals), START_STRENGTH
    if not used.any():
        rate = unknown_rate(float(columns.sets[columns.column].mean()) if len(columns.column) else 0.0)
    for _ in range(N_STRENGTH_STEPS * bool(used.any())):
        t = update_beta_strength(t, right[used], totals[used], rate)
    t = min(t, max(MIN_STRENGTH, float(used.sum())))
    strength = np.where(n_answers > 0, np.minimum(t, START_STRENGTH + MAX_REPEATED * u), t)
    accuracy = (right + strength * rate) / (totals + strength)
    complete = (totals + strength) * accuracy * (1.0 - accuracy)
    missing = _missing_information(columns, posterior, proba, count)
    if missing.ndim == 2:
        scale = 1.0 / np.sqrt(complete)
        values, vectors = np.linalg.eigh(np.eye(J) - scale[:, None] * missing * scale)
        variance = scale**2 * (vectors**2 @ (1.0 / np.maximum(values, MIN_INFORMATION)))
    else:
        variance = 1.0 / np.maximum(complete - missing, MIN_INFORMATION * complete)
    return SourceAccuracies(accuracy, beta_intervals(accuracy, variance, coverage), n_answers)


def beta_intervals(accuracy: Floats, variance: Floats, coverage: float) -> Floats:
    """Return equal-tailed intervals of Beta distributions, with a last axis of 2; the variances are those of logits."""
    spread = accuracy * (1.0 - accuracy)
    size = np.maximum(1.0 / (spread * variance) - 1.0, 1.0)
    tails = np.array([0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage])
    return np.asarray(beta.ppf(tails, (size * accuracy)[..., None], (size * (1.0 - accuracy))[..., None]))


def chance_accuracies(columns: AnswerColumns, posterior: Floats) -> Floats:
    """Return the accuracies of the sources if they gave their answers to rows at random, (J,)."""
    frequency = posterior.mean(axis=0) if len(posterior) else np.zeros(columns.n_classes)
    named = (columns.sets @ frequency)[columns.column]
    totals = np.bincount(columns.answer_source, minlength=columns.n_sources)
    return np.bincount(columns.answer_source, weights=named, minlength=columns.n_sources) / np.maximum(totals, 1)


def _missing_information(columns: AnswerColumns, posterior: Floats, proba: Floats, count: Floats) -> Floats:
    """Return the covariances of the z_ij given the answers, summed over the rows: (J, J), or the diagonal (J,).

    Only answers that are alone in their row have a `count` below 1: their covariances are variances.
    """
    J, source, K = columns.n_sources, columns.answer_source, columns.n_classes
    pairs = float((np.bincount(columns.row, minlength=columns.n_rows).astype(np.float64) ** 2).sum())
    if J > MAX_JOINT_SOURCES or pairs > MAX_JOINT_PAIRS:
        return np.bincount(source, weights=count * proba * (1.0 - proba), minlength=J).astype(np.float64)
    answer, label = np.nonzero(columns.sets[columns.column])
    row = columns.row[answer]
    root = np.sqrt(count)
    roots = root[answer] * np.sqrt(posterior[row, label])
    named = sp.csr_array((roots, (source[answer], row * K + label)), shape=(J, columns.n_rows * K))
    means = sp.csr_array((root * proba, (source, columns.row)), shape=(J, columns.n_rows))
    return np.asarray((named @ named.T - means @ means.T).toarray())


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
