"""The level sets of weights, one row and one weight at a time (Hüllermeier 2014)."""

import itertools


def level_sets(weights):
    """Return pairs (mass, classes) of the sets {k : w_k >= a} for each weight a above 0, but for that of all."""
    descending = [*sorted({float(w) for w in weights if w > 0}, reverse=True), 0.0]
    sets = []
    for a, following in itertools.pairwise(descending):
        classes = [k for k, w in enumerate(weights) if w >= a]
        if len(classes) < len(weights):
            sets.append((a - following, classes))
    return sets
