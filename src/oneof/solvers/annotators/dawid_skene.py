"""Answers as a sparse matrix: n rows, and a column for each pair of a source and an answer that it gave.

An answer is a set of classes, usually of one. The number of columns P is at most the number of answers. All sums over
answers are then products of a sparse matrix with an (n, K) or (P, K) array. The work and the memory are linear in the
answers: no array has an entry for each source and each pair of classes.

**Rules, which choose the rows that they vote on: the rates of their votes in the rows of each class.**

A rule votes for one set A in all rows that it selects, usually for one class. The selection depends on the class, so a
confusion matrix, which describes answers to given rows, has no information. A set of more than half of the classes is a
vote against the others, such as "not finch". Only rows with a vote for classes count, or with votes that together leave
at most half of the classes; other rows have no labels, unless they have more information in total. Each rule c has two
rates, in the rows whose class is in A and in the other rows, with b_c the rate in all rows, q_c the fraction of rows
with a class in A, and p_c the precision of its votes:

    u_c = b_c p_c / q_c,   u'_c = b_c (1 - p_c) / (1 - q_c).

The votes are sparse, and the rules depend on one another, so rates of each rule alone are hardly determined: EM often
ends at one class that explains all votes. The rates therefore have a prior that counts for s rows. Its precision has
one odds ratio w for all rules, which is at least 1 and is fitted:

    p_c / (1 - p_c) = w q_c / (1 - q_c),   sum_c V_c p_c = sum_c (votes of c that name the true class),

where V_c is the number of votes. Without further information, each vote counts the same. The prior has a fixed
strength and washes out as rows grow. The class frequencies are equal, which votes do not determine.

A rule that does not vote is evidence too, but the absences of rules for the same words are dependent. Their likelihood
has the power 1/2. With r_ck = u_c for k in A and u'_c otherwise, a row with votes has the log-likelihood

    sum_{votes c} log r_ck + 1/2 sum_{other c} log(1 - r_ck),

where the second sum is over the rules that vote for classes, in rows with such a vote. The absences name the classes of
the rules with the fewest votes, which may be covered badly or just rare; other labels would depend on them alone. On 15
tables with rules against classes, made from words of lf_trec, lf_chemprot and plf_trec, `LOORidge` has .60 of the test
rows right with these conditions, and .52 without them.

This is a composite likelihood. Together with equal class frequencies it keeps a bias: the labels are good, but the
precisions are wrong by .11 on average over the sets below. Accuracies of rules are therefore those of known labels.

The sources are all rules, or none is. A joint model, in which sources with several answers have confusion matrices, was
dropped: it lowered the accuracy on plf_trec, and on lf_youtube, lf_trec and lf_chemprot if pairs of rules are a source.

One wrong rule can make conflicts as frequent as by chance. Then w is 1, and the labels are almost uniform, although
their order is good. The log-likelihoods are therefore multiplied by the least number, at least 1, by which half of the
votes for the most probable classes are expected to be right. Known labels count with certainty, so that many of them
leave the likelihoods as they are.

**EM for the labels of rows and the errors of the sources that answer about them (Dawid & Skene 1979).**

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
only together with answers that can be compared (`AnswerColumns.answer_counts`). Without any, r is (1 + s/K) / 2, the
mean of a uniform distribution above the accuracy of answers at random; so is, at least, r_j for the sets of a source
without any. An accuracy of labels would make the set "not k" evidence of k.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import gammaln, logsumexp
from scipy.stats import binom

from oneof.likelihoods import softmax
from oneof.typing import Floats, Ints, Mask

MAX_REPEATED = 20.0
"""Limit by which the steps of EM for an accuracy are at least 1/21 of its distance from the solution."""
RULE_STRENGTH = 3000.0
"""s, in rows. From 1,000 on, labels of lf_youtube, lf_trec and simulated rules hardly change, and with 300 those of
lf_trec are far below a vote; chosen on these. lf_chemprot, plf_trec and 18 tasks of keyword rules confirm it."""
ABSENCE_POWER = 0.5
"""Powers 0 and 1 are below a vote on simulated rules and on lf_trec; chosen on these. The overdispersion of the number
of votes in 18 tasks of keyword rules, on which it was not chosen, gives powers of .46 to .83 (median .6)."""
MIN_PRECISION = 0.5
"""Least expected precision of the votes for classes, by the most probable ones: rules are usually right. Chosen on
simulated rules of which one is wrong; on lf_chemprot the log loss of the labels decreases from 1.96 to 1.61, and
lf_trec, lf_youtube and plf_trec do not change."""
RULE_LEVEL = 0.01
"""Level of the tests by which a source is a rule, of the first one for all sources of a table together."""
MAX_RATE = 0.999
MAX_LOG_ODDS = 20.0
MIN_RATE = 1e-10
"""Lower bound of the probability of an answer."""
STRENGTH = 4.0
"""s, in answers; chosen on 100 simulated crowds, which prefer larger ones, and LabelMe and dog, which prefer smaller
ones. Bluebirds and web confirm it."""
POOL_STRENGTH = 10.0
"""t, in answers and rows of each class; of little influence from 10 to 100. Chosen and confirmed on the same sets."""


@dataclass(frozen=True)
class AnswerColumns:
    """The answers of J sources about n rows."""

    row: Ints
    """(m,): the row of each answer."""
    column: Ints
    """(m,): the column of each answer."""
    source: Ints
    """(P,): the source of each column, in ascending order."""
    answer: Ints
    """(P,): the number of the answer of each column; equal answers have equal numbers."""
    sets: Mask
    """(P, K): the classes that the answer names; not all of them, and at least one."""
    n_sources: int
    evidence: Floats
    """g, (n, K): weights of the classes of rows with known labels; constant for other rows."""

    @classmethod
    def from_answers(cls, row: Ints, source: Ints, answer: Ints, sets: Mask, n_sources: int, evidence: Floats) -> Self:
        """Return the columns of m answers, each an index into the D distinct answers `sets`, (D, K)."""
        pairs, column = np.unique(source * max(len(sets), 1) + answer, return_inverse=True)
        pair_source, pair_answer = np.divmod(pairs, max(len(sets), 1))
        return cls(row, column.ravel(), pair_source, pair_answer, sets[pair_answer], n_sources, evidence)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.evidence)

    @property
    def n_classes(self) -> int:
        """Number of classes K."""
        return self.sets.shape[1]

    @property
    def label(self) -> Ints:
        """(P,): the class of a column that names one class; of others, the first that it names."""
        return np.asarray(self.sets.argmax(axis=1), dtype=np.int64)

    @property
    def is_label(self) -> Mask:
        """(P,): True if the answer is one class."""
        return np.asarray(np.count_nonzero(self.sets, axis=1) == 1)

    @property
    def answer_source(self) -> Ints:
        """(m,): the source of each answer."""
        return self.source[self.column]

    @property
    def is_for(self) -> Mask:
        """(P,): True if the answer names at most half of the classes. A larger one is a vote against the others."""
        return np.asarray(2 * np.count_nonzero(self.sets, axis=1) <= self.n_classes)

    @property
    def has_vote_for(self) -> Mask:
        """(n,): True for rows with a vote for classes."""
        return np.bincount(self.row[self.is_for[self.column]], minlength=self.n_rows) > 0

    @property
    def is_counted(self) -> Mask:
        """(n,): True for rows whose votes are for classes, or leave at most half of the classes, and for known rows.

        If the other rows with votes have more information in total, it is True for all rows with votes. The information
        of votes that leave s of K classes is log K/s.
        """
        n_named = np.asarray(self.counts() @ self.sets.astype(np.int64))
        n_left = np.count_nonzero(n_named == self.n_answers[:, None], axis=1)
        bits = np.where(self.n_answers > 0, np.log(self.n_classes / np.maximum(n_left, 1)), 0.0)
        is_counted = self.has_vote_for | (2 * n_left <= self.n_classes) | self.is_known
        return (bits > 0) & (is_counted | (bits @ ~is_counted > bits @ is_counted))

    def counts(self, selected: Any = slice(None), weight: Floats | None = None) -> sp.csr_array:
        """Return the (n, P) matrix of the numbers of answers, or the sums of their weights, (m,)."""
        row, column = self.row[selected], self.column[selected]
        values = np.ones(len(row)) if weight is None else weight[selected]
        return sp.csr_array((values, (row, column)), shape=(self.n_rows, len(self.source)))

    def sum_by_source(self, columns: Mask | None = None) -> sp.csr_array:
        """Return the (J, P) 0/1 matrix that sums columns, or some of them, by source."""
        kept = np.arange(len(self.source)) if columns is None else np.flatnonzero(columns)
        return sp.csr_array((np.ones(len(kept)), (self.source[kept], kept)), shape=(self.n_sources, len(self.source)))

    @property
    def n_answers(self) -> Ints:
        """(n,): the number of answers to each row."""
        return np.bincount(self.row, minlength=self.n_rows)

    @property
    def is_known(self) -> Mask:
        """(n,): True for rows with known labels."""
        return np.asarray(self.evidence.min(axis=1) < self.evidence.max(axis=1))

    def count_by_source(self, rows: Mask) -> Ints:
        """Return the number of answers of each source to some of the rows, (J,)."""
        return np.bincount(self.answer_source[rows[self.row]], minlength=self.n_sources)

    def answer_counts(self) -> Floats:
        """Return the weight of each answer in the estimates of its source, (m,): 1 if it can be compared.

        Other answers contain no information about the accuracy: EM would repeat its present estimate. All of them
        together count for at most `MAX_REPEATED` times the compared ones of the source.
        """
        is_compared = (self.n_answers > 1) | self.is_known
        n_compared, n_other = (self.count_by_source(rows) for rows in (is_compared, ~is_compared))
        share = np.minimum(1.0, MAX_REPEATED * n_compared / np.maximum(n_other, 1))
        return np.where(is_compared[self.row], 1.0, share[self.answer_source])

    def answer_probabilities(self, posterior: Floats, block: int = 200_000) -> Floats:
        """Return the posterior probability that each answer names the true class, (m,)."""
        proba = np.empty(len(self.row))
        for start in range(0, len(self.row), block):
            part = slice(start, start + block)
            proba[part] = np.einsum("mk,mk->m", posterior[self.row[part]], self.sets[self.column[part]])
        return proba


# -- rules -------------------------------------------------------------------------------------------------------------


def are_rules(columns: AnswerColumns, n_answers: int) -> bool:
    """Return whether the sources of a table are rules, which choose the rows that they answer.

    A source looks like a rule if all its answers are equal, although answers at random, with the frequencies of the
    sources with different answers, would not be. The sources are rules if at least half of them look like rules for
    different answers; or if at least two do, and other sources give their answers more often in their rows than
    elsewhere: a careless annotator does not choose rows. If no source has different answers, the first test has one
    level for all sources together.

    Parameters
    ----------
    columns : AnswerColumns
    n_answers : int
        Number of distinct answers.
    """
    J, row, source, answer = columns.n_sources, columns.row, columns.answer_source, columns.answer[columns.column]
    is_constant = np.bincount(columns.source, minlength=J) <= 1
    own = np.zeros(J, dtype=np.int64)
    own[columns.source] = columns.answer
    varied = ~is_constant[source] | is_constant.all()
    times = np.bincount(answer[varied], minlength=n_answers) + 1.0
    log_proba = np.log(times / times.sum())[own] * np.maximum(np.bincount(source, minlength=J) - 1, 0)
    if is_constant.all():
        log_proba[:] = log_proba.sum() - np.log(J)
    is_rule = is_constant & (log_proba < np.log(RULE_LEVEL / J))
    if 2 * is_rule.sum() < J:
        for j in np.flatnonzero(is_rule):
            others = source != j
            shared = others & np.isin(row, row[source == j])
            rate = (answer[others] == own[j]).mean()
            is_rule[j] = (answer[shared] == own[j]).sum() > binom.isf(RULE_LEVEL, shared.sum(), rate)
    return len(np.unique(own[is_rule])) > 1


def rule_rates(sets: Mask, votes: Floats, class_sizes: Floats, strength: float = RULE_STRENGTH) -> Floats:
    """Return the rates r of the votes given the class, (P, K).

    Parameters
    ----------
    sets : ndarray of shape (P, K)
        The classes that the votes of each rule name.
    votes : ndarray of shape (P, K)
        The expected numbers of votes in rows of each class.
    class_sizes : ndarray of shape (K,)
        The expected numbers of rows of each class.
    strength : float
    """
    n = float(class_sizes.sum())
    n_votes, inside = votes.sum(axis=1), (votes * sets).sum(axis=1)
    share = np.clip(sets @ class_sizes / n, MIN_RATE, 1.0 - MIN_RATE)
    precision = _common_precision(share, n_votes, float(inside.sum()))
    rate, size = n_votes / n, n * share
    right = (inside + strength * np.minimum(rate * precision / share, MAX_RATE)) / (size + strength)
    wrong = np.minimum(rate * (1.0 - precision) / (1.0 - share), MAX_RATE)
    wrong = (n_votes - inside + strength * wrong) / (n - size + strength)
    return np.asarray(np.clip(np.where(sets, right[:, None], wrong[:, None]), MIN_RATE, MAX_RATE))


def _common_precision(share: Floats, n_votes: Floats, n_right: float) -> Floats:
    """Return the precisions of one odds ratio, at least 1, by which `n_right` votes name the true class, (P,)."""

    def precisions(log_odds: float) -> Floats:
        odds = np.exp(log_odds) * share
        return np.asarray(odds / (odds + 1.0 - share))

    def excess(log_odds: float) -> float:
        return float(n_votes @ precisions(log_odds)) - n_right

    if excess(0.0) >= 0.0:
        return share
    if excess(MAX_LOG_ODDS) <= 0.0:
        return precisions(MAX_LOG_ODDS)
    return precisions(brentq(excess, 0.0, MAX_LOG_ODDS, xtol=1e-10))


# -- dawid skene -------------------------------------------------------------------------------------------------------


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
    counts, answered, has_vote_for = columns.counts(), maximize.is_counted, columns.has_vote_for
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
        if are_rules:
            log_likelihood[has_vote_for] += model.log_absence
            log_likelihood[~answered] = 0.0
        log_likelihood *= power
        joint = log_likelihood + np.log(np.maximum(frequencies, MIN_RATE)) + log_evidence
        before, mu = mu, softmax(joint)
        n_iter += 1
        converged = bool(0.5 * np.abs(mu - before)[used].sum() <= tol * used.sum())
        if converged or n_iter >= max_iter:
            break
    if are_rules:
        votes, base = counts @ (columns.sets & columns.is_for[:, None]), joint - log_likelihood
        log_likelihood *= _precision_power(base, log_likelihood, np.asarray(votes))
        joint = base + log_likelihood
        mu = softmax(joint)
    return AnnotatorSolution(mu, log_likelihood, joint, frequencies, model, n_iter, converged)


def _precision_power(log_prior: Floats, log_likelihood: Floats, votes: Floats) -> float:
    """Return the least power >= 1 by which `MIN_PRECISION` of the votes for the most probable classes are right."""

    def n_right(log_power: float) -> float:
        return float((softmax(log_prior + np.exp(log_power) * log_likelihood) * votes).sum())

    requested = MIN_PRECISION * n_right(MAX_LOG_ODDS)
    if n_right(0.0) >= requested:
        return 1.0
    return float(np.exp(brentq(lambda log_power: n_right(log_power) - requested, 0.0, MAX_LOG_ODDS)))


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
        self.is_counted = columns.is_counted if are_rules else columns.n_answers > 0
        self.by_source, self.by_matrix = columns.sum_by_source(), columns.sum_by_source(uses_confusion)
        answers = np.asarray(self.transposed.sum(axis=1))
        self.totals = np.asarray(self.by_source @ answers)
        named = np.asarray(columns.counts().sum(axis=0))
        share, given = columns.sets.mean(axis=1), answers if answers.any() else named
        self.chance = float(given @ share / max(given.sum(), 1.0))
        is_assumed = (self.totals == 0)[columns.source] & ~columns.is_label
        self.least = np.where(is_assumed, (1.0 + share) / 2.0, 0.0)
        named = (named / np.count_nonzero(columns.sets, axis=1)) @ columns.sets
        self.prior_rows = columns.n_classes * self.pool_strength * named / max(named.sum(), 1.0)

    def __call__(self, mu: Floats) -> SourceModel:
        columns, K, s = self.columns, self.columns.n_classes, self.strength
        counts = np.asarray(self.transposed @ mu)
        right = np.asarray(self.by_source @ (counts * columns.sets).sum(axis=1))
        rate = max((right.sum() + 1.0) / (self.totals.sum() + 2.0), self.chance)
        if not self.totals.any():
            rate = (1.0 + self.chance) / 2.0
        coin = np.where(self.totals + s > 0, (right + s * rate) / np.maximum(self.totals + s, MIN_RATE), rate)
        coin = np.clip(coin, MIN_RATE, 1.0 - MIN_RATE)
        logs = _coin_logs(columns.sets, np.maximum(coin[columns.source], self.least))
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
            used_mu = np.where(self.is_counted[:, None], mu, 0.0)
            rates = rule_rates(columns.sets, np.asarray(self.all_votes @ used_mu), used_mu.sum(axis=0))
            absences = np.where(columns.is_for[:, None], ABSENCE_POWER * np.log1p(-rates), 0.0)
            absence, logs = absences.sum(axis=0), np.log(rates) - absences
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
