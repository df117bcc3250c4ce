"""EM for the labels of rows and the errors of the sources that answer about them (Dawid & Skene 1979).

Source j gives row i the answer A, a set of s < K classes. Given the true class k, its probability is

    labels:               theta_jka for the class a, a confusion matrix,
    sets, or one coin:    r_j / C(K-1, s-1) if k in A, otherwise (1 - r_j) / C(K-1, s),
    votes of rules:       see `rules`.

The updates are those of EM, with posterior means in place of maxima:

    E:  mu_ik ~ g_ik prior_k prod_j p(a_ij | k),
    M:  theta_jka = (c_jka + s m_jka) / (c_jk + s),    m_jkk = r_j,   m_jka = (1 - r_j) o_ka,
        r_j = (c_j + s r) / (n_j + s),                 o_ka = (c_ka + t (1 - r) / (K - 1)) / sum_b (...),   a, b != k,
        prior_k = (sum_i mu_ik + K t f_k) / (n + K t),

where c_jka is the expected number of answers a of source j to rows of class k; sums have fewer indices. c_j is the
expected number of the n_j answers that name the true class. All priors have fixed strengths and wash out: the matrix of
a source has a Dirichlet prior at its accuracy r_j and the errors o of all sources together, which have one at equal
errors; r_j has a Beta prior at r, the accuracy of all sources, at least that of answers at random; and the class
frequencies have a Dirichlet prior at f, those of the answers. At equal ones instead, a class with few answers would
explain answers that name other classes.
With s = 0 there is no prior, which is the model of Dawid & Skene. g is the evidence of rows with known labels. The
prior may differ between rows; a classifier's out-of-fold probabilities make it the model of Raykar et al. (2010).

Answers to rows that no other source answered, and whose label is not known, are explained by any accuracy. They count
only together with answers that can be compared (`AnswerColumns.answer_counts`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.rules import ABSENCE_POWER, rule_rates
from oneof.typing import Floats, Mask

MIN_RATE = 1e-10
"""Lower bound of the probability of an answer."""
STRENGTH = 4.0
"""s, in answers; chosen on 100 simulated crowds, which prefer larger ones, and LabelMe and dog, which prefer smaller
ones. Bluebirds and web confirm it."""
POOL_STRENGTH = 10.0
"""t, in answers and rows of each class; of little influence from 10 to 100. Chosen and confirmed on the same sets."""


@dataclass(frozen=True)
class SourceModel:
    """Parameters of the sources."""

    uses_confusion: Mask
    """(P,): True for the columns with a confusion matrix."""
    log_likelihoods: Floats
    """log p(answer | class) of each column, (P, K); of votes of rules, relative to their absence."""
    log_absence: Floats
    """(K,): of rules, the log-likelihood of a row without votes; otherwise 0."""
    errors: Floats
    """o, (K, K): from true class to label, given that they differ."""
    strength: float
    """s; 0 without a prior."""
    coin: Floats
    """r_j, (J,): the probability that an answer of the source names the true class."""
    class_counts: Floats
    """c_jka, (P, K): the expected counts of each column over the true classes."""

    def confusion(self, columns: AnswerColumns) -> Floats:
        """Return the probabilities of the labels a given the class k, (J, K, K) for [j, k, a]; rows sum to 1."""
        K = columns.n_classes
        theta: Floats = (self.strength + MIN_RATE) * _prior_matrices(self.coin, self.errors)
        used = np.flatnonzero(self.uses_confusion)
        theta[columns.source[used], :, columns.label[used]] += self.class_counts[used]
        theta /= theta.sum(axis=2, keepdims=True)
        has_matrix = np.zeros(columns.n_sources, dtype=bool)
        has_matrix[columns.source[used]] = True
        coin = self.coin[~has_matrix][:, None, None]
        theta[~has_matrix] = np.where(np.eye(K, dtype=bool), coin, (1.0 - coin) / max(K - 1, 1))
        return theta


@dataclass(frozen=True)
class AnnotatorSolution:
    """Result of `solve_annotators`."""

    posterior: Floats
    """mu, (n, K)."""
    log_likelihood: Floats
    """sum_j log p(a_ij | k), (n, K), without the prior and without g."""
    log_joint: Floats
    """log(g_ik prior_k) + log_likelihood_ik, (n, K)."""
    prior: Floats
    """The prior of the last E-step, (K,) or (n, K)."""
    model: SourceModel
    n_iter: int
    converged: bool

    @property
    def log_marginal(self) -> float:
        """The log-likelihood of all answers."""
        return float(logsumexp(self.log_joint, axis=1).sum())


def vote_shares(columns: AnswerColumns) -> Floats:
    """Return the share of each class in the votes of a row, (n, K), times the evidence; uniform without answers."""
    votes = columns.counts() @ (columns.sets / np.maximum(columns.sets.sum(axis=1, keepdims=True), 1))
    votes = votes * columns.evidence
    votes = np.where(votes.sum(axis=1, keepdims=True) == 0, columns.evidence, votes)
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def solve_annotators(
    columns: AnswerColumns,
    start: Floats | None = None,
    *,
    uses_confusion: Mask,
    are_rules: bool = False,
    prior: Floats | None = None,
    strength: float = STRENGTH,
    power: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-5,
) -> AnnotatorSolution:
    """Fit the model, and stop when the labels change by at most `tol`: the mean of 1/2 sum_k |mu_ik - mu'_ik|.

    Parameters
    ----------
    columns : AnswerColumns
    start : ndarray of shape (n, K), optional
        Labels of the first M-step; by default `vote_shares`.
    uses_confusion : ndarray of shape (P,), bool
        True for the columns of single classes whose source has a confusion matrix.
    are_rules : bool
        Whether all sources are rules.
    prior : ndarray of shape (K,) or (n, K), optional
        Class probabilities, above 0; fitted if None.
    strength : float
        s. With 0, nothing has a prior.
    power : float
        Power of the likelihood of the answers in the E-step.
    max_iter : int
    tol : float
    """
    has_row_prior = prior is not None and prior.ndim == 2
    maximize = _Maximization(columns, uses_confusion, strength, are_rules=are_rules, has_row_prior=has_row_prior)
    counts, answered = columns.counts(), columns.n_answers > 0
    used = answered | columns.is_known
    with np.errstate(divide="ignore"):
        log_evidence = np.log(columns.evidence)
    frequencies = np.empty(0) if prior is None else prior
    mu, n_iter = vote_shares(columns) if start is None else start, 0
    while True:
        model = maximize(mu)
        if prior is None:
            frequencies = np.maximum(mu[used].sum(axis=0) + maximize.prior_rows, MIN_RATE)
            frequencies = frequencies / frequencies.sum()
        log_likelihood = np.asarray(counts @ model.log_likelihoods)
        log_likelihood[answered] += model.log_absence
        log_likelihood *= power
        joint = log_likelihood + np.log(np.maximum(frequencies, MIN_RATE)) + log_evidence
        before, mu = mu, softmax(joint)
        n_iter += 1
        converged = bool(0.5 * np.abs(mu - before)[used].sum() <= tol * used.sum())
        if converged or n_iter >= max_iter:
            return AnnotatorSolution(mu, log_likelihood, joint, frequencies, model, n_iter, converged)


class _Maximization:
    """The M-step of the sources."""

    def __init__(
        self, columns: AnswerColumns, uses_confusion: Mask, strength: float, *, are_rules: bool, has_row_prior: bool
    ) -> None:
        self.columns, self.uses_confusion, self.strength = columns, uses_confusion, strength
        self.are_rules = are_rules
        self.pool_strength = POOL_STRENGTH if strength > 0 else 0.0
        # Predictions of a classifier are evidence of all labels.
        counted = None if has_row_prior else columns.answer_counts()
        self.transposed, self.all_votes = columns.counts(weight=counted).T.tocsr(), columns.counts().T.tocsr()
        self.answered = columns.n_answers > 0
        self.by_source, self.by_matrix = columns.sum_by_source(), columns.sum_by_source(uses_confusion)
        answers = np.asarray(self.transposed.sum(axis=1))
        self.chance = float(answers @ columns.sets.mean(axis=1) / max(answers.sum(), 1.0))
        self.totals = np.asarray(self.by_source @ answers)
        named = np.asarray(columns.counts().sum(axis=0))
        named = (named / np.count_nonzero(columns.sets, axis=1)) @ columns.sets
        self.prior_rows = columns.n_classes * self.pool_strength * named / max(named.sum(), 1.0)

    def __call__(self, mu: Floats) -> SourceModel:
        columns, K, s = self.columns, self.columns.n_classes, self.strength
        counts = np.asarray(self.transposed @ mu)
        right = np.asarray(self.by_source @ (counts * columns.sets).sum(axis=1))
        rate = max((right.sum() + 1.0) / (self.totals.sum() + 2.0), self.chance)
        coin = np.where(self.totals + s > 0, (right + s * rate) / np.maximum(self.totals + s, MIN_RATE), rate)
        coin = np.clip(coin, MIN_RATE, 1.0 - MIN_RATE)
        logs = _coin_logs(columns.sets, coin[columns.source])
        used = self.uses_confusion
        errors = np.full((K, K), max(self.pool_strength * (1.0 - rate) / max(K - 1, 1), MIN_RATE))
        if used.any():
            label, source = columns.label[used], columns.source[used]
            np.add.at(errors.T, label, counts[used])
        np.fill_diagonal(errors, 0.0)
        errors /= errors.sum(axis=1, keepdims=True)
        if used.any():
            means = (1.0 - coin[source])[:, None] * errors.T[label]
            means[np.arange(len(label)), label] = coin[source]
            totals = np.asarray(self.by_matrix @ counts)[source]
            theta = np.maximum(counts[used] + s * means, MIN_RATE)
            logs[used] = np.log(theta / np.maximum(totals + s, MIN_RATE))
        absence = np.zeros(K)
        if self.are_rules:
            rates = rule_rates(columns.sets, np.asarray(self.all_votes @ mu), mu[self.answered].sum(axis=0))
            absence = ABSENCE_POWER * np.log1p(-rates).sum(axis=0)
            logs = np.log(rates) - ABSENCE_POWER * np.log1p(-rates)
        return SourceModel(used, logs, absence, errors, s, coin, counts)


def _prior_matrices(coin: Floats, errors: Floats) -> Floats:
    """Return m, (J, K, K), the matrices with accuracies r_j and the errors of all sources."""
    return np.asarray(
        np.where(np.eye(len(errors), dtype=bool), coin[:, None, None], (1.0 - coin)[:, None, None] * errors)
    )


def _coin_logs(sets: Mask, coin: Floats) -> Floats:
    """Return the log-likelihoods of sets by sources of accuracies r, (P, K)."""
    sizes, K = np.count_nonzero(sets, axis=1)[:, None], sets.shape[1]
    right, wrong = np.log(coin)[:, None], np.log1p(-coin)[:, None]
    inside, outside = _log_choose(K - 1, sizes - 1), _log_choose(K - 1, np.minimum(sizes, K - 1))
    return np.asarray(np.where(sets, right - inside, wrong - outside))


def _log_choose(n: int, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
