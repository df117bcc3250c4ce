"""Likelihoods and entropies of candidate sets: values by the definition, derivatives by finite differences."""

import numpy as np
import pytest

from oneof.likelihoods import (
    add_log_weights,
    entropy,
    entropy_gradient,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    normalize_within_sets,
    softmax,
    softmax_jvp,
    total_variation,
    uniform_within_sets,
)
from tests.estimators.panel import table
from tests.oracles.laplace import log_likelihood, probabilities
from tests.weights import draw_weights, evidences, informative

SHARPNESSES = (0.1, 0.5, 1.0, 3.0, 50.0, np.inf)


@pytest.fixture
def rows():
    """Return scores of 40 rows and 5 classes, a direction, and the sets."""
    rng = np.random.default_rng(0)
    _, mask = table(40, K=5)
    return rng.normal(size=(40, 5)) * 2, rng.normal(size=(40, 5)), mask


def derivative(function, scores, direction):
    return (function(scores + 1e-6 * direction) - function(scores - 1e-6 * direction)) / 2e-6


@evidences
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_values_equal_the_definition(rows, sharpness, evidence_of):
    """G_L is 1/L log sum_k w_k^max(L, 1) exp(L s_k), with gradient q, whose entropy is -sum_k q_k log q_k."""
    scores, direction, mask = rows
    evidence = evidence_of(mask)
    values, q = log_likelihoods(scores, evidence, sharpness), masked_softmax(scores, evidence, sharpness)
    expected = [log_likelihood(s, w, sharpness) for s, w in zip(scores, evidence, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(q, [probabilities(s, w, sharpness)[1] for s, w in zip(scores, evidence, strict=True)])
    np.testing.assert_allclose(entropy(q), -(q * np.log(np.where(q > 0, q, 1.0))).sum(axis=1), atol=1e-12)
    np.testing.assert_array_equal(q[evidence == 0], 0)
    changing = informative(evidence)
    numerical = derivative(lambda s: log_likelihoods(s, evidence, sharpness), scores, direction)
    np.testing.assert_allclose(
        ((q - softmax(scores)) * direction).sum(axis=1)[changing], numerical[changing], atol=1e-7
    )


def test_entropy_derivatives_equal_finite_differences(rows):
    """The gradient of the entropies is their numerical derivative."""
    scores, direction, mask = rows
    q = masked_softmax(scores, mask)
    first = derivative(lambda s: entropy(masked_softmax(s, mask)), scores, direction)
    np.testing.assert_allclose((entropy_gradient(q) * direction).sum(axis=1), first, atol=1e-8)


def test_full_sets_have_likelihood_one_and_singletons_no_entropy(rows):
    """Uninformative rows contribute exact zeros, without rounding errors."""
    scores, direction, _ = rows
    full, single = np.ones((40, 5), dtype=bool), np.eye(5, dtype=bool)[np.arange(40) % 5]
    np.testing.assert_array_equal(log_likelihoods(scores, full), 0)
    np.testing.assert_array_equal(log_likelihood_gradient(softmax(scores), masked_softmax(scores, full), full), 0)
    np.testing.assert_array_equal(masked_softmax(scores, full), softmax(scores))
    q = masked_softmax(scores, single)
    for values in (entropy(q), entropy_gradient(q), softmax_jvp(q, direction)):
        np.testing.assert_array_equal(values, 0)


def test_derivatives_with_weights(rows):
    """With L = 1, q is proportional to w p, the gradient is q - p, and the total variation half its absolute sum."""
    scores, _, mask = rows
    weights = draw_weights(mask)
    p, q = softmax(scores), masked_softmax(scores, weights)
    np.testing.assert_allclose(q, weights * p / (weights * p).sum(axis=1, keepdims=True), atol=1e-15)
    np.testing.assert_allclose(q, normalize_within_sets(p, weights), atol=1e-15)
    np.testing.assert_allclose(log_likelihood_gradient(p, q, weights), q - p, atol=1e-15)
    np.testing.assert_allclose(total_variation(p, q, weights), np.abs(q - p).sum(axis=1) / 2, atol=1e-15)
    inside = weights > 0
    np.testing.assert_allclose(add_log_weights(scores, weights)[inside], scores[inside] + np.log(weights[inside]))
    assert (add_log_weights(scores, weights)[~inside] == -np.inf).all()


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_weights_of_zero_and_one_equal_sets(rows, sharpness):
    """All functions give the values of the sets, to the last bit but for the sign of 0."""
    scores, _, mask = rows
    weights, p = mask.astype(float), softmax(scores)
    for function in (log_likelihoods, masked_softmax):
        np.testing.assert_array_equal(function(scores, weights, sharpness), function(scores, mask, sharpness))
    q = masked_softmax(scores, mask)
    np.testing.assert_array_equal(log_likelihood_gradient(p, q, weights), log_likelihood_gradient(p, q, mask))
    np.testing.assert_allclose(total_variation(p, q, weights), total_variation(p, q, mask), rtol=1e-14)
    np.testing.assert_array_equal(uniform_within_sets(weights), uniform_within_sets(mask))
    np.testing.assert_array_equal(normalize_within_sets(p, weights), normalize_within_sets(p, mask))


@pytest.mark.parametrize("outside", [5e-324, 1e-300, 1e-100, 1e-12])
@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_weights_close_to_zero_are_close_to_sets(rows, sharpness, outside):
    """As the weights outside go to 0, likelihoods and probabilities go to those of the set, and stay finite."""
    scores, _, mask = rows
    weights = np.where(mask, 1.0, outside)
    np.testing.assert_allclose(
        log_likelihoods(scores, weights, sharpness), log_likelihoods(scores, mask, sharpness), atol=1e-8
    )
    np.testing.assert_allclose(
        masked_softmax(scores, weights, sharpness), masked_softmax(scores, mask, sharpness), atol=1e-8
    )
    far = 1e4 * scores
    assert np.isfinite(log_likelihoods(far, weights, sharpness)).all()
    np.testing.assert_allclose(masked_softmax(far, weights, sharpness).sum(axis=1), 1.0)


@pytest.mark.parametrize("evidence", [[True, True, False, False], [1.0, 1.0, 0.25, 0.0]], ids=["set", "weights"])
def test_a_likelihood_close_to_one_keeps_its_precision(evidence):
    """If all but exp(-60) is on classes of weight 1, the logarithm and its gradient are accurate to twelve digits."""
    scores, evidence = np.array([[30.0, 29.0, -30.0, -31.0]]), np.array([evidence])
    low = np.exp(-60) / (1 + np.exp(-1))
    q, p = masked_softmax(scores, evidence), softmax(scores)
    lost = np.array([1.0 - evidence[0, 2], np.exp(-1)]) * low
    np.testing.assert_allclose(log_likelihoods(scores, evidence), -lost.sum(), rtol=1e-12)
    expected = np.append(q[0, :2] * lost.sum(), -lost)
    np.testing.assert_allclose(log_likelihood_gradient(p, q, evidence)[0], expected, rtol=1e-12)


def test_infinite_sharpness_selects_the_maximum_and_divides_ties():
    """Candidates that tie for the maximum have equal probabilities; all other scores are irrelevant."""
    scores = np.array([[2.0, 2.0, 5.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 3.0, 2.0, 9.0]])
    mask = np.array([[True, True, False, True], [True, True, True, False], [True, True, True, False]])
    expected = [[0.5, 0.5, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0], [0.0, 1.0, 0.0, 0.0]]
    np.testing.assert_array_equal(masked_softmax(scores, mask, np.inf), expected)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_derivatives_at_every_sharpness(rows, sharpness):
    """The gradient q_L - p has the directional derivative -(W - L (diag q - q q^T)) v, with W = diag p - p p^T."""
    scores, direction, mask = (values[informative(rows[2])] for values in rows)
    hvp = -softmax_jvp(softmax(scores), direction)
    if sharpness < np.inf:
        hvp += sharpness * softmax_jvp(masked_softmax(scores, mask, sharpness), direction)
    numerical = derivative(lambda s: masked_softmax(s, mask, sharpness) - softmax(s), scores, direction)
    np.testing.assert_allclose(hvp, numerical, atol=1e-6)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_full_sets_have_likelihood_one_and_large_scores_give_finite_values(rows, sharpness):
    """At every sharpness: exactly 0 for unlabeled rows; otherwise finite values equal to the definition."""
    scores, direction, mask = rows
    mask = mask | (np.arange(40) % 7 == 0)[:, None]
    scores = 1e5 * scores / np.abs(scores).max()
    values, q = log_likelihoods(scores, mask, sharpness), masked_softmax(scores, mask, sharpness)
    np.testing.assert_array_equal(values[mask.all(axis=1)], 0)
    for derived in (values, entropy(q), entropy_gradient(q), softmax_jvp(q, direction)):
        assert np.isfinite(derived).all()
    np.testing.assert_array_equal(q[~mask], 0)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    expected = [log_likelihood(row, candidates, sharpness) for row, candidates in zip(scores, mask, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-7)
