"""Oracle of PLKNN, with loops over rows. The candidate sets of the rows are weights: 0 and 1 for sets."""

import math


def vote_fractions(X, candidates, queries, n_neighbors, weights, leave_out=None):
    """Return the vote fractions of each query; `leave_out[q]` is the training row that query q may not use."""
    out = []
    for q, x in enumerate(queries):
        labeled = [i for i in range(len(X)) if min(candidates[i]) < 1 and (leave_out is None or i != leave_out[q])]
        near = sorted((math.dist(X[i], x), i) for i in labeled)[:n_neighbors]
        total = sum(d for d, _ in near)
        equal = weights == "uniform" or total == 0 or len(near) == 1
        votes = [
            sum((1 if equal else 1 - d / total) * candidates[i][k] for d, i in near) for k in range(len(candidates[0]))
        ]
        out.append([v / sum(votes) for v in votes])
    return out
