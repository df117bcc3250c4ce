"""Oracle of graph-prior logistic regression: the equations of the papers with full dense matrices.

The mask of the candidates may be their weights.
"""

import numpy as np
from scipy.optimize import approx_fprime, minimize

from tests.oracles.precision import exp


def precision_matrix(terms, precisions, n_vectors):
    """Return Lambda over all classes, ((K-1) D,) * 2."""
    D = terms[0].matrix.shape[0]
    shared = np.zeros((D, D))
    for term in terms:
        P = term.matrix.toarray() if hasattr(term.matrix, "toarray") else term.matrix
        shared += np.diag(precisions[term.name] * np.diag(P)) if term.per_weight else precisions[term.name] * P
    return np.kron(np.eye(n_vectors), shared)


def probabilities(X, W):
    """Return the softmax of the scores, with 0 for the last class."""
    scores = np.hstack([X @ W.T, np.zeros((len(X), 1))])
    exponentials = exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def likelihood(X, mask, W):
    """Return sum_i log sum_k mask_ik p_ik."""
    return float(np.log((mask * probabilities(X, W)).sum(axis=1)).sum())


def gradient(X, mask, W, sample_weight=None):
    """Return the gradient of the likelihood, (K-1, D)."""
    p = probabilities(X, W)
    q = mask * p
    q /= q.sum(axis=1, keepdims=True)
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    return ((q - p) * weight[:, None])[:, :-1].T @ X


def mode(X, mask, Lambda, start):
    """Maximize l(w) - 1/2 w^T Lambda w by scipy."""

    def loss(w):
        W = w.reshape(start.shape)
        value = 0.5 * w @ Lambda @ w - likelihood(X, mask, W)
        return value, Lambda @ w - gradient(X, mask, W).ravel()

    options = {"gtol": 1e-10, "maxiter": 10_000}
    return minimize(loss, start.ravel(), jac=True, method="BFGS", options=options).x.reshape(start.shape)


def data_hessian(X, W, sample_weight=None):
    """Return sum_i v_i (diag p_i - p_i p_i^T) kron x_i x_i^T, by kron."""
    p = probabilities(X, W)[:, :-1]
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    return sum(v * np.kron(np.diag(q) - np.outer(q, q), np.outer(x, x)) for x, q, v in zip(X, p, weight, strict=True))


def log_determinant(matrix):
    """Return the logarithm of the product of the nonzero eigenvalues."""
    values = np.linalg.eigvalsh(matrix)
    return float(np.log(values[values > 1e-10 * values[-1]]).sum())


def evidence(X, mask, W, terms, precisions):
    """Return the Laplace evidence at a mode, by brute force."""
    Lambda = precision_matrix(terms, precisions, len(W))
    w = W.ravel()
    H = Lambda + data_hessian(X, W)
    return likelihood(X, mask, W) - 0.5 * w @ Lambda @ w + 0.5 * (log_determinant(Lambda) - log_determinant(H))


def evidence_gradient(X, mask, W, terms, precisions):
    """Differentiate the evidence by each log precision, with the mode updated and the curvature fixed."""
    start, curvature = np.log([precisions[term.name] for term in terms]), data_hessian(X, W)

    def value(x):
        Lambda = precision_matrix(terms, {term.name: p for term, p in zip(terms, np.exp(x), strict=True)}, len(W))
        w = W.ravel()  # the objective is stationary at the mode, so that its shift has no effect
        fit = likelihood(X, mask, W) - 0.5 * w @ Lambda @ w
        return fit + 0.5 * (log_determinant(Lambda) - log_determinant(Lambda + curvature))

    return approx_fprime(start, value, 1e-5)


def integrated(X, mask, W, terms, alpha, beta):
    """Return F(w), the objective with the precisions integrated out."""
    total = likelihood(X, mask, W)
    for term in terms:
        P = term.matrix.toarray() if hasattr(term.matrix, "toarray") else term.matrix
        if term.per_weight:
            penalized = np.diag(P) > 0
            squares, rank = W[:, penalized] ** 2, 1
        else:
            squares, rank = np.array([w @ P @ w for w in W]), np.linalg.matrix_rank(P)
        squares, counts = squares.sum(axis=0), float(rank * len(W))
        total -= float(np.sum((alpha + counts / 2) * np.log(2 * beta + squares)))
    return total
