"""The Gaussian posterior of the latents, kept as what predicts for further rows."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array

from oneof.errors import InputError
from oneof.kernels import covariance, variances
from oneof.solvers.laplace.covariance import LatentCovariance
from oneof.solvers.laplace.factors import Factors
from oneof.solvers.laplace.landmarks import NystroemFeatures
from oneof.solvers.laplace.leave_one_out import cavities
from oneof.solvers.laplace.likelihood import Likelihood
from oneof.solvers.laplace.limits import TOO_LARGE, refused_if_too_large
from oneof.solvers.laplace.prior import FeaturePrior, GramPrior, Prior, by_class
from oneof.solvers.laplace.reduced import ReducedCovariance
from oneof.solvers.laplace.weights import WeightCovariance
from oneof.typing import Array, FeatureMatrix
from oneof.validation import check_memory

Spread = LatentCovariance | ReducedCovariance | WeightCovariance

MOST_NUMBERS = 25_000_000
"""Most numbers of a block of further rows, times the rows of fit and the classes, that are held at a time."""
LEAST_ROWS = 1500
"""Rows of fit below which the published form of the covariances is the cheaper one."""
PROBES = 32
"""Rows on which it is tried whether single precision, or any, will do."""
LARGEST_LOSS = 1e-4
"""Most that single precision may change of a variance."""
LARGEST_ERROR = 1e-3
"""Of a variance below 0, beyond which there is a warning. The softmax sees differences of latents of about 1."""


@dataclass(frozen=True)
class LaplacePosterior:
    """q(F | Y) = N(F^, (K^-1 + W)^-1) over the rows of fit, and so over all others."""

    kernels: list[Any]
    """One, shared by all classes, or K of scikit-learn's."""
    rows: FeatureMatrix
    """(n, d): those of fit."""
    features: list[NystroemFeatures]
    """One for each kernel, or none where the kernels are taken as they are."""
    coefficients: Array
    """A, (n, K), with F^ = K A."""
    shares: Array
    """pi at F^, (n, K)."""
    weights: Array | None
    """Phi^T A, (m, K), where there are features."""
    jitters: tuple[float, ...]
    """What is added to the diagonal of each kernel's Gram matrix."""
    sharpness: float
    """L."""
    published: bool
    """Whether covariances take the published form."""

    def prior(self) -> Prior:
        """Return the prior over the rows of fit, worked out anew."""
        return prior_of(self.kernels, self.features, self.rows, self.jitters)

    def spread(self, random: np.random.Generator) -> Spread:
        """Return what covariances of further rows need; it takes longer than the mode.

        Raises
        ------
        InputError
            If it would not fit in memory, or the prior variances leave nothing of the likelihood in the arithmetic.
        """
        n = self.coefficients.shape[0]
        self._check_memory()
        with refused_if_too_large():
            prior = self.prior()
            if isinstance(prior, FeaturePrior):
                return self._weight_covariance(prior)
            is_cheap = n >= LEAST_ROWS and not self.published
            form = ReducedCovariance.of(prior, self.shares, random) if is_cheap else None
            found = form or LatentCovariance.of(prior, self.shares)
        probes = self.rows[np.sort(random.permutation(n)[:PROBES])]
        related, own = self._related(probes), self._variances(probes)
        lowest = float(array_namespace(own).min(array_namespace(own).linalg.eigvalsh(found.of_rows(related, own))))
        if lowest < -LARGEST_ERROR:
            warnings.warn(
                f"rounding leaves errors of about {-lowest:.2g} in the latents' covariances, as the kernel is large: "
                "scale the features, or lower the kernel's variance.",
                UserWarning,
                stacklevel=2,
            )
        return in_single_precision(found, related, own) if is_cheap else found

    def means(self, X: FeatureMatrix) -> Array:
        """Return the means of the latents of further rows, (t, K)."""
        xp = array_namespace(self.coefficients)
        return xp.concat([by_class(self._related(part), self._weights) for part in self._blocks(X)], axis=0)

    def means_and_covariances(self, X: FeatureMatrix, spread: Spread) -> Iterator[tuple[Array, Array]]:
        """Yield the means, (b, K), and the covariances, (b, K, K), of the latents of blocks of further rows."""
        for part in self._blocks(X):
            related = self._related(part)
            found = spread.of_rows(related, self._variances(part))
            own = array_namespace(self.coefficients).astype(found, self.coefficients.dtype, copy=False)
            yield by_class(related, self._weights), own

    def cavities(self, spread: Spread) -> Iterator[tuple[Array, Array]]:
        """Yield the same for blocks of the rows of fit, each row as if it had been left out.

        What features miss of a row's prior variance its likelihood has not seen: it is added to the cavity.
        """
        prior = self.prior()
        matrix = prior.features if isinstance(prior, FeaturePrior) else prior.gram
        xp = array_namespace(matrix)
        n, n_classes = self.coefficients.shape
        size = self._block_size
        for part in (slice(start, start + size) for start in range(0, n, size)):
            cross = matrix[..., part, :]
            if isinstance(prior, FeaturePrior):
                own = xp.vecdot(cross, cross)
                missed = self._variances(self.rows[part]) - own
            else:
                own = xp.linalg.diagonal(matrix)[..., part]
                missed = 0.0 * own
            means = by_class(cross, self._weights)
            covariances = xp.astype(spread.of_rows(cross, own), means.dtype, copy=False)
            means, covariances = cavities(means, covariances, self.shares[part, :], self.coefficients[part, :])
            added = xp.where(missed > 0, missed, 0.0)
            unit = xp.eye(n_classes, dtype=means.dtype, device=device(means))
            covariances = covariances + unit * (added[:, None, None] if added.ndim == 1 else added.mT[:, :, None])
            yield means, covariances

    def evidence(self, mask: Array) -> float:
        """Return the Laplace evidence log q(Y | X) of the rows of fit: Psi - 1/2 log |I + K W|; raises as `spread`."""
        self._check_memory()
        prior = self.prior()
        latents = prior.product(self.coefficients)
        psi = Likelihood(mask, self.sharpness).psi(self.coefficients, latents)
        with refused_if_too_large():
            if isinstance(prior, FeaturePrior):
                log_det = self._weight_covariance(prior).log_det
            else:
                log_det = Factors.of(prior, self.shares).log_det
        if not np.isfinite(psi - log_det):
            raise InputError(TOO_LARGE)
        return psi - 0.5 * log_det

    def _weight_covariance(self, prior: FeaturePrior) -> WeightCovariance:
        return WeightCovariance.of([prior.of_class(k) for k in range(self.shares.shape[1])], self.shares)

    def _check_memory(self) -> None:
        """Raise if what goes beyond the mode would not fit; what tensors take is the memory of another device."""
        n, n_classes = self.coefficients.shape
        if is_torch_array(self.coefficients):
            return
        if not self.features:
            needed = 8 * n**2 * (n_classes + 3)
            check_memory(needed, f"covariances beside {n} labeled rows", 'pass approximation="nystroem"')

    @property
    def _weights(self) -> Array:
        return self.coefficients if self.weights is None else self.weights

    def _blocks(self, X: FeatureMatrix) -> Iterator[FeatureMatrix]:
        size = self._block_size
        return (X[start : start + size] for start in range(0, X.shape[0], size))

    @property
    def _block_size(self) -> int:
        return int(np.clip(MOST_NUMBERS // (self._weights.shape[0] * self._weights.shape[1]), 16, 4096))

    def _related(self, X: FeatureMatrix) -> Array:
        """Return covariances to the rows of fit, or features: (t, n), or (K, t, n) where each class has a kernel."""
        if self.features:
            return stacked([features.of_rows(X) for features in self.features])
        return stacked([double(covariance(kernel, X, self.rows)) for kernel in self.kernels])

    def _variances(self, X: FeatureMatrix) -> Array:
        return stacked([double(variances(kernel, X)) for kernel in self.kernels])


def prior_of(
    kernels: list[Any], features: list[NystroemFeatures], rows: FeatureMatrix, jitters: tuple[float, ...]
) -> Prior:
    """Return the prior over some rows."""
    if features:
        return FeaturePrior.of(stacked([made.of_rows(rows) for made in features]))
    grams = []
    for kernel, jitter in zip(kernels, jitters, strict=True):
        gram = double(covariance(kernel, rows))
        if jitter:
            xp = array_namespace(gram)
            gram += jitter * xp.eye(gram.shape[0], dtype=gram.dtype, device=device(gram))
        grams.append(gram)
    return GramPrior.of(stacked(grams))


def in_single_precision(spread: Spread, cross: Array, variances: Array) -> Spread:
    """Return a form in single precision, twice as fast, if that is precise enough for the rows that are given."""
    xp = array_namespace(cross)
    single, exact = spread.astype(xp.float32), spread.of_rows(cross, variances)
    lost = xp.astype(single.of_rows(cross, variances), exact.dtype) - exact
    each = xp.arange(exact.shape[1], device=device(exact))
    precise = bool(xp.all(xp.abs(lost[:, each, each]) <= LARGEST_LOSS * exact[:, each, each]))
    return single if precise else spread


def double(array: Array) -> Array:
    """Return NumPy arrays in double precision; others are on a device on which that may be slow."""
    return array.astype(np.float64, copy=False) if isinstance(array, np.ndarray) else array


def stacked(arrays: list[Array]) -> Array:
    """Return the only array, or one for each class along a new first axis."""
    return arrays[0] if len(arrays) == 1 else array_namespace(arrays[0]).stack(arrays, axis=0)
