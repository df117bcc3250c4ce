"""Answers as a sparse matrix: n rows, and a column for each pair of a source and an answer that it gave.

An answer is a set of classes, usually of one. The number of columns P is at most the number of answers. All sums over
answers are then products of a sparse matrix with an (n, K) or (P, K) array. The work and the memory are linear in the
answers: no array has an entry for each source and each pair of classes.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from oneof.typing import Floats, Ints, Mask

MAX_REPEATED = 20.0
"""Limit by which the steps of EM for an accuracy are at least 1/21 of its distance from the solution."""


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
