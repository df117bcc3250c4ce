"""The data of the races, made once and stored as arrays for every side."""

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

from benchmarks import online
from benchmarks.peers.worker_tools import write_arrays
from benchmarks.semi_supervised import make_blob_labels, mnist_graph
from benchmarks.speed import make_clusters
from oneof import make_partial_labels
from oneof.datasets import load
from oneof.graphs import NeighborGraph

N_TEST = 5_000


def _scaled_size(n, size):
    return max(200, round(n * size))


def mnist_rows(folder, size):
    """60,000 x 784 pixels in [0, 1], labels and sets of two; further rows are for evaluation."""
    X, y, sets = online.dense_rows()
    classes, y = np.unique(y, return_inverse=True)
    try:
        data = load("mnist")
        X_test, y_test = data.X[60_000:][:N_TEST].astype(np.float32) / 255, data.y[60_000:][:N_TEST]
        y_test = np.searchsorted(classes, y_test)
    except online.DataError:
        X_test, y_test = X[-N_TEST:], y[-N_TEST:]
    n = _scaled_size(len(y), size)
    write_arrays(folder, X=X[:n], y=y[:n], mask=sets.mask[:n], X_test=X_test, y_test=y_test)


def synthetic_words(folder, size):
    """100,000 x 50,000 text-like rows, labels and sets of two; the last rows are for evaluation."""
    X, y, sets = online.sparse_rows(_scaled_size(100_000, size) + N_TEST)
    n = len(y) - N_TEST
    write_arrays(folder, X=X[:n], y=y[:n], mask=sets.mask[:n], X_test=X[n:], y_test=y[n:])


def usps_rows(folder, size):
    """USPS, training part, standardized."""
    data = load("usps")
    n = _scaled_size(int(data.n_train), size)
    X = StandardScaler().fit_transform(np.asarray(data.X[:n], dtype=np.float64))
    write_arrays(folder, X=X, y=np.searchsorted(data.classes, data.y[:n]))


def newsgroup_rows(folder, size):
    """20 Newsgroups, training part, TF-IDF in rows of length 1."""
    data = load("news20")
    n = _scaled_size(int(data.n_train), size)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(data.X[:n], dtype=np.float64))
    write_arrays(folder, X=X, y=np.searchsorted(data.classes, data.y[:n]))


def ten_clusters(folder, size):
    """5,000 x 100 rows around the centers of 10 classes."""
    X, y = make_clusters(_scaled_size(5_000, size), 100, 10)
    write_arrays(folder, X=X, y=y)


def make_mnist_rows(n, n_test=1_000):
    """Return a function that makes n rows of MNIST in double precision, with sets of 3."""

    def make(folder, size):
        data, some = load("mnist"), _scaled_size(n, size)
        X = data.X[:some].astype(np.float64) / 255
        y, y_test = (
            np.searchsorted(data.classes, data.y[part]) for part in (slice(some), slice(60_000, 60_000 + n_test))
        )
        X_test = data.X[60_000 : 60_000 + n_test].astype(np.float64) / 255
        write_arrays(
            folder,
            X=X,
            y=y,
            mask=make_partial_labels(y, n_distractors=2, random_state=0).mask,
            X_test=X_test,
            y_test=y_test,
        )

    return make


def length_scale(n=2_000):
    """Return PLGP's default length scale on such rows."""
    X = load("mnist").X[:n].astype(np.float64) / 255
    return float(np.sqrt(X.var(axis=0).sum()))


def blobs(folder, size):
    """20,000 rows of 10 classes, 10 labels per class, and their graph of 7 neighbors."""
    X, y, partial = make_blob_labels(_scaled_size(20_000, size))
    write_arrays(folder, X=X, y=y, partial=partial, W=sp.csr_matrix(NeighborGraph(n_neighbors=7).graph(X).affinity))


def mnist_labels(folder, size):
    """MNIST, a graph of ten neighbors of all rows, and one label a class."""
    W, y = mnist_graph(_scaled_size(70_000, size))
    labeled = [np.random.default_rng(0).choice(np.flatnonzero(y == k)) for k in range(10)]
    partial = np.full(len(y), -1)
    partial[labeled] = y[labeled]
    write_arrays(folder, X=np.zeros((len(y), 1)), y=y, partial=partial, W=sp.csr_matrix(W))


def newsgroup_counts(folder, size):
    """20 Newsgroups, word counts; 15 labeled documents per class; further documents are for evaluation."""
    data = load("news20")
    n = _scaled_size(int(data.n_train), size)
    X, y = sp.csr_matrix(data.X, dtype=np.float64), np.searchsorted(data.classes, data.y)
    rng, partial = np.random.default_rng(0), np.full(n, -1)
    for k in range(20):
        own = np.flatnonzero(y[:n] == k)
        chosen = rng.choice(own, min(15, len(own)), replace=False)
        partial[chosen] = k
    test = slice(int(data.n_train), int(data.n_train) + N_TEST)
    write_arrays(folder, X=X[:n], y=y[:n], partial=partial, X_test=X[test], y_test=y[test])
