"""Classifiers by the densities of the classes, fitted by EM.

Reading order: `GenerativeClassifier` (row weights, components of the classes, scores), then `GaussianEM` or
`MultinomialEM` (the density), and `oneof.solvers.generative` (the EM iterations).
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax

from oneof.errors import InputError
from oneof.estimators.base import SampleWeightMixin, SoftmaxMixin, TrainingRows
from oneof.estimators.deduplicate import merge_rows
from oneof.estimators.parameters import KW_ONLY, Count, NonNegative, Positive, estimator
from oneof.likelihoods import add_log_weights, constant_rows, softmax
from oneof.solvers.generative.em import (
    IMPOSSIBLE,
    EMSolution,
    Family,
    WeightSelection,
    class_scores,
    initial_responsibilities,
    row_weights,
    select_weight,
    solve_em,
)
from oneof.solvers.generative.gaussian import CovarianceType, Gaussian, GaussianParameters, gaussian_log_likelihoods
from oneof.solvers.generative.multinomial import Multinomial, check_counts, multinomial_log_likelihoods
from oneof.typing import Evidence, FeatureMatrix, Floats
from oneof.validation import as_array, check_memory, check_positive, check_random_state


@estimator
class GenerativeClassifier(SoftmaxMixin, SampleWeightMixin):
    """Base class of the EM classifiers; a subclass defines the family of its components and its fitted attributes.

    Parameters
    ----------
    unlabeled_weight : float or "cv", default=1.0
        lambda, at least 0; at 0 unlabeled rows are ignored. "cv" selects the smallest of `cv_weights` within one
        standard error of the best by cross-validation.
    n_components : int, default=1
        Number of components per class; each component has its own weight within the class.
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
    component_weights_ : ndarray of shape (n_classes, n_components)
        Weights of the components within their class, if there are several.
    unlabeled_weight_ : float
        lambda, as given or selected.
    cv_covering_rates_ : ndarray
        Covering rate on held-out rows for each of `cv_weights` in ascending order, with "cv". NaN if there was nothing
        to select.
    transduction_ : ndarray of shape (n_samples,)
        The most probable candidate of each row of fit.
    objective_path_ : ndarray of shape (n_iter_ + 1,)
        l(theta) at the start and after each iteration; up to rounding it never decreases.
    n_iter_ : int
        Number of iterations.
    """

    unlabeled_weight: NonNegative | Literal["cv"] = 1.0
    n_components: Count = 1
    _: KW_ONLY
    partial_weight: NonNegative = 1.0
    n_folds: Count = 5
    cv_weights: Sequence[float] = (0.0, 0.01, 0.1, 0.3, 1.0)
    max_iter: Count = 1000
    tol: Positive = 1e-4
    random_state: Any = None

    def _fit(self, training: TrainingRows) -> None:
        rows, evidence = training.X, training.evidence
        selection = self._select_weight(rows, evidence, training.weight)
        solution = self._solve(rows, evidence, training.weight, selection.weight)
        best = add_log_weights(_row_scores(solution, evidence), evidence).argmax(axis=1)
        self.unlabeled_weight_ = selection.weight
        self.cv_covering_rates_ = selection.covering_rates
        self.transduction_ = training.candidates.classes[best]
        self._set_path(solution.objective_path, solution.n_iter, solution.converged)
        self._set_fitted_attributes(solution, evidence.shape[1])

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of the probabilities of the classes, also of those that round to 0 or 1.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            -inf for a class without a labeled row.

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        InputError
            If X is invalid, or the scores overflow.
        """
        scores = self._finite_scores(self._validate_rows(X))
        return np.where(scores <= 0.5 * IMPOSSIBLE, -np.inf, log_softmax(scores, axis=1))

    # -- for subclasses -------------------------------------------------------------------------------------------

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[Any]:
        """Return the family over weighted rows."""
        raise NotImplementedError

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        """Return log p(x | component), (n, K C), of checked rows."""
        raise NotImplementedError

    def _set_fitted_attributes(self, solution: EMSolution[Any], n_classes: int) -> None:
        """Set the attributes that describe the classes."""
        self._log_weights = solution.log_weights
        if self.n_components > 1:
            self.component_weights_ = softmax(solution.log_weights.reshape(n_classes, -1))  # equal without mass

    def _class_log_weights(self, n_classes: int) -> Floats:
        """Return log pi_k, (K,), with -inf for a class without mass."""
        logs = class_scores(self._log_weights[None], n_classes)[0]
        return np.where(logs <= 0.5 * IMPOSSIBLE, -np.inf, logs)

    def _by_class(self, values: Floats) -> Floats:
        """Reshape (K C, ...) to (K, C, ...) if there are several components per class."""
        return values if self.n_components == 1 else values.reshape(-1, self.n_components, *values.shape[1:])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if as_array(self.cv_weights, "cv_weights").ndim != 1 or not len(self.cv_weights):
            raise InputError(f"`cv_weights` must be a sequence of numbers of at least 0; got {self.cv_weights!r}.")
        for weight in self.cv_weights:
            check_positive("cv_weights", weight, allow_zero=True)

    # -- private --------------------------------------------------------------------------------------------------

    def _select_weight(self, rows: FeatureMatrix, evidence: Evidence, weight: Floats) -> WeightSelection:
        """Return the weight of unlabeled rows, as given or by cross-validation over the distinct rows."""
        if self.unlabeled_weight != "cv":
            return WeightSelection(float(self.unlabeled_weight), np.full(0, np.nan))
        labels = evidence.astype(np.float64)
        combined = sp.hstack([rows, sp.csr_array(labels)]).tocsr() if sp.issparse(rows) else np.hstack([rows, labels])
        first, total = merge_rows(combined, weight)  # a row of weight 2 is the row twice, held out together
        if len(first) < len(evidence):
            rows, evidence = rows[first], evidence[first]

        def scores(unlabeled_weight: float, sample_weight: Floats) -> Floats:
            try:
                return _row_scores(self._solve(rows, evidence, sample_weight, unlabeled_weight), evidence)
            except InputError:  # too few labeled rows, or rows of a class, are left
                return np.full(evidence.shape, np.nan)

        weights = sorted({float(w) for w in self.cv_weights})
        return select_weight(scores, evidence, total, weights=weights, n_folds=self.n_folds)

    def _solve(
        self, rows: FeatureMatrix, evidence: Evidence, sample_weight: Floats, unlabeled_weight: float
    ) -> EMSolution[Any]:
        weight = row_weights(evidence, sample_weight, unlabeled_weight, self.partial_weight)
        if not weight[~constant_rows(evidence)].any():
            raise InputError("`partial_weight` must be above 0 if no labeled row is exact; got 0.")
        rng = None
        if self.n_components > 1:
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        start = initial_responsibilities(evidence, self.n_components, rng)
        return solve_em(self._family(rows, weight), evidence, weight, start, max_iter=self.max_iter, tol=self.tol)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return class_scores(self._log_likelihoods(rows) + self._log_weights, len(self.classes_))


def _row_scores(solution: EMSolution[Any], evidence: Evidence) -> Floats:
    """Return the scores of the rows of fit, (n, K); without joint probabilities all rows are exact."""
    if solution.joint is None:
        return evidence.astype(np.float64)
    return class_scores(solution.joint, evidence.shape[1])


@estimator
class GaussianEM(GenerativeClassifier):
    """Gaussian mixture classifier for exact, partial and unlabeled rows, fitted by EM.

    Maximizes by EM l(theta) = log p(theta) + sum_exact log p(x, y) + lambda_partial sum_partial log sum_{k in S_i} p(x,
    k) + lambda sum_unlabeled log sum_k p(x, k), where p(x, k) = pi_k N(x; mu_k, Sigma_k). The term of a row with
    weights w_ik is log sum_k w_ik p(x, k). The prior is log p(theta) = -nu/2 sum (log |Sigma| + tr T Sigma^-1), over
    the covariance matrices. It has the weight of nu rows with the covariance T, the diagonal matrix of the variances of
    all rows. The M-step is Sigma_k = (S_k + nu T) / (N_k + nu), with S_k the scatter of the class and N_k its mass, so
    that no class degenerates to a single row. With exact labels and nu = 0 the model is quadratic discriminant
    analysis, or linear if tied, with maximum-likelihood covariances, and Gaussian naive Bayes if diagonal.

    Parameters
    ----------
    covariance : {"full", "tied", "diagonal", "spherical"}, default="full"
        Covariance matrices: one per component, one for all components, one diagonal matrix per component, or one
        variance per component.
    shrinkage : float, optional
        nu, at least 0. The default is the number of features that vary for "full" and "tied", otherwise 1.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label, 1 for classes without one; "balanced" is inversely proportional to the class
        frequencies. A row's weight is multiplied by the mean weight of its candidates, and is unchanged if unlabeled.

    Attributes
    ----------
    priors_ : ndarray of shape (n_classes,)
        pi_k, not smoothed; 0 for a class without a labeled row.
    means_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
        mu_k.
    covariances_ : ndarray
        In the shapes of scikit-learn's GaussianMixture, with n_classes, or (n_classes, n_components), for its
        n_components: (n_classes, n_features, n_features) full, (n_features, n_features) tied, (n_classes, n_features)
        diagonal, (n_classes,) spherical. Rows and columns of constant features are 0.
    objective_ : float
        l(theta) at the end, with log |T^-1 Sigma| in the prior.

    Notes
    -----
    EM starts from the labeled and partial rows, divided over their candidates equally, or by weight. It ends at a
    stationary point, which may not be the global maximum. Unlabeled rows improve the model if the components are the
    classes, and can make it worse otherwise, which "cv" detects. It compares weights by the covering rate of held-out
    rows, for which no true label is needed. With one labeled row per class all covering rates are 0, and the smallest
    weight is selected.

    Shifting or scaling a feature changes no probability; with spherical covariances all features must be scaled alike.

    T uses the row weights of the likelihood. For spherical classes its diagonal is the mean variance. Features that are
    constant in the rows of positive weight are ignored. CSR rows are converted to dense rows, since they are centered.

    Scatter is divided by n_k, as in maximum likelihood. The discriminant analyses of scikit-learn 1.9 (linear: "lsqr")
    do so too, while its older QuadraticDiscriminantAnalysis divides by n_k - 1.

    References
    ----------
    Nigam, McCallum, Thrun & Mitchell (2000), Text classification from labeled and unlabeled documents using EM,
    Machine Learning 39.
    Fraley & Raftery (2007), Bayesian regularization for normal mixture estimation and model-based clustering, Journal
    of Classification 24: the prior, with other parameters.

    Examples
    --------
    >>> from oneof import GaussianEM
    >>> X = [[0.0], [4.0], [0.2], [-0.5], [0.6], [4.4], [3.8], [5.0]]
    >>> model = GaussianEM().fit(X, ["a", "b"] + [None] * 6)
    >>> model.predict([[1.0], [3.5]]).tolist()
    ['a', 'b']
    """

    covariance: CovarianceType = "full"
    _: KW_ONLY
    shrinkage: NonNegative | None = None
    class_weight: Any = None

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = None) -> FeatureMatrix:
        rows = super()._validate_rows(X, reset=reset, finite=finite)
        if sp.issparse(rows):
            check_memory(16.0 * rows.shape[0] * rows.shape[1], "making the rows dense", "reduce the number of features")
            rows = rows.toarray()
        return rows.astype(np.float64, copy=False)

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[GaussianParameters]:
        return Gaussian.from_rows(rows, weight, covariance_type=self.covariance, shrinkage=self.shrinkage)

    def _set_fitted_attributes(self, solution: EMSolution[GaussianParameters], n_classes: int) -> None:
        super()._set_fitted_attributes(solution, n_classes)
        self._parameters = solution.parameters
        self.priors_ = np.exp(self._class_log_weights(n_classes))
        self.means_ = self._by_class(solution.parameters.feature_means())
        covariances = solution.parameters.feature_covariances()
        self.covariances_ = covariances if self.covariance == "tied" else self._by_class(covariances)

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        return gaussian_log_likelihoods(self._parameters.standardizer.transform(rows), self._parameters)


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
