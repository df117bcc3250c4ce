"""Predictions of both forms of the ridge without a row, of sums and averages, and influential rows."""

from inspect import getclosurevars

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.solvers.loo_ridge.loo_operators import (
    ExactRidge,
    LinearLOO,
    pair_predictor,
    runner_up_classes,
    top_influences,
)
from oneof.solvers.loo_ridge.solve import SelfTraining
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, nystroem_ridge, sets_of


def problem(n=40, K=4, seed=0):
    """Return rows and targets that sum to 1."""
    X, _ = blobs(n, K, seed=seed)
    return X, np.random.default_rng(seed).dirichlet(np.ones(K), n)


@pytest.mark.parametrize("lam", [1e-3, 0.05, 10.0])
def test_exact_predictions_equal_fits_without_the_row(lam):
    """Each prediction equals that of a fit to the other rows, with targets centered by the means of all rows."""
    X, P = problem()
    gram = gram_of(X)
    result = ExactRidge.from_gram(gram.copy(), lam).predict_loo(P)
    np.testing.assert_allclose(result, oracle.predict_loo(gram, P, lam), rtol=0, atol=1e-8)


@pytest.mark.parametrize("block_rows", [7, 8192])
@pytest.mark.parametrize("lam", [1e-3, 0.05, 10.0])
@pytest.mark.parametrize("m", [1, 7, 40])
def test_nystroem_predictions_equal_fits_without_the_row(lam, m, block_rows, monkeypatch):
    """The term of the row is omitted from the sum of squares; a row that is a landmark remains one."""
    monkeypatch.setattr("oneof.solvers.loo_ridge.loo_operators.BLOCK_ROWS", block_rows)
    X, P = problem()
    Z = X[:m]
    result = nystroem_ridge(gram_of(X, Z), gram_of(Z), lam).predict_loo(P)
    features = gram_of(X, Z) @ np.linalg.inv(np.linalg.cholesky(gram_of(Z))).T
    np.testing.assert_allclose(result, oracle.predict_loo(features @ features.T, P, lam), rtol=0, atol=1e-8)


def test_an_indefinite_gram_matrix_is_rejected():
    """A matrix with a negative eigenvalue below -lam is not a kernel."""
    wrong = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InputError, match="not positive definite"):
        ExactRidge.from_gram(wrong.copy(), 0.05)
    with pytest.raises(InputError, match="not positive semi-definite"):
        nystroem_ridge(wrong, wrong, 0.05)


def test_a_penalty_lost_in_rounding_is_rejected():
    """If lam is negligible compared with the kernel, leave-one-out predictions are rounding errors."""
    X, P = problem(6)
    with pytest.raises(InputError, match="larger lam"):
        nystroem_ridge(gram_of(X), gram_of(X), 1e-14).predict_loo(P)
    with pytest.raises(InputError, match="larger lam"):
        ExactRidge.from_gram(gram_of(np.repeat(X, 2, axis=0)), 1e-18)
    with pytest.raises(InputError, match="Scale the features"):
        ExactRidge.from_gram(1e14 * X @ X.T, 0.05)


GRAMS = (gram_of, lambda X: gram_of(2.0 * X), lambda X: X @ X.T)
WEIGHTS = np.array([0.5, 0.3, 0.2])


def average_of(grams, weights):
    """Return the average of the ridges of Gram matrices."""
    ridges = [ExactRidge.from_gram(gram.copy(), 0.05) for gram in grams]
    return LinearLOO(sum(weight * ridge.operator for weight, ridge in zip(weights, ridges, strict=True)))


def test_the_average_equals_averaged_fits_without_the_row():
    """The average of ridges equals the weighted mean of fits without the row, to 1e-8."""
    X, P = problem()
    grams = [gram(X) for gram in GRAMS]
    expected = sum(w * oracle.predict_loo(gram, P, 0.05) for w, gram in zip(WEIGHTS, grams, strict=True))
    average = average_of(grams, WEIGHTS)
    np.testing.assert_allclose(average.predict_loo(P), expected, rtol=0, atol=1e-8)


def mixed_sets(n, K, n_distractors):
    """Return exact, partial and unlabeled rows."""
    X, truth = blobs(n, K)
    mask = sets_of(truth, n_distractors=n_distractors)
    mask[::6] = np.eye(K, dtype=bool)[truth[::6]]
    mask[1::11] = True
    return X, CandidateGroups.from_evidence(mask)


def labels_within(sets, seed=0):
    """Return random label distributions within the sets."""
    random = np.random.default_rng(seed).random(sets.mask.shape) + 0.01
    return sets.to_dense(sets.normalize(sets.values(random)))


PAIR_PROBLEMS = {"blocks": (60, 12, 1), "dense": (40, 5, 3)}


@pytest.mark.parametrize("part", ["all", "several candidates", "exact"])
@pytest.mark.parametrize("form", PAIR_PROBLEMS)
def test_pair_predictions_equal_fits_without_the_row(form, part):
    """Inside the sets, predictions by blocks of classes and dense ones equal the oracle."""
    X, sets = mixed_sets(*PAIR_PROBLEMS[form])
    rows = {"all": sets.sizes > 0, "several candidates": sets.sizes > 1, "exact": sets.sizes == 1}[part]
    sets, gram = sets.select(rows), gram_of(X[rows])
    P = labels_within(sets)
    exact = pair_predictor(ExactRidge.from_gram(gram.copy(), 0.05), sets)
    assert ("blocks" in getclosurevars(exact).nonlocals) == (form == "blocks" or part == "exact")
    nystroem = pair_predictor(nystroem_ridge(gram, gram, 0.05), sets)
    several = (sets.sizes > 1)[sets.rows]
    expected = sets.values(oracle.predict_loo(gram, P, 0.05))[several]
    np.testing.assert_allclose(exact(sets.values(P))[several], expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(nystroem(sets.values(P))[several], expected, rtol=0, atol=1e-8)


def test_single_precision(monkeypatch):
    """In float32 the Nystroem form predicts the same to 1e-3, and at least 99.5 % of the labels are the same."""
    X, truth = blobs(2000, 6, d=5)
    sets = CandidateGroups.from_evidence(sets_of(truth, n_distractors=2))
    Z = X[::20]
    P, labels = labels_within(sets), []
    predictions = []
    for dtype, least in ((np.float64, 1e9), (np.float32, 1)):
        monkeypatch.setattr("oneof.solvers.loo_ridge.loo_operators.MIN_FLOAT32_FEATURES", least)
        ridge = nystroem_ridge(gram_of(X, Z), gram_of(Z), 0.05)
        assert ridge.blocks.X.dtype == dtype
        predictions.append(ridge.predict_loo(P))
        trained = SelfTraining(0.05, 25, distractors="uniform").run(ridge, sets)
        labels.append(trained.label_distributions.argmax(axis=1))
    np.testing.assert_allclose(predictions[1], predictions[0], rtol=0, atol=1e-3)
    assert (labels[0] == labels[1]).mean() >= 0.995


FORMS = ("average", "sum")


def solved(form, n=60, K=4):
    """Return Gram matrices, weights, the average of ridges or the ridge of a sum, its label distributions, the mask."""
    X, truth = blobs(n, K)
    mask = sets_of(truth)
    mask[::6] = np.eye(K, dtype=bool)[truth[::6]]
    grams, weights = (gram_of(X), gram_of(2.0 * X)), np.array([0.6, 0.4])
    if form == "sum":
        grams, weights = (weights[0] * grams[0] + weights[1] * grams[1],), np.ones(1)
        ridge = ExactRidge.from_gram(grams[0].copy(), 0.05)
    else:
        ridge = average_of(grams, weights)
    labels = SelfTraining(0.05, 25).run(ridge, CandidateGroups.from_evidence(mask))
    return grams, weights, ridge, labels.label_distributions, mask


@pytest.mark.parametrize("form", FORMS)
def test_an_influence_is_lost_without_the_label_of_its_row(form):
    """If the label of an influential row is replaced by the mean, the margin decreases by its influence."""
    grams, weights, ridge, P, mask = solved(form)
    n, m = len(P), P.mean(axis=0)
    F = ridge.predict_loo(P)
    runner_up = runner_up_classes(P, F, mask)
    rows, values = top_influences(ridge, P, runner_up)

    def margin(i, P):
        others = np.delete(np.arange(n), i)
        score = m.copy()
        for gram, weight in zip(grams, weights, strict=True):
            a = np.linalg.solve(gram[np.ix_(others, others)] + 0.05 * np.eye(n - 1), P[others] - m)
            score += weight * (gram[i, others] @ a)
        return score[P[i].argmax()] - score[runner_up[i]]

    for i in (0, 7, 33):
        for j, value in zip(rows[i], values[i], strict=True):
            without = P.copy()
            without[j] = m
            np.testing.assert_allclose(margin(i, P) - margin(i, without), value, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_no_other_row_has_a_larger_influence(form):
    """The reported rows have the largest influences, in descending order, and do not include the row itself."""
    _, _, ridge, P, mask = solved(form)
    F = ridge.predict_loo(P)
    runner_up = runner_up_classes(P, F, mask)
    rows, values = top_influences(ridge, P, runner_up)
    n, R = len(P), P - P.mean(axis=0)
    a = -ridge.operator
    for i in range(n):
        k = P[i].argmax()
        expected = np.delete(a[i] * (R[:, k] - R[:, runner_up[i]]), i)
        np.testing.assert_allclose(values[i], np.sort(expected)[::-1][:5])
        assert i not in rows[i]
        assert runner_up[i] != k
        assert mask[i, runner_up[i]] or mask[i].sum() == 1


def test_few_rows_report_all_other_rows():
    """With fewer rows than are reported, each row has all others; a single row has none."""
    ridge = ExactRidge.from_gram(np.eye(2) + 0.5, 0.05)
    mask = np.array([[True, False], [True, True]])
    rows, _ = top_influences(ridge, mask / mask.sum(axis=1, keepdims=True), np.array([1, 1]))
    assert rows.tolist() == [[1], [0]]
    single_row = ExactRidge.from_gram(np.ones((1, 1)), 0.05)
    assert top_influences(single_row, np.array([[1.0, 0.0]]), np.array([1]))[0].shape == (1, 0)
