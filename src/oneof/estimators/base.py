"""Base classes of the estimators: `fit` from validation to attributes, prediction, disambiguation, scoring."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_torch_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from oneof.arrays import as_numpy, to_namespace_of
from oneof.candidates import CandidateSets, as_candidates
from oneof.candidates.class_weights import check_row_weights
from oneof.errors import InputError, InputTypeError, LabelError, reraise_as_input_error
from oneof.likelihoods import masked_softmax, normalize_within_sets, softmax
from oneof.messages import warn
from oneof.metrics import covering_rate
from oneof.parallel import threads_for
from oneof.typing import Array, Evidence, FeatureMatrix, Floats, Ints, Labels
from oneof.validation import check_finite, locate_overflow, to_native, unmask

Method = TypeVar("Method", bound=Callable[..., Any])


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


@dataclass(frozen=True)
class TrainingRows:
    """The checked rows of `fit`, their candidate sets and their weights."""

    X: FeatureMatrix
    candidates: CandidateSets
    weight: Floats
    """The sample weights times the class weights, (n,); ones by default."""

    @property
    def evidence(self) -> Evidence:
        """The candidates or their weights, (n, K)."""
        return self.candidates.evidence

    @cached_property
    def labeled(self) -> Ints:
        """Indices of the rows that are not unlabeled."""
        return np.flatnonzero(~self.candidates.is_unlabeled)

    def select(self, used: Ints) -> FeatureMatrix:
        """Return the used rows; if all are used, the same object, since a copy would double the memory."""
        return self.X if len(used) == len(self.candidates) else _safe_indexing(self.X, used)

    def most_probable(self, proba: Floats) -> Labels:
        """Return the label of each row's candidate with the highest of (n, K) probabilities."""
        return self.candidates.classes[np.where(self.candidates.mask, proba, -1.0).argmax(axis=1)]

    def complete(self, values: Array, used: Ints, predict: Callable[[Ints], Array]) -> Array:
        """Return (n, K) values: those of the used rows, and predictions of the other rows, given by their indices."""
        completed = to_namespace_of(np.empty(self.candidates.shape), values)
        completed[used] = values
        others = np.setdiff1d(np.arange(len(self.candidates)), used, assume_unique=True)
        if len(others):
            completed[others] = predict(others)
        return completed


def _without_other_arguments(fit: Method) -> Method:
    """Return `fit` with an error for other arguments that names the class of the estimator, not that of the method."""

    @wraps(fit)
    def checked_fit(self: Any, X: Any, y: Any, *further: Any, **others: Any) -> Any:
        if further or others:
            rejected = next(iter(others), "sample_weight")
            raise InputTypeError(f"{type(self).__name__}.fit does not accept `{rejected}`. Leave it out.")
        return fit(self, X, y)

    return cast(Method, checked_fit)


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """Base class of the estimators.

    A subclass has the decorator `estimator` and declares its parameters. It defines `_fit`, which solves its problem
    for checked rows and sets the attributes, and `_scores`, from (n, d) rows to (n, K) scores.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.
    """

    _checks: ClassVar[dict[str, Any]] = {}  # of the parameters, by `estimator`
    _not_saved: tuple[str, ...] = ("_fitted_on",)  # attributes that contain the rows of `fit`
    _uses_gram_matrix = False  # whether the largest matrix of `fit` is (n, n) instead of (n, d)
    _finite: Any = None  # False if the solver checks the values of X in `fit` for NaN and infinity

    @_without_other_arguments
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; for an estimator with ``kernel="precomputed"``, the dense kernel of all pairs of rows. `LOORidge`
            and `PLGP` also accept torch tensors.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter is invalid, or the computation would not fit in memory.
        """
        return self._fit_checked(X, y)

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
        candidates = as_candidates(y, classes=self.classes_)
        check_lengths(rows, candidates)
        proba = (self._training_proba if training else self._candidate_proba)(rows, candidates)
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

    def _fit(self, training: TrainingRows) -> None:
        """Solve the problem of checked rows, and set the attributes."""
        raise NotImplementedError

    def _scores(self, rows: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of checked rows; the largest is predicted."""
        raise NotImplementedError

    def _logits(self, rows: FeatureMatrix) -> Floats:
        """Return the scores whose softmax has the probabilities of the classes."""
        return self._finite_scores(rows)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        """Return (n, K) probabilities within the sets: 0 outside the set, and rows sum to 1.

        They are proportional to the method's probabilities times the weights.
        """
        return masked_softmax(np.asarray(self._logits(rows), dtype=np.float64), candidates.evidence)

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        """Return the same for the rows of `fit`, if possible those that their own labels do not influence."""
        if hasattr(self, "label_distributions_"):
            return normalize_within_sets(self.label_distributions_, candidates.mask)
        return self._candidate_proba(rows, candidates)

    def _check_parameters(self) -> None:
        """Raise if a parameter, or a combination of parameters, is invalid; data are not needed."""
        for name, (choices, check) in self._checks.items():
            value = getattr(self, name)
            if check and (not isinstance(value, str | None) or value not in choices):
                check(name, value)

    def _set_path(self, path: Floats, n_iter: int, converged: bool, remedy: str = "scale the features, or ") -> None:
        """Set ``objective_path_``, ``objective_`` and ``n_iter_``, and warn if the solver did not converge."""
        self.objective_path_ = path
        self.objective_ = float(path[-1])
        self.n_iter_ = max(n_iter, 1)
        self._warn_unless(converged, n_iter, remedy)

    def _warn_unless(self, converged: bool, n_iter: int, remedy: str = "") -> None:
        """Warn if the solver did not converge; `remedy` is for ways other than more iterations."""
        if not converged:
            advice = f"{remedy}increase max_iter or tol."
            warn(
                f"{type(self).__name__} did not converge in {n_iter} iterations. {advice[0].upper()}{advice[1:]}",
                ConvergenceWarning,
            )

    # -- private --------------------------------------------------------------------------------------------------

    def _fit_checked(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Check parameters and data, and fit with as many threads as the largest matrix needs."""
        self._check_parameters()
        n, *columns = getattr(X, "shape", ()) or (0,)
        with threads_for(n * (max((n, *columns)) if self._uses_gram_matrix else math.prod(columns))):
            # The results of an earlier fit are discarded: if `fit` fails from here on, the estimator is not fitted.
            for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
                delattr(self, name)
            if y is None:
                as_candidates(None)
            rows = self._validate_rows(X, reset=True, finite=self._finite)
            candidates = as_candidates(y)
            check_lengths(rows, candidates)
            check_informative(candidates)
            weight = check_row_weights(candidates, sample_weight, getattr(self, "class_weight", None))
            self._fit(TrainingRows(rows, candidates, weight))
        self.classes_ = candidates.classes  # after all other attributes: it marks the estimator as fitted
        self._fitted_on: Any = (X, y)
        return self

    def _finite_scores(self, rows: FeatureMatrix) -> Floats:
        """Return the scores, or raise an error that names the row and the column of a value that is too large."""
        with np.errstate(over="ignore", invalid="ignore"):
            try:
                return _check_scores(self._scores(rows))
            except InputError as error:
                raise locate_overflow(error, rows) from error.__cause__

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        if not reset:
            check_is_fitted(self)
        accepted = get_tags(self).input_tags
        if finite is None:
            finite = "allow-nan" if accepted.allow_nan else True
        X = unmask(X)  # scikit-learn would read the numbers below the mask
        # Numbers out of the range of float64 become infinite, which is then reported as an error.
        options: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C"}
        options["accept_sparse"] = "csr" if accepted.sparse else False
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

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name not in self._not_saved}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SampleWeightMixin(CandidateClassifier):
    """Mixin of the methods in which a row of weight 2 has the effect of two equal rows."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            The rows; for an estimator with ``kernel="precomputed"``, the dense kernel of all pairs of rows.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, at least 0; a row of weight 2 counts as two rows, except in the choice of the landmarks
            of `PLSVM` and in numbers of rows.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y, sample_weight or a parameter is invalid, or the computation would not fit in memory.
        """
        return self._fit_checked(X, y, sample_weight)


class SoftmaxMixin(CandidateClassifier):
    """Mixin of the methods whose probabilities are the softmax of their scores."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to 1; `LOORidge` and `PLGP` return a tensor for a tensor. A row without neighbors in the graph of a
            graph method has a uniform distribution.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        return self._proba(self._validate_rows(X))

    def _proba(self, rows: FeatureMatrix) -> Array:
        return to_namespace_of(softmax(self._logits(rows)), rows)  # tensors for tensors


class ProbabilityMixin(SoftmaxMixin):
    """Mixin of the methods whose scores are probabilities."""

    def _proba(self, rows: FeatureMatrix) -> Array:
        return self._finite_scores(rows)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        return normalize_within_sets(as_numpy(self._proba(rows)), candidates.evidence)


class DecisionFunctionMixin(CandidateClassifier):
    """Mixin of the methods whose scores are not probabilities."""

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
    """Mixin of the methods with linear scores.

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the features in the score of each class.
    intercept_ : ndarray of shape (n_classes,)
        Constant in the score of each class.
    """

    def _set_coefficients(self, weights: Floats, dtype: Any) -> None:
        """Set ``coef_`` and ``intercept_`` from (K, d) weights, or (K, d + 1) with a constant feature last."""
        d, weights = self.n_features_in_, weights.astype(dtype, copy=False)
        self.coef_ = weights[:, :d]
        self.intercept_ = weights[:, d].copy() if weights.shape[1] > d else np.zeros(len(weights), weights.dtype)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return np.asarray(rows @ self.coef_.T) + self.intercept_


class PrecomputedKernelMixin(CandidateClassifier):
    """Mixin of the methods with ``kernel="precomputed"``, in which X is the kernel of all pairs of rows."""

    kernel: str | Callable[[Any, Any], Any]

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


class TensorClassifier(CandidateClassifier):
    """Base class of the estimators that compute on the device of the rows if these are tensors.

    Results are tensors on the device of the input then.
    """

    def _fitted_rows(self) -> FeatureMatrix | None:
        """Return rows in the precision and on the device of the rows of `fit`; None before `fit`."""
        raise NotImplementedError

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        """Check rows; tensors have the errors of scikit-learn's arrays, and the precision and device of those of `fit`.

        NumPy rows are copied to the device if the estimator was fitted to tensors.
        """
        fitted = None if reset else self._fitted_rows()
        if not is_torch_array(X):
            rows = super()._validate_rows(X, reset=reset, finite=finite)
            return to_namespace_of(rows, fitted) if is_torch_array(fitted) else rows
        if not reset:
            check_is_fitted(self)
        xp = array_namespace(X)
        if X.ndim != 2 or 0 in X.shape:
            raise InputError(f"`X` must be a tensor of shape (n_samples, n_features); got shape {tuple(X.shape)}.")
        if X.is_sparse or X.is_complex():
            raise InputError("`X` must be a dense tensor of real numbers; got a sparse or complex tensor.")
        if fitted is not None and not is_torch_array(fitted):
            raise InputError("`X` must be a NumPy array, as in `fit`; got a tensor. Pass X.cpu().numpy().")
        if fitted is not None and X.device != fitted.device:
            raise InputError(f"`X` must be on {fitted.device}, as in `fit`; got a tensor on {X.device}.")
        X = X.detach()
        if fitted is not None or X.dtype not in (xp.float32, xp.float64):
            X = xp.astype(X, xp.float64 if fitted is None else fitted.dtype)
        if not bool(xp.all(xp.isfinite(X))):
            raise InputError("`X` must be finite; got NaN or infinity.")
        with reraise_as_input_error():
            return validate_data(self, X, skip_check_array=True, reset=reset)  # the number of the features


def _check_scores(scores: Floats) -> Floats:
    """Return scores, (n, K); raise if one is NaN, or so large that differences could overflow."""
    broken = ~(np.abs(scores) <= np.finfo(scores.dtype).max / 2)
    if broken.any():
        row = int(np.argwhere(broken)[0][0])
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
    if candidates.shape[1] < 2:
        found = ", ".join(f"only one class, {label!r}" for label in candidates.classes.tolist()) or "none"
        raise LabelError(f"`y` must contain at least two classes; got {found}.")
    if candidates.is_unlabeled.all():
        raise LabelError(
            "`y` must contain a labeled or partial row; every row is unlabeled (its set has all classes). "
            "If `y` is a list of 0/1 lists, pass `np.asarray(y)` to have it read as an indicator."
        )
