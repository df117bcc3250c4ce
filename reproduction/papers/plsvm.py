"""What the experiments of Nguyen & Caruana (2008) share: the sets, their splits, and how parameters are chosen."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.typing import Floats, Ints, Mask
from reproduction.data import numbers
from reproduction.trial import Trial

CITATION = "Nguyen & Caruana (2008), Classification with partial labels, KDD"
LAMS = tuple(10.0**i for i in range(-3, 4))
DEGREES = (1, 2, 3, 4, 5)
SIZES = (2, 3, 4, 5)
COUNTS = (100, 200, 400, 800)
# Rows to train and to test by, as the paper has them. Official splits are kept where they are of this size.
ROWS = {
    "letter": (15_000, 5_000), "mnist": (60_000, 10_000), "pendigits": (8_992, 2_000),
    "satimage": (4_435, 2_000), "segment": (1_960, 350), "usps": (7_291, 2_007),
}  # fmt: skip
SETS = tuple(ROWS)
TOL, MAX_ITER = 1e-3, 50
PROTOCOL = [
    "Features run from -1 to 1, and the pixels of mnist from 0 to 1, as in LIBSVM's scaled data. The splits are "
    "official for mnist, satimage and usps; those of letter (15,000 to train, 5,000 to test), pendigits (8,992, "
    "2,000) and segment (1,960, 350) are of the paper's sizes, drawn once by a fixed seed.",
    "The kernel is (x . x')^p. Lambda of 1e-3, ..., 1e3 and p of 1, ..., 5 are chosen together by two folds (ties go "
    "to the smoother: larger lambda, then smaller p).",
    "PL-SVM is solved by our concave-convex procedure to a tolerance of 1e-3, not by the published steps: same "
    "objective.",
]


class Split(NamedTuple):
    """The rows of a set, in the paper's parts."""

    X: Floats
    y: Ints
    train: Ints
    test: Ints
    n_classes: int


@cache
def split(name: str) -> Split:
    """Return a set with its training and its test part."""
    data = numbers(name, "bytes" if name == "mnist" else "range")
    n_train, n_test = ROWS[name]
    if data.n_train == n_train:
        rows = np.arange(n_train + n_test)
    else:
        rows = Trial.of("plsvm-split", data=name).generator().permutation(len(data.y))[: n_train + n_test]
    return Split(data.X, data.y, rows[:n_train], rows[n_train:], data.mask.shape[1])


class Problem:
    """Rows to learn from and rows to judge by, with the products of all pairs, of which every kernel is a power."""

    def __init__(self, data: Split, rows: Ints, tests: Ints) -> None:
        self.y, self.truth, self.n_classes = data.y[rows], data.y[tests], data.n_classes
        X = data.X[rows].astype(np.float64)
        self.products, self.cross = X @ X.T, data.X[tests].astype(np.float64) @ X.T

    def exact(self, rows: Ints) -> Mask:
        """Return the sets of the true labels alone."""
        return np.asarray(np.eye(self.n_classes, dtype=bool)[self.y[rows]])

    def accuracy(self, rows: Ints, mask: Mask, lam: float, degree: int) -> float:
        """Return the accuracy on the test rows of a machine that has learned from some rows and their sets."""
        gram = self.products[np.ix_(rows, rows)] ** degree
        decided = _decide(gram, mask, self.cross[:, rows] ** degree, lam)
        return float((decided == self.truth).mean())

    def choose(self, rows: Ints, mask: Mask, random: np.random.Generator) -> tuple[float, int]:
        """Return lambda and degree with the most decisions within their sets, over two folds."""
        order = random.permutation(len(rows))
        folds = order[::2], order[1::2]
        scores: dict[tuple[float, int], float] = {}
        for degree in DEGREES:
            gram = self.products[np.ix_(rows, rows)] ** degree
            for lam in LAMS:
                hits = 0
                for learned, judged in (folds, folds[::-1]):
                    if mask[learned].any(axis=0).sum() < 2:
                        continue
                    decided = _decide(gram[np.ix_(learned, learned)], mask[learned], gram[np.ix_(judged, learned)], lam)
                    hits += int(mask[judged, decided].sum())
                scores[lam, degree] = hits
        return max(scores, key=lambda chosen: (scores[chosen], chosen[0], -chosen[1]))


def _decide(gram: Floats, mask: Mask, cross: Floats, lam: float) -> Ints:
    from oneof.estimators.plsvm import PLSVM

    machine = PLSVM(lam, kernel="precomputed", tol=TOL, max_iter=MAX_ITER)
    sets = CandidateSets(mask, np.arange(mask.shape[1]))
    return np.asarray(machine.fit(gram, sets).predict(cross))


def tests_of(data: Split, count: int | None) -> Ints:
    """Return the test rows, or the first of them."""
    return data.test if count is None else data.test[:count]


def sets_of(mask: Mask, sizes: Iterable[int], random: np.random.Generator) -> dict[int, Mask]:
    """Return candidate sets of several sizes around exact labels, each within the next larger one."""
    # A random order of the classes for each row, the true one first: a set of size s is the first s of them.
    order = np.argsort(np.where(mask, -1.0, random.random(mask.shape)), axis=1)
    place = np.argsort(order, axis=1)
    return {size: place < size for size in sizes}
