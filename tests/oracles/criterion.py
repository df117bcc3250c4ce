"""The expected accuracy of methods, by loops over rows and classes."""

import math


def mix(row):
    """Return .97 of the probabilities and .03 of the uniform distribution."""
    return [0.97 * p + 0.03 / len(row) for p in row]


def calibrate(proba, sets):
    """Return the power of the probabilities of the highest likelihood of the sets."""
    best = None
    for power in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
        rows = []
        for row in proba:
            powers = [max(p / max(row), 1e-6) ** power for p in row]
            rows.append([p / sum(powers) for p in powers])
        value = sum(math.log(sum(mix(row)[k] for k in members)) for row, members in zip(rows, sets, strict=True))
        if best is None or value > best[0] + 1e-9:
            best = value, rows
    return best[1]


def distractor_rates(posterior, sets, K):
    """Return C: the weighted rate of j among the rows of label k, with four rows at the rate of all pairs."""
    n = len(sets)
    rows = list(zip(posterior, sets, strict=True))
    pairs = sum(row[k] for row, members in rows for k in range(K) for j in members if j != k)
    mean = (pairs + 0.5) / (n * (K - 1) + 1)
    rates = [[0.0] * K for _ in range(K)]
    for k in range(K):
        total = sum(row[k] for row in posterior)
        for j in range(K):
            count = sum(row[k] for row, members in rows if j in members)
            rates[k][j] = min(max((count + 4 * mean) / (total + 4), 1e-3), 1 - 1e-3)
    return rates


def label_posterior(proba, rates, sets):
    """Return q, by the product over all other classes."""
    posterior = []
    for row, members in zip(proba, sets, strict=True):
        weights = [0.0] * len(row)
        for k in members:
            weights[k] = row[k]
            for j in range(len(row)):
                if j != k:
                    weights[k] *= rates[k][j] if j in members else 1 - rates[k][j]
        posterior.append([weight / sum(weights) for weight in weights])
    return posterior


def odds_ratio(proba, rates, sets):
    """Return exp(b) with sum (observed - sigmoid(logit C + b)) = 0, by bisection; one row of odds 1 is added."""
    offsets, observed = [], 0.5
    for row, members in zip(proba, sets, strict=True):
        first, second = sorted(range(len(row)), key=lambda k: -row[k])[:2]
        if first in members and len(members) > 1:
            offsets.append(math.log(rates[first][second] / (1 - rates[first][second])))
            observed += second in members
    low, high = -50.0, 50.0
    while offsets and high - low > 1e-12:
        b = (low + high) / 2
        if sum(1 / (1 + math.exp(-offset - b)) for offset in [0.0, *offsets]) < observed:
            low = b
        else:
            high = b
    return math.exp((low + high) / 2)


def expected_accuracies(sets, K, probabilities, predictions):
    """Return the scores of the methods, the last posterior and the odds ratio of predicted distractors."""
    rows = [i for i, members in enumerate(sets) if len(members) < K]
    sets = [sets[i] for i in rows]
    predictions = [[codes[i] for i in rows] for codes in predictions]
    calibrated = [calibrate([proba[i] for i in rows], sets) for proba in probabilities]
    M, n = len(predictions), len(rows)
    scores = [sum(codes[i] in sets[i] for i in range(n)) / n for codes in predictions]
    posterior = None
    for _ in range(4):
        leaders = sorted(range(M), key=lambda m: -round(scores[m], 12))[:5]
        sharp = [[sum(calibrated[m][i][k] for m in leaders) / len(leaders) for k in range(K)] for i in range(n)]
        mean = [mix(row) for row in sharp]
        if posterior is None:
            inside = [sum(row[k] for k in members) for row, members in zip(mean, sets, strict=True)]
            posterior = [[mean[i][k] / inside[i] if k in sets[i] else 0.0 for k in range(K)] for i in range(n)]
        rates = distractor_rates(posterior, sets, K)
        posterior = label_posterior(mean, rates, sets)
        scores = [sum(posterior[i][codes[i]] for i in range(n)) / n for codes in predictions]
    return scores, posterior, odds_ratio(sharp, rates, sets)
