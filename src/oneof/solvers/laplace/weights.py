"""Posterior covariances of the latents where the prior covariance is given by features.

With f_k = Phi w_k the weights have the posterior covariance (I + H)^-1, H_kl = Phi^T diag(W_kl) Phi, of size m K. For a
row with features phi, cov_kl = phi^T [(I + H)^-1]_kl phi. What the features miss of the row's prior variance is added
to its variances, so that rows far from all landmarks are as uncertain as they should be.
"""

from dataclasses import dataclass

from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import inverse_and_log_det
from oneof.solvers.laplace.prior import FeaturePrior
from oneof.typing import Array


@dataclass(frozen=True)
class WeightCovariance:
    """(I + H)^-1."""

    blocks: Array
    """(K, m, K, m)."""
    log_det: float
    """log |I + H|, which is log |I + K W|."""

    @classmethod
    def of(cls, prior: FeaturePrior, shares: Array) -> "WeightCovariance":
        """Work it out from the probabilities pi, (n, K)."""
        xp = array_namespace(shares)
        n_classes = shares.shape[1]
        m = prior.features.shape[-1]
        H = xp.zeros((n_classes, m, n_classes, m), dtype=shares.dtype, device=device(shares))
        for k in range(n_classes):
            for j in range(k + 1):
                weight = shares[:, k] * ((1.0 if j == k else 0.0) - shares[:, j])
                block = prior.of_class(k).mT @ (weight[:, None] * prior.of_class(j))
                H[k, :, j, :] = block
                H[j, :, k, :] = block.mT
        H = xp.reshape(H, (n_classes * m, n_classes * m))
        H += xp.eye(n_classes * m, dtype=H.dtype, device=device(H))
        inverse, log_det = inverse_and_log_det(H)
        return cls(xp.reshape(inverse, (n_classes, m, n_classes, m)), log_det)

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
        xp = array_namespace(features)
        n_classes = self.blocks.shape[0]
        given = [features if features.ndim == 2 else features[k, ...] for k in range(n_classes)]
        first = given[0]
        covariances = xp.empty((first.shape[0], n_classes, n_classes), dtype=first.dtype, device=device(first))
        for k in range(n_classes):
            for j in range(k + 1):
                covariances[:, k, j] = xp.vecdot(given[k] @ self.blocks[k, :, j, :], given[j])
                covariances[:, j, k] = covariances[:, k, j]
            missed = (variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(given[k], given[k])
            covariances[:, k, k] += xp.where(missed > 0, missed, 0.0)
        return covariances
