"""What the generative classifiers share: weights of rows, several components per class, the way from EM to classes."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.deduplicate import merge_rows
from oneof.likelihoods import softmax
from oneof.solvers.generative.em import (
    IMPOSSIBLE,
    EMSolution,
    Family,
    class_scores,
    row_weights,
    solve_em,
    start_shares,
)
from oneof.solvers.generative.weighting import WeightChoice, choose_weight
from oneof.typing import FeatureMatrix, Floats, Mask
from oneof.validation import check_positive, check_random_state, check_sample_weight


class GenerativeClassifier(CandidateClassifier):
    """Mixin of the classifiers by EM: a subclass says of which family its components are, and what of them to show."""

    unlabeled_weight: float | Literal["cv"]
    partial_weight: float
    n_components: int
    n_folds: int
    cv_weights: Sequence[float]
    max_iter: int
    tol: float
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Climb to a maximum by EM.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; a weight of 2 is the same as the row twice.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used.
        """
        self._check_parameters()
        rows, candidates = self._validate_fit(X, y)
        mask = candidates.mask
        weight = check_sample_weight(sample_weight, rows.shape[0], told=~candidates.is_unlabeled)
        choice = self._choose(rows, mask, weight)
        found = self._solve(rows, mask, weight, choice.weight)
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} still moved after {found.n_iter} sweeps: raise max_iter, or tol.",
                ConvergenceWarning,
                stacklevel=2,
            )
        scores = class_scores(found.joint, mask.shape[1])
        self.unlabeled_weight_ = choice.weight
        self.cv_covering_rates_ = choice.coverings
        self.transduction_ = candidates.classes[np.where(mask, scores, -np.inf).argmax(axis=1)]
        self.objective_ = found.objective
        self.n_iter_ = found.n_iter
        self._keep(found, mask.shape[1])
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; 0 for a class that no labeled row names.
        """
        return softmax(self._finite_scores(self._validate_rows(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities of the classes, which stay apart where these round to 0 or 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            -inf for a class that no labeled row names.
        """
        scores = self._finite_scores(self._validate_rows(X))
        return np.where(scores <= 0.5 * IMPOSSIBLE, -np.inf, log_softmax(scores, axis=1))

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[Any]:
        """Return the family over rows that count with some weight."""
        raise NotImplementedError

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        """Return log p(x | component), (n, K C), of checked rows."""
        raise NotImplementedError

    def _keep(self, found: EMSolution[Any], n_classes: int) -> None:
        """Set what describes the classes."""
        self._log_weights = found.log_weights
        if self.n_components > 1:
            parts = found.log_weights.reshape(n_classes, -1)
            self.component_weights_ = softmax(parts)  # equal where a class has no mass

    def _class_log_weights(self, n_classes: int) -> Floats:
        """Return log pi_k, (K,), with -inf for a class without mass."""
        logs = class_scores(self._log_weights[None], n_classes)[0]
        return np.where(logs <= 0.5 * IMPOSSIBLE, -np.inf, logs)

    def _of_classes(self, values: Floats) -> Floats:
        """Give (K C, ...) the shape (K, C, ...) where there are several components per class."""
        return values if self.n_components == 1 else values.reshape(-1, self.n_components, *values.shape[1:])

    def _check_parameters(self) -> None:
        if not isinstance(self.unlabeled_weight, str) or self.unlabeled_weight != "cv":
            check_positive("unlabeled_weight", self.unlabeled_weight, allow_zero=True)
        check_positive("partial_weight", self.partial_weight, allow_zero=True)
        check_positive("n_components", self.n_components, integer=True)
        check_positive("n_folds", self.n_folds, integer=True)
        weights = self.cv_weights
        listed = weights.ndim > 0 if isinstance(weights, np.ndarray) else isinstance(weights, Sequence)
        if not listed or isinstance(weights, str) or len(weights) == 0:
            raise InputError(f"`cv_weights` must be numbers of at least 0; got {self.cv_weights!r}.")
        for weight in self.cv_weights:
            check_positive("cv_weights", weight, allow_zero=True)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)

    # -- its own --------------------------------------------------------------------------------------------------

    def _choose(self, rows: FeatureMatrix, mask: Mask, weight: Floats) -> WeightChoice:
        """Return the weight of unlabeled rows: the given one, or by cross-validation over the distinct rows."""
        if self.unlabeled_weight != "cv":
            return WeightChoice(float(self.unlabeled_weight), np.full(0, np.nan))
        sets = mask.astype(np.float64)
        both = sp.hstack([rows, sp.csr_array(sets)]).tocsr() if sp.issparse(rows) else np.hstack([rows, sets])
        first, total = merge_rows(both, weight)  # equal rows are held out together: a weight of 2 is the row twice
        rows, mask = (rows, mask) if len(first) == len(mask) else (rows[first], mask[first])

        def scores(unlabeled_weight: float, sample_weight: Floats) -> Floats:
            try:
                found = self._solve(rows, mask, sample_weight, unlabeled_weight)
            except InputError:  # too little is left of the labeled rows, or of a class: nothing is covered
                return np.full(mask.shape, np.nan)
            return class_scores(found.joint, mask.shape[1])

        weights = sorted({float(w) for w in self.cv_weights})
        return choose_weight(scores, mask, total, weights=weights, n_folds=self.n_folds)

    def _solve(
        self, rows: FeatureMatrix, mask: Mask, sample_weight: Floats, unlabeled_weight: float
    ) -> EMSolution[Any]:
        weight = row_weights(mask, sample_weight, unlabeled_weight, self.partial_weight)
        if not weight[~mask.all(axis=1)].any():
            raise InputError("no labeled row has weight: raise partial_weight, or give exact labels.")
        random = None
        if self.n_components > 1:
            random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        start = start_shares(mask, self.n_components, random)
        return solve_em(self._family(rows, weight), mask, weight, start, max_iter=self.max_iter, tol=self.tol)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        scores = class_scores(self._log_likelihoods(rows) + self._log_weights, len(self.classes_))
        if not np.isfinite(scores).all():
            raise InputError("the likelihood of the rows overflows: scale the features.")
        return scores
