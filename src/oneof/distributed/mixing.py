"""Online learners over blocks, by iterative parameter mixing: a round for each of the estimator's epochs.

With one block the learner's own state goes from round to round, and the weights are those of the ordinary `fit`, bit by
bit.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from oneof.distributed.blocks import Block, Blocks, in_block
from oneof.distributed.reduction import compute, shared, sum_over, summed, task
from oneof.errors import InputError
from oneof.estimators._online_base import OnlineClassifier
from oneof.solvers.online import MixUpdate, OnlineState, average_updates, local_state, weighted_update
from oneof.validation import check_positive, check_random_state

Learner = Callable[..., OnlineState]


def check_online(learner: OnlineClassifier) -> None:
    """Raise if a parameter cannot be used."""
    learner._make_solver()
    check_positive("n_epochs", learner.n_epochs, integer=True)


def fit_online(learner: OnlineClassifier, blocks: Blocks) -> None:
    """Fit a learner in `n_epochs` rounds."""
    blocks = blocks if len(blocks.parts) == 1 else blocks.told
    learn, random = learner._make_solver(), check_random_state(learner.random_state)
    state = OnlineState.zeros(
        len(blocks.classes),
        blocks.facts[0].n_features + bool(learner.fit_intercept),
        dtype=blocks.dtype,
        average=bool(learner.average),
    )
    for done in range(learner.n_epochs):
        seeds = _seeds(random, blocks) if learner.shuffle else [None for _ in blocks.parts]
        if len(blocks.parts) == 1:
            state = sum_over(blocks.parts, _epoch, learn, state, seeds[0])
        else:
            mix, pass_over = shared(state), shared(learn)
            shares = [
                task(_share, part, pass_over, mix, seed, done * facts.n_rows)
                for part, seed, facts in zip(blocks.parts, seeds, blocks.facts)
            ]
            found = compute(summed(shares, _added))
            if isinstance(found, InputError):
                raise found
            state = average_updates(state, found)
    blocks.describe(learner)
    learner._set_fitted_attributes(state)


def _seeds(random: np.random.RandomState, blocks: Blocks) -> list[Any]:
    """Return what the order of each block's rows is drawn by; of one block, the generator of the ordinary `fit`."""
    if len(blocks.parts) == 1:
        before = copy.deepcopy(random)
        random.permutation(blocks.n_rows)
        return [before]
    return random.randint(np.iinfo(np.int32).max, size=len(blocks.parts)).tolist()


def _epoch(block: Block, learn: Learner, state: OnlineState, seed: Any) -> OnlineState:
    order = None if seed is None else check_random_state(seed).permutation(block.X.shape[0])
    with in_block(block.number):
        return learn(block.X, block.mask, initial=state, order=order)


def _share(block: Block, learn: Learner, mix: OnlineState, seed: Any, n_seen: int) -> MixUpdate | InputError:
    try:
        end = _epoch(block, learn, local_state(mix, n_seen), seed)
    except InputError as error:
        return error
    return weighted_update(end, int(block.told.sum()), block.X.shape[0])


def _added(one: MixUpdate | InputError, other: MixUpdate | InputError) -> MixUpdate | InputError:
    """Return the sum, or the error of the first block that has one, whichever was met first."""
    if isinstance(one, InputError):
        return one
    return other if isinstance(other, InputError) else one + other
