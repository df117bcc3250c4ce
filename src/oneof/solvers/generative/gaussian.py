"""The Gaussian family: rows that are normally distributed in each component."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from oneof.errors import InputError
from oneof.solvers.generative.covariances import Covariances, Form, estimate
from oneof.typing import Floats, Mask

NO_MASS = 1e-200
"""A component of less mass has no mean that could be told from rounding, and none that matters."""


@dataclass(frozen=True)
class Units:
    """Features in units of their spread, without those that are constant.

    Attributes
    ----------
    varies : ndarray of shape (d,), bool
        The features that are not constant in the rows that count. The others tell no class from another.
    center : ndarray of shape (d,)
        Weighted means.
    spread : ndarray of shape (d',)
        Of the features that vary: their standard deviations, or the root mean square of these where directions of
        space are to stay alike. The shrinkage's target, squared.
    """

    varies: Mask
    center: Floats
    spread: Floats

    @classmethod
    def of(cls, X: Floats, weight: Floats, *, alike: bool) -> "Units":
        """Return the units of rows that count with some weight; `alike` asks for one spread for all features."""
        counted = weight > 0
        share = weight[counted] / weight[counted].sum()
        rows = X[counted]
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            # From the lowest value on, for a weighted mean of equal numbers need not be that number.
            varies = highest - lowest > 4 * np.finfo(np.float64).eps * np.maximum(np.abs(lowest), np.abs(highest))
            center = lowest + share @ (rows - lowest)
            variance = np.where(varies, share @ (rows - center) ** 2, 0.0)
        if not np.isfinite(variance).all():
            raise InputError("the variances overflow: scale the features, for example with StandardScaler.")
        if (variance[varies] < np.finfo(np.float64).tiny).any():
            raise InputError("the variances underflow: scale the features, for example with StandardScaler.")
        spread = np.sqrt(variance)
        if alike and varies.any():
            spread = np.full(len(spread), np.sqrt(variance[varies].mean()))
        return cls(varies, center, spread[varies])

    def read(self, X: Floats) -> Floats:
        """Return the rows in these units, (n, d')."""
        return np.asarray((X[:, self.varies] - self.center[self.varies]) / self.spread)


@dataclass(frozen=True)
class GaussianParameters:
    """Means, (M, d'), and covariances, in the units of the rows of fit."""

    units: Units
    means: Floats
    covariances: Covariances

    def means_of_features(self) -> Floats:
        """Return the means in the units of X, (M, d); constant features have theirs."""
        means = np.tile(self.units.center, (len(self.means), 1))
        means[:, self.units.varies] += self.units.spread * self.means
        return means

    def covariances_of_features(self) -> Floats:
        """Return the covariances in the units of X, with 0 for constant features: in the shapes of scikit-learn."""
        varies, spread, values = self.units.varies, self.units.spread, self.covariances.values
        if self.covariances.form == "spherical":
            return values[:, 0] * spread[0] ** 2 if varies.any() else np.zeros(len(values))
        if self.covariances.form == "diagonal":
            variances = np.zeros((len(values), len(varies)))
            variances[:, varies] = values * spread**2
            return variances
        matrices = np.zeros((len(values), len(varies), len(varies)))
        matrices[:, np.outer(varies, varies)] = (values * np.outer(spread, spread)).reshape(len(values), -1)
        return matrices[0] if self.covariances.form == "tied" else matrices


@dataclass(frozen=True)
class Gaussian:
    """p(x | theta_m) = N(x; mu_m, Sigma_m), for rows in units in which the target of the shrinkage is the identity.

    The prior of the means is flat, that of the covariances in `covariances`.
    """

    rows: Floats
    """(n, d')."""
    units: Units
    form: Form
    shrinkage: float
    """nu, at least 0."""

    @classmethod
    def of(cls, X: Floats, weight: Floats, *, form: Form, shrinkage: float | None) -> Self:
        """Take rows of weights c; without a shrinkage it is d' where covariances are matrices, and 1 elsewhere."""
        units = Units.of(X, weight, alike=form == "spherical")
        if shrinkage is None:
            shrinkage = float(max(len(units.spread), 1)) if form in ("full", "tied") else 1.0
        return cls(units.read(X), units, form, shrinkage)

    def maximize(self, mass: Floats) -> GaussianParameters:
        """Return weighted means and the covariances about them; the mean of all where there is no mass."""
        total = mass.sum(axis=0)[:, None]
        means = np.where(total > NO_MASS, mass.T @ self.rows / np.where(total > NO_MASS, total, 1.0), 0.0)
        return GaussianParameters(self.units, means, estimate(self.form, self.rows, mass, means, self.shrinkage))

    def log_likelihoods(self, parameters: GaussianParameters) -> Floats:
        """Return log p(x_i | theta_m), (n, M), in the units of X."""
        return gaussian_log_likelihoods(self.rows, parameters)

    def log_prior(self, parameters: GaussianParameters) -> float:
        """Return -nu/2 sum (log |T^-1 Sigma| + tr T Sigma^-1)."""
        return parameters.covariances.log_prior(self.rows.shape[1], self.shrinkage)


@np.errstate(over="ignore")  # the caller looks for it
def gaussian_log_likelihoods(rows: Floats, parameters: GaussianParameters) -> Floats:
    """Return log N(x_i; mu_m, Sigma_m), (n, M), as densities of X, from rows that `Units.read` has read."""
    densities = parameters.covariances.log_densities(rows, parameters.means)
    return np.asarray(densities - np.log(parameters.units.spread).sum())
