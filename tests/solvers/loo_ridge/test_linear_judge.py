"""The linear judge: its labels and its weight, compared with an oracle, its folds, and what it does for the labels."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from oneof import LOORidge
from oneof.candidates.stratification import folds_by_set
from oneof.kernels.feature_maps import L2Normalize, Standard
from oneof.kernels.mapped import KernelSum, MappedKernel
from oneof.solvers.loo_ridge import solve as solve_module
from oneof.solvers.loo_ridge.distractors import CandidateGroups
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.loo_ridge.solve import Judge, SelfTraining, fit_judge, pool_weight, unit_rows
from tests.oracles import loo_ridge as oracle
from tests.solvers.loo_ridge.problems import (
    blobs,
    gram_of,
    recordings,
    sets_of,
    similar_words,
    small_problem,
    weights_of,
)

TRAINING = SelfTraining(0.05, 7)


def rbf(X):
    """Return the sum of a single kernel of z-scores."""
    feature_map = Standard.fit(X)
    kernel = MappedKernel.from_rows(feature_map, "rbf", feature_map(X), "float64")
    return KernelSum.from_kernels([kernel], np.ones(1))


def judge_of(X, evidence):
    """Return the dense label distributions of the judge, and its weight."""
    sets = CandidateGroups.from_evidence(evidence)
    judge = fit_judge(X, rbf(X), sets, TRAINING)
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
    """Without a row of several candidates that is not unlabeled, or with few labeled rows, there is no judge."""
    X, truth = blobs(40)
    exact = np.eye(4, dtype=bool)[truth]
    few, unlabeled = np.ones((40, 4), dtype=bool), exact.copy()
    unlabeled[::2] = True
    few[0, 0] = False
    for mask in (exact, unlabeled, few):
        sets = CandidateGroups.from_evidence(mask)
        assert fit_judge(X, rbf(X), sets, TRAINING).weight == 0


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
