"""Kernels, and the Gram matrices k(x_i, y_j) that they make of rows: those of SVC, and those of Gaussian processes."""

from oneof.kernels.gaussian_process import covariance, is_psd_by_construction, variances
from oneof.kernels.gram import check_gram, check_square
from oneof.kernels.spread import total_variance
from oneof.kernels.svc import KERNELS, Kernel

__all__ = [
    "KERNELS",
    "Kernel",
    "check_gram",
    "check_square",
    "covariance",
    "is_psd_by_construction",
    "total_variance",
    "variances",
]
