"""Functions of arrays in the precision of their numbers: float64, or 50 digits of mpmath in arrays of objects."""

import mpmath
import numpy as np
from mpmath import mpf

mpmath.mp.dps = 50
matrix = np.frompyfunc(lambda value: mpf(float(value)), 1, 1)
"""Convert numbers to 50 digits; float64 numbers are represented exactly."""


def exp(values):
    """Return the exponentials."""
    return np.frompyfunc(mpmath.exp, 1, 1)(values) if values.dtype == object else np.exp(values)


def log(values):
    """Return the logarithms."""
    return np.frompyfunc(mpmath.log, 1, 1)(values) if values.dtype == object else np.log(values)


def inverse(A):
    """Return the inverse."""
    return np.array((mpmath.matrix(A.tolist()) ** -1).tolist()) if A.dtype == object else np.linalg.inv(A)


def log_det(A):
    """Return the logarithm of the determinant of a positive definite matrix."""
    return mpmath.log(mpmath.det(mpmath.matrix(A.tolist()))) if A.dtype == object else np.linalg.slogdet(A)[1]


def length(values):
    """Return the Frobenius norm."""
    return (values**2).sum() ** 0.5
