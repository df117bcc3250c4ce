"""Convex learning from partial labels."""

from oneof.estimators.base import LinearClassifierMixin, SampleWeightMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.solvers.clpl import solve_clpl


@estimator
class CLPL(LinearClassifierMixin, SampleWeightMixin):
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
    objective_ : float
        Final value of the objective.
    objective_path_ : ndarray of shape (n_values,)
        The objective at the start of L-BFGS and after each iteration, the first ones in single precision; up to
        rounding it never increases. Only the final value if dual ascent alone reached the minimum.
    n_iter_ : int
        Number of iterations; 1 if dual ascent alone reached the minimum, or if none was needed.

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

    C: Positive = 1.0
    _: KW_ONLY
    fit_intercept: bool = False
    max_iter: Count = 1000
    tol: Positive = 1e-8

    def _fit(self, training: TrainingRows) -> None:
        solution = solve_clpl(
            training.X,
            training.evidence,
            C=self.C,
            sample_weight=training.weight,
            fit_intercept=bool(self.fit_intercept),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._set_coefficients(solution.weights, training.X.dtype)
        self._set_path(solution.objective_path, solution.n_iter, solution.converged)
