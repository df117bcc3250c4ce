"""Likelihoods and entropies of candidate sets: their values by the definition, their derivatives by differences."""

import numpy as np
import pytest

from oneof.likelihoods import (
    entropies,
    entropy_bends,
    entropy_slopes,
    likelihood_slopes,
    log_likelihoods,
    restricted_softmax,
    softmax,
    softmax_moves,
)
from tests.estimators.panel import table


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
        entropies(restricted_softmax(scores, mask)), -np.where(mask, q * np.log(q), 0).sum(axis=1), atol=1e-12
    )


def test_the_gradient_of_the_likelihood_is_q_less_p(rows):
    """Along any move, the likelihood changes by its product with q - p, and the shares by `softmax_moves`."""
    scores, moves, mask = rows
    q, p = restricted_softmax(scores, mask), softmax(scores)
    np.testing.assert_allclose(likelihood_slopes(p, q, mask), q - p, atol=1e-15)
    numerical = derivative(lambda s: log_likelihoods(s, mask), scores, moves)
    np.testing.assert_allclose(((q - p) * moves).sum(axis=1), numerical, atol=1e-8)
    for shares, function in ((p, softmax), (q, lambda s: restricted_softmax(s, mask))):
        np.testing.assert_allclose(softmax_moves(shares, moves), derivative(function, scores, moves), atol=1e-8)


def test_slopes_and_bends_are_the_derivatives_of_the_entropies(rows):
    """The gradient and the Hessian product of the entropies are their numerical derivatives."""
    scores, moves, mask = rows
    q = restricted_softmax(scores, mask)
    slopes = derivative(lambda s: entropies(restricted_softmax(s, mask)), scores, moves)
    np.testing.assert_allclose((entropy_slopes(q) * moves).sum(axis=1), slopes, atol=1e-8)
    bends = derivative(lambda s: entropy_slopes(restricted_softmax(s, mask)), scores, moves)
    np.testing.assert_allclose(entropy_bends(q, moves), bends, atol=1e-8)


def test_full_sets_have_likelihood_one_and_singletons_no_entropy(rows):
    """What says nothing weighs nothing: exact zeros, not rounding."""
    scores, moves, _ = rows
    full, single = np.ones((40, 5), dtype=bool), np.eye(5, dtype=bool)[np.arange(40) % 5]
    np.testing.assert_array_equal(log_likelihoods(scores, full), 0)
    np.testing.assert_array_equal(likelihood_slopes(softmax(scores), restricted_softmax(scores, full), full), 0)
    np.testing.assert_array_equal(restricted_softmax(scores, full), softmax(scores))
    q = restricted_softmax(scores, single)
    for nothing in (entropies(q), entropy_slopes(q), entropy_bends(q, moves), softmax_moves(q, moves)):
        np.testing.assert_array_equal(nothing, 0)


def test_a_likelihood_close_to_one_keeps_its_precision():
    """Where all but exp(-60) lies within the set, the logarithm and its gradient are right to twelve digits, not 0."""
    scores, mask = np.array([[30.0, 29.0, -30.0]]), np.array([[True, True, False]])
    missed = np.exp(-60) / (1 + np.exp(-1))
    q, p = restricted_softmax(scores, mask), softmax(scores)
    np.testing.assert_allclose(log_likelihoods(scores, mask), -missed, rtol=1e-12)
    np.testing.assert_allclose(likelihood_slopes(p, q, mask)[0], missed * np.append(q[0, :2], -1), rtol=1e-12)


def test_scores_far_apart_stay_numbers():
    """Differences of scores far beyond the range of the exponential give finite values and derivatives."""
    scores = np.array([[0.0, 1e4, -1e4], [1e4, -1e4, 0.0]])
    mask = np.array([[True, False, True], [False, True, True]])
    np.testing.assert_allclose(log_likelihoods(scores, mask), [-1e4, -1e4])
    q, moves = restricted_softmax(scores, mask), np.ones((2, 3))
    for values in (q, entropies(q), entropy_slopes(q), entropy_bends(q, moves), softmax_moves(q, moves)):
        assert np.isfinite(values).all()
