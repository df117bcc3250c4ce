"""EM for the labels of rows and the errors of the sources that answer about them (Dawid & Skene 1979).

Source j gives row i the answer A, a set of s < K classes. Given the true class k, and that there is an answer of this
size, its probability is

    labels, with confusion matrices:  theta_jka for the class a,
    sets, or one coin per source:     r_j / C(K-1, s-1) if k in A, otherwise (1 - r_j) / C(K-1, s).

EM alternates

    E:  mu_ik ~ g_ik prior_k prod_j p(a_ij | k),
    M:  theta_jka = (c_jka + s m_ka) / (c_jk + s),   r_j = (c_j + t r) / (n_j + t),   prior_k ~ sum_i mu_ik if fitted,

where c_jka is the expected number of answers a of source j to rows of class k, and c_jk its sum over a. c_j is the
expected number of the n_j answers that name the true class. m is the confusion matrix of all sources together, r their
accuracy; the strengths s and t are given or fitted (`pooling`). Without pooling (s = 0) and with a fitted prior this is
the model of Dawid & Skene. g is the evidence of rows with known labels. If sources copy others, p(a_ij | k) is that of
the mixture in `copying`; the tests for copies have powers v_ij of it instead, 1/q for q equal answers of copies.
The prior may differ between rows; a classifier's out-of-fold probabilities make it the model of Raykar et al. (2010).

With few answers per row, a fitted prior and m can explain the same answers: a class may vanish, or take rows of another
one, which makes m asymmetric. Two priors prevent it. m has a Dirichlet prior at the symmetric mean of m and its
transpose, which counts as much as all answers; and a fitted prior is shrunk to equal frequencies,
prior_k = (1 - h) mean_i mu_ik + h / K, the mean over rows with answers. The accuracy r is at least that of answers at
random. Answers to rows that no other source answered, and whose label is not known, are explained by any accuracy. They
count only together with answers that can be compared (`AnswerColumns.answer_counts`). A source without these has the
accuracy of the others. Rules have another model (`vote_rates`).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, logsumexp

from oneof.likelihoods import softmax
from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.copying import CopyMixture, FollowingAnswers
from oneof.solvers.annotators.pooling import pooled_rate, unknown_rate, update_beta_strength, update_strength
from oneof.solvers.annotators.vote_rates import log_absences, log_votes, vote_rates
from oneof.typing import Floats, Mask

MIN_RATE = 1e-10
"""Lower bound of the probability of an answer."""
POOL_SHARE = 1.0
"""Strength of the prior of m, relative to the number of answers; chosen on simulations, LabelMe and bluebirds."""
START_STRENGTH = 4.0
"""Strength of the priors before they are fitted."""
N_FIRST_STEPS, STRENGTH_INTERVAL = 10, 5
"""The strengths are updated in each of the first iterations, and then in every fifth one."""
MAX_STRENGTH_ENTRIES = 1_000_000
"""Number of counts by which the strength is fitted; with more of them, those of some sources, evenly spaced."""


@dataclass(frozen=True)
class SourceModel:
    """Parameters of the sources, and the priors at their means."""

    uses_confusion: Mask
    """(P,): True for the columns with a confusion matrix."""
    class_counts: Floats
    """c_jka, (P, K): the expected counts of each column over the true classes."""
    source_counts: Floats
    """c_jk, (J, K): their sums over the labels of a source that has a confusion matrix."""
    pool: Floats
    """m, (K, K): from true class to label."""
    strength: float
    """s; 0 without a prior."""
    coin: Floats
    """r_j, (J,): the probability that an answer names the true class; of sources without such answers, r."""
    coin_strength: float
    """t; 0 without a prior."""
    vote_rates: Floats | None = None
    """(P, K): the rates of the votes of rules given the class; None if the sources do not select rows."""

    def log_likelihoods(self, columns: AnswerColumns) -> Floats:
        """Return log p(answer | class) of each column, (P, K); of votes of rules, relative to their absence."""
        if self.vote_rates is not None:
            return log_votes(self.vote_rates)
        sizes = np.count_nonzero(columns.sets, axis=1)[:, None]
        K = columns.n_classes
        right, wrong = np.log(self.coin[columns.source])[:, None], np.log1p(-self.coin[columns.source])[:, None]
        logs: Floats = np.where(
            columns.sets, right - _log_choose(K - 1, sizes - 1), wrong - _log_choose(K - 1, np.minimum(sizes, K - 1))
        )
        kept = self.uses_confusion
        if kept.any():
            counts = self.class_counts[kept] + self.strength * self.pool.T[columns.label[kept]]
            totals = self.source_counts[columns.source[kept]] + self.strength
            logs[kept] = np.log(np.maximum(counts, MIN_RATE) / np.maximum(totals, MIN_RATE))
        return logs

    def confusion(self, columns: AnswerColumns) -> Floats:
        """Return the probabilities of the labels a given the class k, (J, K, K) for [j, k, a]; rows sum to 1."""
        K = columns.n_classes
        theta: Floats = np.full((columns.n_sources, K, K), 0.0)
        theta[:] = self.strength * self.pool
        kept = np.flatnonzero(self.uses_confusion)
        theta[columns.source[kept], :, columns.label[kept]] += self.class_counts[kept]
        theta += MIN_RATE * self.pool  # classes without answers of a source, if there is no prior
        theta /= theta.sum(axis=2, keepdims=True)
        has_matrix = np.zeros(columns.n_sources, dtype=bool)
        has_matrix[columns.source[kept]] = True
        coin = self.coin[~has_matrix][:, None, None]
        theta[~has_matrix] = np.where(np.eye(K, dtype=bool), coin, (1.0 - coin) / max(K - 1, 1))
        return theta


@dataclass(frozen=True)
class AnnotatorSolution:
    """Result of `solve_annotators`."""

    posterior: Floats
    """mu, (n, K)."""
    log_likelihood: Floats
    """sum_j v_ij log p(a_ij | k), (n, K), without the prior and without g."""
    log_joint: Floats
    """log(g_ik prior_k) + log_likelihood_ik, (n, K)."""
    prior: Floats
    """The prior of the last E-step, (K,) or (n, K)."""
    model: SourceModel
    n_iter: int
    converged: bool
    copied: Floats | None = None
    """c of the groups of `copying`; None without it."""

    @property
    def log_marginals(self) -> Floats:
        """The log-likelihood of the answers to each row, log sum_k exp(log_joint_ik), (n,)."""
        return np.asarray(logsumexp(self.log_joint, axis=1))

    @property
    def log_marginal(self) -> float:
        """The log-likelihood of all answers."""
        return float(self.log_marginals.sum())


def vote_shares(columns: AnswerColumns, evidence: Floats | None = None) -> Floats:
    """Return the share of each class in the votes of a row, (n, K), times the evidence; uniform without answers."""
    votes = columns.counts() @ (columns.sets / np.maximum(columns.sets.sum(axis=1, keepdims=True), 1))
    known = np.ones_like(votes) if evidence is None else evidence
    votes = votes * known
    empty = votes.sum(axis=1) == 0
    votes[empty] = known[empty]
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def solve_annotators(
    columns: AnswerColumns,
    start: Floats,
    *,
    uses_confusion: Mask,
    prior: Floats | float = 0.0,
    evidence: Floats | None = None,
    strength: float | None = None,
    initial_model: SourceModel | None = None,
    answer_weight: Floats | None = None,
    selects_rows: bool = False,
    copying: FollowingAnswers | None = None,
    power: float = 1.0,
    max_iter: int = 200,
    tol: float = 1e-5,
) -> AnnotatorSolution:
    """Fit the model, and stop when the labels and c change by at most `tol`: the mean of 1/2 sum_k |mu_ik - mu'_ik|.

    Parameters
    ----------
    columns : AnswerColumns
    start : ndarray of shape (n, K)
        Labels of the first M-step, such as `vote_shares`.
    uses_confusion : ndarray of shape (P,), bool
        True for the columns of single classes whose source has a confusion matrix.
    prior : ndarray of shape (K,) or (n, K), or float
        Class probabilities, above 0; or h, in [0, 1), the shrinkage of fitted ones.
    evidence : ndarray of shape (n, K), optional
        g, weights of the classes of rows with known labels; 1 for other rows.
    strength : float, optional
        Strength of both priors, 0 for none; fitted if None.
    initial_model : SourceModel, optional
        The model of `start`, to continue EM: the strengths of the start, if they are fitted, and the first
        probabilities of copies, with the fractions c of `copying`.
    answer_weight : ndarray of shape (m,), optional
        v, in (0, 1]; not with `selects_rows`, since absent votes have no weights.
    selects_rows : bool
        Whether the sources are rules, with rates of votes.
    copying : FollowingAnswers, optional
        Answers that may be copies; not with `answer_weight` or `selects_rows`.
    power : float, default=1.0
        Power of the likelihood of the answers in the E-step.
    max_iter : int
    tol : float
    """
    counts = columns.counts()
    log_evidence = None if evidence is None else _log(evidence)
    weighted = counts if answer_weight is None else columns.counts(weight=answer_weight)
    used = np.diff(counts.indptr) > 0
    answered = used[:, None].copy()
    # Predictions of a classifier are evidence of all labels.
    counted = None if selects_rows or np.ndim(prior) == 2 else columns.answer_counts(evidence)
    transposed = columns.counts(weight=counted).T.tocsr()
    maximize = _Maximization(columns, uses_confusion, np.asarray(counts.sum(axis=0)), strength)
    if evidence is not None:
        used |= evidence.min(axis=1) < evidence.max(axis=1)
    initial_logs = None if initial_model is None or copying is None else initial_model.log_likelihoods(columns)
    mixture = None if copying is None else CopyMixture(columns, copying, initial_logs)
    s, t = (START_STRENGTH, START_STRENGTH) if strength is None else (strength, strength)
    if strength is None and initial_model is not None:
        s, t = initial_model.strength, initial_model.coin_strength
    mu, n_iter, converged = start, 0, False
    frequencies = np.asarray(prior)
    shrinkage = float(frequencies) if frequencies.ndim == 0 else None
    while True:
        class_counts = np.asarray(transposed @ mu)
        model = maximize(class_counts if mixture is None else mixture.own_counts(class_counts, mu), s, t)
        if strength is None and (n_iter < N_FIRST_STEPS or n_iter % STRENGTH_INTERVAL == 0):
            s, t = maximize.update_strengths(model)
            model = replace(model, strength=s, coin_strength=t)
        if selects_rows:
            model = replace(model, vote_rates=vote_rates(columns, model.class_counts, mu.sum(axis=0), strength))
        if shrinkage is not None:
            # The labels of rows without answers have no information, but would increase the shrinkage.
            means = mu[used].mean(axis=0) if used.any() else np.full(columns.n_classes, 1.0 / columns.n_classes)
            frequencies = (1.0 - shrinkage) * means + shrinkage / columns.n_classes
        logs = model.log_likelihoods(columns)
        log_likelihood = np.asarray(weighted @ logs)
        if model.vote_rates is not None:
            log_likelihood += answered * log_absences(model.vote_rates)
        if mixture is not None:
            log_likelihood += mixture.log_ratios(logs)
        log_likelihood *= power
        joint = log_likelihood + _log(np.maximum(frequencies, MIN_RATE))
        if log_evidence is not None:
            joint += log_evidence
        before, mu = mu, softmax(joint)
        n_iter += 1
        converged = bool(0.5 * np.abs(mu - before)[used].sum() <= tol * used.sum())
        converged &= mixture is None or mixture.change <= tol
        if converged or n_iter >= max_iter:
            copied = None if mixture is None else mixture.copied
            return AnnotatorSolution(mu, log_likelihood, joint, frequencies, model, n_iter, converged, copied)


class _Maximization:
    """The M-step of the sources."""

    def __init__(self, columns: AnswerColumns, uses_confusion: Mask, answers: Floats, strength: float | None) -> None:
        self.columns, self.uses_confusion, self.has_prior = columns, uses_confusion, strength is None or strength > 0
        self.by_source = columns.sum_by_source(uses_confusion)
        self.by_coin = columns.sum_by_source(~uses_confusion)
        kept = np.flatnonzero(uses_confusion)
        K = columns.n_classes
        self.by_label = sp.csr_array((np.ones(len(kept)), (columns.label[kept], kept)), shape=(K, len(columns.source)))
        totals = np.asarray(self.by_coin @ answers)
        chances = np.asarray(self.by_coin @ (answers * columns.sets.mean(axis=1)))
        self.chance = float(chances.sum() / max(totals.sum(), 1.0))
        self.coin_totals = np.zeros(columns.n_sources)
        self.label = columns.label
        self.strength_step = 1 + len(kept) * K // MAX_STRENGTH_ENTRIES
        self.strength_columns = kept[columns.source[kept] % self.strength_step == 0]

    def __call__(self, class_counts: Floats, s: float, t: float) -> SourceModel:
        K = self.columns.n_classes
        pool = (self.by_label @ class_counts).T + (np.eye(K) * (K - 1) + 1) / (2 * K - 1)
        rates = pool / pool.sum(axis=1, keepdims=True)
        symmetric = rates + rates.T
        pool += POOL_SHARE * pool.sum() / K * symmetric / symmetric.sum(axis=1, keepdims=True)
        pool /= pool.sum(axis=1, keepdims=True)
        self.coin_totals = np.asarray(self.by_coin @ class_counts.sum(axis=1))
        right = np.asarray(self.by_coin @ (class_counts * self.columns.sets).sum(axis=1))
        rate = self._coin_rate(right)
        totals = self.coin_totals + t
        coin = np.where(totals > 0, (right + t * rate) / np.maximum(totals, MIN_RATE), rate)
        return SourceModel(
            self.uses_confusion, class_counts, np.asarray(self.by_source @ class_counts), pool, s,
            np.clip(coin, MIN_RATE, 1.0 - MIN_RATE), t,
        )  # fmt: skip

    def update_strengths(self, model: SourceModel) -> tuple[float, float]:
        """Return the strengths s and t after one step."""
        s, t = model.strength, model.coin_strength
        if len(self.strength_columns):
            means = model.pool.T[self.label[self.strength_columns]]
            counts, totals = model.class_counts[self.strength_columns], model.source_counts[:: self.strength_step]
            s = update_strength(s, counts, means, totals)
        if not self.uses_confusion.all():
            right = np.asarray(self.by_coin @ (model.class_counts * self.columns.sets).sum(axis=1))
            used = self.coin_totals > 0
            t = update_beta_strength(t, right[used], self.coin_totals[used], self._coin_rate(right))
        return s, t

    def _coin_rate(self, right: Floats) -> float:
        """Return the accuracy r of all sources, at least that of answers at random.

        Without answers that can be compared it is unknown; `unknown_rate` is then assumed.
        """
        if not self.coin_totals.any():
            return unknown_rate(self.chance)
        return max(pooled_rate(right, self.coin_totals), self.chance)


def _log(values: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _log_choose(n: int, k: Floats) -> Floats:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
