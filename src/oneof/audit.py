"""Wrong labels: the rows whose candidate sets probably exclude the true class, and how many there are.

`find_label_issues` compares each set with a held-out prediction of its row and fits the noise rate
(`oneof.solvers.noise`). `LabelIssues.corrected` gives weights for a refit that no longer relies on these sets.
"""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError
from oneof.estimators.base import check_informative
from oneof.estimators.loo_ridge import LOORidge
from oneof.likelihoods import uniform_within_sets
from oneof.model_selection import cross_val_predict
from oneof.solvers.noise import NoiseEstimate, NoiseModel, NoiseSolution, average_noise, solve_noise
from oneof.typing import Floats, Ints, Mask
from oneof.validation import as_float_array, check_estimator, check_positive

__all__ = ["LabelIssue", "LabelIssues", "find_label_issues"]

ISSUE_PROBABILITY = 0.5
"""A row is an issue if its set is more probably wrong than right."""
MIN_PROBABILITY = 1e-8
"""Held-out probabilities below this count as this."""
MIN_GROUP_ROWS = 50
"""Number of rows from which the noise rate of a set size, or of a label, is reported."""
MIN_CORRECTION = 1e-3
"""Rows below this probability keep their evidence, and classes below it, relative to the best one, are ruled out."""
N_STANDARD_ERRORS = 2.0
"""Predictions are informative if the log-likelihood exceeds that of the class frequencies by this."""
WEIGHTED_GROUP = 0
"""Group of the rows with weights; the groups of the other rows are their set sizes."""


class LabelIssue(NamedTuple):
    """A row whose candidate set may exclude its true class.

    Attributes
    ----------
    row : int
        Counted from 0.
    candidates : list
        The labels of its set.
    proposed : label
        The most probable class if the set excludes the true class.
    probability : float
        The probability that the set excludes the true class, in [0, 1].
    runner_up : label
        The most probable class except the proposed one; it may be a candidate.

    Examples
    --------
    >>> from oneof.audit import LabelIssue
    >>> LabelIssue(3, ["finch"], "wren", 0.93, "finch").proposed
    'wren'
    """

    row: int
    candidates: list[Any]
    proposed: Any
    probability: float
    runner_up: Any


@dataclass(frozen=True, eq=False)
class LabelIssues:
    """Result of `find_label_issues`.

    Attributes
    ----------
    candidates : CandidateSets
        The sets, n_samples rows.
    probability : ndarray of shape (n_samples,)
        The probability that the set of the row excludes its true class, in [0, 1]; 0 for unlabeled rows. A weighted row
        is a mixture of the sets of its classes above each weight.
    ranking : ndarray of shape (n_labeled,)
        The rows that are not unlabeled, by decreasing probability.
    proposed : ndarray of shape (n_samples,)
        The most probable class if the set is wrong.
    runner_up : ndarray of shape (n_samples,)
        The most probable class except the proposed one.
    proba : ndarray of shape (n_samples, n_classes)
        The held-out predictions to a power, so that they predict the true class; rows sum to 1.
    noise_rate : float
        The estimated fraction of wrong sets among the rows that are not unlabeled.
    noise_rate_interval : tuple of two floats
    n_wrong : float
        The expected number of wrong sets.
    n_wrong_interval : tuple of two floats
    n_changed : int
        The number of rows that `corrected` changes.
    is_issue : ndarray of shape (n_samples,), bool
        The rows with a probability above 1/2.
    noise_rate_by_size : dict of int to float
        The noise rates of sets of each size with at least 50 rows; weighted rows are not counted.
    noise_rate_by_label : dict of label to float
        The noise rates of the exact rows with each label, of at least 50 rows.
    confusion : ndarray of shape (n_classes, n_classes)
        The probability of each wrong label (columns) if the set excludes the true class (rows); rows sum to 1. Classes
        with few wrong sets have nearly equal probabilities.
    power : float
        The power of the held-out predictions.
    outside : ndarray of shape (n_samples, n_classes)
        The probabilities of the classes if the set is wrong. Rows sum to 1; those of unlabeled rows are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from oneof import PLEM
    >>> from oneof.audit import find_label_issues
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(2, size=100)
    >>> X = rng.normal(size=(100, 2)) + 4 * truth[:, None]
    >>> y = np.where(np.arange(100) < 10, 1 - truth, truth)  # the first ten labels are wrong
    >>> issues = find_label_issues(X, y)
    >>> sum(issue.row < 10 for issue in issues.top(10))
    9
    >>> low, high = issues.n_wrong_interval
    >>> low < 10 < high
    True
    >>> refit = PLEM().fit(X, issues.corrected())
    """

    candidates: CandidateSets
    probability: Floats
    ranking: Ints
    proposed: Any
    runner_up: Any
    proba: Floats
    noise_rate: float
    noise_rate_interval: tuple[float, float]
    noise_rate_by_size: dict[int, float]
    noise_rate_by_label: dict[Any, float]
    confusion: Floats
    power: float
    outside: Floats

    @property
    def n_wrong(self) -> float:
        """The expected number of wrong sets."""
        return float(self.probability.sum())

    @property
    def n_wrong_interval(self) -> tuple[float, float]:
        """The interval of the number of wrong sets."""
        low, high = self.noise_rate_interval
        return low * len(self.ranking), high * len(self.ranking)

    @property
    def is_issue(self) -> Mask:
        """Mask of the rows with a probability above 1/2, of shape (n_samples,)."""
        return self.probability > ISSUE_PROBABILITY

    @property
    def n_changed(self) -> int:
        """The number of rows that `corrected` changes."""
        return int(self._is_changed().sum())

    def top(self, n: int | None = None) -> list[LabelIssue]:
        """Return the rows whose sets are most probably wrong, the most probable first.

        Parameters
        ----------
        n : int, optional
            Number of rows; by default those with a probability above 1/2.

        Returns
        -------
        list of LabelIssue

        Raises
        ------
        InputError
            If `n` is not a whole number of at least 0.
        """
        if n is None:
            n = int(self.is_issue.sum())
        check_positive("n", n, integer=True, allow_zero=True)
        rows = self.ranking[: int(n)]
        classes = self.candidates.classes
        return [
            LabelIssue(int(i), classes[self.candidates.mask[i]].tolist(), proposed, float(self.probability[i]), second)
            for i, proposed, second in zip(rows, self.proposed[rows].tolist(), self.runner_up[rows].tolist())
        ]

    def corrected(self) -> CandidateSets:
        """Return weights for a refit: ``estimator.fit(X, issues.corrected())``.

        A row has the weights (1 - r_i) w_ik / sum_j w_ij + r_i u_ik, where r_i is the probability that its set is wrong
        and u_ik that of the class in this case. A probably right row keeps its set, and a probably wrong one has mainly
        the labels proposed instead.

        Returns
        -------
        CandidateSets
            Of the same rows and classes. Rows with r_i below 0.001 and unlabeled rows do not change. If the interval of
            the noise rate begins at 0, only rows with r_i above 1/2 change, so that clean sets stay as they are.

        Notes
        -----
        The weights are posterior probabilities and contain the held-out prediction of the row. Estimators of oneof
        accept them; any other classifier does so in a `CandidateEM`.
        """
        return self._mixed(self._is_changed())

    def _is_changed(self) -> Mask:
        """Return the mask of the rows that `corrected` changes."""
        return self.probability >= (MIN_CORRECTION if self.noise_rate_interval[0] > 0 else ISSUE_PROBABILITY)

    def _mixed(self, changed: Mask) -> CandidateSets:
        """Return weights in which some rows are the mixture of `corrected`."""
        weights = self.candidates.weights
        share = self.probability[changed][:, None]
        mixed = (1.0 - share) * uniform_within_sets(weights[changed]) + share * self.outside[changed]
        kept = self.candidates.mask[changed] | (mixed >= MIN_CORRECTION * mixed.max(axis=1, keepdims=True))
        weights[changed] = np.where(kept, mixed, 0.0)
        return CandidateSets.from_weights(weights, classes=self.candidates.classes)

    def __repr__(self) -> str:
        low, high = self.noise_rate_interval
        return (
            f"<LabelIssues of {len(self.ranking)} rows: {self.noise_rate:.1%} of the sets are wrong "
            f"({low:.1%} to {high:.1%}), {int(self.is_issue.sum())} probable>"
        )


def find_label_issues(
    X: Any,
    y: Any,
    estimator: Any = None,
    proba: Any = None,
    cv: Any = 5,
    *,
    noise_rate: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
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
        ``LOORidge()``. It is cloned. The predictions of `LOORidge` are its leave-one-out scores, from one fit, or with
        partial rows from a fit and a refit on the corrected weights. Any other estimator predicts each row by
        cross-validation.
    proba : array-like of shape (n_samples, n_classes), default=None
        Held-out probabilities of the classes, in place of an estimator: each row predicted without its own label. The
        columns are the sorted classes of `y`, or those of a `CandidateSets` in their order.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of the held-out predictions; see `oneof.model_selection.cross_val_predict`.
    noise_rate : float in [0, 1), optional
        The fraction of wrong sets, if it is known; by default it is estimated.
    n_jobs : int, optional
        The number of folds fitted in parallel (joblib).
    random_state : int, RandomState instance or None, default=0
        Seed of the folds.

    Returns
    -------
    LabelIssues
        The probability of each row, the labels proposed, and the noise rate with an interval.

    Raises
    ------
    InputError
        If X, y or a parameter are invalid, or both an estimator and probabilities are given.
    LabelError
        If there are fewer than two classes, or all rows are unlabeled.

    Warns
    -----
    UserWarning
        If the predictions are not better than the class frequencies. The noise rate cannot be estimated then.

    Notes
    -----
    A set of size s contains the true class with probability 1 - e, and all right sets of this size are equally
    probable; a wrong set contains a wrong label whose distribution depends on the true class (see `confusion`). The
    noise rate e, one for each set size, and the power of the predictions are fitted by EM. With few rows of a set size
    its rate is close to the mean rate.

    The power is what separates noise from classes that overlap: the model assumes that errors occur among confident
    predictions as well. If a class is always mistaken for the same other class, the fit may take this for overlap, and
    the rate is too low. A classifier that has learned the errors, such as a random forest with many errors of this
    kind, makes it lower still.

    The interval is the profile-likelihood interval of probability 95 %, widened by a factor of about 1.4 for what the
    model leaves out. Up to 10,000 rows are used for the parameters, and up to 2,000 for the interval, evenly spaced.

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
        if noise_rate >= 1:
            raise InputError(f"`noise_rate` must be at least 0 and below 1; got {noise_rate!r}.")
    if proba is not None:
        if estimator is not None:
            raise InputError("`estimator` and `proba` cannot both be given. Omit one of them.")
        scores = np.log(np.maximum(_check_proba(proba, candidates), MIN_PROBABILITY))
        return issues_from_scores(scores, candidates, noise_rate)
    if X is None:
        raise InputError("`X` must be given without `proba`; got None.")
    classifier = LOORidge() if estimator is None else estimator
    check_estimator(classifier)
    if not _is_loo_ridge(classifier):
        scores = _cross_validated_scores(classifier, X, candidates, cv, n_jobs, random_state)
        return issues_from_scores(scores, candidates, noise_rate)
    issues = issues_from_scores(_leave_one_out_scores(classifier, X, candidates), candidates, noise_rate)
    changed = issues.probability >= MIN_CORRECTION
    if (candidates.is_exact | candidates.is_unlabeled).all() or not changed.any():
        return issues
    # The labels of the first fit are members of the sets: wrong partial sets have changed the predictions.
    return issues_from_scores(_leave_one_out_scores(classifier, X, issues._mixed(changed)), candidates, noise_rate)


def issues_from_scores(scores: Floats, candidates: CandidateSets, noise_rate: float | None = None) -> LabelIssues:
    """Fit the model of noise to held-out scores, (n, K), of which the softmax is taken."""
    labeled = np.flatnonzero(~candidates.is_unlabeled)
    evidence, classes = candidates.evidence, candidates.classes
    kind = np.where(candidates.is_weighted, WEIGHTED_GROUP, candidates.sizes)[labeled]
    sizes, group, counts = np.unique(kind, return_inverse=True, return_counts=True)
    solution = solve_noise(scores[labeled], evidence[labeled], group, total_rate=noise_rate)
    frequencies = uniform_within_sets(evidence[labeled]).mean(axis=0)
    gain = np.log(solution.likelihood) - np.log((evidence[labeled] * frequencies).sum(axis=1))
    if gain.sum() <= N_STANDARD_ERRORS * np.sqrt((gain**2).sum()):
        warnings.warn(
            "The features do not predict the labels, and wrong labels cannot be found. Check X, or pass another "
            "estimator.",
            UserWarning,
            stacklevel=3,
        )
    result: NoiseSolution | NoiseEstimate = solution
    model = solution.model
    if noise_rate is None:
        result = estimate = average_noise(scores[labeled], evidence[labeled], group, solution)
        model = NoiseModel(estimate.power, model.rates, estimate.confusion)
        rate, interval = float(estimate.wrong.mean()), estimate.interval
    else:
        rate, interval = float(noise_rate), (float(noise_rate), float(noise_rate))
    n, K = candidates.shape
    probability, outside = np.zeros(n), np.zeros((n, K))
    probability[labeled], outside[labeled] = result.wrong, result.outside
    proba = model.predict(scores)
    best = np.where(outside.any(axis=1), outside.argmax(axis=1), proba.argmax(axis=1))
    others = proba.copy()
    others[np.arange(n), best] = -1.0
    exact = candidates.is_exact
    label = candidates.mask.argmax(axis=1)
    of_label = [np.flatnonzero(exact & (label == k)) for k in range(K)]
    return LabelIssues(
        candidates=candidates,
        probability=probability,
        ranking=labeled[np.argsort(-probability[labeled], kind="stable")],
        proposed=classes[best],
        runner_up=classes[others.argmax(axis=1)],
        proba=proba,
        noise_rate=rate,
        noise_rate_interval=interval,
        noise_rate_by_size={
            int(size): float(probability[labeled][kind == size].mean())
            for size, count in zip(sizes, counts)
            if size != WEIGHTED_GROUP and count >= MIN_GROUP_ROWS
        },
        noise_rate_by_label={
            name: float(probability[rows].mean())
            for name, rows in zip(classes.tolist(), of_label)
            if len(rows) >= MIN_GROUP_ROWS
        },
        confusion=model.confusion,
        power=model.power,
        outside=outside,
    )


def _is_loo_ridge(estimator: Any) -> bool:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return type(last) is LOORidge


def _leave_one_out_scores(estimator: Any, X: Any, candidates: CandidateSets) -> Floats:
    """Return the leave-one-out scores of a fit, (n, K)."""
    fitted = clone(estimator).fit(X, candidates)
    return scores_of_fit(fitted[-1] if isinstance(estimator, Pipeline) else fitted)


def scores_of_fit(model: LOORidge) -> Floats:
    """Return the leave-one-out scores of a fitted `LOORidge`, whose softmax are probabilities."""
    return np.asarray(model.inverse_temperature_ * model.loo_scores_)


def _cross_validated_scores(
    estimator: Any, X: Any, candidates: CandidateSets, cv: Any, n_jobs: int | None, random_state: Any
) -> Floats:
    """Return scores of the classes for each row, (n, K), from fits to other rows."""
    if hasattr(estimator, "predict_proba"):
        proba = cross_val_predict(
            estimator, X, candidates, cv=cv, method="predict_proba", n_jobs=n_jobs, random_state=random_state
        )
        return np.log(np.maximum(proba, MIN_PROBABILITY))
    if not hasattr(estimator, "decision_function"):
        raise InputError(
            f"`estimator` must have predict_proba or decision_function; {type(estimator).__name__} has neither."
        )
    scores = cross_val_predict(
        estimator, X, candidates, cv=cv, method="decision_function", n_jobs=n_jobs, random_state=random_state
    )
    scores = np.stack([-0.5 * scores, 0.5 * scores], axis=1) if scores.ndim == 1 else scores
    finite = np.isfinite(scores)
    scores = np.where(finite, scores, scores[finite].min(initial=0.0))
    scores = scores - scores.mean(axis=1, keepdims=True)
    return np.asarray(scores / max(float(scores.std()), MIN_PROBABILITY))


def _check_proba(proba: Any, candidates: CandidateSets) -> Floats:
    """Return valid held-out probabilities whose rows sum to 1."""
    values = as_float_array(proba, "proba")
    if values.shape != candidates.shape:
        raise InputError(
            f"`proba` must have one row for each of the {len(candidates)} rows and one column for each of the "
            f"{candidates.shape[1]} classes; got shape {values.shape}."
        )
    labeled = ~candidates.is_unlabeled
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)).all(axis=1) | (~values.any(axis=1) & labeled))
    if len(wrong):
        raise InputError(
            "`proba` must be finite and at least 0, and not 0 for all classes of a row.", row=int(wrong[0])
        )
    values = values / np.maximum(values.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    return np.asarray(values / np.maximum(values.sum(axis=1, keepdims=True), 1.0))
