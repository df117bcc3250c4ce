"""What the values of a kernel must be: of the shape of the rows, finite, symmetric."""

import numpy as np
from array_api_compat import array_namespace

from oneof.errors import InputError
from oneof.typing import Array, Floats, Ints

BLOCK = 256
"""Rows that are compared with their columns at a time: temporaries of all at once would take twice the matrix."""
OVERFLOW = "the kernel overflows: scale the features, for example with StandardScaler."
NOT_FINITE = "the kernel returned NaN or infinity: give finite values."


def check_shape(values: Array, shape: tuple[int, ...]) -> None:
    """Raise unless a kernel returned an array of the shape that its rows ask for."""
    if tuple(values.shape) != shape:
        raise InputError(
            f"the kernel returned an array of shape {tuple(values.shape)}: for these rows it must be of shape {shape}."
        )


def check_finite(values: Array, complaint: str) -> None:
    """Raise with `complaint` if a value is NaN or infinite."""
    xp = array_namespace(values)
    if not xp.all(xp.isfinite(values)):
        raise InputError(complaint)


def check_square(shape: tuple[int, ...]) -> None:
    """Raise unless a precomputed kernel that is to be fitted is that of all pairs of rows."""
    if shape[0] != shape[1]:
        raise InputError(f"fit takes a precomputed kernel of all pairs of rows, square, got shape {shape}.")


def check_gram(gram: Floats, rows: Ints) -> Floats:
    """Return a Gram matrix, (n, n), in float64, or raise where it cannot be one; `rows` are its rows' numbers."""
    lowest = int(gram.diagonal().argmin())
    if gram[lowest, lowest] < 0:
        raise InputError(f"row {rows[lowest]}: k(x, x) is {gram[lowest, lowest]:.4g}, but no kernel is below 0 there.")
    relative, least = 1e-5, 1e-7 * max(float(gram.diagonal().max()), 1e-300)
    for start in range(0, len(gram), BLOCK):
        block, mirrored = gram[start : start + BLOCK], gram[:, start : start + BLOCK].T
        if np.allclose(block, mirrored, rtol=relative, atol=least):
            continue
        i, j = np.unravel_index((np.abs(block - mirrored) - relative * np.abs(mirrored)).argmax(), block.shape)
        raise InputError(
            f"the kernel is not symmetric: k is {block[i, j]:.6g} for rows {rows[start + i]} and {rows[j]}, and "
            f"{mirrored[i, j]:.6g} for rows {rows[j]} and {rows[start + i]}; give a symmetric, positive semi-definite "
            "kernel."
        )
    return gram.astype(np.float64, copy=False)
