"""Gaussian mixture classifier on candidate sets and unlabeled rows, by EM."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from oneof.estimators.generative._base import GenerativeClassifier
from oneof.estimators.parameters import KW_ONLY, NonNegative, estimator
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.gaussian import (
    CovarianceType,
    Gaussian,
    GaussianParameters,
    gaussian_log_likelihoods,
)
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_memory


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
