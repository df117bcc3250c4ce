"""Support vector machine for partial labels."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.estimators.base import CandidateClassifier
from oneof.estimators.svm._base import KernelSVMMixin
from oneof.likelihoods import constant_rows
from oneof.messages import warn
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.plsvm import PLSVMProblem, PLSVMSolution, solve_cccp, solve_pegasos
from oneof.solvers.small_weights import round_weights, without_small_weights
from oneof.validation import check_bool, check_choice, check_positive, check_sample_weight


class PLSVM(KernelSVMMixin, CandidateClassifier):
    """Support vector machine with a margin between the best candidate and the best other class.

    Minimizes J(W) = lam/2 ||W||^2 + 1/n sum_i max(0, 1 - max_{k in S_i} s_ik + max_{k not in S_i} s_ik) over the n rows
    that are not unlabeled, with scores s_ik = <w_k, Phi(x_i)>. On exact labels this is the multi-class SVM of Crammer
    & Singer with C = 1/(lam n). With partial labels J is not convex: the default solver starts from smoothed forms of
    it at decreasing temperatures, and then applies the concave-convex procedure.

    In a row with weights, each level set {k : w_k >= a} has a loss, multiplied by the difference between the weight a
    and the next smaller one: the generalized loss of Hüllermeier.

    Parameters
    ----------
    lam : float, default=1e-3
        Regularization, above 0.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        The same as for scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. The paper's
        polynomial is ``kernel="poly", gamma=1, coef0=0``. All kernels but "linear" store an n x n matrix, unless
        `approximation` is "nystroem".
    degree : int, default=3
        Degree of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "poly" and "rbf": 1/(d Var(X)) over the rows that are not unlabeled, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Constant term of "poly", at least 0.
    solver : {"cccp", "pegasos"}, default="cccp"
        "pegasos" is the published Algorithm 1.
    fit_intercept : bool, default=False
        Add a constant feature 1, whose weight is penalized like the others (not in the paper).
    max_iter : int, default=1000
        "cccp": maximum number of outer steps, each of up to 100 passes over the rows; a ConvergenceWarning is issued if
        they are not sufficient. "pegasos": number of iterations T.
    tol : float, default=1e-4
        "cccp": stop if a step decreases J by at most tol J and the duality gap of its convex problem is at most tol J.
        A `tol` below the rounding error (at most 1e-3, with features very large compared with lam) is replaced by it.
        "pegasos": stop if a step changes W by at most tol ||W||, which is rare before the steps become short; 0 never
        stops early.
    approximation : {None, "nystroem"}, default=None
        None uses the kernel of all pairs of rows. "nystroem" uses the linear model of `n_components` features whose
        inner products approximate the kernel: time and memory grow with the number of rows times `n_components`.
    n_components : int, default=1000
        Number of landmarks of "nystroem", random rows, limited to the number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        With the linear kernel.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        With the other kernels: w_k = sum_i dual_coef_[i, k] Phi(x_i).
    intercept_ : ndarray of shape (n_classes,)
        Constant in the score of each class.
    objective_ : float
        Final value of J.
    objective_path_ : ndarray of shape (n_steps,)
        J over time, from W = 0. "cccp": one entry for each step of the start that found a new lowest J, and for each
        outer step. It never increases, unless each step of the start ends above J(0); if the outer steps do too, W = 0
        is returned, as the last entry. "pegasos": one entry for each iterate.
    objective_times_ : ndarray of shape (n_steps,)
        Seconds from the start of the solver to each entry of `objective_path_`, without those for the Gram matrix.
    n_iter_ : int
        "cccp": outer steps. "pegasos": iterates after the first.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    Notes
    -----
    Standardize the features first: the effect of `lam` and the time of a fit depend on their scale. With a column far
    larger than the others, such as time stamps beside 0/1 columns, "cccp" ends with a ConvergenceWarning. Dense rows
    with few nonzeros are solved as sparse rows.

    Scores are not probabilities. scikit-learn can calibrate them on the disambiguated labels:
    ``CalibratedClassifierCV(PLSVM()).fit(X, PLSVM().fit(X, y).disambiguate().labels)``. As these labels are predictions
    of the model itself, such probabilities are somewhat overconfident.

    References
    ----------
    Nguyen & Caruana (2008), Classification with partial labels, KDD, optimization problem II and Algorithm 1.

    Hüllermeier (2014), Learning from imprecise and fuzzy observations: data disambiguation through generalized loss
    minimization, International Journal of Approximate Reasoning 55(7).

    Examples
    --------
    >>> from oneof import PLSVM
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> y = [["a"], ["a", "c"], ["b"], ["b", "c"]]
    >>> PLSVM(lam=0.1).fit(X, y).predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    >>> PLSVM(lam=0.1, kernel="rbf", gamma=1.0).fit(X, y).disambiguate().labels.tolist()
    ['a', 'a', 'b', 'b']
    """

    def __init__(
        self,
        lam: float = 1e-3,
        *,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        solver: Literal["cccp", "pegasos"] = "cccp",
        fit_intercept: bool = False,
        max_iter: int = 1000,
        tol: float = 1e-4,
        approximation: Literal["nystroem"] | None = None,
        n_components: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.lam = lam
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            With ``kernel="precomputed"`` the kernel of all pairs of rows, dense.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights; unlabeled rows are
            ignored.
        sample_weight : array-like of shape (n_samples,), optional
            At least 0; a weight of 2 is the same as the row twice, except in the choice of the landmarks of
            ``approximation="nystroem"``. n is the sum of the weights.

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
        evidence = round_weights(without_small_weights(candidates.evidence))
        used = np.flatnonzero(~constant_rows(evidence) & (weight > 0))
        relative = weight[used] / weight[used].mean()
        relative = None if (relative == relative[0]).all() else relative
        space, kernel, landmarks = self._make_space(rows, used, weight=relative, has_constant=bool(self.fit_intercept))
        problem = PLSVMProblem(space, evidence[used], float(self.lam), relative)
        solution = self._solve(problem)
        self._store_trace(solution)
        if isinstance(space, FeatureSpace):
            n_features, weights = space.X.shape[1], solution.weights
            constant = weights[:, n_features] if self.fit_intercept else np.zeros(len(weights))
            weights = weights[:, :n_features]
        else:
            weights = space.coefficients(solution.weights)
            constant = weights.sum(axis=0) * bool(self.fit_intercept)
        self._set_solution(weights, constant, kernel, landmarks, rows, used)
        return self._finalize_fit(X, y, candidates)

    def _check_parameters(self) -> None:
        check_positive("lam", self.lam)
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol, allow_zero=True)
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("solver", self.solver, ("cccp", "pegasos"))

    def _store_trace(self, solution: PLSVMSolution) -> None:
        self.objective_path_, self.objective_times_ = solution.objective_path, solution.times
        self.objective_ = float(solution.objective_path[-1])
        self.n_iter_ = solution.n_iter
        if self.solver == "cccp" and not solution.converged:
            warn(
                f"PLSVM did not converge in {solution.n_iter} steps. Scale the features, or increase lam, tol or "
                "max_iter.",
                ConvergenceWarning,
            )

    def _solve(self, problem: PLSVMProblem) -> PLSVMSolution:
        if self.solver == "pegasos":
            return solve_pegasos(problem, max_iter=self.max_iter, tol=self.tol)
        # The seed is fixed, since the orders of the rows affect the speed, and hardly the minimum.
        return solve_cccp(problem, rng=np.random.default_rng(0), max_iter=self.max_iter, tol=self.tol)
