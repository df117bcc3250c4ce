"""Detection of wrong labels by held-out predictions, each without the labels of its row."""

import numbers
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import clone

from oneof.audit.inference import MIN_PROBABILITY, issues_from_scores
from oneof.audit.label_issues import MIN_CORRECTION, LabelIssues, mix_weights
from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError
from oneof.estimators.base import accepts_candidates, check_informative, last_step
from oneof.estimators.loo_ridge import LOORidge, loo_logits
from oneof.messages import enumerate_items
from oneof.messages import warn as warn_caller
from oneof.model_selection.folds import encode_groups
from oneof.model_selection.prediction import predict_held_out
from oneof.solvers.noise import MAX_RATE
from oneof.typing import Floats, Mask
from oneof.validation import as_float_array, check_estimator, check_positive, check_random_state

MAX_SCORE = 1e100
"""Larger scores are scaled by the largest one, since their squares would overflow."""
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
        Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights. Unlabeled rows are ignored.
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
        ``progress(n_done, n_total, name, seconds_left)`` is called after every fit of the estimator. The time left is
        None, since it is unknown; so is the total before the first fold, unless `cv` is an integer.

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
        If the predictions have too little information about the labels. Without `noise_rate`, the rate and the
        probabilities of all labeled rows are then NaN: no row is suspected, and `corrected` changes nothing.
        If rows are not audited because their classes occur in one group only.

    Notes
    -----
    A set of size s contains the true class with probability 1 - e, and all right sets of this size are equally
    probable; a wrong set contains a wrong label whose distribution depends on the true class (see `confusion`). The
    noise rate e, one for each set size, and the power of the predictions are fitted by EM. With few rows of a set size
    its rate is close to the mean rate.

    The power separates noise from classes that overlap: the model assumes that errors occur among confident predictions
    as well. If a class is always mistaken for the same other class, the fit may take this for overlap, and the rate is
    too low. A classifier that has learned the errors, such as a random forest with many errors of this kind, makes it
    lower still.

    Weak predictions and wrong labels give the same data. The rate is estimated only if the log-likelihood of the
    labels exceeds that of the class frequencies by at least half of the amount of perfect predictions of labels with
    20 % errors. The ranking is computed in any case.

    The interval is the profile-likelihood interval of probability 95 %, widened by a factor of about 1.4 for errors of
    the model. Up to 10,000 rows are used for the parameters, and up to 2,000 for the interval, chosen
    at random.

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
    [(3, 'finch'), (50, 'wren')]
    """
    candidates = as_candidates(y)
    check_informative(candidates)
    if noise_rate is not None:
        check_positive("noise_rate", noise_rate, allow_zero=True)
        if noise_rate > MAX_RATE:
            raise InputError(f"`noise_rate` must be at least 0 and at most {MAX_RATE}; got {noise_rate!r}.")
    checked = _check_checked(checked, candidates)
    named = _check_named(named, candidates)
    if named is not None and noise_rate is not None and candidates.is_weighted.any():
        raise InputError(
            "`noise_rate` and `named` cannot both be given: the weights of the classes that a list does not name say "
            "how many lists are wrong. Omit one of them."
        )
    seed = draw_seed(random_state)
    if proba is not None:
        if estimator is not None:
            raise InputError("`estimator` and `proba` cannot both be given. Omit one of them.")
        if groups is not None:
            raise InputError("`groups` and `proba` cannot both be given, since groups define folds. Omit `groups`.")
        scores = np.log(np.maximum(_check_proba(proba, candidates), MIN_PROBABILITY))
        return issues_from_scores(scores, candidates, noise_rate, seed, checked=checked, named=named)
    if X is None:
        raise InputError("`X` must be given without `proba`; got None.")
    classifier = LOORidge() if estimator is None else estimator
    check_estimator(classifier)
    if not accepts_candidates(classifier) and not (candidates.is_exact | candidates.is_unlabeled).all():
        raise InputError(
            f"`estimator` must be an estimator of oneof if rows have several candidates; got {classifier!r}. "
            "Wrap it in oneof.CandidateEM."
        )
    if groups is not None:
        checked = _leave_out_classes_of_one_group(candidates, groups, checked)
    folds = {"cv": cv, "groups": groups, "n_jobs": n_jobs, "random_state": random_state}
    if not isinstance(last_step(classifier), LOORidge):
        scores = _cross_validated_scores(classifier, X, candidates, folds, progress)
        return issues_from_scores(scores, candidates, noise_rate, seed, checked=checked, named=named)
    is_single = bool((candidates.is_exact | candidates.is_unlabeled).all())
    n_folds = int(cv) if isinstance(cv, numbers.Integral) else None
    if groups is None:
        scores, n_before = _leave_one_out_scores(classifier, X, candidates), 1
        if progress is not None:
            progress(1, 1 if is_single else None if n_folds is None else 1 + n_folds, "all rows", None)
    else:
        scores = _cross_validated_scores(classifier, X, candidates, folds, progress, times=1 if is_single else 2)
        n_before = n_folds or 0
    if is_single:
        return issues_from_scores(scores, candidates, noise_rate, seed, checked=checked, named=named)
    first = issues_from_scores(scores, candidates, noise_rate, seed, checked=checked, warn=False)
    # Wrong partial sets have changed the labels of their neighbors: the second model is fitted to corrected weights.
    # Leave-one-out scores of partial rows depend on their own sets in this way, predictions by cross-validation do not.
    changed = first.probability >= MIN_CORRECTION
    corrected = mix_weights(candidates, first.probability, first.outside, changed) if changed.any() else candidates
    scores = _cross_validated_scores(classifier, X, corrected, folds, progress, n_before=n_before)
    return issues_from_scores(scores, candidates, noise_rate, seed, checked=checked, named=named)


def draw_seed(random_state: Any) -> int:
    """Return the seed of the rows that the model of noise is fitted to."""
    return int(check_random_state(random_state).randint(2**31 - 1))


def _leave_one_out_scores(estimator: Any, X: Any, candidates: CandidateSets) -> Floats:
    """Return the leave-one-out scores of a fit, (n, K)."""
    return loo_logits(last_step(clone(estimator).fit(X, candidates)))


def _cross_validated_scores(
    estimator: Any,
    X: Any,
    candidates: CandidateSets,
    folds: Mapping[str, Any],
    progress: Progress | None,
    n_before: int = 0,
    times: int = 1,
) -> Floats:
    """Return scores of the classes for each row, (n, K), from fits to other rows.

    The progress counts a number of fits before, and is that of the first of several cross-validations.
    """

    def after_fold(n_done: int, n_folds: int) -> None:
        if progress is not None:
            progress(n_before + n_done, n_before + times * n_folds, f"fold {n_done} of {n_folds}", None)

    options = {**folds, "after_fold": after_fold}
    if hasattr(estimator, "predict_proba"):
        proba = predict_held_out(estimator, X, candidates, method="predict_proba", **options)
        return np.log(np.maximum(proba, MIN_PROBABILITY))
    if not hasattr(estimator, "decision_function"):
        raise InputError(
            f"`estimator` must have predict_proba or decision_function; {type(estimator).__name__} has neither."
        )
    scores = predict_held_out(estimator, X, candidates, method="decision_function", **options)
    scores = np.stack([-0.5 * scores, 0.5 * scores], axis=1) if scores.ndim == 1 else scores
    finite = np.isfinite(scores)
    scores = np.where(finite, scores, scores[finite].min(initial=0.0))
    largest = np.abs(scores).max(initial=0.0)
    if largest > MAX_SCORE:
        scores = scores / largest
    scores = scores - scores.mean(axis=1, keepdims=True)
    return np.asarray(scores / max(float(scores.std()), MIN_PROBABILITY))


def _check_checked(checked: Any, candidates: CandidateSets) -> Mask | None:
    """Return a valid mask of checked rows, without which a labeled row remains."""
    if checked is None:
        return None
    mask = np.asarray(checked)
    if mask.dtype != bool or mask.shape != (len(candidates),):
        raise InputError(
            f"`checked` must be a boolean array with one entry for each of the {len(candidates)} rows; got "
            f"{mask.dtype} of shape {mask.shape}."
        )
    if not (~candidates.is_unlabeled & ~mask).any():
        raise InputError("`checked` must leave a labeled row to audit; all of them are checked.")
    return mask


def _check_named(named: Any, candidates: CandidateSets) -> Mask | None:
    """Return a valid mask of the classes that rows list, each of which has a weight."""
    if named is None:
        return None
    mask = np.asarray(named)
    if mask.dtype != bool or mask.shape != candidates.shape:
        raise InputError(
            f"`named` must be a boolean array of shape {candidates.shape}; got {mask.dtype} of shape {mask.shape}."
        )
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
    names = getattr(proba, "columns", None)
    if names is None:
        return proba
    given, classes = list(map(str, names)), list(map(str, candidates.classes.tolist()))
    if sorted(given) == sorted(classes):
        return np.asarray(proba)[:, [given.index(name) for name in classes]]
    has_default_names = given == [str(k) for k in range(len(given))]
    if has_default_names or set(given) > set(classes):  # the latter is an error of the shape
        return np.asarray(proba)
    raise InputError(
        f"`proba` must have the columns {', '.join(classes[:10])}{', ...' * (len(classes) > 10)}; got "
        f"{', '.join(given[:10])}{', ...' * (len(given) > 10)}. Rename or add columns, or pass an array with the "
        "classes in their order."
    )
