"""TSVM by its published conditions and brute force, and the SVM with a cost for each row."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC, LinearSVC

from oneof.solvers.feature_spaces import FeatureSpace, KernelSpace
from oneof.solvers.transductive import tsvm, weighted_svm
from oneof.solvers.transductive.tsvm import (
    BinaryLabels,
    SwitchingOptions,
    binary_labels,
    solve_one_vs_rest,
    solve_transductive,
    switchable_pairs,
)
from oneof.solvers.transductive.weighted_svm import SVMProblem, newton_proximal, solve_weighted_svm
from tests.oracles import transductive as oracle

SPACES = ("dense", "sparse", "gram")


def rows(n=60, d=4, seed=0, apart=1.0):
    """Return rows of two clusters and their signs; the first two rows have different signs."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    return rng.normal(size=(n, d)) + apart * signs[:, None] * (np.arange(d) < 2), signs


def problem(X, space="dense", has_intercept=True):
    """Return the problem of the rows in a space; the Gram matrix is that of the linear kernel."""
    spaces = {
        "dense": lambda: FeatureSpace(X),
        "sparse": lambda: FeatureSpace(sp.csr_array(X)),
        "gram": lambda: KernelSpace(X @ X.T),
    }
    return SVMProblem(spaces[space](), has_intercept)


def generator():
    """Return the generator for the order of the rows."""
    return np.random.default_rng(0)


# -- Transduction -----------------------------------------------------------------------------------------------------


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


# -- SVM with a cost for each row -------------------------------------------------------------------------------------


def solved_svm(p, signs, costs, tol=1e-8, **options):
    return solve_weighted_svm(p, signs, costs, initial=p.zero_solution(), tol=tol, rng=generator(), **options)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_optimality_conditions_hold_and_the_duality_gap_is_closed(space, C):
    """Dual variables are within their bounds and balanced, margins agree with them, and primal equals dual."""
    X, signs = rows()
    costs = C * np.random.default_rng(1).random(60)
    costs[5:9] = 0.0
    p = problem(X, space)
    m = solved_svm(p, signs, costs)
    assert m.converged
    assert m.violation <= 1e-8
    alphas, margins = signs * m.coefficients, signs * m.scores
    assert (alphas >= 0).all()
    assert (alphas <= costs).all()
    assert abs(m.coefficients.sum()) <= 1e-7
    np.testing.assert_allclose(m.products, X @ (X.T @ m.coefficients), atol=1e-9)
    inside = (alphas > 1e-6 * costs) & (alphas < (1 - 1e-6) * costs)
    np.testing.assert_allclose(margins[inside], 1.0, atol=1e-7)
    assert (margins[(alphas <= 1e-9) & (costs > 0)] >= 1 - 1e-7).all()
    assert (margins[(alphas >= (1 - 1e-9) * costs) & (costs > 0)] <= 1 + 1e-7).all()
    w = X.T @ m.coefficients
    primal, dual = p.objective(m, signs, costs), alphas.sum() - 0.5 * w @ w
    assert primal == pytest.approx(oracle.objective(w @ w, m.scores, signs, costs), rel=1e-12)
    assert abs(primal - dual) <= 1e-6 * costs.sum()


@pytest.mark.parametrize("space", SPACES)
def test_without_an_intercept_it_equals_liblinear(space):
    """Without b, the weights are those of LinearSVC with the hinge loss."""
    X, signs = rows()
    peer = LinearSVC(C=0.3, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=10**6).fit(X, signs)
    m = solved_svm(problem(X, space, has_intercept=False), signs, np.full(60, 0.3))
    assert m.intercept == 0.0
    np.testing.assert_allclose(m.scores, X @ peer.coef_[0], atol=1e-4)


@pytest.mark.parametrize("n", [60, 1500], ids=["all rows", "means of the rows far from the margins"])
def test_warm_and_cold_starts_have_the_same_minimum(n, monkeypatch):
    """A start from the SVM of other signs and costs reaches the same minimum, and never increases the objective."""
    monkeypatch.setattr(weighted_svm, "MIN_ROWS", 300)
    X, signs = rows(n, 4, apart=1.0 if n == 60 else 0.7)
    p, costs = problem(X), np.full(n, 0.4)
    start = solved_svm(p, -signs, np.full(n, 5.0), tol=1e-2)
    warm = solve_weighted_svm(p, signs, costs, initial=start, tol=1e-9, rng=generator())
    cold = solved_svm(p, signs, costs, tol=1e-9)
    np.testing.assert_allclose(warm.scores, cold.scores, atol=1e-6)
    loose = solve_weighted_svm(p, signs, costs, initial=cold, tol=0.5, rng=generator())
    assert p.objective(loose, signs, costs) <= p.objective(cold, signs, costs) * (1 + 1e-11)


def test_many_rows_of_few_features_are_solved_to_rounding():
    """The Newton method converges where coordinate ascent does not."""
    X, signs = rows(1000, 5, seed=2, apart=0.5)
    costs = np.full(1000, 15.0)
    m = solved_svm(problem(X), signs, costs, tol=1e-9)
    assert m.converged
    peer = SVC(C=15.0, kernel="linear", tol=1e-8).fit(X, signs)
    np.testing.assert_allclose(m.scores, peer.decision_function(X), atol=2e-3)


def test_rows_of_zeros_and_rows_of_one_sign():
    """Rows of zeros have the loss of the intercept; with one sign only, w = 0 and b is that sign."""
    p = problem(np.zeros((6, 2)))
    signs = np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0])
    m = solved_svm(p, signs, np.ones(6))
    assert m.converged
    np.testing.assert_allclose(m.scores, 1.0)
    p = problem(np.zeros((6, 2)), has_intercept=False)
    assert solved_svm(p, signs, np.ones(6)).converged
    X, _ = rows(20)
    m = solved_svm(problem(X), -np.ones(20), np.ones(20))
    np.testing.assert_allclose(m.scores, -1.0, atol=1e-6)


@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0])
def test_means_of_the_rows_far_from_the_margins_do_not_change_the_solution(C, has_intercept, monkeypatch):
    """Cold and warm starts satisfy the optimality conditions on all rows, and have the objective without means."""
    X, signs = rows(1500, 3, apart=0.7)
    rng = np.random.default_rng(0)
    costs, switched = C * rng.choice([0.0, 1.0, 2.0], size=1500), np.where(rng.random(1500) < 0.003, -signs, signs)
    p = problem(X, has_intercept=has_intercept)
    direct = [solved_svm(p, signs, costs), solved_svm(p, switched, 1.05 * costs)]
    monkeypatch.setattr(weighted_svm, "MIN_ROWS", 300)
    monkeypatch.setattr(weighted_svm, "NEAR_FRACTION", 0.2)
    used = []
    original = weighted_svm._solve_near_rows
    monkeypatch.setattr(weighted_svm, "_solve_near_rows", lambda *a, **k: used.append(original(*a, **k)) or used[-1])
    first = solved_svm(p, signs, costs)
    options = {"initial": first, "tol": 1e-8, "rng": generator()}
    second = solve_weighted_svm(p, switched, 1.05 * costs, **options)
    for m, expected, y, c in ((first, direct[0], signs, costs), (second, direct[1], switched, 1.05 * costs)):
        assert m.converged
        assert m.violation <= 1e-8
        assert abs(m.coefficients.sum()) <= 1e-7 * max(1.0, c.sum()) or not has_intercept
        assert (y * m.coefficients >= 0.0).all()
        assert (y * m.coefficients <= c * (1.0 + 1e-12)).all()
        assert p.objective(m, y, c) == pytest.approx(p.objective(expected, y, c), rel=1e-7)
        np.testing.assert_allclose(m.scores, expected.scores, atol=1e-5)
    assert any(solution is not None for solution in used)


def gap(X, signs, costs, coefficients, intercept):
    """Return the duality gap, relative to the sum of the costs."""
    w = X.T @ coefficients
    losses = costs @ np.maximum(0.0, 1.0 - signs * (X @ w + intercept))
    return (w @ w + losses - signs @ coefficients) / costs.sum()


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("has_intercept", [True, False])
@pytest.mark.parametrize(("n", "d", "C"), [(300, 5, 20.0), (40, 90, 20.0), (200, 4, 1e6), (60, 4, 1e-3)])
def test_the_duality_gap_closes_from_any_start(space, has_intercept, n, d, C):
    """From any coefficients and intercept the result is optimal, inside the bounds, and balanced."""
    X, signs = rows(n, d, seed=1, apart=0.5)
    p, rng = problem(X, space), np.random.default_rng(0)
    for costs in (np.full(n, C), np.where(rng.random(n) < 0.2, C, 1e-5 * C)):
        for start in (np.zeros(n), signs * costs * rng.random(n)):
            before = start.copy()
            result = newton_proximal(
                p.space, signs, costs, start, 3.0 * has_intercept, has_intercept=has_intercept, tol=1e-7
            )
            assert result.converged
            assert (result.coefficients * signs >= 0.0).all()
            assert (result.coefficients * signs <= costs).all()
            assert has_intercept or result.intercept == 0.0
            assert not has_intercept or abs(result.coefficients.sum()) <= 1e-7 * costs.min() + 1e-14 * costs.sum()
            assert abs(gap(X, signs, costs, result.coefficients, result.intercept)) <= 1e-6
            np.testing.assert_array_equal(start, before)


def test_low_costs_do_not_prevent_convergence_of_the_intercept():
    """With costs of very different sizes, b converges even if rows of low cost determine it."""
    X = np.array([[-0.57, 0.25], [0.61, -0.86], [-3.03, 1.41], [-1.05, 2.52], [-0.17, 0.28], [-1.66, 1.39]])
    signs, costs = np.array([-1.0, 1, -1, 1, 1, -1]), np.array([1.0, 1, 1e-6, 1e-6, 1e-6, 1e-6])
    p = problem(X)
    m = solve_weighted_svm(p, signs, costs, initial=p.zero_solution(), tol=1e-6, rng=generator(), max_epochs=200)
    assert m.converged
    assert abs(gap(X, signs, costs, m.coefficients, m.intercept)) <= 1e-6


def test_systems_that_are_too_large_are_not_solved(monkeypatch):
    """Above the limit, the start is returned unchanged."""
    monkeypatch.setattr(weighted_svm, "MAX_UNKNOWNS", 2)
    X, signs = rows(50, 4)
    start = 0.5 * signs
    result = newton_proximal(problem(X).space, signs, np.ones(50), start, 0.2, has_intercept=True, tol=1e-6)
    assert not result.converged
    np.testing.assert_array_equal(result.coefficients, start)
    assert result.intercept == 0.2
