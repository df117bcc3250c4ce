"""Exact leave-one-out predictions of kernel ridge regression, for any targets, and the rows that influence them.

The targets P, (n, K), are centered by their column means m, and the rows fit R = P - 1 m^T: they minimize

    sum_i ||f(x_i) - r_i||^2 + lam ||f||^2,    and the prediction is f(x) + m.

The leave-one-out prediction of row i omits its term of this sum. The means m remain those of all rows, and so do the
landmarks of the Nystroem form, which may include the row. With the smoother H, f = H R, the prediction is

    p_i - (r_i - (H R)_i) / (1 - h_ii),

and for the exact form, where I - H = lam (K + lam I)^-1, it is p_i - (C R)_i / c_ii with C = (K + lam I)^-1.

It is linear in the labels of the other rows, F_i = m + sum_{j != i} a_ij (P_j - m). So row j contributes
a_ij ((P_jk - m_k) - (P_jl - m_l)) to the margin F_ik - F_il between a row's label k and its runner-up l. The margin is
negative if the label is not the one with the best leave-one-out score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf, dpotri

from oneof.errors import InputError
from oneof.kernels.nystroem import inverse_root
from oneof.typing import Floats, Ints, Mask

BLOCK_ROWS = 4096
"""Number of rows whose Nystroem features are computed at a time."""
LEVERAGE_TOL = 1e-10
"""Minimum of 1 - h_ii; smaller values have almost no correct digit."""
LAM_RTOL = 10.0 * float(np.finfo(np.float64).eps)
"""Minimum of lam relative to n max_x k(x, x), a bound of the largest eigenvalue; below it, rounding errors dominate."""
EIGENVALUE_RTOL = 1e-8
"""Largest negative eigenvalue, relative to the largest eigenvalue, that counts as a rounding error."""
N_INFLUENTIAL = 5
"""Number of influential rows reported for each row."""
INFLUENCE_BLOCK = 512
"""Number of rows whose influences are computed at a time."""
_LAM_TOO_SMALL = (
    "`lam` must be larger relative to the kernel values; got {:.4g}, which is lost in rounding. Scale the features, or "
    "pass a larger lam."
)


@dataclass(frozen=True)
class DualCoefficients:
    """The fitted function x -> k(x, Z) coefficients + means, with Z the rows or the landmarks."""

    coefficients: Floats
    """(n, K) or (m, K)."""
    means: Floats
    """(K,)"""


class LOOPredictor(Protocol):
    """Predictor of fixed rows, each without its own target."""

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""


class Ridge(LOOPredictor, Protocol):
    """Ridge regression on fixed rows, for any targets."""

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows."""


@dataclass(frozen=True)
class ExactRidge:
    """Ridge regression by the inverse of the Gram matrix."""

    inverse: Floats
    """(n, n): C = (K + lam I)^-1."""
    diagonal: Floats
    """(n, 1): the diagonal of C."""

    @classmethod
    def from_gram(cls, gram: Floats, lam: float) -> "ExactRidge":
        """Invert a symmetric Gram matrix in place: a C-ordered (n, n) array of float64, which is overwritten.

        Raises
        ------
        InputError
            If it is not positive semi-definite, or so large that lam is lost in rounding.
        """
        largest = float(gram.diagonal().max(initial=0.0))
        if not lam > LAM_RTOL * len(gram) * largest:
            raise InputError(_LAM_TOO_SMALL.format(lam))
        matrix = gram.T  # symmetric, and in the Fortran order that LAPACK requires
        matrix[np.diag_indices_from(matrix)] += lam
        factor, info = dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
        if info:
            raise InputError(
                f"the Gram matrix with lam={lam:.4g} on its diagonal is not positive definite. Pass a positive "
                "semi-definite kernel, or a larger lam."
            )
        inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
        inverse = np.tril(inverse)  # LAPACK does not change the other triangle
        inverse += np.tril(inverse, -1).T
        return cls(inverse, inverse.diagonal()[:, None].copy())

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return targets - self.fit(targets).coefficients / self.diagonal

    def influences(self, rows: Ints) -> Floats:
        """Return a_ij, (number of rows, n), with LOO_i(P) = m + sum_j a_ij (P_j - m); ignore a_ii."""
        return -self.inverse[rows] / self.diagonal[rows]

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per row."""
        means = targets.mean(axis=0)
        return DualCoefficients(self.inverse @ (targets - means), means)


@dataclass(frozen=True)
class NystroemRidge:
    """Ridge regression on features of m landmarks Z: k(x, y) is replaced by k(x, Z) k(Z, Z)^-1 k(Z, y)."""

    directions: Floats
    """D, (n, r), r <= m, with the smoother H = D D^T."""
    back_projection: Floats
    """B, (m, r): the coefficients of the landmarks are B D^T R."""
    one_minus_leverage: Floats
    """(n, 1): 1 - h_ii."""

    @classmethod
    def from_gram(cls, cross: Floats, gram: Floats, lam: float) -> "NystroemRidge":
        """Factorize the kernel of the rows and the landmarks.

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
            If the Gram matrix of the landmarks is not positive semi-definite, or if 1 - h_ii is a rounding error.
        """
        values = np.linalg.eigvalsh(gram)
        if values[0] < -EIGENVALUE_RTOL * values[-1]:
            raise InputError(
                "the Gram matrix of the landmarks is not positive semi-definite. Pass a positive semi-definite kernel, "
                "or approximation=None with a larger lam."
            )
        root = inverse_root(gram)
        features = np.empty((len(cross), root.shape[1]), order="F")
        for start in range(0, len(cross), BLOCK_ROWS):
            features[start : start + BLOCK_ROWS] = cross[start : start + BLOCK_ROWS] @ root
        square = features.T @ features
        square[np.diag_indices_from(square)] += lam
        factor, _ = dpotrf(square, lower=1, clean=1)  # positive definite, since lam > 0
        # Phi B Phi^T = D D^T with B = (L L^T)^-1 and D = Phi L^-T.
        directions = dtrsm(1.0, factor, features, side=1, lower=1, trans_a=1, overwrite_b=1)
        back_projection = dtrsm(1.0, factor, root, side=1, lower=1, trans_a=1)
        one_minus_leverage = 1.0 - np.einsum("ij,ij->i", directions, directions)
        if not one_minus_leverage.min() > LEVERAGE_TOL:
            raise InputError(_LAM_TOO_SMALL.format(lam))
        return cls(directions, back_projection, one_minus_leverage[:, None])

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions; a row that is a landmark remains one."""
        residuals = targets - targets.mean(axis=0)
        residuals -= self.directions @ (self.directions.T @ residuals)
        return targets - residuals / self.one_minus_leverage

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per landmark."""
        means = targets.mean(axis=0)
        return DualCoefficients(self.back_projection @ (self.directions.T @ (targets - means)), means)


# -- weighted averages of several kernels ------------------------------------------------------------------------------


@dataclass(frozen=True)
class StackedExact:
    """Weighted average of exact ridges, as one matrix."""

    operator: Floats
    """A, (n, n), with LOO(P) = P - A (P - 1 m^T)."""

    @classmethod
    def from_ridges(cls, ridges: Sequence[ExactRidge], weights: Floats) -> "StackedExact":
        """Average diag(1 / c_ii) C."""
        operator = np.zeros_like(ridges[0].inverse)
        for ridge, weight in zip(ridges, weights, strict=True):
            operator += (weight / ridge.diagonal) * ridge.inverse
        return cls(operator)

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return targets - self.operator @ (targets - targets.mean(axis=0))

    def influences(self, rows: Ints) -> Floats:
        """Return a_ij, (number of rows, n), with LOO_i(P) = m + sum_j a_ij (P_j - m); ignore a_ii."""
        return -self.operator[rows]


@dataclass(frozen=True)
class StackedRidge:
    """Weighted average of any ridges."""

    ridges: Sequence[Ridge]
    weights: Floats

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return np.sum(
            [weight * ridge.predict_loo(targets) for ridge, weight in zip(self.ridges, self.weights, strict=True)],
            axis=0,
        )


def stack_ridges(ridges: Sequence[Ridge], weights: Floats) -> LOOPredictor:
    """Return the weighted average of ridges, in its cheapest form."""
    if len(ridges) == 1:
        return ridges[0]
    exact = [ridge for ridge in ridges if isinstance(ridge, ExactRidge)]
    if len(exact) == len(ridges):
        return StackedExact.from_ridges(exact, weights)
    return StackedRidge(ridges, weights)


# -- influential rows --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Influences:
    """The rows with the largest contributions to the margin of each row, in descending order."""

    rows: Ints
    """(n, 5), or (n, n - 1) if there are fewer other rows: row indices."""
    values: Floats
    """(n, 5), or (n, n - 1): the contribution of each of these rows to F_ik - F_il; it may be negative."""


def top_influences(ridge: ExactRidge | StackedExact, label_distributions: Floats, runner_up: Ints) -> Influences:
    """Return the most influential rows for the most probable label of each row.

    Parameters
    ----------
    ridge : ExactRidge or StackedExact
    label_distributions : ndarray of shape (n, K)
        P.
    runner_up : ndarray of shape (n,)
        See `runner_up_classes`.
    """
    n = len(label_distributions)
    label = label_distributions.argmax(axis=1)
    residuals = label_distributions - label_distributions.mean(axis=0)
    n_reported = min(N_INFLUENTIAL, n - 1)
    rows, values = np.empty((n, n_reported), dtype=np.int64), np.empty((n, n_reported))
    for start in range(0, n, INFLUENCE_BLOCK):
        block = np.arange(start, min(start + INFLUENCE_BLOCK, n))
        influences = ridge.influences(block) * (residuals[:, label[block]] - residuals[:, runner_up[block]]).T
        influences[np.arange(len(block)), block] = -np.inf
        top = np.argpartition(-influences, n_reported - 1, axis=1)[:, :n_reported] if n_reported else rows[block]
        top_values = np.take_along_axis(influences, top, axis=1)
        order = np.argsort(-top_values, axis=1, kind="stable")
        rows[block] = np.take_along_axis(top, order, axis=1)
        values[block] = np.take_along_axis(top_values, order, axis=1)
    return Influences(rows, values)


def runner_up_classes(label_distributions: Floats, scores: Floats, mask: Mask) -> Ints:
    """Return l, (n,): the candidate with the best leave-one-out score apart from the label.

    If a row has only one candidate, all classes count as alternatives. With a single class, l is the label itself.
    """
    alternatives = np.where(mask.sum(axis=1, keepdims=True) > 1, mask, True)
    alternatives[np.arange(len(label_distributions)), label_distributions.argmax(axis=1)] = False
    return np.where(alternatives, scores, -np.inf).argmax(axis=1)
