"""Shared functions of the experiments of Nguyen & Caruana (2008): data sets, splits, parameter search."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.typing import Floats, Ints, Mask
from reproduction.data import load_arrays
from reproduction.trial import Trial

CITATION = "Nguyen & Caruana (2008), Classification with partial labels, KDD"
LAMS = tuple(10.0**i for i in range(-3, 4))
DEGREES = (1, 2, 3, 4, 5)
SIZES = (2, 3, 4, 5)
COUNTS = (100, 200, 400, 800)
# Numbers of training and test rows in the paper. Official splits of this size are used.
ROWS = {
    "letter": (15_000, 5_000), "mnist": (60_000, 10_000), "pendigits": (8_992, 2_000),
    "satimage": (4_435, 2_000), "segment": (1_960, 350), "usps": (7_291, 2_007),
}  # fmt: skip
SETS = tuple(ROWS)
TOL, MAX_ITER = 1e-3, 50
PROTOCOL = [
    "Features are scaled to [-1, 1], and the pixels of mnist to [0, 1], as in LIBSVM's scaled data. The splits are "
    "official for mnist, satimage and usps; those of letter (15,000 training and 5,000 test rows), pendigits "
    "(8,992, 2,000) and segment (1,960, 350) have the paper's sizes and were drawn once with a fixed seed.",
    "The kernel is (x . x')^p. Lambda of 1e-3, ..., 1e3 and p of 1, ..., 5 are chosen together by two folds (ties go "
    "to the smoother: larger lambda, then smaller p).",
    "PL-SVM is solved by our concave-convex procedure with tolerance 1e-3, not by the published steps; the "
    "objective is the same.",
]


class Split(NamedTuple):
    """A data set with the paper's training and test rows."""

    X: Floats
    y: Ints
    train: Ints
    test: Ints
    n_classes: int


@cache
def split(name: str) -> Split:
    """Load a data set with its training and its test rows."""
    data = load_arrays(name, "bytes" if name == "mnist" else "range")
    n_train, n_test = ROWS[name]
    if data.n_train == n_train:
        rows = np.arange(n_train + n_test)
    else:
        rows = Trial.from_settings("plsvm-split", data=name).generator().permutation(len(data.y))[: n_train + n_test]
    return Split(data.X, data.y, rows[:n_train], rows[n_train:], data.mask.shape[1])


class Problem:
    """Training and test rows with their inner products, of which every kernel is a power."""

    def __init__(self, data: Split, rows: Ints, tests: Ints) -> None:
        self.y, self.truth, self.n_classes = data.y[rows], data.y[tests], data.n_classes
        X = data.X[rows].astype(np.float64)
        self.products, self.cross = X @ X.T, data.X[tests].astype(np.float64) @ X.T

    def exact(self, rows: Ints) -> Mask:
        """Return the mask of the true labels."""
        return np.asarray(np.eye(self.n_classes, dtype=bool)[self.y[rows]])

    def accuracy(self, rows: Ints, mask: Mask, lam: float, degree: int) -> float:
        """Return the test accuracy of an SVM that was fitted to some rows and their candidate sets."""
        gram = self.products[np.ix_(rows, rows)] ** degree
        decided = _fit_predict(gram, mask, self.cross[:, rows] ** degree, lam)
        return float((decided == self.truth).mean())

    def choose(self, rows: Ints, mask: Mask, rng: np.random.Generator) -> tuple[float, int]:
        """Return lambda and degree with the highest covering rate over two folds."""
        order = rng.permutation(len(rows))
        folds = order[::2], order[1::2]
        scores: dict[tuple[float, int], float] = {}
        for degree in DEGREES:
            gram = self.products[np.ix_(rows, rows)] ** degree
            for lam in LAMS:
                hits = 0
                for train, test in (folds, folds[::-1]):
                    if mask[train].any(axis=0).sum() < 2:
                        continue
                    decided = _fit_predict(gram[np.ix_(train, train)], mask[train], gram[np.ix_(test, train)], lam)
                    hits += int(mask[test, decided].sum())
                scores[lam, degree] = hits
        return max(scores, key=lambda chosen: (scores[chosen], chosen[0], -chosen[1]))


def _fit_predict(gram: Floats, mask: Mask, cross: Floats, lam: float) -> Ints:
    from oneof.estimators.svm.plsvm import PLSVM

    svm = PLSVM(lam, kernel="precomputed", tol=TOL, max_iter=MAX_ITER)
    sets = CandidateSets(mask, np.arange(mask.shape[1]))
    return np.asarray(svm.fit(gram, sets).predict(cross))


def test_rows(data: Split, count: int | None) -> Ints:
    """Return the test rows, or the first `count` of them."""
    return data.test if count is None else data.test[:count]


def make_nested_sets(mask: Mask, sizes: Iterable[int], rng: np.random.Generator) -> dict[int, Mask]:
    """Return nested candidate sets of several sizes around exact labels."""
    # A random order of the classes for each row, the true one first: a set of size s has the first s classes.
    order = np.argsort(np.where(mask, -1.0, rng.random(mask.shape)), axis=1)
    index = np.argsort(order, axis=1)
    return {size: index < size for size in sizes}
