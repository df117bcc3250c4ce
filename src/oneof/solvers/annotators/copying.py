"""Groups of sources whose answers are in part copies: the weights of equal answers, and the mixture of both kinds.

Within a group, the answer of a source copies one of the preceding answers of the group to the row with probability c.
Otherwise it is independent of them, given the class k. With f, the fraction of the preceding answers that are equal
to the answer A, its probability is

    (1 - c) p(A | k) + c f.

A copied answer has the size of the copied one, so only answers of equal size precede each other. In the E-step of
`dawid_skene`, the answer was copied with probability c f / ((1 - c) p(A | k) + c f), and its count in the M-step is
reduced by it. c is the mean of these probabilities over the answers of the group that follow others.

Equal answers are more often correct than the answers in which copies differ. With weights, where q equal answers of a
group count as one, each with the weight 1/q, equal answers have the accuracy of one answer. They then repeat the
present estimate of it, and the estimate is that in the rows in which the copies differ, which is too low. Weights are
therefore used in tests and for the start of EM only (`copies`). The mixture depends on the order of the sources.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.solvers.annotators.answers import AnswerColumns
from oneof.typing import Floats, Ints

START_COPIED, MAX_COPIED = 0.5, 0.999
"""First c, and its upper bound."""


@dataclass(frozen=True)
class FollowingAnswers:
    """The answers that follow others of equal size, of sources of their group, to the same row."""

    answer: Ints
    """(q,): the answers, of m."""
    group: Ints
    """(q,): the group of each."""
    fraction: Floats
    """f, (q,)."""
    n_groups: int
    copied: Floats | float = START_COPIED
    """c at the start, (n_groups,)."""

    @classmethod
    def from_groups(cls, columns: AnswerColumns, group: Ints, rank: Ints | None = None) -> "FollowingAnswers":
        """Return the answers that follow others, for groups of the sources, (J,), each with a number below J.

        The sources precede each other by their rank, (J,), or else by their number.
        """
        source = columns.answer_source
        rank = np.arange(columns.n_sources) if rank is None else rank
        several = np.flatnonzero(np.bincount(group)[group[source]] > 1)
        size = np.count_nonzero(columns.sets, axis=1)[columns.column[several]]
        place = (columns.row[several] * len(group) + group[source[several]]) * (columns.n_classes + 1) + size
        order = np.lexsort((rank[source[several]], place))
        several, place = several[order], place[order]
        answer = columns.answer[columns.column[several]]
        before = _running_count(place)
        equal = np.empty(len(place))
        by_answer = np.lexsort((np.arange(len(place)), answer, place))
        key = place * (int(answer.max(initial=0)) + 1) + answer
        equal[by_answer] = _running_count(key[by_answer])
        kept = before > 0
        several = several[kept]
        return cls(several, group[source[several]], equal[kept] / before[kept], len(group))


class CopyMixture:
    """The fractions c of the groups, and the probabilities that answers are copies, during EM."""

    def __init__(self, columns: AnswerColumns, following: FollowingAnswers, logs: Floats | None = None) -> None:
        self.group, self.fraction = following.group, following.fraction[:, None]
        self.row, self.column = columns.row[following.answer], columns.column[following.answer]
        n, place = len(self.row), np.arange(len(self.row))
        self.by_row = sp.csr_array((np.ones(n), (self.row, place)), shape=(columns.n_rows, n))
        self.by_column = sp.csr_array((np.ones(n), (self.column, place)), shape=(len(columns.source), n))
        self.totals = np.maximum(np.bincount(self.group, minlength=following.n_groups), 1)
        self.copied: Floats = np.broadcast_to(following.copied, following.n_groups).astype(np.float64)
        self.change, self.is_start = np.inf, logs is None
        self.is_copy = self.copied[self.group][:, None] * self.fraction * np.ones(columns.n_classes)
        if logs is not None:  # log p(A | k) of the model that has the present labels
            self.log_ratios(logs)

    def log_ratios(self, logs: Floats) -> Floats:
        """Return the logarithms of (1 - c) + c f / p(A | k), summed over the answers to each row, (n, K)."""
        c = self.copied[self.group][:, None]
        copy = c * self.fraction / np.exp(logs[self.column])
        mixture = 1.0 - c + copy
        self.is_copy = copy / mixture
        return np.asarray(self.by_row @ np.log(mixture))

    def own_counts(self, counts: Floats, labels: Floats) -> Floats:
        """Return the expected numbers of answers that are not copies, from those of all, (P, K), and update c."""
        copies = labels[self.row] * self.is_copy
        sums = np.bincount(self.group, copies.sum(axis=1), len(self.totals))
        if not self.is_start:  # the probabilities of copies are not yet those of the answers
            before, self.copied = self.copied, np.clip(sums / self.totals, 0.0, MAX_COPIED)
            self.change = float(np.abs(self.copied - before).max())
        self.is_start = False
        return np.asarray(np.maximum(counts - self.by_column @ copies, 0.0))


def copy_weights(columns: AnswerColumns, group: Ints) -> Floats:
    """Return 1/q for each answer, (m,), that q sources of its group gave to its row."""
    n_answers = int(columns.answer.max(initial=0)) + 1
    key = (columns.row * len(group) + group[columns.answer_source]) * n_answers + columns.answer[columns.column]
    _, place, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[place.ravel()])


def _running_count(values: Ints) -> Ints:
    """Return the number of preceding equal values, of sorted ones."""
    if not len(values):
        return values
    starts = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    return np.arange(len(values)) - np.repeat(starts, np.diff(np.append(starts, len(values))))
