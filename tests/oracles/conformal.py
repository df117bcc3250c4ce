"""Oracles of conformal prediction: loops over rows and classes, and over all labels that calibration sets allow."""

from itertools import product


def lac_score(proba, k):
    """Return one minus the probability of class k."""
    return 1.0 - proba[k]


def aps_score(proba, k, u=0.0):
    """Return the probability of the classes above class k, plus u times that of the classes level with it."""
    above = sum(p for p in sorted(proba, reverse=True) if p > proba[k])
    return above + u * sum(p for p in proba if p == proba[k])


def p_value(rows, labels, new_scores, k, *, class_conditional=False):
    """Return the p-value of class k of a new row; rows are (model, scores), new_scores one row for each model."""
    count = total = 1
    for (model, scores), label in zip(rows, labels, strict=True):
        if class_conditional and label != k:
            continue
        total += 1
        count += scores[label] >= new_scores[model][k]
    return count / total


def extreme_p_values(rows, sets, new_scores, k, *, class_conditional=False):
    """Return the smallest and the largest p-value over all labels that the sets allow."""
    values = [p_value(rows, labels, new_scores, k, class_conditional=class_conditional) for labels in product(*sets)]
    return min(values), max(values)


def expected_p_value(rows, posteriors, new_scores, k, *, class_conditional=False):
    """Return the p-value in which each row has each label with its probability."""
    count = total = 1.0
    for (model, scores), posterior in zip(rows, posteriors, strict=True):
        for label, share in enumerate(posterior):
            if share and not (class_conditional and label != k):
                total += share
                count += share * (scores[label] >= new_scores[model][k])
    return count / total
