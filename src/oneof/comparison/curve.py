"""How a method gains from more labeled rows."""

import dataclasses
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from oneof.comparison.folds import Progress, attempt, folds_of, read_task
from oneof.comparison.results import FoldResult, plain, summarize
from oneof.errors import InputError
from oneof.validation import check_random_state


@dataclass(frozen=True)
class LearningCurve:
    """Held-out scores against the number of labeled training rows.

    Attributes
    ----------
    n_rows : tuple of int
        Labeled training rows.
    covering_rate, covering_rate_std : tuple of float
        Mean and standard deviation over the folds; NaN where the method failed.
    accuracy, accuracy_std : tuple of float or None
        None where no truth is known.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.comparison import learning_curve
    >>> curve = learning_curve(PLKNN(n_neighbors=1), [[k] for k in range(8)], [0] * 4 + [1] * 4, shares=[0.5, 1], cv=2)
    >>> curve.n_rows
    (2, 4)
    """

    n_rows: tuple[int, ...]
    covering_rate: tuple[float, ...]
    covering_rate_std: tuple[float, ...]
    accuracy: tuple[float, ...] | None
    accuracy_std: tuple[float, ...] | None

    def to_dict(self) -> dict[str, Any]:
        """Return the curve in the types of JSON.

        Returns
        -------
        dict
        """
        return plain(dataclasses.asdict(self))


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    truth: Any = None,
    shares: Iterable[float] = (0.1, 0.2, 0.4, 0.7, 1.0),
    cv: Any = 5,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> LearningCurve:
    """Score an estimator that learns from growing numbers of labeled rows.

    Each fold has one test part and one random order of its labeled training rows; a smaller number of rows is the
    beginning of a larger one. The other labeled rows are left out; unlabeled rows are always there.

    Parameters
    ----------
    estimator : estimator or Pipeline
        Cloned, never fitted itself.
    X, y, truth
        As in `compare`.
    shares : iterable of float, default=(0.1, 0.2, 0.4, 0.7, 1.0)
        Shares of the labeled training rows of the smallest fold, in (0, 1].
    cv, random_state, progress
        As in `compare`.

    Returns
    -------
    LearningCurve
        One entry a share, in the order given; shares that come to the same number of rows are one entry. Where the
        estimator raises in some fold, as it may on very few rows, the entry is NaN.

    Raises
    ------
    InputError
        If a share is not in (0, 1], or X, y and truth differ in length.

    Examples
    --------
    >>> from oneof import PLKNN
    >>> from oneof.comparison import learning_curve
    >>> X, y = [[k / 10] for k in range(20)], [["finch"]] * 10 + [["wren", "owl"], ["wren"]] * 5
    >>> learning_curve(PLKNN(n_neighbors=1), X, y, shares=[0.2, 1.0], cv=2).n_rows
    (2, 10)
    """
    # scikit-learn's own learning_curve would count unlabeled rows, knows one score at a time and reports no progress.
    shares = list(shares) if isinstance(shares, Iterable) else []
    if not shares or not all(isinstance(share, numbers.Real) and 0 < share <= 1 for share in shares):
        raise InputError(f"`shares` must be one or more shares above 0, and at most 1; got {shares}.")
    task = read_task(X, y, truth)
    unlabeled = task.candidates.is_unlabeled
    rng = check_random_state(random_state)
    splits = [
        (train[unlabeled[train]], rng.permutation(train[~unlabeled[train]]), test)
        for train, test in folds_of(task, cv, random_state)
    ]
    most = min(len(labeled) for _, labeled, _ in splits)
    sizes = list(dict.fromkeys(max(1, round(share * most)) for share in shares))
    outcomes: list[list[FoldResult]] = []
    for size in sizes:
        outcomes.append([])
        for silent, labeled, test in splits:
            train = np.sort(np.concatenate([silent, labeled[:size]]))
            outcomes[-1].append(attempt(estimator, task, train, test))
            if progress is not None:
                done = (len(outcomes) - 1) * len(splits) + len(outcomes[-1])
                progress(done, len(sizes) * len(splits), f"{size} rows")
    points = [summarize(f"{size} rows", tuple(folds)) for size, folds in zip(sizes, outcomes, strict=True)]
    judged = all(point.accuracy is not None for point in points)
    return LearningCurve(
        n_rows=tuple(sizes),
        covering_rate=tuple(point.covering_rate for point in points),
        covering_rate_std=tuple(point.covering_rate_std for point in points),
        accuracy=tuple(point.accuracy for point in points if point.accuracy is not None) if judged else None,
        accuracy_std=tuple(point.accuracy_std for point in points if point.accuracy_std is not None)
        if judged
        else None,
    )
