"""The multinomial family: rows of counts, or of other numbers of at least 0, as naive Bayes sees text."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from oneof.errors import InputError
from oneof.typing import FeatureMatrix, Floats

MOST_WORDS = 1e12
"""Beyond this total of a row, rounding in its log likelihood is no longer small against 1."""


@dataclass(frozen=True)
class Multinomial:
    """log p(x | theta_m) = sum_j x_j theta_mj, but for the multinomial coefficient, with theta_m logarithms of shares.

    The prior of each component is Dirichlet's with exponents alpha: log p(theta) = alpha sum_mj theta_mj, of which
    log((alpha + sum_i c_i r_im x_ij) / sum_j ...) is the mode.
    """

    X: FeatureMatrix
    """(n, d): float64, dense or CSR."""
    alpha: float
    """> 0."""

    def maximize(self, mass: Floats) -> Floats:
        """Return the logarithms of the smoothed shares, (M, d)."""
        smoothed = np.asarray(self.X.T @ mass).T + self.alpha
        return np.log(smoothed) - np.log(smoothed.sum(axis=1)[:, None])

    def log_likelihoods(self, parameters: Floats) -> Floats:
        """Return log p(x_i | theta_m), (n, M)."""
        return multinomial_log_likelihoods(self.X, parameters)

    def log_prior(self, parameters: Floats) -> float:
        """Return alpha sum_mj theta_mj."""
        return self.alpha * float(parameters.sum())


def multinomial_log_likelihoods(X: FeatureMatrix, log_shares: Floats) -> Floats:
    """Return sum_j x_ij theta_mj, (n, M)."""
    return np.asarray(X @ log_shares.T)


def check_counts(X: FeatureMatrix) -> None:
    """Raise at an entry below 0, or a row so long that the arithmetic could not compare its likelihoods.

    Rows of zeros are allowed: they say nothing, and classes have their prior shares there.
    """
    lowest = X.min() if X.shape[0] else 0.0
    if lowest < 0:
        row, column = _first_negative(X)
        raise InputError(
            f"Negative values in data: row {row}, column {column} holds {X[row, column]:g}, and a multinomial takes "
            "counts or other numbers of at least 0; scale the features with MinMaxScaler, or take another method."
        )
    with np.errstate(over="ignore"):
        total = np.asarray(X.sum(axis=1)).ravel()
    long = np.flatnonzero(~(total <= MOST_WORDS))
    if len(long):
        raise InputError(
            f"row {long[0]} has a total of {total[long[0]]:g}, beyond {MOST_WORDS:g}, where likelihoods drown in "
            "rounding: scale the features."
        )


def _first_negative(X: FeatureMatrix) -> tuple[int, int]:
    if sp.issparse(X):
        place = int(np.flatnonzero(X.data < 0)[0])
        return int(np.searchsorted(X.indptr, place, side="right")) - 1, int(X.indices[place])
    row, column = np.argwhere(X < 0)[0]
    return int(row), int(column)
