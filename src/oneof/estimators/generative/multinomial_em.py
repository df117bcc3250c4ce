"""Multinomial naive Bayes on candidate sets and unlabeled rows, by EM."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from oneof.estimators.generative._base import GenerativeClassifier
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.multinomial import Multinomial, check_counts, multinomial_log_likelihoods
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_positive


class MultinomialEM(GenerativeClassifier):
    """Multinomial naive Bayes for exact, partial and unlabeled rows, fitted by EM.

    Maximizes by EM l(theta) = log p(theta) + sum_exact log p(x, y) + lambda_partial sum_partial log sum_{k in S_i}
    p(x, k) + lambda sum_unlabeled log sum_k p(x, k), where p(x, k) = pi_k prod_j theta_kj^x_j and p(theta) is a
    Dirichlet prior, prod_kj theta_kj^alpha. The term of a partial row whose candidates have weights w_ik is log sum_k
    w_ik p(x, k). With exact labels the model is scikit-learn's MultinomialNB.

    Parameters
    ----------
    unlabeled_weight : float or "cv", default=1.0
        lambda, at least 0; at 0 unlabeled rows are ignored. "cv" selects the smallest of `cv_weights` within one
        standard error of the best by cross-validation.
    n_components : int, default=1
        Number of multinomials per class; each has its own weight within the class.
    alpha : float, default=1.0
        Smoothing added to every count, above 0.
    partial_weight : float, default=1.0
        lambda_partial, at least 0: the weight of partial rows.
    n_folds : int, default=5
        Maximum number of folds for "cv". The labeled and partial rows are divided into folds; unlabeled rows are in
        every training set.
    cv_weights : sequence of float, default=(0.0, 0.01, 0.1, 0.3, 1.0)
        Weights that "cv" compares, at least 0.
    max_iter : int, default=1000
        Maximum number of EM iterations; if they are not sufficient, a ConvergenceWarning is issued.
    tol : float, default=1e-4
        Stop if an iteration changes the responsibilities by at most this fraction of the total row weight.
    random_state : int, RandomState instance or None, default=None
        Seed of the random start with several components per class; with one component nothing is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    class_log_prior_ : ndarray of shape (n_classes,)
        log pi_k, not smoothed; -inf for a class without a labeled row.
    feature_log_prob_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
        log theta_kj.
    component_weights_ : ndarray of shape (n_classes, n_components)
        Weights of the components within their class, if there are several.
    unlabeled_weight_ : float
        lambda, as given or selected.
    cv_covering_rates_ : ndarray
        Covering rate on held-out rows for each of `cv_weights` in ascending order, with "cv". NaN if there was nothing
        to select.
    transduction_ : ndarray of shape (n_samples,)
        The most probable candidate of each row of fit.
    objective_ : float
        l(theta) at the end, without the terms that do not depend on theta.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        l(theta) at the start and after each iteration; up to rounding it never decreases.
    n_iter_ : int
        Number of iterations.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Column names of X; set only if X is a DataFrame.

    Notes
    -----
    EM starts from the labeled and partial rows, divided over their candidates equally, or by weight. It ends at a
    stationary point, which may not be the global maximum. Unlabeled rows improve the model if the components are the
    classes, and can make it worse otherwise, which "cv" detects. It compares weights by the covering rate of held-out
    rows, for which no true label is needed. Several labeled rows of each class are required: a single one is never
    covered when it is held out. With one labeled row per class all covering rates are 0, and the smallest weight is
    selected.

    A row of zeros is allowed. It has no information on the features; its class probabilities are the priors.

    References
    ----------
    Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents using EM,
    Machine Learning 39.

    Examples
    --------
    >>> from oneof import MultinomialEM
    >>> words = [[2, 1, 0, 0], [0, 0, 1, 2], [1, 3, 1, 0], [0, 3, 0, 0], [0, 0, 3, 1], [0, 1, 3, 0]]
    >>> model = MultinomialEM().fit(words, ["sport", "art", None, None, None, None])
    >>> model.predict([[0, 1, 0, 0], [0, 0, 1, 0]]).tolist()
    ['sport', 'art']
    """

    def __init__(
        self,
        unlabeled_weight: float | Literal["cv"] = 1.0,
        n_components: int = 1,
        alpha: float = 1.0,
        *,
        partial_weight: float = 1.0,
        n_folds: int = 5,
        cv_weights: Sequence[float] = (0.0, 0.01, 0.1, 0.3, 1.0),
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.unlabeled_weight = unlabeled_weight
        self.n_components = n_components
        self.alpha = alpha
        self.partial_weight = partial_weight
        self.n_folds = n_folds
        self.cv_weights = cv_weights
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_positive("alpha", self.alpha)

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
        rows = super()._validate_rows(X, reset=reset, finite=finite)
        check_counts(rows)
        return rows

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[Floats]:
        del weight  # the prior does not depend on the rows
        return Multinomial(rows.astype(np.float64, copy=False), float(self.alpha))

    def _set_fitted_attributes(self, solution: EMSolution[Floats], n_classes: int) -> None:
        super()._set_fitted_attributes(solution, n_classes)
        self.class_log_prior_ = self._class_log_weights(n_classes)
        self.feature_log_prob_ = self._by_class(solution.parameters)

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        return multinomial_log_likelihoods(rows, self.feature_log_prob_.reshape(-1, self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # as MultinomialNB, its equal on exact labels
        return tags
