"""Transductive support vector machine."""

import numbers
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.candidates.class_weights import check_row_weights
from oneof.errors import InputError
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.class_prior import check_class_prior
from oneof.estimators.svm._base import KernelSVMMixin
from oneof.messages import warn
from oneof.solvers.class_sizes import class_proportions, constrain_sizes
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive import SVMProblem, SwitchingOptions, fractions_of_problems, solve_one_vs_rest
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_bool, check_choice, check_fraction, check_positive

_REMEDIES = {
    "max_epochs": "an SVM was not solved to its tolerance. Lower C, scale the features, or increase tol.",
    "max_iter": "{} iterations were not enough. Increase max_iter or tol.",
}


class TransductiveSVM(KernelSVMMixin, CandidateClassifier):
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
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As in scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. All but "linear" need
        memory for n x n numbers, unless `approximation` is "nystroem".
    degree : int, default=3
        Degree of the "poly" kernel.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the "poly" and "rbf" kernels: 1/(d Var(X)) over all rows, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Constant of the "poly" kernel; at least 0.
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
    approximation : {None, "nystroem"}, default=None
        None uses the kernel of all pairs of rows. "nystroem" uses the linear model of `n_components` features whose
        inner products approximate the kernel: time and memory grow with the number of rows times `n_components`.
    n_components : int, default=500
        Number of landmarks of "nystroem", random rows, limited to the number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the landmarks; nothing else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (n_classes, n_features)
        Set with the linear kernel. For two classes, the second row is w, and the first is -w.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        Set with the other kernels: w_k = sum_i dual_coef_[i, k] Phi(x_i).
    intercept_ : ndarray of shape (n_classes,)
        Constant in the score of each class.
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
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

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
    `oneof.solvers.transductive.binary_labels`. A class in no set of a labeled row gets no row, and the score -1
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

    def __init__(
        self,
        C: float | None = None,
        C_unlabeled: float | None = None,
        positive_fraction: Any = None,
        *,
        class_prior: Any = "labels",
        kernel: str | Callable[[Any, Any], Any] = "linear",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        label_switching: Literal["multiple", "single"] = "multiple",
        cost_ratio: Literal["balanced", "paper"] = "balanced",
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int = 10_000,
        tol: float = 1e-3,
        approximation: Literal["nystroem"] | None = None,
        n_components: int = 500,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.positive_fraction = positive_fraction
        self.class_prior = class_prior
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.label_switching = label_switching
        self.cost_ratio = cost_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.approximation = approximation
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Label the rows and fit the SVMs.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            With ``kernel="precomputed"`` the kernel of all pairs of rows, dense.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets, with or without weights.

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
        weight = check_row_weights(candidates, None, self.class_weight)
        fractions = _check_positive_fraction(self.positive_fraction, len(candidates.classes))
        prior = check_class_prior(self.class_prior, len(candidates.classes))
        if isinstance(prior, np.ndarray):
            if fractions is not None:
                raise InputError("`positive_fraction` must be None with a `class_prior`: both are the class sizes.")
            fractions = fractions_of_problems(candidates.evidence, prior).tolist()
        all_rows = np.arange(rows.shape[0])
        space, kernel, landmarks = self._make_space(rows, all_rows)
        solution = solve_one_vs_rest(
            SVMProblem(space, bool(self.fit_intercept)),
            candidates.evidence,
            C=self.C,
            C_unlabeled=self.C_unlabeled,
            positive_fractions=fractions,
            row_weight=weight,
            options=SwitchingOptions(self.label_switching, self.cost_ratio, tol=self.tol, max_iter=self.max_iter),
            rng=np.random.default_rng(0),  # fixed orders of the rows, which influence only the speed
        )
        if solution.limit is not None:
            remedy = _REMEDIES[solution.limit].format(self.max_iter)
            warn(f"TransductiveSVM did not converge: {remedy}", ConvergenceWarning)
        is_linear = isinstance(space, FeatureSpace)
        weights = space.rmatvec(solution.coefficients) if is_linear else solution.coefficients
        self._set_solution(weights, solution.intercepts, kernel, landmarks, rows, all_rows)
        self.objective_path_ = solution.objective_path
        self.objective_ = float(self.objective_path_[-1])
        self.C_unlabeled_path_ = [problem.cost_path for problem in solution.solutions]
        self.n_iter_ = solution.n_iter
        labels, free = solution.labels, np.flatnonzero(candidates.is_unlabeled)
        if isinstance(prior, np.ndarray) and len(free) and len(prior) > 2:  # with two classes the signs have the sizes
            scores = self._scores(rows[free])
            labels[free] = (scores + constrain_sizes(scores, class_proportions(prior, prior))).argmax(axis=1)
        self.transduction_ = candidates.classes[labels]
        return self._finalize_fit(X, y, candidates)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Return the softmax of the scores times the weights; for the rows of fit, `transduction_` comes first."""
        proba = super()._candidate_proba(rows, candidates, training=training)
        if training:
            transduced = self.classes_ == self.transduction_[:, None]
            # Slightly above the highest, by a relative difference that float64 represents for every probability.
            proba = np.where(transduced, (1.0 + 1e-9) * proba.max(axis=1, keepdims=True), proba)
            proba /= proba.sum(axis=1, keepdims=True)
        return proba

    def _check_parameters(self) -> None:
        """Raise if a parameter other than those of the kernel and `positive_fraction` is invalid."""
        for name in ("C", "C_unlabeled"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        check_positive("max_iter", self.max_iter, integer=True)
        check_positive("tol", self.tol)
        check_bool("fit_intercept", self.fit_intercept)
        check_choice("label_switching", self.label_switching, ("multiple", "single"))
        check_choice("cost_ratio", self.cost_ratio, ("balanced", "paper"))


def _check_positive_fraction(value: Any, n_classes: int) -> list[float] | None:
    """Return the fraction of each class, given those of all classes or, for two classes, that of the second."""
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    kind: Any = numbers.Real
    if n_classes == 2 and isinstance(value, kind | str | bytes):
        check_fraction("positive_fraction", value)
        return [1.0 - float(value), float(value)]
    fractions = None if isinstance(value, kind | str | bytes) else np.asarray(value)
    if fractions is None or fractions.shape != (n_classes,) or fractions.dtype.kind not in "iuf":
        raise InputError(
            f"`positive_fraction` must have one number for each of the {n_classes} classes; got {value!r}."
        )
    for k, fraction in enumerate(fractions):
        check_fraction(f"positive_fraction[{k}]", fraction)
    return [float(fraction) for fraction in fractions]
