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


def joint(proba, sets, rate, confusion):
    """Return the joint probabilities of each set with each class, (n, K): of right and of wrong sets."""
    right, mistaken = np.zeros((2, *proba.shape))
    for (i, k), p in np.ndenumerate(proba):
        members = sets[i]
        right[i, k] = p * (1 - rate) * (k in members) / comb(len(confusion) - 1, len(members) - 1)
        mistaken[i, k] = p * rate * wrong_set_probability(members, k, confusion)
    return right, mistaken


def e_step(proba, sets, rate, confusion):
    """Return the probability that each set is wrong; sets are tuples of classes."""
    right, mistaken = joint(proba, sets, rate, confusion)
    return mistaken.sum(axis=1) / (right + mistaken).sum(axis=1)


def confusion_step(proba, sets, rate, confusion, strength):
    """Return R after an M-step: the expected counts of wrong labels, with pseudo-rows of equal probabilities."""
    K = proba.shape[1]
    counts = strength / (K - 1) * (1 - np.eye(K))
    right, mistaken = joint(proba, sets, rate, confusion)
    for members, mass in zip(sets, mistaken / (right + mistaken).sum(axis=1, keepdims=True), strict=True):
        for k in np.flatnonzero(mass):
            counts[k, list(members)] += mass[k] * confusion[k, list(members)] / confusion[k, list(members)].sum()
    return counts / counts.sum(axis=1, keepdims=True)
