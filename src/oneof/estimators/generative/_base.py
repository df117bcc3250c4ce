"""Base of the generative classifiers: row weights, several components per class, scores of classes from EM."""

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates.class_weights import check_row_weights
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.deduplicate import merge_rows
from oneof.likelihoods import add_log_weights, constant_rows, softmax
from oneof.messages import warn
from oneof.solvers.generative.em import (
    IMPOSSIBLE,
    EMSolution,
    Family,
    WeightSelection,
    class_scores,
    initial_responsibilities,
    row_weights,
    select_weight,
    solve_em,
)
from oneof.typing import Evidence, FeatureMatrix, Floats
from oneof.validation import check_positive, check_random_state


class GenerativeClassifier(CandidateClassifier):
    """Base class of the EM classifiers; a subclass defines the family of its components and its fitted attributes."""

    unlabeled_weight: float | Literal["cv"]
    partial_weight: float
    n_components: int
    n_folds: int
    cv_weights: Sequence[float]
    class_weight: Any = None
    """A parameter of the subclasses that have it."""
    max_iter: int
    tol: float
    random_state: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model by EM.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; a weight of 2 is the same as the row twice.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter is invalid.
        """
        self._check_parameters()
        rows, candidates = self._validate_fit(X, y)
        evidence = candidates.evidence
        weight = check_row_weights(candidates, sample_weight, self.class_weight)
        selection = self._select_weight(rows, evidence, weight)
        solution = self._solve(rows, evidence, weight, selection.weight)
        if not solution.converged:
            warn(
                f"{type(self).__name__} did not converge in {solution.n_iter} iterations. Increase max_iter or tol.",
                ConvergenceWarning,
            )
        if solution.joint is None:
            best = evidence.argmax(axis=1)
        else:
            best = add_log_weights(class_scores(solution.joint, evidence.shape[1]), evidence).argmax(axis=1)
        self.unlabeled_weight_ = selection.weight
        self.cv_covering_rates_ = selection.covering_rates
        self.transduction_ = candidates.classes[best]
        self.objective_path_ = solution.objective_path
        self.objective_ = float(solution.objective_path[-1])
        self.n_iter_ = solution.n_iter
        self._set_fitted_attributes(solution, evidence.shape[1])
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; 0 for a class without a labeled row.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        return softmax(self._finite_scores(self._validate_rows(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities of the classes, also of those that round to 0 or 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            -inf for a class without a labeled row.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        scores = self._finite_scores(self._validate_rows(X))
        return np.where(scores <= 0.5 * IMPOSSIBLE, -np.inf, log_softmax(scores, axis=1))

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[Any]:
        """Return the family over weighted rows."""
        raise NotImplementedError

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        """Return log p(x | component), (n, K C), of checked rows."""
        raise NotImplementedError

    def _set_fitted_attributes(self, solution: EMSolution[Any], n_classes: int) -> None:
        """Set the attributes that describe the classes."""
        self._log_weights = solution.log_weights
        if self.n_components > 1:
            self.component_weights_ = softmax(solution.log_weights.reshape(n_classes, -1))  # equal without mass

    def _class_log_weights(self, n_classes: int) -> Floats:
        """Return log pi_k, (K,), with -inf for a class without mass."""
        logs = class_scores(self._log_weights[None], n_classes)[0]
        return np.where(logs <= 0.5 * IMPOSSIBLE, -np.inf, logs)

    def _by_class(self, values: Floats) -> Floats:
        """Reshape (K C, ...) to (K, C, ...) if there are several components per class."""
        return values if self.n_components == 1 else values.reshape(-1, self.n_components, *values.shape[1:])

    def _check_parameters(self) -> None:
        if not isinstance(self.unlabeled_weight, str) or self.unlabeled_weight != "cv":
            check_positive("unlabeled_weight", self.unlabeled_weight, allow_zero=True)
        check_positive("partial_weight", self.partial_weight, allow_zero=True)
        check_positive("n_components", self.n_components, integer=True)
        check_positive("n_folds", self.n_folds, integer=True)
        weights = self.cv_weights
        is_sequence = weights.ndim > 0 if isinstance(weights, np.ndarray) else isinstance(weights, Sequence)
        if not is_sequence or isinstance(weights, str) or len(weights) == 0:
            raise InputError(f"`cv_weights` must be a sequence of numbers of at least 0; got {self.cv_weights!r}.")
        for weight in self.cv_weights:
            check_positive("cv_weights", weight, allow_zero=True)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)

    # -- private --------------------------------------------------------------------------------------------------

    def _select_weight(self, rows: FeatureMatrix, evidence: Evidence, weight: Floats) -> WeightSelection:
        """Return the weight of unlabeled rows, as given or by cross-validation over the distinct rows."""
        if self.unlabeled_weight != "cv":
            return WeightSelection(float(self.unlabeled_weight), np.full(0, np.nan))
        labels = evidence.astype(np.float64)
        combined = sp.hstack([rows, sp.csr_array(labels)]).tocsr() if sp.issparse(rows) else np.hstack([rows, labels])
        first, total = merge_rows(combined, weight)  # a row of weight 2 is the row twice, held out together
        if len(first) < len(evidence):
            rows, evidence = rows[first], evidence[first]

        def scores(unlabeled_weight: float, sample_weight: Floats) -> Floats:
            try:
                solution = self._solve(rows, evidence, sample_weight, unlabeled_weight)
            except InputError:  # too few labeled rows, or rows of a class, are left
                return np.full(evidence.shape, np.nan)
            if solution.joint is None:  # all rows are exact
                return evidence.astype(np.float64)
            return class_scores(solution.joint, evidence.shape[1])

        weights = sorted({float(w) for w in self.cv_weights})
        return select_weight(scores, evidence, total, weights=weights, n_folds=self.n_folds)

    def _solve(
        self, rows: FeatureMatrix, evidence: Evidence, sample_weight: Floats, unlabeled_weight: float
    ) -> EMSolution[Any]:
        weight = row_weights(evidence, sample_weight, unlabeled_weight, self.partial_weight)
        if not weight[~constant_rows(evidence)].any():
            raise InputError("`partial_weight` must be above 0 if no labeled row is exact; got 0.")
        rng = None
        if self.n_components > 1:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        start = initial_responsibilities(evidence, self.n_components, rng)
        return solve_em(self._family(rows, weight), evidence, weight, start, max_iter=self.max_iter, tol=self.tol)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        scores = class_scores(self._log_likelihoods(rows) + self._log_weights, len(self.classes_))
        if not np.isfinite(scores).all():
            raise InputError(
                "the likelihood of the rows overflows float64. Scale the features, for example with StandardScaler."
            )
        return scores
