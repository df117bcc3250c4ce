"""Base of the four online classifiers: epochs over the rows, and a state from which a stream continues."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import LinearClassifierMixin, TrainingRows, check_lengths
from oneof.estimators.parameters import KW_ONLY, Count, estimator
from oneof.messages import warn
from oneof.solvers.online import MAX_CHECKED_ROWS, OnlineState, describe_one_class
from oneof.solvers.row_accessors import SparseRows, memory_order
from oneof.typing import Evidence, FeatureMatrix, Ints, Mask
from oneof.validation import check_random_state, check_sample_weight

_MAX_PLAIN_ROWS = 1000
"""Maximum number of rows of a batch that is not checked for other forms of labels; the comparison is (n, K)."""


@estimator
class OnlineClassifier(LinearClassifierMixin):
    """Base class of the online classifiers; a subclass defines `_make_solver`, its solver with the parameters bound.

    Parameters
    ----------
    n_epochs : int, default=1
        Number of passes of `fit` over the rows.
    shuffle : bool, default=False
        Shuffle the rows before each pass of `fit`. If rows in the given order are sorted by class, the result mostly
        depends on the last class.
    average : bool, default=False
        Predict with the mean of the weights after each row (not in the paper). It has less variance, at the same speed.
    fit_intercept : bool, default=False
        Add a constant feature 1 (not in the paper).
    random_state : int, RandomState or None, default=None
        For `shuffle`.

    Attributes
    ----------
    t_ : int
        Number of rows processed, over all passes.
    progressive_loss_ : float
        Fraction of the processed rows whose prediction, made before the update, was outside the set. A row with weights
        counts 1 less the weight of its prediction.
    """

    _finite = False  # the solver checks for NaN and infinity
    _: KW_ONLY
    n_epochs: Count = 1
    shuffle: bool = False
    average: bool = False
    fit_intercept: bool = False
    random_state: Any = None

    def _fit(self, training: TrainingRows) -> None:
        solve, rng = self._make_solver(), check_random_state(self.random_state)
        state = self._initial_state(training.X, training.evidence.shape[1])
        for _ in range(self.n_epochs):
            order = rng.permutation(training.X.shape[0]) if self.shuffle else None
            state = solve(training.X, training.evidence, initial=state, order=order)
        self._set_fitted_attributes(state)
        if hasattr(self, "lam"):  # Pegasos, whose steps depend on the scale of the rows
            checked = training.labeled[:: -(-len(training.labeled) // MAX_CHECKED_ROWS)]
            if note := describe_one_class(training.X[checked], training.evidence[checked], state):
                warn(f"{type(self).__name__}: {note}", ConvergenceWarning)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Update the model with further rows, once and in the given order.

        Any split of a stream into calls gives the same weights, bit by bit. `n_epochs` and `shuffle` are ignored.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
        classes : array-like of shape (n_classes,), optional
            All classes, in the order of ``classes_`` and of an indicator's columns; required in the first call unless
            `y` is an indicator or CandidateSets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; multiplies a row's step. Rows of weight 0 are ignored, also in ``t_``.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y, the classes or a weight is invalid, or `fit_intercept` or `average` changed between calls.
        """
        self._check_parameters()
        solve, first = self._make_solver(), not hasattr(self, "classes_")
        plain = None if first or classes is not None or sample_weight is not None else self._mask_of_plain_batch(X, y)
        if plain is not None:
            self._check_options(self._state)
            self._set_fitted_attributes(solve(X, plain, initial=self._state))
            self._fitted_on = None
            return self
        candidates = self._validate_batch(y, classes, first=first)
        rows = self._validate_rows(X, reset=first, finite=False)
        check_lengths(rows, candidates)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        state = self._initial_state(rows, candidates.shape[1]) if first else self._state
        self._check_options(state)
        with np.errstate(over="ignore"):  # values out of the range of float32 become infinite, which the solver reports
            rows = rows.astype(state.V.dtype, copy=False)
        self._set_fitted_attributes(solve(rows, candidates.evidence, initial=state, sample_weight=weight))
        self.classes_ = candidates.classes
        self._fitted_on = None  # the rows of earlier calls are not available
        return self

    def _advance(
        self, state: OnlineState | None, rows: FeatureMatrix | SparseRows, evidence: Evidence, *, in_place: bool = False
    ) -> OnlineState:
        """Return the state after one pass over further rows, in the given order.

        It is `partial_fit` without the checks and without a new ``coef_`` for each call, which for many features costs
        more than the pass. The estimator itself is not changed; `_load_state` sets its attributes.

        Parameters
        ----------
        state : OnlineState or None
            None before the first row.
        rows : ndarray, CSR matrix or SparseRows of shape (n, n_features)
        evidence : ndarray of shape (n, n_classes), bool or float64
        in_place : bool, default=False
            Change the arrays of `state`, which must not be used again.

        Returns
        -------
        OnlineState
            Unless `in_place`, `state` itself is not changed.
        """
        solve = self._make_solver()
        start = self._initial_state(rows, evidence.shape[1]) if state is None else state
        return solve(rows, evidence, initial=start, in_place=in_place)

    def _predict_at(self, state: OnlineState, rows: FeatureMatrix) -> Ints:
        """Return the class codes that the estimator would predict with `state`.

        Parameters
        ----------
        state : OnlineState
        rows : ndarray or CSR matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,), int
            Columns of the evidence.
        """
        weights = state.mean_weights if self.average else state.weights
        d = rows.shape[1]
        scores = np.asarray(rows @ weights[:, :d].T) + (weights[:, d] if self.fit_intercept else 0)
        return np.asarray(np.argmax(scores, axis=1))

    def _load_state(self, state: OnlineState, classes: Any, n_features: int) -> Self:
        """Set the fitted attributes from `state`, for `classes` in the order of the columns of the evidence.

        Parameters
        ----------
        state : OnlineState
        classes : array-like of shape (n_classes,)
        n_features : int
            Without the intercept.

        Returns
        -------
        self
        """
        self.n_features_in_ = n_features
        self._set_fitted_attributes(state)
        self.classes_ = as_classes(classes)
        self._fitted_on = None
        return self

    def _make_solver(self) -> Callable[..., OnlineState]:
        """Return the solver of one epoch."""
        raise NotImplementedError

    def _initial_state(self, rows: FeatureMatrix | SparseRows, n_classes: int) -> OnlineState:
        return OnlineState.zeros(
            n_classes,
            rows.shape[1] + bool(self.fit_intercept),
            dtype=rows.dtype,
            average=bool(self.average),
            order=memory_order(rows),
        )

    def _set_fitted_attributes(self, state: OnlineState) -> None:
        weights = state.mean_weights if self.average else state.weights
        if not np.isfinite(weights).all():
            raise InputError("The weights overflow float64. Scale the features, for example with StandardScaler.")
        self._state = state
        self._set_coefficients(weights, weights.dtype)
        self.t_ = state.n_rows
        self.progressive_loss_ = state.n_mistakes / max(state.n_rows, 1)

    def _check_options(self, state: OnlineState) -> None:
        initial_options = (state.V.shape[1] > self.n_features_in_, state.has_mean)
        if initial_options != (bool(self.fit_intercept), bool(self.average)):
            raise InputError(
                "`fit_intercept` and `average` must not change between calls of `partial_fit`. Call `fit` to restart."
            )

    def _mask_of_plain_batch(self, X: Any, y: Any) -> Mask | None:
        """Return the candidates of a batch of plain arrays with known labels, or None if they must be checked.

        With one row per call, the checks of arrays of any form take twenty times as long as the step.
        """
        if type(X) is not np.ndarray or type(y) is not np.ndarray or hasattr(self, "feature_names_in_"):
            return None
        is_plain = (
            X.dtype == self._state.V.dtype
            and X.shape == (y.size, self.n_features_in_)
            and X.flags.c_contiguous
            and y.shape == (y.size,)
            and 0 < y.size <= _MAX_PLAIN_ROWS
            and y.dtype.kind == self.classes_.dtype.kind == "i"
        )
        if not is_plain:
            return None
        mask = y[:, None] == self.classes_
        # -1 among the labels is a missing label or a class.
        return mask if mask.sum() == y.size and y.min() >= 0 else None

    def _validate_batch(self, y: Any, classes: Any, *, first: bool) -> CandidateSets:
        """Return the candidate sets of a batch over the classes of the stream, which the first call defines."""
        given_classes = None if classes is None else as_classes(classes)
        if given_classes is not None and len(given_classes) < 2:
            raise InputError("`classes` must have at least two classes; got one.")
        if first:
            if given_classes is None and not isinstance(y, CandidateSets) and len(getattr(y, "shape", ())) != 2:
                raise InputError(
                    "classes must be passed on the first call to partial_fit, since later rows may have other labels."
                )
            return as_candidates(y, classes=given_classes)
        if given_classes is not None and set(given_classes.tolist()) != set(self.classes_.tolist()):
            raise InputError(
                f"`classes` must be those of the first call, {self.classes_.tolist()}; got {given_classes.tolist()}."
            )
        candidates = as_candidates(y, classes=self.classes_ if given_classes is None else given_classes)
        return as_candidates(candidates, classes=self.classes_)


def check_online(estimator: Any) -> None:
    """Raise if an estimator is not an online classifier, or has an invalid parameter."""
    if not isinstance(estimator, OnlineClassifier):
        raise InputTypeError(
            f"{type(estimator).__name__} is not an online classifier. Choose AvgPerceptron, MaxPerceptron, "
            "AvgPegasos or MaxPegasos."
        )
    estimator._check_parameters()
