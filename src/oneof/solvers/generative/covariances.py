"""Four forms of the covariances of Gaussian components: mode given masses, log densities, prior.

Rows are in units in which the target of the shrinkage is the identity. Of nu rows' worth of it the prior is, for each
matrix of covariances, log p(Sigma) = -nu/2 (log |Sigma| + tr Sigma^-1) but for a constant: inverse Wishart's, or for a
variance inverse gamma's, with the mode at the identity. With the scatter S_m = sum_i c_i r_im (x_i - mu_m)(...)^T and
N_m = sum_i c_i r_im the mode is then

    full       Sigma_m = (S_m + nu I) / (N_m + nu)
    tied       Sigma = (sum_m S_m + nu I) / (sum_m N_m + nu)
    diagonal   the diagonal of the full one
    spherical  the mean of that diagonal.

So no eigenvalue falls below nu / (N + nu).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.linalg import solve_triangular

from oneof.errors import InputError
from oneof.typing import Floats
from oneof.validation import check_memory

Form = Literal["full", "tied", "diagonal", "spherical"]
FORMS: tuple[Form, ...] = ("full", "tied", "diagonal", "spherical")

SMALLEST = 1e-12
"""Below this share of the target, the variance that a feature has apart from the others is rounding."""


@dataclass(frozen=True)
class Covariances:
    """The covariances of M components, and what densities need of them.

    Attributes
    ----------
    form : Form
    values : ndarray
        (M, d, d) full, (1, d, d) tied, (M, d) diagonal, (M, 1) spherical.
    whiteners : ndarray of the same shape
        Full, tied: W with W W^T = Sigma^-1, upper triangular. Else one over the standard deviations.
    """

    form: Form
    values: Floats
    whiteners: Floats

    def log_densities(self, X: Floats, means: Floats) -> Floats:
        """Return log N(x_i; mu_m, Sigma_m), (n, M)."""
        d = X.shape[1]
        if self.form == "tied":  # one rotation for all components
            X, means = X @ self.whiteners[0], means @ self.whiteners[0]
        squares = np.empty((len(X), len(means)))
        for m, mean in enumerate(means):
            apart = X - mean
            if self.form == "full":
                apart = apart @ self.whiteners[m]
            elif self.form != "tied":
                apart *= self.whiteners[m]
            squares[:, m] = np.einsum("ij,ij->i", apart, apart)
        return self._log_determinants(d) - 0.5 * (d * np.log(2 * np.pi) + squares)

    def log_prior(self, d: int, shrinkage: float) -> float:
        """Return -nu/2 sum (log |Sigma| + tr Sigma^-1) over the matrices."""
        squares = self.whiteners**2
        if self.form in ("full", "tied"):
            traces = squares.sum(axis=(1, 2))
        else:
            traces = np.broadcast_to(squares, (len(squares), d)).sum(axis=1)
        return shrinkage * float((self._log_determinants(d) - 0.5 * traces).sum())

    def _log_determinants(self, d: int) -> Floats:
        """Return log |Sigma|^-1/2, (M,), or (1,) of the tied form."""
        if self.form in ("full", "tied"):
            scales = np.einsum("mjj->mj", self.whiteners)
        else:
            scales = np.broadcast_to(self.whiteners, (len(self.whiteners), d))
        return np.log(scales).sum(axis=1)


def estimate(form: Form, X: Floats, mass: Floats, means: Floats, shrinkage: float) -> Covariances:
    """Return the mode.

    Parameters
    ----------
    form : Form
    X : ndarray of shape (n, d)
    mass : ndarray of shape (n, M)
        c_i r_im.
    means : ndarray of shape (M, d)
    shrinkage : float
        nu, at least 0.

    Raises
    ------
    InputError
        If a class collapses, which without shrinkage it may.
    """
    total = mass.sum(axis=0)
    if form in ("full", "tied"):
        n_bytes = 24.0 * X.shape[1] ** 2 * (len(means) if form == "full" else 1)
        check_memory(n_bytes, "the covariances", 'take covariance="diagonal"')
        if form == "tied":  # what all rows scatter, less what the means do: one product for all components
            scatter = ((X.T * mass.sum(axis=1)) @ X - (means.T * total) @ means)[None]
            total = total.sum(keepdims=True)
        else:
            scatter = np.stack([((X - mean).T * mass[:, m]) @ (X - mean) for m, mean in enumerate(means)])
        scatter += shrinkage * np.eye(X.shape[1])
        return _with_matrices(form, scatter, total + shrinkage)
    squares = np.stack([mass[:, m] @ (X - mean) ** 2 for m, mean in enumerate(means)])
    if form == "spherical" and X.shape[1]:
        squares = squares.mean(axis=1, keepdims=True)
    squares += shrinkage
    values = squares / _above_zero(form, total + shrinkage)[:, None]
    _check_collapse(form, values)
    return Covariances(form, values, 1.0 / np.sqrt(values))


def _with_matrices(form: Form, scatter: Floats, total: Floats) -> Covariances:
    values = scatter / _above_zero(form, total)[:, None, None]
    if not np.isfinite(values).all():
        raise InputError("the covariances overflow: scale the features.")
    whiteners = np.empty_like(values)
    for m, value in enumerate(values):
        try:
            factor = np.linalg.cholesky(value)
        except np.linalg.LinAlgError:
            raise _collapsed(form, m) from None
        _check_collapse(form, np.diag(factor)[None] ** 2, m)
        whiteners[m] = solve_triangular(factor, np.eye(len(value)), lower=True).T
    return Covariances(form, values, whiteners)


def _above_zero(form: Form, total: Floats) -> Floats:
    empty = np.flatnonzero(total <= 0)
    if len(empty):
        raise _collapsed(form, int(empty[0]))
    return total


def _check_collapse(form: Form, variances: Floats, first: int = 0) -> None:
    low = np.flatnonzero((variances < SMALLEST).any(axis=1))
    if len(low):
        raise _collapsed(form, first + int(low[0]))


def _collapsed(form: Form, m: int) -> InputError:
    whose = "common to all classes" if form == "tied" else f"of component {m}"
    return InputError(
        f"the covariance {whose} (they are numbered from 0, class by class in the order of classes_) is singular, "
        "since it has too few rows: raise shrinkage, or take a simpler covariance."
    )
