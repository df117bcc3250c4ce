"""Simulated crowds: true labels, answers and true accuracies of annotators of several kinds."""

import numpy as np


def confusion_matrix(kind, n_classes, rng):
    """Return the confusion matrix of an annotator: honest, one who knows some classes, a spammer or an adversary."""
    if kind == "spammer":
        return np.tile(rng.dirichlet(np.ones(n_classes)), (n_classes, 1))
    accuracy = {
        "honest": rng.uniform(0.6, 0.95, n_classes),
        "some classes": np.where(rng.random(n_classes) < 0.5, 0.95, 0.4),
        "adversary": np.full(n_classes, 0.5 / n_classes),
    }[kind]
    theta = rng.dirichlet(np.ones(n_classes), n_classes) * (1 - np.eye(n_classes))
    theta *= ((1 - accuracy) / theta.sum(axis=1))[:, None]
    theta[np.diag_indices(n_classes)] = accuracy
    return theta


def crowd(kinds, rng, *, n_rows=300, n_classes=4, answer_rate=0.5):
    """Return labels, an object table of answers (None without an answer), and the accuracies of the answers.

    Kinds: those of `confusion_matrix`; "doubter", who answers with two labels if in doubt.
    """
    y = rng.integers(n_classes, size=n_rows)
    table = np.full((n_rows, len(kinds)), None, dtype=object)
    accuracy = np.empty(len(kinds))
    for j, kind in enumerate(kinds):
        answered = np.flatnonzero(rng.random(n_rows) < answer_rate)
        if kind == "doubter":
            accuracy[j] = rng.uniform(0.75, 0.95)
            for i in answered:
                size = rng.integers(1, 3)
                wrong = rng.permutation(np.delete(np.arange(n_classes), y[i]))
                right = rng.random() < accuracy[j]
                members = [y[i], *wrong[: size - 1]] if right else wrong[:size]
                table[i, j] = [int(k) for k in members] if size > 1 else int(members[0])
            continue
        theta = confusion_matrix(kind, n_classes, rng)
        for i in answered:
            table[i, j] = int(rng.choice(n_classes, p=theta[y[i]]))
        accuracy[j] = theta.diagonal().mean()
    return y, table, accuracy


def rule_votes(rng, *, n_rows=600, n_classes=3, n_rules=8, coverage=(0.05, 0.3), precision=(0.4, 0.95), max_size=1):
    """Return labels and an object table of the votes of rules, each for one set of classes (None without a vote).

    The rates of the votes differ between the classes. The first rules vote for one class each.
    """
    y = rng.integers(n_classes, size=n_rows)
    table = np.full((n_rows, n_rules), None, dtype=object)
    for j in range(n_rules):
        size = 1 if j < n_classes else int(rng.integers(1, max_size + 1))
        members = np.array([j]) if j < n_classes else rng.choice(n_classes, size, replace=False)
        inside = np.isin(np.arange(n_classes), members)
        right = rng.uniform(*precision) ** (1 / size)
        rate = np.where(inside, right / size, (1 - right) / (n_classes - size)) * n_classes * rng.uniform(*coverage)
        rate = np.minimum(rate * rng.gamma(1.0, 1.0, n_classes), 0.95)
        for i in np.flatnonzero(rng.random(n_rows) < rate[y]):
            table[i, j] = [int(k) for k in members] if size > 1 else int(members[0])
    return y, table[:, [any(vote is not None for vote in column) for column in table.T]]
