"""Errors of transductive and binary machines, of votes, and of Gaussian classes."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import oneof
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.transductive import solve_classes
from tests.oracles import exact, exact_gaussian, exact_machines
from tests.truth.problems import Problem, distinct, fit, half_labeled, scores


def transductive(problem):
    """TransductiveSVM: by how much the objective of the last machine of a class may be above the least, given signs."""
    _, half = half_labeled(problem)
    space, unlabeled = FeatureSpace(half.X), half.mask.all(axis=1)
    found = solve_classes(space, half.mask, tol=1e-9, random=np.random.default_rng(0))
    C, gaps = 1.0 / space.squares.mean(), []
    for solution in found.solutions:
        low, high = solution.costs[-1]
        costs = np.where(unlabeled, np.where(solution.signs > 0, high, low), C)
        machine = solution.machine
        gaps.append(exact_machines.machine_gap(half.X, solution.signs, costs, machine.coefficients, machine.intercept))
    return max(gaps)


def codes(problem):
    """PLECOC: error of the losses, beside the literal decoding of its machines."""
    model = fit(oneof.PLECOC(random_state=0), problem)
    few, count = distinct(problem)
    told = ~few.mask.all(axis=1)
    new = few.X[:5] + 0.125 * few.X[0]
    losses = exact_machines.code_losses(model, few.X[told], few.mask[told], count[told], new)
    if len(model.classes_) == 2:
        losses = [[exact.mpf(0), second - first] for first, second in losses]
    return exact.difference(-scores(model, new), losses)


def votes(problem):
    """PLKNN: by how much neighbors are farther than the nearest, and the error of their votes."""
    model = fit(oneof.PLKNN(3), problem)
    new = np.vstack([distinct(problem)[0].X[:5], problem.X[:3] + 0.125 * problem.X[0]])
    told = ~problem.mask.all(axis=1)
    _, neighbors = model._known.nearest(3, new).by_row(len(new))
    return exact_machines.vote_error(problem.X[told], problem.mask[told], new, neighbors, model.predict_proba(new))


def gaussian(problem):
    """GaussianEM: error of the fifth step of EM, from where the fourth one ended; the objective never falls."""
    full = np.unique(problem.X, axis=0, return_inverse=True)[1].ravel() % 3 == 1
    problem = Problem(problem.X, problem.mask | full[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # they are stopped on purpose
        before, after = (fit(oneof.GaussianEM(max_iter=n, tol=1e-300), problem) for n in (4, 5))
    assert (np.diff(after.objective_path_) >= -1e-12 * np.abs(after.objective_)).all()
    few, count = distinct(problem)
    start, end = before._parameters, after._parameters
    units = start.standardizer
    rows = exact_gaussian.standardize(few.X[:, units.is_variable], units.center[units.is_variable], units.scale)
    logs = exact.matrix([before._log_weights])[0]
    covariances = [exact.matrix(values) for values in start.covariances.values]
    r = exact_gaussian.posterior(rows, few.mask, logs, exact.matrix(start.means), covariances)
    nu = exact.mpf(int(units.is_variable.sum()))
    told = exact_gaussian.step(rows, [exact.mpf(int(times)) for times in count], r, nu)
    found = after.priors_, end.means, end.covariances.values
    # In units of the spread of the features: what is small beside 1 need not have digits of its own.
    return max(
        float(abs(exact.mpf(float(a)) - b)) / max(1.0, float(abs(b)))
        for values, exactly in zip(found, told, strict=True)
        for a, b in zip(np.ravel(values), _flat(exactly), strict=True)
    )


def _flat(values):
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value
