"""The transductive support vector machine."""

import warnings
from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from oneof.candidates import CandidateSets
from oneof.estimators._svm_base import KernelSVMMixin
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.transductive_parameters import check_parameters, read_fractions
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive import solve_classes
from oneof.typing import FeatureMatrix, Floats

_REASONS = {
    "passes": "a machine was not solved to its tolerance; lower C, scale the features, or raise tol.",
    "machines": "{} machines were not enough; raise max_iter or tol.",
}


class TransductiveSVM(KernelSVMMixin, CandidateClassifier):
    """Support vector machine that also labels the unlabeled rows, so that its margin is wide among them too.

    For a class, over w, b and the signs y*_j of the unlabeled rows, of which a given number are positive, it looks for
    a low value of

        1/2 ||w||^2 + C sum_i max(0, 1 - y_i f_i) + C* sum_j max(0, 1 - y*_j f_j),   f = <w, Phi(x)> + b,

    the first sum over labeled rows, the second over unlabeled ones. The machine of the labeled rows makes the first
    guess; the cost of the unlabeled rows then grows from almost nothing to C*, and wherever a positive and a negative
    one would both do better with the other's sign, they trade. Of more than two classes each is solved for against the
    others. Without unlabeled rows it is an ordinary machine.

    Parameters
    ----------
    C : float, optional
        Cost of the losses of labeled rows, above 0. None: 1 / mean k(x, x) over all rows, which does not depend on the
        scale of the features.
    C_unlabeled : float, optional
        C*, above 0. None: C.
    positive_fraction : float or array-like of shape (n_classes,), optional
        For two classes the share of ``classes_[1]`` in the unlabeled rows, from 0 to 1; for more, the share of each
        class in the rows that are unlabeled in its problem: other rows for each class, so that the shares need not sum
        to 1. Of two shares for two classes the second counts. The number of positive rows is this share of them,
        rounded (halves up). None: the share in the rows that are not full, of which one with several candidates counts
        as 1/|S| for each. Give it if you know it: an error of this share is one that no machine can mend.
    kernel : {"linear", "poly", "rbf", "precomputed"} or callable, default="linear"
        As for scikit-learn's SVC; a callable ``kernel(X, Y)`` returns the matrix of all pairs. All but "linear" hold
        n x n numbers.
    degree : int, default=3
        Of "poly".
    gamma : {"scale", "auto"} or float, default="scale"
        Of "poly" and "rbf": 1/(d Var(X)) over all rows, 1/d, or a number above 0.
    coef0 : float, default=0.0
        Of "poly"; at least 0.
    switching : {"multiple", "single"}, default="multiple"
        Between two machines, trade the signs of as many disjoint pairs as would do better, or, as published, of the
        pair that does worst.
    cost_ratio : {"balanced", "printed"}, default="balanced"
        How the costs of positive and negative unlabeled rows begin, in the ratio (1 - p) / p or p / (1 - p), where p
        is the positive share. "balanced" weighs both kinds alike and is what the author's program does; "printed" is in
        his paper.
    fit_intercept : bool, default=True
        Learn b, which is not penalized; without, b = 0.
    max_iter : int, default=10000
        Machines of all rows solved for a class, at most; a ConvergenceWarning says if they were not enough.
    tol : float, default=1e-3
        Above 0: by how much scores may break a condition of optimality in the end, where the margin is 1; pairs that
        would do better by no more than that are not traded. Until the end it is sqrt(tol).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (n_classes, n_features)
        With the linear kernel. For two classes, the second row is w and the first -w.
    dual_coef_ : ndarray of shape (n_samples, n_classes)
        With the other kernels: w_k = sum_i dual_coef_[i, k] Phi(x_i).
    intercept_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        A label out of the set of each row of fit. Of two classes, that of the sign that the row ended with, so that
        exactly the given number of unlabeled rows are positive; of more, that of the highest score.
    objective_ : list of ndarray
        For each class solved for (for two classes the second alone), the objective after each machine. It never rises
        while `C_unlabeled_path_` stay the same.
    C_unlabeled_path_ : list of ndarray of shape (n_machines, 2)
        The costs of negative and positive unlabeled rows that belong to it.
    n_iter_ : int
        Machines solved, without that of the labeled rows alone, for the class that took most.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Candidate sets: in the problem of a class, a row is positive if its set is that class alone, negative if the class
    is not in its set, and unlabeled otherwise. Where no row is positive, or none negative, the first guess is by the
    nearness to the mean of the rows whose sets hold the class, beside that of the others; see
    `oneof.solvers.transductive.sides_of`. A class in no set of a labeled row gets no row, and the score -1 everywhere,
    unless `positive_fraction` says that there are rows of it.

    For two classes `decision_function` is 2 f, the score of one class less that of the other. A row of fit may end with
    a sign that is not that of its score, where the number of positive rows demands it: `transduction_` then differs
    from `predict`.

    The result is a local minimum. What it reaches depends on the labeled rows, and with few of them it can be worse
    than the machine that ignores the others: `docs/transductive_svm.md` shows how often.

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
        kernel: str | Callable[[Any, Any], Any] = "linear",
        degree: int = 3,
        gamma: float | Literal["scale", "auto"] = "scale",
        coef0: float = 0.0,
        switching: Literal["multiple", "single"] = "multiple",
        cost_ratio: Literal["balanced", "printed"] = "balanced",
        fit_intercept: bool = True,
        max_iter: int = 10_000,
        tol: float = 1e-3,
    ) -> None:
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.positive_fraction = positive_fraction
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.switching = switching
        self.cost_ratio = cost_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Label the rows, and find the machines.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features), or (n_samples, n_samples)
            With ``kernel="precomputed"`` the kernel of all pairs of rows, dense.
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used.
        """
        check_parameters(self)
        rows, candidates = self._validate_fit(X, y)
        fractions = read_fractions(self.positive_fraction, len(candidates.classes))
        every = np.arange(rows.shape[0])
        space, kernel = self._make_space(rows, every)
        found = solve_classes(
            space,
            candidates.mask,
            C=self.C,
            C_unlabeled=self.C_unlabeled,
            positive_fractions=fractions,
            switching=self.switching,
            cost_ratio=self.cost_ratio,
            fit_intercept=bool(self.fit_intercept),
            tol=self.tol,
            max_iter=self.max_iter,
            random=np.random.default_rng(0),  # always the same orders of the rows, which decide how fast it goes
        )
        if found.stopped is not None:
            reason = _REASONS[found.stopped].format(self.max_iter)
            warnings.warn(f"TransductiveSVM did not converge: {reason}", ConvergenceWarning, stacklevel=2)
        if isinstance(space, FeatureSpace):
            weights = np.column_stack([space.rmatvec(found.coefficients), found.intercepts])
            self._set_linear(weights.astype(rows.dtype, copy=False), kernel)
        else:
            self._set_dual_coefficients(found.coefficients, found.intercepts, kernel, rows, every)
        self.objective_ = [solution.objective for solution in found.solutions]
        self.C_unlabeled_path_ = [solution.costs for solution in found.solutions]
        self.n_iter_ = found.n_iter
        self.transduction_ = candidates.classes[found.labels]
        return self._finalize_fit(X, y, candidates)

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        """Take the softmax of the scores within each set; for the rows of fit, the label that they got comes first."""
        shares = super()._candidate_proba(rows, candidates, training=training)
        if training:
            got = self.classes_ == self.transduction_[:, None]
            # By so little more than the highest that it comes first; a share cannot be too large for the difference.
            shares = np.where(got, (1.0 + 1e-9) * shares.max(axis=1, keepdims=True), shares)
            shares /= shares.sum(axis=1, keepdims=True)
        return shares
