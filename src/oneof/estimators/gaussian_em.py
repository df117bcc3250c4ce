"""Gaussian classes, with candidate sets and unlabeled rows, by EM."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from oneof.estimators._em_base import GenerativeClassifier
from oneof.solvers.generative.covariances import FORMS, Form
from oneof.solvers.generative.em import EMSolution, Family
from oneof.solvers.generative.gaussian import Gaussian, GaussianParameters, gaussian_log_likelihoods
from oneof.typing import FeatureMatrix, Floats
from oneof.validation import check_choice, check_memory, check_positive


class GaussianEM(GenerativeClassifier):
    """Gaussian classes that also learn from rows of several candidates, and of none.

    Maximizes by EM l(theta) = log p(theta) + sum_exact log p(x, y) + lambda_partial sum_partial log sum_{k in S_i}
    p(x, k) + lambda sum_unlabeled log sum_k p(x, k), where p(x, k) = pi_k N(x; mu_k, Sigma_k). The prior log p(theta)
    = -nu/2 sum (log |Sigma| + tr T Sigma^-1), over the matrices of covariances, is that of nu rows whose covariance is
    T, the diagonal of the variances of all rows. The M-step is Sigma_k = (S_k + nu T) / (N_k + nu), with S_k the
    scatter of the class and N_k its mass. So no class collapses onto a row. With exact labels alone and nu = 0 it is
    quadratic or, tied, linear discriminant analysis with covariances of maximum likelihood, and, diagonal, Gaussian
    naive Bayes.

    Parameters
    ----------
    unlabeled_weight : float or "cv", default=1.0
        lambda, at least 0; at 0 unlabeled rows are passed over. With "cv" it is the smallest of `cv_weights` that is
        within a standard error of the best by cross-validation.
    n_components : int, default=1
        Gaussians per class, each with a share of its own within the class.
    covariance : {"full", "tied", "diagonal", "spherical"}, default="full"
        A matrix for each component, one for all, variances for each, or one variance for each.
    shrinkage : float, optional
        nu, at least 0. By default it is the number of features that vary where covariances are matrices, else 1.
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
    priors_ : ndarray of shape (n_classes,)
        pi_k, not smoothed; 0 for a class that no labeled row names.
    means_ : ndarray of shape (n_classes, n_features), or (n_classes, n_components, n_features)
    covariances_ : ndarray
        In the shapes of scikit-learn's GaussianMixture, with n_classes, or (n_classes, n_components), for its
        n_components: (n_classes, n_features, n_features) full, (n_features, n_features) tied, (n_classes, n_features)
        diagonal, (n_classes,) spherical. Rows and columns of constant features are 0.
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
        l(theta), with log |T^-1 Sigma| in the prior: at the start and after each of the `n_iter_` sweeps. But for
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
    no true label is needed. With one labeled row per class all weights cover nothing, and the smallest is taken.

    The origin and the unit of a feature, each its own, change no probability; of spherical classes one unit for all.

    T weighs rows as the likelihood does. For spherical classes its diagonal is the mean variance. Features that are
    constant in the rows that count are left out. CSR rows are made dense, as centered rows are.

    Scatter is divided by n_k, as likelihood asks. So do the discriminant analyses of scikit-learn 1.9 (linear: "lsqr"),
    while its older QuadraticDiscriminantAnalysis divides by n_k - 1.

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
        covariance: Form = "full",
        *,
        shrinkage: float | None = None,
        partial_weight: float = 1.0,
        n_folds: int = 5,
        cv_weights: Sequence[float] = (0.0, 0.01, 0.1, 0.3, 1.0),
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
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("covariance", self.covariance, FORMS)
        if self.shrinkage is not None:
            check_positive("shrinkage", self.shrinkage, allow_zero=True)

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: Any = True) -> FeatureMatrix:
        rows = super()._validate_rows(X, reset=reset, finite=finite)
        if sp.issparse(rows):
            check_memory(16.0 * rows.shape[0] * rows.shape[1], "making the rows dense", "give fewer features")
            rows = rows.toarray()
        return rows.astype(np.float64, copy=False)

    def _family(self, rows: FeatureMatrix, weight: Floats) -> Family[GaussianParameters]:
        return Gaussian.of(rows, weight, form=self.covariance, shrinkage=self.shrinkage)

    def _keep(self, found: EMSolution[GaussianParameters], n_classes: int) -> None:
        super()._keep(found, n_classes)
        self._parameters = found.parameters
        self.priors_ = np.exp(self._class_log_weights(n_classes))
        self.means_ = self._of_classes(found.parameters.means_of_features())
        covariances = found.parameters.covariances_of_features()
        self.covariances_ = covariances if self.covariance == "tied" else self._of_classes(covariances)

    def _log_likelihoods(self, rows: FeatureMatrix) -> Floats:
        return gaussian_log_likelihoods(self._parameters.units.read(rows), self._parameters)
