"""The data sets of the experiments, loaded once in each process and scaled as a protocol requires."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from oneof.errors import DataError
from oneof.typing import Floats, Ints, Mask


class Arrays(NamedTuple):
    """A data set as read-only arrays, which all trials of a process share."""

    X: Floats
    """(n, d)."""
    y: Ints
    """(n,): index of the true class."""
    mask: Mask
    """(n, K): the candidate sets of the data set."""
    n_train: int | None


@cache
def load_arrays(name: str, scale: str) -> Arrays:
    """Load a data set with dense features.

    Parameters
    ----------
    name : str
    scale : {"none", "standard", "bytes", "range"}
        "standard": mean 0 and variance 1 of every feature; "bytes": divided by 255, float32; "range": every feature
        from -1 to 1, as in LIBSVM's data. Computed over all rows, without labels; a missing number becomes the mean.
    """
    from oneof.datasets import load

    data = load(name)
    X = _scale(np.asarray(data.X), scale)
    column = {label: k for k, label in enumerate(data.classes.tolist())}
    y = np.array([column[label] for label in data.y.tolist()], dtype=np.int64)
    for array in (X, y):
        array.flags.writeable = False
    return Arrays(X, y, data.candidates.mask, data.n_train)


def _scale(X: Any, scale: str) -> Floats:
    if scale == "bytes":
        return np.ascontiguousarray(X, dtype=np.float32) / np.float32(255)
    X = X.astype(np.float64)
    if np.isnan(X).any():
        X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if scale == "none":
        return X
    low, spread = (X.mean(axis=0), X.std(axis=0)) if scale == "standard" else (X.min(axis=0), np.ptp(X, axis=0))
    X = (X - low) / np.where(spread > 0, spread, 1.0)
    return X if scale == "standard" else 2.0 * X - 1.0


def vocabulary(name: str) -> list[str]:
    """Return the word of each column of a text data set, which is not part of a `Dataset`.

    Raises
    ------
    DataError
        If the file of the data set is missing, or does not contain the words.
    """
    from oneof.datasets.cache import data_folders

    path = next((path for folder in data_folders(None) if (path := folder / f"{name}.npz").exists()), None)
    if path is None:
        raise DataError(f"{name}.npz was not found. Put it into a folder and set $ONEOF_DATA to that folder.")
    with np.load(path, allow_pickle=False) as archive:
        if "vocabulary" not in archive:
            raise DataError(f"{path} must contain the array 'vocabulary', the words of its columns; it does not.")
        return [str(word) for word in archive["vocabulary"]]


def without_stop_words(counts: Any, words: list[str], *, stems: bool) -> Any:
    """Return the counts of all words except the English stop words as float64 CSR, of word stems if requested."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    selected = [j for j, word in enumerate(words) if word not in ENGLISH_STOP_WORDS]
    terms = [words[j] for j in selected]
    if stems:
        from oneof.text import StemTokenizer

        stem = StemTokenizer("english")
        terms = [stem(term)[0] for term in terms]
    _, columns = np.unique(terms, return_inverse=True)
    merge = sp.csr_array((np.ones(len(selected)), (selected, columns)), shape=(len(words), int(columns.max()) + 1))
    return sp.csr_array(sp.csr_array(counts).astype(np.float64) @ merge)
