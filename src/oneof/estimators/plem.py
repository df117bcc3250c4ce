"""Logistic regression on candidate sets."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.likelihoods import softmax
from oneof.solvers.plem import solve_plem
from oneof.typing import Floats
from oneof.validation import check_bool, check_positive, check_sample_weight


class PLEM(LinearClassifierMixin, CandidateClassifier):
    """Logistic regression that maximizes the likelihood of the candidate sets.

    Maximizes sum_i w_i log sum_{k in S_i} p(k | x_i) - lam/2 ||W||^2 - entropy_weight sum_i w_i H(q_i), where p is the
    softmax of the scores X W^T and H(q_i) the entropy of its shares q_i within the set. On exact labels this is
    multinomial logistic regression. Each class has weights; the penalty makes them unique.

    Parameters
    ----------
    lam : float, default=1.0
        Weight of the penalty, above 0; scikit-learn's LogisticRegression has C = 1 / lam, or 2 / lam for two classes,
        for which it keeps one vector of weights.
    entropy_weight : float, default=0.0
        At least 0; larger asks for clearer decisions within the sets.
    fit_intercept : bool, default=False
        Add a constant to each class's score, which is not penalized. It has no finite optimum for a class that is in
        every set, or whose sets are all won by other candidates; there it goes as far as `tol` asks for.
    max_iter : int, default=1000
        Newton steps, at most; a ConvergenceWarning says if they were not enough.
    tol : float, default=1e-6
        The search ends at a relative error of about `tol` in the weights, above 0; a last Newton step squares it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features)
        Sums to 0 over the classes.
    intercept_ : ndarray of shape (n_classes,)
    objective_ : ndarray
        The objective at W = 0, after each step and after a last one; but for rounding it never falls.
    n_iter_ : int
        Newton steps tried, without the last; 1 where none was.
    transduction_ : ndarray of shape (n_samples,)
        The likeliest candidate of each row of fit, where `entropy_weight` is above 0, with which unlabeled rows teach.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Rows whose set holds every class have likelihood 1, so that they teach nothing and are left out, as long as
    `entropy_weight` is 0. Above 0, their entropy over all classes counts, which pushes the boundaries into gaps between
    the rows: this is the use that Grandvalet and Bengio make of unlabeled rows.

    Where sets hold several classes the objective is not concave. The search starts from W = 0, at which all candidates
    are alike, and ends at a stationary point, which need not be the best one. With `entropy_weight` 0 that is a fixed
    point of the EM algorithm of Jin and Ghahramani.

    References
    ----------
    Jin & Ghahramani (2003), Learning with multiple labels, NIPS 15.
    Grandvalet & Bengio (2004), Semi-supervised learning by entropy minimization, NIPS 17.

    Examples
    --------
    >>> from oneof import PLEM
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = PLEM().fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        entropy_weight: float = 0.0,
        fit_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-6,
    ) -> None:
        self.lam = lam
        self.entropy_weight = entropy_weight
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find a maximum.

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
        check_positive("lam", self.lam)
        check_positive("entropy_weight", self.entropy_weight, allow_zero=True)
        check_bool("fit_intercept", self.fit_intercept)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)
        rows, candidates = self._validate_fit(X, y)
        weight = check_sample_weight(sample_weight, rows.shape[0], told=~candidates.is_unlabeled)
        found = solve_plem(
            rows,
            candidates.mask,
            lam=self.lam,
            entropy_weight=self.entropy_weight,
            sample_weight=weight,
            fit_intercept=bool(self.fit_intercept),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        if not found.converged:
            warnings.warn(
                f"PLEM did not converge in {found.n_iter} steps: scale the features, or raise max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._set_coefficients(found.weights.astype(rows.dtype, copy=False))
        self.__dict__.pop("transduction_", None)  # of an earlier fit
        if self.entropy_weight > 0:
            self.transduction_ = candidates.classes[
                np.where(candidates.mask, self._scores(rows), -np.inf).argmax(axis=1)
            ]
        self.objective_ = found.objective
        self.n_iter_ = max(found.n_iter, 1)
        return self._finalize_fit(X, y, candidates)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        return softmax(self._finite_scores(self._validate_rows(X)))
