"""Tests of columns that are far larger than the others."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from oneof import PLSVM, make_partial_labels
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.plsvm import PLSVMProblem, solve_cccp
from oneof.solvers.plsvm.dual_ascent import ascend
from oneof.solvers.plsvm.problem import best_scores
from oneof.solvers.plsvm.proximal import ProximalPenalty, scale_columns

SECONDS = 1.6e9
"""Size of a time stamp."""


def rows_with_time(n=200, n_classes=3, spread=1e7, seed=0):
    """Return 0/1 features that depend on the class, with a column of time stamps, and the labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    flags = rng.random((n, 6)) < 0.2 + 0.5 * (y[:, None] == np.arange(6) % n_classes)
    return np.column_stack([flags, SECONDS + spread * rng.random(n)]).astype(float), y


def problem(lam=1e-2, **options):
    X, y = rows_with_time(**options)
    return PLSVMProblem(FeatureSpace(X), y[:, None] == np.unique(y), lam)


@pytest.mark.parametrize("lam", [1e-1, 1e-2])
def test_a_constant_column_is_an_intercept(lam):
    """A large constant column has hardly a penalty: the objective is that of scikit-learn's SVM with an intercept."""
    p = problem(lam, n_classes=2, spread=0.0)
    solution = solve_cccp(p, rng=np.random.default_rng(0), tol=1e-6)
    signs, flags = np.where(p.mask[:, 1], 1.0, -1.0), p.space.X[:, :-1]
    svc = SVC(kernel="linear", C=2.0 / p.scale, tol=1e-8).fit(flags, signs)
    # W = (-w/2, w/2), of squared norm ||w||^2 / 2.
    losses = np.maximum(0.0, 1.0 - signs * svc.decision_function(flags))
    expected = 0.25 * lam * float((svc.coef_**2).sum()) + losses.mean()
    assert solution.converged
    assert solution.objective_path[-1] == pytest.approx(expected, rel=1e-4)
    assert p.objective(solution.weights, p.space.matvec(solution.weights)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("n_distractors", [0, 1])
def test_time_stamps_raise_no_warning(is_sparse, n_distractors):
    """PLSVM converges with raw time stamps, to an objective at most that without them."""
    X, y = rows_with_time()
    sets = make_partial_labels(y, n_distractors=n_distractors, random_state=0)
    plain, model = PLSVM().fit(X[:, :-1], sets), PLSVM()
    model.fit(sp.csr_array(X) if is_sparse else X, sets)  # warnings are errors
    assert np.all(np.diff(model.objective_path_) <= 0.0)
    assert model.objective_ <= plain.objective_ * (1.0 + 1e-3)


def test_the_scaled_problem_has_the_same_objective():
    """The objective of weights is that of the scaled weights in the scaled problem."""
    p = problem()
    scaled, scales = scale_columns(p)
    weights = np.random.default_rng(0).normal(size=(3, 7)) / scales
    there = scaled.objective(weights * scales, scaled.space.matvec(weights * scales))
    assert there == pytest.approx(p.objective(weights, p.space.matvec(weights)), rel=1e-12)
    assert (scales[:-1] == 1.0).all()
    assert scales[-1] > 1e9


def test_columns_of_similar_size_are_not_scaled():
    """Columns up to a thousand times as large as the median are left as they are."""
    X, y = rows_with_time()
    X[:, -1] = 100.0
    assert scale_columns(PLSVMProblem(FeatureSpace(X), y[:, None] == np.arange(3), 1e-2)) is None


def test_the_proximal_problem_bounds_the_objective():
    """Its value is at least that of the majorant, equal at its center, and its dual at most its minimum."""
    p = scale_columns(problem())[0]
    rng = np.random.default_rng(0)
    start = rng.normal(size=(3, 7))
    chosen = best_scores(p.space.matvec(start), p.mask).chosen
    penalty = ProximalPenalty.at(p, start)

    def value(weights):
        square = float(((weights - penalty.center) ** 2).sum())
        return 0.5 * p.lam * square + penalty.constant - p.penalty(weights)

    assert value(start) == pytest.approx(0.0, abs=1e-12)
    for _ in range(5):
        assert value(start + rng.normal(size=start.shape)) >= -1e-12
    results = []
    for tol in (1e-1, 1e-4):
        coefficients = np.zeros(p.mask.shape)
        options = {"penalty": penalty, "tol": tol, "value": -np.inf, "rng": rng}
        results.append(ascend(p, chosen, coefficients, **options))
        sums = p.space.rmatvec(coefficients) / p.scale
        np.testing.assert_allclose(results[-1].weights, sums + penalty.center, rtol=1e-8, atol=1e-10)
    loose, tight = results
    assert loose.dual <= tight.primal * (1.0 + 1e-12)
    assert 0.0 <= tight.gap <= 1e-4 * tight.primal
    assert p.majorant(tight.weights, tight.scores, chosen) <= tight.primal * (1.0 + 1e-12)
