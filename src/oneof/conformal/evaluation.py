"""Coverage and mean size of prediction sets."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.candidates import as_candidates, expand_to_predicted
from oneof.errors import InputError, LabelError
from oneof.typing import Mask


@dataclass(frozen=True)
class SetGroup:
    """Coverage and mean size of the prediction sets of some rows.

    Attributes
    ----------
    key : object
        The true class, or the size of the sets.
    n_rows : int
        Number of rows with a true class.
    coverage : float
        The fraction of these rows whose set contains the true class; NaN without such rows.
    mean_size : float
        Mean size of their sets.

    Examples
    --------
    >>> from oneof.conformal import evaluate_sets
    >>> evaluate_sets([["a"], ["a", "b"]], ["b", "b"]).by_size[0]
    SetGroup(key=1, n_rows=1, coverage=0.0, mean_size=1.0)
    """

    key: Any
    n_rows: int
    coverage: float
    mean_size: float


@dataclass(frozen=True)
class SetEvaluation:
    """Coverage and mean size of prediction sets, by class and by size.

    Attributes
    ----------
    coverage : float
        The fraction of the rows with a single true class whose set contains it; NaN without such rows.
    coverage_bounds : tuple of (float, float)
        Bounds of the coverage over all labeled rows: the fractions of sets with all candidates of the row, and with at
        least one.
    mean_size : float
        Mean size of all sets.
    n_exact, n_labeled, n_rows : int
        Numbers of rows with a single true class, with a label, and of all rows.
    by_class : tuple of SetGroup
        For each class that is the true class of a row.
    by_size : tuple of SetGroup
        For each size of a set of a row with a true class.

    Examples
    --------
    >>> from oneof.conformal import evaluate_sets
    >>> result = evaluate_sets([["a"], ["a", "b"], ["c"]], ["b", "b", ["a", "c"]])
    >>> result.coverage, result.coverage_bounds, round(result.mean_size, 2)
    (0.5, (0.3333333333333333, 0.6666666666666666), 1.33)
    """

    coverage: float
    coverage_bounds: tuple[float, float]
    mean_size: float
    n_exact: int
    n_labeled: int
    n_rows: int
    by_class: tuple[SetGroup, ...]
    by_size: tuple[SetGroup, ...]


def evaluate_sets(sets: Any, y: Any) -> SetEvaluation:
    """Return the coverage and the mean size of prediction sets, by class and by size.

    Parameters
    ----------
    sets : CandidateSets or list of sets, of length n_samples
        Prediction sets, such as those of `ConformalClassifier.predict_set`.
    y : array-like or CandidateSets of length n_samples
        True labels, candidate sets, or missing labels. A class that is in no prediction set is not covered.

    Returns
    -------
    SetEvaluation
        Coverage by class and by size is that of the rows with a single true class.

    Raises
    ------
    InputError
        If the lengths differ, or no row of `y` has a label.

    Examples
    --------
    >>> from oneof.conformal import evaluate_sets
    >>> for group in evaluate_sets([["finch"], ["finch", "wren"], ["wren"]], ["finch", "wren", "finch"]).by_class:
    ...     print(group)
    SetGroup(key='finch', n_rows=2, coverage=0.5, mean_size=1.0)
    SetGroup(key='wren', n_rows=1, coverage=1.0, mean_size=2.0)
    """
    predicted = as_candidates(sets)
    truth = expand_to_predicted(y, [], predicted.classes)
    if len(predicted) != len(truth):
        raise InputError(f"`sets` and `y` must have the same length; got {len(predicted)} and {len(truth)}.")
    labeled = ~truth.is_unlabeled
    if not labeled.any():
        raise LabelError("`y` must have a labeled row; every row is unlabeled.")
    column = {label: k for k, label in enumerate(predicted.classes.tolist())}
    padded = np.pad(predicted.mask, ((0, 0), (0, 1)))  # the last column is that of classes in no prediction set
    inside = padded[:, [column.get(label, -1) for label in truth.classes.tolist()]]
    exact = truth.is_exact
    hit = np.asarray((inside & truth.mask).any(axis=1))
    all_inside = np.asarray((inside | ~truth.mask).all(axis=1))
    true_class, sizes = truth.mask.argmax(axis=1), predicted.sizes

    def group(key: Any, rows: Mask) -> SetGroup:
        return SetGroup(key, int(rows.sum()), float(hit[rows].mean()), float(sizes[rows].mean()))

    names = truth.classes.tolist()
    return SetEvaluation(
        coverage=float(hit[exact].mean()) if exact.any() else float("nan"),
        coverage_bounds=(float(all_inside[labeled].mean()), float(hit[labeled].mean())),
        mean_size=float(sizes.mean()),
        n_exact=int(exact.sum()),
        n_labeled=int(labeled.sum()),
        n_rows=len(truth),
        by_class=tuple(group(names[k], exact & (true_class == k)) for k in np.unique(true_class[exact]).tolist()),
        by_size=tuple(group(size, exact & (sizes == size)) for size in np.unique(sizes[exact]).tolist()),
    )
