"""Iterative parameter mixing, a literal and slow implementation (McDonald, Hall & Mann 2010, figure 3)."""

import numpy as np

from tests.oracles import online


def mix(blocks, max_iter, **learner):
    """Return the averaged W after each iteration, for perceptrons of `tests.oracles.online` over (X, mask) blocks."""
    W = np.zeros((blocks[0][1].shape[1], blocks[0][0].shape[1]))
    labeled = [int((~mask.all(axis=1)).sum()) for _, mask in blocks]
    history = []
    for _ in range(max_iter):
        ends = [online.run(X, mask, W=W, method="perceptron", **learner)[0][-1] for X, mask in blocks]
        W = sum(n * end for n, end in zip(labeled, ends)) / sum(labeled)
        history.append(W)
    return history
