"""Label diffusion over a graph by the definitions, with dense matrices."""

import numpy as np

from tests.oracles.precision import inverse, log


def laplacian(W):
    """Return D - W."""
    return np.diag(W.sum(axis=1)) - W


def harmonic(W, labeled, Y):
    """Return F with F = Y in the labeled rows and F_U = L_UU^-1 W_UL Y_L in the others."""
    F, free, L = 1.0 * Y, ~labeled, laplacian(W)
    F[free] = inverse(L[np.ix_(free, free)]) @ W[np.ix_(free, labeled)] @ F[labeled]
    return F


def soft_harmonic(W, labeled, Y, c, ridge):
    """Return the minimizer of tr F'LF + c sum_labeled |f_i - y_i|^2 + ridge |F|^2."""
    C = np.diag(np.where(labeled, float(c), 0.0))
    return np.linalg.inv(laplacian(W) + C + ridge * np.eye(len(W))) @ C @ Y


def criterion(W, labeled, Y, c, ridge, F):
    """Return the objective of `soft_harmonic`, as a sum over pairs of rows."""
    n = len(Y)
    smooth = sum(0.5 * W[i, j] * ((F[i] - F[j]) ** 2).sum() for i in range(n) for j in range(n))
    fit = sum(c * ((F[i] - Y[i]) ** 2).sum() for i in range(n) if labeled[i])
    return smooth + fit + ridge * (F**2).sum()


def normalized(W):
    """Return S = D^-1/2 W D^-1/2."""
    root = W.sum(axis=1) ** 0.5
    return W / np.outer(root, root)


def consistency(W, Y, alpha):
    """Return (1 - alpha) (I - alpha S)^-1 Y."""
    return (1 - alpha) * inverse(np.eye(len(W)) - alpha * normalized(W)) @ Y


def restrict(row, weights, mass):
    """Return a row times its weights (0 or 1 for a set), scaled to a mass; the weights if no mass is left."""
    inside = weights * row
    if inside.sum() == 0:
        inside = weights.astype(float)
    return inside / inside.sum() * mass


def kinds(weights):
    """Flag the rows with one candidate, and the constrained ones: those with several that are not all equal."""
    exact = (weights > 0).sum(axis=1) == 1
    return exact, ~exact & (weights < 1).any(axis=1)


def sweep_harmonic(W, weights, n_sweeps, c=None, ridge=0.0):
    """Return F after plain sweeps of all rows from their scaled weights; exact rows are clamped, or penalized by c.

    Weights are 0 and 1 for sets. Rows are scaled to sum 1 at the end. Sweeps that change nothing but the last bit are
    left out.
    """
    exact, constrained = kinds(weights)
    Y = weights / weights.sum(axis=1, keepdims=True)
    F = Y.copy()
    for _ in range(n_sweeps):
        new = np.empty_like(F)
        for i in range(len(F)):
            penalty = c if c is not None and exact[i] else 0.0
            if exact[i] and c is None:
                new[i] = Y[i]
                continue
            weight = W[i].sum() + penalty + ridge
            new[i] = (W[i] @ F + penalty * Y[i]) / weight if weight > 0 else F[i]
            if constrained[i]:
                new[i] = restrict(new[i], weights[i], new[i].sum())
        F, change = new, np.abs(new - F).max()
        if change <= np.finfo(float).eps / 2:
            break
    return F / F.sum(axis=1, keepdims=True)


def sweep_consistency(W, weights, alpha, n_sweeps):
    """Return F after plain sweeps F <- alpha S F + (1 - alpha) Y from Y; rows of several candidates are constrained.

    In these the weights multiply alpha S F only, since Y has them already.
    """
    exact, constrained = kinds(weights)
    Y = np.where((exact | constrained)[:, None], weights / weights.sum(axis=1, keepdims=True), 0.0)
    S, F = normalized(W), Y.copy()
    for _ in range(n_sweeps):
        new = alpha * S @ F + (1 - alpha) * Y
        for i in range(len(F)):
            if constrained[i]:
                mass, new[i] = new[i].sum(), alpha * weights[i] * (S[i] @ F) + (1 - alpha) * Y[i]
                new[i] *= mass / new[i].sum()
        F = new
    return F


def start_probabilities(W, n_steps, self_weight=1.0):
    """Return P_0|t(i | x) as (i, x), from the t-th power of the transition matrix."""
    A = W + self_weight * np.eye(len(W))
    P = A / A.sum(axis=1, keepdims=True)
    walked = np.linalg.matrix_power(P, n_steps)
    return walked / walked.sum(axis=0, keepdims=True)


def walk_em(Q, mask, n_iter):
    """Return theta after some iterations of EM from uniform theta, and the log likelihood before and after each.

    The mask may be weights.
    """
    labeled = (mask < 1).any(axis=1)
    theta, trace = (0 * mask + 1) / mask.shape[1], []
    for t in range(n_iter + 1):
        inside = (mask * (Q.T @ theta))[labeled].sum(axis=1, keepdims=True)
        trace.append(log(inside).sum())
        if t < n_iter:
            expected = theta * (Q[:, labeled] @ (mask[labeled] / inside))
            total = expected.sum(axis=1, keepdims=True)
            theta = np.where(total > 0, expected / np.where(total > 0, total, 1), theta)
    return theta, trace
