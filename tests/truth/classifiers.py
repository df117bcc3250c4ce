"""Errors of support vector machines, nearest neighbors and Gaussian mixtures."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import oneof
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive.tsvm import SwitchingOptions, solve_one_vs_rest
from oneof.solvers.transductive.weighted_svm import SVMProblem
from tests.oracles import exact, generative, plecoc
from tests.oracles.precision import exp, matrix
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
        gaps.append(exact.duality_gap(half.X, solution.signs, costs, svm.coefficients, svm.intercept))
    return max(gaps)


def codes(problem):
    """PLECOC: error of the losses, compared with the literal decoding of its classifiers."""
    model = fit(oneof.PLECOC(random_state=0), problem)
    few, count = distinct(problem)
    labeled = ~few.mask.all(axis=1)
    new = few.X[:5] + 0.125 * few.X[0]
    unique = {id(svm): svm for svm in model.estimators_}
    h, new_margins = (
        np.transpose([margins[id(svm)] for svm in model.estimators_])
        for rows in (few.X[labeled], new)
        for margins in [{i: exact.margins(svm, matrix(rows) - matrix(model._origin)) for i, svm in unique.items()}]
    )
    H = plecoc.code_weights(h, matrix(few.mask * count[:, None])[labeled], model.code_book_)
    losses = plecoc.losses(new_margins, model.code_book_, H)
    if len(model.classes_) == 2:
        losses -= losses[:, [0]]
    return exact.difference(-scores(model, new), losses)


def votes(problem):
    """PLKNN: excess distance of the neighbors over the nearest rows, and the error of their votes."""
    model = fit(oneof.PLKNN(3), problem)
    new = np.vstack([distinct(problem)[0].X[:5], problem.X[:3] + 0.125 * problem.X[0]])
    labeled = ~problem.mask.all(axis=1)
    _, neighbors = model._index.nearest(3, new).reshape_by_row(len(new))
    return exact.vote_error(problem.X[labeled], problem.mask[labeled], new, neighbors, model.predict_proba(new))


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
    used = standardizer.is_variable
    rows = (matrix(few.X[:, used]) - matrix(standardizer.center[used])) / matrix(standardizer.scale)
    # The logarithm of a class without mass is a large negative number.
    pi = exp(matrix(np.where(before._log_weights < -1e200, -np.inf, before._log_weights)))
    logs = generative.log_gaussian(rows, matrix(start.means), matrix(start.covariances.values))
    r, _ = generative.e_step(matrix(few.mask), pi, logs)
    expected = generative.gaussian_step(rows, matrix(count), r, "full", int(used.sum()))
    # In units of the standard deviations of the features, values below 1 have an absolute error.
    return max(
        float((np.abs(matrix(values) - exactly) / np.maximum(1, np.abs(exactly))).max())
        for values, exactly in zip((after.priors_, end.means, end.covariances.values), expected, strict=True)
    )
