"""Oracle of the model of wrong sets: every set is enumerated, and every row is a loop over classes."""

from math import comb

import numpy as np


def wrong_set_probability(members, true_class, confusion):
    """Return p(S | k, wrong): a label of S by the confusion of k, and all other members at random."""
    K, s = len(confusion), len(members)
    if true_class in members:
        return 0.0
    # Each set with the wrong label j and without k is equally probable given j.
    return sum(confusion[true_class, j] for j in members) * (K - 1) / (s * comb(K - 1, s))


def e_step(proba, sets, rates, confusion):
    """Return the probability that each set is wrong, and the posterior of the classes; sets are tuples of classes."""
    n, K = proba.shape
    wrong, posterior = np.zeros(n), np.zeros((n, K))
    for i, members in enumerate(sets):
        right_total = wrong_total = 0.0
        for k in range(K):
            right = proba[i, k] * (1 - rates[i]) * (k in members) / comb(K - 1, len(members) - 1)
            mistaken = proba[i, k] * rates[i] * wrong_set_probability(members, k, confusion)
            right_total += right
            wrong_total += mistaken
            posterior[i, k] = right + mistaken
        wrong[i] = wrong_total / (right_total + wrong_total)
        posterior[i] /= posterior[i].sum()
    return wrong, posterior


def confusion_step(proba, sets, rates, confusion, strength):
    """Return R after an M-step: the expected counts of wrong labels, with pseudo-rows of equal probabilities."""
    K = proba.shape[1]
    counts = np.full((K, K), strength / (K - 1))
    np.fill_diagonal(counts, 0.0)
    for i, members in enumerate(sets):
        total = sum(
            proba[i, k] * (1 - rates[i]) * (k in members) / comb(K - 1, len(members) - 1)
            + proba[i, k] * rates[i] * wrong_set_probability(members, k, confusion)
            for k in range(K)
        )
        for k in range(K):
            mistaken = proba[i, k] * rates[i] * wrong_set_probability(members, k, confusion) / total
            of_set = sum(confusion[k, j] for j in members)
            for j in members:
                counts[k, j] += mistaken * confusion[k, j] / of_set if mistaken else 0.0
    return counts / counts.sum(axis=1, keepdims=True)
