"""Support vector machines, with a linear kernel or another.

Reading order: `KernelSVM` (the space of the kernel, coefficients, scores of new rows), then `PLSVM` with
`oneof.solvers.plsvm`, or `TransductiveSVM` with `oneof.solvers.transductive`.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import LinearClassifierMixin, PrecomputedKernelMixin, SampleWeightMixin, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, check_class_prior, estimator
from oneof.kernels.nystroem import NystroemFeatures, inverse_root
from oneof.kernels.pairwise import check_gram, check_square, scale_gamma
from oneof.kernels.svc import Kernel
from oneof.likelihoods import constant_rows
from oneof.solvers.class_sizes import class_proportions, constrain_sizes
from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace, Space
from oneof.solvers.plsvm import PLSVMProblem, PLSVMSolution, solve_cccp, solve_pegasos
from oneof.solvers.row_accessors import sparse_if_few
from oneof.solvers.small_weights import round_weights, without_small_weights
from oneof.solvers.transductive.tsvm import SwitchingOptions, fractions_of_problems, solve_one_vs_rest
from oneof.solvers.transductive.weighted_svm import SVMProblem
from oneof.typing import FeatureMatrix, Floats, Ints
from oneof.validation import as_array, check_memory, check_random_state


class UsedRows(NamedTuple):
    """Rows of fit that a problem uses, in the space of a kernel."""

    indices: Ints
    """The rows, or the landmarks among them."""
    space: Space
    kernel: Kernel | None
    """None if the kernel is precomputed."""
    root: Floats | None = None
    """R of the features k(x, Z) R with landmarks Z."""


@estimator
class KernelSVM(PrecomputedKernelMixin, LinearClassifierMixin):
    """Base class of the kernel SVMs: ``coef_`` with the linear kernel, ``dual_coef_`` with other kernels.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. All but "linear" need
        memory for n x n numbers, unless `approximation` is "nystroem".
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the "poly" and "rbf" kernels: 1/(d Var(X)) over the rows that are used, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Constant of the "poly" kernel; at least 0.
    approximation : {None, "nystroem"}, default=None
        None uses the kernel of all pairs of rows. "nystroem" uses the linear model of `n_components` features whose
        inner products approximate the kernel: time and memory grow with the number of rows times `n_components`.
    n_components : int, default=500
        Number of landmarks of "nystroem", random rows, limited to the number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; nothing else is random.
    """

    _uses_gram_matrix = True

    _: KW_ONLY
    kernel: str | Callable[[Any, Any], Any] = "linear"
    degree: Count = 3
    gamma: Positive | Literal["scale", "auto"] = "scale"
    coef0: NonNegative = 0.0
    approximation: Literal["nystroem"] | None = None
    n_components: Count = 500
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self._is_precomputed() and self.approximation is not None:
            raise InputError('`approximation` must be None with kernel="precomputed"; got "nystroem".')

    def _use_rows(
        self, rows: FeatureMatrix, used: Ints, *, weight: Floats | None = None, has_constant: bool = False
    ) -> UsedRows:
        """Return the used rows in the space of the kernel, with an optional constant feature.

        Weights count in the default bandwidth, but not in the choice of the landmarks.
        """
        used_rows = rows if len(used) == rows.shape[0] else rows[used]
        kernel = None
        if self._is_precomputed():
            check_square(rows.shape)
            gram = used_rows if used_rows.shape[1] == len(used) else used_rows[:, used]
        else:
            is_counted = weight is not None and isinstance(self.gamma, str) and self.gamma == "scale"
            gamma = scale_gamma(used_rows, weight) if is_counted and self.kernel != "linear" else self.gamma
            kernel = Kernel.from_rows(self.kernel, used_rows, gamma=gamma, degree=self.degree, coef0=self.coef0)
            if kernel.name == "linear":
                used_rows = sparse_if_few(used_rows).astype(np.float64, copy=False)
                return UsedRows(used, FeatureSpace(used_rows, has_constant=has_constant), kernel)
            if self.approximation is not None:
                n, m = len(used), min(int(self.n_components), len(used))
                check_memory(16.0 * n * m, f"the features of {n} rows and {m} landmarks", "decrease `n_components`")
                chosen = np.sort(check_random_state(self.random_state).permutation(n)[:m])
                landmarks = used_rows[chosen]
                root = inverse_root(check_gram(kernel.gram(used_rows[chosen], landmarks), chosen), symmetric=True)
                features = NystroemFeatures(kernel, landmarks, root).transform(used_rows)
                return UsedRows(used[chosen], FeatureSpace(features, has_constant=has_constant), kernel, root)
            # The matrix, and at most two of its size: the submatrix of the free rows, and its factor.
            remedy = 'set kernel="linear" or approximation="nystroem"'
            check_memory(24.0 * len(used) ** 2, f"the kernel of all pairs of {len(used)} rows", remedy)
            gram = kernel.gram(used_rows, used_rows)
        gram = check_gram(gram, used)
        if has_constant:
            is_owned = kernel is not None and not callable(kernel.name)  # another matrix may belong to the caller
            gram = np.add(gram, 1.0, out=gram if is_owned else None)
        return UsedRows(used, KernelSpace(gram), kernel)

    def _set_solution(self, used: UsedRows, weights: Floats, intercept: Floats, rows: FeatureMatrix) -> None:
        """Set the attributes of the model.

        `weights` are those of the features, (K, m), with the linear kernel or landmarks, and otherwise the coefficients
        of the used rows.
        """
        self._kernel = used.kernel
        if used.kernel is not None and used.kernel.name == "linear":
            self._set_coefficients(np.column_stack([weights, intercept]), rows.dtype)
            return
        self.dual_coef_ = np.zeros((rows.shape[0], len(intercept)))
        self.dual_coef_[used.indices] = weights if used.root is None else used.root @ weights.T
        self.intercept_ = intercept
        self._support = np.flatnonzero(self.dual_coef_.any(axis=1))
        self._support_rows = None if used.kernel is None else rows[self._support]

    def _scores(self, rows: FeatureMatrix) -> Floats:
        if hasattr(self, "coef_"):
            return super()._scores(rows)
        if not len(self._support):  # the solution is 0: the kernel is not called without rows
            return np.tile(self.intercept_, (rows.shape[0], 1))
        gram = rows[:, self._support] if self._kernel is None else self._kernel.gram(rows, self._support_rows)
        return gram @ self.dual_coef_[self._support] + self.intercept_


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


@estimator
class TransductiveSVM(KernelSVM):
    """Transductive support vector machine: also labels the unlabeled rows so that the margin is wide among them.

    For a class, over w, b and the signs y*_j of the unlabeled rows, a given number of which are positive, the method
    searches for a low value of

        1/2 ||w||^2 + C sum_i max(0, 1 - y_i f_i) + C* sum_j max(0, 1 - y*_j f_j),   f = <w, Phi(x)> + b,

    with the first sum over labeled rows and the second over unlabeled ones. The SVM of the labeled rows gives the
    initial signs. The cost of the unlabeled rows then grows from almost nothing to C*. Whenever a positive and a
    negative row would both have a lower loss with the sign of the other, the two signs are switched. With more than
    two classes, each is solved against the others. Without unlabeled rows, the method is an ordinary SVM.

    Parameters
    ----------
    C : float, optional
        Cost of the losses of labeled rows, above 0. None: 1 / mean k(x, x) over all rows, which makes the result
        independent of the scale of the features.
    C_unlabeled : float, optional
        C*, above 0. None: C.
    positive_fraction : float or array-like of shape (n_classes,), optional
        For two classes the fraction of ``classes_[1]`` in the unlabeled rows, from 0 to 1. For more, the fraction of
        each class in the rows that are unlabeled in its problem: different rows for each class, so that the fractions
        need not sum to 1. Given two fractions for two classes, the second is used. The number of positive rows is this
        fraction of them, rounded (halves up). None: the fraction in the rows that are not unlabeled; a row of several
        candidates counts as 1/|S| for each, or as w_k / sum w with weights w. Pass it if it is known: no SVM can
        compensate for an error of this fraction.
    class_prior : {"labels", "uniform"}, array-like of shape (n_classes,) or None, default="labels"
        Class sizes among the unlabeled rows, as in the graph-based methods. An array has known sizes or proportions in
        the order of ``classes_``; "uniform" are equal ones. They take the place of `positive_fraction`, which must be
        None then. "labels" and None are the fractions in the rows that are not unlabeled.
    label_switching : {"multiple", "single"}, default="multiple"
        Pairs of rows whose signs are switched between two SVMs. "multiple": all disjoint pairs whose losses decrease.
        "single": the worst pair only, as published.
    cost_ratio : {"balanced", "paper"}, default="balanced"
        Initial ratio of the costs of positive and negative unlabeled rows: (1 - p) / p or p / (1 - p), where p is the
        positive fraction. "balanced" weighs both kinds alike and is that of the author's program; "paper" is that of
        his paper.
    fit_intercept : bool, default=True
        Whether to fit b, which is not penalized; otherwise b = 0.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label, 1 for classes without one; "balanced" is inversely proportional to the class
        frequencies. The mean weight of a row's candidates multiplies its `C`, but not its `C_unlabeled`.
    max_iter : int, default=10000
        Maximum number of SVMs of all rows solved for a class.
    tol : float, default=1e-3
        Above 0: largest final violation of an optimality condition by a score, where the margin is 1; pairs that would
        gain no more than this are not switched. Before the last step the tolerance is sqrt(tol).

    Attributes
    ----------
    coef_ : ndarray of shape (n_classes, n_features)
        Set with the linear kernel. For two classes, the second row is w, and the first is -w.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Set with the other kernels: w_k = sum_i dual_coef_[i, k] Phi(x_i).
    transduction_ : ndarray of shape (n_samples,)
        A candidate of each row of fit. For two classes it is the class of the row's final sign, so that exactly the
        given number of unlabeled rows are positive. For more classes it is the candidate with the highest score. In a
        row with weights it is the class with the largest product of its weight and the softmax of the scores.
    objective_ : float
        Final value of the objective, summed over the binary problems: one for each class; for two classes only that of
        the second.
    objective_path_ : ndarray of shape (n_iter_,)
        Sum of the objectives of the binary problems after each SVM. A problem that has ended counts with its final
        value. While the costs of a problem are constant, its objective never increases.
    C_unlabeled_path_ : list of ndarray of shape (n_svms, 2)
        For each binary problem, the costs of negative and positive unlabeled rows in each SVM.
    n_iter_ : int
        Largest number of SVMs solved for a class, without that of the labeled rows only.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached, or an SVM was not solved to its tolerance.

    Notes
    -----
    Candidate sets: in the problem of a class, a row is positive if its set is that class alone, negative if the class
    is not in its set, and unlabeled otherwise. The set of a row with weights is the set of the classes with weights of
    at least 1e-6. A softened exact label, with larger weights for all other classes, is therefore unlabeled in each
    problem: pass exact labels with little noise as they are.

    If no row is positive, or none negative, an SVM cannot give the initial signs. They then depend on the distances to
    the mean of the rows whose sets contain the class, and to the mean of the others: see
    `oneof.solvers.transductive.tsvm.binary_labels`. A class in no set of a labeled row gets no row, and the score -1
    everywhere, unless `positive_fraction` is above 0 for it.

    For two classes `decision_function` is 2 f, the score of one class minus that of the other. The final sign of a row
    of fit may differ from the sign of its score if the number of positive rows requires it: `transduction_` then
    differs from `predict`.

    The result is a local minimum that depends on the labeled rows. With few of them it can be worse than the SVM of the
    labeled rows only: `docs/transductive_svm.md` shows how often.

    References
    ----------
    Joachims (1999), Transductive inference for text classification using support vector machines, ICML: optimization
    problem 2 and Figure 3. Many pairs at once: Sindhwani & Keerthi (2006), Large scale semi-supervised linear SVMs,
    SIGIR.

    Examples
    --------
    >>> from oneof import TransductiveSVM
    >>> X = [[0.0, 2.0], [0.1, 1.0], [0.0, 0.5], [3.0, 0.2], [3.1, 1.5], [2.9, 2.5]]
    >>> model = TransductiveSVM().fit(X, ["a", None, None, None, None, "b"])
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'b', 'b', 'b']
    >>> model.predict([[0.2, 3.0], [3.0, 0.0]]).tolist()
    ['a', 'b']
    """

    C: Positive | None = None
    C_unlabeled: Positive | None = None
    positive_fraction: Any = None
    _: KW_ONLY
    class_prior: Any = "labels"
    label_switching: Literal["multiple", "single"] = "multiple"
    cost_ratio: Literal["balanced", "paper"] = "balanced"
    fit_intercept: bool = True
    class_weight: Any = None
    max_iter: Count = 10_000
    tol: Positive = 1e-3

    def _fit(self, training: TrainingRows) -> None:
        rows, candidates = training.X, training.candidates
        fractions = _check_positive_fraction(self.positive_fraction, len(candidates.classes))
        prior = check_class_prior(self.class_prior, len(candidates.classes))
        if isinstance(prior, np.ndarray):
            if fractions is not None:
                raise InputError("`positive_fraction` must be None with a `class_prior`: both are the class sizes.")
            fractions = fractions_of_problems(candidates.evidence, prior).tolist()
        used = self._use_rows(rows, np.arange(rows.shape[0]))
        solution = solve_one_vs_rest(
            SVMProblem(used.space, bool(self.fit_intercept)),
            candidates.evidence,
            C=self.C,
            C_unlabeled=self.C_unlabeled,
            positive_fractions=fractions,
            row_weight=training.weight,
            options=SwitchingOptions(self.label_switching, self.cost_ratio, tol=self.tol, max_iter=self.max_iter),
            rng=np.random.default_rng(0),  # fixed orders of the rows, which influence only the speed
        )
        self._set_path(
            solution.objective_path, solution.n_iter, solution.limit is None, "lower C, scale the features, or "
        )
        self.C_unlabeled_path_ = [problem.cost_path for problem in solution.solutions]
        is_linear = isinstance(used.space, FeatureSpace)
        weights = used.space.rmatvec(solution.coefficients) if is_linear else solution.coefficients
        self._set_solution(used, weights, solution.intercepts, rows)
        labels, free = solution.labels, np.flatnonzero(candidates.is_unlabeled)
        if isinstance(prior, np.ndarray) and len(free) and len(prior) > 2:  # with two classes the signs have the sizes
            scores = self._scores(rows[free])
            labels[free] = (scores + constrain_sizes(scores, class_proportions(prior, prior))).argmax(axis=1)
        self.transduction_ = candidates.classes[labels]

    def _training_proba(self, rows: FeatureMatrix, candidates: CandidateSets) -> Floats:
        """Return the softmax of the scores times the weights, with `transduction_` first."""
        proba = self._candidate_proba(rows, candidates)
        transduced = self.classes_ == self.transduction_[:, None]
        # Slightly above the highest, by a relative difference that float64 represents for every probability.
        proba = np.where(transduced, (1.0 + 1e-9) * proba.max(axis=1, keepdims=True), proba)
        return proba / proba.sum(axis=1, keepdims=True)


def _check_positive_fraction(value: Any, n_classes: int) -> list[float] | None:
    """Return the fraction of each class, given those of all classes or, for two classes, that of the second."""
    if value is None:
        return None
    fractions = as_array(value, "positive_fraction")
    is_numeric = fractions.dtype.kind in "iuf"
    if is_numeric and n_classes == 2 and fractions.shape == ():
        fractions = np.array([1.0 - fractions, fractions])
    if not is_numeric or fractions.shape != (n_classes,) or not ((fractions >= 0) & (fractions <= 1)).all():
        raise InputError(
            f"`positive_fraction` must have one number for each of the {n_classes} classes, from 0 to 1; got {value!r}."
        )
    return [float(fraction) for fraction in fractions]
