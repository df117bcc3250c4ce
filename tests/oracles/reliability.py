"""Oracle of the reliability of answers: sets are drawn literally, and the maximum is found by a general optimizer."""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize


def answer_probability(answer, k, n_classes, q):
    """Return the probability that an annotator of reliability q gives this set, given the true class k and the size.

    The annotator draws from the sets of this size that contain k with probability q, and from all of them otherwise.
    """
    sets = [set(one) for one in combinations(range(n_classes), len(answer))]
    right = [one for one in sets if k in one]
    return q * right.count(set(answer)) / len(right) + (1 - q) * sets.count(set(answer)) / len(sets)


def log_posterior(q, answers, known, n_classes, mean, strength):
    """Return the log-posterior of q up to a constant; answers are (row, group, set) triples."""
    total = sum(t * (m * np.log(x) + (1 - m) * np.log(1 - x)) for x, m, t in zip(q, mean, strength))
    for row in {i for i, _, _ in answers}:
        classes = [known[row]] if row in known else range(n_classes)
        given = [(g, members) for i, g, members in answers if i == row]
        products = [np.prod([answer_probability(a, k, n_classes, q[g]) for g, a in given]) for k in classes]
        total += np.log(np.mean(products))
    return total


def reliability(answers, known, n_classes, mean, strength):
    """Return the maximum of the posterior, and the standard deviations of a Laplace approximation in the logits."""

    def loss(x):
        return -log_posterior(1 / (1 + np.exp(-x)), answers, known, n_classes, mean, strength)

    start = np.log(np.array(mean) / (1 - np.array(mean)))
    x = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-11, "maxiter": 20_000}).x
    n, h = len(x), 1e-3
    hessian = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            e, f = h * np.eye(n)[i], h * np.eye(n)[j]
            hessian[i, j] = (loss(x + e + f) - loss(x + e - f) - loss(x - e + f) + loss(x - e - f)) / (4 * h * h)
    return 1 / (1 + np.exp(-x)), np.sqrt(np.diag(np.linalg.inv(hessian)))
