"""Oracles of the model of annotators, and of Krippendorff's alpha, over pairs of answers."""

import numpy as np
from scipy.special import comb, softmax


def dawid_skene(
    answers, n_rows, n_sources, n_classes, start, *, n_iter, strength=0.0, prior=None, pooled=10.0, floor=1e-10
):
    """Return the posterior after EM iterations; answers are (row, source, class) triples. All rows have answers."""
    mu, K, pooled, same = start.copy(), n_classes, pooled if strength > 0 else 0.0, np.eye(n_classes)
    given = np.zeros((n_rows, n_sources, K))
    given[tuple(np.transpose(answers))] = 1.0
    named = given.sum(axis=(0, 1)) / len(answers)
    for _ in range(n_iter):
        counts = np.einsum("ik,ija->jka", mu, given)
        right = np.einsum("jkk->j", counts)
        rate = max((right.sum() + 1) / (len(answers) + 2), 1 / K)
        errors = (counts.sum(axis=0) + max(pooled * (1 - rate) / (K - 1), floor)) * (1 - same)
        errors /= errors.sum(axis=1, keepdims=True)
        accuracy = (right + strength * rate) / np.maximum(counts.sum(axis=(1, 2)) + strength, floor)
        accuracy = accuracy[:, None, None]
        mean, total = accuracy * same + (1 - accuracy) * errors, strength + counts.sum(axis=2, keepdims=True)
        theta = np.maximum(strength * mean + counts, floor) / np.maximum(total, floor)
        fitted = (mu.sum(axis=0) + pooled * K * named) / (n_rows + pooled * K)
        mu = (fitted if prior is None else prior) * np.exp(np.einsum("ija,jka->ik", given, np.log(theta)))
        mu /= mu.sum(axis=1, keepdims=True)
    return mu


def as_arrays(answers, n_classes):
    """Return the rows, the sources and the masks of (row, source, set) triples."""
    rows, sources, sets = zip(*answers, strict=True)
    return np.array(rows), np.array(sources), np.array([np.isin(np.arange(n_classes), list(one)) for one in sets])


def one_coin(answers, n_sources, start, *, n_iter, strength):
    """Return the posterior and the accuracies; answers are (row, source, set) triples, the prior is uniform."""
    mu, K = start.copy(), start.shape[1]
    i, j, given = as_arrays(answers, K)
    size, total = given.sum(axis=1), np.bincount(j, minlength=n_sources)
    for _ in range(n_iter):
        right = np.bincount(j, (given * mu[i]).sum(axis=1), n_sources)
        rate = max((right.sum() + 1) / (total.sum() + 2), size.mean() / K)
        accuracy = (right + strength * rate) / (total + strength)
        inside, outside = accuracy[j] / comb(K - 1, size - 1), (1 - accuracy[j]) / comb(K - 1, size)
        mu = np.ones_like(mu)
        np.multiply.at(mu, i, np.where(given, inside[:, None], outside[:, None]))
        mu /= mu.sum(axis=1, keepdims=True)
    return mu, accuracy


def rules(votes, start, *, n_iter, power=0.5, strength=3000.0):
    """Return the posterior of rules, with uniform class frequencies; votes are (row, rule, set) triples."""
    mu = start.copy()
    i, j, given = as_arrays(votes, mu.shape[1])
    columns, column = np.unique(np.column_stack([j, given]), axis=0, return_inverse=True)  # pairs of a rule and a set
    inside_set, cast = columns[:, 1:] > 0, np.zeros((len(mu), len(columns)), dtype=bool)
    cast[i, column.ravel()] = True
    is_for = inside_set.sum(axis=1) <= mu.shape[1] / 2
    has_for = cast[:, is_for].any(axis=1)
    left = [np.all(inside_set[own], axis=0).sum() for own in cast]
    voted = (has_for | (np.array(left) <= mu.shape[1] / 2)) & cast.any(axis=1)
    bits = [np.log(mu.shape[1] / max(n, 1)) for n in left]
    if sum(b for b, v in zip(bits, voted) if not v) > sum(b for b, v in zip(bits, voted) if v):
        voted = cast.any(axis=1)
    cast[~voted] = False
    n_votes = cast.sum(axis=0)
    for _ in range(n_iter):
        inside = (cast.T @ mu * inside_set).sum(axis=1)
        size = inside_set @ mu[voted].sum(axis=0)
        share = size / voted.sum()
        low, high = 1.0, 1e8
        for _ in range(200):  # bisection of the odds ratio by which the expected number of right votes is that of mu
            odds = np.sqrt(low * high)
            precision = odds * share / (odds * share + 1 - share)
            low, high = (odds, high) if n_votes @ precision < inside.sum() else (low, odds)
        rate = n_votes / voted.sum()
        right = (inside + strength * rate * precision / share) / (size + strength)
        wrong = n_votes - inside + strength * rate * (1 - precision) / (1 - share)
        r = np.where(inside_set.T, right, wrong / (voted.sum() - size + strength)).T
        logs = (cast @ np.log(r) + power * (~cast & is_for & has_for[:, None]) @ np.log(1 - r)) * voted[:, None]
        mu = softmax(logs, axis=1)
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
    i, j, given = as_arrays(answers, posterior.shape[1])
    right, totals = np.zeros((2, n_sources, posterior.shape[1]))
    np.add.at(right, j, posterior[i] * given)
    np.add.at(totals, j, posterior[i])
    return right, totals


def pair_kappa(one, other, distance):
    """Return the number of common rows, the agreement and Cohen's kappa of two lists of sets, None for no answer."""
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    n = len(both)
    observed = sum(distance(a, b) for a, b in both) / n
    expected = sum(distance(a, b) for a, _ in both for _, b in both) / n**2
    return n, 1 - observed, 1 - observed / expected if expected else float("nan")
