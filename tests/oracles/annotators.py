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


def rules(votes, n_rows, n_classes, start, *, n_iter, power=0.5, per_row=0.5):
    """Return the posterior of rules, with uniform class frequencies; votes are (row, rule, set) triples."""
    mu = start.copy()
    columns = sorted({(j, tuple(sorted(members))) for _, j, members in votes})
    cast = {(i, j, tuple(sorted(members))) for i, j, members in votes}
    voted = {i for i, _, _ in votes}
    for _ in range(n_iter):
        rate, inside, outside, n_inside = {}, {}, {}, {}
        for j, members in columns:
            rows = [i for i in range(n_rows) if (i, j, members) in cast]
            rate[j, members] = len(rows) / n_rows
            inside[j, members] = sum(mu[i, k] for i in rows for k in members)
            outside[j, members] = len(rows) - inside[j, members]
            n_inside[j, members] = sum(mu[i, k] for i in range(n_rows) for k in members)
        lift = max(1.0, sum(inside.values()) / sum(rate[c] * n_inside[c] for c in columns))
        drop = min(1.0, sum(outside.values()) / sum(rate[c] * (n_rows - n_inside[c]) for c in columns))
        s = per_row * n_rows
        for i in range(n_rows):
            logs = np.zeros(n_classes)
            for j, members in columns if i in voted else []:
                c = (j, members)
                for k in range(n_classes):
                    if k in members:
                        r = (inside[c] + s * lift * rate[c]) / (n_inside[c] + s)
                    else:
                        r = (outside[c] + s * drop * rate[c]) / (n_rows - n_inside[c] + s)
                    logs[k] += np.log(r) if (i, j, members) in cast else power * np.log(1 - r)
            mu[i] = np.exp(logs) / np.exp(logs).sum()
    return mu


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


def class_counts(answers, posterior, n_sources):
    """Return the expected numbers of correct answers and of answers by source and class; answers have sets."""
    n_classes = posterior.shape[1]
    right, totals = np.zeros((n_sources, n_classes)), np.zeros((n_sources, n_classes))
    for i, j, members in answers:
        for k in range(n_classes):
            totals[j, k] += posterior[i, k]
            right[j, k] += posterior[i, k] if k in members else 0.0
    return right, totals


def pair_kappa(one, other, distance):
    """Return the number of common rows, the agreement and Cohen's kappa of two lists of sets, None for no answer."""
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    n = len(both)
    observed = sum(distance(a, b) for a, b in both) / n
    expected = sum(distance(a, b) for a, _ in both for _, b in both) / n**2
    return n, 1 - observed, 1 - observed / expected if expected else float("nan")
