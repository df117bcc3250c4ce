"""Information of answers of one label or two, and the estimate of their rates."""

import numpy as np
import pytest
from scipy.special import softmax

from oneof.solvers.active import (
    AnswerRates,
    answer_curvatures,
    class_proba,
    estimate_rates,
    select_batch,
)
from tests.oracles.answer_information import answer_information, answer_probabilities, mean_curvature
from tests.solvers.active.dense import make_pool, view_lookup


def make_rates(n_classes, exact=0.3, pair=0.5, seed=0):
    """Return rates with random distractors."""
    counts = np.random.default_rng(seed).gamma(0.5, size=(n_classes, n_classes))
    np.fill_diagonal(counts, 0.0)
    return AnswerRates(exact, pair, counts / counts.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_curvatures_equal_the_sum_over_all_answers(n_classes):
    """The closed form equals the enumeration of all answers and their gradients."""
    proba = softmax(np.random.default_rng(1).normal(size=(6, n_classes), scale=2.0), axis=1)
    rates = make_rates(n_classes)
    answers = answer_probabilities(*rates)
    expected = [mean_curvature(p, answers) for p in proba]
    np.testing.assert_allclose(answer_curvatures(proba, rates), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_selected_rows_have_the_information_of_the_enumeration(n_classes):
    """The information of each row equals the increase of log det H by the mean curvature of its answer."""
    posterior, views = make_pool(7, n_classes)
    rates, x = make_rates(n_classes), views[0].features
    answers, proba = answer_probabilities(*rates), class_proba(posterior.weights, x)
    expected = [answer_information(posterior, x[i], proba[i], answers) for i in range(7)]
    best = select_batch(posterior, view_lookup(views), 7, 1, rates)
    assert best.rows[0] == np.argmax(expected)
    np.testing.assert_allclose(best.information[0], max(expected), rtol=1e-9)


def test_an_answer_is_never_more_informative_than_the_label():
    """S - F is positive semi-definite, and so is F."""
    proba = softmax(np.random.default_rng(3).normal(size=(20, 5), scale=4.0), axis=1)
    labels = answer_curvatures(proba, make_rates(5, exact=1.0, pair=0.0))
    for pair in (0.2, 0.7):
        curvatures = answer_curvatures(proba, make_rates(5, 0.3, pair))
        assert np.linalg.eigvalsh(labels - curvatures).min() > -1e-12
        assert np.linalg.eigvalsh(curvatures).min() > -1e-12


def test_answers_that_are_independent_of_the_label_have_no_information():
    """The information is 0 if the pair of two classes is always given, or no answer of at most two labels."""
    proba = softmax(np.random.default_rng(0).normal(size=(8, 2)), axis=1)
    always = AnswerRates(0.0, 1.0, np.array([[0.0, 1.0], [1.0, 0.0]]))
    np.testing.assert_allclose(answer_curvatures(proba, always), 0.0, atol=1e-15)
    posterior, views = make_pool(4, 3)
    assert select_batch(posterior, view_lookup(views), 4, 1, make_rates(3, 0.0, 0.0)).information[0] == 0


def test_curvatures_are_finite_if_classes_are_certain():
    """Probabilities of 0 and 1, and distractors of probability 0, give finite curvatures of 0."""
    rates = AnswerRates(0.5, 0.5, np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    np.testing.assert_allclose(answer_curvatures(np.eye(3), rates), 0.0, atol=1e-15)


def test_a_permutation_of_the_classes_permutes_the_curvatures():
    """Curvatures depend on the order of the classes by a permutation only."""
    proba, rates, order = softmax(np.random.default_rng(0).normal(size=(4, 4)), axis=1), make_rates(4), [2, 0, 1, 3]
    permuted = AnswerRates(rates.exact, rates.pair, rates.distractors[np.ix_(order, order)])
    expected = answer_curvatures(proba, rates)[:, order[:3]][:, :, order[:3]]
    np.testing.assert_allclose(answer_curvatures(proba[:, order], permuted), expected, atol=1e-15)


def test_a_batch_with_rates_and_density_is_greedy():
    """Each selected row has the largest product of density and information, given the rows before it."""
    posterior, views = make_pool(12, 3)
    rates, density = make_rates(3), np.random.default_rng(5).uniform(0.1, 4.0, 12)
    x = views[0].features
    proba, answers = class_proba(posterior.weights, x), answer_probabilities(*rates)
    result = select_batch(posterior, view_lookup(views), 12, 4, rates, density)
    remaining, H = list(range(12)), posterior.precision
    for row, gain in zip(result.rows, result.information, strict=True):
        added = {i: np.kron(mean_curvature(proba[i], answers), np.outer(x[i], x[i])) for i in remaining}
        gains = {
            i: density[i] * 0.5 * (np.linalg.slogdet(H + added[i])[1] - np.linalg.slogdet(H)[1]) for i in remaining
        }
        assert row == max(gains, key=gains.get)
        np.testing.assert_allclose(gain, gains[row], rtol=1e-8)
        H = H + added[row]
        remaining.remove(row)


def test_estimated_rates_converge_to_those_of_the_annotator():
    """With many answers and the true labels as probabilities, the estimate has the rates of the annotator."""
    rng, truth = np.random.default_rng(0), make_rates(4, 0.4, 0.5)
    labels = rng.integers(0, 4, 20_000)
    answers = np.eye(4, dtype=bool)[labels]
    kind = rng.choice(3, len(labels), p=[0.4, 0.5, 0.1])
    drawn = [rng.choice(4, p=truth.distractors[label]) for label in labels]
    answers[np.arange(len(labels))[kind == 1], np.array(drawn)[kind == 1]] = True
    answers[kind == 2] = True
    rates = estimate_rates(answers, np.eye(4)[labels])
    np.testing.assert_allclose([rates.exact, rates.pair], [0.4, 0.5], atol=0.02)
    np.testing.assert_allclose(rates.distractors, truth.distractors, atol=0.03)
