"""Multinomial naive Bayes on candidate sets and unlabeled rows, by EM."""

from typing import Any

import numpy as np

from oneof.estimators.generative._base import GenerativeClassifier
from oneof.estimators.parameters import Positive, estimator
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.multinomial import Multinomial, check_counts, multinomial_log_likelihoods
from oneof.typing import FeatureMatrix, Floats


@estimator
class MultinomialEM(GenerativeClassifier):
    """Multinomial naive Bayes for exact, partial and unlabeled rows, fitted by EM.

    Maximizes by EM l(theta) = log p(theta) + sum_exact log p(x, y) + lambda_partial sum_partial log sum_{k in S_i}
    p(x, k) + lambda sum_unlabeled log sum_k p(x, k), where p(x, k) = pi_k prod_j theta_kj^x_j and p(theta) is a
    Dirichlet prior, prod_kj theta_kj^alpha. The term of a partial row whose candidates have weights w_ik is log sum_k
    w_ik p(x, k). With exact labels the model is scikit-learn's MultinomialNB.

    Parameters
    ----------
    alpha : float, default=1.0
        Smoothing added to every count, above 0.

    Attributes
    ----------
    class_log_prior_ : ndarray of shape (n_classes,)
        log pi_k, not smoothed; -inf for a class without a labeled row.
    feature_log_prob_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
        log theta_kj.
    objective_ : float
        l(theta) at the end, without the terms that do not depend on theta.

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

    alpha: Positive = 1.0

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
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
