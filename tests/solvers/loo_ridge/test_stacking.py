"""The weights of several kernels, and the average of what they leave out."""

import numpy as np
import pytest

from oneof.solvers.loo_ridge import CandidateGroups, ExactRidge, NystroemRidge, stacked, stacking_weights
from oneof.solvers.loo_ridge.stacking import simplex_least_squares
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


def test_the_weights_are_the_best_of_the_simplex():
    """No other weights make the residuals shorter: at the best, no direction into the simplex descends."""
    random = np.random.default_rng(0)
    for m in (2, 3, 6):
        residuals = random.normal(size=(200, m)) @ random.normal(size=(m, m))
        w = simplex_least_squares(residuals)
        assert w.min() >= 0
        assert w.sum() == pytest.approx(1)
        gradient = residuals.T @ (residuals @ w)
        least = w @ gradient
        np.testing.assert_allclose(gradient[w > 0], least, rtol=1e-6)
        assert gradient.min() >= least * (1 - 1e-6)


def test_the_scale_of_residuals_does_not_matter():
    """Residuals of any size, among them none, have weights that sum to 1."""
    residuals = np.random.default_rng(0).normal(size=(50, 3))
    w = simplex_least_squares(residuals)
    for scale in (1e-150, 1e-9, 1e150):
        np.testing.assert_allclose(simplex_least_squares(scale * residuals), w, rtol=1e-9)
    assert simplex_least_squares(np.zeros((50, 3))).sum() == pytest.approx(1)


def test_the_average_leaves_each_row_out():
    """Both forms of the average are the weighted mean of fits without the row, to 1e-8."""
    X, _ = blobs(40)
    P = np.random.default_rng(0).dirichlet(np.ones(4), 40)
    grams = [gram_of(X), gram_of(2.0 * X), X @ X.T]
    weights = np.array([0.5, 0.3, 0.2])
    expected = sum(w * oracle.left_out(gram, P, 0.05) for w, gram in zip(weights, grams, strict=True))
    exact = stacked([ExactRidge.of(gram.copy(), 0.05) for gram in grams], weights)
    np.testing.assert_allclose(exact.left_out(P), expected, rtol=0, atol=1e-8)
    nystroem = stacked([NystroemRidge.of(gram.copy(), gram.copy(), 0.05) for gram in grams], weights)
    np.testing.assert_allclose(nystroem.left_out(P), expected, rtol=0, atol=1e-8)


def test_a_kernel_of_noise_gets_no_weight():
    """Beside a kernel that knows the classes, one of other rows counts for little or nothing."""
    X, truth = blobs(150, 4)
    noise = np.random.default_rng(1).normal(size=X.shape)
    sets = CandidateGroups.of(sets_of(truth))
    ridges = [ExactRidge.of(gram_of(rows), 0.05) for rows in (X, noise)]
    weights = stacking_weights(ridges, sets, max_iter=25)
    assert weights[0] > 0.9
    assert stacking_weights(ridges[:1], sets, max_iter=25).tolist() == [1.0]
