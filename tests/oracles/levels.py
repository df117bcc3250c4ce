"""The level sets of weights, one row and one weight at a time (Hüllermeier 2014)."""

import itertools

import numpy as np


def level_sets(weights):
    """Return pairs (mass, classes) of the sets {k : w_k >= a} for each weight a above 0, but for that of all."""
    descending = [*sorted({1 * w for w in weights if w > 0}, reverse=True), 0]
    sets = []
    for a, following in itertools.pairwise(descending):
        classes = [k for k, w in enumerate(weights) if w >= a]
        if len(classes) < len(weights):
            sets.append((a - following, classes))
    return sets


def stacked(weights):
    """Return the rows, the masses and the masks of the level sets of all rows."""
    sets = [(i, mass, classes) for i, row in enumerate(weights) for mass, classes in level_sets(row)]
    rows, masses, classes = zip(*sets, strict=True)
    return np.array(rows), np.array(masses), np.array([np.isin(np.arange(weights.shape[1]), one) for one in classes])
