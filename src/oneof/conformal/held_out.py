"""Fitted models with the held-out rows that calibrate them: folds, a fraction, leave-one-out, or a fitted model."""

import numbers
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.parallel import Parallel, delayed

from oneof.candidates import CandidateSets
from oneof.errors import InputError, reraise_as_input_error
from oneof.estimators.base import accepts_candidates, check_accepts_candidates, last_step
from oneof.estimators.loo_ridge import LOORidge, loo_logits
from oneof.estimators.soft_labels import with_seeds
from oneof.likelihoods import softmax
from oneof.model_selection import get_proba
from oneof.model_selection.folds import fold_of_rows
from oneof.model_selection.prediction import align_class_columns, as_targets, predicted_folds
from oneof.typing import Floats, Ints, Labels, Mask
from oneof.validation import is_integer

N_PARTS = 20
"""A held-out fraction is rounded to a multiple of 1 / N_PARTS."""


class CalibrationPart(NamedTuple):
    """A fitted model, the labeled rows that calibrate it, and its held-out probabilities of their classes."""

    model: Any
    rows: Ints
    proba: Floats
    posterior: Floats | None = None
    """The label distributions of the rows given their sets, if the model computes them by leave-one-out."""


def check_cv(cv: Any) -> None:
    """Raise if a text or a number has no meaning as `cv`; `fit_parts` checks splitters."""
    is_wrong_text = isinstance(cv, str) and cv not in ("prefit", "leave_one_out")
    is_number = isinstance(cv, numbers.Real)
    if is_wrong_text or isinstance(cv, bool) or (is_number and not (cv >= 2 if is_integer(cv) else 0 < cv < 1)):
        raise InputError(
            "`cv` must be an integer of at least 2, a fraction between 0 and 1, a splitter, "
            f'"prefit" or "leave_one_out"; got {cv!r}.'
        )


def fit_parts(
    classifier: Any, X: Any, y: Any, candidates: CandidateSets, *, cv: Any, groups: Any, n_jobs: int | None, rng: Any
) -> tuple[Any, list[CalibrationPart]]:
    """Return the classifier of all predictions, and the models with their calibration rows.

    Parameters
    ----------
    classifier : classifier
        It is cloned, except with ``cv="prefit"``.
    X : array, CSR matrix or DataFrame of shape (n_samples, n_features)
    y, candidates : object, CandidateSets
        The labels as given, and as candidate sets.
    cv : int, float, splitter, iterable, "prefit" or "leave_one_out"
        See `ConformalClassifier`.
    groups : array-like of shape (n_samples,) or None
    n_jobs : int or None
    rng : RandomState
    """
    is_fraction = isinstance(cv, numbers.Real) and not isinstance(cv, numbers.Integral)
    is_labeled = ~candidates.is_unlabeled
    if groups is not None and (is_fraction or isinstance(cv, str)):
        raise InputError(f"`groups` defines folds, and `cv` must be their number or a splitter; got cv={cv!r}.")
    if is_text(cv, "prefit"):
        return classifier, [_predict_part(classifier, X, np.flatnonzero(is_labeled), candidates.classes)]
    classifier = with_seeds(classifier, rng)
    targets, is_usable = _training_targets(classifier, y, candidates)
    if is_text(cv, "leave_one_out"):
        part = _fit_leave_one_out(classifier, X, targets, np.flatnonzero(is_labeled))
        return part.model, [part]
    if get_tags(classifier).input_tags.pairwise:
        raise InputError('`cv` must be "leave_one_out" or "prefit" with a precomputed kernel; got folds.')
    index = np.arange(len(candidates))
    if is_fraction:
        test = _held_out_rows(candidates, float(cv), rng)
        folds = [(np.setdiff1d(index, test), test)]
    else:
        folds = [*predicted_folds(X, targets, candidates, cv, groups, rng), (index, index[:0])]
    models = Parallel(n_jobs=n_jobs)(delayed(_fit)(classifier, X, targets, rows[is_usable[rows]]) for rows, _ in folds)
    parts = [
        _predict_part(model, X, rows[is_labeled[rows]], candidates.classes)
        for model, (_, rows) in zip(models, folds, strict=True)
        if is_labeled[rows].any()
    ]
    return models[-1], parts


def class_proba(model: Any, X: Any, classes: Labels) -> Floats:
    """Return the probabilities of all classes, or the softmax of the decision function; 0 for a class not in fit."""
    proba = np.asarray(get_proba(model, X).proba, dtype=np.float64)
    return align_class_columns(proba, "predict_proba", np.asarray(model.classes_), classes)


def is_text(value: Any, text: str) -> bool:
    """Return whether a value, which may be an array, is a text."""
    return isinstance(value, str) and value == text


def _training_targets(classifier: Any, y: Any, candidates: CandidateSets) -> tuple[Any, Mask]:
    """Return the labels or sets for `fit`, and the mask of the rows that the classifier can be fitted to."""
    if accepts_candidates(classifier):
        return as_targets(y, candidates), np.ones(len(candidates), dtype=bool)
    usable = candidates.is_exact
    check_accepts_candidates(classifier, bool((usable | candidates.is_unlabeled).all()))
    return candidates.classes[candidates.mask.argmax(axis=1)], usable


def _fit_leave_one_out(classifier: Any, X: Any, targets: Any, labeled: Ints) -> CalibrationPart:
    """Fit a `LOORidge`, whose leave-one-out scores and label distributions calibrate it."""
    if not isinstance(last_step(classifier), LOORidge):
        raise InputError(
            f'`estimator` must be LOORidge with cv="leave_one_out"; got {classifier!r}. Use an integer `cv`.'
        )
    model = clone(classifier).fit(X, targets)
    ridge = last_step(model)
    return CalibrationPart(model, labeled, softmax(loo_logits(ridge)[labeled]), ridge.label_distributions_[labeled])


def _fit(classifier: Any, X: Any, targets: Any, rows: Ints) -> Any:
    """Return a clone that is fitted to some rows."""
    with reraise_as_input_error():
        return clone(classifier).fit(_safe_indexing(X, rows), targets[rows])


def _predict_part(model: Any, X: Any, rows: Ints, classes: Labels) -> CalibrationPart:
    """Return the calibration of a model by rows that it was not fitted to."""
    return CalibrationPart(model, rows, class_proba(model, _safe_indexing(X, rows), classes))


def _held_out_rows(candidates: CandidateSets, fraction: float, rng: Any) -> Ints:
    """Return a fraction of the labeled rows, stratified."""
    n_parts = max(2, min(N_PARTS, int((~candidates.is_unlabeled).sum())))
    n_held_out = min(max(round(fraction * n_parts), 1), n_parts - 1)
    fold = fold_of_rows(candidates, n_parts, random_state=rng)
    is_held_out = fold * n_held_out % n_parts < n_held_out  # n_held_out folds, evenly, since folds follow the classes
    return np.flatnonzero((fold >= 0) & is_held_out)
