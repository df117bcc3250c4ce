"""The model of wrong sets: equality with loops over classes, EM, and the interval of the noise rate."""

import numpy as np
import pytest

from oneof import CandidateSets
from oneof.likelihoods import softmax
from oneof.solvers.noise import NoiseModel, WrongSets, average_noise, solve_noise
from oneof.solvers.noise.em import CONFUSION_STRENGTH, GROUP_STRENGTH, NoiseProblem
from oneof.solvers.noise.information import (
    MIN_SHARE,
    REFERENCE_RATE,
    information_gains,
    is_better_than_frequencies,
)
from oneof.solvers.noise.wrong_sets import uniform_confusion
from tests.oracles.noise import all_sets, confusion_step, e_step, wrong_set_probability

K = 4


def random_problem(n=30, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, K))
    sizes = rng.integers(1, K, size=n)
    sets = [tuple(sorted(rng.choice(K, size=s, replace=False).tolist())) for s in sizes]
    mask = np.array([[k in members for k in range(K)] for members in sets])
    confusion = rng.dirichlet(np.ones(K), size=K) * (1 - np.eye(K))
    return scores, sets, mask, sizes - 1, confusion / confusion.sum(axis=1, keepdims=True)


def noisy_labels(n=1500, rate=0.15, n_classes=5, scale=1.0, seed=0):
    """Return scores of labels that are drawn from their softmax, the labels after errors, and the errors."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(scale=3.0, size=(n, n_classes))
    labels = (softmax(scores).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    wrong = rng.random(n) < rate
    given = np.where(wrong, (labels + rng.integers(1, n_classes, size=n)) % n_classes, labels)
    return scale * scores, np.eye(n_classes, dtype=bool)[given], wrong


@pytest.mark.parametrize("size", [1, 2, 3])
def test_probabilities_of_wrong_sets_sum_to_one(size):
    """The sets of one size that exclude a class have probabilities that sum to 1, for any confusion."""
    confusion = random_problem()[-1]
    for k in range(K):
        total = sum(wrong_set_probability(members, k, confusion) for members in all_sets(K, size))
        assert total == pytest.approx(1.0)


def test_e_step_equals_the_loop():
    """The probabilities of wrong sets and of the classes are those of sums over classes."""
    scores, sets, mask, group, confusion = random_problem()
    model = NoiseModel(1.3, np.array([0.1, 0.2, 0.3]), confusion)
    problem = NoiseProblem.of(scores, mask, group, 3)
    posterior = problem.posterior(model)
    wrong, _ = e_step(softmax(1.3 * scores), sets, model.rates[group], confusion)
    np.testing.assert_allclose(posterior.wrong, wrong, rtol=1e-12)


def test_m_step_equals_the_loop():
    """The confusion after an M-step is that of counts over rows, classes and labels, and rates are shrunk means."""
    scores, sets, mask, group, confusion = random_problem()
    model = NoiseModel(1.0, np.array([0.1, 0.2, 0.3]), confusion)
    problem = NoiseProblem.of(scores, mask, group, 3)
    posterior = problem.posterior(model)
    updated = problem.update(model, posterior)
    expected = confusion_step(softmax(scores), sets, model.rates[group], confusion, CONFUSION_STRENGTH)
    np.testing.assert_allclose(updated.confusion, expected, rtol=1e-10, atol=1e-12)
    mean = posterior.wrong.mean()
    for g in range(3):
        members = posterior.wrong[group == g]
        rate = (members.sum() + GROUP_STRENGTH * mean) / (len(members) + GROUP_STRENGTH)
        assert updated.rates[g] == pytest.approx(rate)


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


def test_solution_is_a_fixed_point_that_no_start_exceeds():
    """An EM step from the solution changes nothing, and no step of EM decreases the likelihood of b = 1 and e."""
    scores, evidence, _ = noisy_labels()
    group = np.zeros(len(scores), dtype=np.int64)
    solution = solve_noise(scores, evidence, group, tol=1e-8, max_iter=3000)
    problem = NoiseProblem.of(scores, evidence, group, 1)
    again = problem.update(solution.model, problem.posterior(solution.model))
    assert again.power == pytest.approx(solution.model.power, rel=1e-6)
    np.testing.assert_allclose(again.rates, solution.model.rates, atol=1e-6)
    model, previous = NoiseModel(1.0, np.array([0.3]), uniform_confusion(5)), -np.inf
    for _ in range(30):
        posterior = problem.posterior(model)
        value = problem.log_likelihood(model, posterior)
        assert value >= previous - 1e-8
        previous, model = value, problem.update(model, posterior)


@pytest.mark.parametrize("rate", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("scale", [1.0, 0.3])
def test_rate_is_recovered_whatever_the_temperature_of_the_scores(rate, scale):
    """The rate and the power are those of the generated data, and the interval contains the fraction of errors."""
    scores, evidence, wrong = noisy_labels(rate=rate, scale=scale)
    group = np.zeros(len(scores), dtype=np.int64)
    solution = solve_noise(scores, evidence, group)
    assert solution.wrong.mean() == pytest.approx(wrong.mean(), abs=0.03)
    assert solution.model.power * scale == pytest.approx(1.0, rel=0.25)
    estimate = average_noise(scores, evidence, group, solution)
    low, high = estimate.interval
    assert low <= wrong.mean() <= high
    assert estimate.wrong.mean() == pytest.approx(wrong.mean(), abs=0.03)
    assert high - low < 0.15


def test_classes_permute():
    """Permuted classes give permuted probabilities."""
    scores, evidence, _ = noisy_labels(n=300)
    group = np.zeros(300, dtype=np.int64)
    order = np.array([3, 1, 4, 0, 2])
    first, second = solve_noise(scores, evidence, group), solve_noise(scores[:, order], evidence[:, order], group)
    np.testing.assert_allclose(first.wrong, second.wrong, atol=1e-8)
    np.testing.assert_allclose(first.outside[:, order], second.outside, atol=1e-8)


def test_groups_have_their_own_rates():
    """Sets of one size that are wrong more often get a higher rate."""
    scores, evidence, _ = noisy_labels(rate=0.3)
    clean_scores, clean, _ = noisy_labels(rate=0.0, seed=1)
    group = np.repeat([0, 1], len(scores))
    solution = solve_noise(np.concatenate([scores, clean_scores]), np.concatenate([evidence, clean]), group)
    assert solution.model.rates[0] == pytest.approx(0.3, abs=0.06)
    assert solution.model.rates[1] < 0.03


@pytest.mark.parametrize("n_classes", [2, 5])
def test_perfect_predictions_of_labels_with_errors_gain_twice_the_minimum(n_classes):
    """Perfect predictions of labels of which a fifth is wrong attain the reference; frequencies gain nothing."""
    n = 50 * n_classes
    evidence = np.eye(n_classes, dtype=bool)[np.arange(n) % n_classes]
    wrong = np.arange(n) // n_classes % 5 == 0
    likelihood = np.where(wrong, REFERENCE_RATE / (n_classes - 1), 1 - REFERENCE_RATE)
    gains, minimum = information_gains(likelihood, evidence)
    assert MIN_SHARE * gains.mean() == pytest.approx(minimum)
    assert is_better_than_frequencies(gains)
    gains, _ = information_gains(np.full(n, 1 / n_classes), evidence)
    np.testing.assert_allclose(gains, 0.0, atol=1e-12)
    assert not is_better_than_frequencies(gains)
