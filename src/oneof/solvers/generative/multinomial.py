"""Multinomial family: rows of counts or other nonnegative numbers, as in naive Bayes on text."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats

MAX_ROW_TOTAL = 1e12
"""Total of a row above which the rounding error of its log-likelihood is not small compared with 1."""


@dataclass(frozen=True)
class Multinomial:
    """Multinomial family: log p(x | theta_m) = sum_j x_j theta_mj, up to a constant, with log-probabilities theta_m.

    The prior of each component is a Dirichlet distribution with exponents alpha: log p(theta) = alpha sum_mj theta_mj.
    The posterior mode is log((alpha + sum_i c_i r_im x_ij) / sum_j ...).
    """

    X: FeatureMatrix
    """(n, d): float64, dense or CSR."""
    alpha: float
    """> 0."""

    def maximize(self, mass: Floats) -> Floats:
        """Return the logarithms of the smoothed probabilities, (M, d)."""
        counts = self._counts(mass)
        counts += self.alpha
        normalizers = np.log(counts.sum(axis=1)[:, None])
        np.log(counts, out=counts)
        counts -= normalizers
        return counts

    def log_likelihoods(self, parameters: Floats) -> Floats:
        """Return log p(x_i | theta_m), (n, M)."""
        return multinomial_log_likelihoods(self.X, parameters)

    def total_log_likelihood(self, mass: Floats, parameters: Floats) -> float:
        """Return sum_im mass_im log p(x_i | theta_m), from the counts, exp(theta_m) times their total less alpha."""
        counts = np.exp(parameters)
        counts *= (mass.T @ np.asarray(self.X.sum(axis=1)).ravel() + self.alpha * self.X.shape[1])[:, None]
        return float(np.vdot(counts, parameters)) - self.log_prior(parameters)

    def log_prior(self, parameters: Floats) -> float:
        """Return alpha sum_mj theta_mj."""
        return self.alpha * float(parameters.sum())

    def _counts(self, mass: Floats) -> Floats:
        """Return mass^T X, (M, d); with at most as many masses as sparse rows, each row is added to its component."""
        if not sp.issparse(self.X):
            return np.asarray(mass.T @ self.X)
        component, row = np.nonzero(mass.T)
        if len(row) > len(mass):
            return np.ascontiguousarray((self.X.T @ mass).T)
        ordered = self.X[row]  # by components, so that those of a component are a row of numbers to add
        fractions = mass[row, component]
        if (fractions != 1.0).any():
            ordered.data *= np.repeat(fractions, np.diff(ordered.indptr))
        ends = np.cumsum(np.bincount(component, minlength=mass.shape[1]))
        indptr = ordered.indptr[np.concatenate([[0], ends])]
        return sp.csr_array((ordered.data, ordered.indices, indptr), shape=(mass.shape[1], self.X.shape[1])).toarray()


def multinomial_log_likelihoods(X: FeatureMatrix, log_proba: Floats) -> Floats:
    """Return sum_j x_ij theta_mj, (n, M)."""
    return np.asarray(X @ log_proba.T)


def check_counts(X: FeatureMatrix) -> None:
    """Raise if an entry is below 0, or if a row's total is too large to compare its likelihoods in float64.

    Rows of zeros are allowed: they have no information, and their classes have the prior probabilities.
    """
    lowest = X.min() if X.shape[0] else 0.0
    if lowest < 0:
        row, column = _first_negative(X)
        raise InputError(
            "Negative values in data: `X` must be counts or other numbers of at least 0; "
            f"got {X[row, column]:g}. Scale the features with MinMaxScaler(clip=True), since new rows "
            "may be below the training rows, or choose another method.",
            row=row,
            column=column,
        )
    with np.errstate(over="ignore"):
        total = np.asarray(X.sum(axis=1)).ravel()
    too_large = np.flatnonzero(~(total <= MAX_ROW_TOTAL))
    if len(too_large):
        row = int(too_large[0])
        raise InputError(
            f"the total of a row of `X` must be at most {MAX_ROW_TOTAL:g}; got {total[row]:g}. Scale the features.",
            row=row,
        )


def _first_negative(X: FeatureMatrix) -> tuple[int, int]:
    if sp.issparse(X):
        index = int(np.flatnonzero(X.data < 0)[0])
        return int(np.searchsorted(X.indptr, index, side="right")) - 1, int(X.indices[index])
    row, column = np.argwhere(X < 0)[0]
    return int(row), int(column)
