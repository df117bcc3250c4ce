"""Naive Bayes on counts, with candidate sets and unlabeled rows, by EM."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from oneof.estimators._em_base import GenerativeClassifier
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.multinomial import Multinomial, check_counts, multinomial_log_likelihoods
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_positive


class MultinomialEM(GenerativeClassifier):
    """Multinomial naive Bayes that also learns from rows of several candidates, and of none.

    Maximizes by EM l(theta) = log p(theta) + sum_exact log p(x, y) + lambda_partial sum_partial log sum_{k in S_i}
    p(x, k) + lambda sum_unlabeled log sum_k p(x, k), where p(x, k) = pi_k prod_j theta_kj^x_j and p(theta) is a
    Dirichlet prior, prod_kj theta_kj^alpha. With exact labels alone it is scikit-learn's MultinomialNB.

    Parameters
    ----------
    unlabeled_weight : float or "cv", default=1.0
        lambda, at least 0; at 0 unlabeled rows are passed over. With "cv" it is the smallest of `cv_weights` that is
        within a standard error of the best by cross-validation.
    n_components : int, default=1
        Multinomials per class, each with a share of its own within the class.
    alpha : float, default=1.0
        Above 0: what is added to every count.
    partial_weight : float, default=1.0
        lambda_partial, at least 0: of rows whose set holds several classes, but not all.
    n_folds : int, default=5
        With "cv": folds, at most, into which the rows that are not unlabeled are dealt; unlabeled rows are in every
        training part.
    cv_weights : sequence of float, default=(0.0, 0.01, 0.1, 0.3, 1.0)
        With "cv": what to choose from.
    max_iter : int, default=1000
        Sweeps, at most; a ConvergenceWarning says if they were not enough.
    tol : float, default=1e-4
        The search ends where a sweep moves no more than this share of the rows' mass from component to component.
    random_state : int, RandomState instance or None, default=None
        For the random start that several components per class need; without them nothing is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    class_log_prior_ : ndarray of shape (n_classes,)
        log pi_k, not smoothed; -inf for a class that no labeled row names.
    feature_log_prob_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
        log theta_kj.
    component_weights_ : ndarray of shape (n_classes, n_components)
        With several components: their shares of their class.
    unlabeled_weight_ : float
        lambda, as given or chosen.
    cv_covering_rates_ : ndarray
        With "cv", for each of `cv_weights` in ascending order: how often held-out predictions lay in the row's set.
        NaN where nothing was to be chosen.
    transduction_ : ndarray of shape (n_samples,)
        The likeliest candidate of each row of fit.
    objective_ : ndarray
        l(theta), without what does not depend on theta: at the start and after each of the `n_iter_` sweeps. But for
        rounding it never falls.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    The search starts from the rows that are not unlabeled, equally divided over their candidates. It ends at a
    stationary point, which need not be the best one. Unlabeled rows help where the components are the classes, and can
    do harm where they are not; "cv" is for that. It compares weights by the covering rate of held-out rows, for which
    no true label is needed, and needs some labeled rows of each class: one that is alone in its class is never covered
    when it is held out. With one labeled row per class all weights cover nothing, and the smallest is taken.

    A row of zeros is allowed. It says nothing of the features, and is given the shares of the classes.

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
        del weight  # the prior is the same whatever the rows
        return Multinomial(rows.astype(np.float64, copy=False), float(self.alpha))

    def _keep(self, found: EMSolution[Floats], n_classes: int) -> None:
        super()._keep(found, n_classes)
        self.class_log_prior_ = self._class_log_weights(n_classes)
        self.feature_log_prob_ = self._of_classes(found.parameters)

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        return multinomial_log_likelihoods(rows, self.feature_log_prob_.reshape(-1, self.n_features_in_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # as MultinomialNB's, which it is on exact labels: shares see no length
        return tags
