"""Online learners over blocks, by iterative parameter mixing: a round for each of the estimator's epochs.

With one block the learner's own state goes from round to round, and the weights are those of the ordinary `fit`, bit by
bit.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.distributed.blocks import RowBlock, RowBlocks, block_error_context
from oneof.distributed.reduction import compute, shared, map_reduce, tree_sum, delayed_task
from oneof.errors import InputError
from oneof.estimators._online_base import OnlineClassifier
from oneof.solvers.online import OnlineState
from oneof.solvers.parameter_mixing import Share, begin, mixed, share
from oneof.validation import check_positive, check_random_state

Learner = Callable[..., OnlineState]


def check_online(learner: OnlineClassifier) -> None:
    """Raise if a parameter cannot be used."""
    learner._learner()
    check_positive("n_epochs", learner.n_epochs, integer=True)


def fit_online(learner: OnlineClassifier, blocks: RowBlocks) -> None:
    """Fit a learner in `n_epochs` rounds."""
    blocks = blocks if len(blocks.blocks) == 1 else blocks.labeled
    learn, random = learner._learner(), check_random_state(learner.random_state)
    state = OnlineState.start(
        len(blocks.classes),
        blocks.metadata[0].n_features + bool(learner.fit_intercept),
        dtype=blocks.dtype,
        average=bool(learner.average),
    )
    for done in range(learner.n_epochs):
        seeds = _seeds(random, blocks) if learner.shuffle else [None for _ in blocks.blocks]
        if len(blocks.blocks) == 1:
            state = map_reduce(blocks.blocks, _epoch, learn, state, seeds[0])
        else:
            mix, pass_over = shared(state), shared(learn)
            shares = [
                delayed_task(_share, part, pass_over, mix, seed, done * facts.n_rows)
                for part, seed, facts in zip(blocks.blocks, seeds, blocks.metadata)
            ]
            found = compute(tree_sum(shares, _added))
            if isinstance(found, InputError):
                raise found
            state = mixed(state, found)
    blocks.set_input_attributes(learner)
    learner._keep(state)


def _seeds(random: np.random.RandomState, blocks: RowBlocks) -> list[Any]:
    """Return what the order of each block's rows is drawn by; of one block, the generator of the ordinary `fit`."""
    if len(blocks.blocks) == 1:
        before = copy.deepcopy(random)
        random.permutation(blocks.n_rows)
        return [before]
    return random.randint(np.iinfo(np.int32).max, size=len(blocks.blocks)).tolist()


def _epoch(block: RowBlock, learn: Learner, state: OnlineState, seed: Any) -> OnlineState:
    order = None if seed is None else check_random_state(seed).permutation(block.X.shape[0])
    with block_error_context(block.number):
        return learn(block.X, block.mask, initial=state, order=order)


def _share(block: RowBlock, learn: Learner, mix: OnlineState, seed: Any, n_seen: int) -> Share | InputError:
    try:
        end = _epoch(block, learn, begin(mix, n_seen), seed)
    except InputError as error:
        return error
    return share(end, int(block.labeled.sum()), block.X.shape[0])


def _added(one: Share | InputError, other: Share | InputError) -> Share | InputError:
    """Return the sum, or the error of the first block that has one, whichever was met first."""
    if isinstance(one, InputError):
        return one
    return other if isinstance(other, InputError) else one + other
