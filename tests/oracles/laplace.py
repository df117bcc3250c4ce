"""Laplace approximation of Gaussian processes on candidate sets by its definition, with explicit matrices.

A candidate set is a row of a mask, or of weights between 0 and 1, the largest of which is 1.
Vectors of all latents contain one class after the other, as in Rasmussen & Williams (2006), section 3.5.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag, cho_solve
from scipy.special import logsumexp, softmax


def exponents(f, weights, sharpness):
    """Return log w_k max(1, 1/L) + f_k for the classes with a weight above 0, -inf for the others."""
    factor = max(1.0, 1.0 / sharpness)
    return [float(v) + factor * math.log(w) if w else -math.inf for v, w in zip(f, weights, strict=True)]


def log_likelihood(f, weights, sharpness):
    """Return G_L(f) - log sum_k exp f_k of one row; 0 if all weights are equal."""
    if all(w == 1 for w in weights):
        return 0.0
    inside = np.array(exponents(f, weights, sharpness))
    return (logsumexp(sharpness * inside) / sharpness if sharpness < math.inf else inside.max()) - logsumexp(f)


def probabilities(f, weights, sharpness):
    """Return pi and q of one row."""
    inside = np.array(exponents(f, weights, sharpness))
    q = softmax(sharpness * inside) if sharpness < math.inf else 1.0 * (inside == inside.max())
    return softmax(f), q / q.sum()


def covariance(gram, n_classes):
    """Return the covariance of all latents, (n K, n K), from one Gram matrix or one per class."""
    return block_diag(*(gram if np.ndim(gram) == 3 else [gram] * n_classes))


def psi(F, mask, gram, sharpness):
    """Return sum_i log p(S_i | f_i) - 1/2 f^T K^-1 f."""
    f = F.T.ravel()
    values = [log_likelihood(row, candidates, sharpness) for row, candidates in zip(F, mask, strict=True)]
    return math.fsum(values) - 0.5 * f @ np.linalg.inv(covariance(gram, F.shape[1])) @ f


def gradient(F, mask, gram, sharpness):
    """Return the gradient of Psi, q - pi - K^-1 f, (n, K)."""
    gradients = []
    for row, candidates in zip(F, mask, strict=True):
        pi, q = probabilities(row, candidates, sharpness)
        gradients.append(q - pi)
    inverse = np.linalg.inv(covariance(gram, F.shape[1]))
    return np.array(gradients) - (inverse @ F.T.ravel()).reshape(F.shape[::-1]).T


def hessians(F, mask, sharpness):
    """Return W and W_true, (n K, n K): diag pi - pi pi^T, and the negative Hessian of the log likelihood.

    For L = inf the two are equal, unless candidates tie.
    """
    n, K = F.shape
    W, W_true = np.zeros((n * K, n * K)), np.zeros((n * K, n * K))
    for i in range(n):
        pi, q = probabilities(F[i], mask[i], sharpness)
        block = np.ix_(np.arange(K) * n + i, np.arange(K) * n + i)
        W[block] = W_true[block] = np.diag(pi) - np.outer(pi, pi)
        if sharpness < math.inf:
            W_true[block] -= sharpness * (np.diag(q) - np.outer(q, q))
    return W, W_true


def evidence(grams, mask, sharpness, coefficients):
    """Return Psi(F) - 1/2 log |I + K W| for F = K A, with the K Gram matrices as the blocks of one."""
    K, a = block_diag(*grams), coefficients.T.ravel()
    F = (K @ a).reshape(coefficients.shape[::-1]).T
    values = [log_likelihood(row, candidates, sharpness) for row, candidates in zip(F, mask, strict=True)]
    sign, log_det = np.linalg.slogdet(np.eye(len(K)) + K @ hessians(F, mask, sharpness)[0])
    assert sign > 0
    return math.fsum(values) - 0.5 * a @ K @ a - 0.5 * log_det


class Exact(NamedTuple):
    """Result of algorithm 3.3, as input of algorithm 3.4; the mode is (n, K)."""

    mode: np.ndarray
    evidence: float
    E: list
    M: np.ndarray


def exactly_labeled(gram, y, n_classes):
    """Run Algorithm 3.3 of Rasmussen & Williams; y contains the classes of the rows.

    Line 12 of the algorithm omits -1/2 log |sum_c E_c| from the evidence; equation 3.44 and this function have it.
    """
    n, C = len(y), n_classes
    kernels = list(gram) if np.ndim(gram) == 3 else [gram] * C
    K = block_diag(*kernels)
    targets = np.eye(C)[y].T.ravel()
    R = np.vstack([np.eye(n)] * C)
    f, last = np.zeros(C * n), -np.inf
    for _ in range(200):
        powers = np.exp(f.reshape(C, n))
        pi = (powers / powers.sum(axis=0)).ravel()
        Pi = np.vstack([np.diag(p) for p in pi.reshape(C, n)])
        E, z = [], []
        for c in range(C):
            root = np.diag(np.sqrt(pi.reshape(C, n)[c]))
            L = np.linalg.cholesky(np.eye(n) + root @ kernels[c] @ root)
            E.append(root @ cho_solve((L, True), root))
            z.append(np.log(np.diag(L)).sum())
        M = np.linalg.cholesky(sum(E))
        b = (np.diag(pi) - Pi @ Pi.T) @ f + targets - pi
        all_E = block_diag(*E)
        c = all_E @ K @ b
        a = b - c + all_E @ R @ cho_solve((M, True), R.T @ c)
        f = K @ a
        objective = -0.5 * a @ f + targets @ f - np.log(np.exp(f.reshape(C, n)).sum(axis=0)).sum()
        if abs(objective - last) < 1e-13 * abs(objective):
            break
        last = objective
    else:
        raise AssertionError("Newton's method has not converged")
    half = sum(z) + np.log(np.diag(M)).sum()
    return Exact(f.reshape(C, n).T, objective - half, E, M)


def predict(exact, y, cross, own):
    """Run Algorithm 3.4 of Rasmussen & Williams for one row: the mean, (C,), and covariance, (C, C), of its latents.

    `cross` has its covariances with the n rows, (C, n), and `own` its variances, (C,), class by class.
    """
    F, C = exact.mode, exact.mode.shape[1]
    pi = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
    mean, cov = np.zeros(C), np.zeros((C, C))
    for c in range(C):
        mean[c] = ((np.asarray(y) == c) - pi[:, c]) @ cross[c]
        b = exact.E[c] @ cross[c]
        for k in range(C):
            cov[c, k] = exact.E[k] @ cho_solve((exact.M, True), b) @ cross[k]
        cov[c, c] += own[c] - b @ cross[c]
    return mean, cov
