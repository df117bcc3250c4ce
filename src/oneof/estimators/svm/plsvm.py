"""Support vector machine for partial labels."""

from typing import Literal

import numpy as np

from oneof.estimators.base import SampleWeightMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.estimators.svm._base import KernelSVM
from oneof.likelihoods import constant_rows
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.plsvm import PLSVMProblem, PLSVMSolution, solve_cccp, solve_pegasos
from oneof.solvers.small_weights import round_weights, without_small_weights


@estimator
class PLSVM(SampleWeightMixin, KernelSVM):
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

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        With the linear kernel.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        With the other kernels: w_k = sum_i dual_coef_[i, k] Phi(x_i).
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

    lam: Positive = 1e-3
    _: KW_ONLY
    solver: Literal["cccp", "pegasos"] = "cccp"
    fit_intercept: bool = False
    max_iter: Count = 1000
    tol: NonNegative = 1e-4
    n_components: Count = 1000

    def _fit(self, training: TrainingRows) -> None:
        evidence = round_weights(without_small_weights(training.evidence))
        indices = np.flatnonzero(~constant_rows(evidence) & (training.weight > 0))
        weight = training.weight[indices] / training.weight[indices].mean()
        relative = None if (weight == weight[0]).all() else weight
        used = self._use_rows(training.X, indices, weight=relative, has_constant=bool(self.fit_intercept))
        solution = self._solve(PLSVMProblem(used.space, evidence[indices], float(self.lam), relative))
        self.objective_times_ = solution.times
        self._set_path(
            solution.objective_path,
            solution.n_iter,
            self.solver == "pegasos" or solution.converged,
            "scale the features, increase lam, or ",
        )
        if isinstance(used.space, FeatureSpace):
            n_features, weights = used.space.X.shape[1], solution.weights
            constant = weights[:, n_features] if self.fit_intercept else np.zeros(len(weights))
            weights = weights[:, :n_features]
        else:
            weights = used.space.coefficients(solution.weights)
            constant = weights.sum(axis=0) * bool(self.fit_intercept)
        self._set_solution(used, weights, constant, training.X)

    def _solve(self, problem: PLSVMProblem) -> PLSVMSolution:
        if self.solver == "pegasos":
            return solve_pegasos(problem, max_iter=self.max_iter, tol=self.tol)
        # The seed is fixed, since the orders of the rows affect the speed, and hardly the minimum.
        return solve_cccp(problem, rng=np.random.default_rng(0), max_iter=self.max_iter, tol=self.tol)
