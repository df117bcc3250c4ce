"""Oracle of PL-ECOC by its definition (Zhang, Yu & Tang 2017); a row with weights counts as its level sets."""

import numpy as np

from tests.oracles.levels import level_sets
from tests.oracles.precision import exp


def code_targets(weights, code):
    """Return for each row the side of its full set, or 0; with weights, the sum over level sets, times the masses."""
    sets = [[(mass, code[candidates]) for mass, candidates in level_sets(row)] for row in weights]
    return [sum(mass * sides[0] for mass, sides in row if np.ptp(sides) == 0) for row in sets]


def code_weights(margins, weights, codes):
    """Return the fraction of rows with candidate k for which coding l has the sign of class k; rows sum to 1.

    The margins are (n, L), and the codes (K, L).
    """
    H = 0 * codes.astype(margins.dtype)
    for h, row in zip(margins, weights, strict=True):
        for mass, candidates in level_sets(row):
            H[candidates] += mass * (np.where(h > 0, 1, -1) == codes[candidates])
    total = H.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1 / codes.shape[1], H / np.where(total == 0, 1, total))


def losses(margins, codes, H):
    """Return the loss of each class on each row."""
    return (H * exp(-margins[:, None] * codes)).sum(axis=2)
