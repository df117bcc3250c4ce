"""Transductive support vector machine."""

from typing import Any, Literal

import numpy as np

from oneof.candidates import CandidateSets
from oneof.errors import InputError
from oneof.estimators.base import TrainingRows
from oneof.estimators.class_prior import check_class_prior
from oneof.estimators.parameters import KW_ONLY, Count, Positive, estimator
from oneof.estimators.svm._base import KernelSVM
from oneof.solvers.class_sizes import class_proportions, constrain_sizes
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive.tsvm import SwitchingOptions, fractions_of_problems, solve_one_vs_rest
from oneof.solvers.transductive.weighted_svm import SVMProblem
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import as_array


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
    given = as_array(value, "positive_fraction")
    fractions = (
        np.array([1.0 - given, given]) if n_classes == 2 and given.shape == () and given.dtype.kind in "iuf" else given
    )
    is_valid = given.dtype.kind in "iuf" and fractions.shape == (n_classes,)
    if not is_valid or not ((fractions >= 0) & (fractions <= 1)).all():
        raise InputError(
            f"`positive_fraction` must have one number for each of the {n_classes} classes, from 0 to 1; got {value!r}."
        )
    return [float(fraction) for fraction in fractions]
