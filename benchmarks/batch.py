"""CLPL, PLEM and PLKNN against scikit-learn on exact labels, where both sides solve the same problem.

Run with `python benchmarks/batch.py`. Times alternate between the sides, so that noise falls on both alike.
"""

import time

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from oneof import CLPL, PLEM, PLKNN


def clusters(n, d, n_classes, seed=0):
    """Return rows around one center a class, and their labels."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    return random.normal(size=(n_classes, d))[y] + random.normal(size=(n, d)), y


def show(title, sides, repeats=3):
    """Print median and spread of each side, and its ratio to the last, the peer."""
    seconds = {name: [] for name in sides}
    for _ in range(repeats):
        for name, run in sides.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    peer = np.median(seconds[list(sides)[-1]])
    print(title)
    for name, values in seconds.items():
        low, middle, high = np.quantile(values, [0, 0.5, 1])
        print(f"  {name:28s} {middle:7.3f} s  [{low:.3f}, {high:.3f}]  {peer / middle:5.2f} x")


def main():
    """Time the methods and their peers."""
    X, y = clusters(5_000, 100, 10)
    show(
        "fit, 5,000 x 100, 10 classes, C = 1",
        {
            "CLPL (tol 1e-8)": lambda: CLPL().fit(X, y),
            "LinearSVC (tol 1e-8)": lambda: LinearSVC(C=1, fit_intercept=False, dual=False, tol=1e-8).fit(X, y),
        },
    )
    show(
        "fit, 5,000 x 100, 10 classes, lam = 1",
        {
            "PLEM (relative error < 1e-9)": lambda: PLEM().fit(X, y),
            "LogisticRegression (L-BFGS)": lambda: LogisticRegression(fit_intercept=False, tol=1e-8, max_iter=1000).fit(
                X, y
            ),
            "LogisticRegression (Newton)": lambda: LogisticRegression(
                fit_intercept=False, tol=1e-8, solver="newton-cg"
            ).fit(X, y),
        },
    )
    for d in (10, 200):
        X, y = clusters(20_000, d, 20)
        ours, peer = PLKNN().fit(X, y), KNeighborsClassifier(10, weights="distance").fit(X, y)
        show(
            f"predict_proba of 2,000 rows, 10 of 20,000 x {d}",
            {
                "PLKNN": lambda ours=ours, X=X: ours.predict_proba(X[:2000]),
                "KNeighborsClassifier": lambda peer=peer, X=X: peer.predict_proba(X[:2000]),
            },
        )


if __name__ == "__main__":
    main()
