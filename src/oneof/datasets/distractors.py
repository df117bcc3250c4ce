"""Drawing the false candidates: functions that mark extra classes in a mask in which the true ones are marked."""

import numpy as np

from oneof.typing import Floats, Ints, Mask

_BLOCK = 2**22
"""Random numbers drawn at once where a row needs one for each class."""


def add_uniform(mask: Mask, rows: Ints, barred: Ints, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row `count` classes drawn uniformly, without replacement, from those that are not barred.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows : ndarray of shape (m,)
        Rows in which no class is marked but barred ones.
    barred : ndarray of shape (m, n_barred)
        Different classes in each row.
    count : int
        At most n_classes - n_barred.
    rng : Generator

    References
    ----------
    Floyd's algorithm: Bentley & Floyd (1987), A sample of brilliance, Communications of the ACM 30(9).
    """
    barred = np.sort(barred, axis=1)
    free = mask.shape[1] - barred.shape[1]
    for last in range(free - count, free):
        drawn = _skip(rng.integers(0, last + 1, size=len(rows)), barred)
        taken = mask[rows, drawn]
        drawn[taken] = _skip(np.full(np.count_nonzero(taken), last), barred[taken])
        mask[rows, drawn] = True


def add_partners(mask: Mask, rows: Ints, codes: Ints, count: int, epsilon: float, *, rng: np.random.Generator) -> None:
    """Mark in each row its class's partner with probability epsilon, and uniform other classes up to `count`.

    Every class gets one partner, drawn uniformly at the start. Where `count` takes in all other classes, the partner is
    among them whatever epsilon says.
    """
    n_classes = mask.shape[1]
    if count == 0:
        return
    classes = np.arange(n_classes)
    partner = _skip(rng.integers(0, n_classes - 1, size=n_classes), classes[:, None])
    joined = rng.random(len(rows)) < epsilon
    if count == n_classes - 1:
        joined[:] = True
    barred = np.column_stack([codes, partner[codes]])
    mask[rows[joined], partner[codes[joined]]] = True
    add_uniform(mask, rows[joined], barred[joined], count - 1, rng=rng)
    add_uniform(mask, rows[~joined], barred[~joined], count, rng=rng)


def add_weighted(mask: Mask, rows: Ints, codes: Ints, weights: Floats, count: int, *, rng: np.random.Generator) -> None:
    """Mark in each row `count` classes, drawn one after the other without replacement in proportion to weights.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows, codes : ndarray of shape (m,)
        The rows and their true classes.
    weights : ndarray of shape (n_classes, n_classes)
        Row k holds the weights of the extras of class k: at least `count` positive ones, and 0 at k.
    count : int
    rng : Generator
    """
    if count == 0:
        return
    n_classes = mask.shape[1]
    step = max(1, _BLOCK // n_classes)
    for start in range(0, len(rows), step):
        some, weight = rows[start : start + step], weights[codes[start : start + step]]
        # Of independent exponential times with these rates, the order of arrival is that of successive draws.
        with np.errstate(divide="ignore", invalid="ignore"):
            arrival = rng.exponential(size=weight.shape) / weight
        first = np.argpartition(arrival, count - 1, axis=1)[:, :count]
        mask[some[:, None], first] = True


def add_scenes(mask: Mask, rows: Ints, scene: Ints, codes: Ints) -> None:
    """Mark in each of `rows` every class that occurs in its scene.

    Parameters
    ----------
    mask : ndarray of shape (n_samples, n_classes), bool
        Changed in place.
    rows : ndarray of shape (m,)
    scene : ndarray of shape (n_samples,)
        The scene of each row, from 0; -1 for rows in none.
    codes : ndarray of shape (n_samples,)
        The true class of each row, -1 where it is not known.
    """
    present = np.zeros((scene.max(initial=-1) + 1, mask.shape[1]), dtype=bool)
    shown = (scene >= 0) & (codes >= 0)
    present[scene[shown], codes[shown]] = True
    mask[rows] |= present[scene[rows]]


def _skip(index: Ints, barred: Ints) -> Ints:
    """Count past the barred classes, which are sorted in each row."""
    for column in barred.T:
        index = index + (index >= column)
    return index
