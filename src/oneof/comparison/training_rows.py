"""Training rows of a split as the methods get them: features computed once, and labels corrected once.

The vectorizer of 80,000 texts takes longer than a linear method. Pipelines that begin with the same object, such as
those of the command line, get its features: it is fitted to the training rows of the split, as in each of them. The
given labels may be replaced by corrected ones, such as those of an audit, which is fitted to the training rows too.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from oneof.candidates import CandidateSets
from oneof.comparison.folds import Task
from oneof.errors import InputError
from oneof.typing import Ints

Part = tuple[Ints, Ints, Ints]
"""The training rows, the test rows, and further rows that are predicted."""
Correction = Callable[[Ints], CandidateSets]
"""``correct(rows)`` returns the candidate sets to which the methods are fitted on these training rows."""


class SharedFeatures(NamedTuple):
    """The rows of one split as features, in the order training, test, further; the methods without their first step."""

    estimators: dict[str, Any]
    task: Task
    parts: list[Part]


def has_shared_step(estimators: Mapping[str, Any]) -> bool:
    """Return whether there are several pipelines, and all begin with the same object."""
    steps = [estimator.steps for estimator in estimators.values() if isinstance(estimator, Pipeline)]
    if len(estimators) < 2 or len(steps) < len(estimators) or min(map(len, steps)) < 2:
        return False
    first = steps[0][0][1]
    return hasattr(first, "fit") and all(step[0][1] is first for step in steps)


def share_features(estimators: Mapping[str, Any], task: Task, part: Part) -> SharedFeatures | None:
    """Return the features of one split by the step with which all pipelines begin, see `has_shared_step`.

    None if the step raises an error, which each method then has for itself.
    """
    train, test, further = part
    encoder = clone(next(iter(estimators.values())).steps[0][1])
    index = np.arange(len(task.candidates))
    rows = [index[selected] for selected in (train, test, further)]
    try:
        blocks = [encoder.fit_transform(_safe_indexing(task.X, rows[0]), task.candidates[rows[0]])]
        blocks += [encoder.transform(_safe_indexing(task.X, selected)) for selected in rows[1:] if len(selected)]
    except Exception:  # an error of one step must not end a comparison
        return None
    order = np.concatenate(rows)
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate([np.asarray(b) for b in blocks])
    truth = None if task.truth is None else task.truth[order]
    ends = np.cumsum([len(selected) for selected in rows])
    numbers = np.arange(len(order))
    return SharedFeatures(
        {name: Pipeline(estimator.steps[1:]) for name, estimator in estimators.items()},
        Task(X, task.candidates[order], truth, task.class_weight),
        [(numbers[: ends[0]], numbers[ends[0] : ends[1]], numbers[ends[1] :])],
    )


class TrainingSets:
    """Candidate sets of the training rows of each fold, corrected when the first method needs them.

    Parameters
    ----------
    candidates : CandidateSets
        The sets of all rows.
    rows : sequence of ndarray of int
        The training rows of each fold.
    correct : callable or None
        None leaves all sets as they are.
    """

    def __init__(self, candidates: CandidateSets, rows: Sequence[Ints], correct: Correction | None) -> None:
        self._candidates, self._rows, self._correct = candidates, rows, correct
        self._corrected: dict[int, CandidateSets] = {}

    def __call__(self, fold: int) -> CandidateSets | None:
        """Return the corrected sets of the training rows of a fold; None without a correction."""
        if self._correct is None:
            return None
        if fold not in self._corrected:
            self._corrected[fold] = correct_rows(self._correct, self._rows[fold], self._candidates)
        return self._corrected[fold]


def correct_rows(correct: Correction, rows: Ints, candidates: CandidateSets) -> CandidateSets:
    """Return the corrected sets of some rows; raise if their number or their classes differ from the given ones."""
    corrected = correct(rows)
    if not isinstance(corrected, CandidateSets):
        raise InputError(
            f"`correct` must return a CandidateSets, such as `issues.corrected()`; got {type(corrected).__name__}."
        )
    if len(corrected) != len(rows):
        raise InputError(f"`correct` must return one set for each of its {len(rows)} rows; got {len(corrected)} sets.")
    if corrected.classes.tolist() != candidates.classes.tolist():
        raise InputError(
            "`correct` must return sets over the classes of `y`. Index a CandidateSets, `y[rows]`, which keeps them."
        )
    return corrected
