"""Choice between models of the sources by the likelihood of held-out answers.

The answers are divided into folds, which do not depend on the order of the rows and the sources. The model is fitted to
all folds but one, and the probability of a held-out answer is sum_k mu_ik p(a_ij | k), where mu_i is the posterior from
the other answers of the row, the held-out ones excluded. A source with few answers then has a probability near that of
the mean of all sources, so that no parameter is counted.
"""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.dawid_skene import solve_annotators, vote_shares
from oneof.typing import Floats, Ints, Mask

HashValues: TypeAlias = "np.ndarray[Any, np.dtype[np.uint64]]"

N_FOLDS, MAX_FOLD_ANSWERS = 5, 20_000
"""Number of folds, and the number of answers above which a single fold is held out."""


def held_out_log_likelihoods(
    columns: AnswerColumns, uses_confusion: Mask, *, prior: Floats | float, evidence: Floats | None, tol: float
) -> Floats:
    """Return the logarithm of the probability of each held-out answer, (m',), in the order of the folds."""
    m = len(columns.row)
    order = _order_by_content(columns, evidence)
    fold = np.empty(m, dtype=np.int64)
    fold[order[np.random.default_rng(0).permutation(m)]] = np.arange(m) % N_FOLDS
    logs = []
    for k in range(1 if m > MAX_FOLD_ANSWERS else N_FOLDS):
        held_out = fold == k
        part = np.flatnonzero(~held_out)
        training = replace(columns, row=columns.row[part], column=columns.column[part])
        solution = solve_annotators(
            training, vote_shares(training, evidence), uses_confusion=uses_confusion, prior=prior, evidence=evidence,
            tol=tol,
        )  # fmt: skip
        theta = np.exp(solution.model.log_likelihoods(columns))
        row, column = columns.row[held_out], columns.column[held_out]
        logs.append(np.log((solution.posterior[row] * theta[column]).sum(axis=1)))
    return np.concatenate(logs)


def _order_by_content(columns: AnswerColumns, evidence: Floats | None) -> Ints:
    """Return an order of the answers that depends on the answers and the evidence of their rows and sources only.

    Rows with equal answers of all sources and equal evidence are exchangeable. Without evidence, sources with the same
    numbers of all answers keep their order.
    """
    source = _hash(_count_hashes(columns)) if evidence is None else source_hashes(columns, evidence)
    column = _hash(source[columns.source] + _answer_hashes(columns))
    row = _row_hashes(columns, column, evidence)
    return np.lexsort((columns.column, column[columns.column], columns.row, row[columns.row]))


def source_hashes(columns: AnswerColumns, evidence: Floats | None) -> HashValues:
    """Return an integer for each source, (J,), that depends only on its answers, and not on the order of the rows.

    It depends on the answers of the source, and on the other answers and the evidence of these rows. Without evidence,
    two sources that differ only by an exchange of their names are equal.
    """
    answers, source = _answer_hashes(columns), _count_hashes(columns)
    row = _row_hashes(columns, _hash(_hash(source)[columns.source] + answers), evidence)
    np.add.at(source, columns.source[columns.column], _hash(row[columns.row] + answers[columns.column]))
    return _hash(source)


def _count_hashes(columns: AnswerColumns) -> HashValues:
    """Return an integer for each source, (J,), that depends only on how often it gave each answer."""
    source = np.zeros(columns.n_sources, dtype=np.uint64)
    n_given = np.bincount(columns.column, minlength=len(columns.source)).astype(np.uint64)
    np.add.at(source, columns.source, _answer_hashes(columns) * n_given)
    return source


def _row_hashes(columns: AnswerColumns, column: HashValues, evidence: Floats | None) -> HashValues:
    """Return an integer for each row, (n,), by the hash values of its answers and by its evidence."""
    row = np.zeros(columns.n_rows, dtype=np.uint64)
    np.add.at(row, columns.row, column[columns.column])
    if evidence is None:
        return row
    bits = np.ascontiguousarray(evidence + 0.0).view(np.uint64)  # without the sign of zero
    return row + _hash(bits + np.arange(1, bits.shape[1] + 1, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)


def _answer_hashes(columns: AnswerColumns) -> HashValues:
    return _hash(columns.sets @ _hash(np.arange(1, columns.n_classes + 1, dtype=np.uint64)))


def _hash(values: HashValues) -> HashValues:
    """Return pseudo-random integers by the finalizer of SplitMix64."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
