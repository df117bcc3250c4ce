"""Synthetic blobs with candidate sets."""

import numpy as np

from oneof.datasets import make_partial_labels
from oneof.solvers.loo_ridge.loo_operators import Landmarks, NystroemRidge


def blobs(n=60, K=4, d=3, seed=0, frequencies=None, spread=2.0):
    """Return rows around K centers, and their classes."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(K, n, p=frequencies)
    truth[:K] = np.arange(K)
    return rng.normal(size=(K, d))[truth] * spread + rng.normal(size=(n, d)), truth


def gram_of(X, Y=None):
    """Return the Gram matrix of an RBF kernel."""
    Y = X if Y is None else Y
    return np.exp(-0.3 * ((X[:, None] - Y[None]) ** 2).sum(axis=2) / X.shape[1])


class GivenCross:
    """A kernel of rows that are given by their values with the landmarks."""

    def transform(self, X):
        return [X]

    def gram(self, rows, *_):
        return rows[0]


def nystroem_ridge(cross, gram, lam):
    """Return the ridge in memory, from the kernel of the rows and the landmarks and from that of the landmarks."""
    return NystroemRidge.in_memory(cross, Landmarks.from_rows(GivenCross(), [gram], cross), lam)


def sets_of(truth, distractors="uniform", n_distractors=1, seed=0):
    """Return the mask of candidate sets; a scene has n_distractors + 1 rows."""
    return make_partial_labels(
        truth, n_distractors=n_distractors, distractors=distractors, random_state=seed
    ).mask.copy()


def dictionary(n=600, K=6, n_words=40, seed=0):
    """Return rows, their classes, and a mask of sets from a dictionary of words.

    A word has two or three tags: a main tag of about 95 % of its rows, and minor tags. Some tags are the main tag of
    many words, and words have very unequal frequencies. A row's features depend on its tag, not on the word.
    """
    rng = np.random.default_rng(seed)
    tag_frequencies = 1.0 / np.arange(1, K + 1)
    tags = [
        rng.choice(K, size, replace=False, p=tag_frequencies / tag_frequencies.sum())
        for size in rng.integers(2, 4, n_words)
    ]
    word_frequencies = 1.0 / np.arange(1, n_words + 1) ** 0.7
    words = rng.choice(n_words, n, p=word_frequencies / word_frequencies.sum())
    truth = np.array([tags[w][0] if rng.random() < 0.95 else rng.choice(tags[w][1:]) for w in words])
    mask = np.zeros((n, K), dtype=bool)
    for i, w in enumerate(words):
        mask[i, tags[w]] = True
    centers = np.random.default_rng(seed + 1).normal(size=(K, 5))
    return 2.0 * centers[truth] + rng.normal(size=(n, 5)), truth, mask


def similar_words(n=600, K=6, n_words=120, seed=0):
    """Return rows, their classes, and a mask of sets from a dictionary, with similar rows in each set.

    Five features depend on the tag, and ten more on the set, so that a kernel predicts rows from those of the same set.
    """
    X, truth, mask = dictionary(n, K, n_words, seed)
    group = np.unique(mask, axis=0, return_inverse=True)[1].reshape(-1)
    offsets = np.random.default_rng(seed + 2).normal(size=(group.max() + 1, 10))[group]
    noise = 0.3 * np.random.default_rng(seed + 3).normal(size=offsets.shape)
    return np.hstack([2.0 * X, offsets + noise]), truth, mask


def recordings(n_recordings=50, K=18, d=12, n_rows=(10, 25), missing=0.12, seed=0):
    """Return rows, their classes, and a mask with the list of each recording, which lacks some classes of its rows.

    The rows of a recording have a common offset, and the classes of its list have unequal shares.
    """
    rng = np.random.default_rng(seed)
    centers, rows, truth, mask = rng.normal(size=(K, d)), [], [], []
    for _ in range(n_recordings):
        listed = rng.choice(K, rng.integers(2, 6), replace=False)
        others, offset = np.setdiff1d(np.arange(K), listed), rng.normal(size=d)
        shares = rng.dirichlet(np.full(len(listed), 1.5))
        for _ in range(rng.integers(*n_rows)):
            truth.append(rng.choice(others) if rng.random() < missing else rng.choice(listed, p=shares))
            rows.append(centers[truth[-1]] + offset + rng.normal(size=d))
            mask.append(np.isin(np.arange(K), listed))
    return np.array(rows), np.array(truth), np.array(mask)


def weights_of(mask, seed=0):
    """Return weights of the classes: three of four partial rows have weights, and some rows have them for all classes.

    Weights are rounded up to a few values, so that several rows of a set have equal ones.
    """
    rng = np.random.default_rng(seed)
    weights = np.where(mask, np.ceil(rng.random(mask.shape) * 8) / 8, 0.0)
    weights /= weights.max(axis=1, keepdims=True)
    weights[::4] = mask[::4]
    weights[5::13] = np.ceil(rng.random(weights[5::13].shape) * 8) / 8
    weights[5::13, 0] = 1.0
    weights[5::13, 1] = 0.5
    return weights


def small_problem(distractors):
    """Return rows and sets, some of them exact."""
    if distractors == "dictionary":
        X, truth, mask = dictionary(100, 5, n_words=8)
    else:
        X, truth = blobs(40, 5)
        mask = sets_of(truth, distractors)
    mask[::7] = np.eye(mask.shape[1], dtype=bool)[truth[::7]]
    return X, mask
