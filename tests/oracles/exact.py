"""Errors of solutions in 50 digits: NumPy arrays of mpmath's numbers, without floating point.

A solution is compared with the optimality condition, not with a second solution: close to the optimum, the error is a
Newton step in 50 digits. If the Hessian is too large for that, strong convexity by lam bounds the error:
||W - W_best|| <= ||gradient|| / lam. Formulas of other oracles hold in both precisions, by functions that accept
arrays of float64 as well.
"""

import mpmath
import numpy as np
from mpmath import mpf

from tests.oracles import graph_logistic
from tests.oracles.precision import exp, inverse, length, matrix

MAX_WEIGHTS = 16
"""Largest number of weights for which the Hessian is formed."""
EIGENVALUE_TOL = mpf("1e-9")
"""Eigenvalues with a smaller difference have one rank, as in the spectral graph transducer."""


def difference(values, exact):
    """Return the largest difference from the exact values, divided by the largest exact value."""
    largest, gap = np.abs(exact).max(), np.abs(matrix(values) - exact).max()
    return float(gap / largest if largest else gap)


def relative(gradient, weights, lam, X, curvatures):
    """Return ||step|| / ||W|| of a Newton step, or a bound on the error if there are too many weights.

    `curvatures` are the (K, K) matrices of second derivatives by the scores of each row; the penalty adds lam.
    """
    size = length(weights) or mpf(1)
    if weights.size > MAX_WEIGHTS:
        return float(length(gradient) / (lam * size))
    H = lam * matrix(np.eye(weights.size)) + sum(np.kron(c, np.outer(x, x)) for x, c in zip(X, curvatures, strict=True))
    return float(length(inverse(H) @ gradient.ravel()) / size)


def clpl_error(coef, X, mask, C, count):
    """Return the relative error of CLPL's weights, whose objective is strongly convex by 1."""
    labeled = ~mask.all(axis=1)
    W, X, mask, weight = matrix(coef), matrix(X[labeled]), mask[labeled], matrix(2 * C * count[labeled])
    inside, outside = matrix(mask) / matrix(mask.sum(axis=1, keepdims=True)), matrix(~mask)
    scores = X @ W.T
    mean = (inside * scores).sum(axis=1, keepdims=True)
    slopes = weight[:, None] * (outside * np.maximum(1 + scores, 0) - inside * np.maximum(1 - mean, 0))
    curvatures = (
        w * (int(m[0] < 1) * np.outer(k, k) + np.diag(o * matrix(s > -1)))
        for w, m, k, o, s in zip(weight, mean, inside, outside, scores, strict=True)
    )
    return relative(W + slopes.T @ X, W, 1, X, curvatures)


def plem_error(coef, X, mask, lam, count):
    """Return the relative error of PLEM's weights on exact labels; the objective is strongly concave by lam."""
    W, X, weight = matrix(coef), matrix(X), matrix(count)
    scores = X @ W.T
    p = exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    gradient = lam * W + (weight[:, None] * (p - matrix(mask))).T @ X
    return relative(gradient, W, lam, X, (w * (np.diag(q) - np.outer(q, q)) for w, q in zip(weight, p, strict=True)))


def nonnegative_error(gram, cross, weights):
    """Return the relative violation of the optimality conditions of min ||x - sum w_j x_j||^2, w >= 0."""
    G, c, w = matrix(gram), matrix(cross), matrix(weights)
    derivatives = G @ w - c
    # A derivative is a difference of terms, and as accurate as the larger of them.
    unit = max(np.abs(c).max(), (np.abs(G) @ w).max()) or mpf(1)
    return float(np.where(weights > 0, np.abs(derivatives), np.maximum(-derivatives, 0)).max() / unit)


def mode_error(F, gram, mask):
    """Return the relative residual of F = K (q - pi) at the latent mode of PLGP with infinite sharpness."""
    inside = np.where(mask, F, -np.inf)
    q = matrix(inside == inside.max(axis=1, keepdims=True))
    pi = exp(matrix(F) - matrix(F).max(axis=1, keepdims=True))
    residual = q / q.sum(axis=1, keepdims=True) - pi / pi.sum(axis=1, keepdims=True)
    return difference(F, matrix(gram) @ (residual * matrix(~mask.all(axis=1, keepdims=True))))


def margins(svm, X):
    """Return the decision values of an SVM with a Gaussian kernel, or its only class if it has a single one."""
    if len(svm.classes_) == 1:
        return matrix(np.full(len(X), svm.classes_[0]))
    squares = ((X[:, None] - matrix(svm.support_vectors_)) ** 2).sum(axis=2)
    return exp(-squares * float(svm._gamma)) @ matrix(svm.dual_coef_[0]) + float(svm.intercept_[0])


def vote_error(X, mask, new, neighbors, proba):
    """Return the relative excess distance of the neighbors, or the error of the probabilities if it is larger.

    Any of several rows at one distance can be a neighbor, so that distances are compared instead of rows.
    """
    distances = ((matrix(new)[:, None] - matrix(X)) ** 2).sum(axis=2) ** 0.5
    chosen, k = np.take_along_axis(distances, neighbors, axis=1), neighbors.shape[1]
    far, near = np.sort(chosen, axis=1), np.sort(distances, axis=1)[:, :k]
    excess = max((a - b) / a for a, b in zip(far.ravel(), near.ravel(), strict=True) if a)
    total = chosen.sum(axis=1, keepdims=True)
    weights = np.where((total == 0) | (k == 1), 1, 1 - chosen / np.where(total == 0, 1, total))
    votes = (weights[:, :, None] * matrix(mask)[neighbors]).sum(axis=1)
    return max(float(excess), difference(proba, votes / votes.sum(axis=1, keepdims=True)))


def duality_gap(X, signs, costs, beta, intercept):
    """Return the duality gap of a linear SVM, relative to its objective.

    The weights are sum_i beta_i x_i. In the dual, beta is clipped to its bounds, and a nonzero sum of beta is
    multiplied by the intercept, as if that were optimal.
    """
    X, y, C, beta, b = matrix(X), matrix(signs), matrix(costs), matrix(beta), mpf(float(intercept))
    clipped = y * np.minimum(np.maximum(y * beta, 0), C)
    w, clipped_w = beta @ X, clipped @ X
    value = w @ w / 2 + C @ np.maximum(0, 1 - y * (X @ w + b))
    dual = y @ clipped - clipped_w @ clipped_w / 2 - abs(b * clipped.sum())
    return float((value - dual) / value) if value else 0.0


def smoothness_error(features, affinity, weight, smoothness):
    """Return the largest error of X^T L X, relative to the roots of its diagonal."""
    X, W = matrix(features), matrix(affinity) * np.outer(matrix(weight), matrix(weight))
    exact = X.T @ (np.diag(W.sum(axis=1)) - W) @ X
    roots = np.where(np.diag(exact) == 0, 1, np.diag(exact)) ** 0.5
    return float(np.abs((exact - matrix(smoothness)) / np.outer(roots, roots)).max())


def weight_error(features, mask, count, weights, Lambda):
    """Return the relative distance of weights from the mode of l(w) - 1/2 sum_c w_c^T Lambda w_c, on exact labels.

    The distance is a Newton step in the metric of the Hessian. `count` is the number of occurrences of each row; the
    last class has weights of 0.
    """
    X, W, count = matrix(features), matrix(weights), matrix(count)
    likelihood = graph_logistic.gradient(X, matrix(mask), W, count).ravel()
    prior, w = np.kron(matrix(np.eye(len(W))), matrix(Lambda)), W.ravel()
    g = likelihood - prior @ w
    if w.size > MAX_WEIGHTS:
        return float(length(g) / (length(likelihood) or 1))
    H = graph_logistic.data_hessian(X, W, count) + prior
    return float((g @ inverse(H) @ g / (w @ H @ w)) ** 0.5) if w.any() else float(length(g))


def consistency_bound(W, labels, values, alpha):
    """Return a bound on the relative error of the distributions of F; W is sparse.

    With the residual r of F, D^-1/2 times its error is (I - alpha D^-1 W)^-1 D^-1/2 r, and the rows of this inverse,
    which has no negative entry, sum to 1 / (1 - alpha).
    """
    alpha, F = mpf(alpha), matrix(values)
    roots = np.array([matrix(W.data[a:b]).sum() ** 0.5 or mpf(1) for a, b in zip(W.indptr, W.indptr[1:])])
    residual = matrix(labels[:, None] == np.arange(F.shape[1])) * (1 - alpha) - F
    for i, (a, b) in enumerate(zip(W.indptr, W.indptr[1:])):
        j = W.indices[a:b]
        residual[i] += alpha * (matrix(W.data[a:b]) / (roots[i] * roots[j])) @ F[j]
    mass = F.sum(axis=1) / roots
    return float(2 * np.abs(residual / roots[:, None]).max() / (1 - alpha) / mass[mass > 0].min())


def cut_error(W, labels, relative_scores, d, c):
    """Return the largest relative violation of the optimality conditions by the scores of a spectral cut.

    The relative scores, (n, K), are the scores z on the scale of their targets: (z - gamma_-) / (gamma_+ - gamma_-).
    With w = V^T z in exact eigenvectors, (G - lam I) w = b for a lam that is at most the smallest eigenvalue of G,
    ||w||^2 = n, and z = V w.
    """
    n, W = len(labels), matrix(W)
    root = W.sum(axis=1) ** 0.5
    L = matrix(np.eye(n)) - W / np.outer(root, root)
    values, vectors = mpmath.eigsy(mpmath.matrix(L.tolist()))
    selected, ranks = range(1, min(d, n - 1) + 1), []
    for rank, j in enumerate(selected, start=1):
        ranks.append(ranks[-1] if ranks and values[j] - values[j - 1] <= EIGENVALUE_TOL else mpf(rank))
    V, labeled, worst = np.array(vectors.tolist())[:, list(selected)], labels >= 0, mpf(0)
    for k, scores in enumerate(matrix(relative_scores).T):
        positive = labels == k
        l_pos, l_neg = mpf(int(positive.sum())), mpf(int((labeled & ~positive).sum()))
        if not l_pos or not l_neg:
            worst = max(worst, np.abs(scores - int(bool(l_pos))).max())
            continue
        high, low = (l_neg / l_pos) ** 0.5, -((l_pos / l_neg) ** 0.5)
        C = np.where(labeled, c * (l_pos + l_neg) / 2 / np.where(positive, l_pos, l_neg), 0)
        G, b = np.diag(np.array(ranks) ** 2) + V.T @ (C[:, None] * V), V.T @ (C * np.where(positive, high, low))
        z = low + scores * (high - low)
        w = V.T @ z
        gradient = G @ w - b
        lam = gradient @ w / n
        least = mpmath.eigsy(mpmath.matrix(G.tolist()), eigvals_only=True)[0]
        stationary, spanned = length(gradient - lam * w) / length(b), length(z - V @ w) / length(z)
        worst = max(worst, stationary, (lam - least) / np.diag(G).max(), abs(w @ w / n - 1), spanned)
    return float(worst)
