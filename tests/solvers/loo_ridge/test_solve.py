"""Solution of LOORidge without an estimator: kernel weights, blocks of rows, temperature, and the linear judge."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oneof import LOORidge
from oneof.candidates.stratification import folds_by_set
from oneof.kernels.feature_maps import L2Normalize, NormalQuantiles, Standard
from oneof.kernels.mapped import KernelSum, MappedKernel
from oneof.likelihoods import softmax
from oneof.solvers.loo_ridge import loo_operators
from oneof.solvers.loo_ridge import solve as solve_module
from oneof.solvers.loo_ridge.distractors import CandidateGroups, IterationState, next_labels
from oneof.solvers.loo_ridge.loo_operators import ExactRidge, Landmarks, NystroemRidge, RowsInMemory, square_and_scores
from oneof.solvers.loo_ridge.solve import (
    FULL_TOL,
    MAX_FULL_ITER,
    MAX_INVERSE_TEMPERATURE,
    MIN_INVERSE_TEMPERATURE,
    MIN_KERNEL_WEIGHT,
    Judge,
    RowSamples,
    SelfTraining,
    fit_inverse_temperature,
    fit_judge,
    pool_weight,
    simplex_least_squares,
    solve_loo_ridge,
    unit_rows,
)
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import (
    blobs,
    gram_of,
    nystroem_ridge,
    recordings,
    sets_of,
    similar_words,
    small_problem,
    weights_of,
)


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


# -- The linear judge: its labels and its weight, its folds, and its effect on the labels -----------------------------


SHORT_TRAINING = SelfTraining(0.05, 7)


def rbf(X):
    """Return the sum of a single kernel of z-scores."""
    feature_map = Standard.fit(X)
    kernel = MappedKernel.from_rows(feature_map, "rbf", feature_map(X), "float64")
    return KernelSum.from_kernels([kernel], np.ones(1))


def judge_of(X, evidence):
    """Return the dense label distributions of the judge, and its weight."""
    sets = CandidateGroups.from_evidence(evidence)
    judge = fit_judge(X, rbf(X), sets, SHORT_TRAINING)
    return sets.to_dense(judge.probabilities), judge.weight


@pytest.mark.parametrize("max_pool_rows", [2000, 26])
@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
@pytest.mark.parametrize("distractors", ["cooccurring", "dictionary"])
def test_the_judge_equals_the_oracle(distractors, weighted, max_pool_rows, monkeypatch):
    """In double precision, W and w equal those of loops over rows, of an exact maximum, and of Pegasos in steps."""
    X, mask = (each[:40] for each in small_problem(distractors))
    S = weights_of(mask) ** 1.1 if weighted else mask.astype(float)  # sums of multiples of 1/8 have ties in Pegasos
    S[S.min(axis=1) == 1] = np.eye(S.shape[1])[0]
    S[2::9] = 1.0  # unlabeled
    monkeypatch.setattr(solve_module, "MAX_POOL_ROWS", max_pool_rows)
    monkeypatch.setattr(solve_module, "unit_rows", lambda X: unit_rows(X).astype(np.float64))
    W, weight = judge_of(X, S if weighted else S > 0)
    labeled = np.flatnonzero(S.min(axis=1) < 1)
    ambiguous = (S[labeled] >= 0.1).sum(axis=1) > 1
    n_ambiguous = min(max_pool_rows, ambiguous.sum())
    parts = ((labeled[ambiguous], n_ambiguous), (labeled[~ambiguous], max_pool_rows - n_ambiguous))
    chosen = [rows[np.linspace(0, len(rows) - 1, min(n, len(rows))).astype(int)] for rows, n in parts]
    pooled = np.sort(np.concatenate(chosen))
    rng, folds = np.random.default_rng(solve_module.SEED), folds_by_set(S[pooled] >= 0.1, 3)
    gram = rbf(X).gram(rbf(X).transform(X))
    expected, w = oracle.judge(unit_rows(X).astype(np.float64), gram, S, 0.05, 7, pooled, folds, rng)
    np.testing.assert_allclose(W, expected, rtol=0, atol=1e-4)
    assert weight == pytest.approx(w**2, abs=1e-3)


@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
def test_self_training_with_a_judge_equals_the_oracle(weighted):
    """The labels are mixed with those of the judge at the start and in each iteration."""
    X, mask = small_problem("cooccurring")
    S, gram, w = weights_of(mask) if weighted else mask, gram_of(X), 0.6
    sets, ridge = CandidateGroups.from_evidence(S), ExactRidge.from_gram(gram.copy(), 0.05)
    W = np.random.default_rng(0).random(S.shape) * S
    W /= W.sum(axis=1, keepdims=True)
    expected = {
        "uniform": oracle.uniform_labels(gram, S, 0.05, 7, (W, w)),
        "cooccurring": oracle.cooccurring_labels(gram, S, 0.05, 7, (W, w)),
        "confusable": oracle.confusable_labels(gram, S, 0.05, 7, (W, w)),
    }
    for distractors, P in expected.items():
        result = SelfTraining(0.05, 7, distractors=distractors).run(ridge, sets, Judge(sets.values(W), w**2))
        np.testing.assert_allclose(result.label_distributions, P, rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_weight_maximizes_the_likelihood_of_the_pool(seed):
    """The mean log-posterior is within 1e-4 of the maximum, and the weight is near that of the maximum."""
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 300)) ** rng.uniform(0.5, 4.0, (2, 1))

    def loss(w):
        return -np.log((1 - w) * first + w * second).mean() - solve_module.PRIOR_ROWS / 300 * np.log(1 - w)

    best = minimize_scalar(loss, bounds=(0, 1 - 1e-12), method="bounded", options={"xatol": 1e-10})
    w = pool_weight(np.log(first), np.log(second))
    assert loss(w) <= best.fun + 1e-3
    assert w == pytest.approx(best.x, abs=0.01)


def test_a_few_rows_give_the_judge_little_weight():
    """With n ambiguous rows the weight is at most n / (n + 20), also if only the judge explains them."""
    for n in (1, 5, 40):
        assert pool_weight(np.full(n, -20.0), np.zeros(n)) == pytest.approx(n / (n + solve_module.PRIOR_ROWS), abs=1e-3)


def test_rows_have_length_one():
    """Dense rows of numbers become z-scores of length 1, and mostly zero rows keep their zeros."""
    X = blobs(40)[0] * [1.0, 100.0, 1e-3]
    np.testing.assert_allclose(unit_rows(X), L2Normalize()((X - X.mean(axis=0)) / X.std(axis=0)), atol=1e-6)
    counts = np.random.default_rng(0).poisson(0.02, (60, 300)).astype(float)
    np.testing.assert_array_equal(unit_rows(counts) > 0, counts > 0)
    lengths = np.linalg.norm(unit_rows(counts), axis=1)
    np.testing.assert_allclose(lengths[counts.any(axis=1)], 1, atol=1e-6)


def test_no_row_is_ambiguous():
    """The judge has a weight of 0 if no labeled row has several candidates, or if few rows are labeled."""
    X, truth = blobs(40)
    exact = np.eye(4, dtype=bool)[truth]
    few, unlabeled = np.ones((40, 4), dtype=bool), exact.copy()
    unlabeled[::2] = True
    few[0, 0] = False
    for mask in (exact, unlabeled, few):
        sets = CandidateGroups.from_evidence(mask)
        assert fit_judge(X, rbf(X), sets, SHORT_TRAINING).weight == 0


def test_confident_predictions_outside_the_set():
    """If rows of separate classes have sets without the truth, labels and weight are finite."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, 100)
        X, mask = 20.0 * np.eye(4)[truth] + 0.1 * rng.normal(size=(100, 4)), sets_of(truth)
        for i in (7, 8, 9):
            mask[i] = np.isin(np.arange(4), (truth[i] + [1, 2]) % 4)
        W, weight = judge_of(X, mask)
        np.testing.assert_allclose(W.sum(axis=1), 1)
        assert 0 <= weight <= 1


@pytest.mark.parametrize("judge", ["linear", None])
@pytest.mark.parametrize("case", ["exact", "none", "precomputed", "callable"])
def test_the_weight_is_zero_without_a_judge(case, judge):
    """Exact rows, judge=None and kernels of the user have the labels without a judge, and its weight is 0."""
    X, truth = blobs(60)
    mask = np.eye(4, dtype=bool)[truth] if case == "exact" else sets_of(truth)
    options = {"kernel": {"precomputed": "precomputed", "callable": gram_of}.get(case, "rbf")}
    rows = gram_of(X) if case == "precomputed" else X
    model = LOORidge(**options, judge=None if case == "none" else judge).fit(rows, mask)
    assert model.judge_weight_ == 0
    reference = LOORidge(**options, judge=None).fit(rows, mask)
    np.testing.assert_array_equal(model.label_distributions_, reference.label_distributions_)


def accuracies(X, truth, mask):
    """Return the fractions of correct labels with the judge and without it."""
    models = (LOORidge("rbf", features="standard", judge=judge).fit(X, mask) for judge in ("linear", None))
    return np.array([(model.label_distributions_.argmax(axis=1) == truth).mean() for model in models])


def test_the_judge_corrects_labels_that_similar_rows_confirm():
    """If rows of one set are similar, the labels are at least as good as without the judge, and better on average."""
    with_judge, without = np.array([accuracies(*similar_words(seed=seed)) for seed in range(5)]).T
    assert (with_judge >= without - 0.005).all()
    assert (with_judge - without).mean() > 0.02


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["uniform", "cooccurring", "recordings"])
def test_the_judge_does_not_harm_other_sets(kind, seed):
    """With uniform distractors and in scenes, at most one label of a hundred is lost."""
    frequencies = 1.0 / np.arange(1, 7)
    X, truth = blobs(400, 6, d=5, seed=seed, frequencies=frequencies / frequencies.sum())
    problem = (X, truth, sets_of(truth, kind, 2, seed)) if kind != "recordings" else recordings(seed=seed)
    with_judge, without = accuracies(*problem)
    assert with_judge >= without - 0.01


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True], ids=["sets", "weights"])
def test_the_order_of_classes_matters_little(weighted):
    """Permuted classes have permuted labels to .01 on average, since they break the first ties of Pegasos.

    Permuted rows have other folds and another order in Pegasos, so that no such bound holds for few rows.
    """
    X, mask = small_problem("dictionary")
    evidence, classes = weights_of(mask) if weighted else mask, np.array([3, 1, 4, 0, 2])
    difference = np.abs(judge_of(X, evidence[:, classes])[0] - judge_of(X, evidence)[0][:, classes])
    assert difference.sum(axis=1).mean() / 2 < 0.01
