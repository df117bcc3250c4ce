"""The expected accuracy of methods, by loops over rows and classes; the weights of a set are 1 inside and 0 outside."""

import math


def mix(row):
    """Return .97 of the probabilities and .03 of the uniform distribution."""
    return [0.97 * p + 0.03 / len(row) for p in row]


def calibrate(proba, weights):
    """Return the power of the probabilities of the highest likelihood of the weights."""
    best = None
    for power in (0.25, 0.5, 1, 2, 4, 8, 16, 32):
        rows = []
        for row in proba:
            powers = [max(p / max(row), 1e-6) ** power for p in row]
            rows.append([p / sum(powers) for p in powers])
        value = sum(
            math.log(sum(w * p for w, p in zip(known, mix(row), strict=True)))
            for row, known in zip(rows, weights, strict=True)
        )
        if best is None or value > best[0] + 1e-9:
            best = value, rows
    return best[1]


def distractor_rates(posterior, weights, K):
    """Return C: the weighted rate of j among the rows of label k, with four rows at the rate of all pairs."""
    n = len(weights)
    rows = list(zip(posterior, weights, strict=True))
    pairs = sum(row[k] * w[j] for row, w in rows for k in range(K) for j in range(K) if j != k)
    mean = (pairs + 0.5) / (n * (K - 1) + 1)
    rates = [[0.0] * K for _ in range(K)]
    for k in range(K):
        total = sum(row[k] for row in posterior)
        for j in range(K):
            count = sum(row[k] * w[j] for row, w in rows)
            rates[k][j] = min(max((count + 4 * mean) / (total + 4), 1e-3), 1 - 1e-3)
    return rates


def label_posterior(proba, rates, weights):
    """Return q, by the product over all other classes."""
    posterior = []
    for row, w in zip(proba, weights, strict=True):
        joint = [w[k] * row[k] for k in range(len(row))]
        for k in range(len(row)):
            for j in range(len(row)):
                if j != k:
                    joint[k] *= rates[k][j] ** w[j] * (1 - rates[k][j]) ** (1 - w[j])
        posterior.append([value / sum(joint) for value in joint])
    return posterior


def odds_ratio(proba, rates, weights):
    """Return exp(b) with sum (observed - sigmoid(logit C + b)) = 0, by bisection; one row of odds 1 is added."""
    offsets, observed = [(1.0, 0.0)], 0.5
    for row, w in zip(proba, weights, strict=True):
        first, second = sorted(range(len(row)), key=lambda k: -row[k])[:2]
        mass = w[first] * min(1.0, sum(w) - 1.0)
        if mass > 0:
            offsets.append((mass, math.log(rates[first][second] / (1 - rates[first][second]))))
            observed += mass * w[second]
    low, high = -50.0, 50.0
    while len(offsets) > 1 and high - low > 1e-12:
        b = (low + high) / 2
        if sum(mass / (1 + math.exp(-offset - b)) for mass, offset in offsets) < observed:
            low = b
        else:
            high = b
    return math.exp((low + high) / 2)


def expected_accuracies(weights, K, probabilities, predictions):
    """Return the scores of the methods, the last posterior and the odds ratio of predicted distractors."""
    rows = [i for i, w in enumerate(weights) if min(w) < max(w)]
    weights = [weights[i] for i in rows]
    predictions = [[codes[i] for i in rows] for codes in predictions]
    calibrated = [calibrate([proba[i] for i in rows], weights) for proba in probabilities]
    M, n = len(predictions), len(rows)
    scores = [sum(weights[i][codes[i]] for i in range(n)) / n for codes in predictions]
    posterior = None
    for _ in range(4):
        leaders = sorted(range(M), key=lambda m: -round(scores[m], 12))[:5]
        sharp = [[sum(calibrated[m][i][k] for m in leaders) / len(leaders) for k in range(K)] for i in range(n)]
        mean = [mix(row) for row in sharp]
        if posterior is None:
            joint = [[weights[i][k] * mean[i][k] for k in range(K)] for i in range(n)]
            posterior = [[value / sum(row) for value in row] for row in joint]
        rates = distractor_rates(posterior, weights, K)
        posterior = label_posterior(mean, rates, weights)
        scores = [sum(posterior[i][codes[i]] for i in range(n)) / n for codes in predictions]
    return scores, posterior, odds_ratio(sharp, rates, weights)
