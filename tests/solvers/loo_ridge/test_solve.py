"""Solution of LOORidge without an estimator: kernel weights, blocks of rows, inverse temperature."""

import numpy as np
import pytest

from oneof.kernels.feature_maps import NormalQuantiles, Standard
from oneof.kernels.mapped import KernelSum, MappedKernel
from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge import loo_operators
from oneof.solvers.loo_ridge.distractors import CandidateGroups, IterationState, next_labels
from oneof.solvers.loo_ridge.loo_operators import Landmarks, NystroemRidge, RowsInMemory, square_and_scores
from oneof.solvers.loo_ridge.solve import (
    FULL_TOL,
    MAX_FULL_ITER,
    MAX_INVERSE_TEMPERATURE,
    MIN_INVERSE_TEMPERATURE,
    MIN_KERNEL_WEIGHT,
    RowSamples,
    SelfTraining,
    fit_inverse_temperature,
    simplex_least_squares,
    solve_loo_ridge,
)
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, nystroem_ridge, sets_of


def scaled(factor):
    """Return the RBF kernel of scaled rows of three features."""
    return MappedKernel(lambda X: factor * X, "rbf", 3.0)


def problem():
    """Return rows, kernels and sets."""
    X, truth = blobs(40, 4)
    return X, [scaled(factor) for factor in (0.5, 1.0, 3.0)], CandidateGroups.from_evidence(sets_of(truth))


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
    unrelated = MappedKernel(lambda X: np.random.default_rng(1).normal(size=X.shape), "rbf", 3.0)
    kernels = [scaled(0.3), scaled(0.5), scaled(0.7), unrelated]
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


DISTRACTORS = ("uniform", "cooccurring", "confusable")


def blocks_problem(n=300):
    """Return rows, a sum of two kernels, exact, partial and unlabeled rows, and the landmarks."""
    X, truth = blobs(n, 5, d=4)
    mask = sets_of(truth, n_distractors=2)
    mask[::6] = np.eye(5, dtype=bool)[truth[::6]]
    mask[1::11] = True
    feature_map = Standard.fit(X)
    kernels = [MappedKernel.from_rows(feature_map, name, feature_map(X), "float64") for name in ("rbf", "laplacian")]
    return (
        X,
        KernelSum.from_kernels(kernels, np.array([0.6, 0.4])),
        CandidateGroups.from_evidence(mask),
        np.arange(0, n, 9),
    )


def ridge_of(X, kernel, landmarks, part=slice(None)):
    """Return the ridge of rows in memory."""
    rows, support = kernel.transform(X[part]), kernel.transform(X[landmarks])
    return nystroem_ridge(kernel.gram(rows, support), kernel.gram(support), 0.05)


def in_blocks(X, kernel, landmarks, dual):
    """Return the ridge over blocks of rows, and the scores of a function of the landmarks."""
    rows, of_rows = RowsInMemory(X), Landmarks.from_rows(kernel, kernel.transform(X[landmarks]), X)
    square, scores = rows.map_reduce(square_and_scores, [None] * len(rows.slices), of_rows, dual)
    return NystroemRidge.in_blocks(rows, of_rows, square, 0.05), np.concatenate(scores)


@pytest.mark.parametrize("distractors", DISTRACTORS)
def test_labels_start_from_predictions(distractors):
    """After no iteration the labels are the predictions within the sets, and after more those of the same iteration."""
    X, kernel, sets, landmarks = blocks_problem()
    ridge, F = ridge_of(X, kernel, landmarks), np.random.default_rng(0).random(sets.mask.shape) + 0.1
    P = sets.normalize(sets.values(F))
    for n_iter in range(3):
        result = SelfTraining(0.05, n_iter, distractors=distractors).run(ridge, sets, predictions=sets.values(F))
        np.testing.assert_allclose(result.label_distributions, sets.to_dense(P), rtol=0, atol=1e-12)
        predictions = np.maximum(sets.values(ridge.predict_loo(sets.to_dense(P))), 1e-6)
        P = next_labels(distractors, IterationState(predictions, P, sets, 100))


@pytest.mark.parametrize("distractors", DISTRACTORS)
@pytest.mark.parametrize("training_rows", [np.arange(0, 300, 3), np.arange(300)])
def test_many_rows_continue_from_a_part_of_them(training_rows, distractors, monkeypatch):
    """The labels are those of the training rows' function, then of at most three iterations with all rows."""
    monkeypatch.setattr(loo_operators, "BLOCK_ROWS", 32)
    X, kernel, sets, landmarks = blocks_problem()
    rows = RowsInMemory(X)
    samples = RowSamples(landmarks, training_rows, np.arange(0, 300, 4))
    training = SelfTraining(0.05, 25, distractors=distractors)
    result = solve_loo_ridge(kernel.kernels, rows, sets, training, samples, use_judge=True)
    stored, P = result.model.kernel, result.labels.label_distributions
    part, ridge = ridge_of(X, stored, landmarks, training_rows), ridge_of(X, stored, landmarks)
    first = training.run(part, sets.select(training_rows))
    dual, _ = part.fit(first.label_distributions)
    _, scores = in_blocks(X, stored, landmarks, dual)
    then = SelfTraining(0.05, MAX_FULL_ITER, FULL_TOL, distractors).run(ridge, sets, predictions=sets.values(scores))
    np.testing.assert_allclose(P, then.label_distributions, rtol=0, atol=1e-7)
    np.testing.assert_allclose(result.labels.changes, np.append(first.changes, then.changes), rtol=0, atol=1e-7)
    np.testing.assert_allclose(result.scores, ridge.predict_loo(P), rtol=0, atol=1e-8)
    assert result.judge_weight == 0


def drawn(b, n=4000, K=5, seed=0):
    """Return scores, and labels drawn from the softmax of b times the scores."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.ones(K), n)
    labels = (softmax(b * scores).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return scores, labels, rng


def test_the_result_is_optimal():
    """No other b has a larger expected likelihood of the labels, with one error in n + 2 rows."""
    scores, _, rng = drawn(5.0, 300)
    P = rng.dirichlet(np.full(5, 0.3), 300)

    def value(b):
        p, e = softmax(b * scores), 1 / 302
        return (((1 - e) * P + e * (1 - P) / 4) * np.log(p)).sum()

    best = fit_inverse_temperature(scores, P)
    grid = np.geomspace(MIN_INVERSE_TEMPERATURE, 0.3 * MAX_INVERSE_TEMPERATURE, 500)
    assert value(best) >= max(value(b) for b in grid) - 1e-9


def test_perfect_scores_have_probabilities_below_one():
    """If the truth always has the best score, its probability for n rows is (n + 1) / (n + 2)."""
    b = fit_inverse_temperature(np.eye(3), np.eye(3))
    assert softmax(b * np.eye(3))[0, 0] == pytest.approx(4 / 5)
    assert fit_inverse_temperature(-np.eye(3), np.eye(3)) == pytest.approx(MIN_INVERSE_TEMPERATURE)
    assert fit_inverse_temperature(np.empty((0, 3)), np.empty((0, 3))) == 1.0
    assert fit_inverse_temperature(np.ones((4, 1)), np.ones((4, 1))) == 1.0


@pytest.mark.parametrize("gap", [0.3, 3.0])
def test_the_order_of_rows_does_not_matter_for_separable_rows(gap):
    """If all predictions are correct, b is the same for any order and rounding of the scores."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 80)
    scores, P = gap * np.eye(4)[truth] + 0.01 * rng.normal(size=(80, 4)), np.eye(4)[truth]
    b = fit_inverse_temperature(scores, P)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(80)
        noise = 1e-15 * rng.normal(size=scores.shape)
        assert fit_inverse_temperature((scores + noise)[order], P[order]) == pytest.approx(b, rel=1e-9)
