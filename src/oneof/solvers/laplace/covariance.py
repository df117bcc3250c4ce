"""Posterior covariances of the latents of further rows, K x K for each row: the published form.

For a row x with k_x the covariances to the n rows of fit,

    cov_kl = [k = l] (k(x, x) - k_x^T E_k k_x) + (E_k k_x)^T (sum_j E_j)^-1 E_l k_x

(Rasmussen & Williams, algorithm 3.4), with E_k = D_k^1/2 (I + A_k)^-1 D_k^1/2, A_k = D_k^1/2 K_k D_k^1/2 and D_k =
diag pi_.k. It has every E_k as a dense matrix.
"""

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from oneof.solvers.laplace.factors import Factors, solve_lower
from oneof.solvers.laplace.prior import GramPrior
from oneof.typing import Array


@dataclass(frozen=True)
class LatentCovariance:
    """What is needed of the rows of fit."""

    E: list[Array]
    """K matrices of shape (n, n)."""
    root: Array
    """Lower triangular: of sum_k E_k."""

    @classmethod
    def of(cls, prior: GramPrior, shares: Array) -> "LatentCovariance":
        """Factorize each class."""
        factors = Factors.of(prior, shares)
        return cls(factors.E, factors.root)

    def astype(self, dtype: Any) -> "LatentCovariance":
        """Return itself in another precision."""
        xp = array_namespace(self.root)
        return LatentCovariance([xp.astype(E, dtype) for E in self.E], xp.astype(self.root, dtype))

    def of_rows(self, cross: Array, variances: Array) -> Array:
        """Return the covariances of t rows.

        Parameters
        ----------
        cross : array of shape (t, n), or (K, t, n)
            Prior covariances to the rows of fit.
        variances : array of shape (t,), or (K, t)
            Prior variances.

        Returns
        -------
        array of shape (t, K, K)
        """
        xp = array_namespace(cross)
        cross = xp.astype(cross, self.root.dtype, copy=False)
        t, n_classes = cross.shape[-2], len(self.E)
        solved = xp.empty((t, n_classes, cross.shape[-1]), dtype=cross.dtype, device=device(cross))
        left = []  # of the variances
        for k, E in enumerate(self.E):
            given = cross if cross.ndim == 2 else cross[k, ...]
            applied = given @ E
            left.append((variances if variances.ndim == 1 else variances[k, :]) - xp.vecdot(applied, given))
            solved[:, k, :] = solve_lower(self.root, applied.mT).mT
        covariances = solved @ solved.mT
        each = xp.arange(n_classes, device=device(cross))
        covariances[:, each, each] += xp.astype(xp.stack(left, axis=1), cross.dtype, copy=False)
        return covariances
