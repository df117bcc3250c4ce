"""Exact leave-one-out predictions of kernel ridge regression, for any targets.

The targets P, (n, K), are centered by their column means m, and the rows fit R = P - 1 m^T: they minimize

    sum_i ||f(x_i) - r_i||^2 + lam ||f||^2,    and the prediction is f(x) + m.

The leave-one-out prediction of row i omits its term of this sum. The means m remain those of all rows, and so do the
landmarks of the Nystroem form, which may include the row. With the smoother H, f = H R, the prediction is

    p_i - (r_i - (H R)_i) / (1 - h_ii),

and for the exact form, where I - H = lam (K + lam I)^-1, it is p_i - (A R)_i with A = C / diag(C), C = (K + lam I)^-1.

Without all rows of a group S, the prediction is P_S - ((I - H)_SS)^-1 (R - H R)_S, and for the exact form
P_S - (A_SS)^-1 (A R)_S, since the factors of the rows cancel.

The prediction is linear in the labels of the other rows, F_i = m + sum_{j != i} a_ij (P_j - m), a_ij = -A_ij. So row j
contributes a_ij ((P_jk - m_k) - (P_jl - m_l)) to the margin F_ik - F_il between a row's label k and its runner-up l.
The margin is negative if the label is not the one with the best leave-one-out score.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dtrsm, strsm
from scipy.linalg.lapack import dpotrf, dpotri

from oneof.errors import InputError
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.typing import Floats, Ints

LEVERAGE_TOL = 1e-10
"""Minimum of 1 - h_ii; smaller values have almost no correct digit."""
LAM_RTOL = 10.0 * float(np.finfo(np.float64).eps)
"""Minimum of lam relative to n max_x k(x, x), a bound of the largest eigenvalue; below it, rounding errors dominate."""
FLOAT32_JITTER, FLOAT64_JITTER = 1e-6, 1e-12
"""Added to the eigenvalues of the landmarks' Gram matrix, relative to its largest diagonal entry."""
MAX_GROUP_ROWS = 400
"""Number of rows of a group that are left out together; larger groups are divided."""
GATHER_COST = 1 / 40
"""Time of one product of the dense form relative to one entry read of the form by classes."""
_LAM_TOO_SMALL = (
    "`lam` must be larger relative to the kernel values; got {:.4g}, which is lost in rounding. Scale the features, or "
    "pass a larger lam."
)

PairPredictor = Callable[[Floats], Floats]
"""Leave-one-out predictions of the pairs (row, candidate) from labels of the pairs; those of exact rows are 1."""


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

    def predict_without_groups(self, targets: Floats, sets: CandidateGroups) -> Floats:
        """Return the (n, K) predictions without the targets of all rows that have the identical set."""

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""


class Ridge(LOOPredictor, Protocol):
    """Ridge regression on fixed rows, for any targets."""

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows."""


@dataclass(frozen=True)
class LinearLOO:
    """Leave-one-out predictions P - A (P - 1 m^T) by a matrix A: an exact ridge, or an average of several."""

    operator: Floats
    """A, (n, n)."""

    @classmethod
    def from_ridges(cls, ridges: Sequence["ExactRidge"], weights: Floats) -> "LinearLOO":
        """Average the leave-one-out predictions of several ridges."""
        operator = np.zeros_like(ridges[0].operator)
        for ridge, weight in zip(ridges, weights, strict=True):
            operator += weight * ridge.operator
        return cls(operator)

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return targets - self.operator @ (targets - targets.mean(axis=0))

    def predict_without_groups(self, targets: Floats, sets: CandidateGroups) -> Floats:
        """Return the (n, K) predictions without the targets of all rows that have the identical set."""
        residuals = self.operator @ (targets - targets.mean(axis=0))
        for rows in _iter_groups(sets):
            if len(rows) > 1:
                residuals[rows] = np.linalg.solve(self.operator[np.ix_(rows, rows)], residuals[rows])
        return targets - residuals

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""
        return _ExactPairs(self.operator, sets).predict


@dataclass(frozen=True)
class ExactRidge(LinearLOO):
    """Ridge regression by the inverse of the Gram matrix: A = C / diag(C) with C = (K + lam I)^-1."""

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
        _mirror_lower(inverse)
        diagonal = inverse.diagonal()[:, None].copy()
        operator = inverse.T  # in C order again
        operator /= diagonal
        return cls(operator, diagonal)

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per row."""
        means = targets.mean(axis=0)
        return DualCoefficients(self.diagonal * (self.operator @ (targets - means)), means)


class _ExactPairs:
    """Leave-one-out predictions inside the sets: only rows with several candidates, and only their candidates.

    Row i and candidate k need sum_j A_ij P_jk over the rows j whose set has k. So class k needs the block of A of these
    rows. The labels of exact rows are constant, and so is their contribution.
    """

    def __init__(self, operator: Floats, sets: CandidateGroups) -> None:
        n, K = sets.mask.shape
        is_active = sets.sizes > 1
        active, exact = np.flatnonzero(is_active), np.flatnonzero(~is_active)
        self._n, self._n_exact = n, np.bincount(sets.classes[~is_active[sets.rows]], minlength=K)
        self._pairs = np.flatnonzero(is_active[sets.rows])
        index = np.cumsum(is_active) - 1  # of a row among the active rows
        self._rows, self._classes = index[sets.rows[self._pairs]], sets.classes[self._pairs]
        self._row_sums = operator.sum(axis=1)[active][self._rows]
        self._shape = (len(active), K)
        self._constant = np.zeros(len(self._pairs))
        if len(exact) and len(active):
            one_hot = sets.mask[exact].astype(np.float64)
            self._constant = (operator[np.ix_(active, exact)] @ one_hot)[self._rows, self._classes]
        by_class = np.argsort(self._classes, kind="stable")
        counts = np.bincount(self._classes, minlength=K)
        self._by_class = np.split(by_class, np.cumsum(counts)[:-1])
        self._blocks: list[Floats] | None = None
        self._operator = operator if not len(exact) else operator[np.ix_(active, active)]
        if float((counts.astype(np.float64) ** 2).sum()) < float(len(active)) ** 2 * (1.0 + K * GATHER_COST):
            rows = [self._rows[pairs] for pairs in self._by_class]
            self._blocks = [self._operator[np.ix_(block, block)] for block in rows]
            del self._operator

    def predict(self, values: Floats) -> Floats:
        """Return the leave-one-out predictions of the pairs."""
        active = values[self._pairs]
        means = (self._n_exact + np.bincount(self._classes, active, minlength=self._shape[1])) / self._n
        if self._blocks is not None:
            products = np.empty(len(active))
            for pairs, block in zip(self._by_class, self._blocks, strict=True):
                products[pairs] = block @ active[pairs]
        else:
            labels = np.zeros(self._shape)
            labels[self._rows, self._classes] = active
            products = (self._operator @ labels)[self._rows, self._classes]
        predictions = np.ones(len(values))
        predictions[self._pairs] = active - (products + self._constant - self._row_sums * means[self._classes])
        return predictions


@dataclass(frozen=True)
class NystroemRidge:
    """Ridge regression on features of m landmarks Z: k(x, y) is replaced by k(x, Z) k(Z, Z)^-1 k(Z, y)."""

    directions: Floats
    """D, (n, m), with the smoother H = D D^T."""
    factor: Floats
    """L, (m, m), lower triangular: L L^T = k(Z, Z)."""
    ridge_factor: Floats
    """M, (m, m), lower triangular: M M^T = Phi^T Phi + lam I, with Phi = k(X, Z) L^-T = D M^T."""
    one_minus_leverage: Floats
    """(n, 1): 1 - h_ii."""

    @classmethod
    def from_gram(cls, cross: Floats, gram: Floats, lam: float) -> "NystroemRidge":
        """Factorize the kernel of the rows and the landmarks.

        Parameters
        ----------
        cross : ndarray of shape (n, m)
            k(x_i, z_j), in float64 or float32; it is overwritten.
        gram : ndarray of shape (m, m)
            k(z_i, z_j).
        lam : float
            > 0.

        Raises
        ------
        InputError
            If the Gram matrix of the landmarks is not positive semi-definite, or if 1 - h_ii is a rounding error.
        """
        factor = landmark_factor(gram, cross.dtype)
        features = solve_rows(factor, cross)
        ridge_factor = regularized_factor(_square(features), lam)
        directions = solve_rows(ridge_factor, features)
        one_minus_leverage = 1.0 - np.einsum("ij,ij->i", directions, directions, dtype=np.float64)
        check_leverage(one_minus_leverage)
        return cls(directions, factor, ridge_factor, one_minus_leverage[:, None])

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions; a row that is a landmark remains one."""
        residuals, _ = self._residuals(targets)
        return targets - residuals / self.one_minus_leverage

    def predict_without_groups(self, targets: Floats, sets: CandidateGroups) -> Floats:
        """Return the (n, K) predictions without the targets of all rows that have the identical set."""
        residuals, _ = self._residuals(targets)
        for rows in _iter_groups(sets):
            block = self.directions[rows].astype(np.float64)
            residuals[rows] = np.linalg.solve(np.eye(len(rows)) - block @ block.T, residuals[rows])
        return targets - residuals

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""
        is_active = (sets.sizes > 1)[sets.rows]

        def predict(values: Floats) -> Floats:
            predictions = np.ones(len(values))
            predictions[is_active] = sets.values(self.predict_loo(sets.to_dense(values)))[is_active]
            return predictions

        return predict

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per landmark."""
        _, projections = self._residuals(targets)
        coefficients = solve_transposed(self.factor, solve_transposed(self.ridge_factor, projections))
        return DualCoefficients(coefficients, targets.mean(axis=0))

    def _residuals(self, targets: Floats) -> tuple[Floats, Floats]:
        """Return R - H R, (n, K), and D^T R, (m, K), in float64."""
        centered = (targets - targets.mean(axis=0)).astype(self.directions.dtype, copy=False)
        projections = self.directions.T @ centered
        return (centered - self.directions @ projections).astype(np.float64), projections.astype(np.float64)


def landmark_factor(gram: Floats, dtype: np.dtype) -> Floats:
    """Return the Cholesky factor L, (m, m), of the landmarks' Gram matrix, with a jitter for the precision.

    Raises
    ------
    InputError
        If the matrix is not positive semi-definite.
    """
    matrix = np.array(gram, dtype=np.float64, order="F")
    jitter = FLOAT32_JITTER if dtype == np.float32 else FLOAT64_JITTER
    largest = float(matrix.diagonal().max(initial=0.0))
    for scale in (jitter, 100 * jitter, 1e4 * jitter):
        factor, info = dpotrf(matrix + (scale * largest) * np.eye(len(matrix)), lower=1, clean=1)
        if not info:
            return factor
    raise InputError(
        "the Gram matrix of the landmarks is not positive semi-definite. Pass a positive semi-definite kernel, "
        "or approximation=None with a larger lam."
    )


def solve_rows(factor: Floats, rows: Floats) -> Floats:
    """Return rows L^-T, (n, m), for a lower triangular L; a C-ordered array is overwritten."""
    trsm = dtrsm if rows.dtype == np.float64 else strsm
    # The transpose of a C-ordered array has the Fortran order of BLAS.
    return trsm(1.0, np.asarray(factor, dtype=rows.dtype, order="F"), rows.T, lower=1, overwrite_b=1).T


def check_leverage(one_minus_leverage: Floats) -> None:
    """Raise if 1 - h_ii of a row is a rounding error."""
    if not one_minus_leverage.min(initial=1.0) > LEVERAGE_TOL:
        raise InputError(
            "`lam` must be larger relative to the kernel values: a leverage is 1 up to rounding. Scale the features, "
            "or pass a larger lam."
        )


def regularized_factor(square: Floats, lam: float) -> Floats:
    """Return the Cholesky factor of Phi^T Phi + lam I."""
    square[np.diag_indices_from(square)] += lam
    factor, info = dpotrf(np.asfortranarray(square), lower=1, clean=1, overwrite_a=1)
    if info:
        raise InputError(_LAM_TOO_SMALL.format(lam))
    return factor


def solve_transposed(factor: Floats, values: Floats) -> Floats:
    """Return L^-T values, (m, K), for a lower triangular L."""
    return solve_triangular(factor, values, lower=True, trans="T", check_finite=False)


def _square(features: Floats) -> Floats:
    """Return Phi^T Phi in float64, as a sum of products of blocks of rows."""
    square = np.zeros((features.shape[1],) * 2)
    for start in range(0, len(features), 4096):
        block = features[start : start + 4096]
        square += block.T @ block
    return square


def _mirror_lower(matrix: Floats) -> None:
    """Copy the lower triangle of a Fortran-ordered matrix into the upper one, in tiles."""
    n, tile = len(matrix), 512
    for left in range(0, n, tile):
        columns = slice(left, min(left + tile, n))
        block = matrix[columns, columns]
        block[...] = np.tril(block) + np.tril(block, -1).T
        matrix[columns, columns.stop :] = matrix[columns.stop :, columns].T


def _iter_groups(sets: CandidateGroups) -> Iterator[Ints]:
    """Yield the rows of each group, in subsets of about MAX_GROUP_ROWS rows."""
    order = np.argsort(sets.group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(sets.group[order])) + 1):
        n_subsets = -(-len(rows) // MAX_GROUP_ROWS)
        for first in range(n_subsets):
            yield rows[first::n_subsets]
