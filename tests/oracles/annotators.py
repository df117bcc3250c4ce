"""Oracles of the model of annotators, with loops over answers, and of Krippendorff's alpha, over pairs of answers."""

from math import comb

import numpy as np


def dawid_skene(
    answers, n_rows, n_sources, n_classes, start, *, n_iter, strength=0.0, prior=None, pooled=10.0, floor=1e-10
):
    """Return the posterior after EM iterations; answers are (row, source, class) triples. All rows have answers."""
    mu, pooled = start.copy(), pooled if strength > 0 else 0.0
    for _ in range(n_iter):
        right = sum(mu[i, a] for i, _, a in answers)
        rate = max((right + 1) / (len(answers) + 2), 1 / n_classes)
        errors = np.zeros((n_classes, n_classes))
        for k in range(n_classes):
            for a in range(n_classes):
                if a != k:
                    errors[k, a] = max(pooled * (1 - rate) / (n_classes - 1), floor)
                    errors[k, a] += sum(mu[i, k] for i, _, b in answers if b == a)
            errors[k] /= errors[k].sum()
        theta = np.empty((n_sources, n_classes, n_classes))
        for j in range(n_sources):
            own = [(i, a) for i, s, a in answers if s == j]
            accuracy = (sum(mu[i, a] for i, a in own) + strength * rate) / max(len(own) + strength, floor)
            for k in range(n_classes):
                total = strength + sum(mu[i, k] for i, _ in own)
                for a in range(n_classes):
                    mean = accuracy if a == k else (1 - accuracy) * errors[k, a]
                    count = strength * mean + sum(mu[i, k] for i, b in own if b == a)
                    theta[j, k, a] = max(count, floor) / max(total, floor)
        named = np.array([sum(b == a for _, _, b in answers) for a in range(n_classes)]) / len(answers)
        fitted = (mu.sum(axis=0) + pooled * n_classes * named) / (n_rows + pooled * n_classes)
        share = fitted if prior is None else prior
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


def rules(votes, n_rows, n_classes, start, *, n_iter, power=0.5, strength=3000.0):
    """Return the posterior of rules, with uniform class frequencies; votes are (row, rule, set) triples."""
    mu = start.copy()
    columns = sorted({(j, tuple(sorted(members))) for _, j, members in votes})
    cast = {(i, j, tuple(sorted(members))) for i, j, members in votes}
    voted = sorted({i for i, _, _ in votes})
    n_voted = len(voted)
    for _ in range(n_iter):
        rows = {c: [i for i in range(n_rows) if (i, *c) in cast] for c in columns}
        inside = {c: sum(mu[i, k] for i in rows[c] for k in c[1]) for c in columns}
        size = {c: sum(mu[i, k] for i in voted for k in c[1]) for c in columns}

        def precision(odds, c, size=size):
            share = size[c] / n_voted
            return odds * share / (odds * share + 1 - share)

        low, high = 1.0, 1e8
        for _ in range(200):  # bisection of the odds ratio by which the expected number of right votes is that of mu
            odds = np.sqrt(low * high)
            expected = sum(len(rows[c]) * precision(odds, c) for c in columns)
            low, high = (odds, high) if expected < sum(inside.values()) else (low, odds)
        for i in range(n_rows):
            logs = np.zeros(n_classes)
            for c in columns if i in voted else []:
                share, rate = size[c] / n_voted, len(rows[c]) / n_voted
                for k in range(n_classes):
                    if k in c[1]:
                        mean = rate * precision(odds, c) / share
                        r = (inside[c] + strength * mean) / (size[c] + strength)
                    else:
                        mean = rate * (1 - precision(odds, c)) / (1 - share)
                        r = (len(rows[c]) - inside[c] + strength * mean) / (n_voted - size[c] + strength)
                    logs[k] += np.log(r) if (i, *c) in cast else power * np.log(1 - r)
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
