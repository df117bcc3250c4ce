"""Oracles of the model of annotators, with loops over answers, and of Krippendorff's alpha, over pairs of answers."""

from math import comb

import numpy as np


def dawid_skene(
    answers, n_rows, n_sources, n_classes, start, *, n_iter, strength=0.0, prior=0.0, pool_share=1.0, floor=1e-10
):
    """Return the posterior after EM iterations; answers are (row, source, class) triples."""
    mu = start.copy()
    for _ in range(n_iter):
        pool = np.empty((n_classes, n_classes))
        for k in range(n_classes):
            for a in range(n_classes):
                smoothing = (n_classes if a == k else 1.0) / (2 * n_classes - 1)
                pool[k, a] = smoothing + sum(mu[i, k] for i, _, b in answers if b == a)
        total = pool.sum()
        rates = np.array([pool[k] / pool[k].sum() for k in range(n_classes)])
        for k in range(n_classes):
            mean = [(rates[k, a] + rates[a, k]) / 2 for a in range(n_classes)]
            pool[k] += pool_share * total / n_classes * np.array(mean) / sum(mean)
            pool[k] /= pool[k].sum()
        theta = np.empty((n_sources, n_classes, n_classes))
        for j in range(n_sources):
            for k in range(n_classes):
                total = strength + sum(mu[i, k] for i, s, _ in answers if s == j)
                for a in range(n_classes):
                    count = strength * pool[k, a] + sum(mu[i, k] for i, s, b in answers if (s, b) == (j, a))
                    theta[j, k, a] = max(count, floor) / max(total, floor)
        share = (1 - prior) * mu.mean(axis=0) + prior / n_classes if np.ndim(prior) == 0 else prior
        for i in range(n_rows):
            for k in range(n_classes):
                mu[i, k] = share[k] * np.prod([theta[j, k, a] for r, j, a in answers if r == i])
            mu[i] /= mu[i].sum()
    return mu


def one_coin(answers, n_rows, n_sources, n_classes, start, *, n_iter, strength):
    """Return the posterior and the accuracies; answers are (row, source, set) triples, the prior is uniform."""
    mu = start.copy()
    for _ in range(n_iter):
        right = np.zeros(n_sources)
        total = np.zeros(n_sources)
        for i, j, members in answers:
            right[j] += sum(mu[i, k] for k in members)
            total[j] += 1
        chance = sum(len(members) / n_classes for _, _, members in answers) / len(answers)
        rate = max((right.sum() + 1) / (total.sum() + 2), chance)
        accuracy = (right + strength * rate) / (total + strength)
        for i in range(n_rows):
            for k in range(n_classes):
                mu[i, k] = 1.0
                for r, j, members in answers:
                    if r == i and k in members:
                        mu[i, k] *= accuracy[j] / comb(n_classes - 1, len(members) - 1)
                    elif r == i:
                        mu[i, k] *= (1 - accuracy[j]) / comb(n_classes - 1, len(members))
            mu[i] /= mu[i].sum()
    return mu, accuracy


def krippendorff_alpha(units, distance):
    """Return alpha of lists of answers to the same row, by pairs of answers."""
    units = [unit for unit in units if len(unit) >= 2]
    values = [answer for unit in units for answer in unit]
    n = len(values)
    observed = 0.0
    for unit in units:
        total = sum(distance(a, b) for x, a in enumerate(unit) for y, b in enumerate(unit) if x != y)
        observed += total / (len(unit) - 1)
    expected = sum(distance(a, b) for x, a in enumerate(values) for y, b in enumerate(values) if x != y)
    return 1 - (observed / n) / (expected / (n * (n - 1)))


def masi(a, b):
    """Return the MASI distance of two sets."""
    if a == b:
        overlap = 1.0
    elif a <= b or b <= a:
        overlap = 2 / 3
    else:
        overlap = 1 / 3 if a & b else 0.0
    return 1 - overlap * len(a & b) / len(a | b)
