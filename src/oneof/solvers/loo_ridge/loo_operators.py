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

With landmarks Z, k(x, y) is replaced by phi(x)^T phi(y). With L L^T = k(Z, Z), Phi = k(X, Z) L^-T, M M^T = Phi^T Phi +
lam I and D = Phi M^-T, the smoother is H = D D^T, and f(x) = k(x, Z) L^-T M^-T D^T R. D is in memory, or k(X, Z) is
computed again for each product, in blocks of rows, and M^-1 L^-1 is applied to the sums over the blocks.

**Blocks of rows, in memory or on workers: the kernel of all rows is never in memory at a time.**

Everything is a sum over blocks, in their order, so that the number of threads or workers does not affect the result.

**Factorizations, triangular solves and products: of NumPy arrays by LAPACK, of torch tensors on their device.**

The large matrices (kernels, operators, features) are NumPy arrays or tensors. The labels, (n, K), are small: they are
NumPy arrays, and only they are copied to the device and back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from scipy.linalg.blas import dtrsm, strsm
from scipy.linalg.lapack import dpotrf, dpotri

from oneof.arrays import as_floats, as_numpy, precision_of, to_namespace_of
from oneof.errors import InputError
from oneof.kernels.mapped import KernelSum, MappedRows
from oneof.parallel import parallel_map
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.typing import Array, FeatureMatrix, Floats, Ints, Mask, Precision
from oneof.validation import check_memory

LEVERAGE_TOL = 1e-10
"""Minimum of 1 - h_ii; smaller values have almost no correct digit."""
LAM_RTOL = {"float64": 10.0 * float(np.finfo(np.float64).eps), "float32": float(np.finfo(np.float32).eps)}
"""Minimum of lam relative to n max_x k(x, x), a bound of the largest eigenvalue; below it, rounding errors dominate."""
JITTER = {"float64": 1e-12, "float32": 1e-6}
"""Added to the eigenvalues of the landmarks' Gram matrix, relative to its largest diagonal entry."""
MIN_FLOAT32_FEATURES = 10_000_000
"""Number of entries of the Nystroem features from which they are in float32."""
N_INFLUENTIAL = 5
"""Number of influential rows reported for each row."""
INFLUENCE_BLOCK = 512
"""Number of rows whose influences are computed at a time."""
_LAM_TOO_SMALL = (
    "`lam` must be larger relative to the kernel values; got {:.4g}, which is lost in rounding. Scale the features, or "
    "pass a larger lam."
)
PairPredictor = Callable[[Floats], Floats]
"""Leave-one-out predictions of the pairs (row, candidate) from labels of the pairs; exact rows may have any."""
BLOCK_ROWS = 8192
"""Number of rows of a block."""
KERNEL_ROWS = 1024
"""Number of rows whose kernel is computed at a time."""
TILE_ROWS = 512
"""Number of rows that are transposed at a time."""
SQUARE_BLOCK_ROWS = 4096
"""Number of rows whose products are summed in their own precision before they are added in float64."""


# -- blocks ------------------------------------------------------------------------------------------------------------


class BlockedRows(Protocol):
    """Rows in blocks, in memory or on workers."""

    @property
    def slices(self) -> Sequence[slice]:
        """The rows of each block."""

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by ascending index, or all rows."""

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply ``function(X_block, payload, *shared) -> (summand, value)``.

        Returns the sum of the summands, in the order of the blocks, and the list of the values.
        """


@dataclass(frozen=True)
class RowsInMemory:
    """Rows of one array, in blocks."""

    X: FeatureMatrix

    @property
    def slices(self) -> list[slice]:
        """The rows of each block: `BLOCK_ROWS` or fewer."""
        return row_slices(self.X.shape[0], BLOCK_ROWS)

    def take(self, index: Ints | None = None) -> FeatureMatrix:
        """Return rows by index, or all rows."""
        return self.X if index is None else self.X[index]

    def map_reduce(self, function: Callable[..., Any], payloads: Sequence[Any], *shared: Any) -> tuple[Any, list[Any]]:
        """Apply a function to one block after the other, so that few summands are in memory at a time."""
        total: Any = 0
        values = []
        for rows, payload in zip(self.slices, payloads, strict=True):
            summand, value = function(self.X[rows], payload, *shared)
            total = total + summand
            values.append(value)
        return total, values


def row_slices(n: int, n_rows: int) -> list[slice]:
    """Return slices of n rows, each of at most `n_rows`."""
    return [slice(start, min(start + n_rows, n)) for start in range(0, n, n_rows)]


def map_kernel_rows(function: Callable[[slice], Any], X: FeatureMatrix) -> list[Any]:
    """Apply a function to the slices of `KERNEL_ROWS` rows."""
    return map_blocks(function, row_slices(X.shape[0], KERNEL_ROWS), X)


def map_blocks(function: Callable[[Any], Any], items: Sequence[Any], X: FeatureMatrix) -> list[Any]:
    """Apply a function to each item in several threads; in turn if each operation has several, as for tensors."""
    in_turn = len(items) == 1 or is_torch_array(X)
    return [function(item) for item in items] if in_turn else parallel_map(function, items)


@dataclass(frozen=True)
class DualCoefficients:
    """The fitted function x -> k(x, Z) coefficients + means, with Z the rows or the landmarks."""

    coefficients: Floats
    """(n, K) or (m, K)."""
    means: Floats
    """(K,)"""


@dataclass(frozen=True)
class LinearLOO:
    """Leave-one-out predictions P - A (P - 1 m^T) by a matrix A: an exact ridge, or an average of several."""

    operator: Array
    """A, (n, n), a NumPy array or a tensor."""

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions."""
        return targets - product(self.operator, targets - targets.mean(axis=0))


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
        factor = cholesky_factor(gram, lam)
        if factor is None:
            raise InputError(
                f"the Gram matrix with lam={lam:.4g} on its diagonal is not positive definite. Pass a positive "
                "semi-definite kernel, or a larger lam."
            )
        operator = inverse_of_factor(factor)
        diagonal = array_namespace(operator).linalg.diagonal(operator)[:, None] * 1.0
        operator /= diagonal
        return cls(operator, as_numpy(diagonal).astype(np.float64, copy=False))

    def fit(self, targets: Floats) -> tuple[DualCoefficients, Floats]:
        """Return the function fitted to all rows, and the (n, K) leave-one-out predictions."""
        means = targets.mean(axis=0)
        residuals = product(self.operator, targets - means)
        return DualCoefficients(self.diagonal * residuals, means), targets - residuals


@dataclass(frozen=True)
class Landmarks:
    """The kernel of any rows with the landmarks."""

    kernel: KernelSum
    rows: list[MappedRows]
    """Z, in the representations of the kernel."""
    factor: Array
    """L, (m, m), lower triangular, in float64: L L^T = k(Z, Z)."""
    precision: Precision
    """Precision of the values."""

    @classmethod
    def from_rows(cls, kernel: KernelSum, rows: list[MappedRows], X: FeatureMatrix) -> "Landmarks":
        """Factorize the kernel of the landmarks, with a jitter for the precision.

        Values are in float32 if X, the rows of self-training, are many; tensors have their own precision.

        Raises
        ------
        InputError
            If the matrix is not positive semi-definite.
        """
        gram = kernel.gram(rows)
        is_large = X.shape[0] * gram.shape[0] >= MIN_FLOAT32_FEATURES
        precision = precision_of(X) if is_torch_array(X) else ("float32" if is_large else "float64")
        xp, largest = array_namespace(gram), _largest_diagonal(gram)
        for scale in (1.0, 100.0, 1e4):
            matrix = xp.asarray(gram, dtype=xp.float64, copy=True)
            factor = cholesky_factor(matrix, scale * JITTER[precision] * largest)
            if factor is not None:
                return cls(kernel, rows, factor, precision)
        raise InputError(
            "the Gram matrix of the landmarks is not positive semi-definite. Pass a positive semi-definite kernel, "
            "or approximation=None with a larger lam."
        )

    def cross(self, X: FeatureMatrix) -> Array:
        """Return k(x_i, z_j), (n, m), as a new array."""
        cross = empty_array((X.shape[0], self.factor.shape[0]), X, self.precision)

        def fill(block: slice) -> None:
            cross[block] = self.kernel.gram(self.kernel.transform(X[block]), self.rows)

        map_kernel_rows(fill, X)
        return cross


@dataclass(frozen=True)
class NystroemRidge:
    """Ridge regression on the features of m landmarks, from blocks of B: of D in memory, otherwise of k(X, Z)."""

    blocks: BlockedRows
    """The blocks of B, or of X if B is computed for each product."""
    landmarks: Landmarks | None
    """The kernel that computes the blocks of B; None if B is in memory."""
    pending: tuple[Array, ...]
    """The lower triangular factors F, (m, m), with D = B F^-T for each in turn: L and M, or none if B is D."""
    applied: tuple[Array, ...]
    """L and M if B is D, otherwise none: L L^T = k(Z, Z) and M M^T = Phi^T Phi + lam I."""
    lam: float

    @classmethod
    def in_memory(cls, X: FeatureMatrix, landmarks: Landmarks, lam: float) -> "NystroemRidge":
        """Compute D in the memory of the kernel.

        Raises
        ------
        InputError
            If lam is lost in rounding, or D would not fit in memory.
        """
        n, m = X.shape[0], landmarks.factor.shape[0]
        if not is_torch_array(X):
            size = np.dtype(landmarks.precision).itemsize
            check_memory(1.5 * size * n * m, f"{m} features of {n} rows", "lower n_components")
        features = solve_rows(landmarks.factor, landmarks.cross(X))
        factor = _ridge_factor(square(features), lam)
        return cls(RowsInMemory(solve_rows(factor, features)), None, (), (landmarks.factor, factor), lam)

    @classmethod
    def in_blocks(cls, blocks: BlockedRows, landmarks: Landmarks, square: Array, lam: float) -> "NystroemRidge":
        """Compute k(X, Z) for each product, in blocks of rows; `square` is Phi^T Phi, which is overwritten."""
        return cls(blocks, landmarks, (landmarks.factor, _ridge_factor(square, lam)), (), lam)

    @cached_property
    def one_minus_leverage(self) -> Floats:
        """(n, 1): 1 - h_ii; an error if one of them is a rounding error."""
        _, leverages = self.blocks.map_reduce(
            _leverages, [None] * len(self.blocks.slices), self.landmarks, self.pending
        )
        leverage = np.concatenate(leverages)[:, None]
        if not leverage.max(initial=0.0) < 1.0 - LEVERAGE_TOL:
            raise InputError(_LAM_TOO_SMALL.format(self.lam))
        return 1.0 - leverage

    def predict_loo(self, targets: Floats) -> Floats:
        """Return the (n, K) leave-one-out predictions; a row that is a landmark remains one."""
        return self._predict(targets)[1]

    def fit(self, targets: Floats) -> tuple[DualCoefficients, Floats]:
        """Return the function fitted to all rows, with one coefficient vector per landmark, and `predict_loo`."""
        coefficients, predictions = self._predict(targets)
        coefficients = solve_labels(self.applied[::-1], coefficients, transposed=True)
        return DualCoefficients(coefficients, targets.mean(axis=0)), predictions

    def _predict(self, targets: Floats) -> tuple[Floats, Floats]:
        """Return the coefficients of B, (m, K), and the leave-one-out predictions."""
        residuals, slices = targets - targets.mean(axis=0), self.blocks.slices
        projections, _ = self.blocks.map_reduce(_projections, [residuals[rows] for rows in slices], self.landmarks)
        coefficients = solve_labels(self.pending[::-1], solve_labels(self.pending, projections), transposed=True)
        _, fitted = self.blocks.map_reduce(_fitted_values, [None] * len(slices), self.landmarks, coefficients)
        return coefficients, targets - (residuals - np.concatenate(fitted)) / self.one_minus_leverage


def pair_predictor(ridge: LinearLOO | NystroemRidge, sets: CandidateGroups) -> PairPredictor:
    """Return a function from labels of the pairs (row, candidate) to their leave-one-out predictions.

    With a matrix A, only the rows with several candidates are predicted, and only their candidates. Row i and candidate
    k need sum_j A_ij P_jk over the rows j whose set has k. So class k needs the block of A of these rows. If the blocks
    had as many entries as A, because the sets are large, one product serves all classes.
    """
    n, K = sets.mask.shape
    several = (sets.sizes > 1)[sets.rows]
    members = [np.flatnonzero(sets.classes == k) for k in range(K)]
    parts = [(pairs[several[pairs]], pairs) for pairs in members]
    n_entries = sum(len(predicted) * len(pairs) for predicted, pairs in parts)
    if not isinstance(ridge, LinearLOO) or is_torch_array(ridge.operator) or n_entries >= n**2:
        # Landmarks predict all classes at once, and a device reads A faster than it would gather the blocks.
        return lambda values: sets.values(ridge.predict_loo(sets.to_dense(values)))
    A, rows, row_sums = ridge.operator, sets.rows, ridge.operator.sum(axis=1)[sets.rows]
    blocks = [(predicted, pairs, A[np.ix_(rows[predicted], rows[pairs])]) for predicted, pairs in parts]

    def predict(values: Floats) -> Floats:
        predictions = values + row_sums * (sets.class_sums(values) / n)[sets.classes]
        for predicted, pairs, block in blocks:
            predictions[predicted] -= block @ values[pairs]
        return predictions

    return predict


def square_and_scores(X: FeatureMatrix, _: None, landmarks: Landmarks, dual: DualCoefficients) -> tuple[Array, Floats]:
    """Return Phi^T Phi of a block of rows, and the (n, K) scores of a fitted function."""
    cross = landmarks.cross(X)
    scores = product(cross, dual.coefficients) + dual.means
    return square(solve_rows(landmarks.factor, cross)), scores


def _leverages(
    X: FeatureMatrix, _: None, landmarks: Landmarks | None, factors: tuple[Array, ...]
) -> tuple[int, Floats]:
    """Return h_ii of a block of rows, (number of rows,)."""
    directions = _kernel_rows(X, landmarks)
    for factor in factors:
        directions = solve_rows(factor, directions)
    return 0, squared_lengths(directions)


def _projections(X: FeatureMatrix, residuals: Floats, landmarks: Landmarks | None) -> tuple[Floats, None]:
    """Return B^T R of a block of rows, (m, K)."""
    return product(_kernel_rows(X, landmarks).T, residuals), None


def _fitted_values(X: FeatureMatrix, _: None, landmarks: Landmarks | None, coefficients: Floats) -> tuple[int, Floats]:
    """Return B c of a block of rows, (number of rows, K)."""
    return 0, product(_kernel_rows(X, landmarks), coefficients)


def _kernel_rows(X: FeatureMatrix, landmarks: Landmarks | None) -> Array:
    return X if landmarks is None else landmarks.cross(X)


def _ridge_factor(square: Array, lam: float) -> Array:
    """Return M with M M^T = Phi^T Phi + lam I; the matrix Phi^T Phi is overwritten."""
    factor = cholesky_factor(square, lam)
    if factor is None:
        raise InputError(_LAM_TOO_SMALL.format(lam))
    return factor


def _largest_diagonal(gram: Array) -> float:
    return max(0.0, float(gram.diagonal().max()))


# -- rows behind a label -----------------------------------------------------------------------------------------------


def top_influences(ridge: LinearLOO, label_distributions: Floats, runner_up: Ints) -> tuple[Ints, Floats]:
    """Return the most influential rows for the most probable label of each row.

    Parameters
    ----------
    ridge : LinearLOO
    label_distributions : ndarray of shape (n, K)
        P.
    runner_up : ndarray of shape (n,)
        See `runner_up_classes`.

    Returns
    -------
    rows : ndarray of shape (n, 5), or (n, n - 1) if there are fewer other rows
        The indices of the rows with the largest contributions to the margin of each row, in descending order.
    values : ndarray of the shape of `rows`
        The contribution of each of these rows to F_ik - F_il; it may be negative.
    """
    n = len(label_distributions)
    label = label_distributions.argmax(axis=1)
    residuals = to_namespace_of(label_distributions - label_distributions.mean(axis=0), ridge.operator)
    n_reported = min(N_INFLUENTIAL, n - 1)
    rows, values = np.empty((n, n_reported), dtype=np.int64), np.empty((n, n_reported))
    for block in row_slices(n, INFLUENCE_BLOCK):
        negated = as_numpy(ridge.operator[block] * (residuals[:, label[block]] - residuals[:, runner_up[block]]).T)
        np.fill_diagonal(negated[:, block], np.inf)
        rows[block] = np.argpartition(negated, np.arange(n_reported), axis=1)[:, :n_reported]
        values[block] = -np.take_along_axis(negated, rows[block], axis=1)
    return rows, values


def runner_up_classes(label_distributions: Floats, scores: Floats, mask: Mask) -> Ints:
    """Return l, (n,): the candidate with the best leave-one-out score apart from the label.

    If a row has only one candidate, all classes count as alternatives. With a single class, l is the label itself.
    """
    alternatives = np.where(mask.sum(axis=1, keepdims=True) > 1, mask, True)
    alternatives[np.arange(len(label_distributions)), label_distributions.argmax(axis=1)] = False
    return np.where(alternatives, scores, -np.inf).argmax(axis=1)


# -- linear algebra ----------------------------------------------------------------------------------------------------


def empty_array(shape: tuple[int, int], rows: FeatureMatrix, precision: str) -> Array:
    """Return an array in a precision, or for tensors one in their precision and on their device."""
    if is_torch_array(rows):
        return array_namespace(rows).empty(shape, dtype=rows.dtype, device=device(rows))
    return np.empty(shape, dtype=precision)


def product(matrix: Array, values: Floats) -> Floats:
    """Return matrix @ values, (n, K), in float64, computed in the precision and on the device of the matrix."""
    values = as_floats(to_namespace_of(values, matrix), precision_of(matrix))
    return as_floats(as_numpy(matrix @ values), "float64")


def cholesky_factor(matrix: Array, shift: float) -> Array | None:
    """Return the lower triangular L with L L^T = matrix + shift I, of which only the upper triangle is read, in place.

    None if this is not positive definite. The array or tensor is overwritten, by L if it is C-ordered. NumPy arrays are
    in float64.
    """
    indices = np.arange(matrix.shape[0])
    matrix[indices, indices] += shift
    if is_torch_array(matrix):
        import torch

        factor = matrix.mT  # the order in which torch factorizes in place
        failed = torch.empty((), dtype=torch.int32, device=matrix.device)
        torch.linalg.cholesky_ex(factor, out=(factor, failed))
        return None if int(failed) else factor
    factor, info = dpotrf(matrix.T, lower=1, clean=1, overwrite_a=1)  # the transpose has the order of LAPACK
    return None if info else factor


def inverse_of_factor(factor: Array) -> Array:
    """Return the C-ordered (L L^T)^-1; a Fortran-ordered L is overwritten."""
    if is_torch_array(factor):
        import torch

        return torch.cholesky_inverse(factor).mT
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)  # the upper triangle remains 0
    for block in row_slices(len(inverse), TILE_ROWS):
        inverse[block, block.start :] += np.tril(inverse[block.start :, block], -1).T
    return inverse.T


def solve_rows(factor: Array, rows: Array, *, transposed: bool = False) -> Array:
    """Return rows L^-T, or rows L^-1 if transposed, (n, m), for a lower triangular L.

    A C-ordered NumPy array of rows is overwritten.
    """
    factor = as_floats(factor, precision_of(rows))
    if is_torch_array(rows):
        import torch

        return torch.linalg.solve_triangular(
            factor if transposed else factor.mT, rows, upper=not transposed, left=False
        )
    trsm = dtrsm if rows.dtype == np.float64 else strsm
    # The transpose of a C-ordered array has the Fortran order of BLAS.
    return trsm(1.0, np.asfortranarray(factor), rows.T, lower=1, trans_a=transposed, overwrite_b=1).T


def solve_labels(factors: Sequence[Array], values: Floats, *, transposed: bool = False) -> Floats:
    """Return L^-1 values, or L^-T values if transposed, (m, K), for each lower triangular L in turn, in float64."""
    for factor in factors:
        values = as_numpy(solve_rows(factor, to_namespace_of(values.T, factor), transposed=transposed)).T
    return values


def squared_lengths(rows: Array) -> Floats:
    """Return ||x_i||^2, (n,), in float64."""
    if is_torch_array(rows):
        return as_numpy((rows * rows).sum(dim=1, dtype=array_namespace(rows).float64))
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def square(features: Array) -> Array:
    """Return Phi^T Phi in float64, (m, m), as a sum of products of blocks of rows."""
    xp, (n, m) = array_namespace(features), features.shape
    total = xp.zeros((m, m), dtype=xp.float64, device=device(features))
    for rows in row_slices(n, SQUARE_BLOCK_ROWS):
        total += features[rows].T @ features[rows]
    return total
