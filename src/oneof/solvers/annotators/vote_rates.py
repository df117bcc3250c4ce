"""Rules, which choose the rows that they vote on: the rates of their votes in the rows of each class.

The votes of rules are sparse, and where a rule votes depends on the class. The accuracies are then hardly determined by
the votes alone: with few common rows, an EM that fits them often ends with most rules below chance. Let c be a pair of
a rule and a set A that it votes for. It has two rates, in the rows whose class is in A and in the other rows,

    u_c = (V_c + s l b_c) / (N_c + s),   u'_c = (V'_c + s l' b_c) / (N'_c + s),

where V_c and N_c are the expected numbers of votes and of rows with a class in A. V'_c and N'_c are those of the other
rows, and b_c is the rate in all rows. The prior rates, of strength s, are those of all rules together, relative to b_c,

    l = max(1, sum_c V_c / sum_c b_c N_c),   l' = min(1, sum_c V'_c / sum_c b_c N'_c):

all rules together are not worse than chance. With a large s each vote counts the same. The default is s = n / 2.

A rule that does not vote is evidence too, but the absences of rules for the same words are dependent. Their likelihood
has the power 1/2. With r_ck = u_c for k in A and u'_c otherwise, a row with votes has the log-likelihood

    sum_{votes c} log r_ck + 1/2 sum_{other c} log(1 - r_ck).

A row without votes has none: it is unlabeled.
"""

import numpy as np

from oneof.solvers.annotators.answers import AnswerColumns
from oneof.typing import Floats

ABSENCE_POWER = 0.5
STRENGTH_PER_ROW = 0.5
"""s / n. Both were chosen on simulations and on the training labels of four data sets of rules."""
MIN_RATE, MAX_RATE = 1e-10, 0.999


def vote_rates(columns: AnswerColumns, votes: Floats, class_sizes: Floats, strength: float | None) -> Floats:
    """Return the rates r of the votes given the class, (P, K).

    Parameters
    ----------
    columns : AnswerColumns
    votes : ndarray of shape (P, K)
        The expected number of votes of each column in rows of each class.
    class_sizes : ndarray of shape (K,)
        The expected number of rows of each class.
    strength : float or None
        s; None is the default.
    """
    n = max(float(class_sizes.sum()), MIN_RATE)
    s = STRENGTH_PER_ROW * n if strength is None else strength
    inside = (votes * columns.sets).sum(axis=1)
    outside = votes.sum(axis=1) - inside
    n_inside = columns.sets @ class_sizes
    n_outside = n - n_inside
    rate = votes.sum(axis=1) / n
    lift = max(1.0, float(inside.sum()) / max(float(rate @ n_inside), MIN_RATE))
    drop = min(1.0, float(outside.sum()) / max(float(rate @ n_outside), MIN_RATE))
    right = (inside + s * np.minimum(lift * rate, MAX_RATE)) / np.maximum(n_inside + s, MIN_RATE)
    wrong = (outside + s * drop * rate) / np.maximum(n_outside + s, MIN_RATE)
    rates = np.where(columns.sets, right[:, None], wrong[:, None])
    return np.asarray(np.clip(rates, MIN_RATE, MAX_RATE))


def log_votes(rates: Floats) -> Floats:
    """Return the log-likelihood of a vote relative to its absence, (P, K)."""
    return np.asarray(np.log(rates) - ABSENCE_POWER * np.log1p(-rates))


def log_absences(rates: Floats) -> Floats:
    """Return the log-likelihood of a row without any vote, (K,)."""
    return np.asarray(ABSENCE_POWER * np.log1p(-rates).sum(axis=0))
