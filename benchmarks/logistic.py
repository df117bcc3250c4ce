"""PLEM compared with the solvers of scikit-learn's LogisticRegression on exact labels, at equal objectives.

Both minimize the same convex objective with lam = 1 and without an intercept, on features as stored and standardized.
PLEM and each solver of LogisticRegression run with the largest `tol` of a power of ten whose objective is within 1e-6
of the minimum; the fastest solver is the peer. Seconds are processor seconds of one thread.
"""

import time
import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.datasets import load_digits
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from benchmarks.common import candidate_columns, time_alternating, timed
from oneof import PLEM, CandidateSets, make_partial_labels
from oneof.datasets import load

MAX_GAP = 1e-6
SOLVERS = ("lbfgs", "newton-cg", "newton-cholesky")
MAX_CHOLESKY_WEIGHTS = 1_000
"""Maximum number of weights of newton-cholesky, which takes minutes with more."""
DATA = ("digits", "letter", "usps", "mnist", "italian", "news20")


def task(name):
    """Return X, the true columns, and candidate sets: published ones, or two random distractors in every row."""
    if name == "digits":
        digits = load_digits()
        X, y = digits.data / 16.0, digits.target
    else:
        data = load(name)
        X, y = data.X, candidate_columns(data)
        if name == "italian":  # a row of each class, and others at random
            rng = np.random.default_rng(0)
            first = np.unique(y, return_index=True)[1]
            others = np.setdiff1d(np.arange(len(y)), first)
            rows = rng.permutation(np.concatenate([first, rng.permutation(others)])[:5_000])
            return X[rows].astype(float), np.unique(y[rows], return_inverse=True)[1], data.candidates[rows]
        if name == "news20":
            X, y = (
                TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(X[:11_314]).astype(float)),
                y[:11_314],
            )
        elif name == "mnist":
            X, y = X[:6_000] / 255.0, y[:6_000]
        else:
            X = X.astype(float)
    return X, y, make_partial_labels(y, n_distractors=2, classes=np.arange(y.max() + 1), random_state=0)


def standardized(X):
    """Return features of unit variance, and of mean 0 if they are dense."""
    return StandardScaler(with_mean=not sp.issparse(X)).fit_transform(X)


def objective(W, X, y):
    """Return the objective on exact labels."""
    scores = np.asarray(X @ W.T)
    return (logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).sum() + 0.5 * (W**2).sum()


def largest_tol(make, X, y, minimum):
    """Return the seconds and the largest tolerance of a power of ten with an objective within the gap."""
    for tol in 10.0 ** np.arange(-2, -10, -1):
        model, seconds = timed(partial(make(tol).fit, X, y))
        if objective(model.coef_, X, y) <= (1 + MAX_GAP) * minimum:
            return seconds, tol
    return np.inf, tol


def peer_solver(X, y, minimum):
    """Return the fastest solver of LogisticRegression within the gap, and its tolerance."""
    best = (np.inf, "", 0.0)
    for solver in SOLVERS:
        if solver == "newton-cholesky" and X.shape[1] * (y.max() + 1) > MAX_CHOLESKY_WEIGHTS:
            continue
        seconds, tol = largest_tol(partial(logistic_regression, solver), X, y, minimum)
        best = min(best, (seconds, solver, tol))
    return best[1:]


def logistic_regression(solver, tol):
    """Return the classifier with the objective of PLEM."""
    return LogisticRegression(solver=solver, tol=tol, fit_intercept=False, max_iter=10_000)


def logistic(*names: str, repeats: int = 5):
    """Print processor seconds of PLEM and LogisticRegression on exact labels, and of PLEM on candidate sets.

    Medians and ranges; the last columns are LogisticRegression / PLEM, and PLEM on sets / on exact labels.
    """
    warnings.simplefilter("ignore")
    print("data\trows\tfeatures\tclasses\tPLEM\tLogisticRegression\tsolver\tPLEM, sets\tratio\tsets")
    for name in names or DATA:
        X, y, sets = task(name)
        for form, features in ((name, X), (f"{name}, standardized", standardized(X))):
            compare_times(form, features, y, sets, repeats)


def compare_times(name, X, y, sets, repeats):
    """Print the line of one data set."""
    exact = CandidateSets.from_labels(y)
    minimum = objective(PLEM().fit(X, exact).coef_, X, y)
    solver, peer_tol = peer_solver(X, y, minimum)
    tol = largest_tol(lambda t: PLEM(tol=t), X, y, minimum)[1]
    sides = {
        "PLEM": lambda: PLEM(tol=tol).fit(X, exact),
        "peer": lambda: logistic_regression(solver, peer_tol).fit(X, y),
        "sets": lambda: PLEM(tol=tol).fit(X, sets),
    }
    seconds = time_alternating(sides, repeats, time.process_time)
    middle = {side: np.median(values) for side, values in seconds.items()}
    cells = {s: f"{middle[s]:.3f} [{min(v):.3f}, {max(v):.3f}]" for s, v in seconds.items()}
    cells["ratio"], cells["sets/exact"] = (f"{middle[s] / middle['PLEM']:.2f}" for s in ("peer", "sets"))
    print(
        f"{name}\t{X.shape[0]}\t{X.shape[1]}\t{y.max() + 1}\t{cells['PLEM']}\t{cells['peer']}\t"
        f"{solver}, {peer_tol:.0e}\t{cells['sets']}\t{cells['ratio']}\t{cells['sets/exact']}",
        flush=True,
    )
