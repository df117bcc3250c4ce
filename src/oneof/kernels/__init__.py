"""Kernels and their Gram matrices k(x_i, y_j).

Reading order: `pairwise` (products, distances and variances of rows, and checks of Gram matrices), `svc` (kernels of
SVC), `gaussian_process` (kernels of Gaussian processes), `nystroem`, `feature_maps` and `mapped` (kernels of
transformed features, and city-block distances).
"""
