"""Rules, which choose the rows that they vote on: the rates of their votes in the rows of each class.

A rule votes for one set A in all rows that it selects, usually for one class. The selection depends on the class, so a
confusion matrix, which describes answers to given rows, has no information. Only rows with a vote count. Each rule c
has two rates, in the rows whose class is in A and in the other rows, with b_c the rate in all rows, q_c the fraction of
rows with a class in A, and p_c the precision of its votes:

    u_c = b_c p_c / q_c,   u'_c = b_c (1 - p_c) / (1 - q_c).

The votes are sparse, and the rules depend on one another, so rates of each rule alone are hardly determined: EM often
ends at one class that explains all votes. The rates therefore have a prior that counts for s rows. Its precision has
one odds ratio w for all rules, which is at least 1 and is fitted:

    p_c / (1 - p_c) = w q_c / (1 - q_c),   sum_c V_c p_c = sum_c (votes of c that name the true class),

where V_c is the number of votes. Without further information, each vote counts the same. The prior has a fixed
strength and washes out as rows grow. The class frequencies are equal, which votes do not determine.

A rule that does not vote is evidence too, but the absences of rules for the same words are dependent. Their likelihood
has the power 1/2. With r_ck = u_c for k in A and u'_c otherwise, a row with votes has the log-likelihood

    sum_{votes c} log r_ck + 1/2 sum_{other c} log(1 - r_ck).

This is a composite likelihood. Together with equal class frequencies it keeps a bias: the labels are good, but the
precisions are wrong by .11 on average over the sets below. Accuracies of rules are therefore those of known labels.
"""

import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from oneof.solvers.annotators.answers import AnswerColumns
from oneof.typing import Floats, Mask

STRENGTH = 3000.0
"""s, in rows. From 1,000 on, labels of lf_youtube, lf_trec and simulated rules hardly change, and with 300 those of
lf_trec are far below a vote; chosen on these. lf_chemprot, plf_trec and 18 tasks of keyword rules confirm it."""
ABSENCE_POWER = 0.5
"""Powers 0 and 1 are below a vote on simulated rules and on lf_trec; chosen on these. The overdispersion of the number
of votes in 18 tasks of keyword rules, on which it was not chosen, gives powers of .46 to .83 (median .6)."""
RULE_LEVEL = 0.01
"""Level of the tests by which a source is a rule, of the first one for all sources of a table together."""
MIN_RATE, MAX_RATE = 1e-10, 0.999
MAX_LOG_ODDS = 20.0


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


def rule_rates(sets: Mask, votes: Floats, class_sizes: Floats, strength: float = STRENGTH) -> Floats:
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
