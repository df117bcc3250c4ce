"""Label switching: the printed condition, the number of positives, an objective that never rises, brute force."""

from dataclasses import replace

import numpy as np
import pytest

from oneof.solvers.transductive import Sides, annealing, sides_of, solve_classes, solve_transductive
from oneof.solvers.transductive import machine as machine_module
from oneof.solvers.transductive.switching import switchable_pairs
from tests.oracles import transductive as oracle
from tests.solvers.transductive.problems import SPACES, generator, problem, rows

KINDS = ("multiple", "single")


def few_labels(n=60, d=4, n_labeled=8, seed=0, apart=1.0):
    """Return rows, their true signs, and sides of which only the first rows know theirs."""
    X, truth = rows(n, d, seed, apart)
    signs = np.where(np.arange(n) < n_labeled, truth, 0.0)
    return X, truth, Sides(signs, int((truth[n_labeled:] > 0).sum()))


def solved(p, sides, *, C=0.5, C_unlabeled=0.5, random=None, **options):
    return solve_transductive(p, sides, C=C, C_unlabeled=C_unlabeled, random=random or generator(), **options)


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_those_of_the_printed_condition(seed):
    """Returned pairs meet it and share no row, the worst come first, and none are returned only if there is none."""
    random = np.random.default_rng(seed)
    scores, signs = random.normal(size=12).round(1), np.where(random.random(12) < 0.5, 1.0, -1.0)
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
def test_trades_lower_the_objective_whatever_the_costs(seed):
    """With the weights as they are, the losses fall with every pair that trades, alone and all at once."""
    random = np.random.default_rng(seed)
    scores, signs = random.normal(size=12), np.where(random.random(12) < 0.5, 1.0, -1.0)
    low, high = random.random(2)

    def losses(signs):
        return oracle.objective(0.0, scores, signs, np.where(signs > 0, high, low))

    pairs = switchable_pairs(scores, signs, np.arange(12), margin=0.0)
    last = signs.copy()
    for m, l in zip(*pairs, strict=True):  # noqa: E741 - the paper's name
        traded = last.copy()
        traded[[m, l]] *= -1
        assert losses(traded) < losses(last)
        last = traded


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("switching", KINDS)
@pytest.mark.parametrize("cost_ratio", ["balanced", "printed"])
def test_the_end_is_a_local_minimum_with_the_given_number_of_positives(space, switching, cost_ratio):
    """No pair of any two rows is switchable, num_+ stands, the machine is that of its signs, labels are not touched."""
    X, _, sides = few_labels(apart=0.4)
    p = problem(X, space)
    for n_positive in (sides.n_positive, 5, 47):
        given = Sides(sides.signs, n_positive)
        found = solved(p, given, switching=switching, cost_ratio=cost_ratio, tol=1e-5)
        assert found.converged
        unlabeled = np.flatnonzero(sides.signs == 0)
        assert int((found.signs[unlabeled] > 0).sum()) == n_positive
        np.testing.assert_array_equal(found.signs[sides.signs != 0], sides.signs[sides.signs != 0])
        assert not oracle.switchable(found.machine.scores, found.signs, unlabeled, 1e-5)
        value, scores = oracle.machine(X @ X.T, found.signs, np.full(60, 0.5))
        assert found.objective[-1] == pytest.approx(value, rel=1e-4)
        np.testing.assert_allclose(found.machine.scores, scores, atol=1e-3)
        np.testing.assert_array_equal(found.costs[-1], [0.5, 0.5])


@pytest.mark.parametrize("switching", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises_at_fixed_costs(switching, seed):
    """From machine to machine, signs traded in between, the objective goes down as long as the costs stay."""
    X, _, sides = few_labels(150, 10, seed=seed, apart=0.3)
    found = solved(problem(X), sides, switching=switching, C=2.0, C_unlabeled=1.0)
    same = (np.diff(found.costs, axis=0) == 0).all(axis=1)
    assert same.sum() > 3
    steps = np.diff(found.objective)[same]
    assert (steps <= 1e-11 * found.objective[1:][same]).all()
    assert (steps[:-1] < 0).all()


def test_costs_begin_low_and_grow_to_the_top():
    """C*_- begins at 1e-5 C*, with either ratio; the costs grow by the factor and are capped; the last two are full."""
    X, _, sides = few_labels(apart=3.0)
    p = problem(X)
    n_positive, n_negative = sides.n_positive, 52 - sides.n_positive
    ratios = {"balanced": n_negative / n_positive, "printed": n_positive / n_negative}
    for cost_ratio, ratio in ratios.items():
        costs = solved(p, sides, C_unlabeled=0.1, cost_ratio=cost_ratio, growth=2.0).costs
        np.testing.assert_allclose(costs[0], [1e-6, 1e-6 * ratio])
        rounds = costs[np.append(True, (np.diff(costs, axis=0) != 0).any(axis=1))]
        np.testing.assert_allclose(rounds[1:], np.minimum(2.0 * rounds[:-1], 0.1))
        assert (costs[-2:] == 0.1).all()


@pytest.mark.parametrize("seed", range(3))
def test_two_clouds_far_apart_get_the_best_of_all_labelings(seed):
    """Where it is easy, the labeling is that which brute force over all of them finds."""
    X, truth, sides = few_labels(13, 2, 4, seed=seed, apart=3.0)
    value, signs = oracle.best_labeling(X @ X.T, sides.signs, sides.n_positive, 0.5, 0.5)
    np.testing.assert_array_equal(signs, truth)
    for space in SPACES:
        found = solved(problem(X, space), sides, tol=1e-8)
        np.testing.assert_array_equal(found.signs, signs)
        assert found.objective[-1] == pytest.approx(value, rel=1e-5)


def test_no_labeling_beats_brute_force():
    """Where clouds overlap, the value of the labeling is that of libsvm, and never below the least of all."""
    for seed in range(6):
        X, _, sides = few_labels(13, 3, 4, seed=seed, apart=0.7)
        best, _ = oracle.best_labeling(X @ X.T, sides.signs, sides.n_positive, 1.0, 1.0)
        for switching in KINDS:
            found = solved(problem(X), sides, C=1.0, C_unlabeled=1.0, switching=switching, tol=1e-8)
            value, _ = oracle.machine(X @ X.T, found.signs, np.ones(13))
            assert found.objective[-1] == pytest.approx(value, rel=1e-5)
            assert found.objective[-1] >= best * (1 - 1e-5)


def test_without_unlabeled_rows_it_is_one_ordinary_machine():
    """Every row labeled: one machine, that of libsvm."""
    X, truth = rows()
    found = solved(problem(X), Sides(truth, 0), tol=1e-8)
    assert found.n_iter == 1
    value, scores = oracle.machine(X @ X.T, truth, np.full(60, 0.5))
    assert found.objective[0] == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(found.machine.scores, scores, atol=1e-4)


def test_too_few_machines_are_told():
    """Where max_iter ends it, it says so, with the number of positives still as given."""
    X, _, sides = few_labels()
    found = solved(problem(X), sides, max_iter=3)
    assert not found.converged
    assert found.n_iter == 3
    assert int((found.signs[8:] > 0).sum()) == sides.n_positive


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("switching", KINDS)
def test_wherever_max_iter_ends_it_signs_and_machine_belong_together(seed, switching):
    """The objective of the signs that are returned, by the machine that is returned, is the last one told."""
    X, _, sides = few_labels(150, 10, seed=seed, apart=0.3)
    p = problem(X)
    full = solved(p, sides, C=2.0, C_unlabeled=1.0, switching=switching)
    assert full.stopped is None
    for max_iter in range(1, full.n_iter + 1):
        found = solved(p, sides, C=2.0, C_unlabeled=1.0, switching=switching, max_iter=max_iter)
        low, high = found.costs[-1]
        costs = np.where(sides.signs != 0, 2.0, np.where(found.signs > 0, high, low))
        assert p.objective(found.machine, found.signs, costs) == found.objective[-1]
        assert found.stopped == ("machines" if max_iter < full.n_iter else None)


def watched(monkeypatch, **changes):
    """Keep what is asked of `solve_machine`, and what it returns, with some arguments changed."""
    calls = []

    def solve(problem, signs, costs, **options):
        machine = machine_module.solve_machine(problem, signs, costs, **{**options, **changes})
        calls.append((signs.copy(), costs.copy(), options["tol"], machine))
        return machine

    monkeypatch.setattr(annealing, "solve_machine", solve)
    return calls


def test_from_a_machine_that_is_not_solved_nothing_is_traded(monkeypatch):
    """With too few passes for any machine all signs stay as they were first, and the passes are named."""
    X, _, sides = few_labels(150, 10, seed=0, apart=0.3)
    assert len(solved(problem(X), sides, C=50.0, C_unlabeled=50.0).objective) > 35
    calls = watched(monkeypatch, most_passes=1, tol=1e-9)
    found = solved(problem(X), sides, C=50.0, C_unlabeled=50.0)
    assert not any(machine.converged for *_, machine in calls)
    assert all((signs == calls[1][0]).all() for signs, *_ in calls[1:])
    assert found.stopped == "passes"
    assert not found.converged
    assert (np.diff(found.costs, axis=0) != 0).any(axis=1).sum() == len(found.costs) - 2


def test_the_machine_of_the_labeled_rows_counts_in_convergence(monkeypatch):
    """Where that one alone is not solved, the whole is not; n_iter is of the machines of all rows."""
    X, _, sides = few_labels(apart=0.4)

    def solve(problem, signs, costs, **options):
        machine = machine_module.solve_machine(problem, signs, costs, **options)
        return machine if costs.all() else replace(machine, converged=False)

    calls = watched(monkeypatch)
    assert solved(problem(X), sides).n_iter == len(calls) - 1
    monkeypatch.setattr(annealing, "solve_machine", solve)
    found = solved(problem(X), sides)
    assert found.stopped == "passes"
    assert found.n_iter == len(calls) - 1


def test_until_the_end_machines_are_solved_loosely(monkeypatch):
    """All but those of the last round are asked for sqrt(tol), which they keep to, and some use."""
    X, _, sides = few_labels(150, 10, seed=1, apart=0.3)
    calls = watched(monkeypatch)
    found = solved(problem(X), sides, C=2.0, C_unlabeled=2.0, tol=1e-4)
    tolerances = np.array([tol for *_, tol, _ in calls])
    violations = np.array([machine.violation for *_, machine in calls])
    loose = tolerances > 1e-4
    np.testing.assert_allclose(tolerances[loose], 1e-2)
    assert loose[:-1].sum() >= len(calls) - 3
    assert not loose[-1]
    assert (violations <= tolerances).all()
    assert (violations[loose] > 1e-4).any()
    assert found.machine.violation <= 1e-4


def test_sides_are_read_off_candidate_sets():
    """S = {k} is positive, S without k negative, other sets are unlabeled; the share is the mean of 1[k in S]/|S|."""
    mask = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0], [1, 1, 1], [1, 1, 1]], dtype=bool)
    first = sides_of(mask, 0)
    assert first.signs.tolist() == [1, -1, -1, 0, 0, 0]
    assert first.n_positive == 1  # floor(3 * (1 + 1/2) / 4 + 1/2)
    assert first.ranking is None
    assert sides_of(mask, 0, 0.9).n_positive == 3
    assert sides_of(mask, 0, 0.5).n_positive == 2
    third = sides_of(mask, 2)  # no row is of it alone: ranked by nearness to the mean of the one that may be
    assert third.signs.tolist() == [-1, -1, 0, -1, 0, 0]
    assert third.n_positive == 0  # floor(3 / 8 + 1/2)
    assert third.ranking == pytest.approx(np.array([0, 0, 1, 0, 0, 0]) - np.array([1, 1, 0.5, 1, 0, 0]) / 3.5)


def test_a_class_without_rows_of_its_own_is_found_by_its_candidates():
    """Rows that may be of the third class, and those beside them, get it, though none is known to be of it."""
    random = np.random.default_rng(0)
    centers = np.array([[4.0, 0.0], [-4.0, 0.0], [0.0, 6.0]])
    truth = np.repeat([0, 1, 2], 20)
    X = centers[truth] + random.normal(size=(60, 2))
    mask = np.ones((60, 3), dtype=bool)
    for rows_, sets in ((slice(0, 5), [1, 0, 0]), (slice(20, 25), [0, 1, 0]), (slice(40, 45), [0, 1, 1])):
        mask[rows_] = sets
    shares = [0.4, 0.4, 0.35]  # of the rows unlabeled in each problem
    found = solve_classes(problem(X).space, mask, C=1.0, positive_fractions=shares, random=generator())
    assert np.isfinite(found.coefficients).all()
    assert (found.labels == truth).mean() > 0.95
    assert mask[np.arange(60), found.labels].all()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_class_that_no_set_names_gets_no_row(fit_intercept):
    """Its number of positives is 0, its weights are 0 and its score is -1, with or without an intercept for others."""
    X, mask = rows(30)[0], np.zeros((30, 3), dtype=bool)
    mask[:10, 0] = mask[10:20, 1] = True
    mask[20:] = True
    found = solve_classes(problem(X).space, mask, fit_intercept=fit_intercept, random=generator())
    assert not found.coefficients[:, 2].any()
    assert found.intercepts[2] == -1.0
    assert bool(found.intercepts[0]) == fit_intercept
    assert found.solutions[2].objective.tolist() == [0.0]
    assert not (found.labels == 2).any()


def test_the_second_of_two_classes_is_solved_and_the_first_is_its_mirror():
    """One problem; weights and intercepts of the first class are minus those of the second."""
    X, truth = rows()
    mask = np.column_stack([truth < 0, truth > 0])
    mask[20:] = True
    found = solve_classes(problem(X).space, mask, random=generator())
    assert len(found.solutions) == 1
    np.testing.assert_array_equal(found.coefficients[:, 0], -found.coefficients[:, 1])
    assert found.intercepts[0] == -found.intercepts[1]
    mirrored = solve_classes(problem(X).space, mask[:, ::-1], tol=1e-10, random=generator())
    exact = solve_classes(problem(X).space, mask, tol=1e-10, random=generator())
    np.testing.assert_allclose(mirrored.coefficients[:, ::-1], exact.coefficients, atol=1e-6)
    np.testing.assert_array_equal(mirrored.labels, 1 - exact.labels)
