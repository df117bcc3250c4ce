"""Oracle of PLKNN, with loops over rows."""

import math


def vote_fractions(X, mask, queries, n_neighbors, weights, leave_out=None):
    """Return the vote fractions of each query; `leave_out[q]` is the training row that query q may not use."""
    out = []
    for q, x in enumerate(queries):
        labeled = [i for i in range(len(X)) if not all(mask[i]) and (leave_out is None or i != leave_out[q])]
        near = sorted((math.dist(X[i], x), i) for i in labeled)[:n_neighbors]
        total = sum(d for d, _ in near)
        equal = weights == "uniform" or total == 0 or len(near) == 1
        votes = [sum((1 if equal else 1 - d / total) for d, i in near if mask[i][k]) for k in range(len(mask[0]))]
        out.append([v / sum(votes) for v in votes])
    return out
