"""Base classes of the estimators: validation of X and y, prediction, disambiguation, scoring."""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from oneof.arrays import to_namespace_of
from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.likelihoods import masked_softmax
from oneof.metrics import covering_rate
from oneof.parallel import threads_for
from oneof.typing import FeatureMatrix, Floats, Labels, Mask
from oneof.validation import check_finite, locate_overflow, to_native, unmask


class Disambiguation(NamedTuple):
    """The most probable member of each row's candidate set.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Members of ``classes_``.
    confidence : ndarray of shape (n_samples,)
        Probability of the label among the candidates of its row, given their weights, in (0, 1]; 1 for exact rows,
        also for those with a wrong label: see `oneof.audit.find_label_issues`.
    """

    labels: Labels
    confidence: Floats


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the estimators; a subclass defines `fit` and `_scores`, from (n, d) rows to (n, K) scores."""

    _uses_gram_matrix = False  # whether the largest matrix of `fit` is (n, n) instead of (n, d)

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in cls.__dict__:
            cls.fit = _limit_threads(cls.fit)

    def predict(self, X: Any) -> Labels:
        """Predict one class for each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of ``classes_``; of classes with equal scores, the first one.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        rows = self._validate_rows(X)
        return self.classes_[np.argmax(self._finite_scores(rows), axis=1)]

    def disambiguate(self, X: Any = None, y: Any = None) -> Disambiguation:
        """Return the most probable member of each row's candidate set.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), optional
        y : array-like or CandidateSets of length n_samples, optional
            The candidate sets of the rows, in any form accepted by `fit`. By default `X` and `y` are the rows of
            `fit`. The estimator stores a reference to them, which is neither copied nor pickled.

        Returns
        -------
        Disambiguation
            The tuple (labels, confidence). Confidences are comparable between rows of one model. They are probabilities
            only if the method has `predict_proba`; otherwise they are a softmax of the scores. If the candidates of a
            row have weights, its probabilities are multiplied by them. Every set is taken to contain the true label: a
            wrong exact label has the confidence 1. `oneof.audit.find_label_issues` finds such rows.

        Raises
        ------
        InputError
            If only one of `X` and `y` is given, or neither and the rows of `fit` are not available.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise InputError("`X` and `y` must both be given, or both be omitted; got one of them.")
        training = X is None
        if training:
            if getattr(self, "_fitted_on", None) is None:
                raise InputError(
                    "The rows of `fit` are not available (`partial_fit` and saved models do not store them). "
                    "Call `disambiguate(X, y)`."
                )
            X, y = self._fitted_on
        rows = self._validate_rows(X)
        candidates = self._validate_candidates(y, rows)
        proba = self._candidate_proba(rows, candidates, training=training)
        best = np.argmax(np.where(candidates.mask, proba, -1.0), axis=1)
        return Disambiguation(self.classes_[best], proba[np.arange(len(best)), best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate: the fraction of rows whose prediction is in the candidate set.

        Unlabeled rows are ignored. On exact labels this is the accuracy.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            In any form accepted by `fit`.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0.

        Returns
        -------
        float
            In [0, 1]; higher is better.

        Raises
        ------
        LabelError
            If every row is unlabeled or has weight 0.
        """
        check_is_fitted(self)
        return covering_rate(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _scores(self, rows: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of checked rows; the largest is predicted."""
        raise NotImplementedError

    def _finite_scores(self, rows: FeatureMatrix) -> Floats:
        """Return the scores, or raise an error that names the row and the column of a value that is too large."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return check_scores(self._scores(rows))
            except InputError as error:
                raise locate_overflow(error, rows) from error.__cause__

    def _validate_fit(self, X: Any, y: Any, *, finite: bool = True) -> tuple[FeatureMatrix, CandidateSets]:
        """Check X and y for `fit` and set ``n_features_in_``; without `finite`, the solver checks for NaN and infinity.

        The result of an earlier fit is discarded: if `fit` fails from here on, the estimator is not fitted.
        """
        self.__dict__.pop("classes_", None)
        if y is None:
            as_candidates(None)
        rows = self._validate_rows(X, reset=True, finite=finite)
        candidates = as_candidates(y)
        check_lengths(rows, candidates)
        check_informative(candidates)
        return rows, candidates

    def _finalize_fit(self, X: Any, y: Any, candidates: CandidateSets) -> Self:
        """Set ``classes_``, which marks the estimator as fitted, after all other attributes."""
        self.classes_ = candidates.classes
        self._fitted_on: Any = (X, y)
        return self

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
        if not reset:
            check_is_fitted(self)
        X = unmask(X)  # scikit-learn would read the numbers below the mask
        # Numbers out of the range of float64 become infinite, which is then reported as an error.
        options: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C"}
        options["accept_sparse"] = "csr" if get_tags(self).input_tags.sparse else False
        with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
            try:
                rows = validate_data(self, X, **options, ensure_all_finite=finite, reset=reset)
            except ValueError as error:
                if str(error).startswith(("Input X contains NaN", "Input X contains infinity")):  # without row
                    check_finite(check_array(X, **options, ensure_all_finite=False), or_nan=finite == "allow-nan")
                raise
        rows = to_native(rows)
        if sp.issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            with np.errstate(over="ignore"):
                rows.sum_duplicates()  # duplicate entries are summed
            if finite is not False:
                check_finite(rows, or_nan=finite == "allow-nan")
        return rows

    def _validate_candidates(self, y: Any, rows: FeatureMatrix) -> CandidateSets:
        """Return candidate sets over ``classes_``."""
        candidates = as_candidates(y, classes=self.classes_)
        check_lengths(rows, candidates)
        return candidates

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Return (n, K) probabilities within the sets: 0 outside the set, and rows sum to 1.

        They are proportional to the method's probabilities, by default the softmax of its scores, times the weights.

        `training` marks the rows of `fit`, for methods in which a row must not contribute to its own prediction.
        """
        del training
        return masked_softmax(np.asarray(self._finite_scores(rows), dtype=np.float64), candidates.evidence)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_fitted_on", None)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class DecisionFunctionMixin:
    """Mixin of the methods whose scores are not probabilities."""

    classes_: Labels
    _validate_rows: Callable[..., FeatureMatrix]
    _finite_scores: Callable[[FeatureMatrix], Floats]

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` minus that of ``classes_[0]``.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        rows = self._validate_rows(X)
        scores: Floats = to_namespace_of(self._finite_scores(rows), rows)  # tensors for tensors
        if len(self.classes_) != 2:
            return scores
        return scores[:, 1] - scores[:, 0]


class LinearClassifierMixin(DecisionFunctionMixin):
    """Mixin of the methods with linear scores, ``coef_`` and ``intercept_``."""

    coef_: Floats
    intercept_: Floats
    n_features_in_: int

    def _set_coefficients(self, weights: Floats) -> None:
        """Set ``coef_`` and ``intercept_`` from (K, d) weights, or (K, d + 1) with a constant feature last."""
        d = self.n_features_in_
        self.coef_ = weights[:, :d]
        self.intercept_ = weights[:, d].copy() if weights.shape[1] > d else np.zeros(len(weights), weights.dtype)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return np.asarray(rows @ self.coef_.T) + self.intercept_


def _limit_threads(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method `fit` with as many threads as its largest matrix needs, also in classifiers that it wraps."""

    @functools.wraps(fit)
    def limited(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        n, *columns = getattr(X, "shape", ()) or (0,)
        n_columns = max((n, *columns)) if self._uses_gram_matrix else math.prod(columns)
        with threads_for(n * n_columns):
            return fit(self, X, *args, **options)

    return limited


def select_rows(selected: Mask, rows: Any) -> Any:
    """Return the selected rows; if all are selected, the same object, since a copy would double the memory."""
    return rows if selected.all() else rows[selected]


def check_scores(scores: Floats) -> Floats:
    """Return scores, (n,) or (n, K); raise if one is NaN, or so large that differences could overflow."""
    within = np.abs(scores) <= np.finfo(scores.dtype).max / 2
    if not within.all():
        row = int(np.argwhere(~within)[0][0])
        raise InputError("the scores overflow. Scale the features, for example with StandardScaler.", row=row)
    return scores


def check_lengths(rows: FeatureMatrix, candidates: CandidateSets) -> None:
    """Raise if the numbers of rows and of candidate sets differ."""
    if not rows.shape:
        raise InputError("`X` must be of shape (n_samples, n_features); got a scalar.")
    if rows.shape[0] != len(candidates):
        raise InputError(
            f"X has {rows.shape[0]} rows, but y has {len(candidates)} candidate sets. Give one set for each row."
        )


def accepts_candidates(estimator: Any) -> bool:
    """Return whether an estimator, or one inside it, is an estimator of oneof and accepts candidate sets."""
    return any(isinstance(part, CandidateClassifier) for part in (estimator, *estimator.get_params(deep=True).values()))


def check_accepts_candidates(estimator: Any, are_exact: bool) -> None:
    """Raise if rows have several candidates, and an estimator does not accept candidate sets."""
    if not are_exact and not accepts_candidates(estimator):
        raise InputError(
            f"`estimator` must be an estimator of oneof if rows have several candidates; got {estimator!r}. "
            "Wrap it in oneof.CandidateEM."
        )


def last_step(estimator: Any) -> Any:
    """Return the last step of a pipeline, also of nested ones; any other estimator is returned itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def check_informative(candidates: CandidateSets) -> None:
    """Raise if there are fewer than two classes, or only unlabeled rows."""
    if not candidates.shape[1]:
        raise LabelError("`y` must contain at least two classes; got none.")
    if candidates.shape[1] < 2:
        raise LabelError(
            f"`y` must contain at least two classes; got only one class, {candidates.classes.tolist()[0]!r}."
        )
    if candidates.is_unlabeled.all():
        raise LabelError(
            "`y` must contain a labeled or partial row; every row is unlabeled (its set has all classes). "
            "If `y` is a list of 0/1 lists, pass `np.asarray(y)` to have it read as an indicator."
        )
