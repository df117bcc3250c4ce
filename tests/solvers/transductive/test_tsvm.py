"""TSVM: the published condition, the number of positives, a nonincreasing objective, brute force."""

from dataclasses import replace

import numpy as np
import pytest

from oneof.solvers.transductive import tsvm, weighted_svm
from oneof.solvers.transductive.tsvm import (
    BinaryLabels,
    SwitchingOptions,
    binary_labels,
    solve_one_vs_rest,
    solve_transductive,
    switchable_pairs,
)
from tests.oracles import transductive as oracle
from tests.solvers.transductive.problems import SPACES, generator, problem, rows

KINDS = ("multiple", "single")


def few_labels(n=60, d=4, n_labeled=8, seed=0, apart=1.0):
    """Return rows, their true signs, and labels; only the first rows are labeled."""
    X, truth = rows(n, d, seed, apart)
    signs = np.where(np.arange(n) < n_labeled, truth, 0.0)
    return X, truth, BinaryLabels(signs, int((truth[n_labeled:] > 0).sum()))


def solved(p, labels, *, C=0.5, C_unlabeled=0.5, rng=None, row_weight=None, **options):
    costs = {"C": C, "C_unlabeled": C_unlabeled, "row_weight": row_weight}
    return solve_transductive(p, labels, **costs, options=SwitchingOptions(**options), rng=rng or generator())


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_the_published_condition(seed):
    """Returned pairs meet the condition, are disjoint, and start with the worst; without a pair no pair meets it."""
    rng = np.random.default_rng(seed)
    scores, signs = rng.normal(size=12).round(1), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    unlabeled = np.arange(3, 12)
    for margin in (0.0, 0.3, 1.5):
        every = set(oracle.switchable(scores, signs, unlabeled, margin))
        positive, negative = switchable_pairs(scores, signs, unlabeled, margin=margin)
        assert set(zip(positive, negative, strict=True)) <= every
        assert len(set(positive)) == len(set(negative)) == len(positive)
        assert bool(len(positive)) == bool(every)
        if every:
            assert scores[positive[0]] == min(scores[m] for m, _ in every)
            assert scores[negative[0]] == max(scores[other] for _, other in every)


@pytest.mark.parametrize("seed", range(20))
def test_switches_decrease_the_objective_for_any_costs(seed):
    """With fixed weights, the losses decrease with every switched pair."""
    rng = np.random.default_rng(seed)
    scores, signs = rng.normal(size=12), np.where(rng.random(12) < 0.5, 1.0, -1.0)
    low, high = rng.random(2)

    def losses(signs):
        return oracle.objective(0.0, scores, signs, np.where(signs > 0, high, low))

    pairs = switchable_pairs(scores, signs, np.arange(12), margin=0.0)
    last = signs.copy()
    for m, l in zip(*pairs, strict=True):  # noqa: E741 - the paper's name
        switched = last.copy()
        switched[[m, l]] *= -1
        assert losses(switched) < losses(last)
        last = switched


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("label_switching", KINDS)
@pytest.mark.parametrize("cost_ratio", ["balanced", "paper"])
def test_the_result_is_a_local_minimum_with_the_given_number_of_positives(space, label_switching, cost_ratio):
    """No pair is switchable, num_+ is kept, the SVM is that of its signs, and given labels are unchanged."""
    X, _, labels = few_labels(apart=0.4)
    p = problem(X, space)
    for n_positive in (labels.n_positive, 5, 47):
        given_labels = BinaryLabels(labels.signs, n_positive)
        solution = solved(p, given_labels, label_switching=label_switching, cost_ratio=cost_ratio, tol=1e-5)
        assert solution.converged
        unlabeled = np.flatnonzero(labels.signs == 0)
        assert int((solution.signs[unlabeled] > 0).sum()) == n_positive
        np.testing.assert_array_equal(solution.signs[labels.signs != 0], labels.signs[labels.signs != 0])
        assert not oracle.switchable(solution.svm.scores, solution.signs, unlabeled, 1e-5)
        value, scores = oracle.svm(X @ X.T, solution.signs, np.full(60, 0.5))
        assert solution.objective_path[-1] == pytest.approx(value, rel=1e-4)
        np.testing.assert_allclose(solution.svm.scores, scores, atol=1e-3)
        np.testing.assert_array_equal(solution.cost_path[-1], [0.5, 0.5])


@pytest.mark.parametrize("label_switching", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_increases_at_fixed_costs(label_switching, seed):
    """From SVM to SVM, with signs switched in between, the objective decreases while the costs are constant."""
    X, _, labels = few_labels(150, 10, seed=seed, apart=0.3)
    solution = solved(problem(X), labels, label_switching=label_switching, C=2.0, C_unlabeled=1.0)
    same = (np.diff(solution.cost_path, axis=0) == 0).all(axis=1)
    assert same.sum() > 3
    steps = np.diff(solution.objective_path)[same]
    assert (steps <= 1e-11 * solution.objective_path[1:][same]).all()
    assert (steps[:-1] < 0).all()


def test_costs_grow_from_1e_5_to_the_full_cost():
    """C*_- begins at 1e-5 C* with either ratio; costs grow by the factor and are capped; the last two are full."""
    X, _, labels = few_labels(apart=3.0)
    p = problem(X)
    n_positive, n_negative = labels.n_positive, 52 - labels.n_positive
    ratios = {"balanced": n_negative / n_positive, "paper": n_positive / n_negative}
    for cost_ratio, ratio in ratios.items():
        costs = solved(p, labels, C_unlabeled=0.1, cost_ratio=cost_ratio, growth=2.0).cost_path
        np.testing.assert_allclose(costs[0], [1e-6, 1e-6 * ratio])
        steps = costs[np.append(True, (np.diff(costs, axis=0) != 0).any(axis=1))]
        np.testing.assert_allclose(steps[1:], np.minimum(2.0 * steps[:-1], 0.1))
        assert (costs[-2:] == 0.1).all()


@pytest.mark.parametrize(("apart", "seed"), [*((3.0, seed) for seed in range(3)), *((0.7, seed) for seed in range(6))])
def test_the_objective_is_at_least_that_of_brute_force(apart, seed):
    """The objective is that of libsvm, and at least the minimum of all labelings, which separate clusters reach."""
    X, truth, labels = few_labels(13, 3, 4, seed=seed, apart=apart)
    best, signs = oracle.best_labeling(X @ X.T, labels.signs, labels.n_positive, 1.0, 1.0)
    for label_switching in KINDS:
        for space in SPACES if apart == 3.0 else ("dense",):
            options = {"C": 1.0, "C_unlabeled": 1.0, "label_switching": label_switching, "tol": 1e-8}
            solution = solved(problem(X, space), labels, **options)
            value, _ = oracle.svm(X @ X.T, solution.signs, np.ones(13))
            assert solution.objective_path[-1] == pytest.approx(value, rel=1e-5)
            assert solution.objective_path[-1] >= best * (1 - 1e-5)
            if apart == 3.0:
                np.testing.assert_array_equal(solution.signs, signs)
                np.testing.assert_array_equal(signs, truth)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("label_switching", KINDS)
def test_signs_and_svm_are_consistent_for_any_max_iter(seed, label_switching):
    """The objective of the returned signs and SVM is the last one of the path."""
    X, _, labels = few_labels(150, 10, seed=seed, apart=0.3)
    p = problem(X)
    full = solved(p, labels, C=2.0, C_unlabeled=1.0, label_switching=label_switching)
    assert full.limit is None
    for max_iter in range(1, full.n_iter + 1):
        solution = solved(p, labels, C=2.0, C_unlabeled=1.0, label_switching=label_switching, max_iter=max_iter)
        low, high = solution.cost_path[-1]
        costs = np.where(labels.signs != 0, 2.0, np.where(solution.signs > 0, high, low))
        assert p.objective(solution.svm, solution.signs, costs) == solution.objective_path[-1]
        assert solution.limit == ("max_iter" if max_iter < full.n_iter else None)


def record_calls(monkeypatch, **changes):
    """Record the calls of `solve_weighted_svm` and their results, with some arguments changed."""
    calls = []

    def solve(problem, signs, costs, **options):
        svm = weighted_svm.solve_weighted_svm(problem, signs, costs, **{**options, **changes})
        calls.append((signs.copy(), costs.copy(), options["tol"], svm))
        return svm

    monkeypatch.setattr(tsvm, "solve_weighted_svm", solve)
    return calls


def test_an_svm_that_is_not_solved_switches_no_signs(monkeypatch):
    """With too few epochs for any SVM all signs stay the initial ones, and the limit is reported."""
    X, _, labels = few_labels(150, 10, seed=0, apart=0.3)
    assert len(solved(problem(X), labels, C=50.0, C_unlabeled=50.0).objective_path) > 35
    calls = record_calls(monkeypatch, max_epochs=1, tol=1e-9)
    solution = solved(problem(X), labels, C=50.0, C_unlabeled=50.0)
    assert not any(svm.converged for *_, svm in calls)
    assert all((signs == calls[1][0]).all() for signs, *_ in calls[1:])
    assert solution.limit == "max_epochs"
    assert not solution.converged
    assert (np.diff(solution.cost_path, axis=0) != 0).any(axis=1).sum() == len(solution.cost_path) - 2


def test_the_svm_of_the_labeled_rows_counts_in_convergence(monkeypatch):
    """If only this one is not solved, the result is not converged; n_iter counts the SVMs of all rows."""
    X, _, labels = few_labels(apart=0.4)

    def solve(problem, signs, costs, **options):
        svm = weighted_svm.solve_weighted_svm(problem, signs, costs, **options)
        return svm if costs.all() else replace(svm, converged=False)

    calls = record_calls(monkeypatch)
    assert solved(problem(X), labels).n_iter == len(calls) - 1
    monkeypatch.setattr(tsvm, "solve_weighted_svm", solve)
    solution = solved(problem(X), labels)
    assert solution.limit == "max_epochs"
    assert solution.n_iter == len(calls) - 1


def test_binary_labels_of_candidate_sets():
    """S = {k} is positive, S without k negative, others unlabeled; the fraction is the mean of 1[k in S]/|S|."""
    mask = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1]], dtype=bool)
    first = binary_labels(mask, 0)
    assert first.signs.tolist() == [1, -1, -1, 0, 0, 0]
    assert first.n_positive == 1  # floor(3 * (1 + 1/2) / 4 + 1/2)
    assert first.ranking is None
    assert binary_labels(mask, 0, 0.9).n_positive == 3
    assert binary_labels(mask, 0, 0.5).n_positive == 2
    third = binary_labels(mask, 2)  # no exact row: ranked by the distance to the mean of the row with this candidate
    assert third.signs.tolist() == [-1, -1, 0, -1, 0, 0]
    assert third.n_positive == 0  # floor(3 / 8 + 1/2)
    assert third.ranking == pytest.approx(np.array([0, 0, 1, 0, 0, 0]) - np.array([1, 1, 0.5, 1, 0, 0]) / 3.5)


def test_binary_labels_of_rows_with_weights():
    """A row is unlabeled if the class is one of several candidates, and counts as w_ik / sum w in the fraction."""
    weights = np.array([[1, 0, 0], [0, 1, 0], [0, 0.5, 1], [1, 0.25, 0], [1, 0.6, 0.4], [1, 1, 1]])
    first = binary_labels(weights, 0)
    assert first.signs.tolist() == [1, -1, -1, 0, 0, 0]
    assert first.n_positive == int(np.floor(3 * (1 + 0.8 + 0.5) / 5 + 0.5))
    third = binary_labels(weights, 2)
    assert third.signs.tolist() == [-1, -1, 0, -1, 0, 0]
    q = np.array([0, 0, 2 / 3, 0, 0.2, 0])
    assert third.ranking == pytest.approx(q / q.sum() - np.array([1, 1, 1 / 3, 1, 0.8, 0]) / (5 - q.sum()))


@pytest.mark.parametrize("K", [2, 3])
def test_the_label_of_a_row_is_the_best_product_of_its_weight_and_its_probability(K):
    """Rows with weights get the class with the largest log w + f; for two classes the other rows keep their sign."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % K
    X = 1.5 * np.eye(K)[truth] + rng.normal(size=(60, K))
    weights = np.where(rng.random(60)[:, None] < 0.3, 1.0, rng.uniform(0.05, 1.0, (60, K)))
    weights[np.arange(60), truth] = 1.0
    weights[: 4 * K] = np.eye(K)[truth[: 4 * K]]
    solution = solve_one_vs_rest(problem(X), weights, rng=generator(), options=SwitchingOptions(tol=1e-6))
    scores = X @ (solution.coefficients.T @ X).T + solution.intercepts
    expected = (np.log(np.maximum(weights, 1e-300)) + scores).argmax(axis=1)
    is_weighted = (weights > 0).all(axis=1) & (weights < 1).any(axis=1)
    assert is_weighted.any()
    if K == 2:
        expected[~is_weighted] = solution.solutions[0].signs[~is_weighted] > 0
    np.testing.assert_array_equal(solution.labels, expected)
    near = np.where(weights == 0, 1e-9, weights)
    again = solve_one_vs_rest(problem(X), near, rng=generator(), options=SwitchingOptions(tol=1e-6))
    np.testing.assert_array_equal(again.coefficients, solution.coefficients)


def test_a_class_without_exact_rows_is_predicted_from_its_candidates():
    """Rows with the third class as a candidate, and rows near them, get it without any exact row."""
    rng = np.random.default_rng(0)
    centers = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 6.0]])
    truth = np.repeat([0, 1, 2], 20)
    X = centers[truth] + rng.normal(size=(60, 2))
    mask = np.ones((60, 3), dtype=bool)
    for rows_, sets in ((slice(0, 5), [1, 0, 0]), (slice(20, 25), [0, 1, 0]), (slice(40, 45), [0, 1, 1])):
        mask[rows_] = sets
    proba = [0.4, 0.4, 0.35]  # of the rows unlabeled in each problem
    solution = solve_one_vs_rest(problem(X), mask, C=1.0, positive_fractions=proba, rng=generator())
    assert np.isfinite(solution.coefficients).all()
    assert (solution.labels == truth).mean() > 0.95
    assert mask[np.arange(60), solution.labels].all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_class_in_no_set_has_no_positive_row(fit_intercept):
    """A class in no set has 0 positives, weights of 0 and a score of -1, with or without an intercept."""
    X, mask = rows(30)[0], np.zeros((30, 3), dtype=bool)
    mask[:10, 0] = mask[10:20, 1] = True
    mask[20:] = True
    solution = solve_one_vs_rest(problem(X, has_intercept=fit_intercept), mask, rng=generator())
    assert not solution.coefficients[:, 2].any()
    assert solution.intercepts[2] == -1.0
    assert bool(solution.intercepts[0]) == fit_intercept
    assert solution.solutions[2].objective_path.tolist() == [0.0]
    assert not (solution.labels == 2).any()


def test_the_second_of_two_classes_is_solved_and_the_first_is_its_negative():
    """One problem is solved; weights and intercepts of the first class are minus those of the second."""
    X, truth = rows()
    mask = np.column_stack([truth < 0, truth > 0])
    mask[20:] = True
    solution = solve_one_vs_rest(problem(X), mask, rng=generator())
    assert len(solution.solutions) == 1
    np.testing.assert_array_equal(solution.coefficients[:, 0], -solution.coefficients[:, 1])
    assert solution.intercepts[0] == -solution.intercepts[1]
    mirrored = solve_one_vs_rest(problem(X), mask[:, ::-1], options=SwitchingOptions(tol=1e-10), rng=generator())
    exact = solve_one_vs_rest(problem(X), mask, options=SwitchingOptions(tol=1e-10), rng=generator())
    np.testing.assert_allclose(mirrored.coefficients[:, ::-1], exact.coefficients, atol=1e-6)
    np.testing.assert_array_equal(mirrored.labels, 1 - exact.labels)


def test_the_objective_path_is_the_sum_over_the_binary_problems():
    """A problem that has ended counts with its final value; every path has one pair of costs for each objective."""
    X, mask = rows(30)[0], np.ones((30, 3), dtype=bool)
    mask[:9] = np.eye(3, dtype=bool)[np.arange(9) % 3]
    mask[9:12] = [True, True, False]
    solution = solve_one_vs_rest(problem(X), mask, positive_fractions=[0.1, 0.3, 0.6], rng=generator())
    paths = [binary.objective_path for binary in solution.solutions]
    assert [len(path) for path in paths] == [len(binary.cost_path) for binary in solution.solutions]
    assert len({len(path) for path in paths}) > 1
    expected = [sum(path[min(i, len(path) - 1)] for path in paths) for i in range(solution.n_iter)]
    np.testing.assert_array_equal(solution.objective_path, expected)
