"""Solution of LOORidge without an estimator, and the weights of several kernels."""

from dataclasses import dataclass

import numpy as np
import pytest

from oneof.kernels.feature_maps import NormalQuantiles, Standard
from oneof.kernels.mapped import MappedKernel
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.solvers.loo_ridge.loo_operators import RowsInMemory
from oneof.solvers.loo_ridge.solve import (
    MIN_KERNEL_WEIGHT,
    RowSamples,
    SelfTraining,
    simplex_least_squares,
    solve_loo_ridge,
    weigh_kernels,
)
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


@dataclass(frozen=True)
class Unrelated(Scaled):
    """RBF kernel of rows that are unrelated to the given ones."""

    def transform(self, X):
        return np.random.default_rng(1).normal(size=X.shape)


def problem():
    """Return rows, kernels and sets."""
    X, truth = blobs(40, 4)
    return X, [Scaled(factor) for factor in (0.5, 1.0, 3.0)], CandidateGroups.from_evidence(sets_of(truth))


TRAINING = SelfTraining(0.05, 25)
use_judge = pytest.mark.parametrize("use_judge", [False, True], ids=["no_judge", "judge"])


def solve(kernels, X, sets, use_judge=False, **samples):
    """Return the solution for rows of an array."""
    rows = RowsInMemory(X)
    return solve_loo_ridge(kernels, rows, sets, TRAINING, RowSamples(**samples), use_judge=use_judge)


def sum_of(kernels, weights, X):
    """Return the Gram matrix of the weighted sum."""
    return sum(weight * kernel.gram(kernel.transform(X)) for kernel, weight in zip(kernels, weights, strict=True))


@use_judge
def test_scores_are_those_of_the_sum_of_the_kernels(use_judge):
    """Scores of new rows and leave-one-out scores equal ridge regression with the weighted sum on the final labels."""
    X, kernels, sets = problem()
    new = blobs(15, 4, seed=1)[0]
    result = solve(kernels, X, sets, use_judge)
    assert (result.judge_weight > 0) == use_judge
    P = result.labels.label_distributions
    gram = sum_of(kernels, result.kernel_weights, X)
    np.testing.assert_allclose(result.scores, oracle.predict_loo(gram, P, 0.05), rtol=0, atol=1e-8)
    a = np.linalg.solve(gram + 0.05 * np.eye(40), P - P.mean(axis=0))
    cross = sum(
        w * k.gram(k.transform(new), k.transform(X)) for k, w in zip(kernels, result.kernel_weights, strict=True)
    )
    np.testing.assert_allclose(result.model.scores(new), cross @ a + P.mean(axis=0), rtol=0, atol=1e-8)
    assert result.model.scores(new[:0]).shape == (0, 4)


@use_judge
def test_all_rows_as_landmarks_give_the_exact_solution(use_judge):
    """With every row as a landmark, and all rows for the weights of the kernels, the model is exact."""
    X, kernels, sets = problem()
    exact = solve(kernels, X, sets, use_judge)
    for stacking_rows in (None, np.arange(40)):
        result = solve(kernels, X, sets, use_judge, landmarks=np.arange(40), stacking=stacking_rows)
        np.testing.assert_allclose(result.kernel_weights, exact.kernel_weights, atol=1e-9)
        np.testing.assert_allclose(result.model.scores(X), exact.model.scores(X), atol=1e-5)
        assert result.influences is None
        assert result.judge_weight == exact.judge_weight


@use_judge
@pytest.mark.parametrize("landmarks", [None, np.arange(0, 40, 3)])
def test_the_block_size_does_not_matter(landmarks, use_judge, monkeypatch):
    """Kernels and scores computed in blocks of rows equal those computed at once."""
    X, _, sets = problem()
    kernels = [
        MappedKernel.from_rows(feature_map, name, feature_map(X), "float64")
        for feature_map in (Standard.fit(X), NormalQuantiles.fit(X))
        for name in ("rbf", "laplacian")
    ]
    new = blobs(15, 4, seed=1)[0]
    full = solve(kernels, X, sets, use_judge, landmarks=landmarks)
    monkeypatch.setattr("oneof.solvers.loo_ridge.loo_operators.KERNEL_ROWS", 7)
    blocks = solve(kernels, X, sets, use_judge, landmarks=landmarks)
    np.testing.assert_allclose(blocks.scores, full.scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(blocks.model.scores(new), full.model.scores(new), rtol=0, atol=1e-10)


def test_kernels_are_weighted_on_a_part_of_the_rows():
    """The weights are those of the given rows, and fit n predictions without a row to the labels of their average."""
    X, kernels, sets = problem()
    rows = np.arange(0, 40, 2)
    result = solve(kernels, X, sets, stacking=rows)
    grams, S = [gram_of(kernel.transform(X[rows])) for kernel in kernels], sets.mask[rows]
    P = S / S.sum(axis=1, keepdims=True)
    for _ in range(TRAINING.max_iter):
        P = S * np.maximum(np.mean([oracle.predict_loo(gram, P, 0.05) for gram in grams], axis=0), 1e-6)
        P /= P.sum(axis=1, keepdims=True)
    residuals = np.stack([(P - oracle.predict_loo(gram, P, 0.05)).ravel() for gram in grams], axis=1)
    np.testing.assert_allclose(result.kernel_weights, simplex_least_squares(residuals), rtol=0, atol=1e-7)


def test_a_kernel_without_weight_is_not_stored():
    """The model stores exactly the kernels with a positive weight."""
    X, truth = blobs(150, 4)
    sets = CandidateGroups.from_evidence(sets_of(truth))
    kernels = [Scaled(0.3), Scaled(0.5), Scaled(0.7), Unrelated(1.0)]
    result = solve(kernels, X, sets)
    stored, positive = result.model.kernel, np.flatnonzero(result.kernel_weights)
    assert 0 < len(positive) < 4
    assert stored.kernels == [kernels[i] for i in positive]
    assert len(result.model.support) == len(positive)
    np.testing.assert_array_equal(stored.weights, result.kernel_weights[positive])
    assert result.kernel_weights.sum() == pytest.approx(1)


def test_the_weights_are_optimal_on_the_simplex(monkeypatch):
    """The optimality conditions hold before small weights are dropped: no direction decreases the residuals."""
    monkeypatch.setattr("oneof.solvers.loo_ridge.solve.MIN_KERNEL_WEIGHT", 0.0)
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


def test_small_weights_are_dropped(monkeypatch):
    """Weights below the limit are 0, and the other ones keep their ratios; the sum is 1."""
    rng = np.random.default_rng(0)
    n_dropped = 0
    for m in (2, 3, 6, 6, 6, 6):
        residuals = rng.normal(size=(200, m)) @ rng.normal(size=(m, m))
        result = simplex_least_squares(residuals)
        monkeypatch.setattr("oneof.solvers.loo_ridge.solve.MIN_KERNEL_WEIGHT", 0.0)
        optimal = simplex_least_squares(residuals)
        monkeypatch.undo()
        kept = np.where(optimal >= MIN_KERNEL_WEIGHT, optimal, 0.0)
        np.testing.assert_allclose(result, kept / kept.sum(), rtol=1e-12)
        n_dropped += np.count_nonzero(optimal) - np.count_nonzero(result)
    assert n_dropped > 0


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
    sets = CandidateGroups.from_evidence(sets_of(truth))
    assert weigh_kernels([Scaled(1.0), Unrelated(1.0)], X, sets, TRAINING)[0] > 0.9
