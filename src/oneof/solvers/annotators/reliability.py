"""Reliability of answers for which annotators state how certain they are, by EM.

An answer is a set A of s < K classes. With probability q, its reliability, the annotator knows that A contains the true
class k; otherwise A is a set of s classes drawn at random. With C(K-1, s-1) = C(K, s) s / K,

    p(A | k) = q [k in A] / C(K-1, s-1) + (1 - q) / C(K, s)  is proportional to  f(k) = 1 - q + q [k in A] K / s.

So A contains the true class with probability r = q + (1 - q) s / K, and f is the likelihood of one coin of probability
r (`dawid_skene`): the ratio of f outside to f inside A is (1 - r) / r * s / (K - s). q = 1 is a candidate set, q = 0 no
information. Compared with r, one q may hold for sets of all sizes: the set of K - 1 classes of the answer "not k" has a
larger r than a label, and no answer is evidence against itself. The size of the set, and the degree of certainty, are
assumed to be independent of the class.

The answers have groups, such as those of one degree, or of one annotator and degree. Each group has one q, with the
prior density q^(t m) (1 - q)^(t (1 - m)) of mean m and strength t, which counts for t answers. EM alternates

    E:  mu_ik ~ g_ik prod_a f_a(k),   z_a = q K / s / (1 - q + q K / s) sum_{k in A} mu_ik,
    M:  q_g = (sum_{a in g} z_a + t m) / (n_g + t),

where g is the evidence of rows with known labels, the prior of the classes is uniform, and z_a is the probability that
the author of a knew. The log-likelihood of a single answer to a row is constant in q. Such rows do not change the
maximum, and are omitted.

The intervals are those of the Beta distribution of mean q_g and of the variance of the Laplace approximation in the
logits of q. With h_a(k) = df_a(k)/dq / f_a(k) and means E over mu_i, the second derivatives of the log-likelihood are
sum_i (E[h_a h_b] - E[h_a] E[h_b]) for different answers a, b to a row, and -sum_i E[h_a]^2 for the same one, because f
is linear in q.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.likelihoods import softmax
from oneof.solvers.annotators.accuracy import beta_intervals, variances
from oneof.solvers.annotators.dawid_skene import AnswerColumns
from oneof.typing import Floats, Ints, Mask

MIN_RELIABILITY = 1e-6
"""Lower bound of q, and of 1 - q."""
MIN_INFORMATION = 1e-6
"""Lower bound of an eigenvalue of the information relative to that of the prior."""


@dataclass(frozen=True)
class ReliabilitySolution:
    """Result of `estimate_reliability`."""

    reliability: Floats
    """q, (G,)."""
    interval: Floats
    """(G, 2): lower and upper ends."""
    n_informative: Ints
    """(G,): the number of answers to rows with other answers or evidence."""
    n_iter: int
    converged: bool


def answer_likelihoods(sets: Mask, reliability: Floats) -> Floats:
    """Return f, (m, K), of the answers `sets`, (m, K), of reliabilities q, (m,)."""
    lift = sets.shape[1] / np.count_nonzero(sets, axis=1)
    q = reliability[:, None]
    return np.asarray(1.0 - q + q * sets * lift[:, None])


def estimate_reliability(
    columns: AnswerColumns,
    mean: Floats,
    strength: Floats,
    *,
    coverage: float = 0.9,
    max_iter: int = 1000,
    tol: float = 1e-5,
) -> ReliabilitySolution:
    """Return the reliability of each group of answers, with equal-tailed intervals; EM ends if q changes by `tol`.

    Parameters
    ----------
    columns : AnswerColumns
        The answers, with the groups as sources.
    mean, strength : ndarray of shape (G,)
        m, in (0, 1), and t, above 0.
    coverage : float
        Probability of the intervals, in (0, 1).
    max_iter : int
    tol : float
    """
    K, G = columns.n_classes, columns.n_sources
    used = (columns.n_answers > 1) | columns.is_known
    selected = used[columns.row]
    counts = columns.counts(selected)[np.flatnonzero(used)]
    transposed = counts.T.tocsr()
    with np.errstate(divide="ignore"):
        known = np.log(columns.evidence[used])
    n_answers = np.bincount(columns.source, weights=np.asarray(counts.sum(axis=0)).ravel(), minlength=G)
    lift = K / np.count_nonzero(columns.sets, axis=1)
    q, n_iter, converged = np.array(mean, dtype=np.float64), 0, not selected.any()
    while not converged and n_iter < max_iter:
        posterior = softmax(counts @ np.log(answer_likelihoods(columns.sets, q[columns.source])) + known)
        inside = ((transposed @ posterior) * columns.sets).sum(axis=1)
        of_column = q[columns.source] * lift
        knew = inside * of_column / (1.0 - q[columns.source] + of_column)
        before = q
        q = (np.bincount(columns.source, weights=knew, minlength=G) + strength * mean) / (n_answers + strength)
        q = np.clip(q, MIN_RELIABILITY, 1.0 - MIN_RELIABILITY)
        n_iter += 1
        converged = bool(np.abs(q - before).max() <= tol)
    complete = strength * (mean * (1.0 - q) ** 2 + (1.0 - mean) * q**2)  # of the prior, in the logits
    information = np.diag(complete)
    if selected.any():
        likelihoods = answer_likelihoods(columns.sets, q[columns.source])
        posterior = softmax(counts @ np.log(likelihoods) + known)
        information += _information(columns, counts, posterior, (columns.sets * lift[:, None] - 1.0) / likelihoods, q)
    interval = beta_intervals(q, variances(information, complete, MIN_INFORMATION), coverage)
    return ReliabilitySolution(q, interval, np.rint(n_answers).astype(np.int64), n_iter, converged)


def _information(
    columns: AnswerColumns, counts: sp.csr_array, posterior: Floats, gradients: Floats, q: Floats
) -> Floats:
    """Return the negative second derivatives of the log-likelihood in the logits of q, (G, G)."""
    by_group = columns.sum_by_source()
    entries = counts.tocoo()
    of_answers = gradients[entries.col] * posterior[entries.row]  # h mu, one line for each row and column
    means = sp.csr_array((of_answers.sum(axis=1) * entries.data, (entries.row, entries.col)), shape=counts.shape)
    sums = by_group @ means.T
    squares = (of_answers * gradients[entries.col]).sum(axis=1) * entries.data
    same = np.bincount(columns.source[entries.col], weights=squares, minlength=len(q))
    cross = np.zeros((len(q), len(q)))
    for k in range(columns.n_classes):  # sum_i mu_ik (sum_a h_a(k)) (sum_b h_b(k))
        of_class = (counts * gradients[:, k]) @ by_group.T
        cross += np.asarray((of_class.T @ (of_class * posterior[:, [k]])).toarray())
    spread = q * (1.0 - q)
    return np.asarray(spread[:, None] * ((sums @ sums.T).toarray() - cross + np.diag(same)) * spread)
