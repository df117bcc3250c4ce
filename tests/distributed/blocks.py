"""Data of the tests of blocks: partial labels that a linear model can fit, with some unlabeled rows."""

import dask.array as da
import numpy as np

from oneof import CandidateSets


def table(n=240, d=5, n_classes=3, seed=0):
    """Return rows, their candidate sets with every tenth row unlabeled, and the true labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    label = (X @ rng.normal(size=(d, n_classes)) + 0.3 * rng.normal(size=(n, n_classes))).argmax(axis=1)
    mask = rng.random((n, n_classes)) < 0.3
    mask[np.arange(n), label] = True
    mask[::10] = True
    return X, CandidateSets(mask, [f"class {k}" for k in range(n_classes)]), label


def in_blocks(X, lengths):
    """Return a dask array of rows in blocks of these lengths."""
    return da.from_array(X, chunks=(tuple(lengths), (X.shape[1],)))
