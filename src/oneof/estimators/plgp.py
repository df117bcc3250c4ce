"""Gaussian processes on candidate sets."""

import warnings
from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from oneof.candidates import CandidateSets
from oneof.estimators.base import CandidateClassifier
from oneof.estimators.gp_kernels import learnt_kernels, read_kernels
from oneof.estimators.gp_parameters import check_parameters
from oneof.estimators.gp_width import warn_of_wide_posteriors
from oneof.estimators.tensors import as_numpy, like, read_tensor
from oneof.likelihoods import normalize_within_sets
from oneof.solvers.laplace.approximation import approximate_posterior
from oneof.solvers.laplace.expectation import draw_normals, expected_shares, sample
from oneof.solvers.laplace.leave_one_out import best_temperature, tempered
from oneof.solvers.laplace.mode import LaplaceMode
from oneof.solvers.laplace.posterior import LaplacePosterior
from oneof.solvers.laplace.weight_space import WeightMode
from oneof.typing import Array, FeatureMatrix, Floats, Mask
from oneof.validation import check_positive, check_random_state


class PLGP(CandidateClassifier):
    """Gaussian process classifier whose likelihood is that of a candidate set.

    Each class k has a latent function f_k ~ GP(0, kernel), and p(k | x) = exp f_k(x) / sum_j exp f_j(x). The
    likelihood of a set is the largest of its members' probabilities, or with finite `sharpness` L something between
    that and their sum: log p(S | f) = 1/L log sum_{k in S} exp(L f_k) - log sum_j exp f_j. The posterior of the
    latents is approximated by a Gaussian at its mode (Laplace), and probabilities are means over it.

    Parameters
    ----------
    kernel : kernel of sklearn.gaussian_process.kernels, or list of n_classes of them, default=None
        Shared by all classes, or one for each. None is ``1.0 * RBF(length)``, with the square root of the summed
        variances of the features as length, bounded to a hundredth and a hundred times that, and the constant to 1e-2
        and 1e3.
    optimizer : {"fmin_l_bfgs_b"}, callable or None, default="fmin_l_bfgs_b"
        How the kernel's parameters that are not "fixed" are found: by the Laplace evidence and its gradient. A callable
        is as for scikit-learn's GaussianProcessClassifier. None keeps the kernel as it is.
    sharpness : float, default=np.inf
        L, above 0. 1 is the marginal likelihood, infinity the published maximum; below 1, ties are rewarded.
    anneal : bool, default=True
        Reach the mode by stages of growing sharpness, .1, 1 and 10. Without them most rows, whose candidates all tie at
        the start, are settled by the first step. From 2,000 labeled rows on the stages see 500 of them.
    solver : {"cg", "cholesky"}, default="cg"
        "cholesky" is the published form, for the mode and for the covariances: K factors of n x n for each step.
    approximation : {None, "nystroem"}, default=None
        "nystroem" replaces the kernel by features of `n_components` rows drawn at random, for more than some 10,000
        rows: time goes with n m^2 and memory with n m. Probabilities then take (K m)^3 and (K m)^2, once.
        The noise of a WhiteKernel is no part of the features.
    n_components : int, default=1000
        Of "nystroem": m, or the number of labeled rows if that is less. Probabilities are cheaper than without an
        approximation where m is well below n / sqrt(n_classes).
    n_mc_samples : int, default=1000
        Draws of the Monte Carlo mean, whose error is at most 0.5 / sqrt(n_mc_samples). All rows share them.
    temperature : float or "loo", default=1.0
        Probabilities are raised to 1 / temperature and scaled to sum 1, which leaves `predict` as it is. "loo" finds it
        by the likelihood of the sets under leave-one-out probabilities; see the notes.
    n_restarts_optimizer : int, default=0
        Further starts of the optimizer, drawn log-uniformly within the bounds.
    optimizer_max_samples : int or None, default=1000
        Most labeled rows, drawn at random, on which the kernel's parameters are found: the evidence takes K n^3
        operations. None takes all.
    max_iter : int, default=1000
        Most steps to the mode, in each stage.
    tol : float, default=1e-6
        The mode is reached where max |F - K (q - p)| <= tol max(1, max |F|), in single precision 6e-5 at best.
    random_state : int, RandomState instance or None, default=None
        For the draws, the restarts, and rows drawn at random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    kernel_ : kernel, or list of them
        With the parameters that were found.
    latent_mode_ : array of shape (n_samples, n_classes)
        Latents at the mode; of rows without a label, their posterior means.
    log_marginal_likelihood_value_ : float
        The Laplace evidence of all labeled rows, worked out when first asked for (K n^3 operations). Evidences of
        different sharpness do not compare: only that of 1 is normalized over sets.
    temperature_ : float
        That which is used; of "loo", worked out when first asked for.
    objective_ : list of float
        Psi, the log posterior up to a constant, at the start of the last stage and after each step; it never falls.
    n_iter_ : int
        Steps to the mode, over all stages.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the rows came as a DataFrame.

    Notes
    -----
    Standardize the features first. The mode takes products of the n x n kernel matrix, in double and in single
    precision, with n x K blocks. The posterior covariances are worked out at the first call that needs them, `predict`
    included, in operations that go with K n^3, and kept: K n^2 numbers, or far fewer where there are many rows. Pickles
    and model files do not hold them: a model that was loaded works them out again.

    Rows may be torch tensors, on any device: all of the above then happens there, and arrays come back as tensors (but
    `optimizer` must be None), in the precision of the rows. NumPy's rows in single precision have their kernel worked
    out in it, and all else in double precision.

    Keep the prior variance near that of latents, 1 to 100. Where it is much larger, the classes of which the rows say
    least have the widest latents, and these win the mean of the softmax: predictions can then be far worse than those
    by the posterior means, below chance even. The optimizer may lead there, where classes can be told apart without
    error and so the evidence grows with the variance. There is a warning where it is seen on the rows of fit;
    `latent_mean_and_cov` has the means. A bare DotProduct has the variance of the features, ``ConstantKernel() *
    DotProduct()`` one that can be found.

    Over many classes and few rows the mean of the softmax is far flatter than its classes are right: on Lost, with 16
    classes, the largest probability is .29 on average where 83 % of the predictions are right. ``temperature="loo"``
    mends that from the sets alone. It takes a set to tell no more than that the label is in it. Where some wrong labels
    come with some right ones time and again, sets are hit more often than labels, and its probabilities are too high.

    Classes that are candidates of the same rows throughout stay tied, at a mode that is a saddle: nothing tells them
    apart.

    References
    ----------
    Zhou, Zhang & Gu (2017), Partial label learning via Gaussian processes, IEEE Trans. Cybernetics.
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

    def __init__(
        self,
        kernel: Any = None,
        *,
        optimizer: Any = "fmin_l_bfgs_b",
        sharpness: float = np.inf,
        anneal: bool = True,
        solver: Literal["cg", "cholesky"] = "cg",
        approximation: Literal["nystroem"] | None = None,
        n_components: int = 1000,
        n_mc_samples: int = 1000,
        temperature: float | Literal["loo"] = 1.0,
        n_restarts_optimizer: int = 0,
        optimizer_max_samples: int | None = 1000,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.optimizer = optimizer
        self.sharpness = sharpness
        self.anneal = anneal
        self.solver = solver
        self.approximation = approximation
        self.n_components = n_components
        self.n_mc_samples = n_mc_samples
        self.temperature = temperature
        self.n_restarts_optimizer = n_restarts_optimizer
        self.optimizer_max_samples = optimizer_max_samples
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Find the kernel's parameters, and the mode of the posterior.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)
        y : array-like or CandidateSets of length n_samples
            Labels, sets of labels, a 0/1 indicator, or candidate sets; rows without a label teach nothing.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If X, y or a parameter cannot be used, the kernel is none or too large for the arithmetic, or its matrix
            would not fit in memory.
        """
        check_parameters(self)
        rows, candidates = self._validate_fit(X, y)
        seed, random, normals = self._generators(candidates.shape[1])
        told = np.flatnonzero(~candidates.is_unlabeled)
        known = rows if len(told) == len(candidates) else rows[told]  # a copy of all would double the memory
        mask = candidates.mask[told]
        kernels = read_kernels(self.kernel, known, mask.shape[1])
        if self.optimizer is not None and any(kernel.n_dims for kernel in kernels):
            kernels = learnt_kernels(
                kernels,
                known,
                mask,
                float(self.sharpness),
                optimizer=self.optimizer,
                n_restarts=int(self.n_restarts_optimizer),
                most_rows=self.optimizer_max_samples,
                random=random,
            )
        posterior, mode = approximate_posterior(
            kernels,
            known,
            like(mask, known),
            float(self.sharpness),
            published=self.solver == "cholesky",
            n_components=int(self.n_components) if self.approximation else None,
            anneal=bool(self.anneal),
            max_iter=self.max_iter,
            tol=self.tol,
            random=random,
        )
        latents = like(np.empty(candidates.shape), mode.latents)
        latents[told] = mode.latents
        if len(told) < len(candidates):
            full = np.flatnonzero(candidates.is_unlabeled)
            latents[full] = posterior.means(rows[full])
        self.latent_mode_ = latents
        self._keep(posterior, mode, mask, normals, seed)
        return self._finalize_fit(X, y, candidates)

    def _generators(self, n_classes: int) -> tuple[int, np.random.Generator, Floats]:
        """Return a seed, the generator for rows drawn at random, and the normals of the draws."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        # One for the draws, so that their number does not decide which rows are drawn.
        random, draws = np.random.default_rng(seed).spawn(2)
        return seed, random, draw_normals(int(self.n_mc_samples), n_classes, draws)

    def _keep(
        self, posterior: LaplacePosterior, mode: LaplaceMode | WeightMode, mask: Mask, normals: Floats, seed: int
    ) -> None:
        if not mode.converged:
            warnings.warn(
                f"PLGP did not converge in {mode.n_iter} steps: raise max_iter or tol, or scale the features.",
                ConvergenceWarning,
                stacklevel=3,
            )
        found = [clone(kernel) for kernel in posterior.kernels]
        self.kernel_ = found if isinstance(self.kernel, list | tuple) else found[0]
        self.objective_, self.n_iter_ = mode.objective, mode.n_iter
        self._posterior, self._mask, self._normals, self._seed = posterior, mask, normals, seed
        self._cache: dict[str, Any] = {}

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes: means of the softmax over the posterior of the latents.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to 1. A row's probabilities do not depend on the other rows, but for rounding: where fit had 1,500
            labeled rows or more, covariances are in single precision if that keeps their variances to 1e-4.
        """
        return self._probabilities(self._validate_rows(X))

    def latent_mean_and_cov(self, X: Any) -> tuple[Array, Array]:
        """Return the means and covariances of the latents under their posterior, for each row by itself.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)

        Returns
        -------
        mean : array of shape (n_samples, n_classes)
        cov : array of shape (n_samples, n_classes, n_classes)
            With ``solver="cg"`` and 1,500 labeled rows or more, off the published form by 11 % at most in every
            direction, as far as that is estimated; in practice by far less, see docs/plgp.md.
        """
        means, covariances = zip(*self._means_and_covariances(self._validate_rows(X)), strict=True)
        xp = array_namespace(means[0])
        return xp.concat(means, axis=0), xp.concat(covariances, axis=0)

    def sample_latent(self, X: Any, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draw latents from the posterior of each row.

        All rows share the normals that are drawn: equal rows have equal latents, but for other rows the draws are none
        of their joint posterior.

        Parameters
        ----------
        X : array-like, CSR matrix or torch tensor of shape (n_samples, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=None

        Returns
        -------
        array of shape (n_samples, n_rows, n_classes)
        """
        check_positive("n_samples", n_samples, integer=True)
        means, covariances = self.latent_mean_and_cov(X)
        normals = check_random_state(random_state).standard_normal((int(n_samples), means.shape[1]))
        return array_namespace(means).permute_dims(sample(means, covariances, like(normals, means)), (1, 0, 2))

    @property
    def log_marginal_likelihood_value_(self) -> float:
        """The Laplace evidence of the labeled rows; the first time it takes K n^3 operations."""
        check_is_fitted(self)
        if "evidence" not in self._cache:
            mask = like(self._mask, self._posterior.coefficients)
            self._cache["evidence"] = self._posterior.evidence(mask)
        return self._cache["evidence"]

    @property
    def temperature_(self) -> float:
        """The temperature of the probabilities; of "loo", it takes the covariances of the rows of fit once."""
        check_is_fitted(self)
        if "temperature" not in self._cache:
            found = self.temperature
            if isinstance(found, str):
                shares = self._expected(self._posterior.cavities(self._spread()))
                found = best_temperature(shares, like(self._mask, shares))
            self._cache["temperature"] = float(found)
        return self._cache["temperature"]

    def _spread(self) -> Any:
        if "spread" not in self._cache:
            self._cache["spread"] = self._posterior.spread(np.random.default_rng(self._seed))
            warn_of_wide_posteriors(self._posterior, self._cache["spread"], self._normals)
        return self._cache["spread"]

    def _means_and_covariances(self, rows: FeatureMatrix) -> Iterator[tuple[Array, Array]]:
        return self._posterior.means_and_covariances(rows, self._spread())

    def _expected(self, moments: Iterator[tuple[Array, Array]]) -> Array:
        normals = like(self._normals, self._posterior.coefficients)
        parts = [expected_shares(means, covariances, normals) for means, covariances in moments]
        return array_namespace(normals).concat(parts, axis=0)

    def _probabilities(self, rows: FeatureMatrix) -> Array:
        return tempered(self._expected(self._means_and_covariances(rows)), self.temperature_)

    def _scores(self, rows: FeatureMatrix) -> Floats:
        return as_numpy(self._expected(self._means_and_covariances(rows)))  # the temperature changes no order

    def _candidate_proba(self, rows: FeatureMatrix, candidates: CandidateSets, *, training: bool) -> Floats:
        del training
        return normalize_within_sets(as_numpy(self._probabilities(rows)), candidates.mask)

    def _validate_rows(self, X: Any, *, reset: bool = False, finite: bool = True) -> FeatureMatrix:
        fitted = None if reset else getattr(self, "_posterior", None)
        if is_torch_array(X):
            return read_tensor(self, X, reset=reset, fitted=None if fitted is None else fitted.rows)
        rows = super()._validate_rows(X, reset=reset, finite=finite)
        return rows if fitted is None or not is_torch_array(fitted.rows) else like(rows, fitted.rows)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_cache" in state:
            state["_cache"] = {}  # covariances are large, and are worked out again
        return state
