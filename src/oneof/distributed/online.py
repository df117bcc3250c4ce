"""Online classifiers over blocks: iterative parameter mixing, with a round for each of their epochs.

Each block runs an epoch from the averaged weights, and the weights are averaged again. A single block runs all epochs
in one round, with the weights of the ordinary `fit`.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, delayed_task, map_reduce, shared, tree_sum
from oneof.estimators.online import OnlineClassifier
from oneof.solvers.online import MixUpdate, OnlineState, average_updates, local_state, weighted_update
from oneof.validation import check_random_state

EpochSolver = Callable[..., OnlineState]


def check_online(classifier: OnlineClassifier) -> None:
    """Raise if a parameter is invalid."""
    classifier._check_parameters()


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
    if len(blocks.blocks) == 1:
        rng = random_state if classifier.shuffle else None
        state = map_reduce(blocks.blocks, _run_epochs, solver, state, rng, classifier.n_epochs)
    else:
        state = _mix(classifier.n_epochs, blocks, solver, state, random_state if classifier.shuffle else None)
    blocks.set_input_attributes(classifier)
    classifier._set_fitted_attributes(state)


def _mix(n_rounds: int, blocks: RowBlocks, solver: EpochSolver, state: OnlineState, rng: Any) -> OnlineState:
    """Return the averaged state after rounds over several blocks."""
    for epoch in range(n_rounds):
        n_blocks = len(blocks.blocks)
        seeds = [None] * n_blocks if rng is None else rng.randint(np.iinfo(np.int32).max, size=n_blocks).tolist()
        mix, shared_solver = shared(state), shared(solver)
        updates = [
            delayed_task(_epoch_update, block, shared_solver, mix, seed, epoch * metadata.n_rows)
            for block, seed, metadata in zip(blocks.blocks, seeds, blocks.metadata)
        ]
        state = average_updates(state, compute(tree_sum(updates, operator.add)))
    return state


def _run_epochs(block: RowBlock, solver: EpochSolver, state: OnlineState, rng: Any, n_epochs: int = 1) -> OnlineState:
    """Return the state after epochs over the rows of a block, in random order with a generator."""
    with block_error_context(block.number):
        for _ in range(n_epochs):
            order = None if rng is None else rng.permutation(block.X.shape[0])
            state = solver(block.X, block.evidence, initial=state, order=order)
    return state


def _epoch_update(block: RowBlock, solver: EpochSolver, mix: OnlineState, seed: Any, n_processed: int) -> MixUpdate:
    rng = None if seed is None else check_random_state(seed)
    end = _run_epochs(block, solver, local_state(mix, n_processed), rng)
    return weighted_update(end, int(block.labeled.sum()), block.X.shape[0])
