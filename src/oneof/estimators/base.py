"""What every estimator shares: reading X and y, predicting, naming the likeliest candidate, scoring."""

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError, LabelError, reraise_as_input_error
from oneof.likelihoods import masked_softmax
from oneof.metrics import covering_rate
from oneof.typing import FeatureMatrix, Floats, Labels
from oneof.validation import check_finite


class Disambiguation(NamedTuple):
    """The most probable member of each row's candidate set.

    Attributes
    ----------
    labels : ndarray of shape (n_samples,)
        Members of ``classes_``.
    confidence : ndarray of shape (n_samples,)
        Share of the label among the candidates of its row, in (0, 1]; 1 where the set holds one label.
    """

    labels: Labels
    confidence: Floats


class CandidateClassifier(ClassifierMixin, BaseEstimator):
    """Mixin of the estimators: a subclass gives `fit` and `_scores`, from (n, d) rows to (n, K) scores."""

    def predict(self, X: Any) -> Labels:
        """Predict one class for each row.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Members of ``classes_``; ties go to the class that comes first.
        """
        rows = self._read_rows(X)
        return self.classes_[np.argmax(self._finite_scores(rows), axis=1)]

    def disambiguate(self, X: Any = None, y: Any = None) -> Disambiguation:
        """Name the most probable member of each row's candidate set.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), optional
        y : array-like or CandidateSets of length n_samples, optional
            The candidate sets of the rows, in any form that `fit` takes. Without `X` and `y`, the rows given to `fit`
            are meant; the estimator refers to them but neither copies nor pickles them.

        Returns
        -------
        Disambiguation
            The tuple (labels, confidence). Confidences compare rows under one model. They are probabilities only
            where the method has `predict_proba`; elsewhere they are a softmax of the scores.

        Raises
        ------
        InputError
            If only one of `X` and `y` is given, or neither and the rows of `fit` are not at hand.
        """
        check_is_fitted(self)
        if (X is None) != (y is None):
            raise InputError("disambiguate takes X and y together, or neither of them for the rows given to fit.")
        training = X is None
        if training:
            if getattr(self, "_fitted_on", None) is None:
                raise InputError(
                    "the rows given to fit are not at hand (partial_fit and saved models do not keep them): "
                    "call disambiguate(X, y)."
                )
            X, y = self._fitted_on
        rows = self._read_rows(X)
        candidates = self._read_candidates(y, rows)
        shares = self._candidate_shares(rows, candidates, training=training)
        best = np.argmax(np.where(candidates.mask, shares, -1.0), axis=1)
        return Disambiguation(self.classes_[best], shares[np.arange(len(best)), best])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the covering rate: how often the prediction lies in the row's candidate set.

        Rows whose set holds every class say nothing and are left out. On exact labels this is the accuracy.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            In any form that `fit` takes.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
            In [0, 1]; higher is better.
        """
        check_is_fitted(self)
        return covering_rate(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _scores(self, rows: FeatureMatrix) -> Floats:
        """Return the (n, K) scores of checked rows; the largest is predicted."""
        raise NotImplementedError

    def _finite_scores(self, rows: FeatureMatrix) -> Floats:
        """Return the scores; where rows are beyond the arithmetic, the error names one."""
        with np.errstate(over="ignore", invalid="ignore"):
            return check_scores(self._scores(rows))

    def _read_fit(self, X: Any, y: Any, *, finite: bool = True) -> tuple[FeatureMatrix, CandidateSets]:
        """Check X and y for `fit`, and set what describes X; without `finite`, the solver meets NaN and infinity.

        What was fitted before no longer counts: where `fit` fails from here on, the estimator is not fitted.
        """
        self.__dict__.pop("classes_", None)
        if y is None:
            as_candidates(None)
        rows = self._read_rows(X, reset=True, finite=finite)
        candidates = as_candidates(y)
        check_lengths(rows, candidates)
        check_learnable(candidates)
        return rows, candidates

    def _finish_fit(self, X: Any, y: Any, candidates: CandidateSets) -> Self:
        """Set ``classes_``, by which the estimator counts as fitted, once all else stands."""
        self.classes_ = candidates.classes
        self._fitted_on: Any = (X, y)
        return self

    def _read_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
        if not reset:
            check_is_fitted(self)
        # Numbers that float64 does not hold become infinite, which is then refused in words.
        form: dict[str, Any] = {"dtype": [np.float64, np.float32], "order": "C"}
        form["accept_sparse"] = "csr" if get_tags(self).input_tags.sparse else False
        with reraise_as_input_error(), np.errstate(over="ignore", invalid="ignore"):
            try:
                rows = validate_data(self, X, **form, ensure_all_finite=finite, reset=reset)
            except ValueError as error:
                if str(error).startswith(("Input X contains NaN", "Input X contains infinity")):  # not where
                    check_finite(check_array(X, **form, ensure_all_finite=False), or_nan=finite == "allow-nan")
                raise
        if sp.issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            with np.errstate(over="ignore"):
                rows.sum_duplicates()  # an entry given in parts is their sum
            if finite is not False:
                check_finite(rows, or_nan=finite == "allow-nan")
        return rows

    def _read_candidates(self, y: Any, rows: FeatureMatrix) -> CandidateSets:
        """Read sets over the classes that were learned."""
        candidates = as_candidates(y, classes=self.classes_)
        check_lengths(rows, candidates)
        return candidates

    def _candidate_shares(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Return (n, K) shares that are 0 outside the set and sum to 1 in each row.

        `training` tells that these are the rows of `fit`, for methods in which a row must not vouch for itself.
        """
        del training
        return masked_softmax(np.asarray(self._finite_scores(rows), dtype=np.float64), candidates.mask)

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


class DecisionValues:
    """Mixin of the methods whose scores are no probabilities."""

    classes_: Labels
    _read_rows: Callable[..., FeatureMatrix]
    _finite_scores: Callable[[FeatureMatrix], Floats]

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the score of ``classes_[1]`` less that of ``classes_[0]``.
        """
        scores = self._finite_scores(self._read_rows(X))
        if len(self.classes_) != 2:
            return scores
        return scores[:, 1] - scores[:, 0]


class LinearScores(DecisionValues):
    """Mixin of the methods whose scores are linear in the features: ``coef_`` and ``intercept_``."""

    coef_: Floats
    intercept_: Floats
    n_features_in_: int

    def _keep_weights(self, weights: Floats) -> None:
        """Set ``coef_`` and ``intercept_`` from (K, d) weights, or (K, d + 1) with those of a constant feature last."""
        d = self.n_features_in_
        self.coef_ = weights[:, :d]
        self.intercept_ = weights[:, d].copy() if weights.shape[1] > d else np.zeros(len(weights), weights.dtype)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return np.asarray(rows @ self.coef_.T) + self.intercept_


def rows_where(kept: Any, rows: Any) -> Any:
    """Return the rows that are kept; where all are, the very object, as a copy would double the memory."""
    return rows if kept.all() else rows[kept]


def check_scores(scores: Floats) -> Floats:
    """Return scores, a row or a number for each row of features, unless one is NaN or differences could overflow."""
    within = np.abs(scores) <= np.finfo(scores.dtype).max / 2
    if not within.all():
        row = int(np.argwhere(~within)[0][0])
        raise InputError("the scores overflow: scale the features, for example with StandardScaler.", row=int(row))
    return scores


def check_lengths(rows: FeatureMatrix, candidates: CandidateSets) -> None:
    """Raise unless there is one candidate set for each row."""
    if not rows.shape:
        raise InputError("X is no table, expected (n_samples, n_features): give a row of features each.")
    if rows.shape[0] != len(candidates):
        raise InputError(
            f"X has {rows.shape[0]} rows, but y has {len(candidates)} candidate sets: give one set for each row."
        )


def check_learnable(candidates: CandidateSets) -> None:
    """Raise unless there are two classes, and a row that tells something of its label."""
    if not candidates.shape[1]:
        raise LabelError("y names no class: a classifier needs at least two classes.")
    if candidates.shape[1] < 2:
        raise LabelError(
            f"y names only one class ({candidates.classes.tolist()[0]!r}): a classifier needs at least two classes."
        )
    if candidates.is_unlabeled.all():
        raise LabelError(
            "every row of y is unlabeled (its set holds all classes), so there is nothing to learn from; "
            "if y is a list of 0/1 lists, pass np.asarray(y) to have it read as an indicator."
        )
