"""Mutual information between labels and the weights of a linear classifier, under a Laplace posterior.

Reading order:

1. `mutual_information`: the information of the label of a row, and of the answer to a question about a subset.
2. `answer_rates`: the curvature of an answer of one label or two, by the probabilities of the answers.
3. `batch_selection`: greedy selection of rows by the joint information of their labels.
"""

from oneof.solvers.active.answer_rates import AnswerRates, estimate_rates
from oneof.solvers.active.batch_selection import BatchSelection, ViewLookup, select_batch
from oneof.solvers.active.mutual_information import (
    Posterior,
    ViewInstances,
    mutual_information,
    subset_information,
)

__all__ = [
    "AnswerRates",
    "BatchSelection",
    "Posterior",
    "ViewInstances",
    "ViewLookup",
    "estimate_rates",
    "mutual_information",
    "select_batch",
    "subset_information",
]
