"""Ill-conditioned problems, the error of each method on them, and the problems that are skipped."""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import oneof
from oneof import CandidateSets
from oneof.graphs import NeighborGraph, check_affinity
from oneof.solvers.diffusion.label_propagation import solve_local_global_consistency
from oneof.solvers.feature_spaces import FeatureSpace
from oneof.solvers.graph_logistic.likelihood import CandidateLikelihood
from oneof.solvers.graph_logistic.prior import Prior, smoothness_matrix
from oneof.solvers.loo_ridge.loo_operators import ExactRidge
from oneof.solvers.neighbors import nonnegative_least_squares
from oneof.solvers.transducer import solve_transduction
from oneof.solvers.transductive.tsvm import SwitchingOptions, solve_one_vs_rest
from oneof.solvers.transductive.weighted_svm import SVMProblem
from tests.oracles import diffusion, exact, generative, loo_ridge, plecoc
from tests.oracles import online as online_oracle
from tests.oracles.precision import exp, matrix


class Problem(NamedTuple):
    """Rows and their sets; some classes may be in no set."""

    X: np.ndarray
    mask: np.ndarray

    @property
    def exact(self):
        """Return the problem with the first candidate of each set as its label."""
        return Problem(self.X, np.eye(self.mask.shape[1], dtype=bool)[self.mask.argmax(axis=1)])


def _sets(n, K, rng, fraction=0.3):
    mask = rng.random((n, K)) < fraction
    mask[np.arange(n), np.arange(n) % K] = True
    mask[mask.all(axis=1), -1] = False
    return mask


def problems():
    """Return the problems by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    plain = Problem(X, _sets(12, 3, rng))
    nearly = np.column_stack([X[:, 0], X[:, 0] + 1e-9 * X[:, 1], X[:, 2]])
    few = rng.normal(size=(5, 2))
    skewed = np.zeros((5, 2), dtype=bool)
    skewed[:4, 0], skewed[4, 1] = True, True
    often = np.append(np.repeat(np.arange(4), 2500), 4)
    return {
        "plain": plain,
        "duplicated rows": Problem(np.repeat(X[:4], 3, axis=0), plain.mask),
        "collinear features": Problem(nearly, plain.mask),
        "features of sizes 1e-8, 1, 1e8": Problem(X * [1e-8, 1.0, 1e8], plain.mask),
        "far from the origin (1e8)": Problem(X + 1e8, plain.mask),
        "10,000 rows to 1": Problem(few[often], skewed[often]),
        "1,000 classes": Problem(rng.normal(size=(20, 3)), _sets(20, 1000, rng, 0.001)),
        "one row": Problem(X[:1], np.array([[True, False, False]])),
        "one class named": Problem(X, np.tile([True, False, False], (12, 1))),
    }


def distinct(problem):
    """Return the distinct rows of a problem with how often they occur; equal rows must have equal sets."""
    if len(problem.X) < 1000:
        return problem, np.ones(len(problem.X))
    _, first, count = np.unique(problem.X, axis=0, return_index=True, return_counts=True)
    return Problem(problem.X[first], problem.mask[first]), count


def fit(estimator, problem):
    """Return the estimator fitted with all classes."""
    return estimator.fit(problem.X, CandidateSets(problem.mask, np.arange(problem.mask.shape[1])))


def scores(model, X):
    """Return (n, K) scores."""
    values = model.decision_function(X)
    return np.column_stack([np.zeros(len(values)), values]) if values.ndim == 1 else values


def clpl(problem):
    """CLPL: relative error of the weights."""
    model = fit(oneof.CLPL(), problem)
    few, count = distinct(problem)
    return exact.clpl_error(model.coef_, few.X, few.mask, 1, count)


def plem(problem):
    """PLEM, on exact labels: relative error of the weights."""
    model = fit(oneof.PLEM(), problem.exact)
    few, count = distinct(problem.exact)
    return exact.plem_error(model.coef_, few.X, few.mask, 1, count)


def online(name):
    """Return the relative error of an online classifier's scores, compared with the literal algorithm."""

    def error(problem):
        few, _ = distinct(problem)  # the literal algorithm is slow in many digits: rows are not repeated
        model = fit(getattr(oneof, name)(), few)
        method, prediction = name[3:].lower(), "average" if name.startswith("Avg") else "max"
        options = {"method": method, "prediction": prediction, "lam": exact.mpf(1e-4)}
        history, _, _ = online_oracle.run(matrix(few.X), matrix(few.mask), **options)
        return exact.difference(few.X @ model.coef_.T, matrix(few.X) @ history[-1].T)

    return error


def plsvm(problem):
    """PLSVM, on exact labels: relative excess of the objective over that of liblinear at its smallest tolerance."""
    problem = problem.exact
    n = len(problem.X)
    model = fit(oneof.PLSVM(lam=0.1, tol=1e-12, max_iter=10_000), problem)
    labels = problem.mask.argmax(axis=1)
    peer = LinearSVC(
        multi_class="crammer_singer",
        fit_intercept=False,
        C=1 / (0.1 * n),
        tol=1e-14,
        max_iter=1_000_000,
        random_state=0,
    ).fit(problem.X, labels)
    W = np.zeros_like(model.coef_)
    W[peer.classes_] = peer.coef_ if len(peer.coef_) > 1 else np.vstack([-peer.coef_, peer.coef_]) / 2

    def objective(weights):
        values = problem.X @ weights.T
        true_scores = values[np.arange(n), labels]
        values[np.arange(n), labels] = -np.inf
        return 0.05 * (weights**2).sum() + np.maximum(0, 1 - true_scores + values.max(axis=1)).mean()

    objective_of_plsvm, objective_of_liblinear = objective(model.coef_), objective(W)
    return max(0.0, (objective_of_plsvm - objective_of_liblinear) / objective_of_liblinear)


def affinity(problem):
    """Return Gaussian weights of all pairs of rows, (n, n), in units of the largest feature."""
    rows = problem.X / np.abs(problem.X).max()
    W = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2))
    np.fill_diagonal(W, 0)
    return W


def half_labeled(problem):
    """Return class numbers, -1 for half of the rows, and the problem with only these labels."""
    # With many rows every other row is labeled, including the last one.
    n, K = problem.mask.shape
    labeled = np.arange(n) < max(1, n // 2) if n < 1000 else np.arange(n) % 2 != n % 2
    labels = np.where(labeled, problem.mask.argmax(axis=1), -1)
    return labels, Problem(problem.X, np.where(labels[:, None] < 0, True, np.arange(K) == labels[:, None]))


def harmonic(problem):
    """HarmonicField: largest error of a probability, compared with the linear system in 50 digits."""
    labels, half = half_labeled(problem)
    W = affinity(problem)
    model = fit(oneof.HarmonicField(affinity=W, tol=1e-12), half)
    return exact.difference(model.label_distributions_, diffusion.harmonic(matrix(W), labels >= 0, matrix(half.mask)))


def loo(problem):
    """LOORidge: error of the leave-one-out predictions, compared with a linear system for each row."""
    unit = problem.X / np.abs(problem.X).max()
    gram = unit @ unit.T
    targets = problem.mask / problem.mask.sum(axis=1, keepdims=True)
    targets = targets[:, targets.any(axis=0)][:, :3]
    return exact.difference(
        ExactRidge.from_gram(gram.copy(), 0.05).predict_loo(targets),
        loo_ridge.predict_loo(matrix(gram), matrix(targets), 0.05),
    )


def ipal(problem):
    """IPAL: violation of the optimality conditions by the reconstruction weights of a row."""
    rows, target = problem.X[1:], problem.X[:1]
    gram, cross = (rows @ rows.T)[None], rows @ target[0]
    weights = nonnegative_least_squares(gram, cross[None], (target @ target.T)[0])
    return exact.nonnegative_error(gram[0], cross, weights[0])


def plgp(problem):
    """PLGP, on exact labels: residual of the equation of the mode, relative to its largest value."""
    from sklearn.gaussian_process.kernels import DotProduct

    unit = problem.X / np.abs(problem.X).max()
    model = fit(oneof.PLGP(DotProduct(0.1, "fixed"), optimizer=None, tol=1e-13), Problem(unit, problem.exact.mask))
    return exact.mode_error(model.latent_mode_, DotProduct(0.1)(unit), problem.exact.mask)


def multinomial(problem):
    """MultinomialEM, on exact labels: error of the probabilities, compared with naive Bayes in closed form."""
    problem = problem.exact
    counts = np.abs(problem.X)
    model = fit(oneof.MultinomialEM(), Problem(counts, problem.mask))
    new = counts[:3] / counts.max()
    y = matrix(problem.mask)
    pi, log_shares = generative.multinomial_step(matrix(counts), matrix(np.ones(len(y))), y, 1)
    expected, _ = generative.e_step(0 * y[:3] + 1, pi, matrix(new) @ log_shares.T)
    return exact.difference(model.predict_proba(new), expected)


# -- Support vector machines, nearest neighbors and Gaussian mixtures -------------------------------------------------


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


# -- Graph-based methods ----------------------------------------------------------------------------------------------


def consistency(problem):
    """LocalGlobalConsistency: largest error compared with the linear system; with 10,000 rows, a bound on it."""
    labels, half = half_labeled(problem)
    model = fit(oneof.LocalGlobalConsistency(tol=1e-12), half)
    if len(labels) < 1000:
        Y = matrix(half.mask & (labels >= 0)[:, None])
        F = diffusion.consistency(matrix(model.affinity_.toarray()), Y, model.alpha)
        return exact.difference(model.label_distributions_, F / F.sum(axis=1, keepdims=True))
    solution = solve_local_global_consistency(model.affinity_, half.mask, alpha=model.alpha, tol=1e-12, max_iter=10_000)
    F = solution.distributions * solution.mass[:, None]
    return exact.consistency_bound(model.affinity_, labels, F, model.alpha)


def walk(problem):
    """MarkovWalk: largest error of a posterior, compared with powers of P and as many EM iterations."""
    half = half_labeled(problem)[1]
    model = fit(oneof.MarkovWalk(), half)
    Q = diffusion.start_probabilities(matrix(model.affinity_.toarray()), model.n_steps)
    starts, _ = diffusion.walk_em(Q, matrix(half.mask), model.n_iter_)
    ends = Q.T @ starts
    return max(
        exact.difference(model.start_label_posteriors_, starts),
        exact.difference(model.label_distributions_, ends / ends.sum(axis=1, keepdims=True)),
    )


def transducer(problem):
    """SpectralGraphTransducer: violation of the optimality conditions of the minimum cut."""
    labels, half = half_labeled(problem)
    W = affinity(problem)
    solution = solve_transduction(check_affinity(W), half.mask, n_eigenvectors=80, C=3200.0, max_iter=1, tol=0.01)
    return exact.cut_error(W, labels, solution.relative_scores, 80, 3200)


def graph_logistic(problem):
    """GraphLogisticRegression, on exact labels: error of X^T L X, and of the weights for given precisions."""
    half = problem.exact if len(problem.X) >= 1000 else half_labeled(problem)[1]
    model = fit(oneof.GraphLogisticRegression(), half)
    views = model._fitted_views
    rows, precisions = views.labeled, views.solution.precisions
    likelihood = CandidateLikelihood.from_evidence(rows.instances, rows.evidence, rows.weight)
    prior = Prior.from_terms(views.terms, likelihood)
    Lambda = prior.matrix(prior.from_names(precisions))
    Lambda = Lambda.toarray() if sp.issparse(Lambda) else Lambda
    columns = np.hstack([rows.instances, rows.evidence])
    _, first, count = np.unique(columns, axis=0, return_index=True, return_counts=True)
    weights = exact.weight_error(rows.instances[first], rows.evidence[first], count, views.solution.weights, Lambda)
    vertices, counts = np.unique(half.X, axis=0, return_counts=True)
    features, links = model._view_model.features[0].instances(vertices), NeighborGraph().graph(vertices).affinity
    smoothness = smoothness_matrix(features, links, counts.astype(float))
    return max(weights, exact.smoothness_error(features, links.toarray(), counts, smoothness))


# -- All methods ------------------------------------------------------------------------------------------------------


METHODS = {
    **{name: online(name) for name in ("AvgPerceptron", "MaxPerceptron", "AvgPegasos", "MaxPegasos")},
    "CLPL": clpl,
    "PLEM": plem,
    "PLSVM": plsvm,
    "PLGP": plgp,
    "HarmonicField": harmonic,
    "LOORidge": loo,
    "IPAL": ipal,
    "MultinomialEM": multinomial,
    "GraphLogisticRegression": graph_logistic,
    "LocalGlobalConsistency": consistency,
    "MarkovWalk": walk,
    "SpectralGraphTransducer": transducer,
    "TransductiveSVM": transductive,
    "GaussianEM": gaussian,
    "PLECOC": codes,
    "PLKNN": votes,
}
TOO_LARGE = {
    "1,000 classes": ("PLGP", "GraphLogisticRegression"),
    "10,000 rows to 1": ("PLGP", "HarmonicField", "LOORidge", "IPAL", "MarkovWalk", "SpectralGraphTransducer"),
}
"""Problems that would take hours in 50 digits, or minutes by the method itself."""
UNDEFINED = {
    "one row": (
        "LOORidge",
        "IPAL",
        "HarmonicField",
        "PLSVM",
        "LocalGlobalConsistency",
        "MarkovWalk",
        "SpectralGraphTransducer",
        "GaussianEM",  # all features are constant
    ),
    "one class named": ("PLSVM",),  # liblinear needs at least two classes
}
"""A single row has no leave-one-out prediction, no reconstruction from other rows, and no neighbors."""


def skipped(method, title):
    """Return whether a problem is undefined for the method, or too large for 50 digits."""
    return method in TOO_LARGE.get(title, ()) or method in UNDEFINED.get(title, ())
