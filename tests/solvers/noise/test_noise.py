"""The model of wrong sets: equality with loops over classes, the fit, and the interval of the noise rate."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oneof import CandidateSets
from oneof.likelihoods import softmax
from oneof.solvers.noise import (
    CONFUSION_STRENGTH,
    NoiseModel,
    NoiseProblem,
    WrongSets,
    estimate_noise,
    uniform_confusion,
)
from tests.oracles.noise import confusion_step, e_step

K = 4


def random_problem(n=30, seed=0):
    rng = np.random.default_rng(seed)
    proba = softmax(rng.normal(size=(n, K)))
    sizes = rng.integers(1, K, size=n)
    sets = [tuple(sorted(rng.choice(K, size=s, replace=False).tolist())) for s in sizes]
    mask = np.array([[k in members for k in range(K)] for members in sets])
    confusion = rng.dirichlet(np.ones(K), size=K) * (1 - np.eye(K))
    return proba, sets, mask, confusion / confusion.sum(axis=1, keepdims=True)


def noisy_labels(n=1500, rate=0.15, n_classes=5, power=1.0, seed=0):
    """Return probabilities to a power of labels drawn from them, the labels after errors, and the errors."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=3.0, size=(n, n_classes))
    labels = (softmax(scores).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = rng.random(n) < rate
    given = np.where(wrong, (labels + rng.integers(1, n_classes, size=n)) % n_classes, labels)
    return softmax(power * scores), np.eye(n_classes, dtype=bool)[given], wrong


def test_e_step_equals_the_loop():
    """The probabilities of wrong sets are those of sums over classes; b = 1 keeps the held-out probabilities."""
    proba, sets, mask, confusion = random_problem()
    posterior = NoiseProblem.of(proba, mask).posterior(NoiseModel(0.2, 1.0, confusion))
    np.testing.assert_allclose(posterior.proba, proba, rtol=1e-12)
    wrong = e_step(proba, sets, 0.2, confusion)
    np.testing.assert_allclose(posterior.wrong, wrong, rtol=1e-12)


def test_a_power_of_0_gives_the_frequencies():
    """Without information, all rows have the class frequencies of the labels."""
    proba, _, mask, confusion = random_problem()
    problem = NoiseProblem.of(proba, mask)
    frequencies = (mask / mask.sum(axis=1, keepdims=True)).mean(axis=0)
    posterior = problem.posterior(NoiseModel(0.2, 0.0, confusion))
    np.testing.assert_allclose(posterior.proba, np.tile(frequencies, (len(mask), 1)), rtol=1e-12)


def test_confusion_equals_the_loop():
    """The confusion of a fit is that of counts over rows, classes and labels, with its pseudo-rows."""
    proba, sets, mask, _ = random_problem()
    problem = NoiseProblem.of(proba, mask)
    model, _ = problem.fit(0.2)
    power = problem._fit_power(NoiseModel(0.2, 1.0, uniform_confusion(K)))
    tempered = problem.posterior(power).proba
    expected = confusion_step(tempered, sets, 0.2, uniform_confusion(K), CONFUSION_STRENGTH)
    np.testing.assert_allclose(model.confusion, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.4])
def test_power_maximizes_the_likelihood(rate):
    """No power has a larger likelihood than the fitted one, by a scalar optimizer."""
    proba, evidence, _ = noisy_labels(power=0.5)
    problem = NoiseProblem.of(proba, evidence)
    model, _ = problem.fit(rate)

    def loss(log_power):
        return -np.log(problem.posterior(NoiseModel(rate, np.exp(log_power), model.confusion)).likelihood).sum()

    best = minimize_scalar(loss, bounds=(-2, 2), method="bounded")
    assert loss(np.log(model.power)) <= best.fun + 1e-2


def test_ratios_of_weights_are_those_of_soften():
    """With equally probable wrong labels the likelihood is that of `CandidateSets.soften`, for sets and weights."""
    rng = np.random.default_rng(0)
    weights = rng.random((20, K)) * (rng.random((20, K)) < 0.7)
    weights[:, 0] += 0.1
    weights[3] = [1, 0, 0, 0]
    y = CandidateSets.from_weights(weights)
    rate = 0.2
    ratios = WrongSets.from_evidence(y.evidence).likelihood_ratios(uniform_confusion(K))
    softened = y.weights + rate / (1 - rate) * ratios
    np.testing.assert_allclose(
        softened / softened.max(axis=1, keepdims=True), y.soften(rate).weights, rtol=1e-12, atol=1e-15
    )


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_rate_is_recovered_whatever_the_temperature_of_the_probabilities(rate, power):
    """The rate and the power are those of the generated data, and the interval contains the fraction of errors."""
    proba, evidence, wrong = noisy_labels(rate=rate, power=power)
    estimate = estimate_noise(proba, evidence)
    assert estimate.wrong.mean() == pytest.approx(wrong.mean(), abs=0.03)
    assert estimate.power * power == pytest.approx(1.0, rel=0.25)
    low, high = estimate.interval
    assert low <= wrong.mean() <= high
    assert high - low < 0.2


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_any_rate_is_possible_without_information(n_classes, rate):
    """Random probabilities have an interval from 0 to at least the fraction of labels that they contradict."""
    _, evidence, _ = noisy_labels(n=400, rate=rate, n_classes=n_classes)
    low, high = estimate_noise(np.random.default_rng(1).dirichlet(np.ones(n_classes), 400), evidence).interval
    assert low == 0.0
    assert high >= 1 - 1.2 / n_classes
