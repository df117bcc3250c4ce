"""The Gaussian posterior of the latents, kept as what predicts for further rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from oneof.errors import InputError
from oneof.kernels import covariance, variances
from oneof.solvers.laplace.covariance import LatentCovariance
from oneof.solvers.laplace.factors import Factors
from oneof.solvers.laplace.landmarks import NystroemFeatures
from oneof.solvers.laplace.likelihood import Likelihood
from oneof.solvers.laplace.prior import FeaturePrior, GramPrior, Prior, by_class
from oneof.solvers.laplace.weights import WeightCovariance
from oneof.typing import Array, Rows

MOST_NUMBERS = 25_000_000
"""Most numbers of a block of further rows, times the rows of fit and the classes, that are held at a time."""
LEAST_ROWS = 1500
"""Rows of fit below which the published form of the covariances is the cheaper one."""
PROBES = 32
"""Rows on which it is tried whether single precision will do."""


@dataclass(frozen=True)
class LaplacePosterior:
    """q(F | Y) = N(F^, (K^-1 + W)^-1) over the rows of fit, and so over all others."""

    kernels: list[Any]
    """One, shared by all classes, or K of scikit-learn's."""
    rows: Rows
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

    def prior(self) -> Prior:
        """Return the prior over the rows of fit, worked out anew."""
        return prior_of(self.kernels, self.features, self.rows, self.jitters)

    def spread(self, random: np.random.Generator, *, published: bool) -> LatentCovariance | WeightCovariance:
        """Return what covariances of further rows need; it takes longer than the mode.

        Raises
        ------
        InputError
            If the prior variances are so large that nothing of the likelihood is left in the arithmetic.
        """
        try:
            return self._spread(random, published=published)
        except (np.linalg.LinAlgError, RuntimeError) as error:  # torch's error is a RuntimeError
            raise InputError(
                "the latents' covariances cannot be worked out, as the kernel is too large: scale the features, or "
                "lower the kernel's variance."
            ) from error

    def _spread(self, random: np.random.Generator, *, published: bool) -> LatentCovariance | WeightCovariance:
        prior = self.prior()
        if isinstance(prior, FeaturePrior):
            return WeightCovariance.of(prior, self.shares)
        if published or self.rows.shape[0] < LEAST_ROWS:
            return LatentCovariance.published(prior, self.shares)
        found = LatentCovariance.reduced(prior, self.shares, random)
        probes = self.rows[np.sort(random.permutation(self.rows.shape[0])[:PROBES])]
        return found.to_single_precision(self._related(probes), self._variances(probes))

    def means(self, X: Rows) -> Array:
        """Return the means of the latents of further rows, (t, K)."""
        return self._concatenated([by_class(self._related(part), self._weights) for part in self._blocks(X)], ())

    def means_and_covariances(self, X: Rows, spread: LatentCovariance | WeightCovariance) -> tuple[Array, Array]:
        """Return the means, (t, K), and the covariances, (t, K, K), of the latents of further rows."""
        xp = array_namespace(self.coefficients)
        means, covariances = [], []
        for part in self._blocks(X):
            related = self._related(part)
            means.append(by_class(related, self._weights))
            found = spread.of_rows(related, self._variances(part))
            covariances.append(xp.astype(found, self.coefficients.dtype, copy=False))
        return self._concatenated(means, ()), self._concatenated(covariances, (self.coefficients.shape[1],))

    def evidence(self, mask: Array, sharpness: float) -> float:
        """Return the Laplace evidence log q(Y | X) of the rows of fit: Psi - 1/2 log |I + K W|."""
        prior = self.prior()
        latents = prior.product(self.coefficients)
        psi = Likelihood(mask, sharpness).value(latents)
        psi -= 0.5 * float(array_namespace(latents).sum(self.coefficients * latents))
        if isinstance(prior, FeaturePrior):
            return psi - 0.5 * WeightCovariance.of(prior, self.shares).log_det
        return psi - 0.5 * Factors.of(prior, self.shares).log_det

    @property
    def _weights(self) -> Array:
        return self.coefficients if self.weights is None else self.weights

    def _blocks(self, X: Rows) -> Iterator[Rows]:
        size = int(np.clip(MOST_NUMBERS // (self._weights.shape[0] * self._weights.shape[1]), 16, 4096))
        return (X[start : start + size] for start in range(0, X.shape[0], size))

    def _related(self, X: Rows) -> Array:
        """Return covariances to the rows of fit, or features: (t, n), or (K, t, n) where each class has a kernel."""
        if self.features:
            return _stacked([features.of_rows(X) for features in self.features])
        return _stacked([double(covariance(kernel, X, self.rows)) for kernel in self.kernels])

    def _variances(self, X: Rows) -> Array:
        return _stacked([double(variances(kernel, X)) for kernel in self.kernels])

    def _concatenated(self, parts: list[Array], more: tuple[int, ...]) -> Array:
        like = self.coefficients
        xp = array_namespace(like)
        nothing = xp.zeros((0, like.shape[1], *more), dtype=like.dtype, device=device(like))
        return xp.concat([nothing, *parts], axis=0)


def prior_of(kernels: list[Any], features: list[NystroemFeatures], rows: Rows, jitters: tuple[float, ...]) -> Prior:
    """Return the prior over some rows."""
    if features:
        return FeaturePrior.of(_stacked([made.of_rows(rows) for made in features]))
    grams = []
    for kernel, jitter in zip(kernels, jitters, strict=True):
        gram = double(covariance(kernel, rows))
        if jitter:
            xp = array_namespace(gram)
            gram += jitter * xp.eye(gram.shape[0], dtype=gram.dtype, device=device(gram))
        grams.append(gram)
    return GramPrior.of(_stacked(grams))


def double(array: Array) -> Array:
    """Return NumPy arrays in double precision; others are on a device on which that may be slow."""
    return array.astype(np.float64, copy=False) if isinstance(array, np.ndarray) else array


def _stacked(arrays: list[Array]) -> Array:
    """Return the only array, or one for each class along a new first axis."""
    return arrays[0] if len(arrays) == 1 else array_namespace(arrays[0]).stack(arrays, axis=0)
