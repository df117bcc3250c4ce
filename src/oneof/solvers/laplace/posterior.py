"""Gaussian posterior of the latents: from rows and their candidate sets to class probabilities for further rows.

`approximate_posterior` finds the mode. `LaplacePosterior` stores it with everything that predictions need.

Probabilities are means of the softmax of the latents over their posterior.

Leave-one-out: at the mode, the likelihood of a row acts like a Gaussian with precision W_i = diag pi_i - pi_i pi_i^T
and gradient q_i - pi_i. Removing it from the posterior N(m, V) of the row gives the cavity distribution

    V^- = (V^-1 - W_i)^-1 = (I - V W_i)^-1 V,     m^- = m - V^- (q_i - pi_i)

(Vehtari, Mononen, Tolvanen, Sivula & Winther 2016, section 3.1). It neglects the change of the mode at the other rows.

Temperature: with many classes and few rows, the means over such posteriors are too flat. Temperature scaling (Guo,
Pleiss, Sun & Weinberger 2017) sharpens them by one exponent, p_k^(1/T) / sum_j p_j^(1/T), which preserves the order of
the classes. T maximizes the likelihood of the sets, sum_i log sum_{k in S_i} p_ik, which assumes that the only
information of a set is that it contains the label. With weights of the candidates it is sum_i log sum_k w_ik p_ik.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from oneof.arrays import as_numpy
from oneof.errors import InputError
from oneof.kernels.gaussian_process import covariance, is_psd_by_construction, variances
from oneof.kernels.nystroem import NystroemFeatures
from oneof.likelihoods import softmax
from oneof.messages import warn
from oneof.solvers.annotators.temper import temper
from oneof.solvers.laplace.covariance import (
    MAX_VARIANCE,
    TOO_LARGE,
    CholeskyFactors,
    WeightCovariance,
    min_jitter,
    overflow_as_input_error,
)
from oneof.solvers.laplace.mode import LaplaceMode, find_mode, find_mode_cholesky
from oneof.solvers.laplace.model import FeaturePrior, GramPrior, Likelihood, Prior, matvec_by_class
from oneof.typing import Array, Evidence, FeatureMatrix, Floats
from oneof.validation import check_memory

PosteriorCovariance = CholeskyFactors | WeightCovariance

MAX_BLOCK_NUMBERS = 25_000_000
"""Maximum size in memory of a block of further rows: its rows times the training rows times the classes."""
N_PROBES = 32
"""Number of rows on which the covariances are tested."""
MAX_SAMPLES = 1_000_000
"""Maximum number of sampled latents in memory at a time; four times as many take twice the processor time."""
NEGATIVE_VARIANCE_TOL = 1e-3
"""Eigenvalues below minus this value cause a warning. The softmax depends on differences of latents of about 1."""


@dataclass(frozen=True)
class LaplacePosterior:
    """Posterior q(F | Y) = N(F^, (K^-1 + W)^-1) over the training rows, which determines that of all other rows."""

    kernels: list[Any]
    """One of scikit-learn's kernels, shared by all classes, or K of them."""
    rows: FeatureMatrix
    """(n, d): the training rows."""
    features: list[NystroemFeatures]
    """One for each kernel, or empty without an approximation."""
    coefficients: Array
    """A, (n, K), with F^ = K A."""
    proba: Array
    """pi at F^, (n, K)."""
    weights: Array | None
    """Phi^T A, (m, K), if there are features."""
    jitters: tuple[float, ...]
    """Value added to the diagonal of the Gram matrix of each kernel."""
    sharpness: float
    """L, above 0."""
    weight_covariance: WeightCovariance | None = None
    """Covariance of the weights, if the training rows were in blocks and are not stored. Landmarks take the place of
    `rows` then, and weights that of `coefficients`."""
    psi: float = 0.0
    """Psi at the mode, with `weight_covariance` only."""

    def prior(self) -> Prior:
        """Return the prior over the training rows, computed again."""
        return make_prior(self.kernels, self.features, self.rows, self.jitters)

    def latent_covariance(self, rng: np.random.Generator) -> PosteriorCovariance:
        """Return the form of the posterior covariance that predictions use; computing it takes longer than the mode.

        Raises
        ------
        InputError
            If it would not fit in memory, or the prior variances are too large for the floating-point precision.
        """
        if self.weight_covariance is not None:
            return self.weight_covariance
        n = self.coefficients.shape[0]
        self._check_memory()
        with overflow_as_input_error():
            prior = self.prior()
            if isinstance(prior, FeaturePrior):
                return self._weight_covariance(prior)
            probes = self.rows[np.sort(rng.permutation(n)[:N_PROBES])]
            result = CholeskyFactors.from_proba(prior, self.proba)
            covariances = result.covariances(self._cross(probes), self._variances(probes))
        xp = array_namespace(covariances)
        lowest = float(xp.min(xp.linalg.eigvalsh(covariances)))
        if lowest < -NEGATIVE_VARIANCE_TOL:
            warn(
                f"rounding leaves errors of about {-lowest:.2g} in the covariances of the latents, because the kernel "
                "is large. Scale the features, or lower the kernel's variance.",
            )
        return result

    def means(self, X: FeatureMatrix) -> Array:
        """Return the means of the latents of further rows, (t, K)."""
        xp = array_namespace(self.coefficients)
        blocks = [matvec_by_class(self._cross(block), self._weights) for block in self._blocks(X)]
        return xp.concat(blocks, axis=0)

    def means_and_covariances(self, X: FeatureMatrix, covariance: PosteriorCovariance) -> Iterator[tuple[Array, Array]]:
        """Yield the means, (b, K), and the covariances, (b, K, K), of the latents of blocks of further rows."""
        for block in self._blocks(X):
            cross = self._cross(block)
            covariances = covariance.covariances(cross, self._variances(block))
            covariances = array_namespace(self.coefficients).astype(covariances, self.coefficients.dtype, copy=False)
            yield matvec_by_class(cross, self._weights), covariances

    def loo_latents(self, covariance: PosteriorCovariance) -> Iterator[tuple[Array, Array]]:
        """Yield leave-one-out means and covariances of the latents of blocks of the training rows.

        The likelihood of a row does not depend on the prior variance that its features do not explain. This variance is
        added to the leave-one-out covariance.
        """
        if self.weight_covariance is not None:
            raise InputError("leave-one-out probabilities need the training rows, which this model does not store.")
        prior = self.prior()
        matrix = prior.features if isinstance(prior, FeaturePrior) else prior.gram
        xp = array_namespace(matrix)
        n, n_classes = self.coefficients.shape
        size = self._block_size
        for block in (slice(start, start + size) for start in range(0, n, size)):
            cross = matrix[..., block, :]
            if isinstance(prior, FeaturePrior):
                explained = xp.vecdot(cross, cross)
                residual = self._variances(self.rows[block]) - explained
            else:
                explained = xp.linalg.diagonal(matrix)[..., block]
                residual = 0.0 * explained
            means = matvec_by_class(cross, self._weights)
            covariances = xp.astype(covariance.covariances(cross, explained), means.dtype, copy=False)
            means, covariances = loo_latents(means, covariances, self.proba[block, :], self.coefficients[block, :])
            added = xp.where(residual > 0, residual, 0.0)
            identity = xp.eye(n_classes, dtype=means.dtype, device=device(means))
            covariances = covariances + identity * (added[:, None, None] if added.ndim == 1 else added.mT[:, :, None])
            yield means, covariances

    def log_evidence(self, evidence: Array) -> float:
        """Return the Laplace evidence log q(Y | X) of the training rows, Psi - 1/2 log |I + K W|.

        Raises
        ------
        InputError
            If it would not fit in memory, or overflows.
        """
        if self.weight_covariance is not None:
            return self.psi - 0.5 * self.weight_covariance.log_det
        self._check_memory()
        prior = self.prior()
        latents = prior.matvec(self.coefficients)
        psi = Likelihood(evidence, self.sharpness).psi(self.coefficients, latents)
        with overflow_as_input_error():
            if isinstance(prior, FeaturePrior):
                log_det = self._weight_covariance(prior).log_det
            else:
                log_det = CholeskyFactors.from_proba(prior, self.proba).log_det
        if not np.isfinite(psi - log_det):
            raise InputError(TOO_LARGE)
        return psi - 0.5 * log_det

    def _weight_covariance(self, prior: FeaturePrior) -> WeightCovariance:
        features = [prior.of_class(k) for k in range(self.proba.shape[1])]
        return WeightCovariance.from_features(features, self.proba)

    def _check_memory(self) -> None:
        """Raise if the covariances would not fit in memory; not for tensors, which use the memory of another device."""
        n, n_classes = self.coefficients.shape
        if is_torch_array(self.coefficients):
            return
        if not self.features:
            needed = 8 * n**2 * (n_classes + 3)
            check_memory(needed, f"covariances of {n} labeled rows", 'pass approximation="nystroem"')

    @property
    def _weights(self) -> Array:
        return self.coefficients if self.weights is None else self.weights

    def _blocks(self, X: FeatureMatrix) -> Iterator[FeatureMatrix]:
        size = self._block_size
        return (X[start : start + size] for start in range(0, X.shape[0], size))

    @property
    def _block_size(self) -> int:
        return int(np.clip(MAX_BLOCK_NUMBERS // (self._weights.shape[0] * self._weights.shape[1]), 16, 4096))

    def _cross(self, X: FeatureMatrix) -> Array:
        """Return covariances with the training rows, or features: (t, n), or (K, t, n) with one kernel per class."""
        if self.features:
            return stack_classes([features.transform(X) for features in self.features])
        return stack_classes([as_double(covariance(kernel, X, self.rows)) for kernel in self.kernels])

    def _variances(self, X: FeatureMatrix) -> Array:
        return stack_classes([as_double(variances(kernel, X)) for kernel in self.kernels])


def approximate_posterior(
    kernels: list[Any],
    rows: FeatureMatrix,
    evidence: Array,
    sharpness: float,
    *,
    reference: bool,
    n_components: int | None,
    rng: np.random.Generator,
    **options: Any,
) -> tuple[LaplacePosterior, LaplaceMode]:
    """Find the mode, and return it with the posterior.

    Parameters
    ----------
    kernels : list of kernels
        One kernel, or one for each class.
    rows : array of shape (n, d)
    evidence : array of shape (n, K), bool or float
        The candidate sets, or weights of the candidates; no row has equal weights of all classes.
    sharpness : float
        L, above 0.
    reference : bool
        Whether to use Cholesky factors instead of conjugate gradients.
    n_components : int or None
        Number of landmarks of the Nystroem approximation; None uses the kernels without an approximation.
    rng : Generator
        Random generator of the landmarks.
    **options
        Options of `find_mode`.

    Raises
    ------
    InputError
        If a Gram matrix, or later the covariances of features, would not fit in memory, or a kernel is not positive
        semi-definite or too large.
    """
    n = rows.shape[0]
    features: list[NystroemFeatures] = []
    if n_components is None:
        # In double and in single precision. Tensors use the memory of another device.
        needed = 0 if is_torch_array(rows) else 12 * n**2 * len(kernels)
        check_memory(needed, f"the kernel of {n} labeled rows", 'pass approximation="nystroem"')
    else:
        m, size = min(n_components, n), min(n_components, n) * evidence.shape[1]
        if not is_torch_array(rows):
            check_memory(12 * n * m * len(kernels), f"{m} features of {n} labeled rows", "lower n_components")
            # Predictions need these; the error is better raised before the fit than after it.
            check_memory(
                16 * size**2, f"covariances of {m} features and {evidence.shape[1]} classes", "lower n_components"
            )
        features = landmark_features(kernels, rows[np.sort(rng.permutation(n)[:m])])
    check_variances(kernels, rows)
    jitters = tuple(0.0 if features else _jitter(kernel, rows) for kernel in kernels)
    prior = make_prior(kernels, features, rows, jitters)
    if reference and isinstance(prior, GramPrior):
        check_memory(8 * n**2 * (evidence.shape[1] + 3), f"factors of {n} labeled rows", 'pass solver="cg"')
        with overflow_as_input_error():
            mode = find_mode_cholesky(prior, evidence, sharpness, **options)
    else:
        mode = find_mode(prior, evidence, sharpness, **options)
    weights = prior.weights(mode.coefficients) if isinstance(prior, FeaturePrior) else None
    posterior = LaplacePosterior(
        kernels, rows, features, mode.coefficients, softmax(mode.latents), weights, jitters, sharpness
    )
    return posterior, mode


def landmark_features(kernels: list[Any], landmarks: FeatureMatrix) -> list[NystroemFeatures]:
    """Return the Nystroem features of each kernel; raise if one is not positive semi-definite."""
    for kernel in kernels:
        if not is_psd_by_construction(kernel, landmarks.shape[1]):
            min_jitter(as_double(covariance(kernel, landmarks)))  # raises; the features themselves need no jitter
    return [NystroemFeatures.fit(kernel, landmarks) for kernel in kernels]


def check_variances(kernels: list[Any], rows: FeatureMatrix) -> None:
    """Raise if the prior variance of a row exceeds `MAX_VARIANCE`."""
    by_kernel = (variances(kernel, rows) for kernel in kernels)
    if any(float(array_namespace(values).max(values)) > MAX_VARIANCE for values in by_kernel):
        raise InputError(TOO_LARGE)


def make_prior(
    kernels: list[Any], features: list[NystroemFeatures], rows: FeatureMatrix, jitters: tuple[float, ...]
) -> Prior:
    """Return the prior over some rows."""
    if features:
        return FeaturePrior(stack_classes([nystroem.transform(rows) for nystroem in features]))
    grams = []
    for kernel, jitter in zip(kernels, jitters, strict=True):
        gram = as_double(covariance(kernel, rows))
        if jitter:
            xp = array_namespace(gram)
            gram += jitter * xp.eye(gram.shape[0], dtype=gram.dtype, device=device(gram))
        grams.append(gram)
    return GramPrior(stack_classes(grams))


def _jitter(kernel: Any, rows: FeatureMatrix) -> float:
    """Return the jitter of a kernel's Gram matrix, and warn if it is above 0."""
    if is_psd_by_construction(kernel, rows.shape[1]):
        return 0.0
    gram = as_double(covariance(kernel, rows))
    fraction = min_jitter(gram)
    if fraction:
        warn(
            f"the kernel {kernel} is not quite positive semi-definite: {fraction:g} of its mean variance was added to "
            "the diagonal.",
        )
    return fraction * float(array_namespace(gram).mean(abs(array_namespace(gram).linalg.diagonal(gram))))


def as_double(array: Array) -> Array:
    """Return NumPy arrays in double precision; arrays on other devices, where that may be slow, are unchanged."""
    return array.astype(np.float64, copy=False) if isinstance(array, np.ndarray) else array


def stack_classes(arrays: list[Array]) -> Array:
    """Return the only array, or one for each class along a new first axis."""
    return arrays[0] if len(arrays) == 1 else array_namespace(arrays[0]).stack(arrays, axis=0)


# -- class probabilities ------------------------------------------------------------


def draw_normals(n_mc_samples: int, n_classes: int, rng: np.random.Generator) -> Floats:
    """Return standard normals, (n_mc_samples, K), in antithetic pairs, which cancel odd functions of the latents."""
    half = rng.standard_normal(((n_mc_samples + 1) // 2, n_classes))
    return np.concatenate([half, -half])[:n_mc_samples]


def sample_latents(means: Array, covariances: Array, normals: Array) -> Array:
    """Return samples of N(mean, cov) for each row, (t, n_mc_samples, K); all rows share the normals."""
    xp = array_namespace(means)
    return means[:, None, :] + xp.matmul(normals[None, :, :], symmetric_roots(covariances))


def expected_softmax(means: Array, covariances: Array, normals: Array) -> Array:
    """Return the mean of softmax(f) over f ~ N(mean, cov), (t, K), from means (t, K) and covariances (t, K, K)."""
    xp = array_namespace(means)
    n_mc_samples, n_classes = normals.shape
    n_rows = max(1, MAX_SAMPLES // (n_mc_samples * n_classes))

    def block(start: int) -> Array:
        latents = sample_latents(means[start : start + n_rows, :], covariances[start : start + n_rows, ...], normals)
        proba = softmax(xp.reshape(latents, (-1, n_classes)))
        return xp.mean(xp.reshape(proba, (-1, n_mc_samples, n_classes)), axis=1)

    starts = range(0, means.shape[0], n_rows)
    return xp.concat([xp.zeros((0, n_classes), dtype=means.dtype, device=device(means)), *map(block, starts)], axis=0)


def symmetric_roots(covariances: Array) -> Array:
    """Return the symmetric square roots of covariances, (t, K, K), which are continuous, unlike Cholesky factors.

    Eigenvalues below 0, which are rounding errors, are set to 0.
    """
    xp = array_namespace(covariances)
    squares, rotation = xp.linalg.eigh(covariances)
    roots = xp.sqrt(xp.where(squares > 0, squares, 0.0))
    return (rotation * roots[:, None, :]) @ rotation.mT


def loo_latents(means: Array, covariances: Array, proba: Array, gradient: Array) -> tuple[Array, Array]:
    """Return the posterior of training rows without their own likelihoods.

    Parameters
    ----------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    proba : array of shape (t, K)
        pi at the mode.
    gradient : array of shape (t, K)
        q - pi.

    Returns
    -------
    means : array of shape (t, K)
    covariances : array of shape (t, K, K)
    """
    xp = array_namespace(means)
    identity = xp.eye(proba.shape[1], dtype=proba.dtype, device=device(proba))
    precisions = identity * proba[:, None, :] - proba[:, :, None] * proba[:, None, :]
    cavity = xp.linalg.solve(identity - covariances @ precisions, covariances)
    cavity = (cavity + cavity.mT) / 2.0
    return means - xp.sum(cavity * gradient[:, None, :], axis=2), cavity


def fit_temperature(proba: Array, evidence: Evidence) -> float:
    """Return the temperature at which probabilities, (n, K), maximize the likelihood of the evidence, (n, K)."""
    return 1.0 / temper(as_numpy(safe_log(proba)), evidence)[1]


def apply_temperature(proba: Array, temperature: float) -> Array:
    """Return probabilities raised to the power 1/T, scaled to sum 1."""
    return proba if temperature == 1.0 else softmax(safe_log(proba) / temperature)


def safe_log(proba: Array) -> Array:
    """Return log p, with p at least the smallest normal number."""
    xp = array_namespace(proba)
    smallest = float(xp.finfo(proba.dtype).smallest_normal)
    return xp.log(xp.where(proba > smallest, proba, smallest))
