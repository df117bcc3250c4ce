"""The expected accuracy of methods, by loops over rows and classes; the weights of a set are 1 inside and 0 outside."""

import math


def calibrate(proba, weights):
    """Return the power of the highest likelihood of the weights, mixed with 3 % of the uniform distribution."""
    best = None
    for exponent in range(-4, 11):
        rows = []
        for row in proba:
            powers = [max(p / max(row), 1e-6) ** 2.0 ** (exponent / 2) for p in row]
            rows.append([0.97 * p / sum(powers) + 0.03 / len(row) for p in powers])
        value = sum(
            math.log(sum(w * p for w, p in zip(known, row, strict=True)))
            for row, known in zip(rows, weights, strict=True)
        )
        if best is None or value > best[0] + 1e-9:
            best = value, rows
    return best[1]


def pool_weights(likelihoods):
    """Return the weights of the highest likelihood, by many steps of EM."""
    M = len(likelihoods[0])
    weights = [1.0 / M] * M
    for _ in range(5000):
        totals = [0.0] * M
        for row in likelihoods:
            total = sum(v * value for v, value in zip(weights, row, strict=True))
            for m in range(M):
                totals[m] += weights[m] * row[m] / total / len(likelihoods)
        weights = totals
    return weights


def distractor_rates(posterior, weights, K):
    """Return the rate of each class in the sets of rows with another label, with four rows at the mean rate."""
    rows = list(zip(posterior, weights, strict=True))
    counts = [sum((1 - q[k]) * w[k] for q, w in rows) for k in range(K)]
    others = [sum(1 - q[k] for q, _ in rows) for k in range(K)]
    mean = sum(counts) / sum(others)
    return [min(max((counts[k] + 4 * mean) / (others[k] + 4), 1e-3), 1 - 1e-3) for k in range(K)]


def expected_accuracies(weights, K, probabilities, predictions):
    """Return the mean posterior probability of the predictions of each method."""
    rows = [i for i, w in enumerate(weights) if min(w) < max(w)]
    given = known = [weights[i] for i in rows]
    n, M = len(rows), len(predictions)
    for _ in range(4):
        calibrated = [calibrate([proba[i] for i in rows], known) for proba in probabilities]
        pool = pool_weights(
            [[sum(known[i][k] * proba[i][k] for k in range(K)) for proba in calibrated] for i in range(n)]
        )
        mixture = [[sum(pool[m] * calibrated[m][i][k] for m in range(M)) for k in range(K)] for i in range(n)]
        joint = [[known[i][k] * mixture[i][k] for k in range(K)] for i in range(n)]
        rates = distractor_rates([[value / sum(row) for value in row] for row in joint], given, K)
        known = [[w[k] * (1 / rates[k] - 1) ** w[k] for k in range(K)] for w in given]
        known = [[value / max(row) for value in row] for row in known]
    joint = [[known[i][k] * mixture[i][k] for k in range(K)] for i in range(n)]
    return [sum(joint[i][codes[rows[i]]] / sum(joint[i]) for i in range(n)) / n for codes in predictions]
