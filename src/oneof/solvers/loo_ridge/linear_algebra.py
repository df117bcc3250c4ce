"""Factorizations, triangular solves and products: of NumPy arrays by LAPACK, of torch tensors on their device.

The large matrices (kernels, operators, features) are NumPy arrays or tensors. The labels, (n, K), are small: they are
NumPy arrays, and only they are copied to the device and back.
"""

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace, device, is_torch_array
from scipy.linalg.blas import dtrsm, strsm
from scipy.linalg.lapack import dpotrf, dpotri

from oneof.arrays import as_floats, as_numpy, precision_of, to_namespace_of
from oneof.solvers.loo_ridge.blocks import row_slices
from oneof.typing import Array, FeatureMatrix, Floats

TILE_ROWS = 512
"""Number of rows that are transposed at a time."""
SQUARE_BLOCK_ROWS = 4096
"""Number of rows whose products are summed in their own precision before they are added in float64."""


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
