"""What the four online learners share: one pass a call, and a state that continues the stream."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from oneof.candidates import CandidateSets, as_candidates, as_classes
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import check_lengths
from oneof.solvers.online import OnlineState
from oneof.solvers.row_accessors import SparseRows, weights_order
from oneof.typing import FeatureMatrix, Floats, Ints, Labels, Mask
from oneof.validation import check_bool, check_positive, check_random_state, check_sample_weight


class OnlineClassifier:
    """Mixin of the online learners: a subclass gives `_learner`, its solver with the parameters filled in."""

    n_epochs: int
    shuffle: bool
    average: bool
    fit_intercept: bool
    random_state: Any
    classes_: Labels
    coef_: Floats
    intercept_: Floats
    n_features_in_: int
    _validate_fit: Callable[..., tuple[FeatureMatrix, CandidateSets]]
    _validate_rows: Callable[..., FeatureMatrix]
    _finalize_fit: Callable[..., Any]
    _set_coefficients: Callable[[Floats], None]

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows, from the start, in `n_epochs` passes.

        Rows are taken in the order given unless `shuffle` is set: sorted by class, they teach little but the last one.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
            float32 and float64 are kept as they are.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets; rows without a label are passed over.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used.
        """
        learn = self._learner()
        check_positive("n_epochs", self.n_epochs, integer=True)
        rows, candidates = self._validate_fit(X, y, finite=False)
        random = check_random_state(self.random_state)
        state = self._start(rows, candidates.shape[1])
        for _ in range(self.n_epochs):
            order = random.permutation(rows.shape[0]) if self.shuffle else None
            state = learn(rows, candidates.mask, initial=state, order=order)
        self._keep(state)
        return self._finalize_fit(X, y, candidates)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows, once and in the order given.

        Any split of a stream into calls gives the same weights, bit by bit. `n_epochs` and `shuffle` play no part.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
        classes : array-like of shape (n_classes,), optional
            All classes, in the order of ``classes_`` and of an indicator's columns; needed in the first call unless `y`
            is an indicator or CandidateSets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; multiplies a row's step. Rows of weight 0 are as good as none, also in ``t_``.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y, the classes or a weight cannot be used, or a parameter that shapes the weights has changed since.
        """
        learn = self._learner()
        first = not hasattr(self, "classes_")
        candidates = self._read_batch(y, classes, first=first)
        rows = self._validate_rows(X, reset=first, finite=False)
        check_lengths(rows, candidates)
        weight = check_sample_weight(sample_weight, rows.shape[0])
        state = self._start(rows, candidates.shape[1]) if first else self._state
        started_as = (state.V.shape[1] > self.n_features_in_, state.keeps_mean)
        if started_as != (bool(self.fit_intercept), bool(self.average)):
            raise InputError("fit_intercept and average cannot change between calls of partial_fit: start with fit.")
        with np.errstate(over="ignore"):  # what float32 does not hold becomes infinite, which the learner refuses
            rows = rows.astype(state.V.dtype, copy=False)
        self._keep(learn(rows, candidates.mask, initial=state, sample_weight=weight))
        self.classes_ = candidates.classes
        self._fitted_on = None  # the rows of earlier calls are not at hand
        return self

    def advance(
        self, state: OnlineState | None, rows: FeatureMatrix | SparseRows, mask: Mask, *, in_place: bool = False
    ) -> OnlineState:
        """Return where one pass over further rows, in the order given, leaves a learner that stood at `state`.

        It is `partial_fit` without the checks and without a new ``coef_`` for each call, which for many features costs
        more than the pass; the estimator itself stays as it is until `take` is called.

        Parameters
        ----------
        state : OnlineState or None
            None before the first row.
        rows : ndarray, CSR matrix or SparseRows of shape (n, n_features)
        mask : ndarray of shape (n, n_classes), bool
        in_place : bool, default=False
            Let go of `state`, whose arrays are changed.

        Returns
        -------
        OnlineState
            Unless `in_place`, `state` itself is not changed.
        """
        learn = self._learner()
        start = self._start(rows, mask.shape[1]) if state is None else state
        return learn(rows, mask, initial=start, in_place=in_place)

    def predict_at(self, state: OnlineState, rows: FeatureMatrix) -> Ints:
        """Return the codes that the learner would predict if it were taken from `state`.

        Parameters
        ----------
        state : OnlineState
        rows : ndarray or CSR matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,), int
            Columns of the mask.
        """
        weights = state.mean_weights if self.average else state.weights
        d = rows.shape[1]
        scores = np.asarray(rows @ weights[:, :d].T) + (weights[:, d] if self.fit_intercept else 0)
        return np.asarray(np.argmax(scores, axis=1))

    def take(self, state: OnlineState, classes: Any, n_features: int) -> Self:
        """Become the learner that stands at `state`, for `classes` in the order of the mask's columns.

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
        self._keep(state)
        self.classes_ = as_classes(classes)
        self._fitted_on = None
        return self

    def _learner(self) -> Callable[..., OnlineState]:
        """Check the parameters and return the solver's pass over rows."""
        raise NotImplementedError

    def _check_flags(self) -> None:
        for name in ("shuffle", "average", "fit_intercept"):
            check_bool(name, getattr(self, name))

    def _start(self, rows: FeatureMatrix | SparseRows, n_classes: int) -> OnlineState:
        return OnlineState.start(
            n_classes,
            rows.shape[1] + bool(self.fit_intercept),
            dtype=rows.dtype,
            average=bool(self.average),
            order=weights_order(rows),
        )

    def _keep(self, state: OnlineState) -> None:
        weights = state.mean_weights if self.average else state.weights
        if not np.isfinite(weights).all():
            raise InputError("the weights overflow: scale the features, for example with StandardScaler.")
        self._state = state
        self._set_coefficients(weights)
        self.t_ = state.n_rows
        self.progressive_loss_ = state.n_mistakes / max(state.n_rows, 1)

    def _read_batch(self, y: Any, classes: Any, *, first: bool) -> CandidateSets:
        """Read the sets of a batch over the classes of the stream, which the first call names."""
        given = None if classes is None else as_classes(classes)
        if given is not None and len(given) < 2:
            raise InputError("classes names only one class: a classifier needs at least two classes.")
        if first:
            if given is None and not isinstance(y, CandidateSets) and len(getattr(y, "shape", ())) != 2:
                raise InputError("classes must be passed on the first call to partial_fit: later rows may name others.")
            return as_candidates(y, classes=given)
        if given is not None and set(given.tolist()) != set(self.classes_.tolist()):
            raise InputError(f"classes differs from that of the first call, {self.classes_.tolist()}.")
        return as_candidates(as_candidates(y, classes=self.classes_ if given is None else given), classes=self.classes_)


def check_online(estimator: Any) -> None:
    """Raise unless an estimator is one of the online learners."""
    if not isinstance(estimator, OnlineClassifier):
        raise InputTypeError(
            f"{type(estimator).__name__} does not learn online: give AvgPerceptron, MaxPerceptron, AvgPegasos or "
            "MaxPegasos."
        )
