"""What kernel ridge regression predicts for each row when that row is left out, exactly and at once.

The targets P, (n, K), are centered by their column means m, and the rows fit R = P - 1 m^T: they minimize

    sum_i ||f(x_i) - r_i||^2 + lam ||f||^2,    predicted is f(x) + m.

What is left out for row i is its term of this sum. The means m stay those of all rows, and so do the landmarks of the
Nystroem form, among which the row may be. With the smoother H, f = H R, the prediction without the row is

    p_i - (r_i - (H R)_i) / (1 - h_ii),

and for the exact form, where I - H = lam (K + lam I)^-1, it is p_i - (C R)_i / c_ii with C = (K + lam I)^-1.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotri

from oneof.errors import InputError
from oneof.kernels.nystroem import inverse_root
from oneof.typing import Floats, Ints

BLOCK = 4096
"""Rows whose features are worked out at a time."""
LEAST_LEFT = 1e-10
"""Of 1 - h_ii, below which it has hardly a digit left."""
LEAST_SHARE = 10.0 * float(np.finfo(np.float64).eps)
"""Of lam in the largest eigenvalue, n times the largest k(x, x) at most, below which what is left out is rounding."""
NEGATIVE = 1e-8
"""Share of the largest eigenvalue by which one may be below 0, through rounding."""
_LOST = "lam={:.4g} is lost in rounding beside the kernel's values: scale the features, or give a larger lam."


@dataclass(frozen=True)
class Dual:
    """The function that was fitted: x -> k(x, Z) coefficients + means, with Z the rows or the landmarks."""

    coefficients: Floats
    """(n, K) or (m, K)."""
    means: Floats
    """(K,)"""


class LeavesOut(Protocol):
    """Predicts fixed rows without their own targets."""

    def left_out(self, targets: Floats) -> Floats:
        """Return the (n, K) predictions of each row without its own target."""


class Ridge(LeavesOut, Protocol):
    """Ridge regression on fixed rows, for any targets."""

    def fitted(self, targets: Floats) -> Dual:
        """Return the function fitted to all rows."""


@dataclass(frozen=True)
class ExactRidge:
    """Ridge regression by the inverse of the Gram matrix."""

    inverse: Floats
    """(n, n): C = (K + lam I)^-1."""
    diagonal: Floats
    """(n, 1): of C."""

    @classmethod
    def of(cls, gram: Floats, lam: float) -> "ExactRidge":
        """Invert a symmetric Gram matrix in its own memory: a C-ordered (n, n) array of float64 that is given up.

        Raises
        ------
        InputError
            If it is not positive semi-definite, or so large that lam is lost in rounding beside it.
        """
        largest = float(gram.diagonal().max(initial=0.0))
        if not lam > LEAST_SHARE * len(gram) * largest:
            raise InputError(_LOST.format(lam))
        matrix = gram.T  # symmetric, and in Fortran's order as LAPACK wants it
        matrix[np.diag_indices_from(matrix)] += lam
        factor, wrong = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if wrong:
            raise InputError(
                f"the kernel's matrix with lam={lam:.4g} on its diagonal is not positive definite: give a positive "
                "semi-definite kernel, or a larger lam."
            )
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(inverse)  # LAPACK leaves the other triangle as it was
        inverse += np.tril(inverse, -1).T
        return cls(inverse, inverse.diagonal()[:, None].copy())

    def left_out(self, targets: Floats) -> Floats:
        """Return the (n, K) predictions of each row without its own target."""
        return targets - self.fitted(targets).coefficients / self.diagonal

    def influences(self, rows: Ints) -> Floats:
        """Return a_ij, (number of rows, n), with LOO_i(P) = m + sum_j a_ij (P_j - m); a_ii means nothing."""
        return -self.inverse[rows] / self.diagonal[rows]

    def fitted(self, targets: Floats) -> Dual:
        """Return the function fitted to all rows, over all rows."""
        means = targets.mean(axis=0)
        return Dual(self.inverse @ (targets - means), means)


@dataclass(frozen=True)
class NystroemRidge:
    """Ridge regression on features of m landmarks Z: k(x, y) is replaced by k(x, Z) k(Z, Z)^-1 k(Z, y)."""

    directions: Floats
    """D, (n, r), r <= m, with the smoother H = D D^T."""
    back: Floats
    """(m, r): coefficients over the landmarks are back D^T R."""
    left: Floats
    """(n, 1): 1 - h_ii."""

    @classmethod
    def of(cls, cross: Floats, gram: Floats, lam: float) -> "NystroemRidge":
        """Take the kernel of rows and landmarks.

        Parameters
        ----------
        cross : ndarray of shape (n, m)
            k(x_i, z_j).
        gram : ndarray of shape (m, m)
            k(z_i, z_j).
        lam : float
            > 0.

        Raises
        ------
        InputError
            If the landmarks' kernel is not positive semi-definite, or a row fits its own target but for rounding, so
            that nothing is known of it without that.
        """
        values = np.linalg.eigvalsh(gram)
        if values[0] < -NEGATIVE * values[-1]:
            raise InputError(
                "the kernel's matrix of the landmarks is not positive semi-definite: give a kernel that is, or "
                "approximation=None with a larger lam."
            )
        root = inverse_root(gram)
        features = np.empty((len(cross), root.shape[1]), order="F")
        for start in range(0, len(cross), BLOCK):
            features[start : start + BLOCK] = cross[start : start + BLOCK] @ root
        square = features.T @ features
        square[np.diag_indices_from(square)] += lam
        factor, _ = dpotrf(square, lower=1, clean=1)  # positive definite, as lam > 0
        # Phi B Phi^T = D D^T with B = (L L^T)^-1 and D = Phi L^-T.
        directions = dtrsm(1.0, factor, features, side=1, lower=1, trans_a=1, overwrite_b=1)
        back = dtrsm(1.0, factor, root, side=1, lower=1, trans_a=1)
        left = 1.0 - np.einsum("ij,ij->i", directions, directions)
        if not left.min() > LEAST_LEFT:
            raise InputError(_LOST.format(lam))
        return cls(directions, back, left[:, None])

    def left_out(self, targets: Floats) -> Floats:
        """Return the (n, K) predictions of each row without its own target, its landmark kept."""
        residuals = targets - targets.mean(axis=0)
        residuals -= self.directions @ (self.directions.T @ residuals)
        return targets - residuals / self.left

    def fitted(self, targets: Floats) -> Dual:
        """Return the function fitted to all rows, over the landmarks."""
        means = targets.mean(axis=0)
        return Dual(self.back @ (self.directions.T @ (targets - means)), means)
