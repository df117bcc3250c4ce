"""Detection of wrong labels by held-out predictions, each without the labels of its row."""

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from oneof.audit.label_issues import LabelIssues, issues_from_proba
from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError
from oneof.estimators.base import check_accepts_candidates, check_informative, last_step
from oneof.estimators.loo_ridge import FIRST_CHOICE, LOORidge, loo_logits
from oneof.likelihoods import softmax, uniform_within_sets
from oneof.messages import enumerate_items
from oneof.messages import warn as warn_caller
from oneof.model_selection.folds import encode_groups
from oneof.model_selection.prediction import FoldOptions, predict_held_out
from oneof.model_selection.scoring import check_has_scores
from oneof.solvers.noise import MAX_RATE, MIN_PROBABILITY
from oneof.typing import Floats, Mask
from oneof.validation import as_float_array, check_estimator, check_positive, check_random_state

Progress = Callable[[int, int | None, str, float | None], None]
"""Callback ``(n_done, n_total, name, seconds_left)`` called after every fit."""


def find_label_issues(
    X: Any,
    y: Any,
    estimator: Any = None,
    proba: Any = None,
    cv: Any = 5,
    *,
    groups: Any = None,
    checked: Any = None,
    named: Any = None,
    noise_rate: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
    progress: Progress | None = None,
) -> LabelIssues:
    """Find the rows whose candidate sets probably exclude the true class.

    Parameters
    ----------
    X : array-like, sparse matrix or DataFrame of shape (n_samples, n_features)
        Features; None with `proba`.
    y : array-like or CandidateSets of length n_samples
        Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights. Unlabeled rows are
        ignored.
    estimator : estimator or Pipeline, default=None
        An estimator of oneof, or for exact labels any classifier, with `predict_proba` or `decision_function`. None is
        ``LOORidge()``. It is cloned. The predictions of `LOORidge` for exact labels are its leave-one-out scores, from
        one fit. With partial rows that fit corrects the weights, and the rows are predicted by cross-validation of the
        corrected weights. Any other estimator predicts each row by cross-validation.
    proba : array-like of shape (n_samples, n_classes), default=None
        Held-out probabilities of the classes, in place of an estimator: each row predicted without its own label. The
        columns are the sorted classes of `y`, or those of a `CandidateSets` in their order. The columns of a DataFrame
        are aligned by their names, unless pandas has numbered them.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of the held-out predictions; see `oneof.model_selection.cross_val_predict`.
    groups : array-like of shape (n_samples,), optional
        The group of each row, such as a patient or a recording. No row is predicted by a model that was fitted to other
        rows of its group, and `LOORidge` is cross-validated instead of its leave-one-out scores. Rows whose candidates
        occur in one group only are not audited, as if they were checked, since no other group has their class.
    checked : array-like of shape (n_samples,), bool, optional
        The rows whose labels are known to be right. They are used to predict the other rows. They are not audited:
        their probability is 0, and they are neither in the ranking nor in the noise rate.
    named : array-like of shape (n_samples, n_classes), bool, optional
        The classes that a row with weights lists, if its other classes have weights as well, such as those of
        ``from_weights(lists, rest=True)``: then the mask of the same lists without the rest. A list is wrong if it
        does not name the true class. Without `named`, a row with weights is a mixture of sets, see `LabelIssues`.
    noise_rate : float in [0, 0.95], optional
        The fraction of wrong sets, if it is known; by default it is estimated. Not with `named`.
    n_jobs : int, optional
        The number of folds fitted in parallel (joblib).
    random_state : int, RandomState instance or None, default=0
        Seed of the folds, and of the rows that the model of noise is fitted to.
    progress : callable, optional
        ``progress(n_done, n_total, name, seconds_left)`` is called after every fit. The time left is None, since it is
        unknown; so is the total, unless `cv` is an integer.

    Returns
    -------
    LabelIssues
        The probability of each row, the labels proposed, and the noise rate with an interval.

    Raises
    ------
    InputError
        If X, y or a parameter are invalid, or if probabilities are given together with an estimator or groups.
    LabelError
        If there are fewer than two classes, or all rows are unlabeled.

    Warns
    -----
    UserWarning
        If rows are not audited because their classes occur in one group only.

    Notes
    -----
    A set of size s contains the true class with probability 1 - e, and all right sets of this size are equally
    probable; a wrong set contains a wrong label whose distribution depends on the true class (see `noise`). The
    power of the predictions is fitted by maximum likelihood for each value of the noise rate e. All results are
    averages over the values of e, weighted by their likelihood and by a prior of mean 1/6. The prior has an effect if
    the predictions are weak or the rows are few. The interval is that of the likelihood alone.

    The power separates noise from classes that overlap: the model assumes that errors occur among confident predictions
    as well. If a class is always mistaken for the same other class, the fit may take this for overlap, and the rate is
    too low. A classifier that has learned the errors, such as a random forest with many errors of this kind, makes it
    lower still.

    Weak predictions and wrong labels give the same data. The interval of probability 90 % is then wide. It is that of
    the profile likelihood, widened by a factor of 2 for errors of the model. Its upper end is at least the fraction of
    labels that contradict the most confident half of the predictions. Up to 2,000 rows, drawn at random, are used for
    the parameters.

    References
    ----------
    Northcutt, Jiang & Chuang (2021), Confident learning: estimating uncertainty in dataset labels, JAIR 70, for the
    task with exact labels.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof.audit import find_label_issues
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat(["finch", "wren"], 40)
    >>> X = np.where(truth == "finch", 0.0, 5.0)[:, None] + rng.normal(size=(80, 2))
    >>> y = truth.copy()
    >>> y[[3, 50]] = ["wren", "finch"]
    >>> issues = find_label_issues(X, y)
    >>> [(issue.row, issue.proposed) for issue in issues.top()]
    [(50, 'wren'), (3, 'finch')]
    """
    candidates = as_candidates(y)
    check_informative(candidates)
    checked = _check_checked(checked, candidates)
    named = _check_named(named, candidates)
    _check_noise_rate(noise_rate, named, candidates)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    options = {"seed": seed, "noise_rate": noise_rate, "named": named}
    if proba is not None:
        if estimator is not None or groups is not None:
            name = "estimator" if groups is None else "groups"
            raise InputError(f"`{name}` and `proba` cannot both be given, since `proba` needs no fits. Omit `{name}`.")
        return issues_from_proba(_check_proba(proba, candidates), candidates, checked=checked, **options)
    if X is None:
        raise InputError("`X` must be given without `proba`; got None.")
    classifier = FIRST_CHOICE() if estimator is None else estimator
    check_estimator(classifier)
    is_exact = bool((candidates.is_exact | candidates.is_unlabeled).all())
    check_accepts_candidates(classifier, is_exact)
    if groups is not None:
        checked = _leave_out_classes_of_one_group(candidates, groups, checked)
    folds = FoldOptions(cv, groups, n_jobs, random_state)
    is_ridge = isinstance(last_step(classifier), LOORidge)
    is_refitted, is_loo = is_ridge and not is_exact, is_ridge and groups is None
    n_folds = int(cv) if isinstance(cv, numbers.Integral) else None
    n_total = None if n_folds is None else (1 if is_loo else n_folds) + is_refitted * n_folds
    held_out = _HeldOutFits(classifier, X, folds, progress, n_total)
    values = held_out.leave_one_out(candidates) if is_loo else held_out.cross_validate(candidates)
    if is_refitted:
        # Wrong partial sets have changed the labels of their neighbors: the second model is fitted to corrected sets.
        # Leave-one-out scores of partial rows depend on their own sets in this way, predictions of folds do not.
        first = issues_from_proba(values, candidates, noise_rate, seed, checked=checked)
        values = held_out.cross_validate(first.corrected())
    return issues_from_proba(values, candidates, checked=checked, **options)


@dataclass
class _HeldOutFits:
    """Held-out predictions, (n, K), with the progress of their fits."""

    estimator: Any
    X: Any
    folds: FoldOptions
    progress: Progress | None
    n_total: int | None
    n_done: int = 0

    def leave_one_out(self, candidates: CandidateSets) -> Floats:
        """Return the leave-one-out probabilities of a fit."""
        fitted = clone(self.estimator).fit(self.X, candidates)
        self._advance("all rows")
        return np.asarray(softmax(loo_logits(last_step(fitted))))

    def cross_validate(self, candidates: CandidateSets) -> Floats:
        """Return probabilities of the classes for each row from fits to other rows."""
        check_has_scores(self.estimator)
        has_proba = hasattr(self.estimator, "predict_proba")
        values = predict_held_out(
            self.estimator,
            self.X,
            candidates,
            "predict_proba" if has_proba else "decision_function",
            self.folds,
            lambda n_done, n_folds: self._advance(f"fold {n_done} of {n_folds}"),
        )
        return np.asarray(values) if has_proba else _proba_of_scores(values, candidates)

    def _advance(self, name: str) -> None:
        self.n_done += 1
        if self.progress is not None:
            self.progress(self.n_done, self.n_total, name, None)


def _proba_of_scores(scores: Floats, candidates: CandidateSets) -> Floats:
    """Return the softmax of standardized decision values and of the frequencies of the classes, (n, K)."""
    scores = np.stack([-0.5 * scores, 0.5 * scores], axis=1) if scores.ndim == 1 else scores
    scores = np.maximum(scores, scores[np.isfinite(scores)].min(initial=0.0))  # -inf of a class that a fold lacks
    scores = scores / np.abs(scores).max(initial=np.finfo(np.float64).tiny)  # squares of large scores would overflow
    scores = scores - scores.mean(axis=1, keepdims=True)
    frequencies = uniform_within_sets(candidates.evidence[~candidates.is_unlabeled]).mean(axis=0)
    return np.asarray(softmax(scores / (scores.std() or 1.0) + np.log(np.maximum(frequencies, MIN_PROBABILITY))))


def _check_noise_rate(noise_rate: float | None, named: Mask | None, candidates: CandidateSets) -> None:
    """Check a known noise rate."""
    if noise_rate is not None:
        check_positive("noise_rate", noise_rate, allow_zero=True, max_value=MAX_RATE)
    if noise_rate is not None and named is not None and candidates.is_weighted.any():
        raise InputError(
            "`noise_rate` and `named` cannot both be given: the weights of the classes that a list does not name say "
            "how many lists are wrong. Omit one of them."
        )


def _check_mask(name: str, value: Any, shape: tuple[int, ...]) -> Mask:
    """Return a valid boolean array."""
    mask = np.asarray(value)
    if mask.dtype != bool or mask.shape != shape:
        raise InputError(f"`{name}` must be a boolean array of shape {shape}; got {mask.dtype} of shape {mask.shape}.")
    return mask


def _check_checked(checked: Any, candidates: CandidateSets) -> Mask | None:
    """Return a valid mask of checked rows, without which a labeled row remains."""
    mask = None if checked is None else _check_mask("checked", checked, (len(candidates),))
    if mask is not None and (candidates.is_unlabeled | mask).all():
        raise InputError("`checked` must leave a labeled row to audit; all of them are checked.")
    return mask


def _check_named(named: Any, candidates: CandidateSets) -> Mask | None:
    """Return a valid mask of the classes that rows list, each of which has a weight."""
    if named is None:
        return None
    mask = _check_mask("named", named, candidates.shape)
    bad = np.flatnonzero((mask & ~candidates.mask).any(axis=1) | (candidates.is_weighted & ~mask.any(axis=1)))
    if len(bad):
        raise InputError(
            "`named` must have at least one class of each row with weights, and no class of weight 0.", row=int(bad[0])
        )
    return mask


def only_in_one_group(candidates: CandidateSets, groups: Any) -> Mask:
    """Return the labeled rows whose candidates occur in one group only: no fit without this group predicts them."""
    labeled = ~candidates.is_unlabeled
    group = encode_groups(groups, len(candidates))
    mask = candidates.mask & labeled[:, None]
    first = group[mask.argmax(axis=0)]
    in_several = (mask & (group[:, None] != first)).any(axis=0)
    return labeled & ~(mask & in_several).any(axis=1)


def _leave_out_classes_of_one_group(candidates: CandidateSets, groups: Any, checked: Mask | None) -> Mask | None:
    """Return the checked rows with those of `only_in_one_group`, and warn of these."""
    single = only_in_one_group(candidates, groups)
    if not single.any():
        return checked
    names = [str(name) for name in candidates.classes[candidates.mask[single].any(axis=0)].tolist()]
    left_out = single if checked is None else single | checked
    if not (~candidates.is_unlabeled & ~left_out).any():
        raise InputError("every class occurs in one group only, so no row can be predicted by other groups.")
    warn_caller(
        f"Labeled rows that are not audited: {single.sum():,}. Only one group has their classes: "
        f"{enumerate_items(names, 5)}."
    )
    return left_out


def _check_proba(proba: Any, candidates: CandidateSets) -> Floats:
    """Return valid held-out probabilities whose rows sum to 1."""
    values = as_float_array(_align_names(proba, candidates), "proba")
    if values.shape != candidates.shape:
        raise InputError(
            f"`proba` must have one row for each of the {len(candidates)} rows and one column for each of the "
            f"{candidates.shape[1]} classes; got shape {values.shape}."
            + " If it has a class that no label has, pass CandidateSets.from_labels(y, classes=...) as `y`."
            * (values.shape[1:] > candidates.shape[1:])
        )
    labeled = ~candidates.is_unlabeled
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=1) | (~values.any(axis=1) & labeled))
    if len(wrong):
        raise InputError(
            "`proba` must be finite and at least 0, and not 0 for all classes of a row.", row=int(wrong[0])
        )
    values = values / np.maximum(values.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1.0))


def _align_names(proba: Any, candidates: CandidateSets) -> Any:
    """Return probabilities with the columns in the order of the classes if they have names."""
    given, classes = list(map(str, getattr(proba, "columns", ()))), list(map(str, candidates.classes.tolist()))
    if sorted(given) == sorted(classes):
        return np.asarray(proba)[:, [given.index(name) for name in classes]]
    if given == [str(k) for k in range(len(given))] or set(given) > set(classes):  # the latter is an error of the shape
        return proba
    raise InputError(
        f"`proba` must have the columns {enumerate_items(classes, 10, conjunction=False)}; got "
        f"{enumerate_items(given, 10, conjunction=False)}. Rename or add columns, or pass an array with the classes in "
        "their order."
    )
