"""Laplace evidence of Gaussian processes on candidate sets, by its definition over all nK latents."""

import math

import numpy as np


def evidence(grams, mask, sharpness, coefficients):
    """Return Psi(F) - 1/2 log |I + K W| for F = K A, with the K Gram matrices as the blocks of one."""
    n, n_classes = mask.shape
    K = np.zeros((n_classes * n, n_classes * n))
    for k, gram in enumerate(grams):
        K[k * n : (k + 1) * n, k * n : (k + 1) * n] = gram
    a = coefficients.T.ravel()
    f = K @ a
    psi, W = -0.5 * a @ f, np.zeros_like(K)
    for i in range(n):
        row = [f[k * n + i] for k in range(n_classes)]
        inside = [
            row[k] + math.log(mask[i, k]) for k in range(n_classes) if mask[i, k]
        ]  # a mask, or weights, for L >= 1
        top, largest = max(row), max(inside)
        total = math.fsum(math.exp(v - top) for v in row)
        psi += largest - top - math.log(total)
        if sharpness < math.inf:
            psi += math.log(math.fsum(math.exp(sharpness * (v - largest)) for v in inside)) / sharpness
        pi = [math.exp(v - top) / total for v in row]
        for k in range(n_classes):
            for j in range(n_classes):
                W[k * n + i, j * n + i] = (pi[k] if k == j else 0.0) - pi[k] * pi[j]
    sign, log_det = np.linalg.slogdet(np.eye(len(K)) + K @ W)
    assert sign > 0
    return psi - 0.5 * log_det
