"""Gaussian process classifier for candidate sets, by Laplace's approximation.

Read next `oneof.solvers.laplace.hyperparameters` (the search of hyperparameters), `oneof.solvers.laplace.posterior`
(the posterior of the latents), and the other modules of `oneof.solvers.laplace` in the order of its docstring.
"""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_torch_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.arrays import as_numpy, to_namespace_of
from oneof.errors import InputError, InputTypeError
from oneof.estimators.base import ProbabilityMixin, TensorClassifier, TrainingRows
from oneof.estimators.parameters import KW_ONLY, Count, CountOrZero, Positive, estimator
from oneof.kernels.pairwise import total_variance
from oneof.messages import warn
from oneof.solvers.laplace.hyperparameters import search_hyperparameters
from oneof.solvers.laplace.mode import LaplaceMode, WeightMode
from oneof.solvers.laplace.posterior import (
    LaplacePosterior,
    PosteriorCovariance,
    apply_temperature,
    approximate_posterior,
    draw_normals,
    expected_softmax,
    fit_temperature,
    sample_latents,
)
from oneof.typing import Array, Evidence, FeatureMatrix, Floats
from oneof.validation import check_positive, check_random_state

N_PROBES = 64
"""Number of rows of `fit` on which predictions are compared with the latent means."""
MAX_DISAGREEMENT = 1 / 3
"""Maximum fraction of these rows whose predictions may differ without a warning."""
MIN_MC_SAMPLES = 100
"""With fewer samples, predictions differ by chance."""


@estimator
class PLGP(ProbabilityMixin, TensorClassifier):
    """Gaussian process classifier whose likelihood is that of a candidate set.

    Each class k has a latent function f_k ~ GP(0, kernel), and p(k | x) = exp f_k(x) / sum_j exp f_j(x). The likelihood
    of a set is the largest probability of its members. With a finite `sharpness` L it is between that and their sum:
    log p(S | f) = 1/L log sum_{k in S} exp(L f_k) - log sum_j exp f_j. If the candidates have weights w_k, f_k is
    replaced by f_k + log w_k in the first sum. The posterior of the latents is approximated by a Gaussian at its mode
    (Laplace), and class probabilities are means over this Gaussian.

    Parameters
    ----------
    kernel : kernel of sklearn.gaussian_process.kernels, or list of n_classes of them, default=None
        One kernel shared by all classes, or one for each. None is ``1.0 * RBF(length)``. The length is the square root
        of the sum of the variances of the features, with bounds of a hundredth and a hundred times that. The bounds of
        the constant are 1e-2 and 1e2; see Notes.
    optimizer : {"fmin_l_bfgs_b"}, callable or None, default="fmin_l_bfgs_b"
        Optimizer of the kernel's hyperparameters that are not "fixed", which maximizes the Laplace evidence by its
        gradient. A callable has the signature of scikit-learn's GaussianProcessClassifier. None keeps the kernel
        unchanged.
    sharpness : float, default=np.inf
        L, above 0. 1 is the marginal likelihood, infinity the published maximum. Values below 1 reward ties; the first
        sum is then that of w_k exp(L f_k). For weights that are nearly equal pass 1: for larger values such a row
        counts as much as a set, since only a row of exactly equal weights is unlabeled.
    anneal : bool, default=True
        Whether to find the mode in stages of increasing sharpness, .1, 1 and 10. Without them the first step determines
        the label of most rows, whose candidates all tie at the start. With 2,000 labeled rows or more, the stages use
        500 of them as landmarks.
    solver : {"cg", "cholesky"}, default="cg"
        "cholesky" is the published form, for the mode and for the covariances. Each step factorizes K matrices of
        shape (n, n).
    approximation : {None, "nystroem"}, default=None
        "nystroem" replaces the kernel by features of `n_components` random rows, for more than about 10,000 rows. Time
        is proportional to n m^2 and memory to n m. Probabilities take (K m)^3 operations and (K m)^2 memory, once. The
        features do not include the noise of a WhiteKernel.
    n_components : int, default=1000
        Number of landmarks m of "nystroem", or the number of labeled rows if that is smaller. Probabilities are cheaper
        than without an approximation if m is well below n / sqrt(n_classes).
    n_mc_samples : int, default=1000
        Number of samples of the Monte Carlo mean, whose error is at most 0.5 / sqrt(n_mc_samples). All rows share them.
    temperature : float or "loo", default=1.0
        Probabilities are raised to the power 1 / temperature and scaled to sum to 1; `predict` does not change.
        "loo" maximizes the likelihood of the sets under leave-one-out probabilities; see the notes.
    n_restarts_optimizer : int, default=0
        Number of further starts of the optimizer, drawn log-uniformly within the bounds.
    optimizer_max_samples : int or None, default=1000
        Maximum number of random labeled rows on which the kernel's hyperparameters are optimized, since the evidence
        takes K n^3 operations. None uses all.
    max_iter : int, default=1000
        Maximum number of steps to the mode, in each stage.
    tol : float, default=1e-6
        The mode is reached if max |F - K (q - p)| <= tol max(1, max |F|). In single precision the tolerance is at least
        6e-5.
    random_state : int, RandomState instance or None, default=None
        Seed of the Monte Carlo samples, the restarts and the random rows.

    Attributes
    ----------
    kernel_ : kernel, or list of them
        The kernel with the optimized hyperparameters.
    latent_mode_ : array of shape (n_samples, n_classes)
        Latents at the mode; for unlabeled rows, their posterior means.
    log_marginal_likelihood_value_ : float
        Laplace evidence of all labeled rows, computed at the first access (K n^3 operations). Evidences of different
        sharpness are not comparable: only that of 1 is normalized over sets.
    temperature_ : float
        Temperature of the probabilities; for "loo", computed at the first access.
    objective_ : float
        Psi, the log posterior of the latents up to a constant, at the mode.
    objective_path_ : ndarray of shape (n_steps + 1,)
        Psi at the start of the last stage and after each of its steps; it never decreases.
    n_iter_ : int
        Number of steps to the mode, over all stages.

    Notes
    -----
    Standardize the features first. The mode is computed from products of the n x n kernel matrix with n x K blocks, in
    double and in single precision. The posterior covariances are computed at the first call that needs them, including
    `predict`, and are stored. They take operations proportional to K n^3, and K n^2 numbers. Pickles
    and model files do not contain them: a loaded model computes them again. The probabilities of a row do not depend
    on the other rows, except for rounding errors.

    Rows may be torch tensors on any device. Everything is then computed on that device in the precision of the
    rows, results are tensors, and `optimizer` must be None. For NumPy rows in single precision, the kernel is computed
    in single precision and everything else in double precision.

    Keep the prior variance near that of latents, 1 to 100. If it is much larger, the classes with the least information
    have the widest latents, and these dominate the mean of the softmax. Predictions can then be far worse than those by
    the posterior means, even below chance. The optimizer may cause this if classes are separable, since the evidence
    then increases with the variance; that of the default kernel is therefore at most 100. A warning is issued if the
    effect is detected on the rows of `fit`; `latent_mean_and_cov` has the means. A bare DotProduct has the variance of
    the features, and ``ConstantKernel() * DotProduct()`` has one that can be optimized.

    With many classes and few rows, the mean of the softmax is far less confident than its predictions are accurate. On
    Lost, with 16 classes, the largest probability is .29 on average, although 83 % of the predictions are correct.
    ``temperature="loo"`` corrects this from the sets alone. It assumes that a set has no information except that it
    contains the label. If some wrong labels repeatedly occur together with some correct ones, predictions are in the
    sets more often than they are correct, and the probabilities are too high.

    Classes that are always candidates of the same rows remain tied, at a mode that is a saddle point, since nothing
    distinguishes them.

    References
    ----------
    Zhou, He & Gu (2017), Partial label learning via Gaussian processes, IEEE Trans. Cybernetics.
    Rasmussen & Williams (2006), Gaussian processes for machine learning, section 3.5.

    Examples
    --------
    >>> from oneof import PLGP
    >>> X = [[2.0, 0.1], [1.5, 0.3], [0.2, 1.0], [0.1, 2.0]]
    >>> y = [["a"], ["a", "c"], ["b"], ["b", "c"]]
    >>> model = PLGP(optimizer=None, random_state=0).fit(X, y)
    >>> model.predict([[3.0, 0.0], [0.0, 3.0]]).tolist()
    ['a', 'b']
    """

    _uses_gram_matrix = True

    kernel: Any = None
    _: KW_ONLY
    optimizer: Any = "fmin_l_bfgs_b"
    sharpness: float = np.inf
    anneal: bool = True
    solver: Literal["cg", "cholesky"] = "cg"
    approximation: Literal["nystroem"] | None = None
    n_components: Count = 1000
    n_mc_samples: Count = 1000
    temperature: Positive | Literal["loo"] = 1.0
    n_restarts_optimizer: CountOrZero = 0
    optimizer_max_samples: Count | None = 1000
    max_iter: Count = 1000
    tol: Positive = 1e-6
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.sharpness, float) and self.sharpness == np.inf):
            check_positive("sharpness", self.sharpness)
        if self.approximation and self.solver == "cholesky":
            raise InputError(
                '`approximation` must be None with solver="cholesky"; got "nystroem". Pass approximation=None, or '
                'solver="cg".'
            )
        is_known = isinstance(self.optimizer, str) and self.optimizer == "fmin_l_bfgs_b"
        if not (self.optimizer is None or is_known or callable(self.optimizer)):
            raise InputError(f'`optimizer` must be "fmin_l_bfgs_b", a function or None; got {self.optimizer!r}.')

    def _fit(self, training: TrainingRows) -> None:
        labeled = training.labeled
        rows, evidence = training.select(labeled), training.evidence[labeled]
        seed, rng, normals = self._generators(evidence.shape[1])
        kernels, coefficients = self._fit_kernels(
            lambda: total_variance(rows), lambda some: (rows[some], evidence[some]), evidence.shape, rng
        )
        posterior, mode = approximate_posterior(
            kernels,
            rows,
            to_namespace_of(evidence, rows),
            float(self.sharpness),
            reference=self.solver == "cholesky",
            n_components=int(self.n_components) if self.approximation else None,
            initial=None if self.approximation else coefficients,
            anneal=bool(self.anneal),
            max_iter=self.max_iter,
            tol=self.tol,
            rng=rng,
        )
        self.latent_mode_ = training.complete(
            mode.latents, labeled, lambda others: posterior.means(training.select(others))
        )
        self._set_fitted_attributes(posterior, mode, evidence, normals, seed)

    def _generators(self, n_classes: int) -> tuple[int, np.random.Generator, Floats]:
        """Return a seed, the generator of random rows and restarts, and the normals of the Monte Carlo samples."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # A separate generator for the normals, so that their number does not change the random rows.
        rng, normals_rng = np.random.default_rng(seed).spawn(2)
        return seed, rng, draw_normals(int(self.n_mc_samples), n_classes, normals_rng)

    def _fit_kernels(
        self,
        variance: Callable[[], float],
        take: Callable[[Any], tuple[FeatureMatrix, Evidence]],
        shape: tuple[int, ...],
        rng: np.random.Generator,
    ) -> tuple[list[Any], Floats | None]:
        """Return the kernels with the hyperparameters that maximize the evidence of some random rows, and its mode.

        The mode, as coefficients of all rows, is None if it is not that of all rows. The evidence of weights may have
        several modes: the one that the search has chosen need not be the annealed one.

        Parameters
        ----------
        variance : callable
            Returns the sum of the variances of the features; only called for the default kernel.
        take : callable
            Returns the labeled rows of given indices, and their evidence.
        shape : (int, int)
            The numbers of labeled rows and of classes.
        rng : Generator
        """
        n, n_classes = shape
        kernels = _make_kernels(self.kernel, variance, n_classes)
        if self.optimizer is None or not any(kernel.n_dims for kernel in kernels):
            return kernels, None
        limit = self.optimizer_max_samples or n
        rows, evidence = take(np.arange(n) if limit >= n else np.sort(rng.permutation(n)[:limit]))
        if is_torch_array(rows):  # scikit-learn's kernel derivatives need NumPy arrays
            raise InputError("`optimizer` must be None for tensors. Pass optimizer=None.")
        result = search_hyperparameters(
            np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64),
            evidence,
            kernels if len(kernels) > 1 else kernels[0],
            float(self.sharpness),
            optimizer=self.optimizer,
            n_restarts=int(self.n_restarts_optimizer),
            rng=rng,
        )
        if not np.isfinite(result.evidence):
            warn(
                "PLGP: the evidence could not be computed for any hyperparameters of the kernel, which is unchanged. "
                "Scale the features, or pass optimizer=None.",
                ConvergenceWarning,
            )
        coefficients = result.coefficients if limit >= n else None
        return (result.kernel if len(kernels) > 1 else [result.kernel]), coefficients

    def _set_fitted_attributes(
        self,
        posterior: LaplacePosterior,
        mode: LaplaceMode | WeightMode,
        evidence: Evidence,
        normals: Floats,
        seed: int,
    ) -> None:
        kernels = [clone(kernel) for kernel in posterior.kernels]
        self.kernel_ = kernels if isinstance(self.kernel, list | tuple) else kernels[0]
        self._set_path(np.array(mode.objective_path), mode.n_iter, mode.converged)
        self._posterior, self._evidence, self._normals, self._seed = posterior, evidence, normals, seed
        self._cache: dict[str, Any] = {}

    def latent_mean_and_cov(self, X: Any) -> tuple[Array, Array]:
        """Return the posterior means and covariances of the latents, for each row separately.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)

        Returns
        -------
        mean : array of shape (n_samples, n_classes)
        cov : array of shape (n_samples, n_classes, n_classes)
        """
        means, covariances = zip(*self._means_and_covariances(self._validate_rows(X)), strict=True)
        xp = array_namespace(means[0])
        return xp.concat(means, axis=0), xp.concat(covariances, axis=0)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw latents from the posterior of each row.

        All rows share the normals of a sample. Equal rows have equal latents, but the latents of different rows are not
        a sample of their joint posterior.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)
        n_samples : int, default=1
            Number of samples for each row, at least 1.
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        array of shape (n_samples, n_rows, n_classes)
        """
        check_positive("n_samples", n_samples, integer=True)
        means, covariances = self.latent_mean_and_cov(X)
        normals = check_random_state(random_state).standard_normal((int(n_samples), means.shape[1]))
        latents = sample_latents(means, covariances, to_namespace_of(normals, means))
        return array_namespace(means).permute_dims(latents, (1, 0, 2))

    @property
    def log_marginal_likelihood_value_(self) -> float:
        """Laplace evidence of the labeled rows; the first access takes K n^3 operations."""
        check_is_fitted(self)
        if "log evidence" not in self._cache:
            evidence = to_namespace_of(self._evidence, self._posterior.coefficients)
            self._cache["log evidence"] = self._posterior.log_evidence(evidence)
        return self._cache["log evidence"]

    @property
    def temperature_(self) -> float:
        """Temperature of the probabilities; for "loo", the first access computes covariances of the rows of `fit`."""
        check_is_fitted(self)
        if "temperature" not in self._cache:
            temperature = self.temperature
            if isinstance(temperature, str):
                proba = self._expected_softmax(self._posterior.loo_latents(self._covariance()))
                temperature = fit_temperature(proba, self._evidence)
            self._cache["temperature"] = float(temperature)
        return self._cache["temperature"]

    def _covariance(self) -> PosteriorCovariance:
        if "covariance" not in self._cache:
            self._cache["covariance"] = self._posterior.latent_covariance(np.random.default_rng(self._seed))
            _warn_if_prior_dominates(self._posterior, self._cache["covariance"], self._normals)
        return self._cache["covariance"]

    def _means_and_covariances(self, rows: FeatureMatrix) -> Iterator[tuple[Array, Array]]:
        return self._posterior.means_and_covariances(rows, self._covariance())

    def _expected_softmax(self, moments: Iterator[tuple[Array, Array]]) -> Array:
        normals = to_namespace_of(self._normals, self._posterior.coefficients)
        blocks = [expected_softmax(means, covariances, normals) for means, covariances in moments]
        return array_namespace(normals).concat(blocks, axis=0)

    def _proba(self, rows: FeatureMatrix) -> Array:
        return apply_temperature(self._expected_softmax(self._means_and_covariances(rows)), self.temperature_)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        # The temperature does not change the order of the classes.
        return as_numpy(self._expected_softmax(self._means_and_covariances(rows)))

    def _fitted_rows(self) -> FeatureMatrix | None:
        posterior = getattr(self, "_posterior", None)
        return None if posterior is None else posterior.rows

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_cache": {}}  # covariances are large, and are computed again when needed


def _make_kernels(kernel: Any, variance: Callable[[], float], n_classes: int) -> list[Any]:
    """Return clones of the kernels, one or as many as there are classes.

    Parameters
    ----------
    kernel : kernel, list of kernels or None
        None makes the default kernel.
    variance : callable
        Returns the sum of the variances of the features; only called for the default kernel.
    n_classes : int
    """
    from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, Kernel

    if kernel is None:
        # The evidence often grows with the variance; above 100 the mean of the softmax may prefer classes without data.
        # Rounded: on flat evidence the optimizer would diverge if another order of summation changed the last bit.
        length = float(f"{np.sqrt(variance()):.9g}") or 1.0
        return [ConstantKernel(1.0, (1e-2, 1e2)) * RBF(length, (length / 100.0, length * 100.0))]
    kernels = list(kernel) if isinstance(kernel, list | tuple) else [kernel]
    if any(isinstance(own, CompoundKernel) for own in kernels):
        raise InputTypeError("`kernel` must not be a CompoundKernel. Pass a list of kernels, one for each class.")
    if not all(isinstance(own, Kernel) for own in kernels) or not kernels:
        raise InputTypeError(
            f"`kernel` must be a kernel of sklearn.gaussian_process.kernels, or a list of them; got {kernel!r}."
        )
    if isinstance(kernel, list | tuple) and len(kernels) != n_classes:
        raise InputError(
            f"`kernel` must be one kernel or one for each class; got a list of {len(kernels)} for {n_classes} classes."
        )
    return [clone(own) for own in kernels]


def _warn_if_prior_dominates(posterior: LaplacePosterior, covariance: PosteriorCovariance, normals: Floats) -> None:
    """Warn if the mean of the softmax and the mean of the latents predict different classes for many rows of `fit`."""
    if len(normals) < MIN_MC_SAMPLES:
        return
    rows = posterior.rows
    probes = rows[np.linspace(0, rows.shape[0] - 1, N_PROBES, dtype=int)]
    means, covariances = next(posterior.means_and_covariances(probes, covariance))
    proba = as_numpy(expected_softmax(means, covariances, to_namespace_of(normals, means)))
    disagreement = float((proba.argmax(axis=1) != as_numpy(means).argmax(axis=1)).mean())
    if disagreement > MAX_DISAGREEMENT:
        warn(
            "PLGP predicts another class than the largest latent mean does for "
            f"{disagreement:.0%} of the rows of fit, because the prior variance is large. Lower the kernel's variance, "
            "or use the means of `latent_mean_and_cov`.",
        )
