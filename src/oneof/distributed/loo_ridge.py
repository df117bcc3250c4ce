"""LOORidge over blocks: the same rows are collected, and the same sums are computed, as by the ordinary `fit`.

The landmarks and the rows of self-training are collected in one process, up to about 1 GB of features. If there are
more rows, a few iterations with all rows follow, each in two rounds over the blocks.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, delayed_task, shared, tree_sum
from oneof.errors import InputError
from oneof.estimators.loo_ridge import LOORidge
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.typing import FeatureMatrix, Ints

_PER_ROW = ("label_distributions_", "loo_scores_", "transduction_", "runner_up_", "influential_rows_", "influences_")


def check_loo_ridge(model: LOORidge) -> None:
    """Raise if a parameter is invalid."""
    model._check_parameters()
    if model.unlabeled != "ignore":
        raise InputError(f'`unlabeled` must be "ignore" over blocks of rows; got {model.unlabeled!r}.')
    if model.approximation is None or model._is_precomputed():
        raise InputError(
            '`approximation` must be "auto" or "nystroem" and `kernel` must not be "precomputed" over blocks of rows; '
            f"got approximation={model.approximation!r} and kernel={model.kernel!r}."
        )


def fit_loo_ridge(model: LOORidge, blocks: RowBlocks) -> None:
    """Fit a model with the result of the ordinary `fit`, without the attributes that have an entry for each row."""
    labeled = blocks.labeled
    evidence = np.concatenate(compute([delayed_task(_labeled_evidence, block) for block in labeled.blocks]))
    blocks.set_input_attributes(model)
    model._solve(_WorkerRows.from_blocks(labeled), CandidateGroups.from_evidence(evidence), np.arange(len(evidence)))
    for name in _PER_ROW:
        model.__dict__.pop(name, None)


@dataclass(frozen=True)
class _WorkerRows:
    """Labeled rows on the workers, as `oneof.solvers.loo_ridge.loo_operators.BlockedRows`."""

    blocks: RowBlocks
    slices: Sequence[slice]

    @classmethod
    def from_blocks(cls, blocks: RowBlocks) -> "_WorkerRows":
        ends = np.cumsum([entry.n_labeled for entry in blocks.metadata])
        return cls(blocks, [slice(int(end) - entry.n_labeled, int(end)) for end, entry in zip(ends, blocks.metadata)])

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by ascending index, or all rows."""
        return self.blocks.select(np.arange(self.blocks.n_labeled) if index is None else index)[0]

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *values: Any) -> tuple[Any, list[Any]]:
        """Apply a function to each block on its worker."""
        common = [shared(value) for value in values]
        results = [
            delayed_task(_call, function, block, payload, *common, nout=2)
            for block, payload in zip(self.blocks.blocks, map(shared, payloads), strict=True)
        ]
        total = tree_sum([term for term, _ in results], operator.add)
        return compute(total, [value for _, value in results])


def _call(function: Callable[..., Any], block: RowBlock, payload: Any, *values: Any) -> tuple[Any, Any]:
    with block_error_context(block.number):
        return function(block.labeled_rows()[0], payload, *values)


def _labeled_evidence(block: RowBlock) -> Any:
    return block.labeled_rows()[1]
