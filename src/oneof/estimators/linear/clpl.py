"""Convex learning from partial labels."""

from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.messages import warn
from oneof.solvers.clpl import CLPLSolution, solve_clpl
from oneof.validation import check_bool, check_positive, check_sample_weight


class CLPL(LinearClassifierMixin, CandidateClassifier):
    """Linear classifier with the convex loss for partial labels.

    Minimizes 1/2 ||W||^2 + C sum_i c_i [ psi(mean_{k in S_i} s_ik) + sum_{k not in S_i} psi(-s_ik) ] with scores
    s = X W^T, psi(u) = max(0, 1 - u)^2 and sample weights c_i, over the rows that are not unlabeled. On exact labels
    this is one squared-hinge support vector machine for each class against the rest.

    In a row with weights, each level set {k : w_k >= a} has a loss, multiplied by the difference between the weight a
    and the next smaller one: the generalized loss of Hüllermeier.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, above 0; a larger weight fits the sets more closely.
    fit_intercept : bool, default=False
        Add a constant to each class's score, not penalized (not in the paper).
    max_iter : int, default=1000
        Maximum number of iterations of L-BFGS, and of Newton steps after 300 of them; if they are not sufficient, a
        ConvergenceWarning is issued. Sparse rows without an intercept begin with dual ascent, which is mostly
        sufficient.
    tol : float, default=1e-8
        Relative error of the weights at which the solver stops, approximately; above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Weights of the features in the score of each class.
    intercept_ : ndarray of shape (n_classes,)
        Constant in the score of each class.
    objective_ : float
        Final value of the objective.
    objective_path_ : ndarray of shape (n_values,)
        The objective at the start of L-BFGS and after each iteration, the first ones in single precision; up to
        rounding it never increases. Only the final value if dual ascent alone reached the minimum.
    n_iter_ : int
        Number of iterations; 1 if dual ascent alone reached the minimum, or if none was needed.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    References
    ----------
    Cour, Sapp & Taskar (2011), Learning from partial labels, JMLR 12.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import CLPL
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> model = CLPL().fit(X, [["a"], ["a", "c"], ["b"], ["b", "c"]])
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    def __init__(self, C: float = 1.0, *, fit_intercept: bool = False, max_iter: int = 1000, tol: float = 1e-8) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights; unlabeled rows are
            ignored.
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
        weight = check_sample_weight(sample_weight, rows.shape[0], labeled=~candidates.is_unlabeled)
        solution = solve_clpl(
            rows,
            candidates.evidence,
            C=self.C,
            sample_weight=weight,
            fit_intercept=bool(self.fit_intercept),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._set_fitted_attributes(solution, rows.dtype)
        return self._finalize_fit(X, y, candidates)

    def _check_parameters(self) -> None:
        check_positive("C", self.C)
        check_bool("fit_intercept", self.fit_intercept)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)

    def _set_fitted_attributes(self, solution: CLPLSolution, dtype: Any) -> None:
        if not solution.converged:
            warn(
                f"CLPL did not converge in {self.max_iter} iterations. Scale the features, or increase max_iter.",
                ConvergenceWarning,
            )
        self._set_coefficients(solution.weights.astype(dtype, copy=False))
        self.objective_path_ = solution.objective_path
        self.objective_ = solution.objective
        self.n_iter_ = max(solution.n_iter, 1)
