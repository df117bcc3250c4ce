"""Logistic regression on candidate sets."""

from typing import Any, Self

from sklearn.exceptions import ConvergenceWarning

from oneof.estimators.base import CandidateClassifier, LinearClassifierMixin
from oneof.likelihoods import add_log_weights, softmax
from oneof.messages import warn
from oneof.solvers.plem import solve_plem
from oneof.typing import Floats
from oneof.validation import check_bool, check_positive, check_sample_weight


class PLEM(LinearClassifierMixin, CandidateClassifier):
    """Logistic regression that maximizes the likelihood of the candidate sets.

    Maximizes sum_i w_i log sum_{k in S_i} p(k | x_i) - lam/2 ||W||^2 - entropy_weight sum_i w_i H(q_i), where p is the
    softmax of the scores X W^T and H(q_i) the entropy of that softmax normalized within the set. On exact labels this
    is multinomial logistic regression. If the candidates of row i have weights v_ik, the sum is sum_k v_ik p(k | x_i),
    and q_ik is proportional to v_ik p(k | x_i). Each class has weights in W; the penalty makes them unique.

    Parameters
    ----------
    lam : float, default=1.0
        Weight of the penalty, above 0; scikit-learn's LogisticRegression has C = 1 / lam, or 2 / lam for two classes,
        for which it has one weight vector.
    entropy_weight : float, default=0.0
        Weight of the entropies, at least 0; a larger weight favors more confident predictions within the sets.
    fit_intercept : bool, default=False
        Add a constant to each class's score, not penalized. The constant has no finite optimum for a class that is in
        every set, or whose sets are all explained by other candidates; its value then depends on `tol`.
    max_iter : int, default=1000
        Maximum number of iterations of L-BFGS; if they are not sufficient, a ConvergenceWarning is issued.
    tol : float, default=1e-6
        Relative error of the weights at which the solver stops, approximately; above 0. That of the objective is about
        its square.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Sums to 0 over the classes.
    intercept_ : ndarray of shape (n_classes,)
        Constant in the score of each class.
    objective_ : float
        Final value of the objective.
    objective_path_ : ndarray of shape (n_values,)
        The objective at W = 0 and after each iteration, the first ones in single precision; up to rounding it never
        decreases.
    n_iter_ : int
        Number of iterations; at least 1.
    transduction_ : ndarray of shape (n_samples,)
        The most probable candidate of each row of fit; set only if `entropy_weight` is above 0, so that unlabeled rows
        matter.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    Notes
    -----
    Unlabeled rows have likelihood 1, so that they are ignored if `entropy_weight` is 0. If it is above 0, their entropy
    over all classes is penalized, which moves the boundaries into gaps between the rows. This is the semi-supervised
    method of Grandvalet and Bengio.

    With partial labels the objective is not concave. The solver starts from W = 0, with equal probabilities of all
    candidates, and ends at a stationary point, which may not be the global maximum. With `entropy_weight` 0 it is a
    fixed point of the EM algorithm of Jin and Ghahramani.

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
        """Fit the model.

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
        check_positive("lam", self.lam)
        check_positive("entropy_weight", self.entropy_weight, allow_zero=True)
        check_bool("fit_intercept", self.fit_intercept)
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, integer=True)
        rows, candidates = self._validate_fit(X, y)
        weight = check_sample_weight(sample_weight, rows.shape[0], labeled=~candidates.is_unlabeled)
        solution = solve_plem(
            rows,
            candidates.evidence,
            lam=self.lam,
            entropy_weight=self.entropy_weight,
            sample_weight=weight,
            fit_intercept=bool(self.fit_intercept),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        if not solution.converged:
            warn(
                f"PLEM did not converge in {solution.n_iter} iterations. Scale the features, or increase max_iter.",
                ConvergenceWarning,
            )
        self._set_coefficients(solution.weights.astype(rows.dtype, copy=False))
        self.__dict__.pop("transduction_", None)  # from an earlier fit
        if self.entropy_weight > 0:
            self.transduction_ = candidates.classes[
                add_log_weights(self._scores(rows), candidates.evidence).argmax(axis=1)
            ]
        self.objective_path_ = -self.lam * solution.objective_path
        self.objective_ = float(self.objective_path_[-1])
        self.n_iter_ = max(solution.n_iter, 1)
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

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        return softmax(self._finite_scores(self._validate_rows(X)))
