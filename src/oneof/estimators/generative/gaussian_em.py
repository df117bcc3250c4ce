"""Gaussian mixture classifier on candidate sets and unlabeled rows, by EM."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.estimators.generative._base import GenerativeClassifier
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.gaussian import (
    COVARIANCE_TYPES,
    CovarianceType,
    Gaussian,
    GaussianParameters,
    gaussian_log_likelihoods,
)
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice, check_memory, check_positive


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
    unlabeled_weight : float or "cv", default=1.0
        lambda, at least 0; at 0 unlabeled rows are ignored. "cv" selects the smallest of `cv_weights` within one
        standard error of the best by cross-validation.
    n_components : int, default=1
        Number of Gaussians per class; each has its own weight within the class.
    covariance : {"full", "tied", "diagonal", "spherical"}, default="full"
        Covariance matrices: one per component, one for all components, one diagonal matrix per component, or one
        variance per component.
    shrinkage : float, optional
        nu, at least 0. The default is the number of features that vary for "full" and "tied", otherwise 1.
    partial_weight : float, default=1.0
        lambda_partial, at least 0: the weight of partial rows.
    n_folds : int, default=5
        Maximum number of folds for "cv". The labeled and partial rows are divided into folds; unlabeled rows are in
        every training set.
    cv_weights : sequence of float, default=(0.0, 0.01, 0.1, 0.3, 1.0)
        Weights that "cv" compares, at least 0.
    class_weight : dict or "balanced", default=None
        Weights of the classes by label, 1 for classes without one; "balanced" is inversely proportional to the class
        frequencies. A row's weight is multiplied by the mean weight of its candidates, and is unchanged if unlabeled.
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
    priors_ : ndarray of shape (n_classes,)
        pi_k, not smoothed; 0 for a class without a labeled row.
    means_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
        mu_k.
    covariances_ : ndarray
        In the shapes of scikit-learn's GaussianMixture, with n_classes, or (n_classes, n_components), for its
        n_components: (n_classes, n_features, n_features) full, (n_features, n_features) tied, (n_classes, n_features)
        diagonal, (n_classes,) spherical. Rows and columns of constant features are 0.
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
        l(theta) at the end, with log |T^-1 Sigma| in the prior.
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

    def __init__(
        self,
        unlabeled_weight: float | Literal["cv"] = 1.0,
        n_components: int = 1,
        covariance: CovarianceType = "full",
        *,
        shrinkage: float | None = None,
        partial_weight: float = 1.0,
        n_folds: int = 5,
        cv_weights: Sequence[float] = (0.0, 0.01, 0.1, 0.3, 1.0),
        class_weight: Any = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.unlabeled_weight = unlabeled_weight
        self.n_components = n_components
        self.covariance = covariance
        self.shrinkage = shrinkage
        self.partial_weight = partial_weight
        self.n_folds = n_folds
        self.cv_weights = cv_weights
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("covariance", self.covariance, COVARIANCE_TYPES)
        if self.shrinkage is not None:
            check_positive("shrinkage", self.shrinkage, allow_zero=True)

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
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
