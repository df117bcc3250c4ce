"""Online classifiers over blocks: iterative parameter mixing, with a round for each of their epochs.

Each block runs an epoch from the averaged weights, and the weights are averaged again. With one block the state of the
solver passes from round to round, and the weights are identical to those of the ordinary `fit`.
"""

import copy
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, delayed_task, map_reduce, shared, tree_sum
from oneof.estimators.online._base import OnlineClassifier
from oneof.solvers.online import MixUpdate, OnlineState, average_updates, local_state, weighted_update
from oneof.validation import check_positive, check_random_state

EpochSolver = Callable[..., OnlineState]


def check_online(classifier: OnlineClassifier) -> None:
    """Raise if a parameter is invalid."""
    classifier._make_solver()
    check_positive("n_epochs", classifier.n_epochs, integer=True)


def fit_online(classifier: OnlineClassifier, blocks: RowBlocks) -> None:
    """Fit a classifier in `n_epochs` rounds."""
    blocks = blocks if len(blocks.blocks) == 1 else blocks.labeled
    solver, random_state = classifier._make_solver(), check_random_state(classifier.random_state)
    state = OnlineState.zeros(
        len(blocks.classes),
        blocks.metadata[0].n_features + bool(classifier.fit_intercept),
        dtype=blocks.dtype,
        average=bool(classifier.average),
    )
    for epoch in range(classifier.n_epochs):
        seeds = _seeds(random_state, blocks) if classifier.shuffle else [None for _ in blocks.blocks]
        if len(blocks.blocks) == 1:
            state = map_reduce(blocks.blocks, _run_epoch, solver, state, seeds[0])
            continue
        mix, shared_solver = shared(state), shared(solver)
        updates = [
            delayed_task(_epoch_update, block, shared_solver, mix, seed, epoch * metadata.n_rows)
            for block, seed, metadata in zip(blocks.blocks, seeds, blocks.metadata)
        ]
        state = average_updates(state, compute(tree_sum(updates, operator.add)))
    blocks.set_input_attributes(classifier)
    classifier._set_fitted_attributes(state)


def _seeds(random_state: np.random.RandomState, blocks: RowBlocks) -> list[Any]:
    """Return the seed of each block's row order; for one block, the generator of the ordinary `fit`."""
    if len(blocks.blocks) == 1:
        before = copy.deepcopy(random_state)
        random_state.permutation(blocks.n_rows)
        return [before]
    return random_state.randint(np.iinfo(np.int32).max, size=len(blocks.blocks)).tolist()


def _run_epoch(block: RowBlock, solver: EpochSolver, state: OnlineState, seed: Any) -> OnlineState:
    order = None if seed is None else check_random_state(seed).permutation(block.X.shape[0])
    with block_error_context(block.number):
        return solver(block.X, block.evidence, initial=state, order=order)


def _epoch_update(block: RowBlock, solver: EpochSolver, mix: OnlineState, seed: Any, n_processed: int) -> MixUpdate:
    end = _run_epoch(block, solver, local_state(mix, n_processed), seed)
    return weighted_update(end, int(block.labeled.sum()), block.X.shape[0])
