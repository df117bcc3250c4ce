"""The data sets of the experiments, read once in each process and brought to the scale that a protocol names."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from oneof.typing import Floats, Ints, Mask


class Numbers(NamedTuple):
    """A data set as arrays, which are shared and not to be changed."""

    X: Floats
    """(n, d)."""
    y: Ints
    """(n,): index of the true class."""
    mask: Mask
    """(n, K): the candidate sets that the data set comes with."""
    n_train: int | None


@cache
def numbers(name: str, scale: str) -> Numbers:
    """Load a data set with dense features.

    Parameters
    ----------
    name : str
    scale : {"none", "standard", "bytes", "range"}
        "standard": mean 0 and variance 1 of every feature; "bytes": divided by 255, float32; "range": every feature
        from -1 to 1, as LIBSVM's data come. Over all rows, without labels; a missing number becomes the mean.
    """
    from oneof.datasets import load

    data = load(name)
    X = _scaled(np.asarray(data.X), scale)
    column = {label: k for k, label in enumerate(data.classes.tolist())}
    y = np.array([column[label] for label in data.y.tolist()], dtype=np.int64)
    for array in (X, y):
        array.flags.writeable = False
    return Numbers(X, y, data.candidates.mask, data.n_train)


def _scaled(X: Any, scale: str) -> Floats:
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
