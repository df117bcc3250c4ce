"""Kernels and their Gram matrices k(x_i, y_j).

Reading order: `pairwise` (products, distances and variances of rows, and checks of Gram matrices), `city_block` (sums
of absolute differences), `svc` (kernels of SVC), `gaussian_process` (kernels of Gaussian processes), `nystroem`,
`feature_maps` and `mapped` (kernels of transformed features).
"""

from oneof.kernels.gaussian_process import covariance, is_psd_by_construction, variances
from oneof.kernels.pairwise import check_gram, check_square, total_variance
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
