"""Likelihoods and entropies of candidate sets: their values by the definition, their derivatives by differences."""

import numpy as np
import pytest

from oneof.likelihoods import (
    entropy,
    entropy_gradient,
    entropy_hvp,
    log_likelihood_gradient,
    log_likelihoods,
    masked_softmax,
    softmax,
    softmax_jvp,
)
from tests.estimators.panel import table
from tests.oracles.laplace import log_likelihood

SHARPNESSES = (0.1, 0.5, 1.0, 3.0, 50.0, np.inf)


@pytest.fixture
def rows():
    """Return scores of 40 rows and 5 classes, a move of them, and the sets."""
    random = np.random.default_rng(0)
    _, mask = table(40, K=5)
    return random.normal(size=(40, 5)) * 2, random.normal(size=(40, 5)), mask


def derivative(function, scores, moves):
    return (function(scores + 1e-6 * moves) - function(scores - 1e-6 * moves)) / 2e-6


def test_values_are_those_of_the_definition(rows):
    """The likelihood sums probabilities over the set; the entropy is that of their shares within it."""
    scores, _, mask = rows
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    whole = np.where(mask, p, 0).sum(axis=1, keepdims=True)
    q = np.where(mask, p / whole, 1.0)
    np.testing.assert_allclose(softmax(scores), p)
    np.testing.assert_allclose(np.exp(log_likelihoods(scores, mask)), whole[:, 0])
    np.testing.assert_allclose(
        entropy(masked_softmax(scores, mask)), -np.where(mask, q * np.log(q), 0).sum(axis=1), atol=1e-12
    )


def test_the_gradient_of_the_likelihood_is_q_less_p(rows):
    """Along any move, the likelihood changes by its product with q - p, and the shares by `softmax_moves`."""
    scores, moves, mask = rows
    q, p = masked_softmax(scores, mask), softmax(scores)
    np.testing.assert_allclose(log_likelihood_gradient(p, q, mask), q - p, atol=1e-15)
    numerical = derivative(lambda s: log_likelihoods(s, mask), scores, moves)
    np.testing.assert_allclose(((q - p) * moves).sum(axis=1), numerical, atol=1e-8)
    for shares, function in ((p, softmax), (q, lambda s: masked_softmax(s, mask))):
        np.testing.assert_allclose(softmax_jvp(shares, moves), derivative(function, scores, moves), atol=1e-8)


def test_slopes_and_bends_are_the_derivatives_of_the_entropies(rows):
    """The gradient and the Hessian product of the entropies are their numerical derivatives."""
    scores, moves, mask = rows
    q = masked_softmax(scores, mask)
    slopes = derivative(lambda s: entropy(masked_softmax(s, mask)), scores, moves)
    np.testing.assert_allclose((entropy_gradient(q) * moves).sum(axis=1), slopes, atol=1e-8)
    bends = derivative(lambda s: entropy_gradient(masked_softmax(s, mask)), scores, moves)
    np.testing.assert_allclose(entropy_hvp(q, moves), bends, atol=1e-8)


def test_full_sets_have_likelihood_one_and_singletons_no_entropy(rows):
    """What says nothing weighs nothing: exact zeros, not rounding."""
    scores, moves, _ = rows
    full, single = np.ones((40, 5), dtype=bool), np.eye(5, dtype=bool)[np.arange(40) % 5]
    np.testing.assert_array_equal(log_likelihoods(scores, full), 0)
    np.testing.assert_array_equal(log_likelihood_gradient(softmax(scores), masked_softmax(scores, full), full), 0)
    np.testing.assert_array_equal(masked_softmax(scores, full), softmax(scores))
    q = masked_softmax(scores, single)
    for nothing in (entropy(q), entropy_gradient(q), entropy_hvp(q, moves), softmax_jvp(q, moves)):
        np.testing.assert_array_equal(nothing, 0)


def test_a_likelihood_close_to_one_keeps_its_precision():
    """Where all but exp(-60) lies within the set, the logarithm and its gradient are right to twelve digits, not 0."""
    scores, mask = np.array([[30.0, 29.0, -30.0]]), np.array([[True, True, False]])
    missed = np.exp(-60) / (1 + np.exp(-1))
    q, p = masked_softmax(scores, mask), softmax(scores)
    np.testing.assert_allclose(log_likelihoods(scores, mask), -missed, rtol=1e-12)
    np.testing.assert_allclose(log_likelihood_gradient(p, q, mask)[0], missed * np.append(q[0, :2], -1), rtol=1e-12)


def test_scores_far_apart_stay_numbers():
    """Differences of scores far beyond the range of the exponential give finite values and derivatives."""
    scores = np.array([[0.0, 1e4, -1e4], [1e4, -1e4, 0.0]])
    mask = np.array([[True, False, True], [False, True, True]])
    np.testing.assert_allclose(log_likelihoods(scores, mask), [-1e4, -1e4])
    q, moves = masked_softmax(scores, mask), np.ones((2, 3))
    for values in (q, entropy(q), entropy_gradient(q), entropy_hvp(q, moves), softmax_jvp(q, moves)):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_the_aggregate_lies_between_the_maximum_and_log_m_over_sharpness_above_it(rows, sharpness):
    """G_L is what the likelihood adds to -log sum_k exp s_ik; it falls with L, and is 1/L log sum exp(L s_ik)."""
    scores, _, mask = rows
    mask, scores = mask[~mask.all(axis=1)], scores[~mask.all(axis=1)]
    whole = np.log(np.exp(scores).sum(axis=1))
    aggregate = log_likelihoods(scores, mask, sharpness) + whole
    largest = np.where(mask, scores, -np.inf).max(axis=1)
    assert (aggregate >= largest - 1e-12).all()
    assert (aggregate <= largest + np.log(mask.sum(axis=1)) / sharpness + 1e-12).all()
    assert (aggregate >= log_likelihoods(scores, mask, 2 * sharpness) + whole - 1e-12).all()
    if sharpness < np.inf:
        expected = np.log(np.where(mask, np.exp(sharpness * scores), 0.0).sum(axis=1)) / sharpness
        np.testing.assert_allclose(aggregate, expected, atol=1e-12)


def test_sharpness_one_is_the_marginal_likelihood_and_infinity_the_largest_share(rows):
    """Between the two the likelihood falls; where every set is one label they are the same."""
    scores, _, mask = rows
    p = softmax(scores)
    np.testing.assert_array_equal(log_likelihoods(scores, mask, 1.0), log_likelihoods(scores, mask))
    np.testing.assert_array_equal(masked_softmax(scores, mask, 1.0), masked_softmax(scores, mask))
    told = ~mask.all(axis=1)
    largest = np.log(np.where(mask, p, 0.0).max(axis=1))
    np.testing.assert_allclose(log_likelihoods(scores, mask, np.inf)[told], largest[told], atol=1e-12)
    single = np.eye(5, dtype=bool)[np.arange(40) % 5]
    for sharpness in SHARPNESSES:
        np.testing.assert_allclose(log_likelihoods(scores, single, sharpness), np.log(p[single]), atol=1e-12)


def test_for_one_label_sharpness_changes_nothing_however_close_to_one_the_likelihood_is():
    """The logarithm is -exp(-60) at every sharpness, to all digits: no larger number is added and taken away."""
    scores, mask = np.array([[30.1, -30.0, -31.0]]), np.array([[True, False, False]])
    for sharpness in SHARPNESSES:
        np.testing.assert_array_equal(log_likelihoods(scores, mask, sharpness), log_likelihoods(scores, mask))
    assert log_likelihoods(scores, mask)[0] < 0


def test_infinite_sharpness_takes_the_largest_and_shares_ties():
    """Candidates that tie at the top have equal shares; what others score, in the set and outside, does not count."""
    scores = np.array([[2.0, 2.0, 5.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 3.0, 2.0, 9.0]])
    mask = np.array([[True, True, False, True], [True, True, True, False], [True, True, True, False]])
    expected = [[0.5, 0.5, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3, 0.0], [0.0, 1.0, 0.0, 0.0]]
    np.testing.assert_array_equal(masked_softmax(scores, mask, np.inf), expected)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
def test_derivatives_at_every_sharpness(rows, sharpness):
    """The gradient is q_L - p, and along a move it changes by -(W - L (diag q - q q^T)) v with W = diag p - p p^T."""
    scores, moves, mask = rows
    told = ~mask.all(axis=1)
    scores, moves, mask = scores[told], moves[told], mask[told]

    def slopes(s):
        return masked_softmax(s, mask, sharpness) - softmax(s)

    numerical = derivative(lambda s: log_likelihoods(s, mask, sharpness), scores, moves)
    np.testing.assert_allclose((slopes(scores) * moves).sum(axis=1), numerical, atol=1e-7)
    bends = -softmax_jvp(softmax(scores), moves)
    if sharpness < np.inf:
        bends += sharpness * softmax_jvp(masked_softmax(scores, mask, sharpness), moves)
    np.testing.assert_allclose(bends, derivative(slopes, scores, moves), atol=1e-6)


@pytest.mark.parametrize("sharpness", SHARPNESSES)
@pytest.mark.parametrize("size", [1.0, 1e5])
def test_sets_of_everything_have_likelihood_one_and_far_scores_stay_numbers(rows, sharpness, size):
    """At every sharpness: exactly 0 for full rows; for others values by the definition, bounded for scores of 1e5."""
    scores, _, mask = rows
    mask = mask | (np.arange(40) % 7 == 0)[:, None]
    scores = size * scores / np.abs(scores).max()
    values, q = log_likelihoods(scores, mask, sharpness), masked_softmax(scores, mask, sharpness)
    full = mask.all(axis=1)
    assert full.any()
    np.testing.assert_array_equal(values[full], 0)
    assert np.isfinite(values).all()
    highest = np.where(full, 0.0, np.maximum(1.0 / sharpness - 1.0, 0.0) * np.log(mask.sum(axis=1)))
    assert (values <= highest + 1e-12 * size).all()
    np.testing.assert_array_equal(q[~mask], 0)
    np.testing.assert_allclose(q.sum(axis=1), 1)
    expected = [log_likelihood(row, candidates, sharpness) for row, candidates in zip(scores, mask, strict=True)]
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12 * size)
