"""Gaussian family: rows with a normal distribution in each component, and four types of covariances.

Rows are standardized, so that the target of the shrinkage is the identity. The prior has the weight of nu rows. For
each covariance matrix it is log p(Sigma) = -nu/2 (log |Sigma| + tr Sigma^-1) up to a constant. It is inverse Wishart,
or inverse gamma for a variance, with the mode at the identity. With the scatter S_m = sum_i c_i r_im (x_i - mu_m)(x_i
- mu_m)^T and N_m = sum_i c_i r_im the posterior mode is then

    full       Sigma_m = (S_m + nu I) / (N_m + nu)
    tied       Sigma = (sum_m S_m + nu I) / (sum_m N_m + nu)
    diagonal   the diagonal of the full one
    spherical  the mean of that diagonal.

So no eigenvalue is below nu / (N + nu).
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from scipy.linalg import solve_triangular

from oneof.errors import InputError
from oneof.typing import Floats, Mask
from oneof.validation import check_memory

CovarianceType = Literal["full", "tied", "diagonal", "spherical"]
COVARIANCE_TYPES: tuple[CovarianceType, ...] = ("full", "tied", "diagonal", "spherical")

VARIANCE_RTOL = 1e-12
"""Fraction of the target below which the conditional variance of a feature is treated as rounding."""

MIN_MASS = 1e-200
"""Mass below which the mean of a component is numerically undefined, and irrelevant."""


@dataclass(frozen=True)
class Covariances:
    """Covariances of M components, with their whitening matrices for densities.

    Attributes
    ----------
    covariance_type : {"full", "tied", "diagonal", "spherical"}
    values : ndarray
        (M, d, d) full, (1, d, d) tied, (M, d) diagonal, (M, 1) spherical.
    whiteners : ndarray of the same shape
        Full, tied: W with W W^T = Sigma^-1, upper triangular. Otherwise the inverse standard deviations.
    """

    covariance_type: CovarianceType
    values: Floats
    whiteners: Floats

    def log_densities(self, X: Floats, means: Floats) -> Floats:
        """Return log N(x_i; mu_m, Sigma_m), (n, M)."""
        d = X.shape[1]
        if self.covariance_type == "tied":  # one rotation for all components
            X, means = X @ self.whiteners[0], means @ self.whiteners[0]
        squares = np.stack([self._squares(X, mean, m) for m, mean in enumerate(means)], axis=1)
        return self._log_determinants(d) - 0.5 * (d * np.log(2 * np.pi) + squares)

    def total_log_density(self, X: Floats, means: Floats, mass: Floats) -> float:
        """Return sum_im mass_im log N(x_i; mu_m, Sigma_m), from the rows with a mass above 0 in each component."""
        d, total = X.shape[1], mass.sum(axis=0)
        if self.covariance_type == "tied":
            X, means = X @ self.whiteners[0], means @ self.whiteners[0]
        squares = 0.0
        for m, mean in enumerate(means):
            rows = np.flatnonzero(mass[:, m])
            squares += float(mass[rows, m] @ self._squares(X[rows], mean, m))
        return float((self._log_determinants(d) * total).sum() - 0.5 * (d * np.log(2 * np.pi) * total.sum() + squares))

    def _squares(self, X: Floats, mean: Floats, m: int) -> Floats:
        """Return the squared norms of the whitened residuals of component m; with "tied", X and mean are whitened."""
        residual = X - mean
        if self.covariance_type == "full":
            residual = residual @ self.whiteners[m]
        elif self.covariance_type != "tied":
            residual *= self.whiteners[m]
        return np.asarray(np.einsum("ij,ij->i", residual, residual))

    def log_prior(self, d: int, shrinkage: float) -> float:
        """Return -nu/2 sum (log |Sigma| + tr Sigma^-1) over the matrices."""
        squares = self.whiteners**2
        if self.covariance_type in ("full", "tied"):
            traces = squares.sum(axis=(1, 2))
        else:
            traces = np.broadcast_to(squares, (len(squares), d)).sum(axis=1)
        return shrinkage * float((self._log_determinants(d) - 0.5 * traces).sum())

    def _log_determinants(self, d: int) -> Floats:
        """Return log |Sigma|^-1/2, (M,), or (1,) if tied."""
        if self.covariance_type in ("full", "tied"):
            scales = np.einsum("mjj->mj", self.whiteners)
        else:
            scales = np.broadcast_to(self.whiteners, (len(self.whiteners), d))
        return np.log(scales).sum(axis=1)


def estimate_covariances(
    covariance_type: CovarianceType, X: Floats, mass: Floats, means: Floats, shrinkage: float
) -> Covariances:
    """Return the posterior mode of the covariances.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diagonal", "spherical"}
    X : ndarray of shape (n, d)
    mass : ndarray of shape (n, M)
        c_i r_im.
    means : ndarray of shape (M, d)
    shrinkage : float
        nu, at least 0.

    Raises
    ------
    InputError
        If a covariance is singular, which is possible without shrinkage.
    """
    total = mass.sum(axis=0)
    if covariance_type in ("full", "tied"):
        n_bytes = 24.0 * X.shape[1] ** 2 * (len(means) if covariance_type == "full" else 1)
        check_memory(n_bytes, "the covariances", 'set covariance="diagonal"')
        if covariance_type == "tied":  # the scatter of all rows less that of the means: one product for all components
            scatter = ((X.T * mass.sum(axis=1)) @ X - (means.T * total) @ means)[None]
            total = total.sum(keepdims=True)
        else:
            scatter = np.empty((len(means), X.shape[1], X.shape[1]))
            for m, mean in enumerate(means):
                rows = np.flatnonzero(mass[:, m])
                residual = X[rows] - mean
                residual *= np.sqrt(mass[rows, m])[:, None]
                np.matmul(residual.T, residual, out=scatter[m])
        scatter[:, np.arange(X.shape[1]), np.arange(X.shape[1])] += shrinkage
        return _factorize(covariance_type, scatter, total + shrinkage)
    squares = np.empty_like(means)
    for m, mean in enumerate(means):
        rows = np.flatnonzero(mass[:, m])
        squares[m] = mass[rows, m] @ (X[rows] - mean) ** 2
    if covariance_type == "spherical" and X.shape[1]:
        squares = squares.mean(axis=1, keepdims=True)
    squares += shrinkage
    values = squares / _check_positive_mass(covariance_type, total + shrinkage)[:, None]
    _check_singular(covariance_type, values)
    return Covariances(covariance_type, values, 1.0 / np.sqrt(values))


@dataclass(frozen=True)
class Standardizer:
    """Standardization of the features that are not constant.

    Attributes
    ----------
    is_variable : ndarray of shape (d,), bool
        True for features that are not constant in the rows of positive weight. The others do not separate classes.
    center : ndarray of shape (d,)
        Weighted means.
    scale : ndarray of shape (d',)
        Standard deviations of the variable features, or their root mean square if one common scale is requested. Its
        square is the target of the shrinkage.
    """

    is_variable: Mask
    center: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Floats, weight: Floats, *, common_scale: bool) -> "Standardizer":
        """Return the standardization of weighted rows; `common_scale` requests one scale for all features."""
        used = weight > 0
        fraction = weight[used] / weight[used].sum()
        rows = X[used]
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            # Relative to the lowest value, since a weighted mean of equal numbers may differ from that number.
            is_variable = highest - lowest > 4 * np.finfo(np.float64).eps * np.maximum(np.abs(lowest), np.abs(highest))
            center = lowest + fraction @ (rows - lowest)
            variance = np.where(is_variable, fraction @ (rows - center) ** 2, 0.0)
        if not np.isfinite(variance).all():
            raise InputError("the variances overflow float64. Scale the features, for example with StandardScaler.")
        if (variance[is_variable] < np.finfo(np.float64).tiny).any():
            raise InputError("the variances underflow float64. Scale the features, for example with StandardScaler.")
        scale = np.sqrt(variance)
        if common_scale and is_variable.any():
            scale = np.full(len(scale), np.sqrt(variance[is_variable].mean()))
        return cls(is_variable, center, scale[is_variable])

    def transform(self, X: Floats) -> Floats:
        """Return the standardized variable features of the rows, (n, d')."""
        return np.asarray((X[:, self.is_variable] - self.center[self.is_variable]) / self.scale)


@dataclass(frozen=True)
class GaussianParameters:
    """Means, (M, d'), and covariances, of standardized rows."""

    standardizer: Standardizer
    means: Floats
    covariances: Covariances

    def feature_means(self) -> Floats:
        """Return the means in the units of X, (M, d), including those of the constant features."""
        means = np.tile(self.standardizer.center, (len(self.means), 1))
        means[:, self.standardizer.is_variable] += self.standardizer.scale * self.means
        return means

    def feature_covariances(self) -> Floats:
        """Return the covariances in the units of X and the shapes of scikit-learn, with 0 for constant features."""
        used, scale, values = self.standardizer.is_variable, self.standardizer.scale, self.covariances.values
        if self.covariances.covariance_type == "spherical":
            return values[:, 0] * scale[0] ** 2 if used.any() else np.zeros(len(values))
        if self.covariances.covariance_type == "diagonal":
            variances = np.zeros((len(values), len(used)))
            variances[:, used] = values * scale**2
            return variances
        matrices = np.zeros((len(values), len(used), len(used)))
        columns = np.flatnonzero(used)
        matrices[:, columns[:, None], columns] = values * np.outer(scale, scale)
        return matrices[0] if self.covariances.covariance_type == "tied" else matrices


@dataclass(frozen=True)
class Gaussian:
    """Gaussian family: p(x | theta_m) = N(x; mu_m, Sigma_m), for standardized rows.

    The prior of the means is flat; the module docstring has that of the covariances.
    """

    rows: Floats
    """(n, d')."""
    standardizer: Standardizer
    covariance_type: CovarianceType
    shrinkage: float
    """nu, at least 0."""

    @classmethod
    def from_rows(cls, X: Floats, weight: Floats, *, covariance_type: CovarianceType, shrinkage: float | None) -> Self:
        """Return the family over rows of weights c; the default shrinkage is d' for "full" and "tied", otherwise 1."""
        standardizer = Standardizer.fit(X, weight, common_scale=covariance_type == "spherical")
        if shrinkage is None:
            shrinkage = float(max(len(standardizer.scale), 1)) if covariance_type in ("full", "tied") else 1.0
        return cls(standardizer.transform(X), standardizer, covariance_type, shrinkage)

    def maximize(self, mass: Floats) -> GaussianParameters:
        """Return weighted means and the covariances about them; a component without mass has the mean of all rows."""
        total = mass.sum(axis=0)[:, None]
        means = np.where(total > MIN_MASS, mass.T @ self.rows / np.where(total > MIN_MASS, total, 1.0), 0.0)
        covariances = estimate_covariances(self.covariance_type, self.rows, mass, means, self.shrinkage)
        return GaussianParameters(self.standardizer, means, covariances)

    def log_likelihoods(self, parameters: GaussianParameters) -> Floats:
        """Return log p(x_i | theta_m), (n, M), in the units of X."""
        return gaussian_log_likelihoods(self.rows, parameters)

    @np.errstate(over="ignore")  # the caller checks for overflow
    def total_log_likelihood(self, mass: Floats, parameters: GaussianParameters) -> float:
        """Return sum_im mass_im log p(x_i | theta_m), in the units of X."""
        density = parameters.covariances.total_log_density(self.rows, parameters.means, mass)
        return density - float(mass.sum() * np.log(parameters.standardizer.scale).sum())

    def log_prior(self, parameters: GaussianParameters) -> float:
        """Return -nu/2 sum (log |T^-1 Sigma| + tr T Sigma^-1)."""
        return parameters.covariances.log_prior(self.rows.shape[1], self.shrinkage)


@np.errstate(over="ignore")  # the caller checks for overflow
def gaussian_log_likelihoods(rows: Floats, parameters: GaussianParameters) -> Floats:
    """Return log N(x_i; mu_m, Sigma_m), (n, M), as densities of X, from standardized rows."""
    densities = parameters.covariances.log_densities(rows, parameters.means)
    return np.asarray(densities - np.log(parameters.standardizer.scale).sum())


def _factorize(covariance_type: CovarianceType, scatter: Floats, total: Floats) -> Covariances:
    values = scatter / _check_positive_mass(covariance_type, total)[:, None, None]
    if not np.isfinite(values).all():
        raise InputError("the covariances overflow float64. Scale the features, for example with StandardScaler.")
    whiteners = np.empty_like(values)
    for m, value in enumerate(values):
        try:
            factor = np.linalg.cholesky(value)
        except np.linalg.LinAlgError:
            raise _singular_error(covariance_type, m) from None
        _check_singular(covariance_type, np.diag(factor)[None] ** 2, m)
        whiteners[m] = solve_triangular(factor, np.eye(len(value)), lower=True).T
    return Covariances(covariance_type, values, whiteners)


def _check_positive_mass(covariance_type: CovarianceType, total: Floats) -> Floats:
    empty = np.flatnonzero(total <= 0)
    if len(empty):
        raise _singular_error(covariance_type, int(empty[0]))
    return total


def _check_singular(covariance_type: CovarianceType, variances: Floats, first: int = 0) -> None:
    low = np.flatnonzero((variances < VARIANCE_RTOL).any(axis=1))
    if len(low):
        raise _singular_error(covariance_type, first + int(low[0]))


def _singular_error(covariance_type: CovarianceType, m: int) -> InputError:
    owner = "common to all classes" if covariance_type == "tied" else f"of component {m}"
    return InputError(
        f"the covariance {owner} (numbered from 0, class by class in the order of `classes_`) is singular, since it "
        "has too few rows. Increase `shrinkage`, or choose a simpler `covariance`."
    )
