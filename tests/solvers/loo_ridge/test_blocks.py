"""The Nystroem form over blocks of rows, compared with the form of all rows in memory."""

import numpy as np
import pytest

from oneof.kernels.feature_maps import Standard
from oneof.kernels.mapped import KernelSum, MappedKernel
from oneof.solvers.loo_ridge import CandidateGroups, RowSamples, RowsInMemory, SelfTraining, solve_loo_ridge
from oneof.solvers.loo_ridge import blocks as blocks_module
from oneof.solvers.loo_ridge.blocks import LandmarkFeatures, fit_in_blocks
from oneof.solvers.loo_ridge.distractors import (
    ConfusableDistractors,
    CooccurringDistractors,
    IterationState,
    UniformDistractors,
    model_for,
)
from oneof.solvers.loo_ridge.loo_operators import NystroemRidge
from tests.solvers.loo_ridge.problems import blobs, sets_of

UNIFORM = UniformDistractors()


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


def ridge_of(X, kernel, landmarks):
    """Return the ridge of all rows in memory."""
    rows, support = kernel.transform(X), kernel.transform(X[landmarks])
    return NystroemRidge.from_gram(kernel.gram(rows, support), kernel.gram(support), 0.05)


def in_blocks(X, kernel, sets, landmarks, distractors=UNIFORM):
    """Return the solution from the function of the first 100 rows."""
    features = LandmarkFeatures.from_landmarks(kernel, kernel.transform(X[landmarks]), "float64")
    rows, support = kernel.transform(X[:100]), kernel.transform(X[landmarks])
    initial = NystroemRidge.from_gram(kernel.gram(rows, support), kernel.gram(support), 0.05)
    dual = initial.fit(sets.to_dense(sets.initial)[:100])
    model = model_for(distractors, sets)
    return fit_in_blocks(RowsInMemory.from_array(X), features, sets, model, dual, lam=0.05), dual


@pytest.mark.parametrize("block_rows", [7, 8192])
def test_the_function_is_fitted_to_the_labels_of_all_rows(block_rows, monkeypatch):
    """The function and the leave-one-out scores equal those of the ridge in memory for the final labels."""
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", block_rows)
    X, kernel, sets, landmarks = problem()
    result, _ = in_blocks(X, kernel, sets, landmarks)
    P, ridge = sets.to_dense(result.label_probabilities), ridge_of(X, kernel, landmarks)
    gram = kernel.gram(kernel.transform(X), kernel.transform(X[landmarks]))
    expected = ridge.fit(P)
    np.testing.assert_allclose(gram @ result.dual.coefficients, gram @ expected.coefficients, rtol=0, atol=1e-8)
    np.testing.assert_allclose(result.dual.means, expected.means)
    np.testing.assert_allclose(result.scores, ridge.predict_loo(P), rtol=0, atol=1e-8)


@pytest.mark.parametrize("distractors", [UniformDistractors(), CooccurringDistractors(), ConfusableDistractors()])
def test_the_labels_equal_iterations_in_memory(distractors, monkeypatch):
    """The labels are those of the initial function, then of iterations by the leave-one-out predictions of all rows."""
    monkeypatch.setattr(blocks_module, "BLOCK_ROWS", 32)
    X, kernel, sets, landmarks = problem()
    result, dual = in_blocks(X, kernel, sets, landmarks, distractors)
    gram = kernel.gram(kernel.transform(X), kernel.transform(X[landmarks]))
    ridge = ridge_of(X, kernel, landmarks)
    P, changes = sets.normalize(np.maximum(sets.values(gram @ dual.coefficients + dual.means), 1e-6)), []
    while len(changes) < blocks_module.MAX_FULL_ITER and not (changes and changes[-1] <= blocks_module.FULL_TOL):
        predictions = np.maximum(sets.values(ridge.predict_loo(sets.to_dense(P))), 1e-6)
        state = IterationState(predictions, P, sets, 100)
        new = sets.normalize(model_for(distractors, sets).update(state))
        changes.append(np.abs(new - P).sum() / (2 * len(X)))
        P = new
    np.testing.assert_allclose(result.label_probabilities, P, rtol=0, atol=1e-7)
    np.testing.assert_allclose(result.changes, changes, rtol=0, atol=1e-7)
    np.testing.assert_allclose(sets.row_sums(result.label_probabilities), 1)


@pytest.mark.parametrize("training_rows", [np.arange(0, 300, 3), np.arange(300)])
def test_many_rows_continue_from_a_part_of_them(training_rows):
    """Scores are leave-one-out scores of the labels; the first changes are those of the training rows."""
    X, kernel, sets, landmarks = problem()
    rows = RowsInMemory.from_array(X)
    samples = RowSamples(landmarks, training_rows, np.arange(0, 300, 4))
    training = SelfTraining(0.05, 25)
    result = solve_loo_ridge(kernel.kernels, rows, sets, training, samples, use_judge=True)
    P = result.labels.label_distributions
    assert result.judge_weight == 0
    assert np.all(P[~sets.mask] == 0)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    stored = result.model.kernel
    np.testing.assert_allclose(result.scores, ridge_of(X, stored, landmarks).predict_loo(P), rtol=0, atol=1e-8)
    rows, support = stored.transform(X[training_rows]), stored.transform(X[landmarks])
    part = NystroemRidge.from_gram(stored.gram(rows, support), stored.gram(support), 0.05)
    changes = training.run(part, sets.select(training_rows)).changes
    np.testing.assert_allclose(result.labels.changes[: len(changes)], changes, rtol=0, atol=1e-9)
    assert 1 <= len(result.labels.changes) - len(changes) <= blocks_module.MAX_FULL_ITER
