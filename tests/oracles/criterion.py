"""The expected accuracy of methods by its definition; the weights of a set are 1 inside and 0 outside."""

import numpy as np


def calibrate(proba, weights):
    """Return the power of the highest likelihood of the weights, mixed with 3 % of the uniform distribution."""
    best = -np.inf, None
    for exponent in range(-4, 11):
        powers = np.maximum(proba / proba.max(axis=1, keepdims=True), 1e-6) ** 2.0 ** (exponent / 2)
        mixed = 0.97 * powers / powers.sum(axis=1, keepdims=True) + 0.03 / proba.shape[1]
        value = np.log((weights * mixed).sum(axis=1)).sum()
        best = (value, mixed) if value > best[0] + 1e-9 else best
    return best[1]


def pool_weights(likelihoods):
    """Return the weights of the highest likelihood, by many steps of EM."""
    weights = np.full(likelihoods.shape[1], 1 / likelihoods.shape[1])
    for _ in range(5000):
        weights = weights * (likelihoods / (likelihoods @ weights)[:, None]).mean(axis=0)
    return weights


def distractor_rates(posterior, weights):
    """Return the rate of each class in the sets of rows with another label, with four rows at the mean rate."""
    counts, others = ((1 - posterior) * weights).sum(axis=0), (1 - posterior).sum(axis=0)
    return np.clip((counts + 4 * counts.sum() / others.sum()) / (others + 4), 1e-3, 1 - 1e-3)


def expected_accuracies(weights, probabilities, predictions):
    """Return the mean posterior probability of the predictions of each method."""
    rows = weights.min(axis=1) < weights.max(axis=1)
    given = known = weights[rows]
    for _ in range(4):
        calibrated = np.array([calibrate(proba[rows], known) for proba in probabilities])
        pool = pool_weights((known * calibrated).sum(axis=2).T)
        mixture = np.tensordot(pool, calibrated, axes=1)
        joint = known * mixture
        rates = distractor_rates(joint / joint.sum(axis=1, keepdims=True), given)
        known = given * (1 / rates - 1) ** given
        known = known / known.max(axis=1, keepdims=True)
    joint = known * mixture
    posterior = joint / joint.sum(axis=1, keepdims=True)
    return [posterior[np.arange(len(posterior)), codes[rows]].mean() for codes in predictions]
