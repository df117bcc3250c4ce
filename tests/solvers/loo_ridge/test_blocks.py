"""The Nystroem form over blocks of rows, compared with the form of all rows in memory."""

import numpy as np
import pytest

from oneof.kernels.feature_maps import Standard
from oneof.kernels.mapped import KernelSum, MappedKernel
from oneof.solvers.loo_ridge import loo_operators
from oneof.solvers.loo_ridge.distractors import CandidateGroups, IterationState, next_labels
from oneof.solvers.loo_ridge.loo_operators import Landmarks, NystroemRidge, RowsInMemory, square_and_scores
from oneof.solvers.loo_ridge.solve import FULL_TOL, MAX_FULL_ITER, RowSamples, SelfTraining, solve_loo_ridge
from tests.solvers.loo_ridge.problems import blobs, nystroem_ridge, sets_of

DISTRACTORS = ("uniform", "cooccurring", "confusable")


def problem(n=300):
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


@pytest.mark.parametrize("block_rows", [7, 8192])
def test_blocks_give_the_ridge_in_memory(block_rows, monkeypatch):
    """The functions, their scores and the leave-one-out predictions equal those of the ridge in memory to 1e-8."""
    monkeypatch.setattr(loo_operators, "BLOCK_ROWS", block_rows)
    X, kernel, sets, landmarks = problem()
    P, expected = sets.to_dense(sets.normalize(sets.weights)), ridge_of(X, kernel, landmarks)
    dual, predictions = expected.fit(P)
    ridge, scores = in_blocks(X, kernel, landmarks, dual)
    gram = kernel.gram(kernel.transform(X), kernel.transform(X[landmarks]))
    np.testing.assert_allclose(scores, gram @ dual.coefficients + dual.means, rtol=0, atol=1e-8)
    result, result_predictions = ridge.fit(P)
    np.testing.assert_allclose(gram @ result.coefficients + result.means, scores, rtol=0, atol=1e-8)
    np.testing.assert_allclose(result_predictions, predictions, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(ridge.predict_loo(P), result_predictions)


@pytest.mark.parametrize("distractors", DISTRACTORS)
def test_labels_start_from_predictions(distractors):
    """After no iteration the labels are the predictions within the sets, and after more those of the same iteration."""
    X, kernel, sets, landmarks = problem()
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
    X, kernel, sets, landmarks = problem()
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
