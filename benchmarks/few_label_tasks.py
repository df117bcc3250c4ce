"""Tasks with few labels: made from data sets with many, and the splits of the benchmark of Chapelle et al. (2006)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.choosing_tasks import drop_rare_columns, labeled_rows
from oneof.datasets import load

N_ROWS = 800
SOURCES = (
    "mfeat_factors",
    "mfeat_fourier",
    "mfeat_karhunen",
    "mfeat_morphological",
    "mfeat_pixel",
    "mfeat_zernike",
    "pendigits",
    "satimage",
    "usps",
    "letter",
    "segment",
    "news20",
    "reuters21578",
    "ionosphere",
    "wdbc",
    "pima",
)
"""Data sets for development. USPS and Text of the benchmark have images and documents of `usps` and `news20`."""
KINDS = ("pair", "rest", "halves", "all")
BOOK_SETS = ("digit1", "usps", "g241c", "text")
N_SPLITS = 12


class FewLabelTask(NamedTuple):
    """Rows, the true class of each, and the rows that are labeled."""

    source: str
    kind: str
    n_labels: int
    seed: int
    X: Any
    truth: np.ndarray
    labeled: np.ndarray

    @property
    def name(self) -> str:
        """The name of the task, which is unique."""
        return f"{self.source}-{self.kind}-{self.n_labels}-{self.seed}"

    @property
    def labels(self) -> np.ndarray:
        """The labels, -1 for unlabeled rows."""
        labels = np.full(len(self.truth), -1)
        labels[self.labeled] = self.truth[self.labeled]
        return labels


def draw_labeled(truth: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows drawn uniformly, after one row of each class."""
    order = rng.permutation(len(truth))
    first = order[np.unique(truth[order], return_index=True)[1]]
    others = order[~np.isin(order, first)]
    return np.sort(np.concatenate([first, others[: number - len(first)]]))


def made_task(source: str, kind: str, n_labels: int, seed: int) -> FewLabelTask:
    """Make a task of at most `N_ROWS` rows.

    The classes are two random ones ("pair"), one against the rest, two random halves of the classes, or all of them, at
    most ten. Word counts become TF-IDF.
    """
    X, truth = labeled_rows(source, 100_000, seed)
    K = truth.max() + 1
    rng = np.random.default_rng([seed, KINDS.index(kind), n_labels])
    order = rng.permutation(K)
    if kind == "pair":
        rows = np.isin(truth, order[:2])
        X, truth = X[rows], (truth[rows] == order[0]).astype(int)
    elif kind == "rest":
        truth = (truth == order[0]).astype(int)
    elif kind == "halves":
        truth = np.isin(truth, order[: K // 2]).astype(int)
    elif K > 10:
        rows = np.isin(truth, order[:10])
        X, truth = X[rows], np.unique(truth[rows], return_inverse=True)[1]
    X, truth = X[:N_ROWS], truth[:N_ROWS]
    truth = np.unique(truth, return_inverse=True)[1]
    if sp.issparse(X):
        X = TfidfTransformer(sublinear_tf=True).fit_transform(drop_rare_columns(X))
    return FewLabelTask(source, kind, n_labels, seed, X, truth, draw_labeled(truth, n_labels, rng))


def made_tasks(seed: int) -> Iterator[FewLabelTask]:
    """Yield the tasks of a seed."""
    for source in SOURCES:
        is_binary = source in ("ionosphere", "wdbc", "pima")
        for kind in ("all",) if is_binary else KINDS:
            for n_labels in (100,) if kind == "all" and not is_binary else (10, 100) if kind != "pair" else (10,):
                yield made_task(source, kind, n_labels, seed)


def book_tasks() -> Iterator[FewLabelTask]:
    """Yield the official splits of the benchmark."""
    for name in BOOK_SETS:
        data = load(f"ssl_{name}")
        X = data.X.tocsr() if sp.issparse(data.X) else np.asarray(data.X, dtype=float)
        truth = np.searchsorted(data.classes, data.y)
        for n_labels in (10, 100):
            for split in range(N_SPLITS):
                yield FewLabelTask(name, "book", n_labels, split, X, truth, np.sort(data.splits[n_labels][split]))
