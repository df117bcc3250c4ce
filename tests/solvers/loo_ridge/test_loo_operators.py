"""Leave-one-out predictions of both forms of the ridge and of their average, and influential rows."""

import numpy as np
import pytest

from oneof.errors import InputError
from oneof.solvers.loo_ridge import (
    CandidateGroups,
    ExactRidge,
    NystroemRidge,
    runner_up_classes,
    select_distractor_models,
    stack_ridges,
    top_influences,
)
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import blobs, gram_of, sets_of


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


@pytest.mark.parametrize("lam", [1e-3, 0.05, 10.0])
@pytest.mark.parametrize("m", [1, 7, 40])
def test_nystroem_predictions_equal_fits_without_the_row(lam, m):
    """The term of the row is omitted from the sum of squares; a row that is a landmark remains one."""
    X, P = problem()
    Z = X[:m]
    result = NystroemRidge.from_gram(gram_of(X, Z), gram_of(Z), lam).predict_loo(P)
    features = gram_of(X, Z) @ np.linalg.inv(np.linalg.cholesky(gram_of(Z))).T
    np.testing.assert_allclose(result, oracle.predict_loo_from_features(features, P, lam), rtol=0, atol=1e-8)


def test_all_rows_as_landmarks_give_the_exact_form():
    """With every row as a landmark, the leave-one-out predictions and the function are exact."""
    X, P = problem()
    new = problem(10, seed=1)[0]
    exact = ExactRidge.from_gram(gram_of(X), 0.05)
    landmarks = NystroemRidge.from_gram(gram_of(X), gram_of(X), 0.05)
    np.testing.assert_allclose(landmarks.predict_loo(P), exact.predict_loo(P), rtol=0, atol=1e-8)
    exact_fit, landmark_fit = exact.fit(P), landmarks.fit(P)
    cross = gram_of(new, X)
    np.testing.assert_allclose(
        cross @ landmark_fit.coefficients + landmark_fit.means,
        cross @ exact_fit.coefficients + exact_fit.means,
        rtol=0,
        atol=1e-8,
    )


def test_the_block_size_does_not_matter(monkeypatch):
    """Features computed in blocks equal features computed at once."""
    X, P = problem()
    full = NystroemRidge.from_gram(gram_of(X, X[:9]), gram_of(X[:9]), 0.05).predict_loo(P)
    monkeypatch.setattr("oneof.solvers.loo_ridge.loo_operators.BLOCK_ROWS", 7)
    blocks = NystroemRidge.from_gram(gram_of(X, X[:9]), gram_of(X[:9]), 0.05).predict_loo(P)
    np.testing.assert_allclose(blocks, full, rtol=1e-12, atol=1e-12)


def test_the_function_solves_the_normal_equations():
    """The coefficients satisfy (K + lam I) a = P - m."""
    X, P = problem()
    dual = ExactRidge.from_gram(gram_of(X), 0.05).fit(P)
    np.testing.assert_allclose(dual.means, P.mean(axis=0))
    np.testing.assert_allclose((gram_of(X) + 0.05 * np.eye(len(X))) @ dual.coefficients, P - dual.means, atol=1e-10)


def test_predictions_sum_to_one():
    """The predictions of targets that sum to 1 sum to 1."""
    X, P = problem()
    for ridge in (
        ExactRidge.from_gram(gram_of(X), 0.05),
        NystroemRidge.from_gram(gram_of(X, X[:9]), gram_of(X[:9]), 0.05),
    ):
        np.testing.assert_allclose(ridge.predict_loo(P).sum(axis=1), 1.0, rtol=1e-9)


def test_an_indefinite_gram_matrix_is_rejected():
    """A matrix with a negative eigenvalue below -lam is not a kernel."""
    wrong = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(InputError, match="not positive definite"):
        ExactRidge.from_gram(wrong.copy(), 0.05)
    with pytest.raises(InputError, match="not positive semi-definite"):
        NystroemRidge.from_gram(wrong, wrong, 0.05)


def test_a_penalty_lost_in_rounding_is_rejected():
    """If lam is negligible compared with the kernel, leave-one-out predictions are rounding errors."""
    X, _ = problem(6)
    with pytest.raises(InputError, match="larger lam"):
        NystroemRidge.from_gram(gram_of(X), gram_of(X), 1e-14)
    with pytest.raises(InputError, match="larger lam"):
        ExactRidge.from_gram(gram_of(np.repeat(X, 2, axis=0)), 1e-18)
    with pytest.raises(InputError, match="Scale the features"):
        ExactRidge.from_gram(1e14 * X @ X.T, 0.05)


def test_the_average_equals_averaged_fits_without_the_row():
    """Both forms of the average equal the weighted mean of fits without the row, to 1e-8."""
    X, _ = blobs(40)
    P = np.random.default_rng(0).dirichlet(np.ones(4), 40)
    grams = [gram_of(X), gram_of(2.0 * X), X @ X.T]
    weights = np.array([0.5, 0.3, 0.2])
    expected = sum(w * oracle.predict_loo(gram, P, 0.05) for w, gram in zip(weights, grams, strict=True))
    exact = stack_ridges([ExactRidge.from_gram(gram.copy(), 0.05) for gram in grams], weights)
    np.testing.assert_allclose(exact.predict_loo(P), expected, rtol=0, atol=1e-8)
    nystroem = stack_ridges([NystroemRidge.from_gram(gram.copy(), gram.copy(), 0.05) for gram in grams], weights)
    np.testing.assert_allclose(nystroem.predict_loo(P), expected, rtol=0, atol=1e-8)


def solved(n=60, K=4):
    """Return Gram matrices, weights, the averaged ridge, its label distributions and the mask."""
    X, truth = blobs(n, K)
    mask = sets_of(truth)
    mask[::6] = np.eye(K, dtype=bool)[truth[::6]]
    grams, weights = (gram_of(X), gram_of(2.0 * X)), np.array([0.6, 0.4])
    ridge = stack_ridges([ExactRidge.from_gram(gram.copy(), 0.05) for gram in grams], weights)
    selection = select_distractor_models(ridge, CandidateGroups.from_mask(mask), max_iter=25)
    return grams, weights, ridge, selection.label_distributions, mask


def test_an_influence_is_lost_without_the_label_of_its_row():
    """If the label of an influential row is replaced by the mean, the margin decreases by its influence."""
    grams, weights, ridge, P, mask = solved()
    n, m = len(P), P.mean(axis=0)
    F = ridge.predict_loo(P)
    runner_up = runner_up_classes(P, F, mask)
    result = top_influences(ridge, P, runner_up)

    def margin(i, P):
        others = np.delete(np.arange(n), i)
        score = m.copy()
        for gram, weight in zip(grams, weights, strict=True):
            a = np.linalg.solve(gram[np.ix_(others, others)] + 0.05 * np.eye(n - 1), P[others] - m)
            score += weight * (gram[i, others] @ a)
        return score[P[i].argmax()] - score[runner_up[i]]

    for i in (0, 7, 33):
        for j, value in zip(result.rows[i], result.values[i], strict=True):
            without = P.copy()
            without[j] = m
            np.testing.assert_allclose(margin(i, P) - margin(i, without), value, atol=1e-8)


def test_no_other_row_has_a_larger_influence():
    """The reported rows have the largest influences, in descending order, and do not include the row itself."""
    _, _, ridge, P, mask = solved()
    F = ridge.predict_loo(P)
    runner_up = runner_up_classes(P, F, mask)
    result = top_influences(ridge, P, runner_up)
    n, R = len(P), P - P.mean(axis=0)
    a = ridge.influences(np.arange(n))
    for i in range(n):
        k = P[i].argmax()
        values = np.delete(a[i] * (R[:, k] - R[:, runner_up[i]]), i)
        np.testing.assert_allclose(result.values[i], np.sort(values)[::-1][:5])
        assert i not in result.rows[i]
        assert runner_up[i] != k
        assert mask[i, runner_up[i]] or mask[i].sum() == 1


def test_few_rows_report_all_other_rows():
    """With fewer rows than are reported, each row has all others; a single row has none."""
    ridge = ExactRidge.from_gram(np.eye(2) + 0.5, 0.05)
    mask = np.array([[True, False], [True, True]])
    result = top_influences(ridge, mask / mask.sum(axis=1, keepdims=True), np.array([1, 1]))
    assert result.rows.tolist() == [[1], [0]]
    single_row = ExactRidge.from_gram(np.ones((1, 1)), 0.05)
    assert top_influences(single_row, np.array([[1.0, 0.0]]), np.array([1])).rows.shape == (1, 0)
