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

Split = tuple[Ints, Ints]
"""The training rows and the predicted rows of a fold."""
Correction = Callable[[Ints], CandidateSets]
"""``correct(rows)`` returns the candidate sets to which the methods are fitted on these training rows."""


class Work(NamedTuple):
    """The methods, the rows that they are fitted to, and the training and the predicted rows of each fold."""

    estimators: Mapping[str, Any]
    task: Task
    splits: Sequence[Split]


def has_shared_step(work: Work) -> bool:
    """Return whether the rows are split once, and there are several pipelines that begin with the same object."""
    pipelines = [model for model in work.estimators.values() if isinstance(model, Pipeline) and len(model) > 1]
    if len(work.splits) > 1 or len(pipelines) < max(len(work.estimators), 2):
        return False
    return all(hasattr(model[0], "fit") and model[0] is pipelines[0][0] for model in pipelines)


def share_features(work: Work) -> Work:
    """Return the work with the features of the object with which all pipelines begin, see `has_shared_step`.

    If the object raises an error, the work is returned as it is: each method then has the error for itself.
    """
    task, [(train, test)] = work.task, work.splits
    encoder = clone(next(iter(work.estimators.values()))[0])
    try:
        known = encoder.fit_transform(_safe_indexing(task.X, train), task.candidates[train])
        blocks = [known, encoder.transform(_safe_indexing(task.X, test))]
    except Exception:  # an error of one step must not end a comparison
        return work
    X = sp.vstack(blocks, format="csr") if sp.issparse(known) else np.concatenate([np.asarray(b) for b in blocks])
    order = np.concatenate([train, test])
    truth = None if task.truth is None else task.truth[order]
    estimators = {name: Pipeline(model.steps[1:]) for name, model in work.estimators.items()}
    numbers = np.arange(len(order))
    shared = Task(X, task.candidates[order], truth, task.class_weight)
    return Work(estimators, shared, [(numbers[: len(train)], numbers[len(train) :])])


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
