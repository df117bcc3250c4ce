"""Posterior covariances of the latents where the prior covariance is given by features.

With f_k = Phi_k w_k the weights have the posterior covariance (I + H)^-1, H_kl = Phi_k^T diag(W_kl) Phi_l, of size
sum_k m_k. For a row with features phi_k, cov_kl = phi_k^T [(I + H)^-1]_kl phi_l. What the features miss of the row's
prior variance is added to its variances, so that rows far from all landmarks are as uncertain as they should be.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import inverse_and_log_det
from oneof.typing import Array


@dataclass(frozen=True)
class WeightCovariance:
    """(I + H)^-1."""

    inverse: Array
    """(sum_k m_k, sum_k m_k)."""
    parts: list[slice]
    """Of each class, within it."""
    log_det: float
    """log |I + H|, which is log |I + K W|."""

    @classmethod
    def of(cls, features: list[Array], shares: Array) -> "WeightCovariance":
        """Work it out from each class's features, (n, m_k), and the probabilities pi, (n, K)."""
        H = summed_curvature(features, lambda k, j: shares[:, k] * ((1.0 if j == k else 0.0) - shares[:, j]))
        return cls.of_curvature(H, [own.shape[1] for own in features])

    @classmethod
    def of_curvature(cls, H: Array, sizes: list[int]) -> "WeightCovariance":
        """Work it out from H, which is overwritten, and the number of features of each class."""
        xp = array_namespace(H)
        each = xp.arange(H.shape[0], device=device(H))
        H[each, each] += 1.0
        inverse, log_det = inverse_and_log_det(H)
        return cls(inverse, parts_of(sizes), log_det)

    def astype(self, dtype: Any) -> "WeightCovariance":
        """Return itself in another precision."""
        return WeightCovariance(array_namespace(self.inverse).astype(self.inverse, dtype), self.parts, self.log_det)

    def of_rows(self, features: Array, variances: Array) -> Array:
        """Return the covariances of t rows.

        Parameters
        ----------
        features : array of shape (t, m), or (K, t, m)
        variances : array of shape (t,), or (K, t)
            Prior variances.

        Returns
        -------
        array of shape (t, K, K)
        """
        return self.of_each([features if features.ndim == 2 else features[k, ...] for k in self._classes], variances)

    def of_each(self, features: list[Array], variances: Array) -> Array:
        """Return the same for features that may be of another number for each class, (t, m_k)."""
        xp = array_namespace(self.inverse)
        features = [xp.astype(own, self.inverse.dtype, copy=False) for own in features]
        first, n_classes = features[0], len(features)
        covariances = xp.empty((first.shape[0], n_classes, n_classes), dtype=first.dtype, device=device(first))
        for k in self._classes:
            turned = features[k] @ self.inverse[self.parts[k], : self.parts[k].stop]
            for j in range(k + 1):
                covariances[:, k, j] = xp.vecdot(turned[:, self.parts[j]], features[j])
                covariances[:, j, k] = covariances[:, k, j]
            missed = (variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(features[k], features[k])
            covariances[:, k, k] += xp.astype(xp.where(missed > 0, missed, 0.0), first.dtype, copy=False)
        return covariances

    @property
    def _classes(self) -> range:
        return range(len(self.parts))


def summed_curvature(features: list[Array], weight: Callable[[int, int], Array]) -> Array:
    """Return H with the blocks Phi_k^T diag(W_kl) Phi_l, a sum over rows; `weight` returns W_kl, (n,), for l <= k."""
    xp = array_namespace(features[0])
    parts = parts_of([own.shape[1] for own in features])
    size = parts[-1].stop
    H = xp.zeros((size, size), dtype=features[0].dtype, device=device(features[0]))
    for k, part in enumerate(parts):
        for j in range(k + 1):
            block = features[k].mT @ (weight(k, j)[:, None] * features[j])
            H[part, parts[j]] = block
            H[parts[j], part] = block.mT
    return H


def parts_of(sizes: list[int]) -> list[slice]:
    """Return where parts of these sizes lie, one after the other."""
    ends = list(accumulate(sizes, initial=0))
    return [slice(start, end) for start, end in pairwise(ends)]
