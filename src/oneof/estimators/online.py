"""Online classifiers, which update a linear model after each row, and continue on a stream by `partial_fit`.

Reading order: `OnlineClassifier` (epochs over the rows, and the state of a stream), the Perceptrons or Pegasos, and
`oneof.solvers.online` (the updates and the sequential loop).
"""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import LinearClassifierMixin, TrainingRows, check_lengths
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.messages import warn
from oneof.solvers.online import MAX_CHECKED_ROWS, OnlineState, Prediction, describe_one_class, pegasos, perceptron
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
        self._state, self._fitted_on = state, None  # a state has no rows; `fit` sets those of the last call
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


@estimator
class _Perceptron(OnlineClassifier):
    """Base of both Perceptrons; a subclass defines the candidate score in the hinge.

    Parameters
    ----------
    eta0 : float, default=1.0
        Step size, above 0. It matters only relative to the margin 1; without a margin it would only scale the weights.
    """

    _prediction: ClassVar[Prediction]

    eta0: Positive = 1.0

    def _make_solver(self) -> Callable[..., OnlineState]:
        return partial(perceptron, prediction=self._prediction, eta0=self.eta0)


@estimator
class AvgPerceptron(_Perceptron):
    """Online Perceptron with the average prediction hinge.

    If max(0, 1 - mean_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, eta0 x / |S| is added to the weights of the
    candidates, and eta0 x is subtracted from those of the best class outside the set. The weights start at 0.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier).

    Notes
    -----
    With eta0 = 1, no intercept and no averaging, c = min |S_t| and R = max ||x_t||, let weights of norm 1 separate the
    rows on average with margin gamma. Then sum L_A <= 2 / gamma^2 + (1/c + 1) R^2 / gamma^2 (Theorem 1). In general,
    with d_t = max(0, gamma - margin_t), D^2 = sum (|S_t| d_t)^2, k = 1/c + 1, Delta = ((D^2 + k D^2 R^2) / k)^(1/4) and
    Z = sqrt(1 + D^2 / Delta^2), the paper prints sum L_A <= 2 Z^2 / gamma^2 + 2 k (R^2 + Delta^2) Z^2 / gamma^2
    (Theorem 2). Its proof gives the bound without the second factor 2; the tests check this tighter bound.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 1.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import AvgPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = AvgPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "average"


@estimator
class MaxPerceptron(_Perceptron):
    """Online Perceptron with the max prediction hinge.

    If max(0, 1 - max_{k in S} w_k.x + max_{k not in S} w_k.x) > 0, eta0 x is added to the weights of the best class in
    the set and subtracted from those of the best class outside it. The bounds of `AvgPerceptron` do not hold.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier).

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 2.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import MaxPerceptron
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = MaxPerceptron(n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "max"


@estimator
class _Pegasos(OnlineClassifier):
    """Base of both Pegasos classifiers; a subclass defines the candidate score in the hinge.

    Parameters
    ----------
    lam : float, default=1e-4
        Regularization, above 0.
    shrink : {"on_loss", "always"}, default="on_loss"
        Rows on which W <- (1 - 1/t) W is applied. "on_loss": only rows with a loss, as printed in the paper's
        Algorithms 3 and 4. "always": every row, as in its Theorem 3.
    n_epochs : int, default=1
        Number of passes of `fit` over the rows; t is not reset.
    fit_intercept : bool, default=False
        Add a constant feature 1, whose weight is shrunk and projected with the others (not in the paper).
    """

    _prediction: ClassVar[Prediction]

    lam: Positive = 1e-4
    _: KW_ONLY
    shrink: Literal["on_loss", "always"] = "on_loss"

    def _make_solver(self) -> Callable[..., OnlineState]:
        return partial(pegasos, prediction=self._prediction, lam=self.lam, shrink_always=self.shrink == "always")


@estimator
class AvgPegasos(_Pegasos):
    """Online Pegasos with the average prediction hinge.

    Descends along the subgradient of lam/2 ||W||^2 + max(0, 1 - mean_{k in S} w_k.x + max_{k not in S} w_k.x) with step
    1 / (lam t) and projects on ||W|| <= 1 / sqrt(lam), where t is the number of rows processed, also of unlabeled ones.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier). With
    ``shrink="on_loss"`` W shrinks by 1 - m/t, where m is the sum of these differences over the level sets with a loss.

    Notes
    -----
    Theorem 3: mean_t f_t(W_t) - min_W mean_t f_t(W) <= G^2 ln T / (lam T) for T >= 3, with G = sqrt(lam) +
    sqrt(1 + 1/c) R, where f_t is the objective above on row t, c = min |S_t| and R = max ||x_t||. It holds for
    ``shrink="always"``. For the algorithm as printed it fails: with two classes, every x = 1, every S the first class,
    lam = .01 and T = 10^4, the regret is .498 against a bound of .211.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 3.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import AvgPegasos
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = AvgPegasos(lam=0.1, n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "average"


@estimator
class MaxPegasos(_Pegasos):
    """Online Pegasos with the max prediction hinge.

    Descends along the subgradient of lam/2 ||W||^2 + max(0, 1 - max_{k in S} w_k.x + max_{k not in S} w_k.x), which is
    not convex. The bound of `AvgPegasos` does not hold.

    A row with weights is one step: the sum of the steps of its level sets {k : w_k >= a} from the same W, each times
    the difference between the weight a and the next smaller one (the generalized loss of Hüllermeier). With
    ``shrink="on_loss"`` W shrinks by 1 - m/t, where m is the sum of these differences over the level sets with a loss.

    References
    ----------
    Bhattacharjee & Manwani (2020), Online algorithms for multiclass classification using partial labels, Algorithm 4.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import MaxPegasos
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = MaxPegasos(lam=0.1, n_epochs=5).fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _prediction = "max"
