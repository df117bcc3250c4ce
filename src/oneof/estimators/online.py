"""What the four online learners share: one pass a call, and a state that continues the stream."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from oneof.candidates import CandidateSets, as_candidates
from oneof.errors import InputError
from oneof.estimators.base import LinearScores, check_positive
from oneof.solvers.online import OnlineState
from oneof.solvers.rows import weights_order
from oneof.typing import Labels, Rows
from oneof.weights import read_sample_weight


class OnlineClassifier(LinearScores):
    """Mixin of the online learners: a subclass gives `_learner`, its solver with the parameters filled in."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the rows, from the start, in `n_epochs` passes.

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
        rows, candidates = self._read_fit(X, y)
        random = check_random_state(self.random_state)
        state = self._start(rows)
        for _ in range(self.n_epochs):
            order = random.permutation(rows.shape[0]) if self.shuffle else None
            state = learn(rows, candidates.mask, initial=state, order=order)
        return self._keep(state)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows, once and in the order given.

        Any split of a stream into calls gives the same weights, bit by bit. `n_epochs` and `shuffle` play no part.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
        classes : array-like of shape (n_classes,), optional
            All classes; needed in the first call unless `y` is an indicator or CandidateSets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; multiplies a row's step. Rows of weight 0 are counted in ``t_`` and otherwise passed over.

        Returns
        -------
        self
        """
        learn = self._learner()
        first = not hasattr(self, "_state")
        rows = self._read_rows(X, reset=first)
        if first:
            self.classes_ = _all_classes(y, classes)
            self._state = self._start(rows)
        elif classes is not None and not np.array_equal(self.classes_, np.unique(np.asarray(classes))):
            raise InputError(f"classes differs from that of the first call, {self.classes_.tolist()}.")
        candidates = self._read_candidates(y, rows)
        rows = rows.astype(self._state.V.dtype, copy=False)
        weight = read_sample_weight(sample_weight, rows.shape[0])
        self._fitted_on = None
        return self._keep(learn(rows, candidates.mask, initial=self._state, sample_weight=weight))

    def _learner(self) -> Callable[..., OnlineState]:
        """Check the parameters and return the solver's pass over rows."""
        raise NotImplementedError

    def _start(self, rows: Rows) -> OnlineState:
        return OnlineState.start(
            len(self.classes_),
            rows.shape[1] + bool(self.fit_intercept),
            dtype=rows.dtype,
            average=bool(self.average),
            order=weights_order(rows),
        )

    def _keep(self, state: OnlineState) -> Self:
        weights = state.mean_weights if self.average else state.weights
        if not np.isfinite(weights).all():
            raise InputError("the weights overflowed: scale the features, for example with StandardScaler.")
        self._state = state
        self.coef_ = weights[:, : self.n_features_in_]
        self.intercept_ = weights[:, -1].copy() if self.fit_intercept else np.zeros(len(weights), weights.dtype)
        self.t_ = state.n_rows
        self.progressive_loss_ = state.n_mistakes / max(state.n_rows, 1)
        return self


def _all_classes(y: Any, classes: Any) -> Labels:
    """Return the classes of a stream: as given, or those that the first batch carries beside its sets."""
    if classes is None:
        if not isinstance(y, CandidateSets) and len(getattr(y, "shape", ())) != 2:
            raise InputError("classes must be passed on the first call to partial_fit: later rows may name others.")
        found = as_candidates(y).classes
    else:
        found = np.unique(np.asarray(classes))
    if len(found) < 2:
        raise InputError("classes names only one class: a classifier needs at least two classes.")
    return found
