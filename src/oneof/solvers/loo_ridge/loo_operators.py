"""Exact leave-one-out predictions of kernel ridge regression, for any targets.

The targets P, (n, K), are centered by their column means m, and the rows fit R = P - 1 m^T: they minimize

    sum_i ||f(x_i) - r_i||^2 + lam ||f||^2,    and the prediction is f(x) + m.

The leave-one-out prediction of row i omits its term of this sum. The means m remain those of all rows, and so do the
landmarks of the Nystroem form, which may include the row. With the smoother H, f = H R, the prediction is

    p_i - (r_i - (H R)_i) / (1 - h_ii),

and for the exact form, where I - H = lam (K + lam I)^-1, it is p_i - (A R)_i with A = C / diag(C), C = (K + lam I)^-1.

The prediction is linear in the labels of the other rows, F_i = m + sum_{j != i} a_ij (P_j - m), a_ij = -A_ij. So row j
contributes a_ij ((P_jk - m_k) - (P_jl - m_l)) to the margin F_ik - F_il between a row's label k and its runner-up l.
The margin is negative if the label is not the one with the best leave-one-out score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from array_api_compat import array_namespace, is_torch_array

from oneof.arrays import as_numpy, precision_of
from oneof.errors import InputError
from oneof.solvers.loo_ridge.candidate_groups import CandidateGroups
from oneof.solvers.loo_ridge.linear_algebra import (
    add_to_diagonal,
    cholesky_factor,
    inverse_of_factor,
    product,
    solve_lower,
    solve_rows,
    square,
    squared_lengths,
)
from oneof.typing import Array, Floats

LEVERAGE_TOL = 1e-10
"""Minimum of 1 - h_ii; smaller values have almost no correct digit."""
LAM_RTOL = {"float64": 10.0 * float(np.finfo(np.float64).eps), "float32": float(np.finfo(np.float32).eps)}
"""Minimum of lam relative to n max_x k(x, x), a bound of the largest eigenvalue; below it, rounding errors dominate."""
JITTER = {"float64": 1e-12, "float32": 1e-6}
"""Added to the eigenvalues of the landmarks' Gram matrix, relative to its largest diagonal entry."""
GATHER_COST = 1 / 40
"""Time of one product of the dense form relative to one entry read of the form by classes."""
MAX_COPIES = 2.0
"""Maximum size of the blocks of all classes, relative to the matrix of the rows with several candidates."""
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

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""


class Ridge(LOOPredictor, Protocol):
    """Ridge regression on fixed rows, for any targets."""

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows."""


@dataclass(frozen=True)
class LinearLOO:
    """Leave-one-out predictions P - A (P - 1 m^T) by a matrix A: an exact ridge, or an average of several."""

    operator: Array
    """A, (n, n), a NumPy array or a tensor."""

    @classmethod
    def from_ridges(cls, ridges: Sequence["ExactRidge"], weights: Floats) -> "LinearLOO":
        """Average the leave-one-out predictions of several ridges."""
        operator = array_namespace(ridges[0].operator).zeros_like(ridges[0].operator)
        for ridge, weight in zip(ridges, weights, strict=True):
            operator += weight * ridge.operator
        return cls(operator)

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return targets - product(self.operator, targets - targets.mean(axis=0))

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""
        if is_torch_array(self.operator):  # a device reads the operator faster than it would gather its blocks
            return dense_pair_predictor(self, sets)
        return _ExactPairs(self.operator, sets).predict


@dataclass(frozen=True)
class ExactRidge(LinearLOO):
    """Ridge regression by the inverse of the Gram matrix: A = C / diag(C) with C = (K + lam I)^-1."""

    diagonal: Floats
    """(n, 1): the diagonal of C."""

    @classmethod
    def from_gram(cls, gram: Array, lam: float) -> "ExactRidge":
        """Invert a symmetric Gram matrix in place: a C-ordered (n, n) array, which is overwritten.

        NumPy arrays must be in float64; tensors are inverted in their own precision. Only the upper triangle is read.

        Raises
        ------
        InputError
            If it is not positive semi-definite, or so large that lam is lost in rounding.
        """
        if not lam > LAM_RTOL[precision_of(gram)] * gram.shape[0] * _largest_diagonal(gram):
            raise InputError(_LAM_TOO_SMALL.format(lam))
        factor = cholesky_factor(add_to_diagonal(gram, lam))
        if factor is None:
            raise InputError(
                f"the Gram matrix with lam={lam:.4g} on its diagonal is not positive definite. Pass a positive "
                "semi-definite kernel, or a larger lam."
            )
        operator = inverse_of_factor(factor)
        diagonal = array_namespace(operator).linalg.diagonal(operator)[:, None] * 1.0
        operator /= diagonal
        return cls(operator, as_numpy(diagonal).astype(np.float64, copy=False))

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per row."""
        means = targets.mean(axis=0)
        return DualCoefficients(self.diagonal * product(self.operator, targets - means), means)


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
        block_size = float((counts.astype(np.float64) ** 2).sum()) / max(float(len(active)) ** 2, 1.0)
        if block_size < min(1.0 + K * GATHER_COST, MAX_COPIES):
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

    directions: Array
    """D, (n, m), with the smoother H = D D^T; a NumPy array or a tensor, in float64 or float32."""
    factor: Array
    """L, (m, m), lower triangular: L L^T = k(Z, Z)."""
    ridge_factor: Array
    """M, (m, m), lower triangular: M M^T = Phi^T Phi + lam I, with Phi = k(X, Z) L^-T = D M^T."""
    one_minus_leverage: Floats
    """(n, 1): 1 - h_ii."""

    @classmethod
    def from_gram(cls, cross: Array, gram: Array, lam: float) -> "NystroemRidge":
        """Factorize the kernel of the rows and the landmarks.

        Parameters
        ----------
        cross : array of shape (n, m)
            k(x_i, z_j), in float64 or float32; a NumPy array is overwritten.
        gram : array of shape (m, m)
            k(z_i, z_j).
        lam : float
            > 0.

        Raises
        ------
        InputError
            If the Gram matrix of the landmarks is not positive semi-definite, or if 1 - h_ii is a rounding error.
        """
        factor = landmark_factor(gram, precision_of(cross))
        features = solve_rows(factor, cross)
        ridge_factor = regularized_factor(square(features), lam)
        directions = solve_rows(ridge_factor, features)
        one_minus_leverage = 1.0 - squared_lengths(directions)
        check_leverage(one_minus_leverage)
        return cls(directions, factor, ridge_factor, one_minus_leverage[:, None])

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions; a row that is a landmark remains one."""
        residuals, _ = self._residuals(targets)
        return targets - residuals / self.one_minus_leverage

    def pair_predictor(self, sets: CandidateGroups) -> PairPredictor:
        """Return a function from labels of the pairs to their leave-one-out predictions."""
        return dense_pair_predictor(self, sets)

    def fit(self, targets: Floats) -> DualCoefficients:
        """Return the function fitted to all rows, with one coefficient vector per landmark."""
        _, projections = self._residuals(targets)
        for factor in (self.ridge_factor, self.factor):
            projections = solve_lower(factor, projections, transposed=True)
        return DualCoefficients(projections, targets.mean(axis=0))

    def _residuals(self, targets: Floats) -> tuple[Floats, Floats]:
        """Return R - H R, (n, K), and D^T R, (m, K), in float64."""
        centered = targets - targets.mean(axis=0)
        projections = product(self.directions.T, centered)
        return centered - product(self.directions, projections), projections


def dense_pair_predictor(ridge: LOOPredictor, sets: CandidateGroups) -> PairPredictor:
    """Return the function of `LOOPredictor.pair_predictor` that predicts all rows and classes."""
    is_active = (sets.sizes > 1)[sets.rows]

    def predict(values: Floats) -> Floats:
        predictions = np.ones(len(values))
        predictions[is_active] = sets.values(ridge.predict_loo(sets.to_dense(values)))[is_active]
        return predictions

    return predict


def landmark_factor(gram: Array, precision: Literal["float32", "float64"]) -> Array:
    """Return the Cholesky factor L, (m, m), of the landmarks' Gram matrix in float64, with a jitter for the precision.

    Raises
    ------
    InputError
        If the matrix is not positive semi-definite.
    """
    xp, largest = array_namespace(gram), _largest_diagonal(gram)
    for scale in (1.0, 100.0, 1e4):
        matrix = xp.asarray(gram, dtype=xp.float64, copy=True)
        factor = cholesky_factor(add_to_diagonal(matrix, scale * JITTER[precision] * largest))
        if factor is not None:
            return factor
    raise InputError(
        "the Gram matrix of the landmarks is not positive semi-definite. Pass a positive semi-definite kernel, "
        "or approximation=None with a larger lam."
    )


def regularized_factor(gram: Array, lam: float) -> Array:
    """Return the Cholesky factor of Phi^T Phi + lam I; the matrix Phi^T Phi is overwritten."""
    factor = cholesky_factor(add_to_diagonal(gram, lam))
    if factor is None:
        raise InputError(_LAM_TOO_SMALL.format(lam))
    return factor


def check_leverage(one_minus_leverage: Floats) -> None:
    """Raise if 1 - h_ii of a row is a rounding error."""
    if not one_minus_leverage.min(initial=1.0) > LEVERAGE_TOL:
        raise InputError(
            "`lam` must be larger relative to the kernel values: a leverage is 1 up to rounding. Scale the features, "
            "or pass a larger lam."
        )


def _largest_diagonal(gram: Array) -> float:
    return max(0.0, float(gram.diagonal().max()))
