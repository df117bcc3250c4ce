"""Linear classifiers that minimize one objective over all rows.

Reading order: `CLPL` (a convex loss of the average score of the candidates) with `oneof.solvers.clpl`, or `PLEM`
(logistic regression on the sum of the probabilities of the candidates) with `oneof.solvers.plem`.
"""

from oneof.estimators.base import LinearClassifierMixin, SampleWeightMixin, SoftmaxMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.likelihoods import add_log_weights
from oneof.solvers.clpl import solve_clpl
from oneof.solvers.plem import solve_plem


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


@estimator
class PLEM(SoftmaxMixin, LinearClassifierMixin, SampleWeightMixin):
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
    coef_ : ndarray of shape (n_classes, n_features)
        Sums to 0 over the classes.
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

    lam: Positive = 1.0
    _: KW_ONLY
    entropy_weight: NonNegative = 0.0
    fit_intercept: bool = False
    max_iter: Count = 1000
    tol: Positive = 1e-6

    def _fit(self, training: TrainingRows) -> None:
        solution = solve_plem(
            training.X,
            training.evidence,
            lam=self.lam,
            entropy_weight=self.entropy_weight,
            sample_weight=training.weight,
            fit_intercept=bool(self.fit_intercept),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self._set_coefficients(solution.weights, training.X.dtype)
        if self.entropy_weight > 0:
            labels = add_log_weights(self._scores(training.X), training.evidence).argmax(axis=1)
            self.transduction_ = training.candidates.classes[labels]
        self._set_path(-self.lam * solution.objective_path, solution.n_iter, solution.converged)
