"""Errors of support vector machines, nearest neighbors and Gaussian mixtures."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import oneof
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive.tsvm import SwitchingOptions, solve_one_vs_rest
from oneof.solvers.transductive.weighted_svm import SVMProblem
from tests.oracles import exact, exact_classifiers, exact_gaussian
from tests.truth.problems import Problem, distinct, fit, half_labeled, scores


def transductive(problem):
    """TransductiveSVM: largest gap of the objective of each class's last SVM to its minimum, given the signs."""
    _, half = half_labeled(problem)
    space, unlabeled = FeatureSpace(half.X), half.mask.all(axis=1)
    result = solve_one_vs_rest(
        SVMProblem(space, True), half.mask, options=SwitchingOptions(tol=1e-9), rng=np.random.default_rng(0)
    )
    C, gaps = 1.0 / space.squares.mean(), []
    for solution in result.solutions:
        low, high = solution.cost_path[-1]
        costs = np.where(unlabeled, np.where(solution.signs > 0, high, low), C)
        svm = solution.svm
        gaps.append(exact_classifiers.duality_gap(half.X, solution.signs, costs, svm.coefficients, svm.intercept))
    return max(gaps)


def codes(problem):
    """PLECOC: error of the losses, compared with the literal decoding of its classifiers."""
    model = fit(oneof.PLECOC(random_state=0), problem)
    few, count = distinct(problem)
    labeled = ~few.mask.all(axis=1)
    new = few.X[:5] + 0.125 * few.X[0]
    losses = exact_classifiers.code_losses(model, few.X[labeled], few.mask[labeled], count[labeled], new)
    if len(model.classes_) == 2:
        losses = [[exact.mpf(0), second - first] for first, second in losses]
    return exact.difference(-scores(model, new), losses)


def votes(problem):
    """PLKNN: excess distance of the neighbors over the nearest rows, and the error of their votes."""
    model = fit(oneof.PLKNN(3), problem)
    new = np.vstack([distinct(problem)[0].X[:5], problem.X[:3] + 0.125 * problem.X[0]])
    labeled = ~problem.mask.all(axis=1)
    _, neighbors = model._index.nearest(3, new).reshape_by_row(len(new))
    return exact_classifiers.vote_error(
        problem.X[labeled], problem.mask[labeled], new, neighbors, model.predict_proba(new)
    )


def gaussian(problem):
    """GaussianEM: error of the fifth EM step from the result of the fourth; the objective never decreases."""
    full = np.unique(problem.X, axis=0, return_inverse=True)[1].ravel() % 3 == 1
    problem = Problem(problem.X, problem.mask | full[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the number of iterations is limited on purpose
        before, after = (fit(oneof.GaussianEM(max_iter=n, tol=1e-300), problem) for n in (4, 5))
    assert (np.diff(after.objective_path_) >= -1e-12 * np.abs(after.objective_)).all()
    few, count = distinct(problem)
    start, end = before._parameters, after._parameters
    standardizer = start.standardizer
    rows = exact_gaussian.standardize(
        few.X[:, standardizer.is_variable], standardizer.center[standardizer.is_variable], standardizer.scale
    )
    logs = exact.matrix([before._log_weights])[0]
    covariances = [exact.matrix(values) for values in start.covariances.values]
    r = exact_gaussian.posterior(rows, few.mask, logs, exact.matrix(start.means), covariances)
    nu = exact.mpf(int(standardizer.is_variable.sum()))
    expected = exact_gaussian.step(rows, [exact.mpf(int(times)) for times in count], r, nu)
    result = after.priors_, end.means, end.covariances.values
    # In units of the standard deviations of the features, values below 1 have an absolute error.
    return max(
        float(abs(exact.mpf(float(a)) - b)) / max(1.0, float(abs(b)))
        for values, exactly in zip(result, expected, strict=True)
        for a, b in zip(np.ravel(values), _flat(exactly), strict=True)
    )


def _flat(values):
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value
