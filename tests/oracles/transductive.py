"""Transductive SVM by brute force over all labelings, each with an SVM of scikit-learn."""

import warnings
from itertools import combinations

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC


def objective(w_square, scores, signs, costs):
    """Return 1/2 ||w||^2 + sum_i C_i xi_i."""
    return 0.5 * w_square + float(costs @ np.maximum(0.0, 1.0 - signs * scores))


def svm(gram, signs, costs):
    """Return the minimum objective and the scores for given signs, which must include both."""
    used = np.flatnonzero(costs > 0)
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-7, max_iter=100_000)
    with warnings.catch_warnings():
        # With few features, rounding errors can make libsvm cycle; its result is accurate enough.
        warnings.simplefilter("ignore", ConvergenceWarning)
        svc.fit(gram[np.ix_(used, used)], signs[used], costs[used])
    support, dual = used[svc.support_], svc.dual_coef_[0]
    scores = gram[:, support] @ dual + svc.intercept_[0]
    return objective(dual @ gram[np.ix_(support, support)] @ dual, scores, signs, costs), scores


def best_labeling(gram, signs, n_positive, C, C_unlabeled):
    """Return the minimum objective over all signs of the unlabeled rows with n_positive ones, and these signs."""
    unlabeled = np.flatnonzero(signs == 0)
    costs = np.where(signs == 0, C_unlabeled, C)
    best = np.inf, signs
    for chosen in combinations(unlabeled, n_positive):
        candidate = np.where(signs == 0, -1.0, signs)
        candidate[list(chosen)] = 1.0
        value, _ = svm(gram, candidate, costs)
        if value < best[0]:
            best = value, candidate
    return best


def switchable(scores, signs, unlabeled, margin):
    """Return all pairs (m, l) that meet the published conditions by more than the margin."""
    xi = 1.0 - signs * scores
    return [
        (m, l)
        for m in unlabeled
        for l in unlabeled  # noqa: E741 - the paper's name
        if signs[m] > 0 > signs[l] and xi[m] > margin and xi[l] > margin and xi[m] + xi[l] > 2 + margin
    ]
