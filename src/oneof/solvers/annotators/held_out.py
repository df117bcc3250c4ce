"""Choice between models of the sources by the likelihood of held-out answers.

The answers are divided into folds. The model is fitted to all folds but one, and the probability of a held-out answer
is sum_k mu_ik p(a_ij | k), where mu_i is the posterior from the other answers of the row, the held-out ones excluded.
A source with few answers then has a probability near that of the mean of all sources, so that no parameter is counted.
"""

from dataclasses import replace

import numpy as np

from oneof.solvers.annotators.answers import AnswerColumns
from oneof.solvers.annotators.dawid_skene import solve_annotators, vote_shares
from oneof.typing import Floats, Mask

N_FOLDS, MAX_FOLD_ANSWERS = 5, 20_000
"""Number of folds, and the number of answers above which a single fold is held out."""


def held_out_log_likelihoods(
    columns: AnswerColumns, uses_confusion: Mask, *, prior: Floats | float, evidence: Floats | None, tol: float
) -> Floats:
    """Return the logarithm of the probability of each held-out answer, (m',), in the order of the folds."""
    m = len(columns.row)
    order = np.random.default_rng(0).permutation(m)
    fold = np.empty(m, dtype=np.int64)
    fold[order] = np.arange(m) % N_FOLDS
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
