"""The data of the races: those of the other benchmarks, drawn once and kept as arrays that every side reads."""

import batch
import numpy as np
import online
import scipy.sparse as sp
from sides.arrays import write
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

import graphs
from oneof import make_partial_labels
from oneof.datasets import load
from oneof.graphs import NeighborGraph

N_TEST = 5_000


def _some(n, size):
    return max(200, round(n * size))


def mnist_rows(folder, size):
    """60,000 x 784 pixels in [0, 1], labels and sets of two; further rows are judged."""
    X, y, sets = online.dense_rows()
    classes, y = np.unique(y, return_inverse=True)
    try:
        data = load("mnist")
        X_test, y_test = data.X[60_000:][:N_TEST].astype(np.float32) / 255, data.y[60_000:][:N_TEST]
        y_test = np.searchsorted(classes, y_test)
    except online.DataError:
        X_test, y_test = X[-N_TEST:], y[-N_TEST:]
    n = _some(len(y), size)
    write(folder, X=X[:n], y=y[:n], mask=sets.mask[:n], X_test=X_test, y_test=y_test)


def words(folder, size):
    """100,000 x 50,000 rows like text, labels and sets of two; the last ones are judged."""
    X, y, sets = online.sparse_rows(_some(100_000, size) + N_TEST)
    n = len(y) - N_TEST
    write(folder, X=X[:n], y=y[:n], mask=sets.mask[:n], X_test=X[n:], y_test=y[n:])


def usps_rows(folder, size):
    """USPS, training part, standardized."""
    data = load("usps")
    n = _some(int(data.n_train), size)
    X = StandardScaler().fit_transform(np.asarray(data.X[:n], dtype=np.float64))
    write(folder, X=X, y=np.searchsorted(data.classes, data.y[:n]))


def documents(folder, size):
    """20 Newsgroups, training part, TF-IDF in rows of length 1."""
    data = load("news20")
    n = _some(int(data.n_train), size)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(data.X[:n], dtype=np.float64))
    write(folder, X=X, y=np.searchsorted(data.classes, data.y[:n]))


def ten_clusters(folder, size):
    """5,000 x 100 rows around the centers of 10 classes."""
    X, y = batch.clusters(_some(5_000, size), 100, 10)
    write(folder, X=X, y=y)


def process_rows(n, n_test=1_000):
    """Return a maker of n rows of MNIST in double precision, with sets of 3."""

    def make(folder, size):
        data, some = load("mnist"), _some(n, size)
        X = data.X[:some].astype(np.float64) / 255
        y, y_test = (
            np.searchsorted(data.classes, data.y[part]) for part in (slice(some), slice(60_000, 60_000 + n_test))
        )
        X_test = data.X[60_000 : 60_000 + n_test].astype(np.float64) / 255
        write(
            folder,
            X=X,
            y=y,
            mask=make_partial_labels(y, n_distractors=2, random_state=0).mask,
            X_test=X_test,
            y_test=y_test,
        )

    return make


def length_of(n=2_000):
    """Return the length scale that PLGP takes by default on such rows."""
    X = load("mnist").X[:n].astype(np.float64) / 255
    return float(np.sqrt(X.var(axis=0).sum()))


def blobs(folder, size):
    """20,000 rows of 10 classes, 10 labels a class, and their graph of 7 neighbors."""
    X, y, known = graphs.clusters(_some(20_000, size))
    write(folder, X=X, y=y, known=known, W=sp.csr_matrix(NeighborGraph(n_neighbors=7).graph(X).affinity))


def counts(folder, size):
    """20 Newsgroups, word counts; 15 labeled documents a class, and further documents are judged."""
    data = load("news20")
    n = _some(int(data.n_train), size)
    X, y = sp.csr_matrix(data.X, dtype=np.float64), np.searchsorted(data.classes, data.y)
    random, known = np.random.default_rng(0), np.full(n, -1)
    for k in range(20):
        own = np.flatnonzero(y[:n] == k)
        chosen = random.choice(own, min(15, len(own)), replace=False)
        known[chosen] = k
    test = slice(int(data.n_train), int(data.n_train) + N_TEST)
    write(folder, X=X[:n], y=y[:n], known=known, X_test=X[test], y_test=y[test])
