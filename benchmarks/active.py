"""Seconds to choose the most informative rows of a pool of 100,000, and the memory that it takes.

100 features, 2 and 10 classes, one view and two of 50 features each (a third of the rows lack the second). The
classifier is fitted on 1,000 other rows, 200 of them labeled; its fit is not timed. Seconds are processor seconds of
one thread, so that other load on the machine falls out of them.

Run with `python benchmarks/active.py [n_rows]`.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
import tracemalloc
import warnings

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from oneof import GraphLogisticRegression
from oneof.active import query

N_ROWS, N_FEATURES, N_FIT, N_LABELED = 100_000, 100, 1_000, 200
BATCHES = (1, 10, 100)


def fitted(n_classes, n_views, n_rows):
    """Return a classifier and the pool to query."""
    X, y = make_blobs(
        N_FIT + n_rows, N_FEATURES, centers=n_classes, cluster_std=6.0, center_box=(-2, 2), random_state=0
    )
    views = None
    if n_views == 2:
        views = [np.arange(N_FEATURES // 2), np.arange(N_FEATURES // 2, N_FEATURES)]
        X[np.random.default_rng(0).random(len(X)) < 1 / 3, N_FEATURES // 2 :] = np.nan
    known = np.where(np.arange(N_FIT) < N_LABELED, y[:N_FIT], -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GraphLogisticRegression(views=views, tol=1e-2).fit(X[:N_FIT], known)
    _ = model.posterior_  # worked out once for all queries
    return model, X[N_FIT:]


def main():
    """Print one line a setting."""
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else N_ROWS
    print(f"{n_rows} rows, {N_FEATURES} features; seconds for a batch of " + " / ".join(map(str, BATCHES)))
    for n_classes in (2, 10):
        for n_views in (1, 2):
            model, pool = fitted(n_classes, n_views, n_rows)
            seconds = []
            for n in BATCHES:
                start = time.process_time()
                found = query(model, pool, n)
                seconds.append(time.process_time() - start)
            tracemalloc.start()
            query(model, pool, 10)
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
            print(
                f"{n_classes:3d} classes, {n_views} view(s): "
                + " / ".join(f"{s:6.2f}" for s in seconds)
                + f" s; {peak:5.0f} MiB beside the pool of {pool.nbytes / 2**20:.0f};"
                f" informations {found.utilities[0]:.3f} to {found.utilities[-1]:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
