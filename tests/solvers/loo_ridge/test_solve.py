"""Solution of LOORidge without an estimator, and the weights of several kernels."""

from dataclasses import dataclass

import numpy as np
import pytest

from oneof.solvers.loo_ridge import CandidateGroups, ExactRidge, solve_loo_ridge, stacking_weights
from oneof.solvers.loo_ridge.solve import simplex_least_squares
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


@dataclass(frozen=True)
class Scaled:
    """RBF kernel of scaled rows."""

    factor: float

    def transform(self, X):
        return self.factor * X

    def gram(self, rows, other_rows=None):
        return gram_of(rows, other_rows)

    def support_rows(self, rows):
        return rows


def problem():
    """Return rows, kernels with their transformed rows, and sets."""
    X, truth = blobs(40, 4)
    kernels = [(Scaled(factor), factor * X) for factor in (0.5, 1.0, 3.0)]
    return X, kernels, CandidateGroups.from_mask(sets_of(truth))


def test_loo_scores_equal_fits_without_the_row():
    """Leave-one-out scores are the weighted mean of n fits of each kernel to the final labels, to 1e-8."""
    _, kernels, sets = problem()
    result = solve_loo_ridge(kernels, sets, lam=0.05, max_iter=25)
    P = result.selection.label_distributions
    expected = sum(
        weight * oracle.predict_loo(kernel.gram(mapped), P, 0.05)
        for (kernel, mapped), weight in zip(kernels, result.kernel_weights, strict=True)
    )
    np.testing.assert_allclose(result.scores, expected, rtol=0, atol=1e-8)


def test_all_rows_as_landmarks_give_the_exact_solution():
    """With every row as a landmark, and all rows for the weights of the kernels, the model is exact."""
    X, kernels, sets = problem()
    exact = solve_loo_ridge(kernels, sets, lam=0.05, max_iter=25)
    for stacking_rows in (None, np.arange(40)):
        result = solve_loo_ridge(
            kernels, sets, lam=0.05, max_iter=25, landmarks=np.arange(40), stacking_rows=stacking_rows
        )
        np.testing.assert_allclose(result.kernel_weights, exact.kernel_weights, atol=1e-9)
        np.testing.assert_allclose(result.model.scores(X), exact.model.scores(X), atol=1e-5)
        assert result.influences is None


def test_a_kernel_without_weight_is_not_stored():
    """The model stores exactly the kernels with a positive weight."""
    X, kernels, sets = problem()
    noise = np.random.default_rng(0).normal(size=X.shape)
    result = solve_loo_ridge([*kernels[:1], (Scaled(1.0), noise)], sets, lam=0.05, max_iter=25)
    assert len(result.model.models) == np.count_nonzero(result.kernel_weights)
    assert result.kernel_weights.sum() == pytest.approx(1)


def test_the_weights_are_optimal_on_the_simplex():
    """The optimality conditions hold: no direction into the simplex decreases the residuals."""
    rng = np.random.default_rng(0)
    for m in (2, 3, 6):
        residuals = rng.normal(size=(200, m)) @ rng.normal(size=(m, m))
        w = simplex_least_squares(residuals)
        assert w.min() >= 0
        assert w.sum() == pytest.approx(1)
        gradient = residuals.T @ (residuals @ w)
        minimum = w @ gradient
        np.testing.assert_allclose(gradient[w > 0], minimum, rtol=1e-6)
        assert gradient.min() >= minimum * (1 - 1e-6)


def test_the_scale_of_residuals_does_not_matter():
    """The weights do not depend on the scale of the residuals; also for zero residuals they sum to 1."""
    residuals = np.random.default_rng(0).normal(size=(50, 3))
    w = simplex_least_squares(residuals)
    for scale in (1e-150, 1e-9, 1e150):
        np.testing.assert_allclose(simplex_least_squares(scale * residuals), w, rtol=1e-9)
    assert simplex_least_squares(np.zeros((50, 3))).sum() == pytest.approx(1)


def test_a_kernel_of_noise_gets_no_weight():
    """A kernel of unrelated rows has a weight near 0 next to an informative kernel."""
    X, truth = blobs(150, 4)
    noise = np.random.default_rng(1).normal(size=X.shape)
    sets = CandidateGroups.from_mask(sets_of(truth))
    ridges = [ExactRidge.from_gram(gram_of(rows), 0.05) for rows in (X, noise)]
    weights = stacking_weights(ridges, sets, max_iter=25)
    assert weights[0] > 0.9
    assert stacking_weights(ridges[:1], sets, max_iter=25).tolist() == [1.0]
